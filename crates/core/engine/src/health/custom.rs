//! Custom resources: workflows by their phase, the rest by the conventions most operators keep.
//!
//! Operators agree on little, but on this: `observedGeneration` says which spec the status speaks
//! of, and one of a few conditions says how it stands. Where an object shows none of them there is
//! no health, and the wave it stands in means nothing (W11).

use super::{Health, HealthStatus, degraded, healthy, number, progressing};
use model::{GroupVersionKind, Value, meta};

pub(super) fn workflow(live: &Value) -> Health {
    let status = match meta::text_at(live, "/status/phase") {
        "" | "Pending" | "Running" => HealthStatus::Progressing,
        "Succeeded" => HealthStatus::Healthy,
        "Failed" | "Error" => HealthStatus::Degraded,
        _ => HealthStatus::Unknown,
    };
    Health::new(status, meta::text_at(live, "/status/message"))
}

/// Conditions whose truth means that the object is done, the strongest first.
const GOOD: [&str; 4] = ["Ready", "Available", "Healthy", "Succeeded"];
/// Conditions whose truth means that it will not get there by itself.
const BAD: [&str; 3] = ["Stalled", "Failed", "Degraded"];
/// Reasons for which a condition is false while the object is still on its way.
const UNDERWAY: [&str; 8] = [
    "Progressing",
    "ProgressingWithRetry",
    "Reconciling",
    "Pending",
    "Creating",
    "Installing",
    "InProgress",
    "DoesNotExist",
];

pub(super) fn health(gvk: &GroupVersionKind, live: &Value) -> Option<Health> {
    if !gvk.group.contains('.') || gvk.group.ends_with(".k8s.io") && !is_known_addon(&gvk.group) {
        return None;
    }
    let conditions: Vec<&Value> = meta::entries(live, "/status/conditions").collect();
    let named = |kind: &str| conditions.iter().copied().find(|c| c["type"] == kind);
    let decisive = GOOD.iter().find_map(|kind| named(kind));
    let bad = BAD
        .iter()
        .find_map(|kind| named(kind).filter(|c| c["status"] == "True"));
    if decisive.is_none() && bad.is_none() {
        return None;
    }
    let observed = live.pointer("/status/observedGeneration").is_some();
    if observed && meta::generation(live) > number(live, "/status/observedGeneration") {
        return Some(progressing("Waiting for the newest spec to be observed"));
    }
    if let Some(bad) = bad {
        return Some(degraded(meta::text_at(bad, "/message")));
    }
    decisive.map(judged)
}

// Add-ons of Kubernetes itself whose objects follow the conventions.
fn is_known_addon(group: &str) -> bool {
    matches!(
        group,
        "gateway.networking.k8s.io" | "cluster.x-k8s.io" | "snapshot.storage.k8s.io"
    )
}

fn judged(condition: &Value) -> Health {
    let message = meta::text_at(condition, "/message");
    match condition["status"].as_str() {
        Some("True") => healthy(message),
        Some("False") if !UNDERWAY.contains(&meta::text_at(condition, "/reason")) => {
            degraded(message)
        }
        _ => progressing(message),
    }
}

#[cfg(test)]
mod tests {
    use crate::health::testing::check;
    use model::{Value, json};

    fn certificate(status: Value) -> Value {
        json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
            "metadata": {"name": "c", "generation": 2}, "status": status})
    }

    #[test]
    fn conventions_decide_where_an_operator_keeps_them() {
        check(&certificate(json!({})), "none");
        check(
            &certificate(
                json!({"conditions": [{"type": "Ready", "status": "True", "message": "up to date"}]}),
            ),
            "Healthy: up to date",
        );
        check(
            &certificate(
                json!({"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}),
            ),
            "Progressing: Waiting for the newest spec to be observed",
        );
        check(
            &certificate(
                json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Denied", "message": "no"}]}),
            ),
            "Degraded: no",
        );
        check(
            &certificate(
                json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Pending", "message": "soon"}]}),
            ),
            "Progressing: soon",
        );
        check(
            &certificate(
                json!({"conditions": [{"type": "Ready", "status": "Unknown", "message": "?"}]}),
            ),
            "Progressing: ?",
        );
        check(
            &certificate(
                json!({"conditions": [{"type": "Stalled", "status": "True", "message": "gave up"}, {"type": "Ready", "status": "Unknown"}]}),
            ),
            "Degraded: gave up",
        );
    }

    #[test]
    fn a_workflow_has_phases() {
        let workflow = |phase: &str| json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "w"}, "status": {"phase": phase, "message": "m"}});
        check(&workflow("Running"), "Progressing: m");
        check(&workflow("Succeeded"), "Healthy: m");
        check(&workflow("Error"), "Degraded: m");
        check(&workflow("Odd"), "Unknown: m");
    }
}
