//! How Go prints values: JSON text with its escapes, `%q`, `%v` and `%#v`.
//!
//! Error texts and `fieldsV1` keys of the API server are made by Go's printers, so they are part of
//! what clients see.

use model::Value;
use std::fmt::Write as _;

/// Appends a value as Go's JSON encoder writes it: sorted keys, HTML characters escaped.
pub(crate) fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.push_str(&json_number(n)),
        Value::String(s) => write_json_string(s, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (key, field)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json_string(key, out);
                out.push(':');
                write_json(field, out);
            }
            out.push('}');
        }
    }
}

/// Appends JSON text in quotes, with `<`, `>`, `&` and the two line separators escaped.
pub(crate) fn write_json_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn json_number(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => json_float(float),
        _ => number.to_string(),
    }
}

// Whole floats print without a fraction; very large and very small ones with an exponent.
fn json_float(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        return exponent(float);
    }
    format!("{float}")
}

// `1e+21`, `1.5e-07`: at least two exponent digits and always a sign.
fn exponent(float: f64) -> String {
    let text = format!("{float:e}");
    let Some((mantissa, power)) = text.split_once('e') else {
        return text;
    };
    let (sign, digits) = match power.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', power),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

// `%v` of a float64: an exponent below 1e-4 and from 1e21 on.
fn verb_float(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        return exponent(float);
    }
    format!("{float}")
}

/// A key value inside a path: `name="c"`, `port=80`.
pub(crate) fn path_value(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(_) => verb(value),
        Value::String(s) => quote(s),
        Value::Array(items) => {
            let texts: Vec<_> = items.iter().map(path_value).collect();
            format!("[{}]", texts.join(","))
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(k, v)| format!("{k}={}", path_value(v)))
            .collect(),
    }
}

/// `%q`.
pub(crate) fn quote(text: &str) -> String {
    model::field::go_quote(text)
}

/// `%v`: `map[a:1 b:[x y]]`.
pub(crate) fn verb(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => match n.as_f64() {
            Some(float) if n.is_f64() => verb_float(float),
            _ => n.to_string(),
        },
        Value::String(s) => s.clone(),
        Value::Array(items) => {
            let texts: Vec<_> = items.iter().map(verb).collect();
            format!("[{}]", texts.join(" "))
        }
        Value::Object(fields) => {
            let texts: Vec<_> = fields
                .iter()
                .map(|(k, v)| format!("{k}:{}", verb(v)))
                .collect();
            format!("map[{}]", texts.join(" "))
        }
    }
}

/// `%#v`: `map[string]interface {}{"a":1}`.
pub(crate) fn sharp(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(_) | Value::Number(_) => verb(value),
        Value::String(s) => quote(s),
        Value::Array(items) => {
            let texts: Vec<_> = items.iter().map(sharp).collect();
            format!("[]interface {{}}{{{}}}", texts.join(", "))
        }
        Value::Object(fields) => {
            let texts: Vec<_> = fields
                .iter()
                .map(|(k, v)| format!("{}:{}", quote(k), sharp(v)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", texts.join(", "))
        }
    }
}

/// `%T`.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The type of a value as Go's JSON decoder names it.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
