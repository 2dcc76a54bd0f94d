//! The formats strings may have to follow.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether a text follows a format; formats nobody knows are followed by everything.
pub(super) fn follows(format: &str, text: &str) -> bool {
    match format {
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
        "email" | "idn-email" => is_email(text),
        "hostname" => is_hostname(text),
        "uri" | "iri" => has_scheme(text),
        "uri-reference" | "iri-reference" => !text.contains([' ', '\\', '<', '>']),
        "uuid" => is_uuid(text),
        "date" => is_date(text),
        "time" => is_time(text),
        "date-time" => is_date_time(text),
        "regex" => super::pattern(text).is_some(),
        "json-pointer" => is_pointer(text),
        "relative-json-pointer" => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            digits > 0 && (&text[digits..] == "#" || is_pointer(&text[digits..]))
        }
        _ => true,
    }
}

fn is_email(text: &str) -> bool {
    match text.rsplit_once('@') {
        Some((local, domain)) => {
            !local.is_empty() && !domain.is_empty() && !text.contains(char::is_whitespace)
        }
        None => false,
    }
}

fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let text = text.strip_suffix('.').unwrap_or(text);
    text.len() < 256 && text.split('.').all(label)
}

fn has_scheme(text: &str) -> bool {
    match text.split_once(':') {
        Some((scheme, _)) => {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
                && !text.contains([' ', '\\', '<', '>'])
        }
        None => false,
    }
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

fn numbers(text: &str, separator: char, lengths: &[usize]) -> Option<Vec<u32>> {
    let parts: Vec<&str> = text.split(separator).collect();
    let fits = |(part, length): (&&str, &usize)| {
        part.len() == *length && part.bytes().all(|b| b.is_ascii_digit())
    };
    if parts.len() != lengths.len() || !parts.iter().zip(lengths).all(fits) {
        return None;
    }
    parts.iter().map(|part| part.parse().ok()).collect()
}

fn is_date(text: &str) -> bool {
    let Some(parts) = numbers(text, '-', &[4, 2, 2]) else {
        return false;
    };
    let (year, month, day) = (parts[0], parts[1], parts[2]);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    let (clock, zone) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => text.split_at(at),
        None => return false,
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let in_range =
        |parts: Vec<u32>| parts[0] < 24 && parts[1] < 60 && parts.get(2).is_none_or(|s| *s < 61);
    let zone_ok = matches!(zone, "Z" | "z")
        || numbers(zone.get(1..).unwrap_or_default(), ':', &[2, 2]).is_some_and(in_range);
    !fraction.is_empty()
        && fraction.bytes().all(|b| b.is_ascii_digit())
        && numbers(clock, ':', &[2, 2, 2]).is_some_and(in_range)
        && zone_ok
}

fn is_date_time(text: &str) -> bool {
    match text.split_once(['T', 't']) {
        Some((date, time)) => is_date(date) && is_time(time),
        None => false,
    }
}

fn is_pointer(text: &str) -> bool {
    text.is_empty()
        || (text.starts_with('/')
            && text
                .split('~')
                .skip(1)
                .all(|rest| rest.starts_with(['0', '1'])))
}
