//! What is to be looked at, and when: turns changes into items, and items into requests.

mod wake;

use crate::act::{Act, Reaction, Refusal};
use crate::index::Index;
use crate::item::{Item, Kind};
use crate::kinds;
use crate::view::View;
use apiserver::State;
use model::Timestamp;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use store::Change;

/// The first retry comes after this many microseconds, each further one after twice as long.
const RETRY_FIRST: i64 = 5_000;
/// No retry waits longer than this many microseconds.
const RETRY_MAX: i64 = 1_000_000_000;

/// The controllers' desk: facts, a queue and timers. All of it follows from the store.
#[derive(Debug, Default)]
pub struct Desk {
    index: Index,
    queue: VecDeque<Item>,
    /// Pods, for the kubelet: whatever takes a container no time still takes longer than a look.
    late: VecDeque<Item>,
    queued: HashSet<Item>,
    timers: BTreeSet<(Timestamp, Item)>,
    due: HashMap<Item, Timestamp>,
    tries: HashMap<Item, u32>,
}

impl Desk {
    /// Derives everything from what is stored; every object is looked at once.
    pub fn open(state: &State) -> Self {
        let mut desk = Self::default();
        for resource in wake::RESOURCES {
            for (namespace, name, stored) in state.memory.list(resource, None) {
                desk.learn(resource, namespace, name, Some(&stored.value()), true);
            }
        }
        desk
    }

    /// The facts.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Takes note of a change that is about to be made.
    pub fn observe(&mut self, change: &Change) {
        let key = change.key();
        let new = match change {
            Change::Put { body, .. } => Some(body),
            Change::Delete { .. } | Change::Remove { .. } => None,
        };
        self.learn(&key.resource, &key.namespace, &key.name, new, false);
    }

    /// The next item that is due.
    pub fn next(&mut self, now: Timestamp) -> Option<Item> {
        while let Some((at, _)) = self.timers.first()
            && *at <= now
        {
            if let Some((_, item)) = self.timers.pop_first() {
                self.due.remove(&item);
                self.wake(item);
            }
        }
        let first = self.queue.pop_front();
        let item = first.or_else(|| self.late.pop_front())?;
        self.queued.remove(&item);
        Some(item)
    }

    /// When the next item falls due by itself.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Whether something is due now.
    pub fn is_busy(&self) -> bool {
        !self.queue.is_empty() || !self.late.is_empty()
    }

    /// Looks at an item.
    pub fn step(&mut self, state: &State, item: &Item, now: Timestamp) -> Vec<Act> {
        self.unset_timer(item);
        let reaction = kinds::step(&self.view(state, now), item);
        self.take(item, reaction, now)
    }

    /// Tells the controller that one of its requests was refused; it tries again later.
    pub fn refused(
        &mut self,
        state: &State,
        item: &Item,
        refusal: &Refusal,
        now: Timestamp,
    ) -> Vec<Act> {
        let reaction = kinds::refused(&self.view(state, now), item, refusal);
        let acts = self.take(item, reaction, now);
        if !refusal.is_namespace_going() {
            self.retry(item, now);
        }
        acts
    }

    /// Looks at an item again after a while, longer each time.
    pub fn retry(&mut self, item: &Item, now: Timestamp) {
        let tries = self.tries.entry(item.clone()).or_default();
        let wait = RETRY_FIRST.saturating_mul(1 << (*tries).min(40));
        *tries += 1;
        let at = Timestamp::from_micros(now.micros() + wait.min(RETRY_MAX));
        self.set_timer(item.clone(), at);
    }

    /// All requests about an item went well: the next retry is quick again.
    pub fn went_well(&mut self, item: &Item) {
        self.tries.remove(item);
    }

    /// Looks at an item at a time, unless it is to be looked at earlier.
    pub fn set_timer(&mut self, item: Item, at: Timestamp) {
        if let Some(before) = self.due.get(&item) {
            if *before <= at {
                return;
            }
            self.timers.remove(&(*before, item.clone()));
        }
        self.due.insert(item.clone(), at);
        self.timers.insert((at, item));
    }

    fn unset_timer(&mut self, item: &Item) {
        if let Some(at) = self.due.remove(item) {
            self.timers.remove(&(at, item.clone()));
        }
    }

    fn take(&mut self, item: &Item, reaction: Reaction, now: Timestamp) -> Vec<Act> {
        if let Some(at) = reaction.again {
            // Never at the same moment again: time must move between two looks.
            let soonest = Timestamp::from_micros(now.micros() + 1);
            self.set_timer(item.clone(), at.max(soonest));
        }
        if item.kind == Kind::Schedule && reaction.waits {
            self.index.wait(&item.namespace, &item.name);
        }
        reaction.acts
    }

    fn wake(&mut self, item: Item) {
        if self.queued.insert(item.clone()) {
            if item.kind == Kind::Pod {
                self.late.push_back(item);
            } else {
                self.queue.push_back(item);
            }
        }
    }

    /// What controllers see.
    pub fn view<'a>(&'a self, state: &'a State, now: Timestamp) -> View<'a> {
        View {
            state,
            index: &self.index,
            now,
        }
    }
}
