//! What can happen to objects: the changes that go in and the events that come out.

use crate::body::Stored;
use model::Value;
use std::fmt;
use std::sync::Arc;

/// A `resourceVersion`: one counter for the whole store, every change gets the next number.
pub type Version = u64;

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Group and resource as `apps/deployments`; the store sees one opaque word.
    pub resource: Arc<str>,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl Key {
    /// A key from its three parts.
    pub fn new(
        resource: impl Into<Arc<str>>,
        namespace: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            resource: resource.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} {}", self.resource, self.name)
        } else {
            write!(f, "{} {}/{}", self.resource, self.namespace, self.name)
        }
    }
}

/// One wish to change an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Makes the object, or replaces it.
    Put {
        /// Which object.
        key: Key,
        /// The new state; the store sets `metadata.resourceVersion`.
        body: Value,
    },
    /// Removes the object; removing what is not there changes nothing and takes no version.
    Delete {
        /// Which object.
        key: Key,
        /// The final state that watchers see; the store sets `metadata.resourceVersion` to the
        /// version of the removal.
        last: Value,
    },
    /// Removes the object as it stands: watchers see its newest state at the version of the
    /// removal. What removes many objects uses this, since it holds none of them in memory.
    Remove {
        /// Which object.
        key: Key,
    },
}

impl Change {
    /// Which object it is about.
    pub fn key(&self) -> &Key {
        match self {
            Self::Put { key, .. } | Self::Delete { key, .. } | Self::Remove { key } => key,
        }
    }
}

/// What happened to an object, from the point of view of a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The object was not there before.
    Added,
    /// The object was there before.
    Modified,
    /// The object is gone.
    Deleted,
}

/// One change that took place.
#[derive(Clone, Debug)]
pub struct Event {
    /// The version of the change.
    pub version: Version,
    /// What happened.
    pub kind: EventKind,
    /// Which object.
    pub key: Key,
    /// The object after the change; the last state for [`EventKind::Deleted`].
    pub object: Stored,
    /// The object before the change; `None` for [`EventKind::Added`]. A watcher with a selector needs it to
    /// tell "came into view" from "changed in view".
    pub previous: Option<Stored>,
}

/// What a commit did.
#[derive(Clone, Debug, Default)]
pub struct Committed {
    /// One per change, in order; a removal of nothing repeats the version before it.
    pub versions: Vec<Version>,
    /// One per change that did something, in order.
    pub events: Vec<Event>,
}

impl Committed {
    /// The version to wait for before telling the writer that its change is kept.
    pub fn last(&self) -> Version {
        self.versions.last().copied().unwrap_or(0)
    }
}
