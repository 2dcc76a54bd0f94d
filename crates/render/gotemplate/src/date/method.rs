//! The methods of `time.Time` that templates call: `now.Year`, `(now).Format "2006"`.

use super::{Time, days_of, layout, zone};
use crate::function::Type;
use crate::object::{Method, Struct};
use crate::value::Value;
use std::rc::Rc;

// A number with a name, as months and weekdays are.
fn named(kind: &str, name: &str) -> Value {
    let mut body = Struct::new(kind, Vec::new());
    body.string = Some(name.into());
    Value::Struct(Rc::new(body))
}

fn get(name: &'static str, value: Value) -> Method {
    Method::new(name, Vec::new(), move |_| Ok(value.clone()))
}

fn other(args: &[Value]) -> Time {
    if let Some(Value::Time(time)) = args.first() {
        *time
    } else {
        Time::zero()
    }
}

fn number(args: &[Value], at: usize) -> i64 {
    args.get(at).and_then(Value::as_signed).unwrap_or(0)
}

/// The method of a time.
pub(crate) fn method(time: Time, name: &str) -> Option<Method> {
    let civil = time.civil();
    let int = |i: i64| Value::Int(i);
    Some(match name {
        "Year" => get("Year", int(civil.year)),
        "Month" => get(
            "Month",
            named("time.Month", layout::MONTHS[civil.month as usize - 1]),
        ),
        "Day" => get("Day", int(i64::from(civil.day))),
        "Weekday" => get(
            "Weekday",
            named("time.Weekday", layout::WEEKDAYS[civil.weekday as usize]),
        ),
        "YearDay" => get("YearDay", int(i64::from(civil.year_day))),
        "Hour" => get("Hour", int(i64::from(civil.hour))),
        "Minute" => get("Minute", int(i64::from(civil.minute))),
        "Second" => get("Second", int(i64::from(civil.second))),
        "Nanosecond" => get("Nanosecond", int(i64::from(time.nanos))),
        "Unix" => get("Unix", Value::Int64(time.seconds)),
        "UnixMilli" => get(
            "UnixMilli",
            Value::Int64(time.seconds.wrapping_mul(1000) + i64::from(time.nanos / 1_000_000)),
        ),
        "UnixMicro" => get(
            "UnixMicro",
            Value::Int64(time.seconds.wrapping_mul(1_000_000) + i64::from(time.nanos / 1000)),
        ),
        "UnixNano" => get(
            "UnixNano",
            Value::Int64(time.seconds.wrapping_mul(1_000_000_000) + i64::from(time.nanos)),
        ),
        "UTC" => get("UTC", Value::Time(time.shown_in(0, "UTC"))),
        "Local" => get(
            "Local",
            Value::Time(zone::shown_in(time, "Local").unwrap_or(time)),
        ),
        "String" => get("String", Value::from(time.to_string())),
        "IsZero" => get("IsZero", Value::Bool(time.is_zero())),
        "Format" => Method::new("Format", vec![Type::String], move |args| {
            let layout = args[0].as_text().cloned().unwrap_or_default();
            Ok(Value::from(layout::format(&time, &layout.lossy())))
        }),
        "Add" => Method::new("Add", vec![Type::Duration], move |args| {
            Ok(Value::Time(time.plus(number(args, 0))))
        }),
        "Sub" => Method::new("Sub", vec![Type::Time], move |args| {
            Ok(Value::Duration(time.since(&other(args))))
        }),
        "Before" => Method::new("Before", vec![Type::Time], move |args| {
            Ok(Value::Bool(time.since(&other(args)) < 0))
        }),
        "After" => Method::new("After", vec![Type::Time], move |args| {
            Ok(Value::Bool(time.since(&other(args)) > 0))
        }),
        "Equal" => Method::new("Equal", vec![Type::Time], move |args| {
            Ok(Value::Bool(time == other(args)))
        }),
        "AddDate" => Method::new(
            "AddDate",
            vec![Type::Int, Type::Int, Type::Int],
            move |args| {
                let year = civil.year.saturating_add(number(args, 0));
                let month = i64::from(civil.month).saturating_add(number(args, 1));
                let day = i64::from(civil.day).saturating_add(number(args, 2));
                let limit = 1_000_000_000;
                if [year, month, day].iter().any(|n| n.abs() > limit) {
                    return Err("the date is too far away".to_owned());
                }
                let days = days_of(year, month, day)
                    - days_of(civil.year, i64::from(civil.month), i64::from(civil.day));
                Ok(Value::Time(Time {
                    seconds: time.seconds + days * 86400,
                    ..time
                }))
            },
        ),
        _ => return None,
    })
}
