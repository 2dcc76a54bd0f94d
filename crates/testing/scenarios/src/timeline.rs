//! Everything that was seen of a namespace, in order, and the names it goes by.

use crate::facts::{self, Fact};
use crate::names::Names;
use serde_json::Value;
use std::collections::BTreeMap;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It moved.
    Modified,
    /// It is gone.
    Deleted,
}

/// One version of one object.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What happened.
    pub change: Change,
    /// Its kind.
    pub kind: String,
    /// The object; its last state when it is gone.
    pub body: Value,
}

/// One version with what it says.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) change: Change,
    pub(crate) kind: String,
    pub(crate) uid: String,
    pub(crate) body: Value,
    /// As in the cluster.
    raw: Vec<Fact>,
    /// As in a recording.
    pub(crate) facts: Vec<Fact>,
    /// `Kind/name`, as in a recording.
    pub(crate) subject: String,
}

/// What was seen of a namespace.
#[derive(Debug)]
pub struct Timeline {
    pub(crate) names: Names,
    pub(crate) moments: Vec<Moment>,
    /// Events by their subject and words, in the order they came first.
    events: Vec<Fact>,
    raw_events: Vec<Fact>,
    rendered_with: usize,
}

impl Timeline {
    /// An empty one for a namespace.
    pub fn new(namespace: &str) -> Self {
        Self {
            names: Names::new(namespace),
            moments: Vec::new(),
            events: Vec::new(),
            raw_events: Vec::new(),
            rendered_with: 0,
        }
    }

    /// Takes in what was seen.
    pub fn extend(&mut self, seen: Vec<Seen>) {
        if seen.is_empty() {
            return;
        }
        for one in &seen {
            self.names.learn(&one.kind, &one.body);
        }
        let (known_moments, known_events) = (self.moments.len(), self.raw_events.len());
        for one in seen {
            if one.kind == "Event" {
                if one.change != Change::Deleted {
                    self.raw_events.push(facts::event(&one.body));
                }
            } else {
                let raw = facts::of(&one.kind, &one.body, one.change);
                self.moments.push(Moment {
                    change: one.change,
                    uid: one.body["metadata"]["uid"]
                        .as_str()
                        .unwrap_or("")
                        .to_owned(),
                    kind: one.kind,
                    body: one.body,
                    facts: Vec::new(),
                    subject: String::new(),
                    raw,
                });
            }
        }
        let all = self.rendered_with != self.names.len();
        self.rendered_with = self.names.len();
        self.render(if all {
            (0, 0)
        } else {
            (known_moments, known_events)
        });
    }

    // Puts what is known by now in place of names that differ from run to run.
    fn render(&mut self, (moments, events): (usize, usize)) {
        let names = &self.names;
        for moment in &mut self.moments[moments..] {
            let name = moment.body["metadata"]["name"].as_str().unwrap_or("");
            moment.subject = names.text(&format!("{}/{name}", moment.kind));
            moment.facts = moment.raw.iter().map(|fact| names.fact(fact)).collect();
        }
        self.events.truncate(events);
        for fact in &self.raw_events[events..] {
            self.events.push(names.fact(fact));
        }
    }

    /// The events, as in a recording.
    pub(crate) fn events(&self) -> &[Fact] {
        &self.events
    }

    /// The last state of every object that is still there, by kind and name in the cluster.
    pub(crate) fn living(&self) -> BTreeMap<(&str, &str), &Moment> {
        let mut living = BTreeMap::new();
        for moment in &self.moments {
            let name = moment.body["metadata"]["name"].as_str().unwrap_or("");
            let key = (moment.kind.as_str(), name);
            if moment.change == Change::Deleted {
                living.remove(&key);
            } else {
                living.insert(key, moment);
            }
        }
        living
    }

    /// The name in the cluster of the first living object that a recording calls so.
    pub(crate) fn real_name(&self, subject: &str) -> Option<String> {
        let living = self.living();
        let found = living.into_iter().find(|(_, m)| m.subject == subject);
        found.map(|((_, name), _)| name.to_owned())
    }
}
