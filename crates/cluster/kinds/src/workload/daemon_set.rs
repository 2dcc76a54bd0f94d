//! DaemonSets: one pod per node, and a counter of templates in an annotation.

use super::deployment::keep_selector;
use super::{
    check_collisions, check_counts, check_forever, check_match, check_share, check_share_max,
    share_value,
};
use crate::fault::{Faults, Spot};
use crate::fields::{fill, fill_empty, get, has, map_slot, same, set, slot, text};
use crate::pod::{defaults, spec, warnings};
use crate::rules::{PLAIN, Rules};
use crate::{Endpoint, Fresh, go, selector};
use model::{Value, meta};

const COUNTER: &str = "deprecated.daemonset.template.generation";

/// What is special about a DaemonSet.
pub(crate) static DAEMON_SET: Rules = Rules {
    default: |object, _| {
        default(slot(object, "spec"));
        // The versioned form always shows the counter, so whoever writes comes to own it.
        if meta::annotation(object, COUNTER).is_none() {
            set_counter(object, 0);
        }
    },
    create: |object, _| {
        let count = counter(object).max(1);
        set_counter(object, count);
    },
    update,
    check: |object, faults| check(get(object, "spec"), faults),
    check_update,
    warn: |new, old, out| {
        if old.is_none_or(|old| counter(old) != counter(new)) {
            let old = old.map(|old| get(get(old, "spec"), "template"));
            let spot = &Spot::of("spec.template");
            warnings::template(get(get(new, "spec"), "template"), old, spot, out);
        }
    },
    status: Some(
        r#"{"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0}"#,
    ),
    generation: &["spec"],
    ..PLAIN
};

fn counter(object: &Value) -> i64 {
    meta::annotation(object, COUNTER)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

fn set_counter(object: &mut Value, count: i64) {
    let annotations = map_slot(map_slot(object, "metadata"), "annotations");
    set(annotations, COUNTER, count.to_string());
}

fn update(new: &mut Value, old: &Value, endpoint: Endpoint, _: &Fresh<'_>) {
    let template = |object: &Value| get(get(object, "spec"), "template").clone();
    let moved = endpoint == Endpoint::Main && !same(&template(new), &template(old));
    set_counter(new, counter(old) + i64::from(moved));
}

fn default(own: &mut Value) {
    defaults::template(map_slot(own, "template"));
    let strategy = map_slot(own, "updateStrategy");
    fill_empty(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = map_slot(strategy, "rollingUpdate");
        fill(rolling, "maxUnavailable", 1);
        fill(rolling, "maxSurge", 0);
    }
    fill(own, "revisionHistoryLimit", 10);
}

fn check(own: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    let chosen = get(own, "selector");
    selector::check(chosen, &spot.child("selector"), faults);
    check_match(own, spot, faults);
    if has(own, "selector") && selector::is_empty(chosen) {
        let message = "empty selector is invalid for daemonset";
        faults.invalid_shown(&spot.child("selector"), &selector::show(chosen), message);
    }
    spec::check_template(get(own, "template"), &spot.child("template"), faults);
    check_forever(own, "DaemonSet", spot, faults);
    check_counts(own, &["minReadySeconds"], spot, faults);
    check_strategy(
        get(own, "updateStrategy"),
        &spot.child("updateStrategy"),
        faults,
    );
    check_counts(own, &["revisionHistoryLimit"], spot, faults);
}

fn check_strategy(strategy: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("rollingUpdate");
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" if !has(strategy, "rollingUpdate") => faults.required(at, ""),
        "RollingUpdate" => check_rolling(get(strategy, "rollingUpdate"), at, faults),
        _ => faults.push(model::FieldError {
            kind: model::FieldErrorKind::NotSupported,
            field: spot.path().to_string(),
            detail: Some("supported values: \"RollingUpdate\", \"OnDelete\"".into()),
            value: Some(go::show("DaemonSetUpdateStrategy", strategy)),
        }),
    }
}

fn check_rolling(rolling: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (away, extra) = (get(rolling, "maxUnavailable"), get(rolling, "maxSurge"));
    let (at_away, at_extra) = (&spot.child("maxUnavailable"), &spot.child("maxSurge"));
    check_share(away, at_away, faults);
    check_share(extra, at_extra, faults);
    check_share_max(away, at_away, faults);
    check_share_max(extra, at_extra, faults);
    match (share_value(away) != 0, share_value(extra) != 0) {
        (true, true) => {
            let message = "may not be set when maxUnavailable is non-zero";
            faults.invalid(at_extra, extra.clone(), message);
        }
        (false, false) => faults.required(at_away, "cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}

fn check_update(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    if endpoint == Endpoint::Status {
        let spot = &Spot::of("status");
        let counts = [
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ];
        check_counts(get(new, "status"), &counts, spot, faults);
        return check_collisions(new, old, spot, faults);
    }
    keep_selector(new, old, faults);
    check(get(new, "spec"), faults);
}
