//! Points in time: RFC 3339 as Go parses it, with Go's words for what is wrong.

use model::Timestamp;

/// How fine a time is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    Seconds,
    Micros,
}

const ZERO_SECONDS: i64 = -62_135_596_800;

/// Reads a time and gives the text Go prints for it, `None` for the zero time; the error is Go's.
pub(crate) fn canonical(text: String, precision: Precision) -> Result<Option<String>, String> {
    let wanted = if precision == Precision::Seconds {
        20
    } else {
        27
    };
    if text.len() == wanted
        && text.ends_with('Z')
        && text.as_bytes()[10] == b'T'
        && let Some(time) = Timestamp::parse(&text)
    {
        return Ok((time.seconds() != ZERO_SECONDS).then_some(text));
    }
    let time = parse(&text, precision)?;
    if time.micros() == ZERO_SECONDS * 1_000_000 {
        return Ok(None);
    }
    Ok(Some(match precision {
        Precision::Seconds => time.rfc3339(),
        Precision::Micros => time.rfc3339_micros(),
    }))
}

/// A time of protobuf's seconds and nanoseconds as text; none for the zero time.
pub(crate) fn from_parts(seconds: i64, nanos: i64, precision: Precision) -> Option<String> {
    if seconds == ZERO_SECONDS && nanos == 0 {
        return None;
    }
    let seconds = seconds.clamp(ZERO_SECONDS, 253_402_300_799);
    let time = Timestamp::from_micros(seconds * 1_000_000 + nanos.clamp(0, 999_999_999) / 1_000);
    Some(match precision {
        Precision::Seconds => time.rfc3339(),
        Precision::Micros => time.rfc3339_micros(),
    })
}

fn parse(text: &str, precision: Precision) -> Result<Timestamp, String> {
    let layout = match precision {
        Precision::Seconds => "2006-01-02T15:04:05Z07:00",
        Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
    };
    let mut scan = Scan {
        whole: text,
        layout,
        rest: text,
    };
    let year = scan.year()?;
    scan.expect("-")?;
    let month = scan.number("01", true, 1..=12, "month")?;
    scan.expect("-")?;
    let day = scan.number("02", true, 0..=99, "day")?;
    scan.expect("T")?;
    let hour = scan.number("15", false, 0..=23, "hour")?;
    scan.expect(":")?;
    let minute = scan.number("04", true, 0..=59, "minute")?;
    scan.expect(":")?;
    let second = scan.number("05", true, 0..=59, "second")?;
    let micros = scan.fraction(precision)?;
    let offset = scan.zone()?;
    if !scan.rest.is_empty() {
        return Err(scan.message(&format!(": extra text: {}", quote(scan.rest))));
    }
    let plain = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    let time = Timestamp::parse(&plain).ok_or_else(|| scan.message(": day out of range"))?;
    Ok(Timestamp::from_micros(
        time.micros() - offset * 1_000_000 + micros,
    ))
}

struct Scan<'a> {
    whole: &'a str,
    layout: &'a str,
    rest: &'a str,
}

impl<'a> Scan<'a> {
    fn message(&self, what: &str) -> String {
        format!("parsing time {}{what}", quote(self.whole))
    }

    fn fault(&self, rest: &str, element: &str) -> String {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(self.whole),
            quote(self.layout),
            quote(rest),
            quote(element)
        )
    }

    fn take(&mut self, count: usize) -> Option<&'a str> {
        let taken = self.rest.get(..count)?;
        self.rest = &self.rest[count..];
        Some(taken)
    }

    fn expect(&mut self, prefix: &str) -> Result<(), String> {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.fault(self.rest, prefix)),
        }
    }

    fn year(&mut self) -> Result<i64, String> {
        let before = self.rest;
        self.take(4)
            .and_then(digits)
            .ok_or_else(|| self.fault(before, "2006"))
    }

    fn number(
        &mut self,
        element: &str,
        two: bool,
        range: std::ops::RangeInclusive<i64>,
        name: &str,
    ) -> Result<i64, String> {
        let bytes = self.rest.as_bytes();
        let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
        let count = match (digit(0), digit(1)) {
            (true, true) => 2,
            (true, false) if !two => 1,
            _ => return Err(self.fault(self.rest, element)),
        };
        let value = self.take(count).and_then(digits).unwrap_or(0);
        if range.contains(&value) {
            Ok(value)
        } else {
            Err(self.message(&format!(": {name} out of range")))
        }
    }

    fn fraction(&mut self, precision: Precision) -> Result<i64, String> {
        let bytes = self.rest.as_bytes();
        let has_point = matches!(bytes.first(), Some(b'.' | b','));
        let count = bytes
            .iter()
            .skip(1)
            .take_while(|b| b.is_ascii_digit())
            .count();
        if precision == Precision::Micros {
            if !has_point || count < 6 {
                return Err(self.fault(self.rest, ".000000"));
            }
            let taken = self.take(7).unwrap_or_default();
            return Ok(digits(&taken[1..]).unwrap_or(0));
        }
        if has_point && count > 0 {
            self.take(count + 1);
        }
        Ok(0)
    }

    fn zone(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let before = self.rest;
        let bad = |scan: &Self| scan.fault(before, "Z07:00");
        let text = self.take(6).ok_or_else(|| bad(self))?;
        let sign = match text.as_bytes()[0] {
            b'+' => 1,
            b'-' => -1,
            _ => return Err(bad(self)),
        };
        let hour = text.get(1..3).and_then(digits);
        let minute = text.get(4..6).and_then(digits);
        match (text.as_bytes()[3], hour, minute) {
            (b':', Some(hour), Some(minute)) if hour <= 24 && minute <= 60 => {
                Ok(sign * (hour * 3600 + minute * 60))
            }
            (b':', Some(hour), Some(_)) if hour > 24 => {
                Err(self.message(": time zone offset hour out of range"))
            }
            (b':', Some(_), Some(_)) => Err(self.message(": time zone offset minute out of range")),
            _ => Err(bad(self)),
        }
    }
}

fn digits(text: &str) -> Option<i64> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

// Go's time package quotes byte by byte.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' | 0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, precision: Precision) -> String {
        match canonical(text.to_owned(), precision) {
            Ok(Some(text)) => text,
            Ok(None) => "zero".into(),
            Err(message) => message,
        }
    }

    #[test]
    fn times_are_brought_to_utc() {
        for (text, wanted) in [
            ("2026-11-15T19:57:10Z", "2026-11-15T19:57:10Z"),
            (
                "2026-11-15T20:57:10.123456789+01:00",
                "2026-11-15T19:57:10Z",
            ),
            ("2026-11-15T1:57:10Z", "2026-11-15T01:57:10Z"),
            ("0001-01-01T00:00:00Z", "zero"),
        ] {
            assert_eq!(shown(text, Precision::Seconds), wanted, "{text}");
        }
        assert_eq!(
            shown("2026-11-15T20:57:10.123456+01:00", Precision::Micros),
            "2026-11-15T19:57:10.123456Z"
        );
    }

    #[test]
    fn broken_times_fail_in_go_words() {
        let layout = "2006-01-02T15:04:05Z07:00";
        for (text, wanted) in [
            (
                "abc",
                format!("parsing time \"abc\" as \"{layout}\": cannot parse \"abc\" as \"2006\""),
            ),
            (
                "2026",
                format!("parsing time \"2026\" as \"{layout}\": cannot parse \"\" as \"-\""),
            ),
            (
                "2026-13-01T00:00:00Z",
                "parsing time \"2026-13-01T00:00:00Z\": month out of range".into(),
            ),
            (
                "2026-02-30T00:00:00Z",
                "parsing time \"2026-02-30T00:00:00Z\": day out of range".into(),
            ),
            (
                "2026-01-01T00:00:00",
                format!(
                    "parsing time \"2026-01-01T00:00:00\" as \"{layout}\": cannot parse \"\" as \"Z07:00\""
                ),
            ),
            (
                "2026-01-01T00:00:00Zx",
                "parsing time \"2026-01-01T00:00:00Zx\": extra text: \"x\"".into(),
            ),
        ] {
            assert_eq!(shown(text, Precision::Seconds), wanted, "{text}");
        }
    }
}
