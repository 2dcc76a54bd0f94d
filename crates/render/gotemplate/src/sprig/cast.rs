//! Values to numbers as the library `cast` does it: what cannot be read is 0.

use crate::strconv::{parse_float, parse_int};
use crate::value::Value;

/// `cast.ToInt64`.
pub(crate) fn to_int(value: &Value) -> i64 {
    match value {
        Value::Int(i) | Value::Int64(i) => *i,
        Value::Int32(i) => i64::from(*i),
        Value::Uint8(u) => i64::from(*u),
        Value::Uint64(u) => *u as i64,
        Value::Float(f) => float_to_int(*f),
        Value::Bool(b) => i64::from(*b),
        Value::String(text) => parse_int(trim_zero_decimal(&text.lossy()), 0).unwrap_or(0),
        _ => 0,
    }
}

// Go's conversion on amd64: what does not fit is the smallest number.
fn float_to_int(f: f64) -> i64 {
    if f.is_nan() || !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&f) {
        i64::MIN
    } else {
        f as i64
    }
}

// `8.00` counts as `8`.
fn trim_zero_decimal(text: &str) -> &str {
    let head = text.trim_end_matches('0');
    match head.strip_suffix('.') {
        Some(whole) if head.len() < text.len() => whole,
        _ => text,
    }
}

/// `cast.ToFloat64`.
pub(crate) fn to_float(value: &Value) -> f64 {
    match value {
        Value::Int(i) | Value::Int64(i) => *i as f64,
        Value::Int32(i) => f64::from(*i),
        Value::Uint8(u) => f64::from(*u),
        Value::Uint64(u) => *u as f64,
        Value::Float(f) => *f,
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::String(text) => parse_float(&text.lossy()).unwrap_or(0.0),
        _ => 0.0,
    }
}
