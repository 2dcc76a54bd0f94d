//! Resources inside a custom resource: their type and metadata must be sound.

use super::check::show_go;
use super::rule::Rule;
use crate::DEPTH_MAX;
use model::{FieldError, Map, Path, Value, names};

/// Checks every embedded resource below the root.
pub(super) fn embedded(rule: &Rule, value: &Value, path: &Path) -> Vec<FieldError> {
    let mut faults = Vec::new();
    walk(rule, value, path, 0, &mut faults);
    faults
}

fn walk(rule: &Rule, value: &Value, path: &Path, depth: usize, faults: &mut Vec<FieldError>) {
    if !rule.deep || depth > DEPTH_MAX {
        return;
    }
    match value {
        Value::Object(fields) => {
            if rule.embedded {
                check_resource(fields, path, faults);
            }
            for (name, value) in fields {
                if let Some(property) = rule.properties.get(name) {
                    walk(property, value, &path.child(name), depth + 1, faults);
                } else if let Some(each) = rule.field(name) {
                    walk(each, value, &path.key(name), depth + 1, faults);
                }
            }
        }
        Value::Array(entries) => {
            if let Some(items) = &rule.items {
                for (i, entry) in entries.iter().enumerate() {
                    walk(items, entry, &path.index(i), depth + 1, faults);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_resource(fields: &Map<String, Value>, path: &Path, faults: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let at = path.child(name);
        match fields.get(name) {
            None => faults.push(FieldError::required(&at, "")),
            Some(Value::String(text)) => {
                if let Some(why) = text_fault(name, text) {
                    faults.push(FieldError::invalid(&at, &fields[name], &why));
                }
            }
            Some(other) => {
                let fault = FieldError::invalid_shown(&at, show_go(other), "must be a string");
                faults.push(fault);
            }
        }
    }
    let at = path.child("metadata");
    let text = |name: &str| fields.get("metadata").and_then(|m| m.get(name));
    for name in ["name", "generateName"] {
        if let Some(Value::String(given)) = text(name) {
            let whys = names::path_segment(given);
            let shown = Value::String(given.clone());
            let fault = |why: &String| FieldError::invalid(&at.child(name), &shown, why);
            faults.extend(whys.iter().map(fault));
        }
    }
    if let Some(Value::String(namespace)) = text("namespace").filter(|n| *n != "") {
        let shown = Value::String(namespace.clone());
        let whys = names::dns1123_label(namespace);
        let fault = |why: &String| FieldError::invalid(&at.child("namespace"), &shown, why);
        faults.extend(whys.iter().map(fault));
    }
    check_labels(text("labels"), &at.child("labels"), faults);
    check_annotations(text("annotations"), &at.child("annotations"), faults);
}

fn text_fault(name: &str, text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("must not be empty".into());
    }
    if name == "apiVersion" {
        let too_deep = text.matches('/').count() > 1;
        return too_deep.then(|| format!("unexpected GroupVersion string: {text}"));
    }
    let whys = names::dns1035_label(&text.to_lowercase());
    let why = whys.join(",");
    (!whys.is_empty()).then(|| format!("may have mixed case, but should otherwise match: {why}"))
}

fn check_labels(labels: Option<&Value>, path: &Path, faults: &mut Vec<FieldError>) {
    for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        let key_value = Value::String(key.clone());
        let keys = names::qualified_name(key);
        faults.extend(
            keys.iter()
                .map(|why| FieldError::invalid(path, &key_value, why)),
        );
        let values = value.as_str().map(names::label_value).unwrap_or_default();
        faults.extend(
            values
                .iter()
                .map(|why| FieldError::invalid(path, value, why)),
        );
    }
}

fn check_annotations(annotations: Option<&Value>, path: &Path, faults: &mut Vec<FieldError>) {
    for key in annotations
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
    {
        let shown = Value::String(key.clone());
        let whys = names::qualified_name(&key.to_lowercase());
        faults.extend(
            whys.iter()
                .map(|why| FieldError::invalid(path, &shown, why)),
        );
    }
}
