//! What a controller looks at: one object, in the eyes of one controller.

use std::sync::Arc;

/// One object that one controller has to look at. Ordered, so that a run is deterministic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item {
    /// In whose eyes.
    pub kind: Kind,
    /// Namespace, empty when there is none.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// The controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Deployments and their ReplicaSets.
    Deployment,
    /// ReplicaSets and their Pods.
    ReplicaSet,
    /// ReplicationControllers and their Pods.
    ReplicationController,
    /// StatefulSets, their Pods and claims.
    StatefulSet,
    /// DaemonSets and their Pods.
    DaemonSet,
    /// Jobs and their Pods.
    Job,
    /// CronJobs and their Jobs.
    CronJob,
    /// Services and their endpoints.
    Service,
    /// Addresses of Services of type LoadBalancer.
    LoadBalancer,
    /// Addresses of Ingresses.
    Ingress,
    /// Claims and their volumes.
    Claim,
    /// Volumes whose claims are gone.
    Volume,
    /// HorizontalPodAutoscalers.
    Autoscaler,
    /// PodDisruptionBudgets.
    Budget,
    /// Nodes: heartbeats, taints, Pods of nodes that are gone.
    Node,
    /// Pods that have no node yet.
    Schedule,
    /// Pods that have a node: the kubelet's business.
    Pod,
}

impl Item {
    /// An item.
    pub fn new(kind: Kind, namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl Kind {
    /// The controller of an owner, by its kind.
    pub(crate) fn of_owner(api_version: &str, kind: &str) -> Option<Self> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Some(match (group, kind) {
            ("apps", "Deployment") => Self::Deployment,
            ("apps", "ReplicaSet") => Self::ReplicaSet,
            ("", "ReplicationController") => Self::ReplicationController,
            ("apps", "StatefulSet") => Self::StatefulSet,
            ("apps", "DaemonSet") => Self::DaemonSet,
            ("batch", "Job") => Self::Job,
            ("batch", "CronJob") => Self::CronJob,
            _ => return None,
        })
    }
}
