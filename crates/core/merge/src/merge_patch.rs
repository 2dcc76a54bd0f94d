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

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn examples_of_the_rfc() {
        for (target, patch, result) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (
                json!({"a": [{"b": "c"}]}),
                json!({"a": [1]}),
                json!({"a": [1]}),
            ),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!({"a": "foo"}), json!("bar"), json!("bar")),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!([1, 2]),
                json!({"a": "b", "c": null}),
                json!({"a": "b"}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ] {
            let mut patched = target.clone();
            merge_patch(&mut patched, &patch);
            assert_eq!(patched, result, "{target} + {patch}");
        }
    }

    #[test]
    fn nulls_inside_new_lists_are_left_out_as_the_server_does() {
        let mut object = json!({"l": [1]});
        merge_patch(&mut object, &json!({"l": [null, {"a": null, "b": 1}]}));
        assert_eq!(object, json!({"l": [null, {"b": 1}]}));
    }
}
