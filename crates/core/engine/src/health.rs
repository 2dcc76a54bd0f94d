//! Says whether a live object is well, in Argo CD's six words.
//!
//! One file per family of kinds in `health/`. What has no rule has no health: `None`, which a sync
//! treats as done. Scripts that people bring are asked before this, by the caller.

mod batch;
mod cluster;
mod custom;
mod pod;
mod workload;

use crate::annotation::HOOK_FINALIZER;
use model::{GroupVersionKind, Value, meta};
use std::fmt;

/// How well something is, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HealthStatus {
    /// It does what it should.
    Healthy,
    /// It waits on purpose: paused, suspended.
    Suspended,
    /// It is not there yet, and may get there by itself.
    Progressing,
    /// It is not in the cluster.
    Missing,
    /// It failed, or will not get there by itself.
    Degraded,
    /// It could not be judged.
    Unknown,
}

/// How well something is, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The word.
    pub status: HealthStatus,
    /// The reason; may be empty.
    pub message: String,
}

impl HealthStatus {
    /// The word people see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Healthy => "Healthy",
            Self::Suspended => "Suspended",
            Self::Progressing => "Progressing",
            Self::Missing => "Missing",
            Self::Degraded => "Degraded",
            Self::Unknown => "Unknown",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Healthy,
            Self::Suspended,
            Self::Progressing,
            Self::Missing,
            Self::Degraded,
            Self::Unknown,
        ]
        .into_iter()
        .find(|status| status.word() == word)
    }
}

impl fmt::Display for HealthStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Health {
    /// A health with its reason.
    pub fn new(status: HealthStatus, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }
}

pub(crate) fn healthy(message: impl Into<String>) -> Health {
    Health::new(HealthStatus::Healthy, message)
}

pub(crate) fn progressing(message: impl Into<String>) -> Health {
    Health::new(HealthStatus::Progressing, message)
}

pub(crate) fn degraded(message: impl Into<String>) -> Health {
    Health::new(HealthStatus::Degraded, message)
}

pub(crate) fn suspended(message: impl Into<String>) -> Health {
    Health::new(HealthStatus::Suspended, message)
}

/// The health of a live object; `None` when no rule is made for its kind.
pub fn of(live: &Value) -> Option<Health> {
    if let Some(leaving) = leaving(live) {
        return Some(leaving);
    }
    let gvk = meta::gvk(live)?;
    built_in(&gvk, live).or_else(|| custom::health(&gvk, live))
}

/// An object on its way out is not there yet, unless it is a hook that we still hold.
pub fn leaving(live: &Value) -> Option<Health> {
    let held = meta::finalizers(live).any(|f| f == HOOK_FINALIZER);
    (meta::deletion_timestamp(live).is_some() && !held).then(|| progressing("Pending deletion"))
}

fn built_in(gvk: &GroupVersionKind, live: &Value) -> Option<Health> {
    let known = |versions: &[&str], rule: fn(&Value) -> Health| {
        Some(if versions.contains(&gvk.version.as_str()) {
            rule(live)
        } else {
            unsupported(gvk)
        })
    };
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("apps", "Deployment") => known(&["v1"], workload::deployment),
        ("apps", "StatefulSet") => known(&["v1"], workload::stateful_set),
        ("apps", "DaemonSet") => known(&["v1"], workload::daemon_set),
        ("apps", "ReplicaSet") => known(&["v1"], workload::replica_set),
        ("", "Pod") => known(&["v1"], pod::health),
        ("", "PersistentVolumeClaim") => known(&["v1"], cluster::claim),
        ("", "Service") => known(&["v1"], cluster::service),
        ("batch", "Job") => known(&["v1"], batch::job),
        ("batch", "CronJob") => known(&["v1"], batch::cron_job),
        ("apiregistration.k8s.io", "APIService") => known(&["v1", "v1beta1"], cluster::api_service),
        ("autoscaling", "HorizontalPodAutoscaler") => known(&["v1", "v2"], cluster::autoscaler),
        ("extensions" | "networking.k8s.io", "Ingress") => Some(cluster::ingress(live)),
        ("policy", "PodDisruptionBudget") => Some(cluster::disruption_budget(live)),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Some(cluster::definition(live)),
        ("argoproj.io", "Workflow") => Some(custom::workflow(live)),
        _ => None,
    }
}

fn unsupported(gvk: &GroupVersionKind) -> Health {
    let GroupVersionKind {
        group,
        version,
        kind,
    } = gvk;
    let message = format!("unsupported {kind} GVK: {group}/{version}, Kind={kind}");
    Health::new(HealthStatus::Unknown, message)
}

/// A whole number of an object; 0 when it is absent.
pub(crate) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// Whether the controller has not yet seen the newest spec.
pub(crate) fn is_stale(object: &Value) -> bool {
    meta::generation(object) > number(object, "/status/observedGeneration")
}

/// A condition of an object.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    meta::entries(object, "/status/conditions").find(|c| c["type"] == kind)
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Checks the health of an object given as its fields.
    pub(crate) fn check(object: &Value, expected: &str) {
        let shown = match of(object) {
            None => "none".to_owned(),
            Some(health) if health.message.is_empty() => health.status.to_string(),
            Some(health) => format!("{}: {}", health.status, health.message),
        };
        assert_eq!(shown, expected, "{object:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::testing::check;
    use super::*;
    use model::json;

    #[test]
    fn what_is_being_deleted_is_progressing_unless_we_hold_it() {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "j", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "status": {"conditions": [{"type": "Complete", "status": "True"}]}});
        check(&job, "Progressing: Pending deletion");
        job["metadata"]["finalizers"] = json!([HOOK_FINALIZER]);
        check(&job, "Healthy");
    }

    #[test]
    fn kinds_without_a_rule_have_no_health() {
        for kind in [
            "Namespace",
            "ConfigMap",
            "Secret",
            "ServiceAccount",
            "Endpoints",
        ] {
            check(
                &json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}}),
                "none",
            );
        }
    }

    #[test]
    fn an_old_version_is_not_judged() {
        check(
            &json!({"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "x"}}),
            "Unknown: unsupported Deployment GVK: apps/v1beta1, Kind=Deployment",
        );
    }

    #[test]
    fn words_read_back() {
        assert!(HealthStatus::Healthy < HealthStatus::Degraded);
        assert_eq!(HealthStatus::parse("Missing"), Some(HealthStatus::Missing));
        assert_eq!(HealthStatus::parse("missing"), None);
    }
}
