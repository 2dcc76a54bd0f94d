//! The controllers, one file per kind.

mod address;
mod autoscaler;
mod budget;
pub(crate) mod claim;
mod cron_job;
mod daemon_set;
mod deployment;
mod endpoints;
mod job;
pub(crate) mod node;
mod pods;
mod replica_set;
mod revision;
mod scheduler;
mod stateful_set;

use crate::act::{Reaction, Refusal};
use crate::item::{Item, Kind};
use crate::view::View;

/// Looks at an item.
pub(crate) fn step(view: &View<'_>, item: &Item) -> Reaction {
    let (namespace, name) = (&*item.namespace, &*item.name);
    match item.kind {
        Kind::Deployment => deployment::step(view, namespace, name),
        Kind::ReplicaSet => replica_set::step(view, &replica_set::SETS, namespace, name),
        Kind::ReplicationController => {
            replica_set::step(view, &replica_set::CONTROLLERS_OF_OLD, namespace, name)
        }
        Kind::Job => job::step(view, namespace, name),
        Kind::CronJob => cron_job::step(view, namespace, name),
        Kind::Service => endpoints::step(view, namespace, name),
        Kind::LoadBalancer => address::service(view, namespace, name),
        Kind::Ingress => address::ingress(view, namespace, name),
        Kind::Budget => budget::step(view, namespace, name),
        Kind::Claim => claim::step(view, namespace, name),
        Kind::Volume => claim::volume(view, name),
        Kind::StatefulSet => stateful_set::step(view, namespace, name),
        Kind::DaemonSet => daemon_set::step(view, namespace, name),
        Kind::Autoscaler => autoscaler::step(view, namespace, name),
        Kind::Schedule => scheduler::step(view, namespace, name),
        Kind::Node => node::step(view, name),
        // The kubelet looks at Pods that have a node.
        Kind::Pod => Reaction::default(),
    }
}

/// Hears that a request was refused.
pub(crate) fn refused(view: &View<'_>, item: &Item, refusal: &Refusal) -> Reaction {
    let (namespace, name) = (&*item.namespace, &*item.name);
    match item.kind {
        Kind::Deployment => deployment::refused(view, namespace, name, refusal),
        Kind::ReplicaSet => {
            replica_set::refused(view, &replica_set::SETS, namespace, name, refusal)
        }
        Kind::ReplicationController => replica_set::refused(
            view,
            &replica_set::CONTROLLERS_OF_OLD,
            namespace,
            name,
            refusal,
        ),
        Kind::Job => job::refused(view, namespace, name, refusal),
        Kind::CronJob => cron_job::refused(view, namespace, name, refusal),
        Kind::StatefulSet => stateful_set::refused(view, namespace, name, refusal),
        Kind::DaemonSet => daemon_set::refused(view, namespace, name, refusal),
        _ => Reaction::default(),
    }
}
