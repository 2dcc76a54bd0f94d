//! Fills in what a custom resource leaves out.
//!
//! Takes an object and its schema; absent fields get the schema's default, and a `null` where the
//! schema allows none is replaced by the default or dropped. What was filled in is completed in the
//! same way, so applying the defaults twice changes nothing more.

use crate::DEPTH_MAX;
use crate::node::{Cursor, Edge};
use model::{Map, Value};

/// Fills the defaults of a structural schema into `value`.
pub fn apply_defaults(value: &mut Value, at: Cursor<'_>) {
    fill(value, at, 0);
}

fn fill(value: &mut Value, at: Cursor<'_>, depth: usize) {
    if depth > DEPTH_MAX {
        return;
    }
    match value {
        Value::Object(fields) => fill_object(fields, at, depth),
        Value::Array(entries) => {
            if let Some(edge) = &at.node().items {
                let to = at.follow(edge);
                for entry in entries {
                    replace_null(entry, edge, to);
                    fill(entry, to, depth + 1);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill_object(fields: &mut Map<String, Value>, at: Cursor<'_>, depth: usize) {
    let node = at.node();
    drop_nulls(fields, at);
    for (name, edge) in &node.properties {
        let Some(default) = &edge.default else {
            continue;
        };
        let absent = fields
            .get(name)
            .is_none_or(|v| v.is_null() && !at.follow(edge).node().nullable);
        if absent {
            fields.insert(name.clone(), default.clone());
        }
    }
    if node.properties.is_empty() && node.additional.is_none() {
        return;
    }
    for (name, value) in fields.iter_mut() {
        if let Some(edge) = node.properties.get(name) {
            fill(value, at.follow(edge), depth + 1);
        } else if let Some(edge) = &node.additional {
            let to = at.follow(edge);
            replace_null(value, edge, to);
            fill(value, to, depth + 1);
        }
    }
}

// A null that the schema does not allow, and has no default for, counts as not given.
fn drop_nulls(fields: &mut Map<String, Value>, at: Cursor<'_>) {
    let node = at.node();
    let unwanted = |name: &str, value: &Value| {
        value.is_null()
            && node
                .properties
                .get(name)
                .or(node.additional.as_ref())
                .is_some_and(|edge| edge.default.is_none() && !at.follow(edge).node().nullable)
    };
    if fields.iter().any(|(name, value)| unwanted(name, value)) {
        fields.retain(|name, value| !unwanted(name, value));
    }
}

fn replace_null(value: &mut Value, edge: &Edge, to: Cursor<'_>) {
    if value.is_null()
        && !to.node().nullable
        && let Some(default) = &edge.default
    {
        *value = default.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Schemas;
    use model::json;

    fn check(value: Value, expected: &str) {
        let schema = json!({"type": "object", "properties": {
            "color": {"type": "string", "default": "red"},
            "maybe": {"type": "string", "nullable": true, "default": "x"},
            "plain": {"type": "string"},
            "nested": {"type": "object", "default": {}, "properties": {
                "deep": {"type": "integer", "default": 1}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {
                "v": {"type": "string", "default": "d"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                "v": {"type": "string", "default": "d"}}}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }});
        let mut schemas = Schemas::default();
        let id = schemas.add_structural(&schema);
        let mut value = value;
        apply_defaults(&mut value, schemas.at(id));
        assert_eq!(value.to_string(), expected);
    }

    #[test]
    fn absent_fields_are_filled_and_completed() {
        check(
            json!({}),
            r#"{"color":"red","maybe":"x","nested":{"deep":1}}"#,
        );
        check(
            json!({"nested": {}, "list": [{}], "map": {"k": {}}}),
            r#"{"color":"red","list":[{"v":"d"}],"map":{"k":{"v":"d"}},"maybe":"x","nested":{"deep":1}}"#,
        );
    }

    #[test]
    fn null_is_absent_unless_it_is_allowed() {
        check(
            json!({"color": null, "maybe": null, "plain": null, "open": {"x": null}}),
            r#"{"color":"red","maybe":null,"nested":{"deep":1},"open":{"x":null}}"#,
        );
        check(
            json!({"map": {"a": null}, "list": [null]}),
            r#"{"color":"red","list":[null],"map":{},"maybe":"x","nested":{"deep":1}}"#,
        );
    }
}
