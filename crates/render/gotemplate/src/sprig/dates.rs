//! Dates: printing and reading them by Go's layouts, adding durations.

use super::args::text;
use crate::call::Call;
use crate::date::{Time, duration_text, layout, parse_duration, zone};
use crate::function::Type::{Any, String as Str, Time as TimeType};
use crate::function::{Fault, Function};
use crate::strconv::parse_int;
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("now", &[], |call, _| {
        call.mark();
        Ok(Value::Time(now(call)))
    }),
    Function::new("date", &[Str, Any], |call, a| {
        shown(call, &text(a, 0).lossy(), &a[1], "Local")
    }),
    Function::new("dateInZone", &[Str, Any, Str], in_zone),
    Function::new("date_in_zone", &[Str, Any, Str], in_zone),
    Function::new("htmlDate", &[Any], |call, a| {
        shown(call, "2006-01-02", &a[0], "Local")
    }),
    Function::new("htmlDateInZone", &[Any, Str], |call, a| {
        shown(call, "2006-01-02", &a[0], &text(a, 1).lossy())
    }),
    Function::new("dateModify", &[Str, TimeType], modify),
    Function::new("date_modify", &[Str, TimeType], modify),
    Function::new("mustDateModify", &[Str, TimeType], must_modify),
    Function::new("must_date_modify", &[Str, TimeType], must_modify),
    Function::new("toDate", &[Str, Str], |_, a| {
        let read = layout::parse(&text(a, 0).lossy(), &text(a, 1).lossy());
        Ok(Value::Time(read.unwrap_or_else(|_| Time::zero())))
    }),
    Function::new("mustToDate", &[Str, Str], |_, a| {
        Ok(Value::Time(layout::parse(
            &text(a, 0).lossy(),
            &text(a, 1).lossy(),
        )?))
    }),
    Function::new("unixEpoch", &[TimeType], |_, a| {
        Ok(time(&a[0]).seconds.to_string().into())
    }),
    Function::new("ago", &[Any], ago),
    Function::new("duration", &[Any], |_, a| {
        let seconds = match &a[0] {
            Value::String(text) => parse_int(&text.lossy(), 10).unwrap_or(0),
            Value::Int64(seconds) => *seconds,
            _ => 0,
        };
        Ok(duration_text(seconds.wrapping_mul(1_000_000_000)).into())
    }),
    Function::new("durationRound", &[Any], |call, a| {
        let nanos = match &a[0] {
            Value::String(text) => parse_duration(&text.lossy()).unwrap_or(0),
            Value::Int64(nanos) => *nanos,
            Value::Time(time) => {
                call.mark();
                now(call).since(time)
            }
            _ => 0,
        };
        Ok(rounded(nanos.unsigned_abs()).into())
    }),
];

fn now(call: &mut Call<'_>) -> Time {
    let (seconds, nanos) = call.context().now;
    Time::utc(seconds, nanos)
}

fn time(value: &Value) -> Time {
    if let Value::Time(time) = value {
        *time
    } else {
        Time::zero()
    }
}

// A time, seconds since 1970, or else the present.
fn instant(call: &mut Call<'_>, value: &Value) -> Time {
    match value {
        Value::Time(time) => *time,
        Value::Int(seconds) | Value::Int64(seconds) => Time::utc(*seconds, 0),
        Value::Int32(seconds) => Time::utc(i64::from(*seconds), 0),
        _ => {
            call.mark();
            now(call)
        }
    }
}

fn shown(call: &mut Call<'_>, layout: &str, value: &Value, zone: &str) -> Answer {
    let time = instant(call, value);
    let time = zone::shown_in(time, zone).unwrap_or_else(|| time.shown_in(0, "UTC"));
    Ok(layout::format(&time, layout).into())
}

fn in_zone(call: &mut Call<'_>, args: &[Value]) -> Answer {
    shown(
        call,
        &text(args, 0).lossy(),
        &args[1],
        &text(args, 2).lossy(),
    )
}

fn modify(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let time = time(&args[1]);
    Ok(Value::Time(
        parse_duration(&text(args, 0).lossy()).map_or(time, |nanos| time.plus(nanos)),
    ))
}

fn must_modify(_: &mut Call<'_>, args: &[Value]) -> Answer {
    Ok(Value::Time(
        time(&args[1]).plus(parse_duration(&text(args, 0).lossy())?),
    ))
}

fn ago(call: &mut Call<'_>, args: &[Value]) -> Answer {
    call.mark();
    let then = match &args[0] {
        Value::Int32(_) => now(call),
        other => instant(call, other),
    };
    let nanos = now(call).since(&then);
    let second = 1_000_000_000;
    let rest = nanos % second;
    let mut rounded = nanos - rest;
    if rest.abs() * 2 >= second {
        rounded = rounded.saturating_add(second * nanos.signum());
    }
    Ok(duration_text(rounded).into())
}

// The biggest unit that fits, rounded down.
fn rounded(nanos: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    const HOUR: u64 = 3600 * SECOND;
    let units = [
        (HOUR * 24 * 365, "y"),
        (HOUR * 24 * 30, "mo"),
        (HOUR * 24, "d"),
        (HOUR, "h"),
        (60 * SECOND, "m"),
        (SECOND, "s"),
    ];
    match units.iter().find(|(unit, _)| nanos > *unit) {
        Some((unit, name)) => format!("{}{name}", nanos / unit),
        None => "0s".to_owned(),
    }
}
