//! Why other Pods keep a Pod from a node: affinity, anti-affinity, spreading.

use super::filter::{Ask, Obstacle, term_selector};
use crate::index::{NodeFacts, PodFacts};
use crate::object::count;
use model::{Value, meta};
use std::collections::BTreeMap;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// What stands against a node.
pub(super) fn obstacle(ask: &Ask<'_>, node: &NodeFacts) -> Option<Obstacle> {
    spread(ask, node).or_else(|| affinity(ask, node))
}

fn affinity(ask: &Ask<'_>, node: &NodeFacts) -> Option<Obstacle> {
    let terms = |kind: &str| meta::entries(ask.pod, &format!("/spec/affinity/{kind}/{REQUIRED}"));
    for term in terms("podAffinity") {
        if !is_near(ask, node, term) && !is_first_of_its_kind(ask, node, term) {
            return Some(Obstacle::hard("node(s) didn't match pod affinity rules"));
        }
    }
    for term in terms("podAntiAffinity") {
        if is_near(ask, node, term) {
            let reason = "node(s) didn't match pod anti-affinity rules";
            return Some(Obstacle::soft(reason));
        }
    }
    None
}

// The value of a topology key on a node.
fn domain<'a>(node: &'a NodeFacts, key: &str) -> Option<&'a str> {
    node.labels.get(key).and_then(Value::as_str)
}

// Whether a Pod that a term selects runs in the node's domain.
fn is_near(ask: &Ask<'_>, node: &NodeFacts, term: &Value) -> bool {
    let key = meta::text_at(term, "/topologyKey");
    let Some(here) = domain(node, key) else {
        return false;
    };
    placed(ask, term).any(|pod| {
        let there = pod.node.as_deref().and_then(|n| ask.view.index.node(n));
        there.and_then(|n| domain(n, key)) == Some(here)
    })
}

// A Pod that is to be near its own kind may be the first one.
fn is_first_of_its_kind(ask: &Ask<'_>, node: &NodeFacts, term: &Value) -> bool {
    let key = meta::text_at(term, "/topologyKey");
    domain(node, key).is_some()
        && placed(ask, term).next().is_none()
        && term_selector(term).matches_object(ask.pod)
}

// The Pods on nodes that a term selects.
fn placed<'a>(ask: &Ask<'a>, term: &Value) -> impl Iterator<Item = &'a PodFacts> {
    let selector = term_selector(term);
    let own = meta::namespace(ask.pod).to_owned();
    let mut namespaces: Vec<String> = meta::entries(term, "/namespaces")
        .filter_map(|n| n.as_str().map(str::to_owned))
        .collect();
    let everywhere = term.get("namespaceSelector").is_some();
    if namespaces.is_empty() && !everywhere {
        namespaces.push(own);
    }
    let all: Vec<&PodFacts> = if everywhere {
        ask.view.index.all_pods().collect()
    } else {
        let of = |n: &String| ask.view.index.pods(n).collect::<Vec<_>>();
        namespaces.iter().flat_map(of).collect()
    };
    all.into_iter().filter(move |pod| {
        pod.node.is_some() && pod.is_active() && selector.matches(Some(&pod.labels))
    })
}

fn spread(ask: &Ask<'_>, node: &NodeFacts) -> Option<Obstacle> {
    let reason = "node(s) didn't match pod topology spread constraints";
    for rule in meta::entries(ask.pod, "/spec/topologySpreadConstraints") {
        if rule["whenUnsatisfiable"] != "DoNotSchedule" {
            continue;
        }
        let key = meta::text_at(rule, "/topologyKey");
        let Some(here) = domain(node, key) else {
            return Some(Obstacle::hard(format!("{reason} (missing required label)")));
        };
        let mut counts: BTreeMap<&str, i64> = ask
            .view
            .index
            .nodes()
            .filter_map(|n| domain(n, key))
            .map(|value| (value, 0))
            .collect();
        for pod in placed(ask, rule) {
            let there = pod.node.as_deref().and_then(|n| ask.view.index.node(n));
            if let Some(value) = there.and_then(|n| domain(n, key)) {
                *counts.entry(value).or_default() += 1;
            }
        }
        let least = counts.values().copied().min().unwrap_or(0);
        let own = i64::from(term_selector(rule).matches_object(ask.pod));
        let mine = counts.get(here).copied().unwrap_or(0) + own;
        if mine - least > count(rule, "/maxSkew").max(1) {
            return Some(Obstacle::soft(reason));
        }
    }
    None
}
