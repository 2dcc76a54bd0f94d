//! Times and durations as Go's `time` package has them.
//!
//! A [`Time`] is an instant and the offset it is shown in. [`layout`] prints and reads it by Go's
//! layouts (`2006-01-02`), [`zone`] knows the world's time zones.

pub(crate) mod layout;
mod method;
pub(crate) mod zone;

pub(crate) use method::method;

use crate::quote::quote;
use std::fmt;

/// An instant, and the offset from UTC it is shown in.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds in the second.
    pub nanos: u32,
    /// Seconds east of UTC.
    pub offset: i32,
    abbreviation: [u8; 16],
}

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        (self.seconds, self.nanos) == (other.seconds, other.nanos)
    }
}

/// Go's zero time: the first second of year 1.
const ZERO: i64 = -62_135_596_800;

/// A date and a time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    // Sunday is 0.
    pub(crate) weekday: u32,
    // From 1.
    pub(crate) year_day: u32,
}

impl Time {
    /// An instant in UTC.
    pub fn utc(seconds: i64, nanos: u32) -> Self {
        Self {
            seconds,
            nanos,
            offset: 0,
            abbreviation: *b"UTC\0\0\0\0\0\0\0\0\0\0\0\0\0",
        }
    }

    pub(crate) fn zero() -> Self {
        Self::utc(ZERO, 0)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.seconds == ZERO && self.nanos == 0
    }

    pub(crate) fn shown_in(mut self, offset: i32, name: &str) -> Self {
        self.offset = offset;
        self.abbreviation = [0; 16];
        for (to, from) in self.abbreviation.iter_mut().zip(name.bytes()) {
            *to = from;
        }
        self
    }

    pub(crate) fn abbreviation(&self) -> &str {
        let end = self.abbreviation.iter().position(|b| *b == 0).unwrap_or(16);
        std::str::from_utf8(&self.abbreviation[..end]).unwrap_or("")
    }

    pub(crate) fn civil(&self) -> Civil {
        let local = self.seconds.saturating_add(i64::from(self.offset));
        let (days, second) = (local.div_euclid(86400), local.rem_euclid(86400));
        let (year, month, day) = date_of(days);
        Civil {
            year,
            month,
            day,
            hour: (second / 3600) as u32,
            minute: (second / 60 % 60) as u32,
            second: (second % 60) as u32,
            weekday: (days + 4).rem_euclid(7) as u32,
            year_day: (days - days_of(year, 1, 1)) as u32 + 1,
        }
    }

    /// The time a duration in nanoseconds later.
    pub(crate) fn plus(mut self, nanos: i64) -> Self {
        let total =
            i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos) + i128::from(nanos);
        self.seconds = total.div_euclid(1_000_000_000) as i64;
        self.nanos = total.rem_euclid(1_000_000_000) as u32;
        self
    }

    /// Nanoseconds from another time to this one, as far as a duration reaches.
    pub(crate) fn since(&self, other: &Self) -> i64 {
        let total = (i128::from(self.seconds) - i128::from(other.seconds)) * 1_000_000_000
            + i128::from(self.nanos)
            - i128::from(other.nanos);
        total.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// As JSON shows it.
    pub(crate) fn rfc3339(&self) -> String {
        layout::format(self, "2006-01-02T15:04:05.999999999Z07:00")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&layout::format(
            self,
            "2006-01-02 15:04:05.999999999 -0700 MST",
        ))
    }
}

/// Days since 1970 of a date; months and days may lie outside their range.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    let (year, shifted) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let era = year.div_euclid(400);
    let in_era = year.rem_euclid(400);
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + day_of_year - 719_468
}

// The date of a day since 1970.
fn date_of(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    (
        era * 400 + year + i64::from(month <= 2),
        month as u32,
        date as u32,
    )
}

const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads `1h15m30.918s`; the error is Go's.
pub(crate) fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote(text.as_bytes()));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let whole = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(whole);
        let fraction = after.strip_prefix('.').map_or("", |f| {
            &f[..f.bytes().take_while(u8::is_ascii_digit).count()]
        });
        if number.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        rest = match after.strip_prefix('.') {
            Some(after) => &after[fraction.len()..],
            None => after,
        };
        let end = rest
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(rest.len());
        let name = &rest[..end];
        if name.is_empty() {
            return Err(format!(
                "time: missing unit in duration {}",
                quote(text.as_bytes())
            ));
        }
        let Some((_, unit)) = UNITS.iter().find(|(n, _)| *n == name) else {
            let (name, text) = (quote(name.as_bytes()), quote(text.as_bytes()));
            return Err(format!("time: unknown unit {name} in duration {text}"));
        };
        let number: u128 = if number.is_empty() {
            0
        } else {
            number.parse().map_err(|_| invalid())?
        };
        let unit = *unit as u128;
        total += number.checked_mul(unit).ok_or_else(invalid)?;
        let digits = &fraction[..fraction.len().min(18)];
        if !digits.is_empty() {
            let value: u128 = digits.parse().map_err(|_| invalid())?;
            total += value * unit / 10u128.pow(digits.len() as u32);
        }
        if total > 1 << 63 {
            return Err(invalid());
        }
        rest = &rest[end..];
    }
    if negative {
        return Ok((total as u64 as i64).wrapping_neg());
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// Prints nanoseconds as Go prints a duration.
pub(crate) fn duration_text(nanos: i64) -> String {
    let magnitude = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    let scaled = |unit: u64, name: &str| {
        let (whole, rest) = (magnitude / unit, magnitude % unit);
        let digits = unit.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        let fraction = fraction.trim_end_matches('0');
        let point = if rest == 0 {
            String::new()
        } else {
            format!(".{fraction}")
        };
        format!("{sign}{whole}{point}{name}")
    };
    match magnitude {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{magnitude}ns"),
        1_000..1_000_000 => scaled(1_000, "\u{b5}s"),
        1_000_000..1_000_000_000 => scaled(1_000_000, "ms"),
        _ => {
            let (seconds, rest) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
            let fraction = format!("{rest:09}");
            let fraction = fraction.trim_end_matches('0');
            let point = if rest == 0 {
                String::new()
            } else {
                format!(".{fraction}")
            };
            let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            let hours = if h > 0 {
                format!("{h}h")
            } else {
                String::new()
            };
            let minutes = if h > 0 || m > 0 {
                format!("{m}m")
            } else {
                String::new()
            };
            format!("{sign}{hours}{minutes}{s}{point}s")
        }
    }
}
