//! What the controllers of Pods share: batches of new Pods, which ones to delete first, the events
//! that tell of both.

use crate::act::{Act, CONTROLLERS, NAME, create, delete};
use crate::event::{Grade, Note, about, about_nth};
use crate::index::{Phase, PodFacts};
use crate::object::{POD, Type};
use crate::view::View;
use model::{Timestamp, Value, meta};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// At most this many Pods are made or deleted at a time.
pub(crate) const BURST_MAX: i64 = 500;
/// A longer prefix of a generated name is cut.
const GENERATED_MAX: usize = 58;

/// The batch in which the n-th of several new Pods is made: 1, 2, 4, 8 and so on at a time, so
/// that a refusal does not come a thousand times.
pub(crate) fn batch(n: i64) -> u32 {
    (n as u64 + 1).ilog2()
}

/// Makes a Pod, and tells of it. One without a name gets one that begins with its owner's.
pub(crate) fn make(
    view: &View<'_>,
    (kind, owner): (&Type, &Value),
    component: &str,
    mut pod: Value,
    n: i64,
) -> Act {
    let mut prefix = meta::text(&pod, "generateName").to_owned();
    if prefix.is_empty() {
        prefix = format!("{}-", meta::name(owner));
        meta::set_text(&mut pod, "generateName", &prefix);
    }
    // The server cuts long prefixes.
    prefix.truncate(GENERATED_MAX);
    let note = Note {
        component,
        grade: Grade::Normal,
        reason: "SuccessfulCreate",
        message: &format!("Created pod: {NAME}"),
    };
    let told = about_nth(view, kind, owner, note, n);
    let path = POD.collection(meta::namespace(owner));
    let mut act = create(CONTROLLERS, path, &pod)
        .tell(batch(n))
        .and_then(told);
    act.prefix = prefix;
    act
}

/// Deletes a Pod.
pub(crate) fn remove(pod: &PodFacts) -> Act {
    delete(CONTROLLERS, POD.path(&pod.namespace, &pod.name), &pod.uid)
}

/// The event of a Pod that is being deleted.
pub(crate) fn deleted_event(
    view: &View<'_>,
    (kind, owner): (&Type, &Value),
    component: &str,
    pod: &str,
) -> Act {
    let note = Note {
        component,
        grade: Grade::Normal,
        reason: "SuccessfulDelete",
        message: &format!("Deleted pod: {pod}"),
    };
    about(view, kind, owner, note)
}

/// The event of a Pod that could not be made.
pub(crate) fn refused_event(
    view: &View<'_>,
    (kind, owner): (&Type, &Value),
    component: &str,
    why: &str,
) -> Act {
    let note = Note {
        component,
        grade: Grade::Warning,
        reason: "FailedCreate",
        message: &format!("Error creating: {why}"),
    };
    about(view, kind, owner, note)
}

/// Sorts Pods so that those come first that can best be spared.
pub(crate) fn spare_first(pods: &mut [&PodFacts], related: &[&PodFacts], now: Timestamp) {
    let mut crowd: BTreeMap<&str, i64> = BTreeMap::new();
    for pod in related.iter().filter(|p| p.is_active()) {
        if let Some(node) = &pod.node {
            *crowd.entry(node).or_default() += 1;
        }
    }
    let rank = |pod: &PodFacts| {
        let node = pod.node.as_deref();
        node.and_then(|n| crowd.get(n)).copied().unwrap_or(0)
    };
    pods.sort_by(|a, b| spare_order(a, b, (rank(a), rank(b)), now));
}

fn spare_order(a: &PodFacts, b: &PodFacts, ranks: (i64, i64), now: Timestamp) -> Ordering {
    let stage = |phase: Phase| match phase {
        Phase::Pending => 0,
        Phase::Unknown => 1,
        _ => 2,
    };
    // Young Pods go first; ages are compared by their magnitude alone.
    let age = |since: Timestamp| {
        let seconds = (now.seconds() - since.seconds()).max(0) as u64;
        (seconds + 1).ilog2()
    };
    a.node
        .is_some()
        .cmp(&b.node.is_some())
        .then(stage(a.phase).cmp(&stage(b.phase)))
        .then(a.ready.is_some().cmp(&b.ready.is_some()))
        .then(a.deletion_cost.cmp(&b.deletion_cost))
        .then(ranks.1.cmp(&ranks.0))
        .then_with(|| match (a.ready, b.ready) {
            (Some(x), Some(y)) => age(x).cmp(&age(y)),
            _ => Ordering::Equal,
        })
        .then(b.restarts.cmp(&a.restarts))
        .then_with(|| age(a.created).cmp(&age(b.created)))
        .then_with(|| a.uid.cmp(&b.uid))
}

/// How many Pods are ready, how many for long enough, and when the next one will be.
pub(crate) fn readiness(
    pods: &[&PodFacts],
    min_ready_seconds: i64,
    now: Timestamp,
) -> (i64, i64, Option<Timestamp>) {
    let (mut ready, mut available, mut next) = (0, 0, None);
    for pod in pods {
        let Some(at) = pod.available(min_ready_seconds) else {
            continue;
        };
        ready += 1;
        if at <= now {
            available += 1;
        } else {
            next = crate::object::earlier(next, Some(at));
        }
    }
    (ready, available, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_double() {
        let batches: Vec<u32> = (0..8).map(batch).collect();
        assert_eq!(batches, [0, 1, 1, 2, 2, 2, 2, 3]);
    }
}
