//! The scheduler: which node a Pod goes to, or why none will have it.

mod affinity;
mod filter;
mod volume;

use crate::act::{Act, Reaction, SCHEDULER, create, patch};
use crate::event::{Grade, scheduling};
use crate::index::NodeFacts;
use crate::object::{POD, condition, conditions};
use crate::view::{PODS, View};
use filter::{Obstacle, obstacles};
pub(super) use filter::{matches_node, tolerates};
use model::{Value, json, meta};
use std::collections::BTreeMap;

/// A Pod that found no place is looked at again after this long, even when nothing moved.
const FLUSH_SECONDS: i64 = 300;

/// Looks at one Pod that has no node.
pub(super) fn step(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(pod) = view.get(PODS, namespace, name) else {
        return reaction;
    };
    let text = |pointer: &str| meta::text_at(&pod, pointer);
    let ours = matches!(text("/spec/schedulerName"), "" | "default-scheduler");
    let over = matches!(text("/status/phase"), "Succeeded" | "Failed");
    let gated = meta::entries(&pod, "/spec/schedulingGates")
        .next()
        .is_some();
    let going = meta::deletion_timestamp(&pod).is_some();
    if !ours || over || gated || going || !text("/spec/nodeName").is_empty() {
        return reaction;
    }
    match place(view, &pod) {
        Ok(Place::Node(node)) => bind(view, &pod, &node, &mut reaction),
        Ok(Place::Volumes(acts)) => {
            reaction.acts = acts;
            reaction.waits = true;
        }
        Err(why) => refuse(view, &pod, &why, &mut reaction),
    }
    reaction
}

/// What comes of the search for a node.
enum Place {
    Node(String),
    /// A node is chosen; its volumes must be there first.
    Volumes(Vec<Act>),
}

fn place(view: &View<'_>, pod: &Value) -> Result<Place, String> {
    let nodes: Vec<&NodeFacts> = view.index.nodes().filter(|n| n.exists()).collect();
    if nodes.is_empty() {
        return Err("no nodes available to schedule pods".into());
    }
    let total = nodes.len();
    let claims = volume::claims(view, pod)
        .map_err(|why| format!("0/{total} nodes are available: {why}. not found"))?;
    let ask = filter::Ask::read(view, pod);
    let mut fits: Vec<&NodeFacts> = Vec::new();
    let mut found: Vec<Vec<Obstacle>> = Vec::new();
    for node in nodes {
        let mut here = obstacles(&ask, node);
        if here.is_empty() {
            here.extend(volume::obstacle(view, &claims, node));
        }
        if here.is_empty() {
            here.extend(affinity::obstacle(&ask, node));
        }
        if here.is_empty() {
            fits.push(node);
        } else {
            found.push(here);
        }
    }
    let Some(best) = choose(&fits) else {
        return Err(explain(total, &found));
    };
    let acts = volume::prepare(view, &claims, best);
    if claims.iter().any(volume::Claim::is_unbound) {
        return Ok(Place::Volumes(acts));
    }
    Ok(Place::Node(best.name.to_string()))
}

// The node with the most room left, by share of its CPU, memory and Pods.
fn choose<'a>(fits: &[&'a NodeFacts]) -> Option<&'a NodeFacts> {
    let load = |node: &NodeFacts| {
        let share = |name: &str, used: i64| {
            let has = node.allocatable.get(name).max(1);
            used.saturating_mul(1000) / has
        };
        share("cpu", node.used.get("cpu"))
            + share("memory", node.used.get("memory"))
            + share("pods", node.pods.len() as i64)
    };
    fits.iter()
        .copied()
        .min_by_key(|n| (load(n), n.name.clone()))
}

fn explain(total: usize, found: &[Vec<Obstacle>]) -> String {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for obstacle in found.iter().flatten() {
        *reasons.entry(obstacle.reason.clone()).or_default() += 1;
    }
    let hopeless = found
        .iter()
        .filter(|here| here.iter().any(|o| !o.resolvable))
        .count();
    let mut preemption = Vec::new();
    if found.len() > hopeless {
        let n = found.len() - hopeless;
        preemption.push(format!("{n} No preemption victims found for incoming pod"));
    }
    if hopeless > 0 {
        preemption.push(format!(
            "{hopeless} Preemption is not helpful for scheduling"
        ));
    }
    let mut reasons: Vec<String> = reasons.iter().map(|(r, n)| format!("{n} {r}")).collect();
    reasons.sort();
    format!(
        "0/{total} nodes are available: {}. no new claims to deallocate, preemption: 0/{total} nodes are available: {}.",
        reasons.join(", "),
        preemption.join(", ")
    )
}

fn bind(view: &View<'_>, pod: &Value, node: &str, reaction: &mut Reaction) {
    let (namespace, name) = (meta::namespace(pod), meta::name(pod));
    let body = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, "uid": meta::uid(pod)},
        "target": {"kind": "Node", "name": node},
    });
    let message = format!("Successfully assigned {namespace}/{name} to {node}");
    let told = scheduling(view, pod, Grade::Normal, ("Scheduled", "Binding"), &message);
    let path = format!("{}/binding", POD.path(namespace, name));
    reaction.push(create(SCHEDULER, path, &body).and_then(told));
}

fn refuse(view: &View<'_>, pod: &Value, why: &str, reaction: &mut Reaction) {
    reaction.waits = true;
    reaction.look_at(view.now.plus_seconds(FLUSH_SECONDS));
    let words = ("FailedScheduling", "Scheduling");
    reaction.push(scheduling(view, pod, Grade::Warning, words, why));
    let said = condition(pod, "PodScheduled");
    if said.is_some_and(|c| c["status"] == "False" && c["message"] == why) {
        return;
    }
    let mut since = view.now.rfc3339();
    if let Some(old) = said.filter(|c| c["status"] == "False") {
        meta::text_at(old, "/lastTransitionTime").clone_into(&mut since);
    }
    let mut list = conditions(pod);
    list.retain(|c| c["type"] != "PodScheduled");
    list.push(json!({
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why,
        "lastProbeTime": null, "lastTransitionTime": since,
        "observedGeneration": meta::generation(pod),
    }));
    let body = json!({"status": {"conditions": list}});
    let path = POD.status(meta::namespace(pod), meta::name(pod));
    reaction.push(patch(SCHEDULER, path, &body).forget());
}
