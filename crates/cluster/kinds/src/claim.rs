//! PersistentVolumeClaims: what a claim may ask for, and that it cannot be changed later.

use crate::fault::{Faults, Spot};
use crate::fields::{
    carry, entries, fill_empty, get, has, list, map_slot, same, set, slot, text, texts, unset,
};
use crate::pod::{defaults, warnings};
use crate::rules::{PLAIN, Recheck, Rules};
use crate::{Endpoint, Fresh, go, resources, selector};
use model::{Quantity, Value, meta, names};

const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
pub(crate) const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// What is special about a PersistentVolumeClaim.
pub(crate) static CLAIM: Rules = Rules {
    default: |object, _| default(object),
    create: |object, _| normalize(slot(object, "spec"), &Value::Null),
    update: |new, old, endpoint, _: &Fresh<'_>| {
        if endpoint == Endpoint::Main {
            normalize(slot(new, "spec"), get(old, "spec"));
        }
    },
    check: |object, faults| check_spec(get(object, "spec"), &Spot::of("spec"), faults),
    check_update,
    warn: |new, _, out| {
        if meta::annotation(new, OLD_CLASS).is_some() {
            out.push(format!(
                "metadata.annotations[{OLD_CLASS}]: deprecated since v1.8; use \"storageClassName\" \
                 attribute instead"
            ));
        }
        warnings::claim_sizes(get(new, "spec"), &Spot::of("spec"), out);
    },
    status: Some(r#"{"phase":"Pending"}"#),
    recheck: Recheck::Both,
    ..PLAIN
};

/// Fills a claim, alone or as a template of a StatefulSet.
pub(crate) fn default(object: &mut Value) {
    defaults::default_claim(map_slot(object, "spec"));
    let status = map_slot(object, "status");
    fill_empty(status, "phase", "Pending");
    resources::round(status, "capacity");
    resources::round(status, "allocatedResources");
}

// A source that is neither a claim nor a snapshot is dropped unless the newer field names it, too;
// then `dataSource` and `dataSourceRef` are made to say the same.
fn normalize(spec: &mut Value, before: &Value) {
    if !has(before, "dataSource") && !has(spec, "dataSourceRef") {
        let source = get(spec, "dataSource");
        let (group, kind) = (text(source, "apiGroup"), text(source, "kind"));
        let known = (group.is_empty() && kind == "PersistentVolumeClaim")
            || (group == "snapshot.storage.k8s.io" && kind == "VolumeSnapshot");
        if !known {
            unset(spec, "dataSource");
        }
    }
    if !text(get(spec, "dataSourceRef"), "namespace").is_empty() {
        return;
    }
    for (from, to) in [
        ("dataSource", "dataSourceRef"),
        ("dataSourceRef", "dataSource"),
    ] {
        if !has(spec, from) || has(spec, to) {
            continue;
        }
        let mut copy = model::json!({});
        for field in ["apiGroup", "kind", "name"] {
            let value = get(get(spec, from), field);
            if !value.is_null() {
                set(&mut copy, field, value.clone());
            }
        }
        set(spec, to, copy);
    }
}

/// Finds the faults of access modes.
pub(crate) fn check_modes(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let spot = &spot.child("accessModes");
    let (mut alone, mut others) = (false, false);
    for mode in texts(spec, "accessModes") {
        if !MODES.contains(&mode) {
            faults.unsupported(spot, mode, &MODES);
        }
        alone |= mode == "ReadWriteOncePod";
        others |= mode != "ReadWriteOncePod" && MODES.contains(&mode);
    }
    if alone && others {
        let message = "may not use ReadWriteOncePod with other access modes";
        faults.forbidden(spot, message);
    }
}

/// Finds the faults of a claim's spec.
pub(crate) fn check_spec(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if list(spec, "accessModes").is_empty() {
        let message = "at least 1 access mode is required";
        faults.required(&spot.child("accessModes"), message);
    }
    selector::check(get(spec, "selector"), &spot.child("selector"), faults);
    check_modes(spec, spot, faults);
    check_size(spec, &spot.child("resources"), faults);
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        let found = names::dns1123_subdomain(class);
        faults.invalid_each(&spot.child("storageClassName"), class, found);
    }
    faults.maybe_one_of(
        &spot.child("volumeMode"),
        get(spec, "volumeMode"),
        &["Block", "Filesystem"],
    );
    for field in ["dataSource", "dataSourceRef"] {
        if has(spec, field) {
            check_source(get(spec, field), &spot.child(field), faults);
        }
    }
    let (source, reference) = (get(spec, "dataSource"), get(spec, "dataSourceRef"));
    if !source.is_null() && !reference.is_null() {
        let foreign = !text(reference, "namespace").is_empty();
        let equal = ["apiGroup", "kind", "name"]
            .iter()
            .all(|field| get(source, field) == get(reference, field));
        if foreign {
            let message = "may not be specified when dataSourceRef.namespace is specified";
            faults.invalid_shown(spot, "{}", message);
        } else if !equal {
            faults.invalid_shown(spot, "{}", "must match dataSourceRef");
        }
    }
    let class = text(spec, "volumeAttributesClassName");
    if !class.is_empty() {
        let found = names::dns1123_subdomain(class);
        faults.invalid_each(&spot.child("volumeAttributesClassName"), class, found);
    }
}

fn check_size(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let spot = &spot.key("storage");
    let size = get(get(get(spec, "resources"), "requests"), "storage");
    let Some(size) = Quantity::from_json(size) else {
        return faults.required(spot, "");
    };
    if size <= Quantity::ZERO {
        faults.invalid(spot, size.to_string(), "must be greater than zero");
    }
}

fn check_source(source: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for field in ["name", "kind"] {
        if text(source, field).is_empty() {
            faults.required(&spot.child(field), "");
        }
    }
    let (group, kind) = (text(source, "apiGroup"), text(source, "kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let message = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        faults.invalid(spot, kind, message);
    }
    if !group.is_empty() {
        let found = names::dns1123_subdomain(group);
        faults.invalid_each(&spot.child("apiGroup"), group, found);
    }
    let namespace = text(source, "namespace");
    if !namespace.is_empty() {
        let found = names::dns1123_label(namespace);
        faults.invalid_each(&spot.child("namespace"), namespace, found);
    }
}

fn check_update(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    if endpoint == Endpoint::Status {
        return check_status(new, faults);
    }
    let spot = &Spot::of("spec");
    let (spec, before) = (get(new, "spec"), get(old, "spec"));
    check_spec(spec, spot, faults);
    let (mut now, mut then) = (spec.clone(), before.clone());
    if text(before, "volumeName").is_empty() {
        carry(&mut then, spec, "volumeName");
    }
    check_class(new, old, &mut now, faults);
    if text(get(new, "status"), "phase") == "Bound" {
        if let Some(requests) = crate::fields::some_mut(&mut now, "resources")
            .and_then(|resources| crate::fields::some_mut(resources, "requests"))
        {
            let size = get(get(get(before, "resources"), "requests"), "storage").clone();
            set(requests, "storage", size);
        }
        carry(&mut now, before, "volumeAttributesClassName");
    }
    if !same(&now, &then) {
        let message = format!(
            "spec is immutable after creation except resources.requests and \
             volumeAttributesClassName for bound claims\n{}",
            go::diff("PersistentVolumeClaimSpec", &then, &now)
        );
        faults.forbidden(spot, &message);
    }
    check_shrinking(spec, before, get(old, "status"), faults);
    let (mode, mode_before) = (get(spec, "volumeMode"), get(before, "volumeMode"));
    faults.immutable(&Spot::of("volumeMode"), mode, mode_before);
    check_attributes(spec, before, get(old, "status"), spot, faults);
}

// The storage class may move from the old annotation to the field, or be filled in later.
fn check_class(new: &Value, old: &Value, now: &mut Value, faults: &mut Faults) {
    let (spec, before) = (get(new, "spec"), get(old, "spec"));
    let (class, class_before) = (
        get(spec, "storageClassName").as_str(),
        get(before, "storageClassName").as_str(),
    );
    let (noted, noted_before) = (
        meta::annotation(new, OLD_CLASS),
        meta::annotation(old, OLD_CLASS),
    );
    let upgraded = noted_before.is_some()
        && class_before.is_none()
        && class == noted_before
        && (noted.is_none() || noted == noted_before);
    if upgraded {
        return unset(now, "storageClassName");
    }
    if noted.unwrap_or("") != noted_before.unwrap_or("") {
        let spot = Spot::of("metadata.annotations");
        let at = &spot.child(OLD_CLASS);
        faults.invalid(at, noted.unwrap_or(""), "field is immutable");
    }
    let filled = class.is_some()
        && class_before.is_none()
        && (noted_before.is_none() || class == noted_before);
    if filled {
        unset(now, "storageClassName");
    }
}

fn check_shrinking(spec: &Value, before: &Value, status: &Value, faults: &mut Faults) {
    let size = |spec: &Value| resources::amount(get(get(spec, "resources"), "requests"), "storage");
    let real = resources::amount(get(status, "capacity"), "storage");
    if size(spec) < size(before) && size(spec) <= real {
        let spot = &Spot::of("spec.resources.requests.storage");
        faults.forbidden(spot, "field can not be less than status.capacity");
    }
}

fn check_attributes(
    spec: &Value,
    before: &Value,
    status: &Value,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let field = "volumeAttributesClassName";
    if get(spec, field) == get(before, field) || !has(status, "currentVolumeAttributesClassName") {
        return;
    }
    let spot = &spot.child(field);
    match get(spec, field).as_str() {
        None => faults.forbidden(
            spot,
            "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil",
        ),
        Some("") => faults.forbidden(
            spot,
            "update to empty string is forbidden when status.currentVolumeAttributesClassName is \
             not nil",
        ),
        Some(_) => {}
    }
}

fn check_status(new: &Value, faults: &mut Faults) {
    for (name, amount) in entries(get(new, "status"), "capacity") {
        let size = Quantity::from_json(amount).unwrap_or(Quantity::ZERO);
        if size.is_negative() {
            let spot = Spot::of("status.capacity");
            let message = "must be a valid resource quantity";
            faults.invalid(&spot.key(name), size.value(), message);
        }
    }
}
