//! Removes what the schema of a custom resource does not know.
//!
//! Takes an object and its schema, drops undeclared fields and says which, as the API server's
//! warnings name them: `spec.nope`, `spec.list[0].x`.

use crate::DEPTH_MAX;
use crate::node::Cursor;
use model::Value;

/// Prunes a whole object; its `apiVersion`, `kind` and `metadata` stay whatever the schema says.
///
/// Gives the sorted paths of what was removed.
pub fn prune(object: &mut Value, at: Cursor<'_>) -> Vec<String> {
    let mut pruner = Pruner::default();
    pruner.known(object, Some(at), Keep::Meta);
    pruner.removed.sort();
    pruner.removed
}

/// Prunes a value below the root, as a default of a schema.
pub(crate) fn prune_value(value: &mut Value, at: Cursor<'_>) -> Vec<String> {
    let mut pruner = Pruner::default();
    pruner.known(value, Some(at), keep(at));
    pruner.removed.sort();
    pruner.removed
}

/// Whether a field is one that every resource has.
pub(crate) fn is_meta_field(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

#[derive(Clone, Copy, PartialEq)]
enum Keep {
    Declared,
    Meta,
}

fn keep(at: Cursor<'_>) -> Keep {
    if at.node().embedded_resource {
        Keep::Meta
    } else {
        Keep::Declared
    }
}

#[derive(Default)]
struct Pruner {
    path: String,
    depth: usize,
    removed: Vec<String>,
}

impl Pruner {
    fn known(&mut self, value: &mut Value, at: Option<Cursor<'_>>, meta: Keep) {
        let preserve = at.is_some_and(|at| at.node().preserve_unknown);
        self.walk(value, at, meta, preserve);
    }

    // A list that preserves unknown fields does so for its entries too.
    fn walk(&mut self, value: &mut Value, at: Option<Cursor<'_>>, meta: Keep, preserve: bool) {
        if self.depth > DEPTH_MAX {
            return;
        }
        match value {
            Value::Object(fields) => {
                let mut unknown = Vec::new();
                for (name, value) in fields.iter_mut() {
                    if meta == Keep::Meta && is_meta_field(name) {
                        continue;
                    }
                    match at.and_then(|at| at.field(name)) {
                        Some(to) => {
                            let length = self.enter_field(name);
                            self.known(value, Some(to), keep(to));
                            self.leave(length);
                        }
                        None if preserve => {}
                        None => unknown.push(name.clone()),
                    }
                }
                for name in unknown {
                    let length = self.enter_field(&name);
                    self.removed.push(self.path.clone());
                    self.leave(length);
                    fields.remove(&name);
                }
            }
            Value::Array(entries) => {
                let to = at.and_then(|at| at.items());
                if to.is_none() && preserve {
                    return;
                }
                for (i, entry) in entries.iter_mut().enumerate() {
                    let length = self.path.len();
                    self.path.push_str(&format!("[{i}]"));
                    self.depth += 1;
                    let inherited = preserve || to.is_some_and(|to| to.node().preserve_unknown);
                    self.walk(entry, to, to.map_or(Keep::Declared, keep), inherited);
                    self.leave(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn enter_field(&mut self, name: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        self.depth += 1;
        length
    }

    fn leave(&mut self, length: usize) {
        self.path.truncate(length);
        self.depth -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Schemas;
    use model::json;

    fn check(value: Value, expected: &str, removed: &[&str]) {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "properties": {
                "v": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                "v": {"type": "string"}}}},
            "any": {"type": "object", "additionalProperties": true},
            "emb": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {
                "spec": {"type": "object"}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "known": {"type": "object", "properties": {"z": {"type": "string"}}}}},
        }}}});
        let mut schemas = Schemas::default();
        let id = schemas.add_structural(&schema);
        let mut object = json!({"kind": "X", "metadata": {"labels": {}}, "spec": value});
        assert_eq!(prune(&mut object, schemas.at(id)), removed);
        assert_eq!(object["spec"].to_string(), expected);
        assert_eq!(object["metadata"], json!({"labels": {}}));
    }

    #[test]
    fn unknown_fields_go_and_are_told() {
        check(
            json!({"nope": 1, "a": "x", "list": [{"v": "a"}, {"x": 1}], "map": {"k": {"w": 1}}}),
            r#"{"a":"x","list":[{"v":"a"},{}],"map":{"k":{}}}"#,
            &["spec.list[1].x", "spec.map.k.w", "spec.nope"],
        );
    }

    #[test]
    fn free_values_are_pruned_below_what_is_known() {
        check(
            json!({"any": {"a": {"b": 1}, "c": 4, "d": [{"x": 1}]}}),
            r#"{"any":{"a":{},"c":4,"d":[{}]}}"#,
            &["spec.any.a.b", "spec.any.d[0].x"],
        );
        check(
            json!({"free": {"u": {"x": 1}, "known": {"z": "a", "w": 1}}}),
            r#"{"free":{"known":{"z":"a"},"u":{"x":1}}}"#,
            &["spec.free.known.w"],
        );
    }

    #[test]
    fn embedded_resources_keep_their_meta() {
        check(
            json!({"emb": {"kind": "Pod", "metadata": {"name": "x"}, "status": {}, "spec": {"q": 1}}}),
            r#"{"emb":{"kind":"Pod","metadata":{"name":"x"},"spec":{}}}"#,
            &["spec.emb.spec.q", "spec.emb.status"],
        );
    }
}
