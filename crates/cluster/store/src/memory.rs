//! The store: what is, what was, and what happened in between.
//!
//! Pure data. Takes changes, gives versions and events; answers reads of the newest state, of an
//! older one, and of everything after a version. Lists come in the order in which etcd keeps
//! keys: by `namespace/name`, so that `a-b/x` stands before `a/x`.

use crate::body::Stored;
use crate::change::{Change, Committed, Event, EventKind, Key, Version};
use crate::index::{Resource, Space, list_order};
use crate::log::{Compacted, Limits, Log, Record};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The version of an empty store: clients read a 0 as "any version".
const FIRST: Version = 1;

/// All objects, and their history as far as it is kept.
#[derive(Debug)]
pub struct Memory {
    version: Version,
    /// History of resources that have no log yet begins here.
    floor: Version,
    resources: BTreeMap<Arc<str>, Resource>,
    /// The sum of the weights of all records.
    history_bytes: usize,
}

/// One object of a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// The object.
    pub object: Stored,
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The objects, in order.
    pub items: Vec<Listed>,
    /// Whether there are objects after the last one.
    pub more: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self {
            version: FIRST,
            floor: 0,
            resources: BTreeMap::new(),
            history_bytes: 0,
        }
    }

    /// A store that holds `objects`, stands at `version` and knows nothing of what was before.
    pub(crate) fn restore(
        version: Version,
        objects: impl IntoIterator<Item = (Key, Stored)>,
    ) -> Self {
        let mut memory = Self::new();
        memory.version = version.max(FIRST);
        memory.floor = version;
        for (key, object) in objects {
            let resource = memory.resource_mut(&key.resource);
            resource.restore(key.namespace, key.name, object);
        }
        memory
    }

    /// The newest version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The version from which on all resources can be read and watched.
    pub fn compacted(&self) -> Version {
        let logs = self.resources.values().map(|r| r.log.compacted());
        logs.fold(self.floor, Version::max)
    }

    /// The version from which on this resource can be read and watched.
    pub fn compacted_of(&self, resource: &str) -> Version {
        let own = self
            .resources
            .get(resource)
            .map_or(0, |r| r.log.compacted());
        own.max(self.floor)
    }

    /// The bytes that exist for the sake of history alone.
    pub fn history_bytes(&self) -> usize {
        self.history_bytes
    }

    /// One object.
    pub fn get(&self, key: &Key) -> Option<&Stored> {
        self.get_parts(&key.resource, &key.namespace, &key.name)
    }

    /// One object, by the parts of its key.
    pub fn get_parts(&self, resource: &str, namespace: &str, name: &str) -> Option<&Stored> {
        let spaces = self.spaces(resource, Some(namespace));
        spaces.first()?.entries.get(name)?.current.as_ref()
    }

    /// The objects of a resource, in one namespace or in all, in order.
    pub fn list<'a>(
        &'a self,
        resource: &str,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<str>, &'a Stored)> + use<'a> {
        self.spaces(resource, namespace).iter().flat_map(|space| {
            space
                .entries
                .iter()
                .filter_map(|(name, entry)| Some((&space.namespace, name, entry.current.as_ref()?)))
        })
    }

    /// The objects as they were at a version: at most `limit` of those that come after the object
    /// named by `after`. A version that is yet to come reads as the newest one.
    pub fn list_at(
        &self,
        resource: &str,
        namespace: Option<&str>,
        at: Version,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Page, Compacted> {
        let mut page = Page::default();
        let Some(all) = self.resources.get(resource) else {
            self.check_floor(at)?;
            return Ok(page);
        };
        all.log.check(at)?;
        let spaces = self.spaces(resource, namespace);
        let first = after.map_or(0, |(ns, _)| {
            spaces.partition_point(|s| list_order(&s.namespace, ns).is_lt())
        });
        for space in &spaces[first..] {
            let start = match after {
                Some((ns, name)) if *space.namespace == *ns => Bound::Excluded(name),
                _ => Bound::Unbounded,
            };
            for (name, entry) in space.entries.range::<str, _>((start, Bound::Unbounded)) {
                let Some(object) = all.state_at(entry, at) else {
                    continue;
                };
                if page.items.len() == limit {
                    page.more = true;
                    return Ok(page);
                }
                page.items.push(Listed {
                    namespace: Arc::clone(&space.namespace),
                    name: Arc::clone(name),
                    object: object.clone(),
                });
            }
        }
        Ok(page)
    }

    /// How many objects there are, without looking at them.
    pub fn count(&self, resource: &str, namespace: Option<&str>) -> usize {
        match namespace {
            None => self.resources.get(resource).map_or(0, |r| r.live),
            Some(_) => self
                .spaces(resource, namespace)
                .iter()
                .map(|s| s.live)
                .sum(),
        }
    }

    /// How many objects there were at a version; costs as much as there are events since then.
    pub fn count_at(
        &self,
        resource: &str,
        namespace: Option<&str>,
        at: Version,
    ) -> Result<usize, Compacted> {
        let now = self.count(resource, namespace) as i64;
        let since = self.records_after(resource, at)?;
        let grown: i64 = since
            .filter(|r| namespace.is_none_or(|ns| *r.namespace == *ns))
            .map(|r| match r.kind {
                EventKind::Added => 1,
                EventKind::Modified => 0,
                EventKind::Deleted => -1,
            })
            .sum();
        Ok((now - grown).max(0) as usize)
    }

    /// The resources that hold objects, in order.
    pub fn resources(&self) -> impl Iterator<Item = &str> {
        let held = self.resources.iter().filter(|(_, r)| r.live > 0);
        held.map(|(name, _)| &**name)
    }

    /// Makes the changes, in order, each at a version of its own.
    pub fn commit(&mut self, changes: Vec<Change>) -> Committed {
        let mut done = Committed {
            versions: Vec::with_capacity(changes.len()),
            events: Vec::with_capacity(changes.len()),
        };
        for change in changes {
            done.events.extend(self.apply(change));
            done.versions.push(self.version);
        }
        done
    }

    /// What happened to a resource after a version, at most `max` events, oldest first. Go on with
    /// the version of the last one.
    pub fn events_after(
        &self,
        resource: &str,
        after: Version,
        max: usize,
    ) -> Result<Vec<Event>, Compacted> {
        let records = self.records_after(resource, after)?;
        let Some((name, _)) = self.resources.get_key_value(resource) else {
            return Ok(Vec::new());
        };
        Ok(records.take(max).map(|record| record.event(name)).collect())
    }

    /// As [`Memory::events_after`], for one namespace; events elsewhere cost next to nothing.
    pub fn events_in(
        &self,
        resource: &str,
        namespace: &str,
        after: Version,
        max: usize,
    ) -> Result<Vec<Event>, Compacted> {
        let records = self.records_after(resource, after)?;
        let Some((name, _)) = self.resources.get_key_value(resource) else {
            return Ok(Vec::new());
        };
        let here = records.filter(|record| *record.namespace == *namespace);
        Ok(here.take(max).map(|record| record.event(name)).collect())
    }

    /// Drops history beyond the limits, oldest first.
    pub fn compact(&mut self, keep: Limits) {
        for resource in self.resources.values_mut() {
            while resource.log.len() > keep.events_max {
                self.history_bytes -= resource.drop_oldest();
            }
        }
        while self.history_bytes > keep.bytes_max {
            let logged = self.resources.values_mut().filter(|r| r.log.len() > 0);
            let Some(resource) = logged.min_by_key(|r| r.log.oldest()) else {
                return;
            };
            self.history_bytes -= resource.drop_oldest();
        }
    }

    /// Drops the history of everything up to and including a version: reads and watches from
    /// before it are refused from now on.
    pub fn compact_to(&mut self, version: Version) {
        let version = version.min(self.version);
        self.floor = self.floor.max(version);
        for resource in self.resources.values_mut() {
            while resource
                .log
                .oldest()
                .is_some_and(|oldest| oldest <= version)
            {
                self.history_bytes -= resource.drop_oldest();
            }
            resource.log.forget(version);
        }
    }

    fn apply(&mut self, change: Change) -> Option<Event> {
        let next = self.version + 1;
        match change {
            Change::Put { key, body } => {
                let object = Stored::new(next, body);
                Some(self.record(key, object, EventKind::Modified))
            }
            Change::Delete { key, last } => {
                self.get(&key)?;
                let object = Stored::new(next, last);
                Some(self.record(key, object, EventKind::Deleted))
            }
            Change::Remove { key } => {
                let last = self.get(&key)?.value();
                let object = Stored::new(next, last);
                Some(self.record(key, object, EventKind::Deleted))
            }
        }
    }

    /// Puts one change that will take place into the index and the log.
    fn record(&mut self, key: Key, object: Stored, kind: EventKind) -> Event {
        self.version += 1;
        let resource = self.resource_mut(&key.resource);
        let record = resource.set(key.namespace, key.name, object, kind);
        let event = record.event(&key.resource);
        self.history_bytes += record.weight();
        event
    }

    fn resource_mut(&mut self, name: &Arc<str>) -> &mut Resource {
        let floor = self.floor;
        self.resources
            .entry(Arc::clone(name))
            .or_insert_with(|| Resource::new(floor))
    }

    /// The namespaces to look at.
    fn spaces(&self, resource: &str, namespace: Option<&str>) -> &[Space] {
        let resource = self.resources.get(resource);
        resource.map_or(&[], |resource| resource.spaces(namespace))
    }

    fn records_after(
        &self,
        resource: &str,
        after: Version,
    ) -> Result<impl Iterator<Item = &Record>, Compacted> {
        let all = self.resources.get(resource);
        if all.is_none() {
            self.check_floor(after)?;
        }
        let records = all.map(|all| all.log.after(after)).transpose()?;
        Ok(records.into_iter().flatten())
    }

    fn check_floor(&self, at: Version) -> Result<(), Compacted> {
        Log::starting_after(self.floor).check(at)
    }
}

#[cfg(test)]
mod tests;
