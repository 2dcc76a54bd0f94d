//! Autoscalers with their targets, disruption budgets, scales.

use crate::read::{Read, View, cells, shortened};
use crate::registry::BuiltIn;
use model::{Value, json, meta};

pub(crate) const KINDS: &[BuiltIn] = &[
    BuiltIn {
        group: "autoscaling",
        kind: "HorizontalPodAutoscaler",
        columns: "Name:name|Reference|Targets|MinPods|MaxPods|Replicas|Age",
        cells: autoscaler,
    },
    BuiltIn {
        group: "autoscaling",
        kind: "Scale",
        columns: "Name|Desired:i|Available:i|Age",
        cells: |v| {
            cells![
                v.name(),
                v.int("spec.replicas"),
                v.int("status.replicas"),
                v.age()
            ]
        },
    },
    BuiltIn {
        group: "policy",
        kind: "PodDisruptionBudget",
        columns: "Name:name|Min Available|Max Unavailable|Allowed Disruptions:i|Age",
        cells: |v| {
            cells![
                v.name(),
                amount(v.at("spec.minAvailable")),
                amount(v.at("spec.maxUnavailable")),
                v.int("status.disruptionsAllowed"),
                v.age(),
            ]
        },
    },
];

/// A number or a percentage.
fn amount(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(number) => number.to_string(),
        None => "N/A".into(),
    }
}

fn autoscaler(v: &View) -> Vec<Value> {
    let target = format!(
        "{}/{}",
        v.text("spec.scaleTargetRef.kind"),
        v.text("spec.scaleTargetRef.name")
    );
    let minimum = v.at("spec.minReplicas");
    cells![
        v.name(),
        target,
        targets(v),
        minimum.map_or("<unset>".into(), Value::to_string),
        v.int("spec.maxReplicas"),
        v.int("status.currentReplicas"),
        v.age(),
    ]
}

fn targets(v: &View) -> String {
    let (specs, statuses) = match v.at("spec.metrics") {
        Some(_) => (
            v.list("spec.metrics").to_vec(),
            v.list("status.currentMetrics").to_vec(),
        ),
        None => v1_metrics(v),
    };
    if specs.is_empty() {
        return "<none>".into();
    }
    let shown: Vec<String> = specs
        .iter()
        .enumerate()
        .map(|(i, spec)| metric(spec, statuses.get(i)))
        .collect();
    shortened(&shown, 2, ", ")
}

/// `autoscaling/v1` knows the processor only, and keeps other metrics in annotations. Statuses are kept
/// in full, so they tell where among the others the processor stood.
fn v1_metrics(v: &View) -> (Vec<Value>, Vec<Value>) {
    let noted = |name: &str, field: &str| -> Option<Vec<Value>> {
        let text = meta::annotation(v, &format!("autoscaling.alpha.kubernetes.io/{name}"))?;
        let parsed: Value = text.parse().ok()?;
        Some(
            parsed
                .as_array()?
                .iter()
                .map(|m| modern(m, field))
                .collect(),
        )
    };
    let utilization = |field: &str, percent: &Value| json!({"type": "Resource", "resource": {"name": "cpu", field: {"averageUtilization": percent}}});
    let statuses = noted("current-metrics", "current").unwrap_or_else(|| {
        let percent = v.at("status.currentCPUUtilizationPercentage");
        percent
            .map(|p| utilization("current", p))
            .into_iter()
            .collect()
    });
    let mut specs = noted("metrics", "target").unwrap_or_default();
    if let Some(percent) = v.at("spec.targetCPUUtilizationPercentage") {
        let is_cpu = |status: &Value| status.text("resource.name") == "cpu";
        let place = statuses.iter().position(is_cpu).unwrap_or(specs.len());
        specs.insert(place.min(specs.len()), utilization("target", percent));
    }
    if specs.is_empty() {
        specs.push(utilization("target", &json!(80)));
    }
    (specs, statuses)
}

/// Turns a metric of the annotations (`targetAverageValue`, `currentValue`, …) into the form of v2.
fn modern(metric: &Value, field: &str) -> Value {
    let ty = metric.text("type");
    let source = metric.get(source_of(ty)).cloned().unwrap_or_default();
    let value = |suffix: &str| source.at(&format!("{field}{suffix}"));
    let average = match ty {
        "Object" => source.at("averageValue"),
        _ => value("AverageValue"),
    };
    json!({
        "type": ty,
        source_of(ty): {
            "name": source.get("name"),
            field: {
                "value": value("Value"),
                "averageValue": average,
                "averageUtilization": value("AverageUtilization"),
            },
        },
    })
}

fn source_of(ty: &str) -> &'static str {
    match ty {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => "",
    }
}

fn metric(spec: &Value, status: Option<&Value>) -> String {
    let source = source_of(spec.text("type"));
    let Some(spec) = spec.at(source) else {
        return "<unknown type>".into();
    };
    let current = status.and_then(|s| s.at(source)?.at("current"));
    let percent = |value: Option<&Value>, other: &str| {
        value.map_or(other.to_owned(), |percent| format!("{percent}%"))
    };
    let averaged = spec.at("target.averageValue").is_some();
    // What the metrics API has not answered yet is unknown; what it answered without is nothing.
    let quantity = |field: &str, must_be_set: bool| match current {
        Some(c) if !must_be_set || c.at(field).is_some() => c.quantity(field),
        _ => "<unknown>".into(),
    };
    match source {
        "external" | "object" if averaged => {
            let now = quantity("averageValue", true);
            format!("{now}/{} (avg)", spec.quantity("target.averageValue"))
        }
        "external" | "object" => {
            let now = quantity("value", false);
            format!("{now}/{}", spec.quantity("target.value"))
        }
        "pods" => {
            let now = quantity("averageValue", false);
            format!("{now}/{}", spec.quantity("target.averageValue"))
        }
        _ if averaged => {
            let now = quantity("averageValue", false);
            let target = spec.quantity("target.averageValue");
            format!("{}: {now}/{target}", spec.text("name"))
        }
        _ => {
            let now = percent(
                current.and_then(|c| c.at("averageUtilization")),
                "<unknown>",
            );
            let target = percent(spec.at("target.averageUtilization"), "<auto>");
            format!("{}: {now}/{target}", spec.text("name"))
        }
    }
}
