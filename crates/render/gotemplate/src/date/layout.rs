//! Go's layouts: a date is written as `Mon Jan 2 15:04:05 MST 2006` would be.

use super::{Time, days_of};
use crate::quote::quote;

pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(crate) const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekDay,
    WeekDay,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    Zone,
    // `Z` in UTC or not, colons, and how much: hours, minutes, seconds.
    Offset {
        z: bool,
        colon: bool,
        size: u8,
    },
    // `.000` keeps zeros, `.999` does not; with how many digits and which mark.
    Fraction {
        keep: bool,
        digits: usize,
        mark: char,
    },
}

// Longer words first where one starts with another.
const WORDS: [(&str, Part); 34] = [
    ("January", Part::LongMonth),
    ("Jan", Part::Month),
    ("Monday", Part::LongWeekDay),
    ("Mon", Part::WeekDay),
    ("MST", Part::Zone),
    ("002", Part::ZeroYearDay),
    ("01", Part::ZeroMonth),
    ("02", Part::ZeroDay),
    ("03", Part::ZeroHour12),
    ("04", Part::ZeroMinute),
    ("05", Part::ZeroSecond),
    ("06", Part::Year),
    ("15", Part::Hour),
    ("1", Part::NumMonth),
    ("2006", Part::LongYear),
    ("2", Part::Day),
    ("__2", Part::UnderYearDay),
    // `_2006` is an underscore and a year.
    ("_2006", Part::LongYear),
    ("_2", Part::UnderDay),
    ("3", Part::Hour12),
    ("4", Part::Minute),
    ("5", Part::Second),
    ("PM", Part::UpperPm),
    ("pm", Part::LowerPm),
    (
        "-070000",
        Part::Offset {
            z: false,
            colon: false,
            size: 3,
        },
    ),
    (
        "-07:00:00",
        Part::Offset {
            z: false,
            colon: true,
            size: 3,
        },
    ),
    (
        "-0700",
        Part::Offset {
            z: false,
            colon: false,
            size: 2,
        },
    ),
    (
        "-07:00",
        Part::Offset {
            z: false,
            colon: true,
            size: 2,
        },
    ),
    (
        "-07",
        Part::Offset {
            z: false,
            colon: false,
            size: 1,
        },
    ),
    (
        "Z070000",
        Part::Offset {
            z: true,
            colon: false,
            size: 3,
        },
    ),
    (
        "Z07:00:00",
        Part::Offset {
            z: true,
            colon: true,
            size: 3,
        },
    ),
    (
        "Z0700",
        Part::Offset {
            z: true,
            colon: false,
            size: 2,
        },
    ),
    (
        "Z07:00",
        Part::Offset {
            z: true,
            colon: true,
            size: 2,
        },
    ),
    (
        "Z07",
        Part::Offset {
            z: true,
            colon: false,
            size: 1,
        },
    ),
];

// The text before the next part, the part, and the text behind it.
fn next_part(layout: &str) -> Option<(&str, Part, &str)> {
    for (at, c) in layout.char_indices() {
        let rest = &layout[at..];
        if let '.' | ',' = c {
            if let Some((part, length)) = fraction(rest) {
                return Some((&layout[..at], part, &rest[length..]));
            }
            continue;
        }
        for (word, part) in WORDS {
            if !rest.starts_with(word) {
                continue;
            }
            if word == "Jan" && rest[3..].starts_with(|c: char| c.is_ascii_lowercase()) {
                continue;
            }
            if word == "Mon" && rest[3..].starts_with(|c: char| c.is_ascii_lowercase()) {
                continue;
            }
            if word == "_2006" {
                return Some((&layout[..=at], part, &rest[5..]));
            }
            return Some((&layout[..at], part, &rest[word.len()..]));
        }
    }
    None
}

fn fraction(rest: &str) -> Option<(Part, usize)> {
    let digit = rest[1..]
        .chars()
        .next()
        .filter(|c| *c == '0' || *c == '9')?;
    let digits = rest[1..].chars().take_while(|c| *c == digit).count();
    if rest[1 + digits..].starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mark = if rest.starts_with(',') { ',' } else { '.' };
    Some((
        Part::Fraction {
            keep: digit == '0',
            digits,
            mark,
        },
        digits + 1,
    ))
}

/// Prints a time by a layout.
pub(crate) fn format(time: &Time, layout: &str) -> String {
    let civil = time.civil();
    let mut out = String::with_capacity(layout.len() + 10);
    let mut rest = layout;
    while let Some((before, part, after)) = next_part(rest) {
        out.push_str(before);
        rest = after;
        let hour12 = if civil.hour.is_multiple_of(12) {
            12
        } else {
            civil.hour % 12
        };
        match part {
            Part::LongMonth => out.push_str(MONTHS[civil.month as usize - 1]),
            Part::Month => out.push_str(&MONTHS[civil.month as usize - 1][..3]),
            Part::NumMonth => out.push_str(&civil.month.to_string()),
            Part::ZeroMonth => out.push_str(&format!("{:02}", civil.month)),
            Part::LongWeekDay => out.push_str(WEEKDAYS[civil.weekday as usize]),
            Part::WeekDay => out.push_str(&WEEKDAYS[civil.weekday as usize][..3]),
            Part::Day => out.push_str(&civil.day.to_string()),
            Part::UnderDay => out.push_str(&format!("{:2}", civil.day)),
            Part::ZeroDay => out.push_str(&format!("{:02}", civil.day)),
            Part::UnderYearDay => out.push_str(&format!("{:3}", civil.year_day)),
            Part::ZeroYearDay => out.push_str(&format!("{:03}", civil.year_day)),
            Part::Hour => out.push_str(&format!("{:02}", civil.hour)),
            Part::Hour12 => out.push_str(&hour12.to_string()),
            Part::ZeroHour12 => out.push_str(&format!("{hour12:02}")),
            Part::Minute => out.push_str(&civil.minute.to_string()),
            Part::ZeroMinute => out.push_str(&format!("{:02}", civil.minute)),
            Part::Second => out.push_str(&civil.second.to_string()),
            Part::ZeroSecond => out.push_str(&format!("{:02}", civil.second)),
            Part::LongYear => {
                let sign = if civil.year < 0 { "-" } else { "" };
                out.push_str(&format!("{sign}{:04}", civil.year.unsigned_abs()));
            }
            Part::Year => out.push_str(&format!("{:02}", civil.year.unsigned_abs() % 100)),
            Part::UpperPm => out.push_str(if civil.hour >= 12 { "PM" } else { "AM" }),
            Part::LowerPm => out.push_str(if civil.hour >= 12 { "pm" } else { "am" }),
            Part::Zone => out.push_str(&zone_text(time)),
            Part::Offset { z, colon, size } => {
                out.push_str(&offset_text(time.offset, z, colon, size));
            }
            Part::Fraction { keep, digits, mark } => {
                let nanos = format!("{:09}", time.nanos);
                let mut text: String = nanos
                    .chars()
                    .chain("0".repeat(digits).chars())
                    .take(digits)
                    .collect();
                if !keep {
                    text.truncate(text.trim_end_matches('0').len());
                }
                if keep || !text.is_empty() {
                    out.push(mark);
                    out.push_str(&text);
                }
            }
        }
    }
    out.push_str(rest);
    out
}

fn zone_text(time: &Time) -> String {
    let name = time.abbreviation();
    if !name.is_empty() {
        return name.to_owned();
    }
    let minutes = time.offset / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let minutes = minutes.abs();
    let tail = if minutes % 60 == 0 {
        String::new()
    } else {
        format!("{:02}", minutes % 60)
    };
    format!("{sign}{:02}{tail}", minutes / 60)
}

fn offset_text(offset: i32, z: bool, colon: bool, size: u8) -> String {
    if z && offset == 0 {
        return "Z".to_owned();
    }
    let sign = if offset < 0 { '-' } else { '+' };
    let seconds = offset.abs();
    let mark = if colon { ":" } else { "" };
    let mut text = format!("{sign}{:02}", seconds / 3600);
    if size > 1 {
        text.push_str(&format!("{mark}{:02}", seconds / 60 % 60));
    }
    if size > 2 {
        text.push_str(&format!("{mark}{:02}", seconds % 60));
    }
    text
}

// A date while it is read.
#[derive(Default)]
struct Reading {
    year: i64,
    month: Option<u32>,
    day: Option<u32>,
    year_day: Option<u32>,
    hour: u32,
    minute: u32,
    second: u32,
    nanos: u32,
    pm: Option<bool>,
    offset: Option<i32>,
    zone: Option<String>,
}

/// Reads a time by a layout, in UTC where the text names no zone; the error is Go's.
pub(crate) fn parse(layout: &str, text: &str) -> Result<Time, String> {
    let mut found = Reading::default();
    let (mut rest, mut value) = (layout, text);
    let fail = |element: &str, at: &str, message: &str| {
        if message.is_empty() {
            let [text, layout, at, element] =
                [text, layout, at, element].map(|t| quote(t.as_bytes()));
            Err(format!(
                "parsing time {text} as {layout}: cannot parse {at} as {element}"
            ))
        } else {
            Err(format!("parsing time {}{message}", quote(text.as_bytes())))
        }
    };
    loop {
        let step = next_part(rest);
        let before = step.map_or(rest, |(before, _, _)| before);
        match skip(value, before) {
            Some(after) => value = after,
            None => return fail(before, value, ""),
        }
        let Some((_, part, after)) = step else {
            if value.is_empty() {
                break;
            }
            return fail(
                "",
                value,
                &format!(": extra text: {}", quote(value.as_bytes())),
            );
        };
        let element = &rest[before.len()..rest.len() - after.len()];
        match read(part, value, &mut found, after) {
            Ok(after) => value = after,
            Err(Misread::Syntax) => return fail(element, value, ""),
            Err(Misread::Range(what)) => {
                return fail(element, value, &format!(": {what} out of range"));
            }
        }
        rest = after;
    }
    match finish(&found) {
        Ok(time) => Ok(time),
        Err(what) => fail("", text, &format!(": {what} out of range")),
    }
}

enum Misread {
    Syntax,
    Range(&'static str),
}

// Skips the layout's own text; a space stands for any number of them.
fn skip<'a>(mut value: &'a str, mut prefix: &str) -> Option<&'a str> {
    while let Some(c) = prefix.chars().next() {
        if c == ' ' {
            if !value.is_empty() && !value.starts_with(' ') {
                return None;
            }
            prefix = prefix.trim_start_matches(' ');
            value = value.trim_start_matches(' ');
            continue;
        }
        value = value.strip_prefix(c)?;
        prefix = &prefix[c.len_utf8()..];
    }
    Some(value)
}

// One or two digits; `fixed` wants two.
fn digits(value: &str, fixed: bool) -> Result<(u32, &str), Misread> {
    let count = value.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if count == 0 || (fixed && count < 2) {
        return Err(Misread::Syntax);
    }
    let number = value[..count].parse().map_err(|_| Misread::Syntax)?;
    Ok((number, &value[count..]))
}

fn word<'a>(
    value: &'a str,
    names: &[&str],
    length: Option<usize>,
) -> Result<(u32, &'a str), Misread> {
    for (i, name) in names.iter().enumerate() {
        let name = &name[..length.unwrap_or(name.len())];
        if let Some(head) = value.get(..name.len())
            && head.eq_ignore_ascii_case(name)
        {
            return Ok((i as u32, &value[name.len()..]));
        }
    }
    Err(Misread::Syntax)
}

fn read<'a>(
    part: Part,
    value: &'a str,
    found: &mut Reading,
    after: &str,
) -> Result<&'a str, Misread> {
    let bounded = |n: u32, limit: u32, what| {
        if n < limit {
            Ok(n)
        } else {
            Err(Misread::Range(what))
        }
    };
    let (number, rest) = match part {
        Part::Year => {
            let (n, rest) = digits(value, true)?;
            found.year = i64::from(n) + if n >= 69 { 1900 } else { 2000 };
            return Ok(rest);
        }
        Part::LongYear => {
            let head = value
                .get(..4)
                .filter(|h| h.bytes().all(|b| b.is_ascii_digit()));
            found.year = head.and_then(|h| h.parse().ok()).ok_or(Misread::Syntax)?;
            return Ok(&value[4..]);
        }
        Part::Month => {
            let (n, rest) = word(value, &MONTHS, Some(3))?;
            found.month = Some(n + 1);
            return Ok(rest);
        }
        Part::LongMonth => {
            let (n, rest) = word(value, &MONTHS, None)?;
            found.month = Some(n + 1);
            return Ok(rest);
        }
        Part::WeekDay => return Ok(word(value, &WEEKDAYS, Some(3))?.1),
        Part::LongWeekDay => return Ok(word(value, &WEEKDAYS, None)?.1),
        Part::UpperPm | Part::LowerPm => {
            let (am, pm) = if part == Part::UpperPm {
                ("AM", "PM")
            } else {
                ("am", "pm")
            };
            let head = value.get(..2).ok_or(Misread::Syntax)?;
            found.pm = Some(match head {
                h if h == pm => true,
                h if h == am => false,
                _ => return Err(Misread::Syntax),
            });
            return Ok(&value[2..]);
        }
        Part::Offset { z, colon, size } => return read_offset(value, z, colon, size, found),
        Part::Zone => return read_zone(value, found),
        Part::Fraction { keep, digits, mark } => {
            return read_fraction(value, keep, digits, mark, found);
        }
        Part::UnderYearDay | Part::ZeroYearDay => {
            let head = value.get(..3).ok_or(Misread::Syntax)?;
            let text = if part == Part::UnderYearDay {
                head.trim_start()
            } else {
                head
            };
            let n: u32 = text.parse().map_err(|_| Misread::Syntax)?;
            found.year_day = Some(n);
            return Ok(&value[3..]);
        }
        Part::UnderDay => digits(value.strip_prefix(' ').unwrap_or(value), false)?,
        Part::NumMonth | Part::Day | Part::Hour | Part::Hour12 | Part::Minute | Part::Second => {
            digits(value, false)?
        }
        Part::ZeroMonth
        | Part::ZeroDay
        | Part::ZeroHour12
        | Part::ZeroMinute
        | Part::ZeroSecond => digits(value, true)?,
    };
    match part {
        Part::NumMonth | Part::ZeroMonth => {
            if !(1..=12).contains(&number) {
                return Err(Misread::Range("month"));
            }
            found.month = Some(number);
        }
        Part::Hour => found.hour = bounded(number, 24, "hour")?,
        Part::Hour12 | Part::ZeroHour12 => found.hour = bounded(number, 13, "hour")?,
        Part::Minute | Part::ZeroMinute => found.minute = bounded(number, 60, "minute")?,
        Part::Second | Part::ZeroSecond => {
            found.second = bounded(number, 60, "second")?;
            // A fraction may follow although the layout has none.
            if rest.starts_with(['.', ',']) && !after.starts_with(['.', ',']) {
                let count = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                if count > 0 {
                    found.nanos = nanos(&rest[1..=count]);
                    return Ok(&rest[count + 1..]);
                }
            }
        }
        _ => found.day = Some(number),
    }
    Ok(rest)
}

fn nanos(digits: &str) -> u32 {
    let padded: String = digits.chars().chain("000000000".chars()).take(9).collect();
    padded.parse().unwrap_or(0)
}

fn read_fraction<'a>(
    value: &'a str,
    keep: bool,
    digits: usize,
    mark: char,
    found: &mut Reading,
) -> Result<&'a str, Misread> {
    let count = value
        .get(1..)
        .map_or(0, |v| v.bytes().take_while(u8::is_ascii_digit).count());
    let marked = value.starts_with(mark) || (value.starts_with(['.', ',']) && !keep);
    if keep {
        if !marked || count < digits {
            return Err(Misread::Syntax);
        }
        found.nanos = nanos(&value[1..=digits]);
        return Ok(&value[digits + 1..]);
    }
    if !marked || count == 0 {
        return Ok(value);
    }
    let count = count.min(9);
    found.nanos = nanos(&value[1..=count]);
    Ok(&value[count + 1..])
}

fn read_offset<'a>(
    value: &'a str,
    z: bool,
    colon: bool,
    size: u8,
    found: &mut Reading,
) -> Result<&'a str, Misread> {
    if z && let Some(rest) = value.strip_prefix('Z') {
        found.offset = Some(0);
        found.zone = Some("UTC".to_owned());
        return Ok(rest);
    }
    let sign = match value.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Err(Misread::Syntax),
    };
    let mut rest = &value[1..];
    let mut seconds = 0;
    for (i, unit) in [3600, 60, 1].into_iter().enumerate().take(size as usize) {
        if i > 0 && colon {
            rest = rest.strip_prefix(':').ok_or(Misread::Syntax)?;
        }
        let (number, after) = digits(rest, true)?;
        let (limit, what) = [
            (25, "time zone offset hour"),
            (60, "time zone offset minute"),
            (60, "time zone offset second"),
        ][i];
        if number >= limit {
            return Err(Misread::Range(what));
        }
        seconds += number as i32 * unit;
        rest = after;
    }
    found.offset = Some(sign * seconds);
    Ok(rest)
}

fn read_zone<'a>(value: &'a str, found: &mut Reading) -> Result<&'a str, Misread> {
    if let Some(rest) = value.strip_prefix("UTC") {
        found.zone = Some("UTC".to_owned());
        found.offset = Some(0);
        return Ok(rest);
    }
    let count = value.bytes().take_while(u8::is_ascii_uppercase).count();
    if !(3..=5).contains(&count) {
        return Err(Misread::Syntax);
    }
    found.zone = Some(value[..count].to_owned());
    Ok(&value[count..])
}

fn finish(found: &Reading) -> Result<Time, &'static str> {
    let hour = match found.pm {
        Some(true) if found.hour < 12 => found.hour + 12,
        Some(false) if found.hour == 12 => 0,
        _ => found.hour,
    };
    let leap = found.year % 4 == 0 && (found.year % 100 != 0 || found.year % 400 == 0);
    let (month, day) = match found.year_day {
        Some(of_year) => {
            if of_year < 1 || of_year > 365 + u32::from(leap) {
                return Err("day-of-year");
            }
            (1, of_year)
        }
        None => {
            let (month, day) = (found.month.unwrap_or(1), found.day.unwrap_or(1));
            let days = match month {
                2 => 28 + u32::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            if day < 1 || day > days {
                return Err("day");
            }
            (month, day)
        }
    };
    let days = days_of(found.year, i64::from(month), i64::from(day));
    let clock = i64::from(hour) * 3600 + i64::from(found.minute) * 60 + i64::from(found.second);
    let offset = found.offset.unwrap_or(0);
    let time = Time::utc(days * 86400 + clock - i64::from(offset), found.nanos);
    Ok(match (&found.zone, found.offset) {
        (Some(zone), _) => time.shown_in(offset, zone),
        (None, Some(0) | None) => time,
        (None, Some(offset)) => time.shown_in(offset, ""),
    })
}
