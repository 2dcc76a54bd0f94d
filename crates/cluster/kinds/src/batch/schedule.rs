//! Reads cron schedules, to refuse what cannot be read with the words of the parser in use.

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

struct Bounds {
    low: u64,
    high: u64,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds {
        low: 0,
        high: 59,
        names: &[],
    },
    Bounds {
        low: 0,
        high: 23,
        names: &[],
    },
    Bounds {
        low: 1,
        high: 31,
        names: &[],
    },
    Bounds {
        low: 1,
        high: 12,
        names: &MONTHS,
    },
    Bounds {
        low: 0,
        high: 6,
        names: &DAYS,
    },
];

/// What keeps a text from being a schedule.
pub(super) fn fault(text: &str) -> Option<String> {
    let text = if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        text.split_once(' ').map_or("", |(_, rest)| rest.trim())
    } else {
        text
    };
    if text.is_empty() {
        return Some("empty spec string".into());
    }
    if text.starts_with('@') {
        return descriptor(text).err();
    }
    let parts: Vec<&str> = text.split_whitespace().collect();
    if parts.len() != 5 {
        return Some(format!(
            "expected exactly 5 fields, found {}: [{}]",
            parts.len(),
            parts.join(" ")
        ));
    }
    parts
        .iter()
        .zip(&FIELDS)
        .find_map(|(part, bounds)| field(part, bounds).err())
}

fn descriptor(text: &str) -> Result<(), String> {
    if matches!(
        text,
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly"
    ) {
        return Ok(());
    }
    match text.strip_prefix("@every ") {
        Some(duration) => check_duration(duration)
            .map_err(|why| format!("failed to parse duration {text}: {why}")),
        None => Err(format!("unrecognized descriptor: {text}")),
    }
}

// Go durations: a sequence of numbers with units, as in `1h30m`.
fn check_duration(text: &str) -> Result<(), String> {
    let quoted = model::field::go_quote(text);
    let invalid = || format!("time: invalid duration {quoted}");
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let value = &rest[..number];
        if !value.bytes().any(|b| b.is_ascii_digit()) || value.matches('.').count() > 1 {
            return Err(invalid());
        }
        rest = &rest[number..];
        let unit = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        if unit == 0 {
            return Err(format!("time: missing unit in duration {quoted}"));
        }
        let name = &rest[..unit];
        if !matches!(name, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            let name = model::field::go_quote(name);
            return Err(format!("time: unknown unit {name} in duration {quoted}"));
        }
        rest = &rest[unit..];
    }
    Ok(())
}

fn field(text: &str, bounds: &Bounds) -> Result<(), String> {
    text.split(',')
        .filter(|part| !part.is_empty())
        .try_for_each(|part| range(part, bounds))
}

fn range(text: &str, bounds: &Bounds) -> Result<(), String> {
    let steps: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = steps[0].split('-').collect();
    let (start, mut end) = if matches!(ends[0], "*" | "?") {
        (bounds.low, bounds.high)
    } else {
        let start = number(ends[0], bounds.names)?;
        let end = match ends.len() {
            1 => start,
            2 => number(ends[1], bounds.names)?,
            _ => return Err(format!("too many hyphens: {text}")),
        };
        (start, end)
    };
    let step = match steps.len() {
        1 => 1,
        2 => {
            let step = number(steps[1], &[])?;
            if ends.len() == 1 {
                end = bounds.high;
            }
            step
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < bounds.low {
        return Err(format!(
            "beginning of range ({start}) below minimum ({}): {text}",
            bounds.low
        ));
    }
    if end > bounds.high {
        return Err(format!(
            "end of range ({end}) above maximum ({}): {text}",
            bounds.high
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number(text: &str, names: &'static [&'static str]) -> Result<u64, String> {
    let first = u64::from(names.len() == 12);
    if let Some(place) = names
        .iter()
        .position(|name| text.eq_ignore_ascii_case(name))
    {
        return Ok(place as u64 + first);
    }
    let value: i64 = text.parse().map_err(|_| {
        let quoted = model::field::go_quote(text);
        format!("failed to parse int from {text}: strconv.Atoi: parsing {quoted}: invalid syntax")
    })?;
    u64::try_from(value).map_err(|_| format!("negative number ({value}) not allowed: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_refused_in_the_parsers_words() {
        for (text, expected) in [
            ("* * * * *", None),
            ("*/5 0-23/2 1,15 jan-mar mon", None),
            ("@hourly", None),
            ("@every 1h30m", None),
            ("bad", Some("expected exactly 5 fields, found 1: [bad]")),
            (
                "61 * * * *",
                Some("end of range (61) above maximum (59): 61"),
            ),
            (
                "*/0 * * * *",
                Some("step of range should be a positive number: */0"),
            ),
            (
                "5-1 * * * *",
                Some("beginning of range (5) beyond end of range (1): 5-1"),
            ),
            (
                "@every 1x",
                Some(
                    "failed to parse duration @every 1x: time: unknown unit \"x\" in duration \"1x\"",
                ),
            ),
            ("@foo", Some("unrecognized descriptor: @foo")),
            (
                "a * * * *",
                Some("failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"),
            ),
            (
                "* * 0 * *",
                Some("beginning of range (0) below minimum (1): 0"),
            ),
        ] {
            assert_eq!(fault(text).as_deref(), expected, "{text}");
        }
    }
}
