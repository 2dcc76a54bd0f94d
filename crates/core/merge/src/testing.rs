//! Small schemas for the tests of this crate.

use model::{Timestamp, Value, json};
use schema::{NodeId, Schemas};

/// A custom resource with one field of every sort.
pub(crate) fn widget() -> (Schemas, NodeId) {
    let text = json!({"type": "string"});
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {
                "size": {"type": "integer"},
                "color": text,
                "on": {"type": "boolean"},
                "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
                "atoms": {"type": "array", "items": text},
                "items": {
                    "type": "array",
                    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {
                        "name": text, "v": text,
                        "sub": {"type": "object", "properties": {"a": text, "b": text}},
                    }},
                },
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {"type": "object", "properties": {
                        "port": {"type": "integer"},
                        "protocol": {"type": "string", "default": "TCP"},
                        "w": text,
                    }},
                },
                "labels": {"type": "object", "additionalProperties": text},
                "nested": {"type": "object", "additionalProperties": {
                    "type": "object", "properties": {"x": text, "y": text},
                }},
                "whole": {
                    "type": "object", "x-kubernetes-map-type": "atomic",
                    "properties": {"k": text, "l": text},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "obj": {"type": "object", "properties": {
                    "p": text, "q": {"type": "object", "properties": {"r": text}},
                }},
            }},
            "status": {"type": "object", "properties": {"phase": text}},
        },
    });
    let mut schemas = Schemas::default();
    let id = schemas.add_structural(&schema);
    (schemas, id)
}

/// A built-in kind made like Deployment: plain structures, a required list, refined references.
pub(crate) fn workload() -> (Schemas, NodeId) {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let all_of = |name: &str| json!([reference(name)]);
    let text = json!({"type": "string"});
    let keyed = |items: Value, key: &str| {
        json!({
            "type": "array", "items": items,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key],
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": key,
        })
    };
    let components = json!({
        "Workload": {"type": "object", "properties": {
            "apiVersion": text, "kind": text,
            "metadata": {"default": {}, "type": "object", "properties": {
                "finalizers": {
                    "type": "array", "items": text, "x-kubernetes-list-type": "set",
                    "x-kubernetes-patch-strategy": "merge",
                },
                "labels": {"type": "object", "additionalProperties": text},
            }},
            "spec": {"default": {}, "allOf": all_of("Spec")},
            "status": {"default": {}, "type": "object", "properties": {
                "replicas": {"type": "integer"},
            }},
        }},
        "Spec": {"type": "object", "required": ["template"], "properties": {
            "replicas": {"type": "integer", "format": "int32"},
            "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
                "matchLabels": {"type": "object", "additionalProperties": text},
            }},
            "strategy": {
                "default": {}, "allOf": all_of("Strategy"),
                "x-kubernetes-patch-strategy": "retainKeys",
            },
            "pick": {"allOf": all_of("Strategy"), "x-kubernetes-patch-strategy": "replace"},
            "template": {"default": {}, "allOf": all_of("Template")},
        }},
        "Strategy": {"type": "object", "properties": {
            "type": text,
            "rollingUpdate": {"type": "object", "properties": {
                "maxSurge": {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
            }},
        }},
        "Template": {"type": "object", "required": ["containers"], "properties": {
            "containers": keyed(json!({"default": {}, "allOf": all_of("Container")}), "name"),
            "volumes": keyed(json!({"type": "object", "properties": {"name": text, "emptyDir": {"type": "object"}, "secret": text}}), "name"),
            "nodeSelector": {"type": "object", "additionalProperties": text},
            "args": {"type": "array", "items": text, "x-kubernetes-list-type": "atomic"},
            "raw": reference("io.k8s.apimachinery.pkg.runtime.RawExtension"),
        }},
        "Container": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "default": ""},
            "image": text,
            "resources": {"default": {}, "type": "object", "properties": {
                "limits": {"type": "object", "additionalProperties": reference("io.k8s.apimachinery.pkg.api.resource.Quantity")},
            }},
            "env": keyed(json!({"type": "object", "properties": {"name": text, "value": text}}), "name"),
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "containerPort",
                "items": {"type": "object", "properties": {
                    "containerPort": {"type": "integer", "default": 0},
                    "protocol": {"type": "string", "default": "TCP"},
                    "name": text,
                }},
            },
        }},
        "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
        "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
    });
    let mut schemas = Schemas::default();
    schemas.add_components(components.as_object().unwrap());
    let id = schemas.names["Workload"];
    (schemas, id)
}

/// A point in time.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

/// One line per owner: `Apply one @5 {"f:spec":…}`.
pub(crate) fn owners(object: &Value) -> String {
    let entries = object.pointer("/metadata/managedFields");
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    entries
        .map(|entry| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or("-");
            let time = Timestamp::parse(text("time"));
            let time = time.map_or("-".into(), |t| t.seconds().to_string());
            let sub = match text("subresource") {
                "-" => String::new(),
                sub => format!("/{sub}"),
            };
            format!(
                "{} {}{sub} @{time} {}\n",
                text("operation"),
                text("manager"),
                entry["fieldsV1"]
            )
        })
        .collect()
}
