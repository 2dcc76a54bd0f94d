//! The keywords a CRD's schema may use, and how.

use super::field_path::field_path;
use super::structural::{fields, flag, list};
use super::text;
use crate::DEPTH_MAX;
use crate::prune::is_meta_field;
use model::{FieldError, Path, Value, json};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// What is wrong with the keywords of a schema.
pub(super) fn check(schema: &Value, path: &Path) -> Vec<FieldError> {
    let mut walk = Walk { faults: Vec::new() };
    walk.level(schema, path, Inside::default(), Level::Root, 0);
    walk.faults
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Below,
}

/// What surrounds a level.
#[derive(Clone, Copy, Default)]
struct Inside<'s> {
    /// Why defaults are not allowed here.
    no_defaults: Option<&'s str>,
    meta: bool,
}

struct Walk {
    faults: Vec<FieldError>,
}

fn given<'v>(schema: &'v Value, key: &str) -> Option<&'v Value> {
    schema.get(key).filter(|v| !v.is_null())
}

impl Walk {
    fn forbidden(&mut self, path: &Path, detail: &str) {
        self.faults.push(FieldError::forbidden(path, detail));
    }

    fn required(&mut self, path: &Path, detail: &str) {
        self.faults.push(FieldError::required(path, detail));
    }

    fn invalid(&mut self, path: &Path, value: &Value, detail: &str) {
        self.faults.push(FieldError::invalid(path, value, detail));
    }

    fn level(
        &mut self,
        schema: &Value,
        path: &Path,
        inside: Inside<'_>,
        level: Level,
        depth: usize,
    ) {
        if depth > DEPTH_MAX || !schema.is_object() {
            return;
        }
        self.keywords(schema, path, inside);
        self.values(schema, path, inside, depth);
        let meta_parent = level == Level::Root || flag(schema, "x-kubernetes-embedded-resource");
        for (name, property) in fields(schema, "properties") {
            let mut below = inside;
            let reason = format!("in top-level {name}");
            if meta_parent && is_meta_field(name) {
                below.meta = true;
                if level == Level::Root {
                    below.no_defaults = Some(&reason);
                }
            }
            let at = path.child("properties").key(name);
            self.level(property, &at, below, Level::Below, depth + 1);
        }
        if let Some(not) = given(schema, "not") {
            self.level(not, &path.child("not"), inside, Level::Below, depth + 1);
        }
        for key in ["allOf", "oneOf", "anyOf"] {
            for (i, part) in list(schema, key).iter().enumerate() {
                let at = path.child(key).index(i);
                self.level(part, &at, inside, Level::Below, depth + 1);
            }
        }
        if let Some(items) = given(schema, "items") {
            self.level(items, &path.child("items"), inside, Level::Below, depth + 1);
        }
        self.extensions(schema, path);
        self.list_type(schema, path);
        self.list_map(schema, path);
        self.keys(schema, path);
        self.rules(schema, path);
    }

    fn keywords(&mut self, schema: &Value, path: &Path, inside: Inside<'_>) {
        let ty = text(schema, &["type"]);
        if !ty.is_empty() && !TYPES.contains(&ty) {
            let at = path.child("type");
            self.faults
                .push(FieldError::not_supported(&at, &json!(ty), &TYPES));
        }
        if let (Some(_), Some(reason)) = (given(schema, "default"), inside.no_defaults) {
            let detail = format!("must not be set {reason}");
            self.forbidden(&path.child("default"), &detail);
        }
        for key in [
            "id",
            "additionalItems",
            "patternProperties",
            "definitions",
            "dependencies",
            "$ref",
        ] {
            let used = match given(schema, key) {
                Some(Value::Object(map)) => {
                    !map.is_empty() || matches!(key, "additionalItems" | "dependencies")
                }
                Some(Value::String(text)) => !text.is_empty() || key == "$ref",
                Some(_) => true,
                None => false,
            };
            if used {
                self.forbidden(&path.child(key), &format!("{key} is not supported"));
            }
        }
        if ty == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            self.forbidden(&path.child("type"), detail);
        }
        if !list(schema, "items").is_empty() {
            let detail = "items must be a schema object and not an array";
            self.forbidden(&path.child("items"), detail);
        }
        if inside.meta && flag(schema, "x-kubernetes-embedded-resource") {
            let at = path.child("x-kubernetes-embedded-resource");
            self.forbidden(&at, "must not be used inside of resource meta");
        }
        if flag(schema, "uniqueItems") {
            let detail =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbidden(&path.child("uniqueItems"), detail);
        }
    }

    fn values(&mut self, schema: &Value, path: &Path, inside: Inside<'_>, depth: usize) {
        let Some(values) = given(schema, "additionalProperties") else {
            return;
        };
        let at = path.child("additionalProperties");
        if *values != json!(true) && fields(schema, "properties").next().is_some() {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.forbidden(&at, detail);
        }
        let mut below = inside;
        if inside.meta {
            below.no_defaults = Some("inside additionalProperties applying to object metadata");
        }
        self.level(values, &at, below, Level::Below, depth + 1);
    }

    fn extensions(&mut self, schema: &Value, path: &Path) {
        let preserve = "x-kubernetes-preserve-unknown-fields";
        if schema.get(preserve) == Some(&json!(false)) {
            let at = path.child(preserve);
            self.invalid(&at, &json!(false), "must be true or undefined");
        }
        let ty = text(schema, &["type"]);
        if let Some(map_type) = given(schema, "x-kubernetes-map-type") {
            if ty != "object" {
                let detail = "must be object if x-kubernetes-map-type is specified";
                self.wrong_type(path, ty, detail);
            }
            if *map_type != json!("atomic") && *map_type != json!("granular") {
                let at = path.child("x-kubernetes-map-type");
                let known = ["atomic", "granular"];
                self.faults
                    .push(FieldError::not_supported(&at, map_type, &known));
            }
        }
    }

    fn wrong_type(&mut self, path: &Path, ty: &str, detail: &str) {
        let at = path.child("type");
        if ty.is_empty() {
            self.required(&at, detail);
        } else {
            self.invalid(&at, &json!(ty), detail);
        }
    }

    fn list_type(&mut self, schema: &Value, path: &Path) {
        let Some(list_type) = given(schema, "x-kubernetes-list-type") else {
            return;
        };
        let ty = text(schema, &["type"]);
        if ty != "array" {
            let detail = "must be array if x-kubernetes-list-type is specified";
            self.wrong_type(path, ty, detail);
        } else if *list_type == json!("set")
            && let Some(items) = given(schema, "items")
        {
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            let (key, good) = match text(items, &["type"]) {
                "array" => {
                    let key = "x-kubernetes-list-type";
                    (key, matches!(text(items, &[key]), "" | "atomic"))
                }
                "object" => {
                    let key = "x-kubernetes-map-type";
                    (key, text(items, &[key]) == "atomic")
                }
                _ => ("", true),
            };
            if !good {
                let list_type = items.get("x-kubernetes-list-type").unwrap_or(&Value::Null);
                self.invalid(&path.child("items").child(key), list_type, detail);
            }
        }
        let known = ["atomic", "set", "map"];
        if !list_type.as_str().is_some_and(|t| known.contains(&t)) {
            let at = path.child("x-kubernetes-list-type");
            self.faults
                .push(FieldError::not_supported(&at, list_type, &known));
        }
    }

    fn list_map(&mut self, schema: &Value, path: &Path) {
        let keys = list(schema, "x-kubernetes-list-map-keys");
        let list_type = given(schema, "x-kubernetes-list-type");
        let at = path.child("x-kubernetes-list-type");
        let is_map = list_type == Some(&json!("map"));
        if !keys.is_empty() && !is_map {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            match list_type {
                None => self.required(&at, detail),
                Some(list_type) => self.invalid(&at, list_type, detail),
            }
        }
        if !is_map {
            return;
        }
        let keys_at = path.child("x-kubernetes-list-map-keys");
        if keys.is_empty() {
            let detail = "must not be empty if x-kubernetes-list-type is map";
            self.required(&keys_at, detail);
        }
        let items_at = path.child("items");
        let Some(items) = given(schema, "items") else {
            let detail = "must have a schema if x-kubernetes-list-type is map";
            self.required(&items_at, detail);
            return;
        };
        let ty = text(items, &["type"]);
        if ty != "object" {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            self.invalid(&items_at.child("type"), &json!(ty), detail);
            return;
        }
        for (i, key) in keys.iter().enumerate() {
            let name = key.as_str().unwrap_or_default();
            match items.get("properties").and_then(|p| p.get(name)) {
                None => {
                    let detail = "entries must all be names of item properties";
                    self.invalid(&keys_at, &json!(keys), detail);
                }
                Some(property) if matches!(text(property, &["type"]), "array" | "object") => {
                    let at = items_at.child("properties").key(name).child("type");
                    let detail =
                        "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    self.invalid(&at, &json!(ty), detail);
                }
                Some(_) => {}
            }
            if keys[..i].contains(key) {
                self.invalid(&keys_at, &json!(keys), "must not contain duplicate entries");
            }
        }
    }

    // Entries that are told apart must be there, and have their keys.
    fn keys(&mut self, schema: &Value, path: &Path) {
        let list_type = text(schema, &["x-kubernetes-list-type"]);
        let Some(items) = given(schema, "items").filter(|_| matches!(list_type, "set" | "map"))
        else {
            return;
        };
        let at = path.child("items");
        if flag(items, "nullable") {
            let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.forbidden(&at.child("nullable"), &detail);
        }
        if list_type != "map" {
            return;
        }
        for key in list(schema, "x-kubernetes-list-map-keys") {
            let name = key.as_str().unwrap_or_default();
            let Some(property) = items.get("properties").and_then(|p| p.get(name)) else {
                continue;
            };
            let at = at.child("properties").key(name);
            let required = list(items, "required").contains(key);
            if !required && given(property, "default").is_none() {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a \
                     default or be a required property";
                self.required(&at.child("default"), detail);
            }
            if flag(property, "nullable") {
                let detail =
                    "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                self.forbidden(&at.child("nullable"), detail);
            }
        }
    }

    fn rules(&mut self, schema: &Value, path: &Path) {
        for (i, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
            let at = path.child("x-kubernetes-validations").index(i);
            self.rule(schema, rule, &at);
        }
    }

    fn rule(&mut self, schema: &Value, rule: &Value, at: &Path) {
        let breaks = |text: &str| text.contains(['\n', '\r']);
        let get = |key: &str| text(rule, &[key]);
        let (source, message) = (get("rule").trim(), get("message"));
        let message_at = at.child("message");
        if source.is_empty() {
            self.required(&at.child("rule"), "rule is not specified");
        } else if !message.is_empty() && message.trim().is_empty() {
            let detail = "must be non-empty if specified";
            self.invalid(&message_at, &json!(message), detail);
        } else if breaks(message.trim()) {
            let detail = "must not contain line breaks";
            self.invalid(&message_at, &json!(message), detail);
        } else if breaks(source) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            self.required(&message_at, detail);
        }
        let made = get("messageExpression");
        if !made.is_empty() && made.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            self.required(&at.child("messageExpression"), detail);
        }
        if let Some(reason) = given(rule, "reason")
            && !reason.as_str().is_some_and(|r| REASONS.contains(&r))
        {
            let at = at.child("reason");
            self.faults
                .push(FieldError::not_supported(&at, reason, &REASONS));
        }
        let field = get("fieldPath");
        let field_at = at.child("fieldPath");
        if !field.is_empty() && field.trim().is_empty() {
            let detail = "must be non-empty if specified";
            self.invalid(&field_at, &json!(field), detail);
        }
        if breaks(field) {
            let detail = "must not contain line breaks";
            self.invalid(&field_at, &json!(field), detail);
        }
        if !field.is_empty() && field_path(field, schema).is_err() {
            self.invalid(&field_at, &json!(field), "must be a valid path");
        }
    }
}
