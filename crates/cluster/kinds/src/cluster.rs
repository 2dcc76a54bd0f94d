//! Namespaces and Nodes.

use crate::fault::{Faults, Spot};
use crate::fields::{
    carry, entries, fill, fill_empty, flag, get, has, is_empty, list, map_slot, set, slot,
    some_mut, text, texts,
};
use crate::pod::schedule;
use crate::rules::{Name, PLAIN, Recheck, Rules};
use crate::{Endpoint, Fresh, go, metadata, resources, syntax};
use model::{FieldError, FieldErrorKind, Value, json, meta, names};

const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// What is special about a Namespace.
pub(crate) static NAMESPACE: Rules = Rules {
    default: |object, _| default_namespace(object),
    create: |object, _| {
        let finalizers = slot(map_slot(object, "spec"), "finalizers");
        let kept = finalizers
            .as_array()
            .is_some_and(|list| list.iter().any(|f| f == "kubernetes"));
        match finalizers.as_array_mut() {
            _ if kept => {}
            Some(list) => list.push("kubernetes".into()),
            None => *finalizers = json!(["kubernetes"]),
        }
        label(object);
    },
    update: |new, old, endpoint, _: &Fresh<'_>| {
        match endpoint {
            Endpoint::Main => {
                let before = get(old, "spec");
                carry(map_slot(new, "spec"), before, "finalizers");
            }
            Endpoint::Finalize => carry(new, old, "status"),
            _ => {}
        }
        label(new);
    },
    check: |object, faults| check_finalizers(object, false, faults),
    check_update: |new, _, endpoint, faults| match endpoint {
        Endpoint::Status => check_phase(new, faults),
        Endpoint::Finalize => check_finalizers(new, true, faults),
        _ => check_finalizers(new, false, faults),
    },
    select: |object| {
        let phase = text(get(object, "status"), "phase");
        vec![
            ("status.phase", phase.into()),
            // The name can be asked for in this old way, too.
            ("name", meta::name(object).into()),
        ]
    },
    name: Name::Label,
    status: Some(r#"{"phase":"Active"}"#),
    recheck: Recheck::Around,
    ..PLAIN
};

fn default_namespace(object: &mut Value) {
    label(object);
    fill_empty(map_slot(object, "status"), "phase", "Active");
}

fn label(object: &mut Value) {
    let name = meta::name(object).to_owned();
    if !name.is_empty() {
        let labels = map_slot(map_slot(object, "metadata"), "labels");
        set(labels, NAME_LABEL, name);
    }
}

fn check_finalizers(object: &Value, indexed: bool, faults: &mut Faults) {
    let spot = Spot::of("spec.finalizers");
    for (index, finalizer) in texts(get(object, "spec"), "finalizers").enumerate() {
        let at = if indexed { spot.index(index) } else { spot };
        faults.invalid_each(&at, finalizer, names::qualified_name(finalizer));
        metadata::check_kube_finalizer(finalizer, &at, faults);
    }
}

fn check_phase(new: &Value, faults: &mut Faults) {
    let (wanted, when) = if meta::deletion_timestamp(new).is_some() {
        ("Terminating", "is not empty")
    } else {
        ("Active", "is empty")
    };
    let phase = text(get(new, "status"), "phase");
    if phase != wanted {
        let message = format!("may only be '{wanted}' if `deletionTimestamp` {when}");
        faults.invalid(&Spot::of("status.Phase"), phase, &message);
    }
}

/// What is special about a Node.
pub(crate) static NODE: Rules = Rules {
    default: |object, _| default_node(object),
    check: check_node,
    check_update: check_node_update,
    warn: |new, _, out| {
        let spec = get(new, "spec");
        if has(spec, "configSource") {
            out.push("spec.configSource: the feature is removed".into());
        }
        if !text(spec, "externalID").is_empty() {
            out.push(
                "spec.externalID: this field is deprecated, and is unused by Kubernetes".into(),
            );
        }
    },
    select: |object| {
        let closed = flag(get(object, "spec"), "unschedulable");
        vec![("spec.unschedulable", closed.to_string())]
    },
    keeps_new_status: true,
    status: Some("{}"),
    recheck: Recheck::Around,
    ..PLAIN
};

fn default_node(object: &mut Value) {
    let spec = map_slot(object, "spec");
    let range = text(spec, "podCIDR").to_owned();
    let first = texts(spec, "podCIDRs").next().map(str::to_owned);
    match first {
        Some(first) if range.is_empty() => set(spec, "podCIDR", first),
        Some(first) if range != first => set(spec, "podCIDRs", json!([range])),
        None if !range.is_empty() => set(spec, "podCIDRs", json!([range])),
        _ => {}
    }
    let Some(status) = some_mut(object, "status") else {
        return;
    };
    resources::round(status, "capacity");
    resources::round(status, "allocatable");
    let capacity = get(status, "capacity").clone();
    if !capacity.is_null() {
        fill(status, "allocatable", capacity);
    }
}

fn check_node(object: &Value, faults: &mut Faults) {
    check_taints(object, faults);
    check_amounts(object, faults);
    let spec = get(object, "spec");
    let spot = &Spot::of("spec.podCIDRs");
    for (index, range) in texts(spec, "podCIDRs").enumerate() {
        syntax::check_cidr(range, &[], &spot.index(index), faults);
    }
    let ranges: Vec<_> = texts(spec, "podCIDRs")
        .filter_map(syntax::Network::parse)
        .collect();
    let mixed = ranges.iter().any(|r| r.base.is_ipv4()) && ranges.iter().any(|r| r.base.is_ipv6());
    let count = list(spec, "podCIDRs").len();
    if count > 1 && (!mixed || count > 2) {
        let message = "may specify no more than one CIDR for each IP family";
        faults.invalid(spot, get(spec, "podCIDRs").clone(), message);
    }
}

fn check_taints(object: &Value, faults: &mut Faults) {
    let spot = &Spot::of("metadata.taints");
    let taints = list(get(object, "spec"), "taints");
    for (index, taint) in taints.iter().enumerate() {
        let spot = &spot.index(index);
        let (key, value) = (text(taint, "key"), text(taint, "value"));
        faults.invalid_each(&spot.child("key"), key, names::qualified_name(key));
        let found = names::label_value(value);
        if !found.is_empty() {
            faults.invalid(&spot.child("value"), value, &found.join(";"));
        }
        let effect = text(taint, "effect");
        schedule::check_effect(effect, &spot.child("effect"), faults);
        let again = taints[..index]
            .iter()
            .any(|t| text(t, "key") == key && text(t, "effect") == effect);
        if again {
            let shown = go::show("Taint", taint);
            faults.push(FieldError {
                kind: FieldErrorKind::Duplicate,
                field: spot.path().to_string(),
                detail: Some("taints must be unique by key and effect pair".into()),
                value: Some(shown),
            });
        }
    }
}

fn check_amounts(object: &Value, faults: &mut Faults) {
    let spot = &Spot::of("status");
    for field in ["capacity", "allocatable"] {
        for (name, amount) in entries(get(object, "status"), field) {
            let at = &spot.child(field);
            resources::check_amount(name, amount, &at.child(name), faults);
        }
    }
}

fn check_node_update(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    if endpoint == Endpoint::Main {
        check_node(new, faults);
    }
    check_amounts(new, faults);
    let addresses = list(get(new, "status"), "addresses");
    for (index, address) in addresses.iter().enumerate() {
        if addresses[..index].contains(address) {
            let spot = Spot::of("status.addresses");
            let shown = go::show("NodeAddress", address);
            faults.push(FieldError {
                kind: FieldErrorKind::Duplicate,
                field: spot.index(index).path().to_string(),
                detail: None,
                value: Some(shown),
            });
        }
    }
    let (spec, before) = (get(new, "spec"), get(old, "spec"));
    let spot = &Spot::of("spec");
    if !is_empty(get(before, "podCIDRs")) && get(spec, "podCIDRs") != get(before, "podCIDRs") {
        let message = "node updates may not change podCIDR except from \"\" to valid";
        faults.forbidden(&spot.child("podCIDRs"), message);
    }
    let known = text(before, "providerID");
    if !known.is_empty() && text(spec, "providerID") != known {
        let message = "node updates may not change providerID except from \"\" to valid";
        faults.forbidden(&spot.child("providerID"), message);
    }
    if has(spec, "taints") {
        check_taints(new, faults);
    }
}
