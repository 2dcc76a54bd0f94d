//! Deployments, ReplicaSets, DaemonSets, StatefulSets and ReplicationControllers.

mod daemon_set;
mod deployment;
mod replication_controller;
mod stateful_set;

pub(crate) use daemon_set::DAEMON_SET;
pub(crate) use deployment::{DEPLOYMENT, REPLICA_SET};
pub(crate) use replication_controller::REPLICATION_CONTROLLER;
pub(crate) use stateful_set::STATEFUL_SET;

use crate::fault::{Faults, Spot};
use crate::fields::{get, has, int, number, text};
use crate::{ScaleInfo, selector, syntax};
use model::Value;

/// Where workloads with a `LabelSelector` keep what their scale endpoint shows.
pub(crate) const SCALE: ScaleInfo = ScaleInfo {
    spec_replicas: "/spec/replicas",
    status_replicas: "/status/replicas",
    selector: "/spec/selector",
    selector_is_map: false,
};

/// Finds the faults of a required selector; `kind` is the word of the message.
fn check_selector(spec: &Value, kind: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("selector");
    if !has(spec, "selector") {
        return faults.required(at, "");
    }
    let own = get(spec, "selector");
    selector::check(own, at, faults);
    if selector::is_empty(own) {
        let message = format!("empty selector is invalid for {kind}");
        faults.invalid_shown(at, &selector::show(own), &message);
    }
}

/// Finds whether a selector leaves out the template's own labels.
pub(crate) fn check_match(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let template = get(spec, "template");
    if selector::matches(get(spec, "selector"), template) == Some(false) {
        let labels = get(get(template, "metadata"), "labels").clone();
        let message = "`selector` does not match template `labels`";
        faults.invalid(&spot.child("template.metadata.labels"), labels, message);
    }
}

/// Finds a restart policy or deadline that a workload cannot have.
fn check_forever(spec: &Value, kind: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let pod = get(get(spec, "template"), "spec");
    let policy = text(pod, "restartPolicy");
    if policy != "Always" {
        let at = &spot.child("template.spec.restartPolicy");
        faults.unsupported(at, policy, &["Always"]);
    }
    if has(pod, "activeDeadlineSeconds") {
        let at = &spot.child("template.spec.activeDeadlineSeconds");
        let message = format!("activeDeadlineSeconds in {kind} is not Supported");
        faults.forbidden(at, &message);
    }
}

/// Finds the faults of a number of pods or a percentage of them.
pub(crate) fn check_share(value: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    match value.as_str() {
        Some(share) => faults.invalid_each(spot, share, syntax::percent(share)),
        None => faults.non_negative(spot, value.as_i64().unwrap_or(0)),
    }
}

fn percent_of(value: &Value) -> Option<i64> {
    let share = value.as_str().filter(|s| syntax::percent(s).is_empty())?;
    share.strip_suffix('%')?.parse().ok()
}

/// The number in a number of pods or in a percentage of them.
fn share_value(value: &Value) -> i64 {
    let plain = || value.as_str().and_then(|s| s.parse().ok());
    percent_of(value)
        .or_else(|| value.as_i64())
        .or_else(plain)
        .unwrap_or(0)
}

/// Finds a percentage above 100.
pub(crate) fn check_share_max(value: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if percent_of(value).is_some_and(|percent| percent > 100) {
        faults.invalid(spot, value.clone(), "must not be greater than 100%");
    }
}

fn check_counts(owner: &Value, fields: &[&str], spot: &Spot<'_>, faults: &mut Faults) {
    for field in fields {
        faults.non_negative(&spot.child(field), number(owner, field));
    }
}

/// Finds counts that are larger than the count they are part of.
fn check_parts(status: &Value, parts: &[&str], ready: &str, spot: &Spot<'_>, faults: &mut Faults) {
    for field in parts {
        let count = number(status, field);
        if count > number(status, "replicas") {
            let message = "cannot be greater than status.replicas";
            faults.invalid(&spot.child(field), count, message);
        }
    }
    let available = number(status, "availableReplicas");
    if available > number(status, "readyReplicas") {
        let message = format!("cannot be greater than {ready}");
        faults.invalid(&spot.child("availableReplicas"), available, &message);
    }
}

fn check_collisions(new: &Value, old: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (now, before) = (
        int(get(new, "status"), "collisionCount"),
        int(get(old, "status"), "collisionCount"),
    );
    if before.is_some_and(|before| now.is_none_or(|now| now < before)) {
        let at = &spot.child("collisionCount");
        faults.invalid(at, now.unwrap_or(0), "cannot be decremented");
    }
}
