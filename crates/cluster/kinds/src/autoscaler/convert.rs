//! The way between the two versions: what version 1 has no field for travels as annotations.

use super::nothing;
use crate::fields::{carry, fill, get, has, int, list, map_slot, set, some_mut, text, unset};
use model::{Value, json};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// The metric that keeps the processors of pods at a share of what they asked for.
pub(super) fn cpu_metric(percent: i64) -> Value {
    json!({
        "type": "Resource",
        "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": percent},
        },
    })
}

/// Fills the processor target of a version 1 object that names no other metric.
pub(super) fn default_target(object: &mut Value) {
    let others = model::meta::annotation(object, METRICS).is_some();
    if !others {
        fill(
            map_slot(object, "spec"),
            "targetCPUUtilizationPercentage",
            80,
        );
    }
}

/// Changes an object from one version to the other.
pub(crate) fn convert(object: &mut Value, from: &str, to: &str) {
    match (from, to) {
        ("v1", "v2") => to_v2(object),
        ("v2", "v1") => to_v1(object),
        _ => {}
    }
}

fn is_cpu_share(metric: &Value) -> bool {
    let resource = get(metric, "resource");
    text(metric, "type") == "Resource"
        && text(resource, "name") == "cpu"
        && has(get(resource, "target"), "averageUtilization")
}

fn take_note(object: &mut Value, key: &str) -> Option<Value> {
    let notes = some_mut(some_mut(object, "metadata")?, "annotations")?;
    let parsed = text(notes, key).parse().ok();
    unset(notes, key);
    if nothing(notes) {
        unset(map_slot(object, "metadata"), "annotations");
    }
    parsed
}

fn put_note(object: &mut Value, key: &str, value: &Value) {
    let mut note = String::new();
    print(value, &mut note, 0);
    let notes = map_slot(map_slot(object, "metadata"), "annotations");
    set(notes, key, note);
}

/// The fields of all structs that are written to annotations, in the order they are written in.
const ORDER: [&str; 41] = [
    "type",
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
    "target",
    "kind",
    "name",
    "apiVersion",
    "metricName",
    "metricSelector",
    "targetValue",
    "currentValue",
    "targetAverageUtilization",
    "currentAverageUtilization",
    "targetAverageValue",
    "currentAverageValue",
    "container",
    "selector",
    "averageValue",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "status",
    "lastTransitionTime",
    "reason",
    "message",
    "observedGeneration",
    "ScaleUp",
    "ScaleDown",
    "StabilizationWindowSeconds",
    "SelectPolicy",
    "Policies",
    "Tolerance",
    "Type",
    "Value",
    "PeriodSeconds",
    "Behavior",
];

fn print(value: &Value, out: &mut String, depth: usize) {
    match value {
        Value::Object(map) if depth < 16 => {
            let place = |key: &str| ORDER.iter().position(|known| *known == key);
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_by_key(|key| place(key).unwrap_or(ORDER.len()));
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                print(&map[key], out, depth + 1);
            }
            out.push('}');
        }
        Value::Array(items) if depth < 16 => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                print(item, out, depth + 1);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// Changes version 1 into version 2.
pub(super) fn to_v2(object: &mut Value) {
    let others = take_note(object, METRICS);
    let behavior = take_note(object, BEHAVIOR);
    let current = take_note(object, CURRENT);
    let conditions = take_note(object, CONDITIONS);
    let spec = map_slot(object, "spec");
    let mut metrics: Vec<Value> = others
        .as_ref()
        .and_then(Value::as_array)
        .map(|old| old.iter().map(|metric| modern(metric, "target")).collect())
        .unwrap_or_default();
    if let Some(percent) = int(spec, "targetCPUUtilizationPercentage") {
        metrics.push(cpu_metric(percent));
    }
    if metrics.is_empty() {
        metrics.push(cpu_metric(80));
    }
    unset(spec, "targetCPUUtilizationPercentage");
    set(spec, "metrics", metrics);
    if let Some(behavior) = behavior.filter(|b| !nothing(b)) {
        set(spec, "behavior", decode_behavior(&behavior));
    }
    let Some(status) = some_mut(object, "status") else {
        return;
    };
    if int(status, "currentReplicas") == Some(0) {
        unset(status, "currentReplicas");
    }
    let share = int(status, "currentCPUUtilizationPercentage");
    unset(status, "currentCPUUtilizationPercentage");
    let current = current.as_ref().and_then(Value::as_array).map_or_else(
        || {
            share.map_or(Value::Null, |share| {
                json!([{"type": "Resource", "resource": {
                    "name": "cpu", "current": {"averageUtilization": share}}}])
            })
        },
        |old| {
            old.iter()
                .map(|metric| modern(metric, "current"))
                .collect::<Vec<_>>()
                .into()
        },
    );
    set(status, "currentMetrics", current);
    if let Some(conditions) = conditions {
        set(status, "conditions", conditions);
    }
}

/// Changes version 2 into version 1.
pub(super) fn to_v1(object: &mut Value) {
    let spec = map_slot(object, "spec");
    let metrics = list(spec, "metrics").to_vec();
    let behavior = get(spec, "behavior").clone();
    unset(spec, "metrics");
    unset(spec, "behavior");
    if let Some(metric) = metrics.iter().find(|metric| is_cpu_share(metric)) {
        let share = get(get(get(metric, "resource"), "target"), "averageUtilization");
        set(spec, "targetCPUUtilizationPercentage", share.clone());
    }
    let others: Vec<Value> = metrics
        .iter()
        .filter(|metric| !is_cpu_share(metric))
        .map(|metric| ancient(metric, "target"))
        .collect();
    let status = map_slot(object, "status");
    let current = list(status, "currentMetrics").to_vec();
    let conditions = get(status, "conditions").clone();
    unset(status, "currentMetrics");
    unset(status, "conditions");
    fill(status, "currentReplicas", 0);
    fill(status, "desiredReplicas", 0);
    let share = current
        .iter()
        .filter(|metric| text(metric, "type") == "Resource")
        .filter(|metric| text(get(metric, "resource"), "name") == "cpu")
        .find_map(|metric| {
            int(
                get(get(metric, "resource"), "current"),
                "averageUtilization",
            )
        });
    if let Some(share) = share {
        set(status, "currentCPUUtilizationPercentage", share);
    }
    if !others.is_empty() {
        put_note(object, METRICS, &others.into());
    }
    if !current.is_empty() {
        let old: Vec<Value> = current
            .iter()
            .map(|metric| ancient(metric, "current"))
            .collect();
        put_note(object, CURRENT, &old.into());
    }
    if !behavior.is_null() {
        put_note(object, BEHAVIOR, &encode_behavior(&behavior));
    }
    if !nothing(&conditions) {
        put_note(object, CONDITIONS, &conditions);
    }
}

// The behavior is written with the names of the fields in memory.
const BEHAVIOR_NAMES: [(&str, &str); 10] = [
    ("scaleUp", "ScaleUp"),
    ("scaleDown", "ScaleDown"),
    ("stabilizationWindowSeconds", "StabilizationWindowSeconds"),
    ("selectPolicy", "SelectPolicy"),
    ("policies", "Policies"),
    ("type", "Type"),
    ("value", "Value"),
    ("periodSeconds", "PeriodSeconds"),
    ("tolerance", "Tolerance"),
    ("behavior", "Behavior"),
];

fn rename(value: &Value, name: impl Fn(&str) -> String + Copy, depth: usize) -> Value {
    match value {
        Value::Object(map) if depth < 8 => map
            .iter()
            .map(|(key, item)| (name(key), rename(item, name, depth + 1)))
            .collect::<model::Map<_, _>>()
            .into(),
        Value::Array(items) if depth < 8 => items
            .iter()
            .map(|item| rename(item, name, depth + 1))
            .collect::<Vec<_>>()
            .into(),
        other => other.clone(),
    }
}

fn encode_behavior(behavior: &Value) -> Value {
    let mut out = rename(
        behavior,
        |key| {
            let known = BEHAVIOR_NAMES.iter().find(|(json, _)| *json == key);
            known.map_or(key, |(_, go)| go).to_owned()
        },
        0,
    );
    for side in ["ScaleUp", "ScaleDown"] {
        fill(&mut out, side, Value::Null);
        if let Some(rules) = some_mut(&mut out, side) {
            for field in [
                "StabilizationWindowSeconds",
                "SelectPolicy",
                "Policies",
                "Tolerance",
            ] {
                fill(rules, field, Value::Null);
            }
        }
    }
    out
}

fn decode_behavior(behavior: &Value) -> Value {
    let mut out = rename(
        behavior,
        |key| {
            let known = BEHAVIOR_NAMES.iter().find(|(_, go)| *go == key);
            known.map_or(key, |(json, _)| json).to_owned()
        },
        0,
    );
    for side in ["scaleUp", "scaleDown"] {
        match some_mut(&mut out, side).and_then(Value::as_object_mut) {
            Some(rules) => rules.retain(|_, value| !value.is_null()),
            None => unset(&mut out, side),
        }
    }
    out
}

// Version 1 writes a metric flat: the target's parts are fields of the source.
fn ancient(metric: &Value, part: &str) -> Value {
    let mut out = json!({"type": get(metric, "type")});
    for field in [
        "object",
        "pods",
        "resource",
        "containerResource",
        "external",
    ] {
        if !has(metric, field) {
            continue;
        }
        let source = get(metric, field);
        let goal = get(source, part);
        let mut flat = json!({});
        for key in ["name", "container"] {
            if has(source, key) {
                carry(&mut flat, source, key);
            }
        }
        let name = get(get(source, "metric"), "name").clone();
        let chosen = get(get(source, "metric"), "selector").clone();
        if field == "object" {
            set(&mut flat, "target", get(source, "describedObject").clone());
        }
        if !name.is_null() {
            set(&mut flat, "metricName", name);
        }
        if !chosen.is_null() {
            let key = if field == "external" {
                "metricSelector"
            } else {
                "selector"
            };
            set(&mut flat, key, chosen);
        }
        for (key, shown) in flat_names(field, part) {
            if has(goal, key) {
                set(&mut flat, shown, get(goal, key).clone());
            }
        }
        if part == "current" && matches!(field, "pods" | "resource" | "containerResource") {
            fill(&mut flat, "currentAverageValue", "0");
        }
        set(&mut out, field, flat);
    }
    out
}

fn flat_names(field: &str, part: &str) -> &'static [(&'static str, &'static str)] {
    match (field, part) {
        ("object", "target") => &[("value", "targetValue"), ("averageValue", "averageValue")],
        ("object", _) => &[("value", "currentValue"), ("averageValue", "averageValue")],
        ("external", "target") => &[
            ("value", "targetValue"),
            ("averageValue", "targetAverageValue"),
        ],
        ("external", _) => &[
            ("value", "currentValue"),
            ("averageValue", "currentAverageValue"),
        ],
        (_, "target") => &[
            ("averageUtilization", "targetAverageUtilization"),
            ("averageValue", "targetAverageValue"),
        ],
        _ => &[
            ("averageUtilization", "currentAverageUtilization"),
            ("averageValue", "currentAverageValue"),
        ],
    }
}

fn modern(metric: &Value, part: &str) -> Value {
    let mut out = json!({"type": get(metric, "type")});
    for field in [
        "object",
        "pods",
        "resource",
        "containerResource",
        "external",
    ] {
        if !has(metric, field) {
            continue;
        }
        let flat = get(metric, field);
        let mut source = json!({});
        for key in ["name", "container"] {
            if has(flat, key) {
                carry(&mut source, flat, key);
            }
        }
        if field == "object" {
            set(&mut source, "describedObject", get(flat, "target").clone());
        }
        if matches!(field, "object" | "pods" | "external") {
            let mut named = json!({"name": text(flat, "metricName")});
            let key = if field == "external" {
                "metricSelector"
            } else {
                "selector"
            };
            if has(flat, key) {
                set(&mut named, "selector", get(flat, key).clone());
            }
            set(&mut source, "metric", named);
        }
        let mut goal = json!({});
        for (key, shown) in flat_names(field, part) {
            if has(flat, shown) {
                set(&mut goal, key, get(flat, shown).clone());
            }
        }
        // Version 1 writes an unknown value as zero.
        if part == "current" && text(&goal, "averageValue") == "0" {
            unset(&mut goal, "averageValue");
        }
        if part == "target" {
            let kind = if has(&goal, "averageUtilization") {
                "Utilization"
            } else if has(&goal, "averageValue") {
                "AverageValue"
            } else {
                "Value"
            };
            set(&mut goal, "type", kind);
        }
        set(&mut source, part, goal);
        set(&mut out, field, source);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_target_is_a_metric() {
        let mut object = json!({"spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50}});
        to_v2(&mut object);
        assert_eq!(
            object,
            json!({"spec": {"maxReplicas": 3, "metrics": [cpu_metric(50)]}})
        );
        to_v1(&mut object);
        assert_eq!(object["spec"]["targetCPUUtilizationPercentage"], 50);
    }

    #[test]
    fn other_metrics_survive_the_way_there_and_back() {
        let spec = json!({"maxReplicas": 3, "metrics": [
            {"type": "Pods", "pods": {
                "metric": {"name": "hits"},
                "target": {"type": "AverageValue", "averageValue": "10"}}},
            cpu_metric(70),
        ], "behavior": {"scaleUp": {"selectPolicy": "Max", "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15}]}}});
        let mut object = json!({"spec": spec, "status": {"desiredReplicas": 0}});
        to_v1(&mut object);
        assert_eq!(
            model::meta::annotation(&object, METRICS),
            Some(r#"[{"type":"Pods","pods":{"metricName":"hits","targetAverageValue":"10"}}]"#)
        );
        to_v2(&mut object);
        assert_eq!(object["spec"], spec);
    }
}
