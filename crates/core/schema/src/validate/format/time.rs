//! Dates, times and durations.

/// Whether a text is `2006-01-02`.
pub(super) fn is_date(text: &str) -> bool {
    let part = |range| text.get(range).and_then(two_or_four_digits);
    text.len() == 10
        && text.as_bytes()[4] == b'-'
        && text.as_bytes()[7] == b'-'
        && match (part(0..4), part(5..7), part(8..10)) {
            (Some(year), Some(month @ 1..=12), Some(day)) => {
                (1..=days_of(year, month)).contains(&day)
            }
            _ => false,
        }
}

fn two_or_four_digits(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn days_of(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    }
}

/// Whether a text is a point in time as RFC 3339 writes it.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut halves = lower.split('t');
    let (Some(date), Some(time)) = (halves.next(), halves.next()) else {
        return false;
    };
    is_date(date) && is_time(time)
}

fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let two = |at: usize| text.get(at..at + 2).and_then(two_or_four_digits);
    let clock = bytes.len() > 8
        && bytes[2] == b':'
        && bytes[5] == b':'
        && two(0).is_some_and(|h| h <= 23)
        && two(3).is_some_and(|m| m <= 59)
        && two(6).is_some_and(|s| s <= 59);
    if !clock {
        return false;
    }
    let rest = &bytes[8..];
    let zone_at = rest.iter().skip(1).position(|b| !b.is_ascii_digit());
    let fraction = rest.len() > 1 && rest[1].is_ascii_digit() && !matches!(rest[0], b'+' | b'-');
    let zone = match (fraction, zone_at) {
        (true, Some(at)) => &rest[at + 1..],
        (true, None) => return false,
        (false, _) => rest,
    };
    zone == b"z"
        || zone.len() == 6
            && matches!(zone[0], b'+' | b'-')
            && zone[3] == b':'
            && [1, 2, 4, 5].iter().all(|i| zone[*i].is_ascii_digit())
}

/// Whether a text is a duration, as Go or Scala write it.
pub(super) fn is_duration(text: &str) -> bool {
    parse_duration(text).is_some() || is_scala_duration(text)
}

/// Reads a duration as Go's `time.ParseDuration` does (`1h30m`, `-1.5s`), in nanoseconds.
pub fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let number_end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        total += decimal_times(number, unit_nanos(unit)?)?;
        if total > i128::from(i64::MAX) + 1 {
            return None;
        }
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

fn unit_nanos(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

fn decimal_times(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() {
        0
    } else {
        i128::from(whole.parse::<u64>().ok()?)
    };
    // More digits than nanoseconds have cannot change the result.
    let fraction = fraction.get(..fraction.len().min(15))?;
    let part = if fraction.is_empty() {
        0
    } else {
        i128::from(fraction.parse::<u64>().ok()?) * unit / 10_i128.pow(fraction.len() as u32)
    };
    Some(whole * unit + part)
}

// `22 ns`, `5 days`, `1 week 2 hours`: any number followed by a known unit will do.
fn is_scala_duration(text: &str) -> bool {
    const EXACT: [&str; 14] = [
        "ns", "us", "\u{b5}s", "ms", "s", "m", "h", "hr", "d", "w", "wk", "nano", "micro", "milli",
    ];
    const STEMS: [&str; 8] = [
        "nano", "micro", "milli", "sec", "min", "hour", "day", "week",
    ];
    let is_unit_char = |c: char| c.is_ascii_alphabetic() || c == '\u{b5}';
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = rest[at..].trim_start_matches(|c: char| c.is_ascii_digit());
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let end = unit.find(|c| !is_unit_char(c)).unwrap_or(unit.len());
        let (word, after) = unit.split_at(end);
        let word = word.to_lowercase();
        if EXACT.contains(&word.as_str()) || STEMS.iter().any(|stem| word.starts_with(stem)) {
            return true;
        }
        rest = after;
    }
    false
}
