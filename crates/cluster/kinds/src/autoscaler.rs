//! HorizontalPodAutoscalers, in both their versions, and the way between them.

mod convert;

pub(crate) use convert::convert;

use crate::fault::{Faults, Spot};
use crate::fields::{
    carry, fill, get, has, int, is_empty, list, map_slot, number, set, slot, some_mut, text,
};
use crate::rules::{PLAIN, Rules, segment};
use crate::{Endpoint, Fresh};
use model::{GroupVersion, Quantity, Value, json, names};

/// What is special about a HorizontalPodAutoscaler of version 2, the one that is checked.
pub(crate) static AUTOSCALER: Rules = Rules {
    default: |object, version| {
        if version == "v1" {
            let spec = map_slot(object, "spec");
            fill(spec, "minReplicas", 1);
            convert::default_target(object);
        } else {
            default(slot(object, "spec"));
        }
    },
    check: |object, faults| check(&newest(object), faults),
    check_update: |new, _, endpoint, faults| {
        if endpoint == Endpoint::Status {
            let spot = &Spot::of("status");
            for field in ["currentReplicas", "desiredReplicas"] {
                let count = number(get(new, "status"), field);
                faults.non_negative(&spot.child(field), count);
            }
        } else {
            check(&newest(new), faults);
        }
    },
    update: |new, old, endpoint, _: &Fresh<'_>| {
        if endpoint == Endpoint::Main {
            carry(new, old, "status");
        }
    },
    status: Some(r#"{"currentMetrics":null,"desiredReplicas":0}"#),
    ..PLAIN
};

/// The status of a new autoscaler of version 1.
pub(crate) const OLD_STATUS: &str = r#"{"currentReplicas":0,"desiredReplicas":0}"#;

// The spec as version 2 writes it, whatever version the object is in.
fn newest(object: &Value) -> Value {
    let mut copy = object.clone();
    if text(object, "apiVersion") == "autoscaling/v1" {
        convert::to_v2(&mut copy);
    }
    copy
}

fn default(spec: &mut Value) {
    fill(spec, "minReplicas", 1);
    if list(spec, "metrics").is_empty() {
        set(spec, "metrics", json!([convert::cpu_metric(80)]));
    }
    let Some(behavior) = some_mut(spec, "behavior") else {
        return;
    };
    let up = map_slot(behavior, "scaleUp");
    fill(up, "stabilizationWindowSeconds", 0);
    fill(up, "selectPolicy", "Max");
    fill(
        up,
        "policies",
        json!([
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ]),
    );
    let down = map_slot(behavior, "scaleDown");
    fill(down, "selectPolicy", "Max");
    fill(
        down,
        "policies",
        json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]),
    );
}

fn check(object: &Value, faults: &mut Faults) {
    let spec = get(object, "spec");
    let spot = &Spot::of("spec");
    let low = int(spec, "minReplicas");
    if let Some(low) = low.filter(|low| *low < 1) {
        let message = "must be greater than or equal to 1";
        faults.invalid(&spot.child("minReplicas"), low, message);
    }
    let high = number(spec, "maxReplicas");
    let at = &spot.child("maxReplicas");
    if high == 0 {
        faults.required(at, "must be set and greater than 0");
    } else if high < 0 {
        faults.invalid(at, high, "must be greater than or equal to 1");
    }
    if low.is_some_and(|low| high < low) {
        faults.invalid(at, high, "must be greater than or equal to `minReplicas`");
    }
    let at = &spot.child("scaleTargetRef");
    check_target(get(spec, "scaleTargetRef"), at, faults);
    for (index, metric) in list(spec, "metrics").iter().enumerate() {
        let at = &spot.child("metrics");
        check_metric(metric, &at.index(index), faults);
    }
    let outside = list(spec, "metrics")
        .iter()
        .any(|metric| matches!(text(metric, "type"), "Object" | "External"));
    if low == Some(0) && !outside {
        let message = "must specify at least one Object or External metric to support scaling to \
             zero replicas";
        faults.forbidden(&spot.child("metrics"), message);
    }
    let behavior = get(spec, "behavior");
    for field in ["scaleUp", "scaleDown"] {
        if has(behavior, field) {
            let at = &spot.child("behavior");
            check_rules(get(behavior, field), &at.child(field), faults);
        }
    }
}

fn check_target(target: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for field in ["kind", "name"] {
        match text(target, field) {
            "" => faults.required(&spot.child(field), ""),
            value => faults.invalid_each(&spot.child(field), value, segment(value, false)),
        }
    }
    let version = text(target, "apiVersion");
    let at = &spot.child("apiVersion");
    match GroupVersion::parse(version) {
        None => {
            let message = format!("unexpected GroupVersion string: {version}");
            faults.invalid(at, version, &message);
        }
        Some(parsed) if parsed.group.is_empty() && !known_core(target) => {
            faults.invalid(at, version, "apiVersion must specify API group");
        }
        Some(_) => {}
    }
}

// ReplicationControllers are in the group without a name.
fn known_core(target: &Value) -> bool {
    text(target, "kind") == "ReplicationController"
}

fn check_rules(rules: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if let Some(seconds) = int(rules, "stabilizationWindowSeconds") {
        let at = &spot.child("stabilizationWindowSeconds");
        if seconds < 0 {
            faults.invalid(at, seconds, "must be greater than or equal to zero");
        }
        if seconds > 3600 {
            faults.invalid(at, seconds, "must be less than or equal to 3600");
        }
    }
    faults.maybe_one_of(
        &spot.child("selectPolicy"),
        get(rules, "selectPolicy"),
        &["Disabled", "Max", "Min"],
    );
    let at = &spot.child("policies");
    if list(rules, "policies").is_empty() {
        faults.required(at, "must specify at least one Policy");
    }
    for (index, policy) in list(rules, "policies").iter().enumerate() {
        let at = &at.index(index);
        let kind = text(policy, "type");
        if !matches!(kind, "Pods" | "Percent") {
            faults.unsupported(&at.child("type"), kind, &["Percent", "Pods"]);
        }
        for field in ["value", "periodSeconds"] {
            let value = number(policy, field);
            if value <= 0 {
                faults.invalid(&at.child(field), value, "must be greater than zero");
            }
        }
        let period = number(policy, "periodSeconds");
        if period > 1800 {
            let message = "must be less than or equal to 1800";
            faults.invalid(&at.child("periodSeconds"), period, message);
        }
    }
    let tolerance = Quantity::from_json(get(rules, "tolerance"));
    if let Some(tolerance) = tolerance.filter(|t| t.is_negative()) {
        let message = "must be greater than or equal to 0";
        faults.invalid(&spot.child("tolerance"), tolerance.to_string(), message);
    }
}

const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const TYPES: [&str; 5] = [
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];

fn check_metric(metric: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let kind = text(metric, "type");
    let at = &spot.child("type");
    if kind.is_empty() {
        faults.required(at, "must specify a metric source type");
    }
    if !TYPES.contains(&kind) {
        faults.unsupported(at, kind, &TYPES);
    }
    let present: Vec<&str> = SOURCES
        .iter()
        .map(|(_, field)| *field)
        .filter(|field| has(metric, field))
        .collect();
    if let Some(first) = present.first() {
        check_source(first, get(metric, first), &spot.child(first), faults);
    }
    let expected = SOURCES
        .iter()
        .find(|(name, _)| *name == kind)
        .map(|(_, field)| *field);
    match expected {
        Some(field) if !has(metric, field) => {
            let message = "must populate information for the given metric source";
            faults.required(&spot.child(field), message);
        }
        Some(_) => {}
        None => faults.unsupported(at, kind, &TYPES),
    }
    if present.len() != 1 {
        for field in present.iter().filter(|field| Some(**field) != expected) {
            let message = "must populate the given metric source only";
            faults.forbidden(&spot.child(field), message);
        }
    }
}

fn check_source(field: &str, source: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let target = get(source, "target");
    let at = &spot.child("target");
    match field {
        "object" => {
            let described = get(source, "describedObject");
            check_described(described, &spot.child("describedObject"), faults);
            check_name(source, spot, faults);
            check_goal(target, at, faults);
            if !has(target, "value") && !has(target, "averageValue") {
                let message = "must set either a target value or averageValue";
                faults.required(&at.child("averageValue"), message);
            }
        }
        "external" => {
            check_name(source, spot, faults);
            check_goal(target, at, faults);
            if !has(target, "value") && !has(target, "averageValue") {
                let message = "must set either a target value for metric or a per-pod target";
                faults.required(&at.child("averageValue"), message);
            }
            if has(target, "value") && has(target, "averageValue") {
                let message = "may not set both a target value for metric and a per-pod target";
                faults.forbidden(&at.child("value"), message);
            }
        }
        "pods" => {
            check_name(source, spot, faults);
            check_goal(target, at, faults);
            if !has(target, "averageValue") {
                let message = "must specify a positive target averageValue";
                faults.required(&at.child("averageValue"), message);
            }
        }
        _ => check_resource(field, source, spot, faults),
    }
}

fn check_described(target: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for field in ["kind", "name"] {
        match text(target, field) {
            "" => faults.required(&spot.child(field), ""),
            value => faults.invalid_each(&spot.child(field), value, segment(value, false)),
        }
    }
}

fn check_resource(field: &str, source: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (target, at) = (get(source, "target"), &spot.child("target"));
    let name = text(source, "name");
    if name.is_empty() {
        faults.required(&spot.child("name"), "must specify a resource name");
    }
    if field == "containerResource" {
        if !name.is_empty() {
            crate::resources::check_container_name(name, &spot.child("name"), faults);
        }
        match text(source, "container") {
            "" => faults.required(&spot.child("container"), "must specify a container"),
            container => {
                let found = names::dns1123_label(container);
                faults.invalid_each(&spot.child("container"), container, found);
            }
        }
    }
    check_goal(target, at, faults);
    match (
        has(target, "averageUtilization"),
        has(target, "averageValue"),
    ) {
        (false, false) => faults.required(
            &at.child("averageUtilization"),
            "must set either a target raw value or a target utilization",
        ),
        (true, true) => faults.forbidden(
            &at.child("averageValue"),
            "may not set both a target raw value and a target utilization",
        ),
        _ => {}
    }
}

fn check_name(source: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("metric.name");
    match text(get(source, "metric"), "name") {
        "" => faults.required(at, "must specify a metric name"),
        name => faults.invalid_each(at, name, segment(name, false)),
    }
}

fn check_goal(target: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let kind = text(target, "type");
    let at = &spot.child("type");
    if kind.is_empty() {
        faults.required(at, "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let message = "must be either Utilization, Value, or AverageValue";
        faults.invalid(at, kind, message);
    }
    for field in ["value", "averageValue"] {
        let amount = Quantity::from_json(get(target, field));
        if let Some(amount) = amount.filter(|a| *a <= Quantity::ZERO) {
            faults.invalid(&spot.child(field), amount.to_string(), "must be positive");
        }
    }
    if let Some(share) = int(target, "averageUtilization").filter(|share| *share < 1) {
        faults.invalid(
            &spot.child("averageUtilization"),
            share,
            "must be greater than 0",
        );
    }
}

/// Whether a value has nothing in it; used by the way between versions.
fn nothing(value: &Value) -> bool {
    is_empty(value)
}
