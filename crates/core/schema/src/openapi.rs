//! Reads OpenAPI v3 documents and schemas of CRDs into [`Schemas`](crate::Schemas).

use crate::DEPTH_MAX;
use crate::node::{Edge, ListType, Node, NodeId, Schemas, Type};
use model::{Map, Value};

const REF_PREFIX: &str = "#/components/schemas/";

impl Schemas {
    /// Reads the `components.schemas` of an OpenAPI v3 document: named types that refer to each
    /// other by `$ref`. May be called once per document; types that are there already stay.
    pub fn add_components(&mut self, components: &Map<String, Value>) {
        let mut fresh = Vec::new();
        for (name, schema) in components {
            if !self.names.contains_key(name) {
                let id = self.add(Node::default());
                self.names.insert(name.clone(), id);
                fresh.push((name, id, schema));
            }
        }
        let mut reader = Reader {
            schemas: self,
            refined: Vec::new(),
        };
        for (name, id, schema) in fresh {
            let mut node = reader.node(schema, 0);
            node.name = Some(name.clone());
            reader.schemas.nodes[id.0 as usize] = node;
        }
        // Only now are the types complete that these are variants of.
        for (id, target, schema) in reader.refined {
            self.nodes[id.0 as usize] = refine(self.nodes[target.0 as usize].clone(), schema);
        }
    }

    /// Reads one schema without references, as the `openAPIV3Schema` of a CRD version.
    pub fn add_structural(&mut self, schema: &Value) -> NodeId {
        self.add_structural_at(schema, 0)
    }
}

/// Reads the types of one document.
struct Reader<'s, 'v> {
    schemas: &'s mut Schemas,
    /// Fields that refer to a type and change how it is merged.
    refined: Vec<(NodeId, NodeId, &'v Value)>,
}

impl<'v> Reader<'_, 'v> {
    fn node(&mut self, schema: &'v Value, depth: usize) -> Node {
        let mut node = scalar_facts(schema);
        if depth > DEPTH_MAX {
            return node;
        }
        // Numbers and texts that stand for one thing: quantities, ports.
        if schema.get("type").is_none() && schema.get("oneOf").is_some_and(Value::is_array) {
            node.ty = Type::IntOrString;
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let edge = self.edge(property, depth + 1);
            node.properties.insert(name.clone(), edge);
        }
        node.items = schema.get("items").map(|items| self.edge(items, depth + 1));
        node.additional = match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => Some(self.edge(values, depth + 1)),
            Some(Value::Bool(true)) => Some(Edge {
                to: self.schemas.add(Node::default()),
                default: None,
            }),
            _ => None,
        };
        // An object that says nothing of its fields may have any.
        node.preserve_unknown |=
            node.ty == Type::Object && node.properties.is_empty() && node.additional.is_none();
        node
    }

    fn edge(&mut self, schema: &'v Value, depth: usize) -> Edge {
        let default = schema.get("default").cloned();
        let target = schema
            .get("$ref")
            .or_else(|| schema.pointer("/allOf/0/$ref"));
        let target = target
            .and_then(Value::as_str)
            .and_then(|r| r.strip_prefix(REF_PREFIX))
            .and_then(|name| self.schemas.names.get(name).copied());
        let Some(target) = target else {
            let node = self.node(schema, depth);
            let to = self.schemas.add(node);
            return Edge { to, default };
        };
        // A few fields refine the type they refer to (a granular use of an atomic type).
        let fields = schema.as_object().into_iter().flat_map(Map::keys);
        let refined = fields
            .filter(|key| key.starts_with("x-kubernetes-"))
            .count()
            > 0;
        if !refined {
            return Edge {
                to: target,
                default,
            };
        }
        let to = self.schemas.add(Node::default());
        self.refined.push((to, target, schema));
        Edge { to, default }
    }
}

// The referred type, with what the field says of it on top.
fn refine(mut node: Node, schema: &Value) -> Node {
    let facts = scalar_facts(schema);
    let has = |key: &str| schema.get(key).is_some();
    if has("x-kubernetes-map-type") {
        node.atomic = facts.atomic;
    }
    if has("x-kubernetes-list-type") {
        node.list_type = facts.list_type;
        node.list_map_keys = facts.list_map_keys;
    }
    if has("x-kubernetes-patch-strategy") {
        node.patch_merge = facts.patch_merge;
        node.patch_retain_keys = facts.patch_retain_keys;
        node.patch_replace = facts.patch_replace;
    }
    if has("x-kubernetes-patch-merge-key") {
        node.patch_merge_key = facts.patch_merge_key;
    }
    node
}

impl Schemas {
    fn add_structural_at(&mut self, schema: &Value, depth: usize) -> NodeId {
        let mut node = self.read_structural(schema, depth);
        node.structural = true;
        self.add(node)
    }

    fn read_structural(&mut self, schema: &Value, depth: usize) -> Node {
        let mut node = scalar_facts(schema);
        if depth > DEPTH_MAX {
            return node;
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                let to = self.add_structural_at(property, depth + 1);
                node.properties.insert(
                    name.clone(),
                    Edge {
                        to,
                        default: property.get("default").cloned(),
                    },
                );
            }
        }
        if let Some(items) = schema.get("items").filter(|i| i.is_object()) {
            let to = self.add_structural_at(items, depth + 1);
            node.items = Some(Edge {
                to,
                default: items.get("default").cloned(),
            });
        }
        if let Some(values) = schema.get("additionalProperties") {
            let to = match values {
                Value::Object(_) => Some(self.add_structural_at(values, depth + 1)),
                // Any value may stand here, but nothing is known of its fields: they are pruned.
                Value::Bool(true) => Some(self.add(Node {
                    nullable: true,
                    ..Node::default()
                })),
                _ => None,
            };
            let default = values.get("default").cloned();
            node.additional = to.map(|to| Edge { to, default });
        }
        node
    }
}

// Everything about a schema that needs no other schema.
fn scalar_facts(schema: &Value) -> Node {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let flag = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or(false);
    let texts = |key: &str| -> Vec<String> {
        let list = schema
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let strategy = text("x-kubernetes-patch-strategy").unwrap_or("");
    Node {
        ty: json_type(schema),
        list_type: match text("x-kubernetes-list-type") {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map,
            _ => ListType::Atomic,
        },
        list_map_keys: texts("x-kubernetes-list-map-keys"),
        atomic: text("x-kubernetes-map-type") == Some("atomic"),
        patch_merge_key: text("x-kubernetes-patch-merge-key").map(str::to_owned),
        patch_merge: strategy.split(',').any(|s| s == "merge"),
        patch_retain_keys: strategy.split(',').any(|s| s == "retainKeys"),
        patch_replace: strategy == "replace",
        required: texts("required"),
        enumeration: schema
            .get("enum")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        format: text("format").map(str::to_owned),
        nullable: flag("nullable"),
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        embedded_resource: flag("x-kubernetes-embedded-resource"),
        ..Node::default()
    }
}

fn json_type(schema: &Value) -> Type {
    let int_or_string = schema
        .get("x-kubernetes-int-or-string")
        .and_then(Value::as_bool);
    if int_or_string == Some(true)
        || schema.get("format").and_then(Value::as_str) == Some("int-or-string")
    {
        return Type::IntOrString;
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => Type::Object,
        Some("array") => Type::Array,
        Some("string") => Type::String,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("boolean") => Type::Boolean,
        _ => Type::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn document() -> Schemas {
        let reference = |name: &str| json!([{"$ref": format!("{REF_PREFIX}{name}")}]);
        let components = json!({
            "Spec": {"type": "object", "properties": {
                "strategy": {
                    "default": {},
                    "allOf": reference("Strategy"),
                    "x-kubernetes-patch-strategy": "retainKeys",
                },
                "claimRef": {"allOf": reference("Ref"), "x-kubernetes-map-type": "granular"},
                "otherRef": {"allOf": reference("Ref")},
                "replicas": {"type": "integer", "format": "int32"},
                "cpu": {"allOf": reference("Quantity")},
                "free": {"type": "object"},
                "self": {"$ref": format!("{REF_PREFIX}Spec")},
                "ports": {
                    "type": "array",
                    "items": {"allOf": reference("Ref")},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "x-kubernetes-patch-strategy": "merge",
                    "x-kubernetes-patch-merge-key": "port",
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
            }},
            "Strategy": {"type": "object", "properties": {"type": {"type": "string"}}},
            "Ref": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "x-kubernetes-map-type": "atomic",
            },
            "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
        });
        let mut schemas = Schemas::default();
        schemas.add_components(components.as_object().unwrap());
        schemas
    }

    #[test]
    fn a_field_may_refine_the_type_it_refers_to() {
        let schemas = document();
        let spec = schemas.named("Spec").unwrap();
        let strategy = spec.field("strategy").unwrap();
        assert!(strategy.node().patch_retain_keys);
        assert!(strategy.field("type").is_some());
        assert!(!schemas.named("Strategy").unwrap().node().patch_retain_keys);
        assert!(!spec.field("claimRef").unwrap().node().atomic);
        assert!(spec.field("claimRef").unwrap().field("name").is_some());
        assert!(spec.field("otherRef").unwrap().node().atomic);
        assert_eq!(spec.node().properties["strategy"].default, Some(json!({})));
    }

    #[test]
    fn merge_facts_and_types_are_read() {
        let schemas = document();
        let spec = schemas.named("Spec").unwrap();
        let ports = spec.field("ports").unwrap().node();
        assert_eq!(ports.list_type, ListType::Map);
        assert_eq!(ports.list_map_keys, ["port", "protocol"]);
        assert!(ports.patch_merge);
        assert_eq!(ports.patch_merge_key.as_deref(), Some("port"));
        assert_eq!(spec.field("cpu").unwrap().node().ty, Type::IntOrString);
        assert!(spec.field("labels").unwrap().is_map());
        assert!(spec.field("free").unwrap().node().preserve_unknown);
        let own = spec.field("self").unwrap().field("self").unwrap();
        assert_eq!(own.id(), spec.id());
    }

    #[test]
    fn a_second_document_adds_what_is_new() {
        let mut schemas = document();
        let before = schemas.nodes.len();
        let again = json!({"Ref": {"type": "string"}});
        schemas.add_components(again.as_object().unwrap());
        assert_eq!(schemas.nodes.len(), before);
    }
}
