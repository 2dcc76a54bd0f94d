//! Deployments, and the ReplicaSets they are made of.

use super::{
    SCALE, check_collisions, check_counts, check_forever, check_match, check_parts, check_selector,
    check_share, check_share_max, share_value,
};
use crate::fault::{Faults, Spot};
use crate::fields::{fill, fill_empty, get, has, int, map_slot, number, same, slot, text};
use crate::pod::{defaults, spec, warnings};
use crate::rules::{Keeps, PLAIN, Rules};
use crate::{Endpoint, go, selector};
use model::{Value, meta};

/// What is special about a Deployment.
pub(crate) static DEPLOYMENT: Rules = Rules {
    default: |object, _| default_deployment(slot(object, "spec")),
    check: |object, faults| check(get(object, "spec"), faults),
    check_update,
    warn: |new, old, out| warn(new, old, out),
    status: Some("{}"),
    generation: &["spec", "metadata.annotations"],
    status_keeps: Keeps::Labels,
    scale: Some(SCALE),
    ..PLAIN
};

/// What is special about a ReplicaSet.
pub(crate) static REPLICA_SET: Rules = Rules {
    default: |object, _| {
        let own = map_slot(object, "spec");
        defaults::template(slot(own, "template"));
        fill(own, "replicas", 1);
    },
    check: |object, faults| check_replica_set(get(object, "spec"), faults),
    check_update: check_replica_set_update,
    warn: |new, old, out| warn(new, old, out),
    select: |object| {
        let count = number(get(object, "status"), "replicas");
        vec![("status.replicas", count.to_string())]
    },
    status: Some(r#"{"replicas":0}"#),
    generation: &["spec"],
    scale: Some(SCALE),
    ..PLAIN
};

fn default_deployment(own: &mut Value) {
    defaults::template(map_slot(own, "template"));
    fill(own, "replicas", 1);
    let strategy = map_slot(own, "strategy");
    fill_empty(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = map_slot(strategy, "rollingUpdate");
        fill(rolling, "maxUnavailable", "25%");
        fill(rolling, "maxSurge", "25%");
    }
    fill(own, "revisionHistoryLimit", 10);
    fill(own, "progressDeadlineSeconds", 600);
}

/// Warns about the template, when it is new, and about the name of a new object.
fn warn(new: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    if old.is_none() {
        warnings::host_name(new, "Pod names and hostnames", out);
    }
    if old.is_none_or(|old| meta::generation(old) != meta::generation(new)) {
        let old = old.map(|old| get(get(old, "spec"), "template"));
        let spot = &Spot::of("spec.template");
        warnings::template(get(get(new, "spec"), "template"), old, spot, out);
    }
}

fn check_template(own: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let chosen = get(own, "selector");
    if selector::matches(chosen, get(own, "template")).is_none() {
        let shown = selector::show(chosen);
        return faults.invalid_shown(&spot.child("selector"), &shown, "invalid label selector");
    }
    check_match(own, spot, faults);
    spec::check_template(get(own, "template"), &spot.child("template"), faults);
    check_forever(own, "ReplicaSet", spot, faults);
}

fn check(own: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    check_counts(own, &["replicas"], spot, faults);
    check_selector(own, "deployment", spot, faults);
    check_template(own, spot, faults);
    check_strategy(get(own, "strategy"), &spot.child("strategy"), faults);
    check_counts(
        own,
        &["minReadySeconds", "revisionHistoryLimit"],
        spot,
        faults,
    );
    if let Some(deadline) = int(own, "progressDeadlineSeconds") {
        let at = &spot.child("progressDeadlineSeconds");
        faults.non_negative(at, deadline);
        if deadline <= number(own, "minReadySeconds") {
            faults.invalid(at, deadline, "must be greater than minReadySeconds");
        }
    }
}

fn check_strategy(strategy: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("rollingUpdate");
    match text(strategy, "type") {
        "Recreate" => {
            if has(strategy, "rollingUpdate") {
                let message = "may not be specified when strategy `type` is 'Recreate'";
                faults.forbidden(at, message);
            }
        }
        "RollingUpdate" => check_rolling(get(strategy, "rollingUpdate"), at, faults),
        _ => {
            let shown = go::show("DeploymentStrategy", strategy);
            let detail = "supported values: \"Recreate\", \"RollingUpdate\"";
            faults.push(model::FieldError {
                kind: model::FieldErrorKind::NotSupported,
                field: spot.path().to_string(),
                detail: Some(detail.into()),
                value: Some(shown),
            });
        }
    }
}

fn check_rolling(rolling: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (away, extra) = (get(rolling, "maxUnavailable"), get(rolling, "maxSurge"));
    check_share(away, &spot.child("maxUnavailable"), faults);
    check_share(extra, &spot.child("maxSurge"), faults);
    if share_value(away) == 0 && share_value(extra) == 0 {
        let message = "may not be 0 when `maxSurge` is 0";
        faults.invalid(&spot.child("maxUnavailable"), away.clone(), message);
    }
    check_share_max(away, &spot.child("maxUnavailable"), faults);
}

fn check_update(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    if endpoint == Endpoint::Status {
        return check_status(new, old, faults);
    }
    check(get(new, "spec"), faults);
    keep_selector(new, old, faults);
}

/// Finds a changed selector.
pub(super) fn keep_selector(new: &Value, old: &Value, faults: &mut Faults) {
    let (now, before) = (
        get(get(new, "spec"), "selector"),
        get(get(old, "spec"), "selector"),
    );
    if !same(now, before) {
        let spot = &Spot::of("spec.selector");
        faults.invalid_shown(spot, &selector::show(now), "field is immutable");
    }
}

fn check_status(new: &Value, old: &Value, faults: &mut Faults) {
    let (status, spot) = (get(new, "status"), &Spot::of("status"));
    let counts = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    check_counts(status, &counts, spot, faults);
    let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    check_parts(status, &parts, "readyReplicas", spot, faults);
    check_collisions(new, old, spot, faults);
}

fn check_replica_set(own: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    check_counts(own, &["replicas", "minReadySeconds"], spot, faults);
    check_selector(own, "deployment", spot, faults);
    check_template(own, spot, faults);
}

fn check_replica_set_update(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    if endpoint == Endpoint::Status {
        let (status, spot) = (get(new, "status"), &Spot::of("status"));
        let counts = [
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "observedGeneration",
            "terminatingReplicas",
        ];
        check_counts(status, &counts, spot, faults);
        let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
        return check_parts(status, &parts, "readyReplicas", spot, faults);
    }
    check_replica_set(get(new, "spec"), faults);
    keep_selector(new, old, faults);
}
