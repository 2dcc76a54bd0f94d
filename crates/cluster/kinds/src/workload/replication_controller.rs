//! ReplicationControllers, whose selector is a plain map of labels.

use super::{check_counts, check_forever, check_parts};
use crate::fault::{Faults, Spot};
use crate::fields::{fill, get, has, is_empty, map_slot, number, set, some_mut};
use crate::pod::{defaults, spec, warnings};
use crate::rules::{PLAIN, Rules};
use crate::{Endpoint, ScaleInfo};
use model::{Value, meta};

/// What is special about a ReplicationController.
pub(crate) static REPLICATION_CONTROLLER: Rules = Rules {
    default: |object, _| default(object),
    check: |object, faults| check(get(object, "spec"), faults),
    check_update,
    warn: |new, old, out| {
        if old.is_none() {
            warnings::host_name(new, "Pod names and hostnames", out);
        }
        if old.is_none_or(|old| meta::generation(old) != meta::generation(new)) {
            let old = old.map(|old| get(get(old, "spec"), "template"));
            let spot = &Spot::of("spec.template");
            warnings::template(get(get(new, "spec"), "template"), old, spot, out);
        }
    },
    select: |object| {
        let count = number(get(object, "status"), "replicas");
        vec![("status.replicas", count.to_string())]
    },
    status: Some(r#"{"replicas":0}"#),
    generation: &["spec"],
    scale: Some(ScaleInfo {
        spec_replicas: "/spec/replicas",
        status_replicas: "/status/replicas",
        selector: "/spec/selector",
        selector_is_map: true,
    }),
    ..PLAIN
};

fn default(object: &mut Value) {
    let own = map_slot(object, "spec");
    fill(own, "replicas", 1);
    if let Some(template) = some_mut(own, "template") {
        defaults::template(template);
    }
    let labels = get(get(get(own, "template"), "metadata"), "labels").clone();
    if labels.is_null() {
        return;
    }
    if is_empty(get(own, "selector")) {
        set(own, "selector", labels.clone());
    }
    let metadata = map_slot(object, "metadata");
    if is_empty(get(metadata, "labels")) {
        set(metadata, "labels", labels);
    }
}

fn check(own: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    check_counts(own, &["minReadySeconds"], spot, faults);
    let selector = get(own, "selector");
    if is_empty(selector) {
        faults.required(&spot.child("selector"), "");
    }
    if has(own, "replicas") {
        check_counts(own, &["replicas"], spot, faults);
    } else {
        faults.required(&spot.child("replicas"), "");
    }
    if !has(own, "template") {
        return faults.required(&spot.child("template"), "");
    }
    let template = get(own, "template");
    let labels = get(get(template, "metadata"), "labels");
    let missed = selector
        .as_object()
        .is_some_and(|wanted| wanted.iter().any(|(key, v)| labels.get(key) != Some(v)));
    if missed {
        let message = "`selector` does not match template `labels`";
        faults.invalid(
            &spot.child("template.metadata.labels"),
            labels.clone(),
            message,
        );
    }
    spec::check_template(template, &spot.child("template"), faults);
    check_forever(own, "ReplicationController", spot, faults);
}

fn check_update(new: &Value, _: &Value, endpoint: Endpoint, faults: &mut Faults) {
    if endpoint != Endpoint::Status {
        return check(get(new, "spec"), faults);
    }
    let (status, spot) = (get(new, "status"), &Spot::of("status"));
    let counts = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
    ];
    check_counts(status, &counts, spot, faults);
    let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    check_parts(status, &parts, "readyReplicas", spot, faults);
}
