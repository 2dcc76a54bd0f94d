//! DaemonSets: one Pod on every node that will have it.

use super::pods;
use super::revision;
use super::scheduler::{matches_node, tolerates};
use crate::act::{CONTROLLERS, Reaction, Refusal, patch};
use crate::event::{Grade, Note, about};
use crate::index::{NodeFacts, Phase, PodFacts};
use crate::object::{self, DAEMON_SET, count, flag, pod_of_template, scaled};
use crate::view::{DAEMON_SETS, View};
use model::{Value, json, meta};
use std::collections::BTreeMap;

const COMPONENT: &str = "daemonset-controller";
const HASH: &str = "controller-revision-hash";

/// One look at one DaemonSet.
struct Look<'a> {
    view: &'a View<'a>,
    set: &'a Value,
    hash: String,
    /// Its Pods by the node they are for.
    pods: BTreeMap<&'a str, Vec<&'a PodFacts>>,
    reaction: Reaction,
}

/// Looks at one DaemonSet.
pub(super) fn step(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(set) = view.get(DAEMON_SETS, namespace, name) else {
        return reaction;
    };
    if meta::deletion_timestamp(&set).is_some() {
        return reaction;
    }
    let mut known = revision::list(view, &set);
    let newest = revision::newest(&DAEMON_SET, &set, &mut known, HASH, &mut reaction.acts);
    let hash = newest
        .name
        .rsplit_once('-')
        .map_or("", |(_, hash)| hash)
        .to_owned();
    let mut by_node: BTreeMap<&str, Vec<&PodFacts>> = BTreeMap::new();
    let mut used = vec![newest.name.clone()];
    for pod in view.pods_of(meta::uid(&set)) {
        let node = pod
            .node
            .as_deref()
            .or(pod.wants_node.as_deref())
            .unwrap_or("");
        by_node.entry(node).or_default().push(pod);
        let label = pod.labels.get(HASH).and_then(Value::as_str).unwrap_or("");
        used.push(format!("{name}-{label}"));
    }
    let mut look = Look {
        view,
        set: &set,
        hash,
        pods: by_node,
        reaction,
    };
    look.manage();
    look.renew();
    look.report();
    let used: Vec<&str> = used.iter().map(String::as_str).collect();
    revision::clean_up(&set, &known, &used, &mut look.reaction.acts);
    look.reaction
}

/// Hears that a Pod could not be made.
pub(super) fn refused(view: &View<'_>, namespace: &str, name: &str, why: &Refusal) -> Reaction {
    let mut reaction = Reaction::default();
    let set = view.get(DAEMON_SETS, namespace, name);
    if let Some(set) = set.filter(|_| !why.is_namespace_going()) {
        reaction.push(pods::refused_event(
            view,
            (&DAEMON_SET, &set),
            COMPONENT,
            &why.message,
        ));
    }
    reaction
}

impl<'a> Look<'a> {
    fn nodes(&self) -> impl Iterator<Item = &'a NodeFacts> + use<'a> {
        self.view.index.nodes().filter(|n| n.exists())
    }

    // A Pod as it would be on a node.
    fn pod_for(&self, node: &str) -> Value {
        let template = self
            .set
            .pointer("/spec/template")
            .cloned()
            .unwrap_or_default();
        let mut pod = pod_of_template(&template, DAEMON_SET.controller_ref(self.set));
        let labels = meta::metadata_mut(&mut pod)
            .entry("labels")
            .or_insert_with(|| json!({}));
        labels[HASH] = self.hash.as_str().into();
        let generation = meta::annotation(self.set, "deprecated.daemonset.template.generation");
        if let Some(generation) = generation {
            labels["pod-template-generation"] = generation.into();
        }
        let spec = &mut pod["spec"];
        let field = json!([{"key": "metadata.name", "operator": "In", "values": [node]}]);
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let mut terms = spec["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"].take();
        if !terms.is_array() {
            terms = json!([{}]);
        }
        for term in terms.as_array_mut().into_iter().flatten() {
            term["matchFields"] = field.clone();
        }
        spec["affinity"]["nodeAffinity"][required] = json!({"nodeSelectorTerms": terms});
        let mut list: Vec<Value> = meta::entries(spec, "/tolerations").cloned().collect();
        let mut borne = vec![
            ("not-ready", "NoExecute"),
            ("unreachable", "NoExecute"),
            ("disk-pressure", "NoSchedule"),
            ("memory-pressure", "NoSchedule"),
            ("pid-pressure", "NoSchedule"),
            ("unschedulable", "NoSchedule"),
        ];
        if flag(spec, "/hostNetwork") {
            borne.push(("network-unavailable", "NoSchedule"));
        }
        list.extend(borne.into_iter().map(|(key, effect)| {
            json!({
                "key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": effect,
            })
        }));
        spec["tolerations"] = list.into();
        pod
    }

    // Whether a Pod should run on a node, and whether one that is there may stay.
    fn wants(&self, node: &NodeFacts) -> (bool, bool) {
        let pod = self.pod_for(&node.name);
        if !matches_node(&pod, node) {
            return (false, false);
        }
        let bears = |effect: &str| {
            let mut taints = node.taints.iter().filter(|t| t["effect"] == effect);
            taints.all(|t| tolerates(&pod, t))
        };
        (
            bears("NoSchedule") && bears("NoExecute"),
            bears("NoExecute"),
        )
    }

    fn manage(&mut self) {
        let mut n = 0;
        for node in self.nodes() {
            let (run, stay) = self.wants(node);
            let here = self.pods.get(&*node.name).cloned().unwrap_or_default();
            let failed: Vec<&PodFacts> = here
                .iter()
                .copied()
                .filter(|p| p.phase == Phase::Failed && !p.deleting)
                .collect();
            for pod in &failed {
                let message = format!(
                    "Found failed daemon pod {}/{} on node {}, will try to kill it",
                    pod.namespace, pod.name, node.name
                );
                self.tell("FailedDaemonPod", Grade::Warning, &message);
                self.remove(pod);
            }
            let alive = here
                .iter()
                .any(|p| !failed.iter().any(|f| f.name == p.name));
            if run && !alive && failed.is_empty() {
                let pod = self.pod_for(&node.name);
                let act = pods::make(self.view, (&DAEMON_SET, self.set), COMPONENT, pod, n);
                self.reaction.push(act);
                n += 1;
            }
            if !stay {
                for pod in here.iter().filter(|p| !p.deleting) {
                    self.remove(pod);
                }
            }
        }
    }

    fn tell(&mut self, reason: &str, grade: Grade, message: &str) {
        let note = Note {
            component: COMPONENT,
            grade,
            reason,
            message,
        };
        let act = about(self.view, &DAEMON_SET, self.set, note);
        self.reaction.push(act);
    }

    fn remove(&mut self, pod: &PodFacts) {
        let told = pods::deleted_event(self.view, (&DAEMON_SET, self.set), COMPONENT, &pod.name);
        self.reaction.push(pods::remove(pod).and_then(told));
    }

    fn is_new(&self, pod: &PodFacts) -> bool {
        pod.labels.get(HASH).and_then(Value::as_str) == Some(&self.hash)
    }

    fn is_available(&self, pod: &PodFacts) -> bool {
        let least = count(self.set, "/spec/minReadySeconds");
        !pod.deleting && pod.available(least).is_some_and(|at| at <= self.view.now)
    }

    // Replaces Pods with an old template, as many at a time as may be missing.
    fn renew(&mut self) {
        let rolling = meta::text_at(self.set, "/spec/updateStrategy/type") == "RollingUpdate";
        if !rolling {
            return;
        }
        let wanted: Vec<&NodeFacts> = self.nodes().filter(|n| self.wants(n).0).collect();
        let most = self
            .set
            .pointer("/spec/updateStrategy/rollingUpdate/maxUnavailable");
        let most = scaled(most.or(Some(&json!(1))), wanted.len() as i64, true).max(1);
        let mut unavailable = 0;
        let (mut broken, mut healthy) = (Vec::new(), Vec::new());
        for node in &wanted {
            let here = self.pods.get(&*node.name).cloned().unwrap_or_default();
            if !here.iter().any(|p| self.is_available(p)) {
                unavailable += 1;
            }
            for pod in here.into_iter().filter(|p| !self.is_new(p) && !p.deleting) {
                if self.is_available(pod) {
                    healthy.push(pod);
                } else {
                    broken.push(pod);
                }
            }
        }
        for pod in broken {
            self.remove(pod);
        }
        let free = (most - unavailable).max(0) as usize;
        for pod in healthy.into_iter().take(free) {
            self.remove(pod);
        }
    }

    fn report(&mut self) {
        let least = count(self.set, "/spec/minReadySeconds");
        let (mut desired, mut current, mut wrong) = (0, 0, 0);
        let (mut ready, mut available, mut updated) = (0, 0, 0);
        let mut next = None;
        for node in self.nodes() {
            let here = self.pods.get(&*node.name).cloned().unwrap_or_default();
            let (run, _) = self.wants(node);
            if !run {
                wrong += i64::from(!here.is_empty());
                continue;
            }
            desired += 1;
            let mut alive: Vec<&PodFacts> = here.into_iter().filter(|p| !p.deleting).collect();
            alive.sort_by_key(|p| p.created);
            current += i64::from(!alive.is_empty());
            let Some(pod) = alive.first() else {
                continue;
            };
            ready += i64::from(pod.ready.is_some());
            updated += i64::from(self.is_new(pod));
            available += i64::from(self.is_available(pod));
            let due = pod.available(least).filter(|at| *at > self.view.now);
            next = object::earlier(next, due);
        }
        if let Some(at) = next {
            self.reaction.look_at(at);
        }
        let mut status = json!({
            "currentNumberScheduled": current, "desiredNumberScheduled": desired,
            "numberMisscheduled": wrong, "numberReady": ready,
            "observedGeneration": meta::generation(self.set),
        });
        for (field, value) in [
            ("updatedNumberScheduled", updated),
            ("numberAvailable", available),
            ("numberUnavailable", desired - available),
        ] {
            if value > 0 {
                status[field] = value.into();
            }
        }
        if let Some(n) = self.set.pointer("/status/collisionCount") {
            status["collisionCount"] = n.clone();
        }
        if self.set.get("status") == Some(&status) {
            return;
        }
        let body = json!({"status": object::replacing(self.set.get("status"), status)});
        let path = DAEMON_SET.status(meta::namespace(self.set), meta::name(self.set));
        self.reaction.push(patch(CONTROLLERS, path, &body));
    }
}
