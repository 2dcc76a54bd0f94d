//! Parts of points in time and of durations.

use super::Answer;
use crate::operators::Failure;
use crate::value::Val;
use model::Timestamp;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    if !name.starts_with("get") {
        return None;
    }
    match args {
        [Val::Duration(nanos)] => {
            let unit = match name {
                "getHours" => 3_600_000_000_000,
                "getMinutes" => 60_000_000_000,
                "getSeconds" => 1_000_000_000,
                "getMilliseconds" => 1_000_000,
                _ => return None,
            };
            Some(Ok(Val::Int(nanos / unit)))
        }
        [Val::Time(at)] => part(name, *at).map(|n| Ok(Val::Int(n))),
        [Val::Time(at), Val::Text(zone)] => match offset(zone) {
            Ok(seconds) => part(name, at.plus_seconds(seconds)).map(|n| Ok(Val::Int(n))),
            Err(why) => Some(Err(why)),
        },
        _ => None,
    }
}

// Zones are offsets; names other than UTC need a database that is not here.
fn offset(zone: &str) -> Result<i64, Failure> {
    if zone.is_empty() || zone == "UTC" || zone == "Z" {
        return Ok(0);
    }
    let (sign, rest) = match zone.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let parts = rest.split_once(':');
    let numbers = parts.and_then(|(h, m)| Some((h.parse::<i64>().ok()?, m.parse::<i64>().ok()?)));
    match numbers {
        Some((hours @ 0..=23, minutes @ 0..=59)) => Ok(sign * (hours * 3_600 + minutes * 60)),
        _ => Err(format!("unknown time zone {zone}")),
    }
}

fn part(name: &str, at: Timestamp) -> Option<i64> {
    let text = at.rfc3339();
    let date = text.split('T').next().unwrap_or_default();
    let mut numbers = date.rsplitn(3, '-').map(|n| n.parse::<i64>().unwrap_or(0));
    let day = numbers.next()?;
    let month = numbers.next()?;
    let year = numbers.next()?;
    let second = at.seconds().rem_euclid(86_400);
    Some(match name {
        "getFullYear" => year,
        "getMonth" => month - 1,
        "getDate" => day,
        "getDayOfMonth" => day - 1,
        "getDayOfYear" => day_of_year(year, month, day),
        "getDayOfWeek" => (at.seconds().div_euclid(86_400) + 4).rem_euclid(7),
        "getHours" => second / 3_600,
        "getMinutes" => second % 3_600 / 60,
        "getSeconds" => second % 60,
        "getMilliseconds" => at.micros().rem_euclid(1_000_000) / 1_000,
        _ => return None,
    })
}

fn day_of_year(year: i64, month: i64, day: i64) -> i64 {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    let index = usize::try_from(month - 1).unwrap_or(0).min(11);
    BEFORE[index] + day - 1 + i64::from(leap && month > 2)
}
