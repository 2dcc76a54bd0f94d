//! Pods and pod templates: defaults, checks, and what an update of a running pod may change.

pub(crate) mod annotations;
pub(crate) mod container;
pub(crate) mod defaults;
mod env;
pub(crate) mod image;
mod mount;
pub(crate) mod probe;
mod qos;
pub(crate) mod schedule;
mod security;
pub(crate) mod spec;
mod update;
pub(crate) mod volume;
pub(crate) mod warnings;

use crate::fault::{Faults, Spot};
use crate::fields::{
    at, carry, flag, get, items_mut, list, map_slot, number, set, slot, some_mut, text,
};
use crate::rules::{Keeps, PLAIN, Recheck, Rules};
use crate::{Endpoint, Fresh};
use model::{Map, Value, json, meta};

/// What is special about a Pod.
pub(crate) static POD: Rules = Rules {
    default: |object, _| defaults::pod(object),
    create,
    update: prepare_update,
    check,
    check_update: update::check,
    warn: |new, old, out| warnings::pod(new, old, out),
    select,
    status: Some(r#"{"phase":"Pending"}"#),
    generation: &["spec"],
    status_keeps: Keeps::Owners,
    recheck: Recheck::Both,
    ..PLAIN
};

/// What is special about a PodTemplate.
pub(crate) static POD_TEMPLATE: Rules = Rules {
    default: |object, _| defaults::template(slot(object, "template")),
    check: |object, faults| {
        spec::check_template(get(object, "template"), &Spot::of("template"), faults);
    },
    check_update: |new, _, _, faults| {
        spec::check_template(get(new, "template"), &Spot::of("template"), faults);
    },
    warn: |new, old, out| {
        let old = old.map(|old| get(old, "template"));
        warnings::template(get(new, "template"), old, &Spot::of("template"), out);
    },
    generation: &["template"],
    ..PLAIN
};

fn create(pod: &mut Value, fresh: &Fresh<'_>) {
    let class = qos::class(get(pod, "spec"));
    let status = map_slot(pod, "status");
    set(status, "qosClass", class);
    if !list(get(pod, "spec"), "schedulingGates").is_empty() {
        let blocked = json!([{
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": null,
            "lastTransitionTime": fresh.now.rfc3339(),
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
        set(map_slot(pod, "status"), "conditions", blocked);
    }
    let labels = meta::labels(pod).cloned().unwrap_or_default();
    let body = map_slot(pod, "spec");
    bind_label_keys(body, &labels);
}

// `matchLabelKeys` become part of the selectors once, when the pod is made.
fn bind_label_keys(spec: &mut Value, labels: &Map<String, Value>) {
    if let Some(affinity) = some_mut(spec, "affinity") {
        for side in ["podAffinity", "podAntiAffinity"] {
            let Some(side) = some_mut(affinity, side) else {
                continue;
            };
            let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
            for weighted in items_mut(side, preferred) {
                bind_term(slot(weighted, "podAffinityTerm"), labels);
            }
            let required = "requiredDuringSchedulingIgnoredDuringExecution";
            for term in items_mut(side, required) {
                bind_term(term, labels);
            }
        }
    }
    for constraint in items_mut(spec, "topologySpreadConstraints") {
        bind_term(constraint, labels);
    }
}

fn bind_term(term: &mut Value, labels: &Map<String, Value>) {
    if get(term, "labelSelector").is_null() {
        return;
    }
    let mut added = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in crate::fields::texts(term, field) {
            if let Some(value) = labels.get(key) {
                added.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if added.is_empty() {
        return;
    }
    let expressions = slot(slot(term, "labelSelector"), "matchExpressions");
    match expressions.as_array_mut() {
        Some(list) => list.extend(added),
        None => *expressions = added.into(),
    }
}

fn prepare_update(new: &mut Value, old: &Value, endpoint: Endpoint, _: &Fresh<'_>) {
    match endpoint {
        Endpoint::Status => keep_status_facts(new, old),
        Endpoint::Ephemeral => {
            let wanted = get(get(new, "spec"), "ephemeralContainers").clone();
            keep_all(new, old);
            if wanted.is_null() {
                crate::fields::unset(map_slot(new, "spec"), "ephemeralContainers");
            } else {
                set(map_slot(new, "spec"), "ephemeralContainers", wanted);
            }
        }
        Endpoint::Resize => keep_but_resources(new, old),
        _ => {}
    }
}

fn keep_status_facts(new: &mut Value, old: &Value) {
    let before = get(old, "status");
    let status = map_slot(new, "status");
    if text(status, "qosClass").is_empty() {
        carry(status, before, "qosClass");
    }
    if number(status, "observedGeneration") == 0 {
        carry(status, before, "observedGeneration");
    }
    for condition in items_mut(status, "conditions") {
        let kind = text(condition, "type").to_owned();
        let seen = list(before, "conditions")
            .iter()
            .find(|c| text(c, "type") == kind)
            .map_or(0, |c| number(c, "observedGeneration"));
        if number(condition, "observedGeneration") == 0 && seen != 0 {
            set(condition, "observedGeneration", seen);
        }
    }
}

fn keep_all(new: &mut Value, old: &Value) {
    carry(new, old, "spec");
    carry(new, old, "status");
    crate::keep_metadata(new, old, Keeps::All);
}

fn keep_but_resources(new: &mut Value, old: &Value) {
    let counts = |pod: &Value| {
        ["containers", "initContainers"].map(|field| list(get(pod, "spec"), field).len())
    };
    if counts(new) != counts(old) {
        return;
    }
    let wanted = get(new, "spec").clone();
    keep_all(new, old);
    let spec = map_slot(new, "spec");
    carry(spec, &wanted, "resources");
    for field in ["containers", "initContainers"] {
        for (index, container) in items_mut(spec, field).enumerate() {
            let Some(asked) = list(&wanted, field).get(index) else {
                continue;
            };
            if text(asked, "name") == text(container, "name") {
                carry(container, asked, "resources");
                carry(container, asked, "resizePolicy");
            }
        }
    }
}

fn check(pod: &Value, faults: &mut Faults) {
    check_all(pod, faults);
    let spot = &Spot::of("spec");
    let body = get(pod, "spec");
    if !list(body, "ephemeralContainers").is_empty() {
        faults.forbidden(
            &spot.child("ephemeralContainers"),
            "cannot be set on create",
        );
    }
    if !text(body, "nodeName").is_empty() && !list(body, "schedulingGates").is_empty() {
        let message = "cannot be set until all schedulingGates have been cleared";
        faults.forbidden(&spot.child("nodeName"), message);
    }
    annotations::check_against_fields(pod, spot, faults);
}

/// Finds the faults that creates and updates of pods share.
fn check_all(pod: &Value, faults: &mut Faults) {
    annotations::check(pod, &Spot::of("metadata.annotations"), faults);
    let spot = &Spot::of("spec");
    let body = get(pod, "spec");
    spec::check(body, Some(meta::name(pod)), spot, faults);
    if text(body, "serviceAccountName").is_empty() {
        check_tokens(body, spot, faults);
    }
    for field in ["containers", "initContainers"] {
        for (index, item) in list(body, field).iter().enumerate() {
            let at = &spot.child(field);
            container::check_image_padding(item, &at.index(index), faults);
        }
    }
}

fn check_tokens(body: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for (index, volume) in list(body, "volumes").iter().enumerate() {
        for (source, item) in list(get(volume, "projected"), "sources").iter().enumerate() {
            if get(item, "serviceAccountToken").is_null() {
                continue;
            }
            let at = &spot.child("volumes");
            let at = &at.index(index);
            let at = &at.child("projected.sources");
            let at = &at.index(source);
            let message = "must not be specified when serviceAccountName is not set";
            faults.forbidden(&at.child("serviceAccountToken"), message);
        }
    }
}

fn select(pod: &Value) -> Vec<(&'static str, String)> {
    let (spec, status) = (get(pod, "spec"), get(pod, "status"));
    let ip = match text(status, "podIP") {
        "" => at(status, &["podIPs"])
            .get(0)
            .map_or("", |ip| text(ip, "ip")),
        ip => ip,
    };
    vec![
        ("spec.nodeName", text(spec, "nodeName").into()),
        ("spec.restartPolicy", text(spec, "restartPolicy").into()),
        ("spec.schedulerName", text(spec, "schedulerName").into()),
        (
            "spec.serviceAccountName",
            text(spec, "serviceAccountName").into(),
        ),
        ("spec.hostNetwork", flag(spec, "hostNetwork").to_string()),
        ("status.phase", text(status, "phase").into()),
        ("status.podIP", ip.into()),
        (
            "status.nominatedNodeName",
            text(status, "nominatedNodeName").into(),
        ),
    ]
}
