//! What is known of one Pod.

use super::node::Resources;
use crate::object::{condition, controller, count};
use model::{Map, Timestamp, Value, meta};
use std::sync::Arc;

/// The finalizer of Pods that a Job has not counted yet.
pub(crate) const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// How far a Pod is. Ordered as deletion prefers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Pending,
    Unknown,
    Running,
    Succeeded,
    Failed,
}

/// The facts of one Pod that controllers need.
#[derive(Clone, Debug)]
pub struct PodFacts {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Uid.
    pub uid: Arc<str>,
    /// The node it is bound to.
    pub node: Option<Arc<str>>,
    /// The node it was made for, as a DaemonSet's is.
    pub(crate) wants_node: Option<Arc<str>>,
    pub(crate) owner: Option<Owner>,
    pub(crate) labels: Map<String, Value>,
    pub(crate) created: Timestamp,
    pub(crate) phase: Phase,
    pub(crate) deleting: bool,
    /// Since when it is ready.
    pub(crate) ready: Option<Timestamp>,
    pub(crate) restarts: i64,
    pub(crate) deletion_cost: i64,
    pub(crate) requests: Resources,
    pub(crate) address: Arc<str>,
    pub(crate) claims: Vec<Arc<str>>,
    /// Whether a Job still has to count it.
    pub(crate) tracked: bool,
    /// Whether others have a say in whether it is ready.
    pub(crate) gated: bool,
    /// Changes when there is something new for the scheduler or the kubelet.
    pub(crate) business: (i64, bool, u64),
}

/// The controller of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: Arc<str>,
    pub(crate) uid: String,
}

impl PodFacts {
    pub(crate) fn of(namespace: &Arc<str>, name: &Arc<str>, pod: &Value) -> Self {
        let owner = controller(pod).map(|r| Owner {
            api_version: meta::text_at(r, "/apiVersion").to_owned(),
            kind: meta::text_at(r, "/kind").to_owned(),
            name: meta::text_at(r, "/name").into(),
            uid: meta::text_at(r, "/uid").to_owned(),
        });
        let ready = condition(pod, "Ready").filter(|c| c["status"] == "True");
        let statuses = meta::entries(pod, "/status/containerStatuses");
        let cost = meta::annotation(pod, "controller.kubernetes.io/pod-deletion-cost");
        let node = meta::text_at(pod, "/spec/nodeName");
        Self {
            namespace: namespace.clone(),
            name: name.clone(),
            uid: meta::uid(pod).into(),
            wants_node: wanted_node(pod).map(Arc::from),
            owner,
            labels: meta::labels(pod).cloned().unwrap_or_default(),
            created: meta::creation_timestamp(pod).unwrap_or_default(),
            phase: match meta::text_at(pod, "/status/phase") {
                "Running" => Phase::Running,
                "Succeeded" => Phase::Succeeded,
                "Failed" => Phase::Failed,
                "Unknown" => Phase::Unknown,
                _ => Phase::Pending,
            },
            deleting: meta::deletion_timestamp(pod).is_some(),
            ready: ready.map(|c| {
                Timestamp::parse(meta::text_at(c, "/lastTransitionTime")).unwrap_or_default()
            }),
            restarts: statuses
                .map(|s| count(s, "/restartCount"))
                .max()
                .unwrap_or(0),
            deletion_cost: cost.and_then(|c| c.parse().ok()).unwrap_or(0),
            node: (!node.is_empty()).then(|| node.into()),
            requests: Resources::of_pod(pod),
            address: meta::text_at(pod, "/status/podIP").into(),
            claims: meta::entries(pod, "/spec/volumes")
                .map(|v| meta::text_at(v, "/persistentVolumeClaim/claimName"))
                .filter(|name| !name.is_empty())
                .map(Arc::from)
                .collect(),
            tracked: meta::finalizers(pod).any(|f| f == TRACKING),
            gated: meta::entries(pod, "/spec/readinessGates").next().is_some(),
            business: (
                meta::generation(pod),
                meta::deletion_timestamp(pod).is_some(),
                scripts(pod),
            ),
        }
    }

    /// Whether its controller has this uid.
    pub(crate) fn is_controlled_by(&self, uid: &str) -> bool {
        self.owner.as_ref().is_some_and(|o| o.uid == uid)
    }

    /// Whether it has all of these labels.
    pub(crate) fn has_labels(&self, labels: &Map<String, Value>) -> bool {
        labels
            .iter()
            .all(|(key, value)| self.labels.get(key) == Some(value))
    }

    /// Whether it came to its end.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// Whether controllers count it.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_over() && !self.deleting
    }

    /// Whether it takes room on its node.
    pub(crate) fn takes_room(&self) -> bool {
        !self.is_over()
    }

    /// Since when it has been ready for long enough; in the future when it is ready but not for
    /// long enough yet.
    pub(crate) fn available(&self, min_ready_seconds: i64) -> Option<Timestamp> {
        self.ready
            .map(|since| since.plus_seconds(min_ready_seconds))
    }
}

// A digest of the annotations that say how a Pod is to behave.
fn scripts(pod: &Value) -> u64 {
    let annotations = pod
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let ours = annotations.into_iter().flatten();
    ours.filter(|(key, _)| key.starts_with("sandbox.tiphys.dev/"))
        .map(|(_, value)| crate::object::digest(value))
        .fold(0, |sum, one| sum.wrapping_mul(31).wrapping_add(one))
}

// The node that a Pod's affinity names.
fn wanted_node(pod: &Value) -> Option<&str> {
    let at = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0";
    let field = pod.pointer(at)?;
    (field["key"] == "metadata.name").then(|| meta::text_at(field, "/values/0"))
}
