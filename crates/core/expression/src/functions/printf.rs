//! `'%s is %d'.format([a, b])`.

use super::convert::{duration_text, time_text, to_text};
use crate::operators::Failure;
use crate::value::Val;

/// Fills the places of a format with values.
pub(super) fn format(pattern: &str, values: &[Val<'_>]) -> Result<String, Failure> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut values = values.iter().enumerate();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            out.push('%');
            continue;
        }
        let mut precision = None;
        if chars.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            precision = digits.parse::<usize>().ok().map(|p| p.min(64));
        }
        let verb = chars.next().ok_or("unexpected end of format string")?;
        let (index, value) = values.next().ok_or_else(|| {
            let count = pattern.matches('%').count() - 1;
            format!("index {count} out of range")
        })?;
        let shown = verb_text(verb, precision, value);
        let misfit = || {
            format!(
                "error during formatting: unrecognized formatting clause \"{verb}\" for argument \
                 {index} of type {}",
                value.type_name()
            )
        };
        out.push_str(&shown.ok_or_else(misfit)?);
    }
    Ok(out)
}

fn verb_text(verb: char, precision: Option<usize>, value: &Val<'_>) -> Option<String> {
    match (verb, value) {
        ('s', value) => Some(plain(value)),
        ('d', Val::Int(n)) => Some(n.to_string()),
        ('d', Val::Uint(n)) => Some(n.to_string()),
        ('f', value) => Some(format!("{:.*}", precision.unwrap_or(6), float(value)?)),
        ('e', value) => Some(scientific(float(value)?, precision.unwrap_or(6))),
        ('b', Val::Bool(b)) => Some(u8::from(*b).to_string()),
        ('b', Val::Int(n)) => Some(signed(*n, |n| format!("{n:b}"))),
        ('o', Val::Int(n)) => Some(signed(*n, |n| format!("{n:o}"))),
        ('x', Val::Int(n)) => Some(signed(*n, |n| format!("{n:x}"))),
        ('X', Val::Int(n)) => Some(signed(*n, |n| format!("{n:X}"))),
        ('b', Val::Uint(n)) => Some(format!("{n:b}")),
        ('o', Val::Uint(n)) => Some(format!("{n:o}")),
        ('x', Val::Uint(n)) => Some(format!("{n:x}")),
        ('X', Val::Uint(n)) => Some(format!("{n:X}")),
        ('x', Val::Text(text)) => Some(hex(text.as_bytes(), |b| format!("{b:02x}"))),
        ('X', Val::Text(text)) => Some(hex(text.as_bytes(), |b| format!("{b:02X}"))),
        ('x', Val::Bytes(bytes)) => Some(hex(bytes, |b| format!("{b:02x}"))),
        ('X', Val::Bytes(bytes)) => Some(hex(bytes, |b| format!("{b:02X}"))),
        _ => None,
    }
}

fn signed(n: i64, show: fn(u64) -> String) -> String {
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", show(n.unsigned_abs()))
}

fn hex(bytes: &[u8], show: fn(&u8) -> String) -> String {
    bytes.iter().map(show).collect()
}

fn float(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Double(n) => Some(*n),
        Val::Int(n) => Some(*n as f64),
        Val::Uint(n) => Some(*n as f64),
        _ => None,
    }
}

fn scientific(n: f64, precision: usize) -> String {
    let text = format!("{n:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        None => text,
    }
}

// Values inside lists and maps are shown like the value itself.
fn plain(value: &Val<'_>) -> String {
    match value {
        Val::Null => "null".into(),
        Val::Time(at) => time_text(*at),
        Val::Duration(nanos) => duration_text(*nanos),
        Val::List(list) => {
            let shown: Vec<String> = list.iter().map(|v| plain(&v)).collect();
            format!("[{}]", shown.join(", "))
        }
        Val::Map(map) => {
            let entries = map.entries();
            let shown: Vec<String> = entries
                .iter()
                .map(|(k, v)| format!("{}: {}", plain(k), plain(v)))
                .collect();
            format!("{{{}}}", shown.join(", "))
        }
        other => to_text(other).unwrap_or_else(|| other.type_name().to_owned()),
    }
}
