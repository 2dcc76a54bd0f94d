//! Points in time, as data: RFC 3339 text in and out, no clock.

use std::fmt;

/// A point in time in microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    micros: i64,
}

impl Timestamp {
    /// From whole seconds since 1970.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self {
            micros: seconds * 1_000_000,
        }
    }

    /// From microseconds since 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self { micros }
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn seconds(self) -> i64 {
        self.micros.div_euclid(1_000_000)
    }

    /// Microseconds since 1970.
    pub const fn micros(self) -> i64 {
        self.micros
    }

    /// This point, `seconds` later.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self {
            micros: self.micros + seconds * 1_000_000,
        }
    }

    /// `2026-11-15T19:57:10Z`, as `metav1.Time` prints.
    pub fn rfc3339(self) -> String {
        let (y, mo, d, h, mi, s) = self.civil();
        format!("{y:04}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}Z")
    }

    /// `2026-11-15T19:57:10.000123Z`, as `metav1.MicroTime` prints.
    pub fn rfc3339_micros(self) -> String {
        let (y, mo, d, h, mi, s) = self.civil();
        let micros = self.micros.rem_euclid(1_000_000);
        format!("{y:04}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}.{micros:06}Z")
    }

    /// Reads RFC 3339, with any offset and up to nine fractional digits.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let number = |range: std::ops::Range<usize>| -> Option<i64> {
            let part = bytes.get(range)?;
            if !part.iter().all(u8::is_ascii_digit) {
                return None;
            }
            std::str::from_utf8(part).ok()?.parse().ok()
        };
        let at = |i: usize| bytes.get(i).copied();
        if at(4)? != b'-' || at(7)? != b'-' || !matches!(at(10)?, b'T' | b't') {
            return None;
        }
        if at(13)? != b':' || at(16)? != b':' {
            return None;
        }
        let (y, mo, d) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (h, mi, s) = (number(11..13)?, number(14..16)?, number(17..19)?);
        let month_ok = (1..=12).contains(&mo) && (1..=days_in_month(y, mo)).contains(&d);
        if !month_ok || h > 23 || mi > 59 || s > 59 {
            return None;
        }
        let mut rest = 19;
        let mut micros = 0;
        if at(rest) == Some(b'.') {
            let digits = bytes[rest + 1..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count();
            if digits == 0 || digits > 9 {
                return None;
            }
            let mut text = text.get(rest + 1..rest + 1 + digits)?.to_owned();
            while text.len() < 6 {
                text.push('0');
            }
            micros = text[..6].parse().ok()?;
            rest += 1 + digits;
        }
        let offset = match at(rest)? {
            b'Z' | b'z' if bytes.len() == rest + 1 => 0,
            sign @ (b'+' | b'-') if bytes.len() == rest + 6 && at(rest + 3)? == b':' => {
                let minutes = number(rest + 1..rest + 3)? * 60 + number(rest + 4..rest + 6)?;
                if sign == b'+' { minutes } else { -minutes }
            }
            _ => return None,
        };
        let days = days_from_civil(y, mo, d);
        let seconds = days * 86_400 + h * 3_600 + mi * 60 + s - offset * 60;
        Some(Self {
            micros: seconds * 1_000_000 + micros,
        })
    }

    fn civil(self) -> (i64, i64, i64, i64, i64, i64) {
        let seconds = self.seconds();
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (y, m, d) = civil_from_days(days);
        (y, m, d, rest / 3_600, rest / 60 % 60, rest % 60)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

// Days since 1970-01-01 of a date of the proleptic Gregorian calendar, counted in eras of 400
// years that start in March, so that the leap day is the last day of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2024-02-29T23:59:59Z",
            "2026-11-15T19:57:10Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().rfc3339(), text);
        }
        let micro = Timestamp::parse("2026-11-15T20:57:10.000123+01:00").unwrap();
        assert_eq!(micro.rfc3339_micros(), "2026-11-15T19:57:10.000123Z");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "2026",
            "2026-02-30T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
