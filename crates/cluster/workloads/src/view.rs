//! What controllers see: the stored objects, the facts derived from them, and the time.

use crate::index::{Index, PodFacts};
use apiserver::{ObjectRef, State};
use model::{Timestamp, Value};

/// Pods.
pub(crate) const PODS: &str = "/pods";
/// ReplicaSets.
pub(crate) const REPLICA_SETS: &str = "apps/replicasets";
/// Deployments.
pub(crate) const DEPLOYMENTS: &str = "apps/deployments";
/// ReplicationControllers.
pub(crate) const REPLICATION_CONTROLLERS: &str = "/replicationcontrollers";
/// StatefulSets.
pub(crate) const STATEFUL_SETS: &str = "apps/statefulsets";
/// DaemonSets.
pub(crate) const DAEMON_SETS: &str = "apps/daemonsets";
/// ControllerRevisions.
pub(crate) const REVISIONS: &str = "apps/controllerrevisions";
/// Jobs.
pub(crate) const JOBS: &str = "batch/jobs";
/// CronJobs.
pub(crate) const CRON_JOBS: &str = "batch/cronjobs";
/// Services.
pub(crate) const SERVICES: &str = "/services";
/// Endpoints.
pub(crate) const ENDPOINTS: &str = "/endpoints";
/// EndpointSlices.
pub(crate) const SLICES: &str = "discovery.k8s.io/endpointslices";
/// Ingresses.
pub(crate) const INGRESSES: &str = "networking.k8s.io/ingresses";
/// Claims.
pub(crate) const CLAIMS: &str = "/persistentvolumeclaims";
/// Volumes.
pub(crate) const VOLUMES: &str = "/persistentvolumes";
/// StorageClasses.
pub(crate) const CLASSES: &str = "storage.k8s.io/storageclasses";
/// HorizontalPodAutoscalers.
pub(crate) const AUTOSCALERS: &str = "autoscaling/horizontalpodautoscalers";
/// PodDisruptionBudgets.
pub(crate) const BUDGETS: &str = "policy/poddisruptionbudgets";
/// Nodes.
pub(crate) const NODES: &str = "/nodes";
/// Leases.
pub(crate) const LEASES: &str = "coordination.k8s.io/leases";
/// Events.
pub(crate) const EVENTS: &str = "/events";

/// One look at the cluster.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The stored objects.
    pub state: &'a State,
    /// What is known of them without reading them.
    pub index: &'a Index,
    /// The time.
    pub now: Timestamp,
}

impl<'a> View<'a> {
    /// One object, as it is stored.
    pub(crate) fn get(&self, storage: &str, namespace: &str, name: &str) -> Option<Value> {
        let stored = self.state.memory.get_parts(storage, namespace, name)?;
        Some(stored.value())
    }

    /// Whether an object exists.
    pub(crate) fn exists(&self, storage: &str, namespace: &str, name: &str) -> bool {
        let found = self.state.memory.get_parts(storage, namespace, name);
        found.is_some()
    }

    /// All objects of a resource, in one namespace or in all.
    pub(crate) fn list(&self, storage: &str, namespace: Option<&str>) -> Vec<Value> {
        let stored = self.state.memory.list(storage, namespace);
        stored.map(|(_, _, stored)| stored.value()).collect()
    }

    /// The places of the objects of one resource that name an owner.
    pub(crate) fn owned(
        &self,
        uid: &str,
        storage: &'static str,
    ) -> impl Iterator<Item = &'a ObjectRef> + use<'a> {
        self.state
            .dependents(uid)
            .filter(move |at| &*at.storage == storage)
    }

    /// The objects of one resource that an owner controls.
    pub(crate) fn controlled(&self, uid: &str, storage: &'static str) -> Vec<Value> {
        self.owned(uid, storage)
            .filter_map(|at| self.state.get_ref(at))
            .filter(|object| crate::object::is_controlled_by(object, uid))
            .collect()
    }

    /// What is known of the Pods that an owner controls.
    pub(crate) fn pods_of(&self, uid: &str) -> Vec<&'a PodFacts> {
        self.owned(uid, PODS)
            .filter_map(|at| self.index.pod(&at.namespace, &at.name))
            .filter(|pod| pod.is_controlled_by(uid))
            .collect()
    }
}
