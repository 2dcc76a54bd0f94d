//! The books of a Job: which Pods are active, which are over, which are counted.

use super::{index_of, indexes};
use crate::index::TRACKING;
use crate::object::{condition_in, conditions, count, is_condition_true, number, time};
use crate::view::View;
use model::{Timestamp, Value, json, meta};
use std::collections::BTreeSet;

/// The state of a Job's books.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) is_indexed: bool,
    /// Which of the Pods are active.
    pub(super) active: Vec<usize>,
    pub(super) terminating: i64,
    pub(super) started: Option<Timestamp>,
    pub(super) completed: Option<Timestamp>,
    ready: i64,
    /// Counted for good.
    counted: (i64, i64),
    /// Noted but not counted: succeeded, failed.
    noted: (BTreeSet<String>, BTreeSet<String>),
    pub(super) done_indexes: BTreeSet<i64>,
    pub(super) failed_indexes: BTreeSet<i64>,
    taken_indexes: BTreeSet<i64>,
    conditions: Vec<Value>,
    per_index: Option<i64>,
}

/// How a Pod ended, as a Job sees it.
fn is_success(pod: &Value) -> bool {
    meta::text_at(pod, "/status/phase") == "Succeeded"
}

fn is_failure(job: &Value, pod: &Value) -> bool {
    let waits = meta::text_at(job, "/spec/podReplacementPolicy") == "Failed";
    let phase = meta::text_at(pod, "/status/phase");
    phase == "Failed" || (!waits && meta::deletion_timestamp(pod).is_some() && phase != "Succeeded")
}

impl Account {
    pub(super) fn take(job: &Value, pods: &[Value]) -> Self {
        let texts = |at: &str| -> BTreeSet<String> {
            let list = meta::entries(job, at).filter_map(Value::as_str);
            list.map(str::to_owned).collect()
        };
        let is_indexed = meta::text_at(job, "/spec/completionMode") == "Indexed";
        let mut account = Self {
            is_indexed,
            active: Vec::new(),
            terminating: 0,
            ready: 0,
            started: time(job, "/status/startTime"),
            completed: time(job, "/status/completionTime"),
            counted: (
                count(job, "/status/succeeded"),
                count(job, "/status/failed"),
            ),
            noted: (
                texts("/status/uncountedTerminatedPods/succeeded"),
                texts("/status/uncountedTerminatedPods/failed"),
            ),
            done_indexes: indexes::parse(meta::text_at(job, "/status/completedIndexes")),
            failed_indexes: indexes::parse(meta::text_at(job, "/status/failedIndexes")),
            taken_indexes: BTreeSet::new(),
            conditions: conditions(job),
            per_index: number(job, "/spec/backoffLimitPerIndex"),
        };
        for (i, pod) in pods.iter().enumerate() {
            account.look_at(job, i, pod);
        }
        account
    }

    fn look_at(&mut self, job: &Value, i: usize, pod: &Value) {
        let phase = meta::text_at(pod, "/status/phase");
        let over = matches!(phase, "Succeeded" | "Failed");
        let going = meta::deletion_timestamp(pod).is_some();
        if !over && going {
            self.terminating += 1;
        }
        if !over && !going {
            self.active.push(i);
            self.taken_indexes.extend(index_of(pod));
            if is_condition_true(pod, "Ready") {
                self.ready += 1;
            }
        }
        let uid = meta::uid(pod);
        if !meta::finalizers(pod).any(|f| f == TRACKING) {
            return;
        }
        if is_success(pod) {
            let fresh = index_of(pod).is_none_or(|n| !self.done_indexes.contains(&n));
            if !self.is_indexed || fresh {
                self.noted.0.insert(uid.to_owned());
                self.done_indexes
                    .extend(index_of(pod).filter(|_| self.is_indexed));
            }
        } else if is_failure(job, pod) && !super::policy::is_ignored(job, pod) {
            self.noted.1.insert(uid.to_owned());
            self.fail_index(job, pod);
        }
    }

    fn fail_index(&mut self, job: &Value, pod: &Value) {
        if let (Some(limit), Some(index)) = (self.per_index, index_of(pod)) {
            let key = "batch.kubernetes.io/job-index-failure-count";
            let before: i64 = meta::annotation(pod, key)
                .and_then(|t| t.parse().ok())
                .unwrap_or(0);
            if before >= limit || super::policy::fails_index(job, pod) {
                self.failed_indexes.insert(index);
            }
        }
    }

    /// How many Pods succeeded, counted or not.
    pub(super) fn succeeded(&self) -> i64 {
        if self.is_indexed {
            self.done_indexes.len() as i64
        } else {
            self.counted.0 + self.noted.0.len() as i64
        }
    }

    /// How many Pods failed, counted or not.
    pub(super) fn failed(&self) -> i64 {
        self.counted.1 + self.noted.1.len() as i64
    }

    pub(super) fn is_noted(&self, uid: &str) -> bool {
        self.noted.0.contains(uid) || self.noted.1.contains(uid)
    }

    /// Counts what was noted before and let go since. Whether nothing is left to count.
    pub(super) fn close(&mut self, job: &Value, pods: &[Value]) -> bool {
        let held: BTreeSet<&str> = pods
            .iter()
            .filter(|p| meta::finalizers(p).any(|f| f == TRACKING))
            .map(|p| meta::uid(p))
            .collect();
        let said: BTreeSet<&str> = ["succeeded", "failed"]
            .iter()
            .flat_map(|f| meta::entries(job, &format!("/status/uncountedTerminatedPods/{f}")))
            .filter_map(Value::as_str)
            .collect();
        let free = |uid: &String| said.contains(uid.as_str()) && !held.contains(uid.as_str());
        let before = (self.noted.0.len(), self.noted.1.len());
        self.noted.0.retain(|uid| !free(uid));
        self.noted.1.retain(|uid| !free(uid));
        self.counted.0 += (before.0 - self.noted.0.len()) as i64;
        self.counted.1 += (before.1 - self.noted.1.len()) as i64;
        self.noted.0.is_empty() && self.noted.1.is_empty()
    }

    /// The numbers that have no Pod and did not come to an end, lowest first.
    pub(super) fn open_indexes(&self, job: &Value) -> Vec<i64> {
        let all = number(job, "/spec/completions").unwrap_or(0);
        (0..all)
            .filter(|i| {
                !self.done_indexes.contains(i)
                    && !self.failed_indexes.contains(i)
                    && !self.taken_indexes.contains(i)
            })
            .collect()
    }

    /// How many Pods failed since one succeeded, and when the last one did.
    pub(super) fn failures(&self, pods: &[Value]) -> (i64, Option<Timestamp>) {
        let ends = |phase: &str| -> Vec<Timestamp> {
            let of = pods
                .iter()
                .filter(|p| meta::text_at(p, "/status/phase") == phase);
            of.map(finished_at).collect()
        };
        let success = ends("Succeeded").into_iter().max();
        let failures: Vec<Timestamp> = ends("Failed")
            .into_iter()
            .filter(|at| success.is_none_or(|s| *at > s))
            .collect();
        (failures.len() as i64, failures.into_iter().max())
    }

    /// Whether a condition is new: it must be stored before what follows from it.
    pub(super) fn unsaid(&self, job: &Value, kind: &str) -> bool {
        !is_condition_true(job, kind)
    }

    pub(super) fn set_condition(
        &mut self,
        view: &View<'_>,
        [kind, status, reason, message]: [&str; 4],
    ) {
        if let Some(old) = condition_in(&self.conditions, kind)
            && old["status"] == status
        {
            return;
        }
        let now = view.now.rfc3339();
        self.conditions.retain(|c| c["type"] != kind);
        self.conditions.push(json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastProbeTime": now, "lastTransitionTime": now,
        }));
    }

    pub(super) fn status(&self, active: i64) -> Value {
        let mut status =
            json!({"ready": self.ready.min(active.max(0)), "terminating": self.terminating});
        for (field, value) in [
            ("active", active),
            ("succeeded", self.counted.0),
            ("failed", self.counted.1),
        ] {
            if value > 0 {
                status[field] = value.into();
            }
        }
        if let Some(at) = self.started {
            status["startTime"] = at.rfc3339().into();
        }
        if let Some(at) = self.completed {
            status["completionTime"] = at.rfc3339().into();
        }
        let mut uncounted = json!({});
        if !self.noted.0.is_empty() {
            uncounted["succeeded"] = json!(self.noted.0);
        }
        if !self.noted.1.is_empty() {
            uncounted["failed"] = json!(self.noted.1);
        }
        status["uncountedTerminatedPods"] = uncounted;
        if !self.conditions.is_empty() {
            status["conditions"] = self.conditions.clone().into();
        }
        if self.is_indexed && !self.done_indexes.is_empty() {
            status["completedIndexes"] = indexes::write(&self.done_indexes).into();
        }
        if self.is_indexed && self.per_index.is_some() {
            status["failedIndexes"] = indexes::write(&self.failed_indexes).into();
        }
        status
    }
}

/// When a Pod came to its end.
fn finished_at(pod: &Value) -> Timestamp {
    let statuses = meta::entries(pod, "/status/containerStatuses");
    let ends = statuses.filter_map(|s| time(s, "/state/terminated/finishedAt"));
    let ready = crate::object::condition(pod, "Ready");
    ends.max()
        .or_else(|| ready.and_then(|c| time(c, "/lastTransitionTime")))
        .or_else(|| meta::deletion_timestamp(pod))
        .or_else(|| meta::creation_timestamp(pod))
        .unwrap_or_default()
}
