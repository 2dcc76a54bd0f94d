//! PersistentVolumes.

use crate::fault::{Faults, Spot};
use crate::fields::{
    carry, entries, fill, fill_empty, get, has, is_empty, list, map_slot, same, set, slot, text,
    unset,
};
use crate::pod::{defaults, schedule, volume};
use crate::rules::{PLAIN, Recheck, Rules};
use crate::{Endpoint, Fresh, claim, go, resources};
use model::{FieldError, FieldErrorKind, Quantity, Value, names};

/// What is special about a PersistentVolume.
pub(crate) static VOLUME: Rules = Rules {
    default: |object, _| default(object),
    create: |object, fresh| {
        let status = map_slot(object, "status");
        set(status, "lastPhaseTransitionTime", fresh.now.rfc3339());
    },
    update,
    check: |object, faults| check(get(object, "spec"), faults),
    check_update,
    warn: |new, _, out| warn(new, out),
    status: Some(r#"{"phase":"Pending"}"#),
    recheck: Recheck::AsNew,
    ..PLAIN
};

/// The sources of a volume in the order they are looked at.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

fn default(object: &mut Value) {
    let spec = map_slot(object, "spec");
    resources::round(spec, "capacity");
    defaults::default_source(spec);
    fill_empty(spec, "persistentVolumeReclaimPolicy", "Retain");
    fill(spec, "volumeMode", "Filesystem");
    fill_empty(map_slot(object, "status"), "phase", "Pending");
}

fn update(new: &mut Value, old: &Value, endpoint: Endpoint, fresh: &Fresh<'_>) {
    if endpoint != Endpoint::Status {
        return;
    }
    let before = get(old, "status");
    let status = map_slot(new, "status");
    let field = "lastPhaseTransitionTime";
    let turned = text(status, "phase") != text(before, "phase");
    if !turned && !has(status, field) {
        carry(status, before, field);
    } else if turned && (!has(status, field) || get(status, field) == get(before, field)) {
        set(status, field, fresh.now.rfc3339());
    }
}

fn warn(new: &Value, out: &mut Vec<String>) {
    let spec = get(new, "spec");
    let note = "volume.beta.kubernetes.io/storage-class";
    if model::meta::annotation(new, note).is_some() {
        out.push(format!(
            "metadata.annotations[{note}]: deprecated since v1.8; use \"storageClassName\" attribute \
             instead"
        ));
    }
    if text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        out.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. \
             Instead, the recommended approach is to use dynamic provisioning."
                .into(),
        );
    }
    for (field, shown, message) in [
        (
            "cephfs",
            "cephfs",
            "deprecated in v1.28, non-functional in v1.31+",
        ),
        (
            "photonPersistentDisk",
            "photonPersistentDisk",
            "deprecated in v1.11, non-functional in v1.16+",
        ),
        (
            "scaleIO",
            "scaleIO",
            "deprecated in v1.16, non-functional in v1.22+",
        ),
        (
            "storageos",
            "storageOS",
            "deprecated in v1.22, non-functional in v1.25+",
        ),
        (
            "glusterfs",
            "glusterfs",
            "deprecated in v1.25, non-functional in v1.26+",
        ),
        (
            "rbd",
            "rbd",
            "deprecated in v1.28, non-functional in v1.31+",
        ),
    ] {
        if has(spec, field) {
            out.push(format!("spec.{shown}: {message}"));
        }
    }
}

fn check(spec: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    if list(spec, "accessModes").is_empty() {
        faults.required(&spot.child("accessModes"), "");
    }
    claim::check_modes(spec, spot, faults);
    check_capacity(spec, &spot.child("capacity"), faults);
    let policy = text(spec, "persistentVolumeReclaimPolicy");
    if !policy.is_empty() {
        let at = &spot.child("persistentVolumeReclaimPolicy");
        faults.one_of(at, policy, &["Delete", "Recycle", "Retain"]);
    }
    if has(spec, "nodeAffinity") {
        let at = &spot.child("nodeAffinity.required");
        let required = get(get(spec, "nodeAffinity"), "required");
        if required.is_null() {
            faults.required(at, "must specify required node constraints");
        } else {
            schedule::check_node_selector(required, at, faults);
        }
    }
    check_source(spec, spot, faults);
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
    if let Some(class) = get(spec, "volumeAttributesClassName").as_str() {
        let at = &spot.child("volumeAttributesClassName");
        if class.is_empty() {
            faults.required(at, "an empty string is disallowed");
        } else {
            faults.invalid_each(at, class, names::dns1123_subdomain(class));
        }
        if !has(spec, "csi") {
            let message = "has to be specified when using volumeAttributesClassName";
            faults.required(&spot.child("csi"), message);
        }
    }
}

fn check_capacity(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let capacity = get(spec, "capacity");
    if is_empty(capacity) {
        faults.required(spot, "");
    }
    let count = capacity.as_object().map_or(0, model::Map::len);
    if capacity.get("storage").is_none() || count > 1 {
        faults.push(FieldError {
            kind: FieldErrorKind::NotSupported,
            field: spot.path().to_string(),
            detail: Some("supported values: \"storage\"".into()),
            value: Some(capacity.to_string()),
        });
    }
    for (name, amount) in entries(spec, "capacity") {
        let size = Quantity::from_json(amount).unwrap_or(Quantity::ZERO);
        let at = &spot.key(name);
        if size.is_negative() {
            faults.invalid(at, size.value(), "must be a valid resource quantity");
        }
        if size <= Quantity::ZERO {
            faults.invalid(at, size.to_string(), "must be greater than zero");
        }
    }
}

fn check_source(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let mut seen = false;
    for source in SOURCES.iter().filter(|source| has(spec, source)) {
        if seen && *source != "flexVolume" {
            let shown = if *source == "cephfs" {
                "cephFS"
            } else {
                source
            };
            let message = "may not specify more than 1 volume type";
            faults.forbidden(&spot.child(shown), message);
            continue;
        }
        seen = true;
        let value = get(spec, source);
        match *source {
            "local" => {
                let at = &spot.child("local");
                match text(value, "path") {
                    "" => faults.required(&at.child("path"), ""),
                    path => crate::syntax::check_no_backsteps(path, &at.child("path"), faults),
                }
                if !has(spec, "nodeAffinity") {
                    let message = "Local volume requires node affinity";
                    faults.required(&spot.child("nodeAffinity"), message);
                }
            }
            "csi" => check_csi(value, &spot.child("csi"), faults),
            shared => volume::check_shared(shared, value, spot, faults),
        }
    }
    if !seen {
        faults.required(spot, "must specify a volume type");
    }
    let root = text(get(spec, "hostPath"), "path")
        .trim_matches('/')
        .is_empty();
    if has(spec, "hostPath") && root && text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        let at = &spot.child("persistentVolumeReclaimPolicy");
        faults.forbidden(at, "may not be 'recycle' for a hostPath mount of '/'");
    }
}

fn check_csi(csi: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    volume::check_driver_name(text(csi, "driver"), &spot.child("driver"), faults);
    if text(csi, "volumeHandle").is_empty() {
        faults.required(&spot.child("volumeHandle"), "");
    }
    for field in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        if !has(csi, field) {
            continue;
        }
        let (reference, at) = (get(csi, field), &spot.child(field));
        match text(reference, "name") {
            "" => faults.required(&at.child("name"), ""),
            name => {
                faults.invalid_each(&at.child("name"), name, names::dns1123_subdomain(name));
            }
        }
        match text(reference, "namespace") {
            "" => faults.required(&at.child("namespace"), ""),
            name => {
                faults.invalid_each(&at.child("namespace"), name, names::dns1123_label(name));
            }
        }
    }
}

fn source_of(spec: &Value) -> Value {
    let mut out = model::json!({});
    for source in SOURCES {
        if has(spec, source) {
            set(&mut out, source, get(spec, source).clone());
        }
    }
    out
}

fn check_update(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    if endpoint == Endpoint::Status {
        return;
    }
    let (spec, before) = (get(new, "spec"), get(old, "spec"));
    check(spec, faults);
    check(spec, faults);
    let (mut now, then) = (source_of(spec), source_of(before));
    let secret = "controllerExpandSecretRef";
    if has(&then, "csi") && has(&now, "csi") && !has(get(&then, "csi"), secret) {
        unset(slot(&mut now, "csi"), secret);
    }
    if !same(&now, &then) {
        let message = format!(
            "spec.persistentvolumesource is immutable after creation\n{}",
            go::diff("PersistentVolumeSource", &then, &now)
        );
        faults.forbidden(&Spot::of("spec.persistentvolumesource"), &message);
    }
    faults.immutable(
        &Spot::of("volumeMode"),
        get(spec, "volumeMode"),
        get(before, "volumeMode"),
    );
    if has(before, "nodeAffinity") {
        let (now, then) = (get(spec, "nodeAffinity"), get(before, "nodeAffinity"));
        if !same(now, then) {
            let shown = match now {
                Value::Null => "null".to_owned(),
                now => go::show("VolumeNodeAffinity", now),
            };
            let message = "field is immutable, except for updating from beta label to GA";
            faults.invalid_shown(&Spot::of("nodeAffinity"), &shown, message);
        }
    }
    let field = "volumeAttributesClassName";
    if has(before, field) && !has(spec, field) {
        let at = &Spot::of("spec.volumeAttributesClassName");
        faults.forbidden(at, "update from non-nil value to nil is forbidden");
    }
}
