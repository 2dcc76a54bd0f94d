//! Arithmetic, order and equality.

use crate::types::Identity;
use crate::value::{Library, List, Map, Val};
use std::cmp::Ordering;

/// Why an expression has no value.
pub(crate) type Failure = String;

/// What is said when no function fits the values.
pub(crate) const NO_OVERLOAD: &str = "no such overload";

/// Applies a binary operator of arithmetic.
pub(crate) fn arithmetic<'a>(name: &str, a: &Val<'a>, b: &Val<'a>) -> Result<Val<'a>, Failure> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => whole(name, *a, *b),
        (Val::Uint(a), Val::Uint(b)) => unsigned(name, *a, *b),
        (Val::Double(a), Val::Double(b)) => match name {
            "_+_" => Ok(Val::Double(a + b)),
            "_-_" => Ok(Val::Double(a - b)),
            "_*_" => Ok(Val::Double(a * b)),
            "_/_" => Ok(Val::Double(a / b)),
            _ => Err(NO_OVERLOAD.into()),
        },
        (Val::Text(a), Val::Text(b)) if name == "_+_" => Ok(Val::text(format!("{}{}", &**a, &**b))),
        (Val::Bytes(a), Val::Bytes(b)) if name == "_+_" => {
            Ok(Val::Bytes([&a[..], &b[..]].concat().into()))
        }
        (Val::List(a), Val::List(b)) if name == "_+_" => Ok(join(a, b)),
        _ => time(name, a, b),
    }
}

fn overflow(result: Option<i64>) -> Result<Val<'static>, Failure> {
    result
        .map(Val::Int)
        .ok_or_else(|| "integer overflow".to_owned())
}

fn whole<'a>(name: &str, a: i64, b: i64) -> Result<Val<'a>, Failure> {
    match name {
        "_+_" => overflow(a.checked_add(b)),
        "_-_" => overflow(a.checked_sub(b)),
        "_*_" => overflow(a.checked_mul(b)),
        "_/_" if b == 0 => Err("division by zero".into()),
        "_%_" if b == 0 => Err("modulus by zero".into()),
        "_/_" => overflow(a.checked_div(b)),
        "_%_" => overflow(a.checked_rem(b)),
        _ => Err(NO_OVERLOAD.into()),
    }
}

fn unsigned<'a>(name: &str, a: u64, b: u64) -> Result<Val<'a>, Failure> {
    let result = match name {
        "_+_" => a.checked_add(b),
        "_-_" => a.checked_sub(b),
        "_*_" => a.checked_mul(b),
        "_/_" if b == 0 => return Err("division by zero".into()),
        "_%_" if b == 0 => return Err("modulus by zero".into()),
        "_/_" => a.checked_div(b),
        "_%_" => a.checked_rem(b),
        _ => return Err(NO_OVERLOAD.into()),
    };
    result
        .map(Val::Uint)
        .ok_or_else(|| "unsigned integer overflow".to_owned())
}

fn time<'a>(name: &str, a: &Val<'a>, b: &Val<'a>) -> Result<Val<'a>, Failure> {
    let micros = |nanos: i64| nanos / 1_000;
    let moved = |at: model::Timestamp, nanos: Option<i64>| {
        nanos
            .and_then(|nanos| at.micros().checked_add(micros(nanos)))
            .map(|micros| Val::Time(model::Timestamp::from_micros(micros)))
            .ok_or_else(|| "timestamp overflow".to_owned())
    };
    let duration = |nanos: Option<i64>| {
        nanos
            .map(Val::Duration)
            .ok_or_else(|| "duration overflow".to_owned())
    };
    match (name, a, b) {
        ("_+_", Val::Time(at), Val::Duration(d)) | ("_+_", Val::Duration(d), Val::Time(at)) => {
            moved(*at, Some(*d))
        }
        ("_-_", Val::Time(at), Val::Duration(d)) => moved(*at, d.checked_neg()),
        ("_-_", Val::Time(a), Val::Time(b)) => {
            let micros = a.micros().checked_sub(b.micros());
            duration(micros.and_then(|m| m.checked_mul(1_000)))
        }
        ("_+_", Val::Duration(a), Val::Duration(b)) => duration(a.checked_add(*b)),
        ("_-_", Val::Duration(a), Val::Duration(b)) => duration(a.checked_sub(*b)),
        _ => Err(NO_OVERLOAD.into()),
    }
}

// Sets unite, list maps take over the entries of the right side by key, other lists are appended.
fn join<'a>(a: &List<'a>, b: &List<'a>) -> Val<'a> {
    let mut entries: Vec<Val<'a>> = a.iter().collect();
    for entry in b.iter() {
        let place = match a.identity() {
            Identity::Place => None,
            Identity::Value => entries.iter().position(|e| equal(e, &entry)),
            Identity::Keys(keys) => entries.iter().position(|e| same_keys(keys, e, &entry)),
        };
        match place {
            Some(place) => entries[place] = entry,
            None => entries.push(entry),
        }
    }
    Val::list(entries)
}

fn same_keys(keys: &[String], a: &Val<'_>, b: &Val<'_>) -> bool {
    let (Val::Map(a), Val::Map(b)) = (a, b) else {
        return false;
    };
    keys.iter().all(|key| {
        let name = crate::types::escape(key).unwrap_or_else(|| key.clone());
        match (a.field(&name), b.field(&name)) {
            (Some(a), Some(b)) => equal(&a, &b),
            (None, None) => true,
            _ => false,
        }
    })
}

/// Negates a number.
pub(crate) fn negate<'a>(value: &Val<'a>) -> Result<Val<'a>, Failure> {
    match value {
        Val::Int(n) => overflow(n.checked_neg()),
        Val::Double(n) => Ok(Val::Double(-n)),
        Val::Duration(n) => Ok(Val::Duration(n.saturating_neg())),
        _ => Err(NO_OVERLOAD.into()),
    }
}

/// The order of two values, `None` when they have none.
pub(crate) fn compare(a: &Val<'_>, b: &Val<'_>) -> Option<Ordering> {
    match (a, b) {
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        (Val::Text(a), Val::Text(b)) => Some((**a).cmp(&**b)),
        (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
        (Val::Time(a), Val::Time(b)) => Some(a.cmp(b)),
        (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
        _ => compare_numbers(a, b),
    }
}

fn compare_numbers(a: &Val<'_>, b: &Val<'_>) -> Option<Ordering> {
    match (a, b) {
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), b) => a.partial_cmp(&(wide(b)? as f64)),
        (a, Val::Double(b)) => (wide(a)? as f64).partial_cmp(b),
        (a, b) => Some(wide(a)?.cmp(&wide(b)?)),
    }
}

fn wide(value: &Val<'_>) -> Option<i128> {
    match value {
        Val::Int(n) => Some(i128::from(*n)),
        Val::Uint(n) => Some(i128::from(*n)),
        _ => None,
    }
}

/// Whether two values are equal; values of unlike types are not, numbers compare by value.
pub(crate) fn equal(a: &Val<'_>, b: &Val<'_>) -> bool {
    match (a, b) {
        (Val::Null, Val::Null) => true,
        (Val::List(a), Val::List(b)) => equal_lists(a, b),
        (Val::Map(a), Val::Map(b)) => equal_maps(a, b),
        (Val::Type(a), Val::Type(b)) => a == b,
        (Val::Optional(a), Val::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => equal(a, b),
            (None, None) => true,
            _ => false,
        },
        (Val::Library(a), Val::Library(b)) => match (&**a, &**b) {
            (Library::Ip(a), Library::Ip(b)) => a == b,
            (Library::Cidr(a, m), Library::Cidr(b, n)) => a == b && m == n,
            (Library::Quantity(a), Library::Quantity(b)) => a == b,
            (Library::Url(a), Library::Url(b)) => a == b,
            (Library::Semver(a), Library::Semver(b)) => a.order(b) == Ordering::Equal,
            (Library::Format(a), Library::Format(b)) => a == b,
            _ => false,
        },
        (a, b) => compare(a, b) == Some(Ordering::Equal),
    }
}

fn equal_lists(a: &List<'_>, b: &List<'_>) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.identity() {
        Identity::Place => a.iter().zip(b.iter()).all(|(a, b)| equal(&a, &b)),
        Identity::Value => a.iter().all(|a| b.iter().any(|b| equal(&a, &b))),
        Identity::Keys(keys) => a
            .iter()
            .all(|a| b.iter().any(|b| same_keys(keys, &a, &b) && equal(&a, &b))),
    }
}

fn equal_maps(a: &Map<'_>, b: &Map<'_>) -> bool {
    a.len() == b.len()
        && a.entries()
            .iter()
            .all(|(key, value)| b.get_any(key).is_some_and(|other| equal(value, &other)))
}

impl<'a> Map<'a> {
    // Entries name the fields of an object as JSON does.
    fn get_any(&self, key: &Val<'_>) -> Option<Val<'a>> {
        match (self, key) {
            (Self::Json(_, crate::value::Fields::Declared(_)), Val::Text(name)) => {
                self.field(&crate::types::escape(name)?)
            }
            _ => self.get(key),
        }
    }
}
