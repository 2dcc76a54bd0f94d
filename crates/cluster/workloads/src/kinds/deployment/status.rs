//! What a Deployment says of itself.

use super::Look;
use crate::object::{condition_in, conditions, count};
use crate::view::View;
use model::{Timestamp, Value, json, meta};

/// A status that is being written.
#[derive(Debug)]
pub(super) struct Draft {
    conditions: Vec<Value>,
    pub(super) collisions: i64,
    has_collisions: bool,
    /// The revision to note on the Deployment.
    pub(super) revision: Option<String>,
    /// The conditions at the moment a new set was made.
    pub(super) birth: Option<Vec<Value>>,
}

/// The sums over all sets.
#[derive(Debug)]
pub(super) struct Totals {
    replicas: i64,
    updated: i64,
    ready: i64,
    available: i64,
    unavailable: i64,
    terminating: i64,
}

impl Totals {
    pub(super) fn of(look: &Look<'_>) -> Self {
        let sum = |of: fn(&super::ReplicaSet) -> i64| look.sets.iter().map(of).sum::<i64>();
        let available = sum(|s| s.available);
        Self {
            replicas: sum(|s| s.status_replicas),
            updated: look.new.map_or(0, |i| look.sets[i].status_replicas),
            ready: sum(|s| s.ready),
            available,
            unavailable: (sum(|s| s.replicas) - available).max(0),
            terminating: sum(|s| s.terminating),
        }
    }

    /// Whether everything is as asked for.
    pub(super) fn is_complete(&self, look: &Look<'_>) -> bool {
        let wanted = look.replicas();
        self.updated == wanted && self.replicas == wanted && self.available == wanted
    }

    // Whether something got better since the last status.
    fn is_progress(&self, deployment: &Value) -> bool {
        let old = |field: &str| count(deployment, &format!("/status/{field}"));
        let updated = old("updatedReplicas");
        self.updated > updated
            || self.replicas - self.updated < old("replicas") - updated
            || self.ready > old("readyReplicas")
            || self.available > old("availableReplicas")
    }
}

impl Draft {
    pub(super) fn of(deployment: &Value) -> Self {
        Self {
            conditions: conditions(deployment),
            collisions: count(deployment, "/status/collisionCount"),
            has_collisions: deployment.pointer("/status/collisionCount").is_some(),
            revision: None,
            birth: None,
        }
    }

    pub(super) fn conditions(&self) -> &[Value] {
        &self.conditions
    }

    /// Why the roll-out stands where it stands.
    pub(super) fn progress_reason(&self) -> &str {
        condition_in(&self.conditions, "Progressing").map_or("", |c| meta::text_at(c, "/reason"))
    }

    pub(super) fn progress_updated(&self) -> Option<Timestamp> {
        let condition = condition_in(&self.conditions, "Progressing")?;
        Timestamp::parse(meta::text_at(condition, "/lastUpdateTime"))
    }

    pub(super) fn set_progress(
        &mut self,
        view: &View<'_>,
        status: &str,
        reason: &str,
        message: &str,
    ) {
        self.set(view, ["Progressing", status, reason, message]);
    }

    // One with the same status and reason stays as it is.
    fn set(&mut self, view: &View<'_>, [kind, status, reason, message]: [&str; 4]) {
        let now = view.now.rfc3339();
        let mut since = now.clone();
        if let Some(old) = condition_in(&self.conditions, kind) {
            if old["status"] == status && old["reason"] == reason {
                return;
            }
            if old["status"] == status {
                meta::text_at(old, "/lastTransitionTime").clone_into(&mut since);
            }
        }
        self.conditions.retain(|c| c["type"] != kind);
        self.conditions.push(json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastUpdateTime": now, "lastTransitionTime": since,
        }));
    }

    // Something moved: the deadline starts anew, even when the words are the same.
    fn refresh_progress(&mut self, view: &View<'_>, message: &str) {
        let old = condition_in(&self.conditions, "Progressing").cloned();
        self.conditions.retain(|c| c["type"] != "Progressing");
        self.set_progress(view, "True", "ReplicaSetUpdated", message);
        if let (Some(old), Some(new)) = (old, self.conditions.last_mut())
            && old["status"] == "True"
        {
            new["lastTransitionTime"] = old["lastTransitionTime"].clone();
        }
    }

    pub(super) fn status(&self, totals: &Totals, generation: i64) -> Value {
        let mut status = json!({"observedGeneration": generation});
        for (field, value) in [
            ("replicas", totals.replicas),
            ("updatedReplicas", totals.updated),
            ("readyReplicas", totals.ready),
            ("availableReplicas", totals.available),
            ("unavailableReplicas", totals.unavailable),
        ] {
            if value > 0 {
                status[field] = value.into();
            }
        }
        status["terminatingReplicas"] = totals.terminating.into();
        if !self.conditions.is_empty() {
            status["conditions"] = self.conditions.clone().into();
        }
        if self.has_collisions || self.collisions > 0 {
            status["collisionCount"] = self.collisions.into();
        }
        status
    }
}

/// Whether enough Pods serve.
pub(super) fn availability(look: &mut Look<'_>, totals: &Totals) {
    let words = if totals.available >= look.replicas() - look.max_unavailable() {
        [
            "Available",
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        ]
    } else {
        [
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        ]
    };
    look.draft.set(look.view, words);
}

/// How the roll-out goes, and whether Pods cannot be made.
pub(super) fn judge(look: &mut Look<'_>, totals: &Totals) {
    // The availability comes first in the list.
    availability(look, totals);
    if look.deadline().is_none() {
        look.draft.conditions.retain(|c| c["type"] != "Progressing");
    }
    let settled = look.draft.progress_reason() == "NewReplicaSetAvailable"
        && totals.replicas == totals.updated;
    if let Some(deadline) = look.deadline().filter(|_| !settled) {
        progress(look, totals, deadline);
    }
    let new = look.new;
    let mut order: Vec<usize> = new.into_iter().collect();
    order.extend(look.old());
    let failure = order
        .into_iter()
        .find_map(|i| look.sets[i].failure())
        .cloned();
    match failure {
        Some(failure) => {
            let text = |field: &str| meta::text_at(&failure, field).to_owned();
            let (status, reason, message) = (text("/status"), text("/reason"), text("/message"));
            look.draft
                .set(look.view, ["ReplicaFailure", &status, &reason, &message]);
        }
        None => look
            .draft
            .conditions
            .retain(|c| c["type"] != "ReplicaFailure"),
    }
}

fn progress(look: &mut Look<'_>, totals: &Totals, deadline: i64) {
    let who = match look.new {
        Some(i) => format!("ReplicaSet {:?}", look.sets[i].name),
        None => format!("Deployment {:?}", meta::name(look.deployment)),
    };
    let view = look.view;
    if totals.is_complete(look) {
        let message = format!("{who} has successfully progressed.");
        look.draft
            .set_progress(view, "True", "NewReplicaSetAvailable", &message);
    } else if totals.is_progress(look.deployment) {
        let message = format!("{who} is progressing.");
        look.draft.refresh_progress(view, &message);
    } else if is_overdue(&look.draft, deadline, view.now) {
        let message = format!("{who} has timed out progressing.");
        look.draft
            .set_progress(view, "False", "ProgressDeadlineExceeded", &message);
    }
}

fn is_overdue(draft: &Draft, deadline: i64, now: Timestamp) -> bool {
    match draft.progress_reason() {
        "" | "NewReplicaSetAvailable" => false,
        "ProgressDeadlineExceeded" => true,
        _ => draft
            .progress_updated()
            .is_some_and(|since| since.plus_seconds(deadline) < now),
    }
}
