//! `eq`, `lt` and their kin: what may be compared with what, and how.

use crate::fmt::{sprintf, text_of};
use crate::value::Value;

#[derive(Clone, Copy, PartialEq)]
enum Basic<'a> {
    Bool(bool),
    Complex(f64, f64),
    Int(i64),
    Float(f64),
    String(&'a [u8]),
    Uint(u64),
}

fn basic(value: &Value) -> Option<Basic<'_>> {
    Some(match value {
        Value::Bool(b) => Basic::Bool(*b),
        Value::Complex(re, im) => Basic::Complex(*re, *im),
        Value::Float(f) => Basic::Float(*f),
        Value::String(text) => Basic::String(text),
        other => match (other.as_signed(), other.as_unsigned()) {
            (Some(i), _) => Basic::Int(i),
            (_, Some(u)) => Basic::Uint(u),
            _ => return None,
        },
    })
}

fn incompatible(left: &Value, right: &Value) -> String {
    format!(
        "incompatible types for comparison: {} and {}",
        left.type_name(),
        right.type_name()
    )
}

/// Whether the first value equals one of the others.
pub(crate) fn eq(first: &Value, others: &[Value]) -> Result<bool, String> {
    if others.is_empty() {
        return Err("missing argument for comparison".to_owned());
    }
    for other in others {
        if eq_one(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn eq_one(left: &Value, right: &Value) -> Result<bool, String> {
    match (basic(left), basic(right)) {
        (Some(Basic::Int(a)), Some(Basic::Uint(b)))
        | (Some(Basic::Uint(b)), Some(Basic::Int(a))) => Ok(u64::try_from(a) == Ok(b)),
        (Some(a), Some(b)) if std::mem::discriminant(&a) == std::mem::discriminant(&b) => {
            Ok(a == b)
        }
        (None, None) => eq_other(left, right),
        _ if left.is_nil() || right.is_nil() => Ok(false),
        _ => Err(incompatible(left, right)),
    }
}

// The value under `%s`, which complains about its numbers.
fn strings_of(value: &Value) -> String {
    String::from_utf8_lossy(&sprintf(b"%s", std::slice::from_ref(value))).into_owned()
}

// Values that are neither numbers nor strings: only whether they are nil, or one and the same.
fn eq_other(left: &Value, right: &Value) -> Result<bool, String> {
    let nil = |v: &Value| match v {
        Value::Invalid | Value::Nil => true,
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        _ => false,
    };
    if !left.is_nil() && !right.is_nil() && left.kind() != right.kind() {
        return Err(format!(
            "non-comparable types {}: {}, {}: {}",
            strings_of(left),
            left.type_name(),
            right.type_name(),
            text_of(right)
        ));
    }
    if nil(left) || nil(right) {
        return Ok(nil(left) == nil(right));
    }
    match (left, right) {
        (_, Value::List(_) | Value::Map(_)) => Err(format!(
            "non-comparable type {}: {}",
            strings_of(right),
            right.type_name()
        )),
        (Value::Struct(a), Value::Struct(b)) if a.pointer || b.pointer => {
            Ok(std::rc::Rc::ptr_eq(a, b))
        }
        _ => Ok(crate::walk::deep_equal(left, right)),
    }
}

/// Whether the first value is less than the second.
pub(crate) fn lt(left: &Value, right: &Value) -> Result<bool, String> {
    const BAD: &str = "invalid type for comparison";
    let (a, b) = (basic(left).ok_or(BAD)?, basic(right).ok_or(BAD)?);
    match (a, b) {
        (Basic::Int(a), Basic::Uint(b)) => Ok(u64::try_from(a).map_or(true, |a| a < b)),
        (Basic::Uint(a), Basic::Int(b)) => Ok(u64::try_from(b).is_ok_and(|b| a < b)),
        (Basic::Int(a), Basic::Int(b)) => Ok(a < b),
        (Basic::Uint(a), Basic::Uint(b)) => Ok(a < b),
        (Basic::Float(a), Basic::Float(b)) => Ok(a < b),
        (Basic::String(a), Basic::String(b)) => Ok(a < b),
        (Basic::Bool(_), Basic::Bool(_)) | (Basic::Complex(..), Basic::Complex(..)) => {
            Err(BAD.to_owned())
        }
        _ => Err(incompatible(left, right)),
    }
}

/// Whether the first value is less than or equal to the second.
pub(crate) fn le(left: &Value, right: &Value) -> Result<bool, String> {
    Ok(lt(left, right)? || eq(left, std::slice::from_ref(right))?)
}
