//! ReplicaSets and ReplicationControllers: as many Pods as asked for.

use super::pods::{self, BURST_MAX};
use crate::act::{CONTROLLERS, Reaction, Refusal, patch};
use crate::index::PodFacts;
use crate::object::{
    self, POD, REPLICA_SET, REPLICATION_CONTROLLER, Type, conditions, count, number,
    pod_of_template,
};
use crate::view::{REPLICA_SETS, REPLICATION_CONTROLLERS, View};
use model::{LabelSelector, Map, Value, json, meta};

/// One of the two kinds.
#[derive(Debug)]
pub(crate) struct Flavour {
    kind: Type,
    storage: &'static str,
    component: &'static str,
}

/// ReplicaSets.
pub(crate) const SETS: Flavour = Flavour {
    kind: REPLICA_SET,
    storage: REPLICA_SETS,
    component: "replicaset-controller",
};
/// ReplicationControllers.
pub(crate) const CONTROLLERS_OF_OLD: Flavour = Flavour {
    kind: REPLICATION_CONTROLLER,
    storage: REPLICATION_CONTROLLERS,
    component: "replication-controller",
};

/// Looks at one set.
pub(crate) fn step(view: &View<'_>, flavour: &Flavour, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(set) = view.get(flavour.storage, namespace, name) else {
        return reaction;
    };
    let owned = view.pods_of(meta::uid(&set));
    let going = meta::deletion_timestamp(&set).is_some();
    let selector = selector_of(&set);
    if !going {
        claim(view, flavour, &set, &selector, &owned, &mut reaction);
    }
    let active: Vec<&PodFacts> = owned
        .iter()
        .copied()
        .filter(|p| p.is_active() && selector.matches(Some(&p.labels)))
        .collect();
    let wanted = number(&set, "/spec/replicas").unwrap_or(1);
    let have = active.len() as i64;
    // Whatever is made or deleted brings us back here; then the status is written.
    if !going && have < wanted {
        grow(
            view,
            flavour,
            &set,
            (wanted - have).min(BURST_MAX),
            &mut reaction,
        );
        return reaction;
    }
    if !going && have > wanted {
        let many = (have - wanted).min(BURST_MAX);
        shrink(view, flavour, &set, &active, many, &mut reaction);
        return reaction;
    }
    report(view, flavour, &set, (&active, &owned), None, &mut reaction);
    reaction
}

fn selector_of(set: &Value) -> LabelSelector {
    let spec = set.pointer("/spec/selector");
    let plain = spec
        .and_then(Value::as_object)
        .filter(|map| !map.contains_key("matchLabels") && !map.contains_key("matchExpressions"));
    match plain {
        Some(labels) => LabelSelector::from_spec(Some(&json!({"matchLabels": labels})))
            .unwrap_or_else(|_| LabelSelector::nothing()),
        None => object::selector(set),
    }
}

// Takes in Pods that match and have no controller, lets go of those that match no more.
fn claim(
    view: &View<'_>,
    flavour: &Flavour,
    set: &Value,
    selector: &LabelSelector,
    owned: &[&PodFacts],
    reaction: &mut Reaction,
) {
    for pod in owned.iter().filter(|p| !selector.matches(Some(&p.labels))) {
        let body = json!({"metadata": {"uid": &*pod.uid, "ownerReferences": null}});
        let path = POD.path(&pod.namespace, &pod.name);
        reaction.push(patch(CONTROLLERS, path, &body).forget());
    }
    let equal = set
        .pointer("/spec/selector/matchLabels")
        .or_else(|| set.pointer("/spec/selector"));
    let Some(labels) = equal.and_then(Value::as_object).filter(|l| !l.is_empty()) else {
        return;
    };
    let orphans = view
        .index
        .pods_with(meta::namespace(set), labels)
        .into_iter();
    for pod in
        orphans.filter(|p| p.owner.is_none() && p.is_active() && selector.matches(Some(&p.labels)))
    {
        let owner = flavour.kind.controller_ref(set);
        let body = json!({"metadata": {"uid": &*pod.uid, "ownerReferences": [owner]}});
        let path = POD.path(&pod.namespace, &pod.name);
        reaction.push(patch(CONTROLLERS, path, &body).forget());
    }
}

fn grow(view: &View<'_>, flavour: &Flavour, set: &Value, by: i64, reaction: &mut Reaction) {
    // Adopted Pods count first.
    if !reaction.acts.is_empty() {
        return;
    }
    let Some(template) = set.pointer("/spec/template") else {
        return;
    };
    let pod = pod_of_template(template, flavour.kind.controller_ref(set));
    for n in 0..by {
        let act = pods::make(
            view,
            (&flavour.kind, set),
            flavour.component,
            pod.clone(),
            n,
        );
        reaction.push(act);
    }
}

fn shrink(
    view: &View<'_>,
    flavour: &Flavour,
    set: &Value,
    active: &[&PodFacts],
    by: i64,
    reaction: &mut Reaction,
) {
    let mut order = active.to_vec();
    let related = related(view, set, active);
    pods::spare_first(&mut order, &related, view.now);
    for pod in order.into_iter().take(by as usize) {
        let told = pods::deleted_event(view, (&flavour.kind, set), flavour.component, &pod.name);
        reaction.push(pods::remove(pod).and_then(told));
    }
}

// The Pods of all sets that have the same owner: where they crowd, one can be spared.
fn related<'a>(view: &View<'a>, set: &Value, own: &[&'a PodFacts]) -> Vec<&'a PodFacts> {
    let Some(owner) = object::controller(set) else {
        return own.to_vec();
    };
    let siblings = view.controlled(meta::text_at(owner, "/uid"), REPLICA_SETS);
    let pods = siblings.iter().flat_map(|s| view.pods_of(meta::uid(s)));
    pods.collect()
}

/// Hears that a Pod could not be made.
pub(crate) fn refused(
    view: &View<'_>,
    flavour: &Flavour,
    namespace: &str,
    name: &str,
    refusal: &Refusal,
) -> Reaction {
    let mut reaction = Reaction::default();
    if refusal.is_namespace_going() {
        return reaction;
    }
    let Some(set) = view.get(flavour.storage, namespace, name) else {
        return reaction;
    };
    let why = refusal.message.as_str();
    reaction.push(pods::refused_event(
        view,
        (&flavour.kind, &set),
        flavour.component,
        why,
    ));
    let owned = view.pods_of(meta::uid(&set));
    let active: Vec<&PodFacts> = owned.iter().copied().filter(|p| p.is_active()).collect();
    report(
        view,
        flavour,
        &set,
        (&active, &owned),
        Some(why),
        &mut reaction,
    );
    reaction
}

// Writes the status, when it changed.
fn report(
    view: &View<'_>,
    flavour: &Flavour,
    set: &Value,
    (active, owned): (&[&PodFacts], &[&PodFacts]),
    failure: Option<&str>,
    reaction: &mut Reaction,
) {
    let min_ready = count(set, "/spec/minReadySeconds");
    let (ready, available, next) = pods::readiness(active, min_ready, view.now);
    if let Some(at) = next {
        reaction.look_at(at);
    }
    let labels = set.pointer("/spec/template/metadata/labels");
    let empty = Map::new();
    let labels = labels.and_then(Value::as_object).unwrap_or(&empty);
    let fully = active.iter().filter(|p| p.has_labels(labels)).count();
    let mut status = json!({
        "replicas": active.len(),
        "observedGeneration": meta::generation(set),
    });
    for (field, value) in [
        ("fullyLabeledReplicas", fully as i64),
        ("readyReplicas", ready),
        ("availableReplicas", available),
    ] {
        if value > 0 {
            status[field] = value.into();
        }
    }
    if flavour.kind.kind == "ReplicaSet" {
        let terminating = owned.iter().filter(|p| p.deleting && !p.is_over()).count();
        status["terminatingReplicas"] = terminating.into();
    }
    let mut list = conditions(set);
    match failure {
        Some(why) if !list.iter().any(|c| c["type"] == "ReplicaFailure") => list.push(json!({
            "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
            "message": why, "lastTransitionTime": view.now.rfc3339(),
        })),
        Some(_) => {}
        None => list.retain(|c| c["type"] != "ReplicaFailure"),
    }
    if !list.is_empty() {
        status["conditions"] = list.into();
    }
    if set.get("status") == Some(&status) {
        return;
    }
    let body = json!({"status": object::replacing(set.get("status"), status)});
    let path = flavour.kind.status(meta::namespace(set), meta::name(set));
    reaction.push(patch(CONTROLLERS, path, &body));
}
