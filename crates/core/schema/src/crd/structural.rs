//! The rules that make a schema structural: every field has one type, given outside of logic.

use super::text;
use crate::DEPTH_MAX;
use crate::pattern::compile_pattern;
use model::{FieldError, Path, Value, json};

/// What keeps a schema from being structural, sorted by text as the API server does.
pub(super) fn check(schema: &Value, path: &Path) -> Vec<FieldError> {
    let mut faults = Vec::new();
    let mut checker = Checker {
        faults: &mut faults,
    };
    checker.level(schema, Level::Root, path, 0);
    checker.complete_logic(schema, schema, path, path, 0);
    faults.sort_by_cached_key(ToString::to_string);
    faults
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

struct Checker<'f> {
    faults: &'f mut Vec<FieldError>,
}

/// Whether a flag of a schema is set.
pub(super) fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool) == Some(true)
}

/// A list of a schema.
pub(super) fn list<'v>(schema: &'v Value, key: &str) -> &'v [Value] {
    let list = schema.get(key).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// The named schemas below one.
pub(super) fn fields<'v>(
    schema: &'v Value,
    key: &str,
) -> impl Iterator<Item = (&'v String, &'v Value)> {
    schema
        .get(key)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

impl Checker<'_> {
    fn required(&mut self, path: &Path, detail: &str) {
        self.faults.push(FieldError::required(path, detail));
    }

    fn forbidden(&mut self, path: &Path, detail: &str) {
        self.faults.push(FieldError::forbidden(path, detail));
    }

    fn invalid(&mut self, path: &Path, value: Value, detail: &str) {
        self.faults.push(FieldError::invalid(path, &value, detail));
    }

    fn level(&mut self, schema: &Value, level: Level, path: &Path, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        let ty = text(schema, &["type"]);
        let items = schema.get("items").filter(|i| i.is_object());
        if ty == "array" && items.is_none() {
            self.required(&path.child("items"), "must be specified");
        }
        if let Some(items) = items {
            self.level(items, Level::Item, &path.child("items"), depth + 1);
        }
        for (name, property) in fields(schema, "properties") {
            let at = path.child("properties").key(name);
            self.level(property, Level::Field, &at, depth + 1);
        }
        if let Some(values) = schema.get("additionalProperties").filter(|v| !v.is_null()) {
            let at = path.child("additionalProperties");
            if level == Level::Root {
                self.forbidden(&at, "must not be used at the root");
            }
            if values.is_object() {
                self.level(values, Level::Field, &at, depth + 1);
            }
        }
        self.extensions(schema, path);
        self.logic(schema, path, depth);
        self.types(schema, level, path);
        self.meta(schema, level, path);
    }

    fn extensions(&mut self, schema: &Value, path: &Path) {
        if !flag(schema, "x-kubernetes-int-or-string") {
            return;
        }
        let detail = "must be false if x-kubernetes-int-or-string is true";
        for key in [
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
        ] {
            if flag(schema, key) {
                self.invalid(&path.child(key), json!(true), detail);
            }
        }
    }

    fn types(&mut self, schema: &Value, level: Level, path: &Path) {
        let ty = text(schema, &["type"]);
        let embedded = flag(schema, "x-kubernetes-embedded-resource");
        let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
        let at = path.child("type");
        if embedded && ty != "object" {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            if ty.is_empty() {
                self.required(&at, detail);
            } else {
                self.invalid(&at, json!(ty), detail);
            }
        } else if ty.is_empty() && !flag(schema, "x-kubernetes-int-or-string") && !preserve {
            let whose = match level {
                Level::Root => "at the root",
                Level::Item => "for specified array items",
                Level::Field => "for specified object fields",
            };
            self.required(&at, &format!("must not be empty {whose}"));
        }
        let values = schema.get("additionalProperties");
        if embedded && values.is_some_and(|v| !v.is_null()) {
            let detail = "must not be used if x-kubernetes-embedded-resource is set";
            self.forbidden(&path.child("additionalProperties"), detail);
        }
        if level == Level::Root && !ty.is_empty() && ty != "object" {
            self.invalid(&at, json!(ty), "must be object at the root");
        }
        if embedded && !preserve && fields(schema, "properties").next().is_none() {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                 x-kubernetes-preserve-unknown-fields";
            self.required(&path.child("properties"), detail);
        }
    }

    fn meta(&mut self, schema: &Value, level: Level, path: &Path) {
        let checked = level == Level::Root || flag(schema, "x-kubernetes-embedded-resource");
        let properties = path.child("properties");
        for name in ["kind", "apiVersion"] {
            let property = schema.get("properties").and_then(|p| p.get(name));
            if let Some(property) = property.filter(|_| checked) {
                let ty = text(property, &["type"]);
                if ty != "string" {
                    let at = properties.key(name).child("type");
                    self.invalid(&at, json!(ty), "must be string");
                }
            }
        }
        let Some(metadata) = schema.get("properties").and_then(|p| p.get("metadata")) else {
            return;
        };
        let at = properties.key("metadata");
        let ty = text(metadata, &["type"]);
        if checked && ty != "object" {
            self.invalid(&at.child("type"), json!(ty), "must be object");
        }
        if level == Level::Root && !names_only(metadata) {
            let detail = "must not specify anything other than name and generateName, but \
                 metadata is implicitly specified";
            self.forbidden(&at, detail);
        }
    }

    fn logic(&mut self, schema: &Value, path: &Path, depth: usize) {
        let first_all = list(schema, "allOf").first();
        let skip_any = is_int_or_string(list(schema, "anyOf"));
        let skip_in_all = first_all.is_some_and(|f| is_int_or_string(list(f, "anyOf")));
        self.parts(schema, path, depth, skip_any, skip_in_all);
    }

    fn parts(&mut self, schema: &Value, path: &Path, depth: usize, skip_any: bool, skip_all: bool) {
        if !skip_any {
            for (i, part) in list(schema, "anyOf").iter().enumerate() {
                self.nested(part, &path.child("anyOf").index(i), depth + 1, false);
            }
        }
        for (i, part) in list(schema, "allOf").iter().enumerate() {
            let at = path.child("allOf").index(i);
            self.nested(part, &at, depth + 1, skip_all && i == 0);
        }
        for (i, part) in list(schema, "oneOf").iter().enumerate() {
            self.nested(part, &path.child("oneOf").index(i), depth + 1, false);
        }
        if let Some(not) = schema.get("not").filter(|n| n.is_object()) {
            self.nested(not, &path.child("not"), depth + 1, false);
        }
        let pattern = text(schema, &["pattern"]);
        if !pattern.is_empty()
            && let Err(why) = compile_pattern(pattern)
        {
            let detail = format!("must be a valid regular expression, but isn't: {why}");
            self.invalid(&path.child("pattern"), json!(pattern), &detail);
        }
    }

    // Inside of logic only values are restricted, nothing is declared.
    fn nested(&mut self, schema: &Value, path: &Path, depth: usize, skip_any: bool) {
        if depth > DEPTH_MAX {
            return;
        }
        self.parts(schema, path, depth, skip_any, false);
        if let Some(items) = schema.get("items").filter(|i| i.is_object()) {
            self.nested(items, &path.child("items"), depth + 1, false);
        }
        for (name, property) in fields(schema, "properties") {
            let at = path.child("properties").key(name);
            self.nested(property, &at, depth + 1, false);
        }
        let present = |key: &str| match schema.get(key) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(list)) => !list.is_empty(),
            Some(_) => true,
        };
        for (key, word) in [
            ("type", "empty"),
            ("additionalProperties", "undefined"),
            ("default", "undefined"),
            ("title", "empty"),
            ("description", "empty"),
            ("nullable", "false"),
            ("x-kubernetes-preserve-unknown-fields", "false"),
            ("x-kubernetes-embedded-resource", "false"),
            ("x-kubernetes-int-or-string", "false"),
            ("x-kubernetes-list-map-keys", "empty"),
            ("x-kubernetes-list-type", "undefined"),
            ("x-kubernetes-map-type", "undefined"),
            ("x-kubernetes-validations", "empty"),
        ] {
            if present(key) {
                let detail = format!("must be {word} to be structural");
                self.forbidden(&path.child(key), &detail);
            }
        }
        if fields(schema, "properties").any(|(name, _)| name == "metadata") {
            let at = path.child("properties").key("metadata");
            self.forbidden(&at, "must not be specified in a nested context");
        }
    }

    // Whatever logic speaks about is declared outside of it.
    fn complete_logic(
        &mut self,
        logic: &Value,
        declared: &Value,
        declared_at: &Path,
        logic_at: &Path,
        depth: usize,
    ) {
        if let Some(not) = logic.get("not").filter(|n| n.is_object()) {
            self.complete(not, declared, declared_at, &logic_at.child("not"), depth);
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            for (i, part) in list(logic, key).iter().enumerate() {
                let at = logic_at.child(key).index(i);
                self.complete(part, declared, declared_at, &at, depth);
            }
        }
    }

    fn complete(
        &mut self,
        logic: &Value,
        declared: &Value,
        declared_at: &Path,
        logic_at: &Path,
        depth: usize,
    ) {
        if depth > DEPTH_MAX {
            return;
        }
        self.complete_logic(logic, declared, declared_at, logic_at, depth + 1);
        if let Some(items) = logic.get("items").filter(|i| i.is_object()) {
            let (at, logic_at) = (declared_at.child("items"), logic_at.child("items"));
            match declared.get("items").filter(|i| i.is_object()) {
                Some(declared) => self.complete(items, declared, &at, &logic_at, depth + 1),
                None => self.undeclared(&at, &logic_at),
            }
        }
        for (name, property) in fields(logic, "properties") {
            let at = declared_at.child("properties").key(name);
            let logic_at = logic_at.child("properties").key(name);
            match declared.get("properties").and_then(|p| p.get(name)) {
                Some(declared) => self.complete(property, declared, &at, &logic_at, depth + 1),
                None => self.undeclared(&at, &logic_at),
            }
        }
    }

    fn undeclared(&mut self, at: &Path, logic_at: &Path) {
        self.required(at, &format!("because it is defined in {logic_at}"));
    }
}

fn is_int_or_string(parts: &[Value]) -> bool {
    parts == [json!({"type": "integer"}), json!({"type": "string"})]
}

// Metadata of the root may restrict the names, and say nothing else.
fn names_only(metadata: &Value) -> bool {
    let known = ["name", "generateName"];
    let properties = fields(metadata, "properties").count();
    let named = fields(metadata, "properties").all(|(name, _)| known.contains(&name.as_str()));
    let others = metadata.as_object().into_iter().flatten();
    let mut others = others.filter(|(key, value)| {
        !matches!(key.as_str(), "type" | "properties" | "default")
            && !value.is_null()
            && **value != json!(false)
    });
    (properties == 0 || named) && others.next().is_none()
}
