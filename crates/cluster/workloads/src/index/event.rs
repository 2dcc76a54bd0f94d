//! Events by what they say, so that one that happens again is counted instead of written anew.

use crate::object::count;
use model::{Value, meta};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// What makes two events the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventKey<'a> {
    pub(crate) uid: &'a str,
    pub(crate) field_path: &'a str,
    /// The scheduler tells versions of an object apart; the others do not.
    pub(crate) version: &'a str,
    pub(crate) component: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

/// A known event.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) count: i64,
}

/// All known events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    same: HashMap<u64, Known>,
    keys: HashMap<(Arc<str>, Arc<str>), u64>,
}

impl EventKey<'_> {
    /// A number that stands for the key.
    pub(crate) fn digest(&self) -> u64 {
        // Fixed keys: the same in every run.
        let mut hasher = DefaultHasher::new();
        self.uid.hash(&mut hasher);
        self.field_path.hash(&mut hasher);
        self.version.hash(&mut hasher);
        self.component.hash(&mut hasher);
        self.kind.hash(&mut hasher);
        self.reason.hash(&mut hasher);
        self.message.hash(&mut hasher);
        hasher.finish()
    }

    fn read(event: &Value) -> EventKey<'_> {
        let text = |pointer: &str| meta::text_at(event, pointer);
        let timed = !text("/eventTime").is_empty();
        EventKey {
            version: if timed {
                text("/involvedObject/resourceVersion")
            } else {
                ""
            },
            uid: text("/involvedObject/uid"),
            field_path: text("/involvedObject/fieldPath"),
            component: text("/reportingComponent"),
            kind: text("/type"),
            reason: text("/reason"),
            message: text("/message"),
        }
    }
}

impl Events {
    /// The event that said this before.
    pub(crate) fn find(&self, key: &EventKey<'_>) -> Option<&Known> {
        self.same.get(&key.digest())
    }

    pub(super) fn learn(&mut self, namespace: &Arc<str>, name: &Arc<str>, new: Option<&Value>) {
        let place = (namespace.clone(), name.clone());
        let Some(event) = new else {
            if let Some(digest) = self.keys.remove(&place) {
                self.same.remove(&digest);
            }
            return;
        };
        let digest = EventKey::read(event).digest();
        let series = count(event, "/series/count");
        let known = Known {
            namespace: namespace.clone(),
            name: name.clone(),
            count: count(event, "/count").max(series).max(1),
        };
        if let Some(before) = self.keys.insert(place, digest)
            && before != digest
        {
            self.same.remove(&before);
        }
        self.same.insert(digest, known);
    }
}
