//! Reads OpenAPI v3 documents into [`Schemas`](crate::Schemas).

use crate::node::{Edge, ListType, Node, NodeId, Refined, Schemas, Type};
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
        for (name, id, schema) in fresh {
            let mut node = self.read_node(schema);
            node.name = Some(name.clone());
            self.nodes[id.0 as usize] = node;
        }
        self.complete_refined();
    }

    /// Reads one schema without references, as the `openAPIV3Schema` of a CRD version.
    pub fn add_structural(&mut self, schema: &Value) -> NodeId {
        let mut node = self.read_structural(schema);
        node.structural = true;
        self.add(node)
    }
}

impl Schemas {
    fn read_node(&mut self, schema: &Value) -> Node {
        let mut node = scalar_facts(schema);
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                let edge = self.read_edge(property);
                node.properties.insert(name.clone(), edge);
            }
        }
        node.items = schema.get("items").map(|items| self.read_edge(items));
        node.additional = schema.get("additionalProperties").and_then(|a| match a {
            Value::Object(_) => Some(self.read_edge(a)),
            Value::Bool(true) => Some(Edge {
                to: self.add(Node::default()),
                default: None,
            }),
            _ => None,
        });
        node
    }

    fn read_edge(&mut self, schema: &Value) -> Edge {
        let default = schema.get("default").cloned();
        let target = schema
            .get("$ref")
            .or_else(|| schema.pointer("/allOf/0/$ref"));
        let target = target
            .and_then(Value::as_str)
            .and_then(|r| r.strip_prefix(REF_PREFIX));
        if let Some(id) = target.and_then(|name| self.names.get(name)) {
            // A few fields refine the type they refer to (an atomic use of a granular type).
            let refined = schema.get("x-kubernetes-map-type").is_some()
                || schema.get("x-kubernetes-patch-strategy").is_some();
            if !refined {
                return Edge { to: *id, default };
            }
            let name = target.unwrap_or_default().to_owned();
            let node = scalar_facts(schema);
            let to = self.add(node);
            let map_type = schema.get("x-kubernetes-map-type").and_then(Value::as_str);
            self.refined.push(Refined {
                node: to,
                name,
                atomic: map_type.map(|kind| kind == "atomic"),
            });
            return Edge { to, default };
        }
        let node = self.read_node(schema);
        Edge {
            to: self.add(node),
            default,
        }
    }

    // A refined use has everything of the named type but what it says itself.
    fn complete_refined(&mut self) {
        for Refined { node, name, atomic } in std::mem::take(&mut self.refined) {
            let Some(mut whole) = self.named(&name).map(|cursor| cursor.node().clone()) else {
                continue;
            };
            let own = &self.nodes[node.0 as usize];
            whole.patch_merge = own.patch_merge;
            whole.patch_retain_keys = own.patch_retain_keys;
            whole.patch_replace = own.patch_replace;
            whole.patch_merge_key.clone_from(&own.patch_merge_key);
            whole.atomic = atomic.unwrap_or(whole.atomic);
            self.nodes[node.0 as usize] = whole;
        }
    }

    fn read_structural(&mut self, schema: &Value) -> Node {
        let mut node = scalar_facts(schema);
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                let to = self.add_structural(property);
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
            let to = self.add_structural(items);
            node.items = Some(Edge {
                to,
                default: items.get("default").cloned(),
            });
        }
        if let Some(values) = schema.get("additionalProperties") {
            let to = match values {
                Value::Object(_) => Some(self.add_structural(values)),
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
        patch_replace: strategy == "replace",
        patch_retain_keys: strategy.split(',').any(|s| s == "retainKeys"),
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
        || schema
            .get("oneOf")
            .is_some_and(|o| o.is_array() && schema.get("type").is_none())
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
