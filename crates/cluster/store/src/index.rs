//! The objects of one resource by namespace and name, with the log of what happened to them.
//!
//! Takes one state of one object at a time and gives the record of the change. An object outlives
//! its removal for as long as the log knows of it, so that reads of the past find it.

use crate::body::Stored;
use crate::change::{EventKind, Version};
use crate::log::{Log, Record};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The objects of one resource.
#[derive(Debug)]
pub(crate) struct Resource {
    /// In the order of lists.
    spaces: Vec<Space>,
    pub(crate) live: usize,
    pub(crate) log: Log,
}

/// The objects of one resource in one namespace.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) namespace: Arc<str>,
    pub(crate) entries: BTreeMap<Arc<str>, Entry>,
    pub(crate) live: usize,
}

/// One object, or what is left of it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) current: Option<Stored>,
    /// The version of the newest change.
    changed: Version,
}

impl Resource {
    /// No objects, and history from a version on.
    pub(crate) fn new(floor: Version) -> Self {
        Self {
            spaces: Vec::new(),
            live: 0,
            log: Log::starting_after(floor),
        }
    }

    /// All namespaces, or the one that is asked for if it exists.
    pub(crate) fn spaces(&self, namespace: Option<&str>) -> &[Space] {
        match namespace.map(|namespace| self.find(namespace)) {
            None => &self.spaces,
            Some(Ok(place)) => &self.spaces[place..=place],
            Some(Err(_)) => &[],
        }
    }

    /// Puts an object back that was there before the log begins.
    pub(crate) fn restore(&mut self, namespace: Arc<str>, name: Arc<str>, object: Stored) {
        let changed = object.version();
        let space = self.space_mut(namespace);
        let (_, _, previous) = space.replace(name, Some(object), changed);
        if previous.is_none() {
            space.live += 1;
            self.live += 1;
        }
    }

    /// Sets the newest state of an object, its last one if it is removed; the version is the
    /// object's.
    pub(crate) fn set(
        &mut self,
        namespace: Arc<str>,
        name: Arc<str>,
        object: Stored,
        kind: EventKind,
    ) -> &Record {
        let version = object.version();
        let current = (kind != EventKind::Deleted).then(|| object.clone());
        let space = self.space_mut(namespace);
        let (name, before, previous) = space.replace(name, current, version);
        let kind = match (kind, &previous) {
            (EventKind::Deleted, _) => EventKind::Deleted,
            (EventKind::Added | EventKind::Modified, None) => EventKind::Added,
            (EventKind::Added | EventKind::Modified, Some(_)) => EventKind::Modified,
        };
        let (more, less) = match kind {
            EventKind::Added => (1, 0),
            EventKind::Modified => (0, 0),
            EventKind::Deleted => (0, 1),
        };
        space.live = space.live + more - less;
        let namespace = Arc::clone(&space.namespace);
        self.live = self.live + more - less;
        self.log.push(Record {
            version,
            before,
            kind,
            namespace,
            name,
            object,
            previous,
        })
    }

    /// The state of an object at a version that was checked before.
    pub(crate) fn state_at<'a>(&'a self, entry: &'a Entry, at: Version) -> Option<&'a Stored> {
        if entry.changed <= at {
            entry.current.as_ref()
        } else {
            self.log.state_at(entry.changed, at)
        }
    }

    /// Forgets the oldest record, and the object when it was its removal; gives the bytes freed.
    pub(crate) fn drop_oldest(&mut self) -> usize {
        let Some(record) = self.log.pop() else {
            return 0;
        };
        if record.kind == EventKind::Deleted {
            self.bury(&record);
        }
        record.weight()
    }

    fn bury(&mut self, record: &Record) {
        let Ok(place) = self.find(&record.namespace) else {
            return;
        };
        let entries = &mut self.spaces[place].entries;
        let gone = entries
            .get(&record.name)
            .is_some_and(|entry| entry.changed == record.version);
        if gone {
            entries.remove(&record.name);
        }
        if entries.is_empty() {
            self.spaces.remove(place);
        }
    }

    fn space_mut(&mut self, namespace: Arc<str>) -> &mut Space {
        let place = self.find(&namespace).unwrap_or_else(|place| {
            let space = Space {
                namespace,
                entries: BTreeMap::new(),
                live: 0,
            };
            self.spaces.insert(place, space);
            place
        });
        &mut self.spaces[place]
    }

    fn find(&self, namespace: &str) -> Result<usize, usize> {
        self.spaces
            .binary_search_by(|space| list_order(&space.namespace, namespace))
    }
}

impl Space {
    /// Sets the state of an object; gives its shared name, the version of the change before this
    /// one (0 when there was none) and the state before.
    fn replace(
        &mut self,
        name: Arc<str>,
        current: Option<Stored>,
        changed: Version,
    ) -> (Arc<str>, Version, Option<Stored>) {
        let place = (Bound::Included(&*name), Bound::Included(&*name));
        if let Some((kept, entry)) = self.entries.range_mut::<str, _>(place).next() {
            let before = std::mem::replace(&mut entry.changed, changed);
            let previous = std::mem::replace(&mut entry.current, current);
            return (Arc::clone(kept), before, previous);
        }
        self.entries
            .insert(Arc::clone(&name), Entry { current, changed });
        (name, 0, None)
    }
}

/// The order of namespaces in a list: as if each were followed by a slash.
pub(crate) fn list_order(a: &str, b: &str) -> Ordering {
    a.bytes().chain([b'/']).cmp(b.bytes().chain([b'/']))
}
