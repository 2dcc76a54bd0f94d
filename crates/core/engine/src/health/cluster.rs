//! Claims, Services, Ingresses, API services, autoscalers, disruption budgets and definitions.

use super::{Health, HealthStatus, condition, degraded, healthy, progressing};
use model::{Value, meta};

pub(super) fn claim(live: &Value) -> Health {
    let status = match meta::text_at(live, "/status/phase") {
        "Lost" => HealthStatus::Degraded,
        "Pending" => HealthStatus::Progressing,
        "Bound" => HealthStatus::Healthy,
        _ => HealthStatus::Unknown,
    };
    Health::new(status, "")
}

pub(super) fn service(live: &Value) -> Health {
    if meta::text_at(live, "/spec/type") == "LoadBalancer" && !has_address(live) {
        return progressing("");
    }
    healthy("")
}

pub(super) fn ingress(live: &Value) -> Health {
    if has_address(live) {
        healthy("")
    } else {
        progressing("")
    }
}

fn has_address(live: &Value) -> bool {
    meta::entries(live, "/status/loadBalancer/ingress")
        .next()
        .is_some()
}

pub(super) fn api_service(live: &Value) -> Health {
    let Some(available) = condition(live, "Available") else {
        return progressing("Waiting to be processed");
    };
    let (reason, message) = (
        meta::text_at(available, "/reason"),
        meta::text_at(available, "/message"),
    );
    let text = format!("{reason}: {message}");
    if available["status"] == "True" {
        healthy(text)
    } else {
        progressing(text)
    }
}

const SCALER_FAILURES: &[(&str, &[&str])] = &[
    ("AbleToScale", &["FailedGetScale", "FailedUpdateScale"]),
    (
        "ScalingActive",
        &[
            "FailedGetResourceMetric",
            "FailedGetObjectMetric",
            "FailedGetPodsMetric",
            "FailedGetExternalMetric",
            "FailedComputeMetricsReplicas",
            "InvalidSelector",
        ],
    ),
];

pub(super) fn autoscaler(live: &Value) -> Health {
    let conditions = scaler_conditions(live);
    let fails = |c: &&Value| {
        SCALER_FAILURES.iter().any(|(kind, reasons)| {
            c["type"] == *kind && c["reason"].as_str().is_some_and(|r| reasons.contains(&r))
        })
    };
    if let Some(failing) = conditions.iter().find(fails) {
        return degraded(meta::text_at(failing, "/message"));
    }
    let works = |c: &&Value| {
        matches!(c["type"].as_str(), Some("AbleToScale" | "ScalingLimited"))
            && c["status"] == "True"
    };
    match conditions.iter().find(works) {
        Some(working) => healthy(meta::text_at(working, "/message")),
        None => progressing("Waiting to Autoscale"),
    }
}

// The first version keeps its conditions as JSON in an annotation.
fn scaler_conditions(live: &Value) -> Vec<Value> {
    if meta::text_at(live, "/apiVersion") == "autoscaling/v1" {
        let text =
            meta::annotation(live, "autoscaling.alpha.kubernetes.io/conditions").unwrap_or("[]");
        let parsed = json::parse(text.as_bytes()).ok();
        return parsed
            .and_then(|parsed| parsed.value.as_array().cloned())
            .unwrap_or_default();
    }
    meta::entries(live, "/status/conditions").cloned().collect()
}

pub(super) fn disruption_budget(live: &Value) -> Health {
    let mut any = false;
    for condition in meta::entries(live, "/status/conditions") {
        any = true;
        if condition["status"] == "False" && condition["reason"] != "InsufficientPods" {
            let (kind, reason) = (
                meta::text_at(condition, "/type"),
                meta::text_at(condition, "/reason"),
            );
            return degraded(format!("PodDisruptionBudget has {kind}: {reason}"));
        }
    }
    if any {
        healthy("PodDisruptionBudget has SufficientPods")
    } else {
        progressing("Waiting for status")
    }
}

pub(super) fn definition(live: &Value) -> Health {
    if meta::entries(live, "/status/conditions").next().is_none() {
        return progressing("Status conditions not found");
    }
    let message = |c: &Value| meta::text_at(c, "/message").to_owned();
    let has = |kind: &str, status: &str| condition(live, kind).filter(|c| c["status"] == status);
    if let Some(refused) = has("NamesAccepted", "False") {
        return degraded(format!(
            "CRD names have not been accepted: {}",
            message(refused)
        ));
    }
    if let Some(odd) = has("NonStructuralSchema", "True") {
        return degraded(format!("Schema violations found: {}", message(odd)));
    }
    match condition(live, "Established") {
        Some(c) if c["status"] == "True" => healthy("CRD is healthy"),
        Some(c) if c["reason"] == "Installing" => {
            progressing(format!("CRD is being installed: {}", message(c)))
        }
        Some(c) => degraded(format!("CRD is not established: {}", message(c))),
        None => degraded("CRD is not established"),
    }
}

#[cfg(test)]
mod tests {
    use crate::health::testing::check;
    use model::{Value, json};

    fn of(api_version: &str, kind: &str, spec: Value, status: Value) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec, "status": status})
    }

    #[test]
    fn claims_services_and_ingresses() {
        let claim = |phase: &str| {
            of(
                "v1",
                "PersistentVolumeClaim",
                json!({}),
                json!({"phase": phase}),
            )
        };
        check(&claim("Bound"), "Healthy");
        check(&claim("Pending"), "Progressing");
        check(&claim("Lost"), "Degraded");
        check(&claim(""), "Unknown");
        let balanced = |status| of("v1", "Service", json!({"type": "LoadBalancer"}), status);
        check(&balanced(json!({})), "Progressing");
        check(
            &balanced(json!({"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}})),
            "Healthy",
        );
        check(
            &of("v1", "Service", json!({"type": "ClusterIP"}), json!({})),
            "Healthy",
        );
        check(
            &of("networking.k8s.io/v1", "Ingress", json!({}), json!({})),
            "Progressing",
        );
        check(
            &of(
                "networking.k8s.io/v1",
                "Ingress",
                json!({}),
                json!({"loadBalancer": {"ingress": [{}]}}),
            ),
            "Healthy",
        );
    }

    #[test]
    fn an_autoscaler_fails_before_it_works() {
        let scaler = |conditions: Value| {
            of(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                json!({}),
                json!({"conditions": conditions}),
            )
        };
        check(&scaler(json!([])), "Progressing: Waiting to Autoscale");
        check(
            &scaler(json!([{"type": "AbleToScale", "status": "True", "message": "ok"}])),
            "Healthy: ok",
        );
        check(
            &scaler(
                json!([{"type": "AbleToScale", "status": "True", "message": "ok"},
                {"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric", "message": "no metrics"}]),
            ),
            "Degraded: no metrics",
        );
        let mut old = of(
            "autoscaling/v1",
            "HorizontalPodAutoscaler",
            json!({}),
            json!({}),
        );
        old["metadata"]["annotations"] = json!({"autoscaling.alpha.kubernetes.io/conditions":
            "[{\"type\":\"ScalingLimited\",\"status\":\"True\",\"message\":\"at the limit\"}]"});
        check(&old, "Healthy: at the limit");
    }

    #[test]
    fn a_definition_must_be_established() {
        let definition = |conditions: Value| {
            of(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                json!({}),
                json!({"conditions": conditions}),
            )
        };
        check(
            &definition(json!([])),
            "Progressing: Status conditions not found",
        );
        check(
            &definition(json!([{"type": "Established", "status": "True"}])),
            "Healthy: CRD is healthy",
        );
        check(
            &definition(
                json!([{"type": "Established", "status": "False", "reason": "Installing", "message": "soon"}]),
            ),
            "Progressing: CRD is being installed: soon",
        );
        check(
            &definition(
                json!([{"type": "NamesAccepted", "status": "False", "message": "taken"}, {"type": "Established", "status": "True"}]),
            ),
            "Degraded: CRD names have not been accepted: taken",
        );
    }

    #[test]
    fn an_api_service_must_be_available() {
        let service = |conditions: Value| {
            of(
                "apiregistration.k8s.io/v1",
                "APIService",
                json!({}),
                json!({"conditions": conditions}),
            )
        };
        check(&service(json!([])), "Progressing: Waiting to be processed");
        check(
            &service(
                json!([{"type": "Available", "status": "True", "reason": "Local", "message": "fine"}]),
            ),
            "Healthy: Local: fine",
        );
    }

    #[test]
    fn a_disruption_budget_may_lack_pods() {
        let budget = |conditions: Value| {
            of(
                "policy/v1",
                "PodDisruptionBudget",
                json!({}),
                json!({"conditions": conditions}),
            )
        };
        check(&budget(json!([])), "Progressing: Waiting for status");
        check(
            &budget(
                json!([{"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods"}]),
            ),
            "Healthy: PodDisruptionBudget has SufficientPods",
        );
        check(
            &budget(
                json!([{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}]),
            ),
            "Degraded: PodDisruptionBudget has DisruptionAllowed: SyncFailed",
        );
    }
}
