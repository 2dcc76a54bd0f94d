//! Why a node will not have a Pod: taints, selectors, ports, resources.

use crate::index::NodeFacts;
use crate::view::{PODS, View};
use model::{LabelSelector, Map, Value, json, meta};

/// One reason against a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    pub(super) reason: String,
    /// Whether removing other Pods could help.
    pub(super) resolvable: bool,
}

impl Obstacle {
    pub(super) fn hard(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            resolvable: false,
        }
    }

    pub(super) fn soft(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            resolvable: true,
        }
    }
}

/// What a Pod asks of a node.
pub(super) struct Ask<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) pod: &'a Value,
    requests: crate::index::Resources,
    ports: Vec<(i64, String)>,
}

impl<'a> Ask<'a> {
    pub(super) fn read(view: &'a View<'a>, pod: &'a Value) -> Self {
        Self {
            view,
            pod,
            requests: crate::index::Resources::of_pod(pod),
            ports: host_ports(pod),
        }
    }
}

fn host_ports(pod: &Value) -> Vec<(i64, String)> {
    let containers = meta::entries(pod, "/spec/containers");
    let ports = containers.flat_map(|c| meta::entries(c, "/ports"));
    ports
        .filter_map(|p| {
            let port = p.get("hostPort")?.as_i64().filter(|n| *n > 0)?;
            let protocol = p.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
            Some((port, protocol.to_owned()))
        })
        .collect()
}

/// What stands against a node: the reasons of the first rule that says no.
pub(super) fn obstacles(ask: &Ask<'_>, node: &NodeFacts) -> Vec<Obstacle> {
    let hard = |reason: &str| vec![Obstacle::hard(reason)];
    let cordoned = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
    if node.unschedulable && !tolerates(ask.pod, &cordoned) {
        return hard("node(s) were unschedulable");
    }
    let repelled = node.taints.iter().any(|taint| {
        matches!(meta::text_at(taint, "/effect"), "NoSchedule" | "NoExecute")
            && !tolerates(ask.pod, taint)
    });
    if repelled {
        return hard("node(s) had untolerated taint(s)");
    }
    if !matches_node(ask.pod, node) {
        return hard("node(s) didn't match Pod's node affinity/selector");
    }
    if !ask.ports.is_empty() && ports_taken(ask, node) {
        return vec![Obstacle::soft(
            "node(s) didn't have free ports for the requested pod ports",
        )];
    }
    room(ask, node)
}

/// Whether a Pod bears a taint.
pub(crate) fn tolerates(pod: &Value, taint: &Value) -> bool {
    let of = |value: &Value, at: &str| meta::text_at(value, at).to_owned();
    meta::entries(pod, "/spec/tolerations").any(|t| {
        let effect = of(t, "/effect");
        let key = of(t, "/key");
        let all = of(t, "/operator") == "Exists";
        (effect.is_empty() || effect == of(taint, "/effect"))
            && (key == of(taint, "/key") || key.is_empty() && all)
            && (all || of(t, "/value") == of(taint, "/value"))
    })
}

/// Whether a node is one that the Pod's selector and affinity accept.
pub(crate) fn matches_node(pod: &Value, node: &NodeFacts) -> bool {
    let selector = pod.pointer("/spec/nodeSelector").and_then(Value::as_object);
    if selector.is_some_and(|s| s.iter().any(|(k, v)| node.labels.get(k) != Some(v))) {
        return false;
    }
    let required = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    pod.pointer(required).is_none_or(|r| matches_terms(r, node))
}

/// Whether one of the terms of a node selector accepts a node.
pub(crate) fn matches_terms(selector: &Value, node: &NodeFacts) -> bool {
    let fields: Map<String, Value> = [("metadata.name".to_owned(), Value::from(&*node.name))]
        .into_iter()
        .collect();
    meta::entries(selector, "/nodeSelectorTerms").any(|term| {
        let mut some = false;
        let mut holds = |list: &str, facts: &Map<String, Value>| {
            meta::entries(term, list).all(|e| {
                some = true;
                matches_expression(e, facts)
            })
        };
        let fine = holds("/matchExpressions", &node.labels) && holds("/matchFields", &fields);
        fine && some
    })
}

fn matches_expression(expression: &Value, facts: &Map<String, Value>) -> bool {
    let operator = meta::text_at(expression, "/operator");
    let value = facts
        .get(meta::text_at(expression, "/key"))
        .and_then(Value::as_str);
    let mut values = meta::entries(expression, "/values").filter_map(Value::as_str);
    match operator {
        "In" => value.is_some_and(|v| values.any(|w| w == v)),
        "NotIn" => value.is_none_or(|v| values.all(|w| w != v)),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" | "Lt" => {
            let number = |t: &str| t.parse::<i64>().ok();
            let pair = value.and_then(number).zip(values.next().and_then(number));
            pair.is_some_and(|(v, w)| if operator == "Gt" { v > w } else { v < w })
        }
        _ => false,
    }
}

fn ports_taken(ask: &Ask<'_>, node: &NodeFacts) -> bool {
    node.pods.iter().any(|(namespace, name)| {
        let other = ask.view.get(PODS, namespace, name);
        other.is_some_and(|other| host_ports(&other).iter().any(|p| ask.ports.contains(p)))
    })
}

fn room(ask: &Ask<'_>, node: &NodeFacts) -> Vec<Obstacle> {
    let mut against = Vec::new();
    if node.pods.len() as i64 + 1 > node.allocatable.get("pods") {
        against.push(Obstacle::soft("Too many pods"));
    }
    for (name, wants) in &ask.requests.0 {
        let has = node.allocatable.get(name);
        if *wants > 0 && *wants > has - node.used.get(name) {
            let reason = format!("Insufficient {name}");
            // What is larger than the node fits never.
            against.push(if *wants > has {
                Obstacle::hard(reason)
            } else {
                Obstacle::soft(reason)
            });
        }
    }
    against
}

/// The selector of a term of an affinity.
pub(super) fn term_selector(term: &Value) -> LabelSelector {
    LabelSelector::from_spec(term.get("labelSelector")).unwrap_or_else(|_| LabelSelector::nothing())
}
