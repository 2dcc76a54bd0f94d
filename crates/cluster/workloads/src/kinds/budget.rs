//! PodDisruptionBudgets: how many Pods may go.

use crate::act::{CONTROLLERS, Reaction, patch};
use crate::event::{Grade, Note, about};
use crate::index::PodFacts;
use crate::object::{self, BUDGET, condition, count, scaled};
use crate::view::{BUDGETS, View};
use model::{Value, json, meta};
use std::collections::BTreeSet;

/// Looks at one budget.
pub(super) fn step(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(budget) = view.get(BUDGETS, namespace, name) else {
        return reaction;
    };
    let selector = object::selector(&budget);
    let pods: Vec<&PodFacts> = view
        .index
        .pods(namespace)
        .filter(|p| selector.matches(Some(&p.labels)) && !p.is_over())
        .collect();
    if pods.is_empty() {
        let note = Note {
            component: "controllermanager",
            grade: Grade::Normal,
            reason: "NoPods",
            message: "No matching pods found",
        };
        let said = count(&budget, "/status/observedGeneration") == meta::generation(&budget);
        if !said {
            reaction.push(about(view, &BUDGET, &budget, note));
        }
    }
    let (expected, desired) = wanted(view, &budget, &pods);
    let healthy = pods
        .iter()
        .filter(|p| p.ready.is_some() && !p.deleting)
        .count() as i64;
    let allowed = if expected <= 0 {
        0
    } else {
        (healthy - desired).max(0)
    };
    let mut status = json!({
        "currentHealthy": healthy, "desiredHealthy": desired, "disruptionsAllowed": allowed,
        "expectedPods": expected, "observedGeneration": meta::generation(&budget),
    });
    status["conditions"] = json!([said(view, &budget, allowed > 0)]);
    if budget.get("status") != Some(&status) {
        let body = json!({"status": object::replacing(budget.get("status"), status)});
        reaction.push(patch(CONTROLLERS, BUDGET.status(namespace, name), &body));
    }
    reaction
}

fn said(view: &View<'_>, budget: &Value, allowed: bool) -> Value {
    let (status, reason) = if allowed {
        ("True", "SufficientPods")
    } else {
        ("False", "InsufficientPods")
    };
    let mut since = view.now.rfc3339();
    let old = condition(budget, "DisruptionAllowed").filter(|c| c["status"] == status);
    if let Some(old) = old {
        meta::text_at(old, "/lastTransitionTime").clone_into(&mut since);
    }
    json!({
        "type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
        "lastTransitionTime": since, "observedGeneration": meta::generation(budget),
    })
}

// How many Pods there should be, and how many of them must stay.
fn wanted(view: &View<'_>, budget: &Value, pods: &[&PodFacts]) -> (i64, i64) {
    let least = budget.pointer("/spec/minAvailable");
    if let Some(most) = budget.pointer("/spec/maxUnavailable") {
        let expected = scale(view, pods);
        return (
            expected,
            (expected - scaled(Some(most), expected, true)).max(0),
        );
    }
    match least {
        Some(Value::Number(n)) => (pods.len() as i64, n.as_i64().unwrap_or(0)),
        Some(percent) => {
            let expected = scale(view, pods);
            (expected, scaled(Some(percent), expected, true))
        }
        None => (pods.len() as i64, 0),
    }
}

// What the Pods' controllers ask for.
fn scale(view: &View<'_>, pods: &[&PodFacts]) -> i64 {
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    let mut sum = 0;
    for pod in pods {
        let Some(owner) = &pod.owner else {
            continue;
        };
        let namespace = &pod.namespace;
        let deployment = view.index.deployment_of(namespace, &owner.name);
        let (storage, name) = match (owner.kind.as_str(), deployment) {
            ("ReplicaSet", Some(name)) => (crate::view::DEPLOYMENTS, name.to_string()),
            ("ReplicaSet", None) => (crate::view::REPLICA_SETS, owner.name.to_string()),
            ("StatefulSet", _) => (crate::view::STATEFUL_SETS, owner.name.to_string()),
            ("ReplicationController", _) => {
                (crate::view::REPLICATION_CONTROLLERS, owner.name.to_string())
            }
            _ => continue,
        };
        if seen.insert((storage.to_owned(), name.clone()))
            && let Some(object) = view.get(storage, namespace, &name)
        {
            sum += object::number(&object, "/spec/replicas").unwrap_or(1);
        }
    }
    sum
}
