//! The shapes of all objects: the union of the OpenAPI v3 documents, without prose.

use super::fetch;
use serde_json::{Map, Value};
use testkit::Client;

const KINDS: &str = "x-kubernetes-group-version-kind";

/// All named types of all group versions.
pub(crate) fn read(client: &Client) -> Result<Value, Box<dyn std::error::Error>> {
    let index = fetch(client, "/openapi/v3", None)?;
    let mut all = Map::new();
    let paths = index.get("paths").and_then(Value::as_object);
    for entry in paths.into_iter().flat_map(Map::values) {
        let Some(path) = entry.get("serverRelativeURL").and_then(Value::as_str) else {
            continue;
        };
        let mut document = fetch(client, path, None)?;
        let types = document.pointer_mut("/components/schemas").map(Value::take);
        if let Some(Value::Object(types)) = types {
            for (name, mut schema) in types {
                strip(&mut schema);
                merge(&mut all, name, schema)?;
            }
        }
    }
    Ok(Value::Object(all))
}

// Documents repeat types; only the list of kinds may differ between them.
fn merge(all: &mut Map<String, Value>, name: String, schema: Value) -> Result<(), String> {
    let Some(known) = all.get_mut(&name) else {
        all.insert(name, schema);
        return Ok(());
    };
    if *known == schema {
        return Ok(());
    }
    let (mut left, mut right) = (known.clone(), schema);
    let more = right.as_object_mut().and_then(|o| o.remove(KINDS));
    let kinds = left.as_object_mut().and_then(|o| o.remove(KINDS));
    if left != right {
        return Err(format!("two documents disagree about `{name}`"));
    }
    let mut kinds = kinds.and_then(into_list).unwrap_or_default();
    for kind in more.and_then(into_list).unwrap_or_default() {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    left[KINDS] = Value::Array(kinds);
    *known = left;
    Ok(())
}

fn into_list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list),
        _ => None,
    }
}

/// Removes descriptions from a schema; a property that is called `description` stays.
fn strip(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    fields.remove("description");
    for (key, value) in fields.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(strip);
            }
            ("allOf" | "oneOf" | "anyOf", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(strip);
            }
            ("items" | "additionalProperties" | "not", value) => strip(value),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn prose_goes_and_a_field_of_that_name_stays() {
        let mut schema = json!({
            "description": "x",
            "properties": {
                "description": {"type": "string", "description": "y"},
                "l": {"items": {"description": "z", "allOf": [{"description": "w"}]}},
            },
            "default": {"description": "kept"},
        });
        strip(&mut schema);
        let left = json!({
            "properties": {
                "description": {"type": "string"},
                "l": {"items": {"allOf": [{}]}},
            },
            "default": {"description": "kept"},
        });
        assert_eq!(schema, left);
    }

    #[test]
    fn kinds_of_a_shared_type_are_gathered() {
        let mut all = Map::new();
        let with = |kind: &str| json!({"type": "object", KINDS: [{"kind": kind}]});
        merge(&mut all, "T".into(), with("A")).unwrap();
        merge(&mut all, "T".into(), with("B")).unwrap();
        assert_eq!(all["T"][KINDS], json!([{"kind": "A"}, {"kind": "B"}]));
        assert!(merge(&mut all, "T".into(), json!({"type": "string"})).is_err());
    }
}
