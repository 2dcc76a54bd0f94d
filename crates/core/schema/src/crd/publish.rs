//! The OpenAPI v3 schemas that clients see of a custom kind.

use super::text;
use model::{Map, Value, json};

const REF: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// The name of a kind among the components: `com.example.e2e.v1.Widget` for `e2e.example.com`.
pub fn component_name(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').rev().collect();
    parts.extend([version, kind]);
    parts.join(".")
}

/// The component schema of the kind that `version` of a CustomResourceDefinition describes.
///
/// It is the version's own schema, descriptions included, with `apiVersion`, `kind` and `metadata`
/// at the root and in embedded resources, and the group, version and kind it stands for.
pub fn publish(crd: &Value, version: &str) -> Value {
    let mut schema = version_schema(crd, version).unwrap_or_else(|| json!({"type": "object"}));
    complete_embedded(&mut schema, 0);
    if let Some(root) = schema.as_object_mut() {
        root.entry("type").or_insert_with(|| json!("object"));
        add_meta(root, "ObjectMeta");
        let kind = text(crd, &["spec", "names", "kind"]);
        let gvk = group_version_kind(crd, version, kind);
        root.insert("x-kubernetes-group-version-kind".into(), gvk);
    }
    schema
}

/// The component schema of the list of that kind.
pub fn publish_list(crd: &Value, version: &str) -> Value {
    let group = text(crd, &["spec", "group"]);
    let kind = text(crd, &["spec", "names", "kind"]);
    let plural = text(crd, &["spec", "names", "plural"]);
    let list_kind = text(crd, &["spec", "names", "listKind"]);
    let item = format!("{REF}{}", component_name(group, version, kind));
    json!({
        "description": format!("{list_kind} is a list of {kind}"),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "items": {
                "description": format!("List of {plural}."),
                "type": "array",
                "items": {"$ref": item},
            },
            "metadata": {"allOf": [{"$ref": format!("{REF}{META}ListMeta")}]},
        },
        "x-kubernetes-group-version-kind": group_version_kind(crd, version, list_kind),
    })
}

fn version_schema(crd: &Value, version: &str) -> Option<Value> {
    let versions = crd.pointer("/spec/versions")?.as_array()?;
    let found = versions.iter().find(|v| text(v, &["name"]) == version)?;
    found.pointer("/schema/openAPIV3Schema").cloned()
}

fn group_version_kind(crd: &Value, version: &str, kind: &str) -> Value {
    json!([{"group": text(crd, &["spec", "group"]), "kind": kind, "version": version}])
}

fn add_meta(schema: &mut Map<String, Value>, meta: &str) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for name in ["apiVersion", "kind"] {
            properties.insert(name.into(), json!({"type": "string"}));
        }
        let reference = json!({"allOf": [{"$ref": format!("{REF}{META}{meta}")}]});
        properties.insert("metadata".into(), reference);
    }
}

// An embedded resource has the fields of every resource, whether it declares them or not.
fn complete_embedded(schema: &mut Value, depth: usize) {
    let Some(fields) = schema.as_object_mut().filter(|_| depth <= crate::DEPTH_MAX) else {
        return;
    };
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        for property in properties.values_mut() {
            complete_embedded(property, depth + 1);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(below) = fields.get_mut(key) {
            complete_embedded(below, depth + 1);
        }
    }
    let embedded = fields.get("x-kubernetes-embedded-resource");
    if embedded.and_then(Value::as_bool) == Some(true) {
        add_meta(fields, "ObjectMeta");
        let required = fields.entry("required").or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            for name in ["apiVersion", "kind"] {
                if !required.iter().any(|r| r == name) {
                    required.push(json!(name));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd() -> Value {
        json!({"spec": {
            "group": "e2e.example.com",
            "names": {"kind": "Widget", "plural": "widgets", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
                "type": "object",
                "description": "A widget.",
                "properties": {"spec": {"type": "object", "properties": {
                    "size": {"type": "integer", "description": "How big."},
                    "inner": {"type": "object", "x-kubernetes-embedded-resource": true},
                }}},
            }}}],
        }})
    }

    #[test]
    fn a_kind_is_named_by_its_group_reversed() {
        assert_eq!(
            component_name("e2e.example.com", "v1", "Widget"),
            "com.example.e2e.v1.Widget"
        );
    }

    #[test]
    fn the_root_gets_metadata_and_keeps_descriptions() {
        let schema = publish(&crd(), "v1");
        let meta = json!({"allOf": [{"$ref":
            "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]});
        assert_eq!(schema["properties"]["metadata"], meta);
        assert_eq!(schema["description"], "A widget.");
        assert_eq!(
            schema["properties"]["spec"]["properties"]["size"]["description"],
            "How big."
        );
        assert_eq!(
            schema["x-kubernetes-group-version-kind"],
            json!([{"group": "e2e.example.com", "kind": "Widget", "version": "v1"}])
        );
        let inner = &schema["properties"]["spec"]["properties"]["inner"];
        assert_eq!(inner["properties"]["metadata"], meta);
        assert_eq!(inner["required"], json!(["apiVersion", "kind"]));
    }

    #[test]
    fn the_list_refers_to_the_kind() {
        let list = publish_list(&crd(), "v1");
        assert_eq!(
            list["properties"]["items"]["items"]["$ref"],
            "#/components/schemas/com.example.e2e.v1.Widget"
        );
        assert_eq!(list["description"], "WidgetList is a list of Widget");
    }

    #[test]
    fn a_version_without_schema_is_a_plain_object() {
        assert_eq!(publish(&crd(), "v9")["type"], "object");
    }
}
