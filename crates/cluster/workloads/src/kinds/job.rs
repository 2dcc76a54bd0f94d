//! Jobs: Pods until enough of them succeeded or too many failed.
//!
//! A finished Pod is counted exactly once, whenever the cluster stops: its uid is noted in the
//! status, then its finalizer is taken away, then the note becomes part of the count.

mod account;
mod indexes;
mod policy;
mod verdict;

use super::pods;
use crate::act::{CONTROLLERS, Reaction, Refusal, delete_last, patch};
use crate::event::{Grade, Note, about};
use crate::index::TRACKING;
use crate::object::{
    self, JOB, POD, count, flag, is_condition_true, number, pod_of_template, time,
};
use crate::view::{JOBS, PODS, View};
use account::Account;
use model::{Timestamp, Value, json, meta};
use verdict::Verdict;

const COMPONENT: &str = "job-controller";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// The first retry of a failed Pod waits this long, each further one twice as long.
const BACKOFF_SECONDS: i64 = 10;
const BACKOFF_MAX: i64 = 600;

/// Looks at one Job.
pub(super) fn step(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(job) = view.get(JOBS, namespace, name) else {
        release_orphans(view, namespace, name, &mut reaction);
        return reaction;
    };
    let ours = meta::text_at(&job, "/spec/managedBy");
    if !matches!(ours, "" | "kubernetes.io/job-controller") {
        return reaction;
    }
    let pods = view.controlled(meta::uid(&job), PODS);
    if meta::deletion_timestamp(&job).is_some() {
        for pod in &pods {
            reaction.acts.extend(untrack(pod));
        }
        return reaction;
    }
    if is_condition_true(&job, "Complete") || is_condition_true(&job, "Failed") {
        for pod in &pods {
            reaction.acts.extend(untrack(pod));
        }
        expire(view, &job, &mut reaction);
        return reaction;
    }
    Look::new(view, &job, &pods).go_on(&mut reaction);
    reaction
}

/// Hears that a Pod could not be made.
pub(super) fn refused(view: &View<'_>, namespace: &str, name: &str, why: &Refusal) -> Reaction {
    let mut reaction = Reaction::default();
    if why.is_namespace_going() {
        return reaction;
    }
    if let Some(job) = view.get(JOBS, namespace, name) {
        reaction.push(pods::refused_event(
            view,
            (&JOB, &job),
            COMPONENT,
            &why.message,
        ));
    }
    reaction
}

// Pods whose Job is gone wait for nobody.
fn release_orphans(view: &View<'_>, namespace: &str, name: &str, reaction: &mut Reaction) {
    let of_job = |owner: &crate::index::Owner| owner.kind == "Job" && &*owner.name == name;
    let pods = view.index.pods(namespace).filter(|p| p.tracked);
    for pod in pods.filter(|p| p.owner.as_ref().is_some_and(of_job)) {
        if let Some(pod) = view.get(PODS, namespace, &pod.name) {
            reaction.acts.extend(untrack(&pod));
        }
    }
}

fn untrack(pod: &Value) -> Option<crate::act::Act> {
    let mut kept: Vec<&str> = meta::finalizers(pod).collect();
    let before = kept.len();
    kept.retain(|f| *f != TRACKING);
    if kept.len() == before {
        return None;
    }
    let kept = if kept.is_empty() {
        Value::Null
    } else {
        json!(kept)
    };
    let body = json!({"metadata": {"uid": meta::uid(pod), "finalizers": kept}});
    let path = POD.path(meta::namespace(pod), meta::name(pod));
    Some(patch(CONTROLLERS, path, &body).forget())
}

// A finished Job goes when its time is over.
fn expire(view: &View<'_>, job: &Value, reaction: &mut Reaction) {
    let Some(ttl) = number(job, "/spec/ttlSecondsAfterFinished") else {
        return;
    };
    let finished = ["Complete", "Failed"]
        .iter()
        .filter_map(|kind| object::condition(job, kind))
        .find(|c| c["status"] == "True")
        .and_then(|c| time(c, "/lastTransitionTime"));
    let due = finished.unwrap_or(view.now).plus_seconds(ttl);
    if due > view.now {
        reaction.look_at(due);
        return;
    }
    let path = JOB.path(meta::namespace(job), meta::name(job));
    reaction.push(delete_last(CONTROLLERS, path, meta::uid(job)));
}

/// One look at one Job that is not finished.
struct Look<'a> {
    view: &'a View<'a>,
    job: &'a Value,
    pods: &'a [Value],
    account: Account,
}

impl<'a> Look<'a> {
    fn new(view: &'a View<'a>, job: &'a Value, pods: &'a [Value]) -> Self {
        Self {
            view,
            job,
            pods,
            account: Account::take(job, pods),
        }
    }

    fn go_on(mut self, reaction: &mut Reaction) {
        let suspended = flag(self.job, "/spec/suspend");
        let verdict = self.verdict();
        let mut active = self.account.active.len() as i64;
        if verdict.is_some() || suspended {
            self.stop_pods(reaction);
            active = 0;
        } else {
            self.account.started = self.account.started.or(Some(self.view.now));
            // A Pod that is refused was never active: those that come are counted when they are there.
            active += self.manage(reaction).min(0);
        }
        self.note_suspension(suspended && verdict.is_none(), reaction);
        self.note_deadline(reaction);
        let done = self.account.close(self.job, self.pods);
        if let Some(verdict) = &verdict {
            self.pronounce(verdict, done && active == 0, reaction);
        }
        self.report(active, reaction);
        for pod in self.pods {
            if self.account.is_noted(meta::uid(pod)) {
                reaction.acts.extend(untrack(pod));
            }
        }
    }

    fn verdict(&self) -> Option<Verdict> {
        verdict::of(self.view, self.job, self.pods, &self.account)
    }

    fn stop_pods(&self, reaction: &mut Reaction) {
        for i in &self.account.active {
            self.stop_pod(&self.pods[*i], reaction);
        }
    }

    fn stop_pod(&self, pod: &Value, reaction: &mut Reaction) {
        let told = pods::deleted_event(self.view, (&JOB, self.job), COMPONENT, meta::name(pod));
        let path = POD.path(meta::namespace(pod), meta::name(pod));
        let act = crate::act::delete(CONTROLLERS, path, meta::uid(pod));
        reaction.push(act.and_then(told));
    }

    // Makes or stops Pods; gives how many more are active.
    fn manage(&self, reaction: &mut Reaction) -> i64 {
        let active = self.account.active.len() as i64;
        let parallelism = number(self.job, "/spec/parallelism").unwrap_or(1);
        let completions = number(self.job, "/spec/completions");
        let succeeded = self.account.succeeded();
        let mut wanted = match completions {
            // A queue of unknown length: nobody new comes after the first success.
            None if succeeded > 0 => active,
            None => parallelism,
            Some(all) => (all - succeeded).min(parallelism),
        };
        if self.account.is_indexed {
            wanted = wanted.min(self.account.open_indexes(self.job).len() as i64 + active);
        }
        let surplus = active - wanted.max(0);
        if surplus > 0 {
            let mut order: Vec<usize> = self.account.active.clone();
            order.sort_by_key(|i| {
                let pod = &self.pods[*i];
                (
                    is_condition_true(pod, "Ready"),
                    std::cmp::Reverse(meta::creation_timestamp(pod)),
                )
            });
            for i in order.into_iter().take(surplus as usize) {
                self.stop_pod(&self.pods[i], reaction);
            }
            return -surplus;
        }
        let missing = (wanted - active - self.replaced_later()).min(pods::BURST_MAX);
        if missing <= 0 {
            return 0;
        }
        if let Some(at) = self.backoff_until().filter(|at| *at > self.view.now) {
            reaction.look_at(at);
            return 0;
        }
        self.make(missing, reaction)
    }

    // Pods on their way out that are replaced only once they are gone.
    fn replaced_later(&self) -> i64 {
        if meta::text_at(self.job, "/spec/podReplacementPolicy") == "Failed" {
            self.account.terminating
        } else {
            0
        }
    }

    fn make(&self, missing: i64, reaction: &mut Reaction) -> i64 {
        let Some(template) = self.job.pointer("/spec/template") else {
            return 0;
        };
        let mut pod = pod_of_template(template, JOB.controller_ref(self.job));
        let metadata = meta::metadata_mut(&mut pod);
        let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
        if let Some(list) = finalizers.as_array_mut() {
            list.push(TRACKING.into());
        }
        if !self.account.is_indexed {
            for n in 0..missing {
                let act = pods::make(self.view, (&JOB, self.job), COMPONENT, pod.clone(), n);
                reaction.push(act);
            }
            return missing;
        }
        let open = self.account.open_indexes(self.job);
        let mut made = 0;
        for index in open.into_iter().take(missing as usize) {
            let pod = indexes::at_index(pod.clone(), self.job, index);
            reaction.push(pods::make(
                self.view,
                (&JOB, self.job),
                COMPONENT,
                pod,
                made,
            ));
            made += 1;
        }
        made
    }

    // When the next Pod may be made after a failure.
    fn backoff_until(&self) -> Option<Timestamp> {
        let (failures, last) = account::failures(self.pods);
        let last = last?;
        let shift = (failures - 1).clamp(0, 20);
        let wait = (BACKOFF_SECONDS << shift).min(BACKOFF_MAX);
        Some(last.plus_seconds(wait))
    }

    fn note_suspension(&mut self, suspended: bool, reaction: &mut Reaction) {
        let was = is_condition_true(self.job, "Suspended");
        if suspended == was {
            return;
        }
        let (status, reason, message, event) = if suspended {
            self.account.started = None;
            ("True", "JobSuspended", "Job suspended", "Suspended")
        } else {
            self.account.started = Some(self.view.now);
            ("False", "JobResumed", "Job resumed", "Resumed")
        };
        self.account
            .set_condition(self.view, ["Suspended", status, reason, message]);
        self.tell(Grade::Normal, event, message, reaction);
    }

    fn note_deadline(&self, reaction: &mut Reaction) {
        let deadline = number(self.job, "/spec/activeDeadlineSeconds");
        if let (Some(deadline), Some(started)) = (deadline, self.account.started) {
            let due = started.plus_seconds(deadline);
            if due > self.view.now {
                reaction.look_at(due);
            }
        }
    }

    // Writes down how the Job ends: first what it will be, then, with all Pods counted, what it is.
    fn pronounce(&mut self, verdict: &Verdict, settled: bool, reaction: &mut Reaction) {
        let (interim, last) = if verdict.failed {
            ("FailureTarget", "Failed")
        } else {
            ("SuccessCriteriaMet", "Complete")
        };
        let (reason, message) = (verdict.reason.as_str(), verdict.message.as_str());
        self.account
            .set_condition(self.view, [interim, "True", reason, message]);
        if !settled || self.account.terminating > 0 || !is_condition_true(self.job, interim) {
            return;
        }
        self.account
            .set_condition(self.view, [last, "True", reason, message]);
        if verdict.failed {
            self.tell(Grade::Warning, reason, message, reaction);
        } else {
            self.account.completed = Some(self.view.now);
            self.tell(Grade::Normal, "Completed", "Job completed", reaction);
        }
    }

    fn tell(&self, grade: Grade, reason: &str, message: &str, reaction: &mut Reaction) {
        let note = Note {
            component: COMPONENT,
            grade,
            reason,
            message,
        };
        reaction.push(about(self.view, &JOB, self.job, note));
    }

    // Writes the status, when it changed. It goes first: a Pod is noted before it is let go.
    fn report(&self, active: i64, reaction: &mut Reaction) {
        let wanted = self.account.status(active);
        if self.job.get("status") == Some(&wanted) {
            return;
        }
        let body = json!({"status": object::replacing_deep(self.job.get("status"), wanted)});
        let path = JOB.status(meta::namespace(self.job), meta::name(self.job));
        reaction.push(patch(CONTROLLERS, path, &body));
    }
}

/// The number of a Pod of an indexed Job.
fn index_of(pod: &Value) -> Option<i64> {
    meta::annotation(pod, INDEX)?.parse().ok()
}

/// The sum of the restarts of a Pod's containers.
fn restarts(pod: &Value) -> i64 {
    let all = ["/status/initContainerStatuses", "/status/containerStatuses"];
    all.iter()
        .flat_map(|at| meta::entries(pod, at))
        .map(|s| count(s, "/restartCount"))
        .sum()
}
