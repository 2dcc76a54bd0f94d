//! Deployments: one ReplicaSet per template, and the way from one to the next.
//!
//! ```text
//! Deployment + its sets ── step ──▶ scale requests, events, one status
//! ```

mod roll;
mod scale;
mod sets;
mod status;

use crate::act::{CONTROLLERS, Reaction, Refusal, patch};
use crate::event::{Grade, Note, about};
use crate::object::{self, DEPLOYMENT, count, flag, number, scaled};
use crate::view::{DEPLOYMENTS, REPLICA_SETS, View};
use model::{Value, json, meta};
use sets::ReplicaSet;
use status::Draft;

const COMPONENT: &str = "deployment-controller";
const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAXIMUM: &str = "deployment.kubernetes.io/max-replicas";
/// A deadline this long is none.
const NO_DEADLINE: i64 = i32::MAX as i64;

/// One look at one Deployment.
struct Look<'a> {
    view: &'a View<'a>,
    deployment: &'a Value,
    sets: Vec<ReplicaSet>,
    /// Which of the sets has the Deployment's template.
    new: Option<usize>,
    draft: Draft,
    reaction: Reaction,
}

/// Looks at one Deployment.
pub(super) fn step(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let Some(deployment) = view.get(DEPLOYMENTS, namespace, name) else {
        return Reaction::default();
    };
    let mut look = Look::new(view, &deployment);
    if meta::deletion_timestamp(&deployment).is_some() {
        look.report(false);
        return look.reaction;
    }
    if look.note_pause() {
        look.report_progress();
        return look.reaction;
    }
    if flag(&deployment, "/spec/paused") {
        look.resize();
        look.clean_up();
        look.report(false);
    } else if look.was_scaled() {
        look.find_new();
        look.resize();
        look.report(false);
    } else {
        look.roll_out();
        look.report(true);
    }
    look.reaction
}

/// Hears that a ReplicaSet could not be made.
pub(super) fn refused(view: &View<'_>, namespace: &str, name: &str, refusal: &Refusal) -> Reaction {
    let Some(deployment) = view.get(DEPLOYMENTS, namespace, name) else {
        return Reaction::default();
    };
    let mut look = Look::new(view, &deployment);
    if refusal.is_namespace_going() {
        return look.reaction;
    }
    if refusal.reason == "AlreadyExists" {
        // Somebody else's set has the name: the next one is another.
        look.draft.collisions += 1;
        look.report(false);
        return look.reaction;
    }
    let set = look.new_name();
    let message = format!(
        "Failed to create new replica set {set:?}: {}",
        refusal.message
    );
    look.draft
        .set_progress(view, "False", "ReplicaSetCreateError", &message);
    let note = Note {
        component: COMPONENT,
        grade: Grade::Warning,
        reason: "ReplicaSetCreateError",
        message: &message,
    };
    let told = about(view, &DEPLOYMENT, &deployment, note);
    look.reaction.push(told);
    look.report(false);
    look.reaction
}

impl<'a> Look<'a> {
    fn new(view: &'a View<'a>, deployment: &'a Value) -> Self {
        let mut sets: Vec<ReplicaSet> = view
            .controlled(meta::uid(deployment), REPLICA_SETS)
            .into_iter()
            .map(ReplicaSet::read)
            .collect();
        sets.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.name.cmp(&b.name)));
        let template = deployment.pointer("/spec/template");
        let new = template.and_then(|t| sets.iter().position(|s| s.has_template(t)));
        Self {
            view,
            deployment,
            sets,
            new,
            draft: Draft::of(deployment),
            reaction: Reaction::default(),
        }
    }

    fn replicas(&self) -> i64 {
        number(self.deployment, "/spec/replicas").unwrap_or(1)
    }

    fn is_rolling(&self) -> bool {
        meta::text_at(self.deployment, "/spec/strategy/type") == "RollingUpdate"
    }

    fn deadline(&self) -> Option<i64> {
        number(self.deployment, "/spec/progressDeadlineSeconds").filter(|s| *s != NO_DEADLINE)
    }

    // How many Pods there may be above, and how many missing below, what is asked for.
    fn margins(&self) -> (i64, i64) {
        if !self.is_rolling() {
            return (0, 0);
        }
        let rolling = |field: &str| {
            let at = format!("/spec/strategy/rollingUpdate/{field}");
            self.deployment.pointer(&at)
        };
        let total = self.replicas();
        let surge = scaled(rolling("maxSurge"), total, true);
        let unavailable = scaled(rolling("maxUnavailable"), total, false);
        if surge == 0 && unavailable == 0 {
            (0, 1)
        } else {
            (surge, unavailable)
        }
    }

    fn max_surge(&self) -> i64 {
        self.margins().0
    }

    fn max_unavailable(&self) -> i64 {
        let total = self.replicas();
        if total == 0 {
            0
        } else {
            self.margins().1.min(total)
        }
    }

    fn old(&self) -> impl Iterator<Item = usize> + use<> {
        let new = self.new;
        (0..self.sets.len()).filter(move |i| Some(*i) != new)
    }

    // All Pods that are asked for by all sets.
    fn asked(&self) -> i64 {
        self.sets.iter().map(|s| s.replicas).sum()
    }

    // Whether a pause began or ended.
    fn note_pause(&mut self) -> bool {
        if self.deadline().is_none() {
            return false;
        }
        let paused = flag(self.deployment, "/spec/paused");
        let reason = self.draft.progress_reason().to_owned();
        if reason == "ProgressDeadlineExceeded" {
            return false;
        }
        if paused && reason != "DeploymentPaused" {
            let message = "Deployment is paused";
            self.draft
                .set_progress(self.view, "Unknown", "DeploymentPaused", message);
            true
        } else if !paused && reason == "DeploymentPaused" {
            let message = "Deployment is resumed";
            self.draft
                .set_progress(self.view, "Unknown", "DeploymentResumed", message);
            true
        } else {
            false
        }
    }

    // Writes the conditions alone; they are seen before anything follows from them.
    fn report_progress(&mut self) {
        let mut body = json!({"status": {"conditions": self.draft.conditions()}});
        if let Some(revision) = self.draft.revision.take() {
            body["metadata"] = json!({"annotations": {REVISION: revision}});
        }
        let at = DEPLOYMENT.status(
            meta::namespace(self.deployment),
            meta::name(self.deployment),
        );
        self.reaction.push(patch(CONTROLLERS, at, &body));
        self.reaction.look_at(self.view.now);
    }

    // Whether somebody changed the number of replicas since the sets were last sized.
    fn was_scaled(&self) -> bool {
        let wanted = self.replicas();
        let mut active = self.sets.iter().filter(|s| s.replicas > 0);
        active.any(|s| s.desired.is_some_and(|desired| desired != wanted))
    }

    fn clean_up(&mut self) {
        let Some(limit) = number(self.deployment, "/spec/revisionHistoryLimit") else {
            return;
        };
        let sets = &self.sets;
        let mut old: Vec<&ReplicaSet> = self.old().map(|i| &sets[i]).filter(|s| !s.going).collect();
        let surplus = old.len() as i64 - limit;
        old.sort_by_key(|s| s.revision);
        for set in old.into_iter().take(surplus.max(0) as usize) {
            if set.replicas == 0 && set.status_replicas == 0 && set.is_observed {
                let path = object::REPLICA_SET.path(meta::namespace(self.deployment), &set.name);
                let act = crate::act::delete_all(CONTROLLERS, path, &set.uid);
                self.reaction.push(act);
            }
        }
    }

    // Writes the status, when it changed.
    fn report(&mut self, rolling_out: bool) {
        let totals = status::Totals::of(self);
        if rolling_out {
            status::judge(self, &totals);
        }
        status::availability(self, &totals);
        self.report_birth();
        let wanted = self
            .draft
            .status(&totals, meta::generation(self.deployment));
        let revision = self.draft.revision.take();
        let same = self.deployment.get("status") == Some(&wanted);
        if same && revision.is_none() {
            self.look_again();
            return;
        }
        let mut body = json!({"status": object::replacing(self.deployment.get("status"), wanted)});
        if let Some(revision) = revision {
            body["metadata"] = json!({"annotations": {REVISION: revision}});
        }
        let at = DEPLOYMENT.status(
            meta::namespace(self.deployment),
            meta::name(self.deployment),
        );
        self.reaction.push(patch(CONTROLLERS, at, &body));
        self.look_again();
    }

    // A set that was just made is told of before what it already changed.
    fn report_birth(&mut self) {
        let Some(conditions) = self.draft.birth.take() else {
            return;
        };
        if self.draft.progress_reason() != "NewReplicaSetCreated" {
            let at = DEPLOYMENT.status(
                meta::namespace(self.deployment),
                meta::name(self.deployment),
            );
            let body = json!({"status": {"conditions": conditions}});
            self.reaction.push(patch(CONTROLLERS, at, &body));
        }
    }

    // When nothing moves, the deadline must not be missed.
    fn look_again(&mut self) {
        let Some(deadline) = self.deadline() else {
            return;
        };
        let waits = !matches!(
            self.draft.progress_reason(),
            "NewReplicaSetAvailable" | "ProgressDeadlineExceeded" | ""
        );
        if let Some(since) = self.draft.progress_updated().filter(|_| waits) {
            // Overdue is what is more than the deadline old.
            self.reaction.look_at(since.plus_seconds(deadline + 1));
        }
    }

    fn collisions(&self) -> i64 {
        count(self.deployment, "/status/collisionCount")
    }
}
