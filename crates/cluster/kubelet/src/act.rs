//! What a kubelet does to the cluster, as data.

use model::{Timestamp, Value};

/// `source.component` of the events a kubelet writes.
pub const COMPONENT: &str = "kubelet";

/// What one look at a Pod leads to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reaction {
    /// What to do, in this order.
    pub acts: Vec<Act>,
    /// When to look again though nothing changed; never, when absent.
    pub wake_at: Option<Timestamp>,
    /// Whether a container wrote to its log: those who follow it should read on.
    pub logged: bool,
}

/// One thing to do for the Pod that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Write this as the Pod's whole `status`.
    Status(Value),
    /// Record an event about the Pod.
    Event(Event),
    /// Delete the Pod for good: no grace period, with its uid as precondition.
    Delete,
}

/// An event about a Pod or one of its containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Normal or Warning.
    pub kind: EventType,
    /// `Started`, `BackOff`, …
    pub reason: &'static str,
    /// What happened.
    pub message: String,
    /// `spec.containers{name}`; empty when it is about the whole Pod.
    pub field_path: String,
}

/// How grave an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// All is as it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

impl EventType {
    /// The word in `type`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}
