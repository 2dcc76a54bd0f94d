//! One look at a Pod while it is taken: what was decided so far.

use crate::act::{Act, Event, EventType, Reaction};
use crate::spec::Container;
use crate::world::World;
use model::{Timestamp, Value};

/// Collects what a look at a Pod leads to.
pub(crate) struct Turn<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) pod: &'a Value,
    pub(crate) now: Timestamp,
    pub(crate) reaction: Reaction,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(world: &'a dyn World, pod: &'a Value, now: Timestamp) -> Self {
        Self {
            world,
            pod,
            now,
            reaction: Reaction::default(),
        }
    }

    /// An event about a container.
    pub(crate) fn event(
        &mut self,
        container: &Container<'_>,
        kind: EventType,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        self.reaction.acts.push(Act::Event(Event {
            kind,
            reason,
            message: message.into(),
            field_path: container.field_path(),
        }));
    }

    /// An event about the whole Pod.
    pub(crate) fn pod_event(
        &mut self,
        kind: EventType,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        self.reaction.acts.push(Act::Event(Event {
            kind,
            reason,
            message: message.into(),
            field_path: String::new(),
        }));
    }

    /// Asks for another look then, at the latest.
    pub(crate) fn wake(&mut self, at: Option<Timestamp>) {
        let both = self.reaction.wake_at.into_iter().chain(at);
        self.reaction.wake_at = both.min();
    }
}
