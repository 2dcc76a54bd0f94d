//! Arguments that the evaluator has checked already.

use crate::text::Text;
use crate::value::{List, Map, Value};

/// A `string`.
pub(crate) fn text(args: &[Value], at: usize) -> Text {
    args.get(at)
        .and_then(Value::as_text)
        .cloned()
        .unwrap_or_default()
}

/// An `int`.
pub(crate) fn int(args: &[Value], at: usize) -> i64 {
    args.get(at).and_then(Value::as_signed).unwrap_or(0)
}

/// A `map[string]interface {}`.
pub(crate) fn map(args: &[Value], at: usize) -> Map {
    match args.get(at) {
        Some(Value::Map(map)) => map.clone(),
        _ => Map::nil(),
    }
}

/// What Go says when nil is asked for its type.
pub(crate) const NIL_POINTER: &str =
    "runtime error: invalid memory address or nil pointer dereference";

/// A slice of any kind; the error names the kind it is instead, after `lead`.
pub(crate) fn list(value: &Value, lead: &str) -> Result<List, String> {
    match value {
        Value::List(list) => Ok(list.clone()),
        Value::Invalid | Value::Nil => Err(NIL_POINTER.to_owned()),
        other => Err(format!("{lead} {}", other.kind())),
    }
}

/// As sprig's `strval`: the text of any value.
pub(crate) fn string_of(value: &Value) -> Text {
    match value {
        Value::String(text) => text.clone(),
        Value::List(list) => match list.as_bytes() {
            Some(bytes) => bytes.into(),
            None => crate::fmt::sprint(std::slice::from_ref(value)).into(),
        },
        other => crate::fmt::sprint(std::slice::from_ref(other)).into(),
    }
}

/// As sprig's `strslice`: the texts of a list's elements that are not nil, or of one value.
pub(crate) fn strings_of(value: &Value) -> Vec<Text> {
    match value {
        Value::List(list) => list
            .items()
            .iter()
            .filter(|v| !v.is_nil())
            .map(string_of)
            .collect(),
        Value::Invalid | Value::Nil => Vec::new(),
        other => vec![string_of(other)],
    }
}
