//! Conversions between types.

use super::Answer;
use crate::value::{Library, Val};
use model::Timestamp;
use schema::parse_duration;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    let [value] = args else {
        return None;
    };
    Some(match name {
        "dyn" => Ok(value.clone()),
        "type" => Ok(Val::Type(value.type_name())),
        "string" => to_text(value)
            .map(Val::text)
            .ok_or_else(|| fail(value, "string")),
        "int" => to_int(value)
            .map(Val::Int)
            .ok_or_else(|| fail(value, "int")),
        "uint" => to_uint(value)
            .map(Val::Uint)
            .ok_or_else(|| fail(value, "uint")),
        "double" => to_double(value)
            .map(Val::Double)
            .ok_or_else(|| fail(value, "double")),
        "bool" => to_bool(value)
            .map(Val::Bool)
            .ok_or_else(|| fail(value, "bool")),
        "bytes" => match value {
            Val::Bytes(bytes) => Ok(Val::Bytes(bytes.clone())),
            Val::Text(text) => Ok(Val::Bytes(text.as_bytes().into())),
            other => Err(fail(other, "bytes")),
        },
        "duration" => match value {
            Val::Duration(d) => Ok(Val::Duration(*d)),
            Val::Int(nanos) => Ok(Val::Duration(*nanos)),
            Val::Text(text) => parse_duration(text)
                .map(Val::Duration)
                .ok_or_else(|| fail(value, "google.protobuf.Duration")),
            other => Err(fail(other, "google.protobuf.Duration")),
        },
        "timestamp" => match value {
            Val::Time(at) => Ok(Val::Time(*at)),
            Val::Int(seconds) => seconds
                .checked_mul(1_000_000)
                .map(|micros| Val::Time(Timestamp::from_micros(micros)))
                .ok_or_else(|| "timestamp overflow".to_owned()),
            Val::Text(text) => Timestamp::parse(text)
                .map(Val::Time)
                .ok_or_else(|| fail(value, "google.protobuf.Timestamp")),
            other => Err(fail(other, "google.protobuf.Timestamp")),
        },
        _ => return None,
    })
}

fn fail(value: &Val<'_>, to: &str) -> String {
    match (value, to) {
        (Val::Uint(_) | Val::Double(_), "int") => return "integer overflow".into(),
        (Val::Int(_) | Val::Double(_), "uint") => return "unsigned integer overflow".into(),
        _ => {}
    }
    format!(
        "type conversion error from '{}' to '{to}'",
        value.type_name()
    )
}

/// The text that `string()` makes of a value.
pub(crate) fn to_text(value: &Val<'_>) -> Option<String> {
    Some(match value {
        Val::Text(text) => text.to_string(),
        Val::Bool(b) => b.to_string(),
        Val::Int(n) => n.to_string(),
        Val::Uint(n) => n.to_string(),
        Val::Double(n) => schema::show_float(*n),
        Val::Bytes(bytes) => String::from_utf8(bytes.to_vec()).ok()?,
        Val::Time(at) => time_text(*at),
        Val::Duration(nanos) => duration_text(*nanos),
        Val::Type(name) => (*name).to_owned(),
        Val::Library(library) => match &**library {
            Library::Ip(ip) => ip.to_string(),
            Library::Cidr(ip, bits) => format!("{ip}/{bits}"),
            Library::Quantity(quantity) => quantity.to_string(),
            Library::Url(_) | Library::Semver(_) | Library::Format(_) => return None,
        },
        Val::Null | Val::List(_) | Val::Map(_) | Val::Optional(_) => return None,
    })
}

/// A point in time as RFC 3339 with as many fractional digits as it needs.
pub(crate) fn time_text(at: Timestamp) -> String {
    if at.micros().rem_euclid(1_000_000) == 0 {
        return at.rfc3339();
    }
    let text = at.rfc3339_micros();
    let digits = text.trim_end_matches('Z').trim_end_matches('0');
    format!("{digits}Z")
}

/// A duration in seconds: `90s`, `0.5s`.
pub(crate) fn duration_text(nanos: i64) -> String {
    let whole = nanos.unsigned_abs() / 1_000_000_000;
    let part = nanos.unsigned_abs() % 1_000_000_000;
    let sign = if nanos < 0 { "-" } else { "" };
    let fraction = format!("{part:09}");
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{dot}{fraction}s")
}

fn to_int(value: &Val<'_>) -> Option<i64> {
    match value {
        Val::Int(n) => Some(*n),
        Val::Uint(n) => i64::try_from(*n).ok(),
        Val::Double(n) if n.is_finite() && n.abs() < 9.223_372_036_854_775e18 => Some(*n as i64),
        Val::Text(text) => text.parse().ok(),
        Val::Time(at) => Some(at.seconds()),
        Val::Duration(nanos) => Some(*nanos),
        _ => None,
    }
}

fn to_uint(value: &Val<'_>) -> Option<u64> {
    match value {
        Val::Uint(n) => Some(*n),
        Val::Int(n) => u64::try_from(*n).ok(),
        Val::Double(n) if (0.0..1.844_674_407_370_955e19).contains(n) => Some(*n as u64),
        Val::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn to_double(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Double(n) => Some(*n),
        Val::Int(n) => Some(*n as f64),
        Val::Uint(n) => Some(*n as f64),
        Val::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn to_bool(value: &Val<'_>) -> Option<bool> {
    match value {
        Val::Bool(b) => Some(*b),
        Val::Text(text) => match &**text {
            "1" | "t" | "true" | "TRUE" | "True" => Some(true),
            "0" | "f" | "false" | "FALSE" | "False" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Reads base64.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let body = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(body.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for b in body.bytes() {
        let place = ALPHABET.iter().position(|a| *a == b)?;
        bits = bits << 6 | place as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(out)
}

/// Writes base64.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            if i <= chunk.len() {
                let place = bits >> (18 - 6 * i) & 63;
                out.push(char::from(ALPHABET[place as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}
