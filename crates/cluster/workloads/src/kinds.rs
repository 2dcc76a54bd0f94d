//! The controllers, one file per kind.

pub(crate) mod claim;
mod deployment;
pub(crate) mod node;
mod pods;
mod replica_set;
mod scheduler;

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
        Kind::Claim => claim::step(view, namespace, name),
        Kind::Volume => claim::volume(view, name),
        Kind::Schedule => scheduler::step(view, namespace, name),
        Kind::Node => node::step(view, name),
        _ => Reaction::default(),
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
        _ => Reaction::default(),
    }
}
