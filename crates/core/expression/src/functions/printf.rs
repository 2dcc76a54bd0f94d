//! `'%s is %d'.format([a, b])`.

use super::convert::{duration_text, time_text, to_text};
use crate::operators::Failure;
use crate::value::Val;
use model::field::go_quote;

/// Fills the places of a format with values.
pub(super) fn format(pattern: &str, values: &[Val<'_>]) -> Result<String, Failure> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut values = values.iter();
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
        let value = values.next().ok_or_else(|| {
            let count = pattern.matches('%').count() - 1;
            format!("index {count} out of range")
        })?;
        out.push_str(&verb_text(verb, precision, value)?);
    }
    Ok(out)
}

fn verb_text(verb: char, precision: Option<usize>, value: &Val<'_>) -> Result<String, Failure> {
    let (shown, clause, fitting) = match verb {
        's' => (
            plain(value),
            "string",
            "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
        ),
        'd' => (decimal(value), "decimal", "integers"),
        'f' => {
            let shown = float(value).map(|n| format!("{n:.*}", precision.unwrap_or(6)));
            (shown, "fixed-point", "doubles")
        }
        'e' => {
            let shown = float(value).map(|n| scientific(n, precision.unwrap_or(6)));
            (shown, "scientific", "doubles")
        }
        'b' => (binary(value), "binary", "integers and bools"),
        'o' => (octal(value), "octal", "integers"),
        'x' | 'X' => {
            let shown = hexadecimal(value).map(|text| match verb {
                'X' => text.to_ascii_uppercase(),
                _ => text,
            });
            (shown, "hex", "integers, byte buffers, and strings")
        }
        other => return Err(format!("unrecognized formatting clause \"{other}\"")),
    };
    shown.ok_or_else(|| {
        let given = value.type_name();
        format!(
            "error during formatting: {clause} clause can only be used on {fitting}, was given \
             {given}"
        )
    })
}

fn decimal(value: &Val<'_>) -> Option<String> {
    match value {
        Val::Int(n) => Some(n.to_string()),
        Val::Uint(n) => Some(n.to_string()),
        _ => None,
    }
}

fn binary(value: &Val<'_>) -> Option<String> {
    match value {
        Val::Bool(b) => Some(u8::from(*b).to_string()),
        Val::Int(n) => Some(signed(*n, |n| format!("{n:b}"))),
        Val::Uint(n) => Some(format!("{n:b}")),
        _ => None,
    }
}

fn octal(value: &Val<'_>) -> Option<String> {
    match value {
        Val::Int(n) => Some(signed(*n, |n| format!("{n:o}"))),
        Val::Uint(n) => Some(format!("{n:o}")),
        _ => None,
    }
}

fn hexadecimal(value: &Val<'_>) -> Option<String> {
    let bytes = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut out, b| {
            out.push_str(&format!("{b:02x}"));
            out
        })
    };
    match value {
        Val::Int(n) => Some(signed(*n, |n| format!("{n:x}"))),
        Val::Uint(n) => Some(format!("{n:x}")),
        Val::Text(text) => Some(bytes(text.as_bytes())),
        Val::Bytes(given) => Some(bytes(given)),
        _ => None,
    }
}

fn signed(n: i64, show: fn(u64) -> String) -> String {
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", show(n.unsigned_abs()))
}

fn float(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Double(n) => Some(*n),
        Val::Int(n) => Some(*n as f64),
        Val::Uint(n) => Some(*n as f64),
        _ => None,
    }
}

// `1.5×10⁰³`, as CEL prints it.
fn scientific(n: f64, precision: usize) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let text = format!("{n:.precision$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { "⁻" } else { "" };
    let digits = format!("{:02}", exponent.abs());
    let raised: String = digits
        .chars()
        .filter_map(|c| RAISED.get(c.to_digit(10)? as usize))
        .collect();
    format!("{mantissa}×10{sign}{raised}")
}

// Texts inside of lists and maps are quoted.
fn plain(value: &Val<'_>) -> Option<String> {
    match value {
        Val::Text(text) => Some(text.to_string()),
        other => nested(other),
    }
}

fn nested(value: &Val<'_>) -> Option<String> {
    Some(match value {
        Val::Null => "null".into(),
        Val::Text(text) => go_quote(text),
        Val::Time(at) => time_text(*at),
        Val::Duration(nanos) => duration_text(*nanos),
        Val::List(list) => {
            let shown: Option<Vec<String>> = list.iter().map(|v| nested(&v)).collect();
            format!("[{}]", shown?.join(", "))
        }
        Val::Map(map) => {
            let pair = |(k, v): &(Val<'_>, Val<'_>)| Some(format!("{}:{}", nested(k)?, nested(v)?));
            let shown: Option<Vec<String>> = map.entries().iter().map(pair).collect();
            format!("{{{}}}", shown?.join(", "))
        }
        Val::Optional(_) | Val::Library(_) => return None,
        other => to_text(other)?,
    })
}
