//! Values that may be absent.

use super::Answer;
use crate::value::{List, Map, Val};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    Some(Ok(match (name, args) {
        ("optional.none", []) => Val::Optional(None),
        ("optional.of", [value]) => Val::some(value.clone()),
        ("optional.ofNonZeroValue", [value]) => {
            if is_zero(value) {
                Val::Optional(None)
            } else {
                Val::some(value.clone())
            }
        }
        ("hasValue", [Val::Optional(value)]) => Val::Bool(value.is_some()),
        ("value", [Val::Optional(value)]) => match value {
            Some(value) => (**value).clone(),
            None => return Some(Err("optional.none() dereference".into())),
        },
        _ => return None,
    }))
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null | Val::Optional(None) => true,
        Val::Bool(b) => !b,
        Val::Int(n) => *n == 0,
        Val::Uint(n) => *n == 0,
        Val::Double(n) => *n == 0.0,
        Val::Text(text) => text.is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        Val::List(list) => List::len(list) == 0,
        Val::Map(map) => Map::len(map) == 0,
        Val::Duration(nanos) => *nanos == 0,
        Val::Time(_) | Val::Type(_) | Val::Optional(Some(_)) | Val::Library(_) => false,
    }
}
