//! StorageClasses, CSIDrivers and the other kinds of the storage group.

use crate::Endpoint;
use crate::fault::{Faults, Spot};
use crate::fields::{entries, fill, fill_empty, get, has, int, list, map_slot, same, text, texts};
use crate::pod::{volume, warnings};
use crate::rules::{Keeps, PLAIN, Recheck, Rules};
use model::{Value, json, names};

/// What is special about a StorageClass.
pub(crate) static STORAGE_CLASS: Rules = Rules {
    default: |object, _| {
        fill(object, "reclaimPolicy", "Delete");
        fill(object, "volumeBindingMode", "Immediate");
    },
    check: check_class,
    check_update: |new, old, _, faults| {
        check_class(new, faults);
        for field in [
            "parameters",
            "provisioner",
            "reclaimPolicy",
            "volumeBindingMode",
        ] {
            faults.immutable(&Spot::of(field), get(new, field), get(old, field));
        }
    },
    warn: |new, _, out| {
        for (index, topology) in list(new, "allowedTopologies").iter().enumerate() {
            for (at, term) in list(topology, "matchLabelExpressions").iter().enumerate() {
                if let Some(message) = warnings::deprecated_label(text(term, "key")) {
                    out.push(format!(
                        "allowedTopologies[{index}].matchLabelExpressions[{at}].key: {message}"
                    ));
                }
            }
        }
    },
    recheck: Recheck::Around,
    ..PLAIN
};

fn check_class(object: &Value, faults: &mut Faults) {
    let spot = &Spot::of("provisioner");
    match text(object, "provisioner") {
        "" => faults.required(spot, ""),
        name => {
            let name = name.to_lowercase();
            faults.invalid_each(spot, &name, names::qualified_name(&name));
        }
    }
    check_parameters(object, true, faults);
    if let Some(policy) = get(object, "reclaimPolicy")
        .as_str()
        .filter(|p| !p.is_empty())
    {
        faults.one_of(&Spot::of("reclaimPolicy"), policy, &["Delete", "Retain"]);
    }
    let spot = &Spot::of("volumeBindingMode");
    let modes = ["Immediate", "WaitForFirstConsumer"];
    if has(object, "volumeBindingMode") {
        faults.maybe_one_of(spot, get(object, "volumeBindingMode"), &modes);
    } else {
        faults.required(spot, "");
    }
    let spot = &Spot::of("allowedTopologies");
    for (index, topology) in list(object, "allowedTopologies").iter().enumerate() {
        check_topology(topology, &spot.index(index), faults);
    }
}

fn check_topology(topology: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let spot = &spot.child("matchLabelExpressions");
    let terms = list(topology, "matchLabelExpressions");
    for (index, term) in terms.iter().enumerate() {
        let spot = &spot.index(index);
        let at = &spot.child("values");
        let values: Vec<&str> = texts(term, "values").collect();
        if values.is_empty() {
            faults.required(at, "");
        }
        for (index, value) in values.iter().enumerate() {
            if values[..index].contains(value) {
                faults.duplicate(&at.index(index), *value);
            }
        }
        let key = text(term, "key");
        faults.invalid_each(&spot.child("key"), key, names::qualified_name(key));
        if terms[..index].iter().any(|other| text(other, "key") == key) {
            faults.duplicate(&spot.child("key"), key);
        }
    }
}

fn check_parameters(object: &Value, may_be_empty: bool, faults: &mut Faults) {
    let spot = &Spot::of("parameters");
    let count = entries(object, "parameters").count();
    if count > 512 {
        return faults.too_long(spot, 512);
    }
    let mut size = 0;
    for (key, value) in entries(object, "parameters") {
        if key.is_empty() {
            faults.invalid(spot, "", "field can not be empty.");
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > 256 * 1024 {
        faults.too_long(spot, 256 * 1024);
    }
    if !may_be_empty && count == 0 {
        faults.required(spot, "must contain at least one key/value pair");
    }
}

/// What is special about a CSIDriver.
pub(crate) static CSI_DRIVER: Rules = Rules {
    default: |object, _| {
        let spec = map_slot(object, "spec");
        fill(spec, "attachRequired", true);
        fill(spec, "podInfoOnMount", false);
        fill(spec, "storageCapacity", false);
        fill(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
        fill_empty(spec, "volumeLifecycleModes", json!(["Persistent"]));
        fill(spec, "requiresRepublish", false);
        fill(spec, "seLinuxMount", false);
    },
    update: |new, old, _, _| {
        // There is no generation on create, but a change of the spec counts one up.
        if !same(get(new, "spec"), get(old, "spec")) {
            let next = model::meta::generation(old) + 1;
            model::meta::metadata_mut(new).insert("generation".into(), next.into());
        }
    },
    check: |object, faults| check_driver(get(object, "spec"), faults),
    check_update: |new, old, _: Endpoint, faults| {
        let (spec, before) = (get(new, "spec"), get(old, "spec"));
        check_driver(spec, faults);
        let spot = &Spot::of("spec");
        for (field, shown) in [
            ("attachRequired", "attachedRequired"),
            ("volumeLifecycleModes", "volumeLifecycleModes"),
        ] {
            faults.immutable(&spot.child(shown), get(spec, field), get(before, field));
        }
    },
    unconditional: false,
    ..PLAIN
};

fn check_driver(spec: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    faults.maybe_one_of(
        &spot.child("fsGroupPolicy"),
        get(spec, "fsGroupPolicy"),
        &["File", "None", "ReadWriteOnceWithFSType"],
    );
    let mut seen: Vec<&str> = Vec::new();
    for (index, request) in list(spec, "tokenRequests").iter().enumerate() {
        let at = &spot.child("tokenRequests");
        let at = &at.index(index);
        let audience = text(request, "audience");
        if seen.contains(&audience) {
            faults.duplicate(&at.child("audience"), audience);
            continue;
        }
        seen.push(audience);
        let Some(seconds) = int(request, "expirationSeconds") else {
            continue;
        };
        let at = &at.child("expirationSeconds");
        if seconds < 600 {
            let message = "may not specify a duration less than 10 minutes";
            faults.invalid(at, seconds, message);
        }
        if seconds > 1 << 32 {
            let message = "may not specify a duration larger than 2^32 seconds";
            faults.invalid(at, seconds, message);
        }
    }
    for mode in texts(spec, "volumeLifecycleModes") {
        if !matches!(mode, "Persistent" | "Ephemeral") {
            let at = &spot.child("volumeLifecycleModes");
            faults.unsupported(at, mode, &["Persistent", "Ephemeral"]);
        }
    }
    let field = "nodeAllocatableUpdatePeriodSeconds";
    if let Some(seconds) = int(spec, field).filter(|seconds| *seconds < 10) {
        let message = "must be greater than or equal to 10 seconds";
        faults.invalid(&spot.child(field), seconds, message);
    }
    let field = "serviceAccountTokenInSecrets";
    if has(spec, field) && list(spec, "tokenRequests").is_empty() {
        let message = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        faults.invalid(&spot.child(field), get(spec, field).clone(), message);
    }
}

/// What is special about a VolumeAttributesClass.
pub(crate) static ATTRIBUTES_CLASS: Rules = Rules {
    check: |object, faults| {
        let driver = text(object, "driverName");
        volume::check_driver_name(driver, &Spot::of("driverName"), faults);
        check_parameters(object, false, faults);
    },
    check_update: |new, old, _, faults| {
        for field in ["driverName", "parameters"] {
            faults.immutable(&Spot::of(field), get(new, field), get(old, field));
        }
    },
    ..PLAIN
};

/// What is special about a CSINode.
pub(crate) static CSI_NODE: Rules = Rules {
    check: |object, faults| {
        let spot = &Spot::of("spec.drivers");
        for (index, driver) in list(get(object, "spec"), "drivers").iter().enumerate() {
            let spot = &spot.index(index);
            volume::check_driver_name(text(driver, "name"), &spot.child("name"), faults);
            if text(driver, "nodeID").is_empty() {
                faults.required(&spot.child("nodeID"), "");
            }
        }
    },
    unconditional: false,
    recheck: Recheck::AsNew,
    ..PLAIN
};

/// What is special about a CSIStorageCapacity.
pub(crate) static STORAGE_CAPACITY: Rules = Rules {
    check: |object, faults| {
        let class = text(object, "storageClassName");
        let spot = &Spot::of("storageClassName");
        faults.invalid_each(spot, class, names::dns1123_subdomain(class));
    },
    check_update: |new, old, _, faults| {
        for field in ["nodeTopology", "storageClassName"] {
            faults.immutable(&Spot::of(field), get(new, field), get(old, field));
        }
    },
    unconditional: false,
    recheck: Recheck::Around,
    ..PLAIN
};

/// What is special about a VolumeAttachment.
pub(crate) static ATTACHMENT: Rules = Rules {
    check: |object, faults| {
        let spec = get(object, "spec");
        let spot = &Spot::of("spec");
        volume::check_driver_name(text(spec, "attacher"), &spot.child("attacher"), faults);
        let node = text(spec, "nodeName");
        faults.invalid_each(
            &spot.child("nodeName"),
            node,
            names::dns1123_subdomain(node),
        );
    },
    check_update: |new, old, endpoint, faults| {
        if endpoint == Endpoint::Main {
            faults.immutable(&Spot::of("spec"), get(new, "spec"), get(old, "spec"));
        }
    },
    status: Some(r#"{"attached":false}"#),
    status_keeps: Keeps::All,
    unconditional: false,
    recheck: Recheck::AsNew,
    ..PLAIN
};
