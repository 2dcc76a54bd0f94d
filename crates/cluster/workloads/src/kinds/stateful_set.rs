//! StatefulSets: numbered Pods with claims of their own, made and renewed in order.

mod pod;

use super::revision::{self, Revision};
use crate::act::{Act, CONTROLLERS, Reaction, Refusal, create, delete, patch};
use crate::event::{Grade, Note, about};
use crate::object::{self, CLAIM, POD, STATEFUL_SET, count, is_condition_true, number, time};
use crate::view::{CLAIMS, PODS, STATEFUL_SETS, View};
use model::{Timestamp, Value, json, meta};
use std::collections::BTreeMap;

const COMPONENT: &str = "statefulset-controller";
const REVISION_LABEL: &str = "controller-revision-hash";

/// Looks at one StatefulSet.
pub(super) fn step(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(set) = view.get(STATEFUL_SETS, namespace, name) else {
        return reaction;
    };
    if meta::deletion_timestamp(&set).is_some() {
        return reaction;
    }
    let mut known = revision::list(view, &set);
    let update = revision::newest(
        &STATEFUL_SET,
        &set,
        &mut known,
        "controller.kubernetes.io/hash",
        &mut reaction.acts,
    );
    let said = meta::text_at(&set, "/status/currentRevision");
    let current = known
        .iter()
        .find(|r| r.name == said)
        .unwrap_or(&update)
        .clone();
    let mut pods = BTreeMap::new();
    for found in view.controlled(meta::uid(&set), PODS) {
        if let Some(n) = ordinal(&set, &found) {
            pods.insert(n, found);
        }
    }
    let mut look = Look {
        view,
        set: &set,
        pods,
        current,
        update,
        reaction,
    };
    look.go_on();
    look.report();
    let used = used(&look);
    let used: Vec<&str> = used.iter().map(String::as_str).collect();
    revision::clean_up(&set, &known, &used, &mut look.reaction.acts);
    look.reaction
}

fn used(look: &Look<'_>) -> Vec<String> {
    let mut used = vec![look.current.name.clone(), look.update.name.clone()];
    used.extend(look.pods.values().map(|p| revision_of(p).to_owned()));
    used
}

/// Hears that a Pod or a claim could not be made.
pub(super) fn refused(view: &View<'_>, namespace: &str, name: &str, why: &Refusal) -> Reaction {
    let mut reaction = Reaction::default();
    let set = view.get(STATEFUL_SETS, namespace, name);
    let Some(set) = set.filter(|_| !why.is_namespace_going() && why.reason != "AlreadyExists")
    else {
        return reaction;
    };
    let start = count(&set, "/spec/ordinals/start");
    let replicas = number(&set, "/spec/replicas").unwrap_or(1);
    let taken: Vec<i64> = view
        .pods_of(meta::uid(&set))
        .iter()
        .filter_map(|p| p.name.strip_prefix(&format!("{name}-"))?.parse().ok())
        .collect();
    let missing = (start..start + replicas)
        .find(|n| !taken.contains(n))
        .unwrap_or(start);
    let message = format!(
        "create Pod {name}-{missing} in StatefulSet {name} failed error: {}",
        why.message
    );
    let note = Note {
        component: COMPONENT,
        grade: Grade::Warning,
        reason: "FailedCreate",
        message: &message,
    };
    reaction.push(about(view, &STATEFUL_SET, &set, note));
    reaction
}

// The number at the end of a Pod's name.
fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    let rest = meta::name(pod).strip_prefix(meta::name(set))?;
    rest.strip_prefix('-')?.parse().ok()
}

fn revision_of(pod: &Value) -> &str {
    meta::label(pod, REVISION_LABEL).unwrap_or("")
}

fn is_going(pod: &Value) -> bool {
    meta::deletion_timestamp(pod).is_some()
}

fn is_over(pod: &Value) -> bool {
    matches!(meta::text_at(pod, "/status/phase"), "Failed" | "Succeeded")
}

fn is_ready(pod: &Value) -> bool {
    meta::text_at(pod, "/status/phase") == "Running" && is_condition_true(pod, "Ready")
}

/// One look at one StatefulSet.
struct Look<'a> {
    view: &'a View<'a>,
    set: &'a Value,
    pods: BTreeMap<i64, Value>,
    current: Revision,
    update: Revision,
    reaction: Reaction,
}

impl Look<'_> {
    fn start(&self) -> i64 {
        count(self.set, "/spec/ordinals/start")
    }

    fn replicas(&self) -> i64 {
        number(self.set, "/spec/replicas").unwrap_or(1)
    }

    fn is_parallel(&self) -> bool {
        meta::text_at(self.set, "/spec/podManagementPolicy") == "Parallel"
    }

    // When a Pod has been ready for long enough.
    fn available(&self, pod: &Value) -> Option<Timestamp> {
        let ready = object::condition(pod, "Ready").filter(|_| is_ready(pod))?;
        let since = time(ready, "/lastTransitionTime").unwrap_or_default();
        Some(since.plus_seconds(count(self.set, "/spec/minReadySeconds")))
    }

    fn is_available(&self, pod: &Value) -> bool {
        self.available(pod).is_some_and(|at| at <= self.view.now)
    }

    fn is_healthy(&self, pod: &Value) -> bool {
        is_ready(pod) && !is_going(pod)
    }

    fn go_on(&mut self) {
        if self.keep() && self.shrink() {
            self.renew();
        }
    }

    // Makes what is missing; whether the others may be looked at.
    fn keep(&mut self) -> bool {
        let mut all_well = true;
        for n in self.start()..self.start() + self.replicas() {
            let well = self.keep_one(n);
            all_well &= well;
            if !well && !self.is_parallel() {
                return false;
            }
        }
        all_well || self.is_parallel()
    }

    fn keep_one(&mut self, n: i64) -> bool {
        let Some(pod) = self.pods.get(&n) else {
            self.make(n);
            return false;
        };
        if is_over(pod) {
            if !is_going(pod) {
                let name = meta::name(pod).to_owned();
                let message = format!(
                    "StatefulSet {}/{} is recreating failed Pod {name}",
                    meta::namespace(self.set),
                    meta::name(self.set)
                );
                let told = self.note(Grade::Warning, "RecreatingFailedPod", &message);
                self.reaction.push(told);
                let act = self.removal(n);
                self.reaction.acts.extend(act);
            }
            return false;
        }
        let available = self.available(pod);
        let here = self.is_available(pod) && !is_going(pod);
        if let Some(at) = available.filter(|at| *at > self.view.now) {
            self.reaction.look_at(at);
        }
        self.claims(n, false);
        here
    }

    fn make(&mut self, n: i64) {
        self.claims(n, true);
        let template = if self.wants_current(n) {
            self.current.clone()
        } else {
            self.update.clone()
        };
        let pod = pod::make(self.set, n, &template.template, &template.name);
        let name = meta::name(&pod).to_owned();
        let message = format!(
            "Create Pod {name} in StatefulSet {} successful",
            meta::name(self.set)
        );
        let told = self.note(Grade::Normal, "SuccessfulCreate", &message);
        let path = POD.collection(meta::namespace(self.set));
        let act = create(CONTROLLERS, path, &pod).tell(0).and_then(told);
        self.reaction.push(act);
    }

    // Whether a Pod of this number is still made from the old template.
    fn wants_current(&self, n: i64) -> bool {
        let rolling = self
            .set
            .pointer("/spec/updateStrategy/rollingUpdate/partition");
        let partition = rolling.and_then(Value::as_i64).unwrap_or(0);
        if partition > 0 {
            return n < self.start() + partition;
        }
        n < self.start() + count(self.set, "/status/currentReplicas")
    }

    fn claims(&mut self, n: i64, told: bool) {
        for claim in pod::claims(self.set, n) {
            let namespace = meta::namespace(self.set);
            if self.view.exists(CLAIMS, namespace, meta::name(&claim)) {
                continue;
            }
            let message = format!(
                "Create Claim {} Pod {1}-{n} in StatefulSet {1} success",
                meta::name(&claim),
                meta::name(self.set)
            );
            let mut act = create(CONTROLLERS, CLAIM.collection(namespace), &claim).tell(0);
            if told {
                act = act.and_then(self.note(Grade::Normal, "SuccessfulCreate", &message));
            }
            self.reaction.push(act);
        }
    }

    fn note(&self, grade: Grade, reason: &str, message: &str) -> Act {
        let note = Note {
            component: COMPONENT,
            grade,
            reason,
            message,
        };
        about(self.view, &STATEFUL_SET, self.set, note)
    }

    fn removal(&self, n: i64) -> Option<Act> {
        let pod = self.pods.get(&n)?;
        let message = format!(
            "Delete Pod {} in StatefulSet {} successful",
            meta::name(pod),
            meta::name(self.set)
        );
        let told = self.note(Grade::Normal, "SuccessfulDelete", &message);
        let path = POD.path(meta::namespace(pod), meta::name(pod));
        Some(delete(CONTROLLERS, path, meta::uid(pod)).and_then(told))
    }

    // Removes what is too many, the highest first; whether nothing is left to remove.
    fn shrink(&mut self) -> bool {
        let range = self.start()..self.start() + self.replicas();
        let surplus: Vec<i64> = self
            .pods
            .keys()
            .copied()
            .filter(|n| !range.contains(n))
            .collect();
        for n in surplus.iter().rev() {
            let pod = &self.pods[n];
            if is_going(pod) {
                if self.is_parallel() {
                    continue;
                }
                return false;
            }
            let act = self.removal(*n);
            self.reaction.acts.extend(act);
            if !self.is_parallel() {
                return false;
            }
        }
        surplus.is_empty()
    }

    // Replaces the highest Pod that has an old template, once those above it are well.
    fn renew(&mut self) {
        if meta::text_at(self.set, "/spec/updateStrategy/type") == "OnDelete" {
            return;
        }
        let partition = self
            .set
            .pointer("/spec/updateStrategy/rollingUpdate/partition");
        let lowest = self.start() + partition.and_then(Value::as_i64).unwrap_or(0);
        for n in (lowest..self.start() + self.replicas()).rev() {
            let Some(pod) = self.pods.get(&n) else {
                return;
            };
            if revision_of(pod) != self.update.name && !is_going(pod) {
                let act = self.removal(n);
                self.reaction.acts.extend(act);
                return;
            }
            if !self.is_healthy(pod) {
                return;
            }
        }
    }

    fn report(&mut self) {
        let alive: Vec<&Value> = self.pods.values().filter(|p| !is_over(p)).collect();
        let of = |revision: &str| {
            let mine = alive
                .iter()
                .filter(|p| revision_of(p) == revision && !is_going(p));
            mine.count() as i64
        };
        let ready = alive.iter().filter(|p| is_ready(p)).count() as i64;
        let available = alive.iter().filter(|p| self.is_available(p)).count() as i64;
        let (mut current, updated) = (of(&self.current.name), of(&self.update.name));
        let mut current_name = self.current.name.as_str();
        let replicas = alive.len() as i64;
        let rolling = meta::text_at(self.set, "/spec/updateStrategy/type") == "RollingUpdate";
        if rolling && updated == replicas && ready == replicas && replicas == self.replicas() {
            current = updated;
            current_name = &self.update.name;
        }
        let collisions = count(self.set, "/status/collisionCount");
        let mut status = json!({
            "replicas": replicas, "availableReplicas": available, "collisionCount": collisions,
            "currentRevision": current_name, "updateRevision": self.update.name,
            "observedGeneration": meta::generation(self.set),
        });
        for (field, value) in [
            ("readyReplicas", ready),
            ("currentReplicas", current),
            ("updatedReplicas", updated),
        ] {
            if value > 0 {
                status[field] = value.into();
            }
        }
        if self.set.get("status") == Some(&status) {
            return;
        }
        let body = json!({"status": object::replacing(self.set.get("status"), status)});
        let path = STATEFUL_SET.status(meta::namespace(self.set), meta::name(self.set));
        self.reaction.push(patch(CONTROLLERS, path, &body));
    }
}
