//! JSON merge patches (RFC 7386): objects are merged, null removes, everything else replaces.
//!
//! As the API server does it, null fields are also left out of objects inside lists that a patch
//! brings; the RFC would keep those.

use crate::DEPTH_MAX;
use model::Value;

/// Applies a merge patch to a value.
pub fn merge_patch(target: &mut Value, patch: &Value) {
    patch_at(target, patch, 0);
}

fn patch_at(target: &mut Value, patch: &Value, depth: usize) {
    let (Value::Object(object), Value::Object(fields)) = (&mut *target, patch) else {
        // A list over an object is taken as it is.
        let verbatim = target.is_object() || depth >= DEPTH_MAX;
        *target = if verbatim {
            patch.clone()
        } else {
            without_nulls(patch, depth)
        };
        return;
    };
    for (name, value) in fields {
        if value.is_null() {
            object.remove(name);
            continue;
        }
        match object.get_mut(name) {
            Some(field) => patch_at(field, value, depth + 1),
            None => {
                object.insert(name.clone(), without_nulls(value, depth + 1));
            }
        }
    }
}

fn without_nulls(value: &Value, depth: usize) -> Value {
    if depth >= DEPTH_MAX {
        return value.clone();
    }
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, field)| !field.is_null())
            .map(|(name, field)| (name.clone(), without_nulls(field, depth + 1)))
            .collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| without_nulls(item, depth + 1))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
