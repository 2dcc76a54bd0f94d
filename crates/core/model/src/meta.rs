//! Reads what every Kubernetes object has: its type and its metadata.

use crate::gvk::{GroupVersion, GroupVersionKind};
use crate::time::Timestamp;
use serde_json::{Map, Value};

/// The text at `metadata.<field>`, empty when absent.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|m| m.get(field))
        .and_then(Value::as_str)
        .unwrap_or("")
}

/// `metadata.name`.
pub fn name(object: &Value) -> &str {
    text(object, "name")
}

/// `metadata.namespace`.
pub fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

/// `metadata.uid`.
pub fn uid(object: &Value) -> &str {
    text(object, "uid")
}

/// `metadata.resourceVersion`.
pub fn resource_version(object: &Value) -> &str {
    text(object, "resourceVersion")
}

/// `metadata.generation`.
pub fn generation(object: &Value) -> i64 {
    object
        .pointer("/metadata/generation")
        .and_then(Value::as_i64)
        .unwrap_or(0)
}

/// `metadata.deletionTimestamp`, when the object is being deleted.
pub fn deletion_timestamp(object: &Value) -> Option<Timestamp> {
    Timestamp::parse(text(object, "deletionTimestamp"))
}

/// `metadata.creationTimestamp`.
pub fn creation_timestamp(object: &Value) -> Option<Timestamp> {
    Timestamp::parse(text(object, "creationTimestamp"))
}

/// `metadata.labels`.
pub fn labels(object: &Value) -> Option<&Map<String, Value>> {
    object
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
}

/// One label's value.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    labels(object)?.get(key)?.as_str()
}

/// One annotation's value.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}

/// `metadata.finalizers`.
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    entries(object, "/metadata/finalizers").filter_map(Value::as_str)
}

/// `metadata.ownerReferences`.
pub fn owner_references(object: &Value) -> impl Iterator<Item = &Value> {
    entries(object, "/metadata/ownerReferences")
}

/// The items of a list at a JSON pointer; none when there is no list.
pub fn entries<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The text at a JSON pointer, empty when absent.
pub fn text_at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or("")
}

/// `apiVersion` and `kind`; `None` when either is missing or malformed.
pub fn gvk(object: &Value) -> Option<GroupVersionKind> {
    let gv = GroupVersion::parse(object.get("apiVersion")?.as_str()?)?;
    let kind = object.get("kind")?.as_str()?;
    Some(GroupVersionKind::new(gv.group, gv.version, kind))
}

/// The metadata map, made when absent; anything else in its place is replaced.
pub fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let body = object.as_object_mut().expect("made an object above");
    let slot = body
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("made an object above")
}

/// Sets a metadata text, or removes it when `value` is empty.
pub fn set_text(object: &mut Value, field: &str, value: &str) {
    let metadata = metadata_mut(object);
    if value.is_empty() {
        metadata.remove(field);
    } else {
        metadata.insert(field.into(), Value::String(value.into()));
    }
}
