//! Checks the metadata that every object has: name, namespace, labels, annotations, owners.

use crate::fault::{Faults, Spot};
use crate::fields::{flag, get, list, number, text, texts};
use crate::rules::{self, Name};
use model::{FieldError, GroupVersionKind, Value, meta, names};

const ANNOTATIONS_MAX: usize = 256 * 1024;

/// Finds the faults in the metadata of a new object of a kind.
pub fn validate_metadata(
    gvk: &GroupVersionKind,
    namespaced: bool,
    object: &Value,
) -> Vec<FieldError> {
    let mut faults = Faults::default();
    check(object, namespaced, rules::of(gvk).name, &mut faults);
    if rules::is_built_in(gvk) {
        check_kube_finalizers(object, &mut faults);
    }
    faults.into_list()
}

/// Finds the faults in the metadata of an update that are the same for all kinds.
pub fn validate_metadata_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut faults = Faults::default();
    let namespaced = !meta::namespace(old).is_empty();
    check(new, namespaced, Name::Segment, &mut faults);
    check_update(new, old, &mut faults);
    faults.into_list()
}

/// Finds the faults in the metadata of a new object.
pub(crate) fn check(object: &Value, namespaced: bool, name: Name, faults: &mut Faults) {
    let metadata = get(object, "metadata");
    let spot = &Spot::of("metadata");
    let prefix = text(metadata, "generateName");
    if !prefix.is_empty() {
        faults.invalid_each(
            &spot.child("generateName"),
            prefix,
            name.faults(prefix, true),
        );
    }
    match text(metadata, "name") {
        "" => faults.required(&spot.child("name"), "name or generateName is required"),
        given => faults.invalid_each(&spot.child("name"), given, name.faults(given, false)),
    }
    check_namespace(metadata, namespaced, faults);
    faults.non_negative(&spot.child("generation"), number(metadata, "generation"));
    check_common(metadata, faults);
    check_finalizers(metadata, faults);
    check_managers(metadata, faults);
}

fn check_namespace(metadata: &Value, namespaced: bool, faults: &mut Faults) {
    let spot = &Spot::of("metadata.namespace");
    match (namespaced, text(metadata, "namespace")) {
        (true, "") => faults.required(spot, ""),
        (true, given) => faults.invalid_each(spot, given, names::dns1123_label(given)),
        (false, "") => {}
        (false, _) => faults.forbidden(spot, "not allowed on this type"),
    }
}

fn check_common(metadata: &Value, faults: &mut Faults) {
    let spot = &Spot::of("metadata");
    check_labels(get(metadata, "labels"), &spot.child("labels"), faults);
    check_annotations(
        get(metadata, "annotations"),
        &spot.child("annotations"),
        faults,
    );
    check_owners(metadata, faults);
}

/// Finds the faults of a map of labels.
pub(crate) fn check_labels(labels: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        faults.invalid_each(spot, key, names::qualified_name(key));
        let value = value.as_str().unwrap_or("");
        faults.invalid_each(spot, value, names::label_value(value));
    }
}

/// Finds the faults of a map of annotations.
pub(crate) fn check_annotations(annotations: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        let found = if key.bytes().any(|b| b.is_ascii_uppercase()) {
            names::qualified_name(&key.to_lowercase())
        } else {
            names::qualified_name(key)
        };
        faults.invalid_each(spot, key, found);
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_MAX {
        faults.too_long(spot, ANNOTATIONS_MAX);
    }
}

fn check_owners(metadata: &Value, faults: &mut Faults) {
    let spot = &Spot::of("metadata.ownerReferences");
    let mut controller: Option<String> = None;
    for owner in list(metadata, "ownerReferences") {
        check_owner(owner, spot, faults);
        if !flag(owner, "controller") {
            continue;
        }
        let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
        match &controller {
            None => controller = Some(name),
            Some(first) => faults.invalid_shown(
                spot,
                &show_owners(list(metadata, "ownerReferences")),
                &format!(
                    "Only one reference can have Controller set to true. Found \"true\" in \
                     references for {first} and {name}"
                ),
            ),
        }
    }
}

// Owners in the field order of their struct.
fn show_owners(owners: &[Value]) -> String {
    let fields = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let shown: Vec<String> = owners
        .iter()
        .map(|owner| {
            let parts: Vec<String> = fields
                .iter()
                .enumerate()
                .filter(|(index, field)| *index < 4 || !get(owner, field).is_null())
                .map(|(index, field)| match get(owner, field) {
                    Value::Null if index < 4 => format!("\"{field}\":\"\""),
                    value => format!("\"{field}\":{value}"),
                })
                .collect();
            format!("{{{}}}", parts.join(","))
        })
        .collect();
    format!("[{}]", shown.join(","))
}

fn check_owner(owner: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let api_version = text(owner, "apiVersion");
    let version = api_version.rsplit('/').next().unwrap_or("");
    if version.is_empty() {
        faults.invalid(
            &spot.child("apiVersion"),
            api_version,
            "version must not be empty",
        );
    }
    for field in ["kind", "name", "uid"] {
        if text(owner, field).is_empty() {
            faults.invalid(&spot.child(field), "", "must not be empty");
        }
    }
    if api_version == "v1" && text(owner, "kind") == "Event" {
        faults.invalid(
            spot,
            owner.clone(),
            "/v1, Kind=Event is disallowed from being an owner",
        );
    }
}

fn check_finalizers(metadata: &Value, faults: &mut Faults) {
    let spot = &Spot::of("metadata.finalizers");
    let (mut orphan, mut foreground) = (false, false);
    for finalizer in texts(metadata, "finalizers") {
        faults.invalid_each(spot, finalizer, names::qualified_name(finalizer));
        orphan |= finalizer == "orphan";
        foreground |= finalizer == "foregroundDeletion";
    }
    if orphan && foreground {
        faults.invalid(
            spot,
            get(metadata, "finalizers").clone(),
            "finalizer orphan and foregroundDeletion cannot be both set",
        );
    }
}

fn check_managers(metadata: &Value, faults: &mut Faults) {
    let spot = &Spot::of("metadata.managedFields");
    for (index, entry) in list(metadata, "managedFields").iter().enumerate() {
        let spot = &spot.index(index);
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            faults.invalid(
                &spot.child("operation"),
                operation,
                "must be `Apply` or `Update`",
            );
        }
        let form = text(entry, "fieldsType");
        if !form.is_empty() && form != "FieldsV1" {
            faults.invalid(&spot.child("fieldsType"), form, "must be `FieldsV1`");
        }
        let manager = text(entry, "manager");
        if manager.chars().count() > 128 {
            faults.too_long(&spot.child("manager"), 128);
        }
        if text(entry, "subresource").len() > 256 {
            faults.too_long(&spot.child("subresource"), 256);
        }
    }
}

/// Finds the faults in the metadata of an update.
pub(crate) fn check_update(new: &Value, old: &Value, faults: &mut Faults) {
    let (new_meta, old_meta) = (get(new, "metadata"), get(old, "metadata"));
    let spot = &Spot::of("metadata");
    if meta::deletion_timestamp(old).is_some() {
        check_no_new_finalizers(new_meta, old_meta, faults);
    }
    if text(new_meta, "resourceVersion").is_empty() {
        let spot = &spot.child("resourceVersion");
        faults.invalid(spot, "", "must be specified for an update");
    }
    let (generation, before) = (meta::generation(new), meta::generation(old));
    if generation < before {
        faults.invalid(
            &spot.child("generation"),
            generation,
            "must not be decremented",
        );
    }
    for field in ["name", "namespace", "uid"] {
        let (new, old) = (text(new_meta, field), text(old_meta, field));
        if new != old {
            faults.invalid(&spot.child(field), new, "field is immutable");
        }
    }
    for field in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let (new, old) = (get(new_meta, field), get(old_meta, field));
        if new != old {
            faults.invalid(&spot.child(field), new.clone(), "field is immutable");
        }
    }
    check_common(new_meta, faults);
    check_managers(new_meta, faults);
}

fn check_no_new_finalizers(new: &Value, old: &Value, faults: &mut Faults) {
    let before: Vec<&str> = texts(old, "finalizers").collect();
    let mut added: Vec<&str> = texts(new, "finalizers")
        .filter(|f| !before.contains(f))
        .collect();
    if added.is_empty() {
        return;
    }
    added.sort_unstable();
    added.dedup();
    let shown: Vec<String> = added.iter().map(|f| model::field::go_quote(f)).collect();
    faults.forbidden(
        &Spot::of("metadata.finalizers"),
        &format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers \
             []string{{{}}}",
            shown.join(", ")
        ),
    );
}

/// Finds finalizers that are neither qualified nor one of the three known ones.
pub(crate) fn check_kube_finalizers(object: &Value, faults: &mut Faults) {
    let spot = &Spot::of("metadata.finalizers");
    for (index, finalizer) in texts(get(object, "metadata"), "finalizers").enumerate() {
        check_kube_finalizer(finalizer, &spot.index(index), faults);
    }
}

/// Finds a finalizer that is neither qualified nor one of the three known ones.
pub(crate) fn check_kube_finalizer(finalizer: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let known = matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion");
    if !finalizer.contains('/') && !known {
        let message = "name is neither a standard finalizer name nor is it fully qualified";
        faults.invalid(spot, finalizer, message);
    }
}
