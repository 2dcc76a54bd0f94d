//! Defaults of a schema must be values that the schema allows, without unknown fields.

use super::structural::{fields, flag};
use crate::DEPTH_MAX;
use crate::node::Schemas;
use crate::prune::{is_meta_field, prune_value};
use crate::validate::Validator;
use model::{FieldError, Path, Value};

/// What is wrong with the defaults of a schema.
pub(super) fn check(schema: &Value, path: &Path) -> Vec<FieldError> {
    let mut faults = Vec::new();
    walk(schema, path, true, false, 0, &mut faults);
    faults
}

fn walk(
    schema: &Value,
    path: &Path,
    root: bool,
    meta: bool,
    depth: usize,
    faults: &mut Vec<FieldError>,
) {
    if depth > DEPTH_MAX {
        return;
    }
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let meta = meta && !embedded;
    if let Some(default) = schema.get("default").filter(|d| !d.is_null()) {
        let at = path.child("default");
        if !meta {
            faults.extend(unknown_fields(schema, default, &at));
        }
        faults.extend(Validator::new(schema).validate_default(default, &at));
    }
    if let Some(items) = schema.get("items").filter(|i| i.is_object()) {
        walk(items, &path.child("items"), false, meta, depth + 1, faults);
    }
    for (name, property) in fields(schema, "properties") {
        let below = meta || (root || embedded) && is_meta_field(name);
        let at = path.child("properties").key(name);
        walk(property, &at, false, below, depth + 1, faults);
    }
}

fn unknown_fields(schema: &Value, default: &Value, at: &Path) -> Option<FieldError> {
    let mut schemas = Schemas::default();
    let id = schemas.add_structural(schema);
    let mut pruned = default.clone();
    let removed = prune_value(&mut pruned, schemas.at(id));
    (!removed.is_empty()).then(|| FieldError::invalid(at, default, "must not have unknown fields"))
}
