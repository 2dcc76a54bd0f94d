//! Reads and fills single fields of an object; absent, `null` and wrong types read alike.
//!
//! Objects reach this crate as Go would have decoded them, so a field that is absent is Go's zero
//! value. These functions keep that reading in one place.

use model::{Map, Value};

static NULL: Value = Value::Null;

/// The field `key`, or `null`.
pub(crate) fn get<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&NULL)
}

/// The value at a path of keys, or `null`.
pub(crate) fn at<'a>(value: &'a Value, keys: &[&str]) -> &'a Value {
    keys.iter().fold(value, |value, key| get(value, key))
}

/// Whether the field holds anything but `null`: a set pointer in Go.
pub(crate) fn has(value: &Value, key: &str) -> bool {
    !get(value, key).is_null()
}

/// The text of a field, empty when there is none.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    get(value, key).as_str().unwrap_or("")
}

/// The number of a field, when there is one.
pub(crate) fn int(value: &Value, key: &str) -> Option<i64> {
    get(value, key).as_i64()
}

/// The number of a field, zero when there is none.
pub(crate) fn number(value: &Value, key: &str) -> i64 {
    int(value, key).unwrap_or(0)
}

/// Whether a boolean field is true.
pub(crate) fn flag(value: &Value, key: &str) -> bool {
    get(value, key).as_bool().unwrap_or(false)
}

/// The items of a list field, none when there is no list.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    get(value, key).as_array().map_or(&[], Vec::as_slice)
}

/// The entries of a map field, none when there is no map.
pub(crate) fn entries<'a>(
    value: &'a Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    get(value, key).as_object().into_iter().flatten()
}

/// The texts of a list field.
pub(crate) fn texts<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    list(value, key).iter().map(|v| v.as_str().unwrap_or(""))
}

/// Whether a value is what Go calls empty: `null`, `""`, `0`, `false`, `[]` or `{}`.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_i64() == Some(0),
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
    }
}

/// The map in `value`; anything else in its place is replaced by an empty one.
pub(crate) fn map_of(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("made a map above")
}

/// The field `key`, made when absent.
pub(crate) fn slot<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    let map = map_of(value);
    if !map.contains_key(key) {
        map.insert(key.to_owned(), Value::Null);
    }
    map.get_mut(key).expect("inserted above")
}

/// The map field `key`, made when absent.
pub(crate) fn map_slot<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    let slot = slot(value, key);
    map_of(slot);
    slot
}

/// Sets a field.
pub(crate) fn set(value: &mut Value, key: &str, content: impl Into<Value>) {
    *slot(value, key) = content.into();
}

/// Removes a field.
pub(crate) fn unset(value: &mut Value, key: &str) {
    if let Some(map) = value.as_object_mut() {
        map.remove(key);
    }
}

/// Sets a field that is absent: the default of a pointer.
pub(crate) fn fill(value: &mut Value, key: &str, content: impl Into<Value>) {
    if !has(value, key) {
        set(value, key, content);
    }
}

/// Sets a field that is absent or Go's zero value: the default of a plain field.
pub(crate) fn fill_empty(value: &mut Value, key: &str, content: impl Into<Value>) {
    if is_empty(get(value, key)) {
        set(value, key, content);
    }
}

/// The map field `key` when it is there.
pub(crate) fn some_mut<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    value.get_mut(key).filter(|v| v.is_object())
}

/// The items of a list field, to change them.
pub(crate) fn items_mut<'a>(
    value: &'a mut Value,
    key: &str,
) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    value
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// Copies a field from `old`, or removes it when `old` has none.
pub(crate) fn carry(new: &mut Value, old: &Value, key: &str) {
    match old.get(key) {
        Some(value) => set(new, key, value.clone()),
        None => unset(new, key),
    }
}

/// Whether two values mean the same to Go's semantic comparison: absent, `null` and empty lists
/// and maps are one, and fields are compared one by one.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.iter()
                .all(|(k, v)| y.get(k).map_or_else(|| blank(v), |w| same(v, w)))
                && y.iter().all(|(k, w)| x.contains_key(k) || blank(w))
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(v, w)| same(v, w))
        }
        (Value::Null, other) | (other, Value::Null) => blank(other),
        _ => a == b,
    }
}

// Nothing but nulls, empty lists and empty maps.
fn blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn absent_null_and_empty_compare_as_one() {
        assert!(same(&json!({"a": null, "b": [], "c": {}}), &json!({})));
        assert!(same(
            &json!({"a": {"b": 1}}),
            &json!({"a": {"b": 1, "c": null}})
        ));
        assert!(!same(&json!({"a": ""}), &json!({})));
        assert!(!same(&json!({"a": 0}), &json!({"a": 1})));
        assert!(!same(&json!([1]), &json!([1, 2])));
    }

    #[test]
    fn defaults_fill_only_what_is_missing() {
        let mut value = json!({"zero": 0, "null": null});
        fill(&mut value, "zero", 1);
        fill(&mut value, "null", 1);
        fill_empty(&mut value, "absent", "x");
        assert_eq!(value, json!({"zero": 0, "null": 1, "absent": "x"}));
    }
}
