//! The store: what is, what was, and what happened in between.
//!
//! Pure data. Takes changes, gives versions and events; answers reads of the newest state, of an
//! older one, and of everything after a version. Lists come in the order in which etcd keeps
//! keys: by `namespace/name`, so that `a-b/x` stands before `a/x`.

use crate::body::Stored;
use crate::change::{Change, Committed, Event, EventKind, Key, Version};
use crate::log::{Compacted, Limits, Log, Record};
use std::cmp::Ordering;
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

/// The objects of one resource.
#[derive(Debug)]
struct Resource {
    /// In the order of lists.
    spaces: Vec<Space>,
    live: usize,
    log: Log,
}

/// The objects of one resource in one namespace.
#[derive(Debug)]
struct Space {
    namespace: Arc<str>,
    entries: BTreeMap<Arc<str>, Entry>,
    live: usize,
}

/// One object; it outlives its removal for as long as the log knows of the removal.
#[derive(Debug)]
struct Entry {
    current: Option<Stored>,
    /// The version of the newest change.
    changed: Version,
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
            let resource = resource_mut(&mut memory.resources, &key.resource, version);
            let space = space_mut(&mut resource.spaces, &key.namespace);
            let changed = object.version();
            let entry = Entry {
                current: Some(object),
                changed,
            };
            if space.entries.insert(key.name, entry).is_none() {
                space.live += 1;
                resource.live += 1;
            }
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
        }
    }

    /// Puts one change that will take place into the index and the log.
    fn record(&mut self, key: Key, object: Stored, kind: EventKind) -> Event {
        self.version += 1;
        let resource = resource_mut(&mut self.resources, &key.resource, self.floor);
        let space = space_mut(&mut resource.spaces, &key.namespace);
        let current = (kind != EventKind::Deleted).then(|| object.clone());
        let (name, before, previous) = space.replace(key.name, current, self.version);
        let kind = match (kind, &previous) {
            (EventKind::Deleted, _) => EventKind::Deleted,
            (_, None) => EventKind::Added,
            (_, Some(_)) => EventKind::Modified,
        };
        match kind {
            EventKind::Added => (space.live, resource.live) = (space.live + 1, resource.live + 1),
            EventKind::Deleted => (space.live, resource.live) = (space.live - 1, resource.live - 1),
            EventKind::Modified => {}
        }
        let record = Record {
            version: self.version,
            before,
            kind,
            namespace: Arc::clone(&space.namespace),
            name,
            object,
            previous,
        };
        let event = record.event(&key.resource);
        self.history_bytes += record.weight();
        resource.log.push(record);
        event
    }

    /// The namespaces to look at: all of a resource, or the one that is asked for if it exists.
    fn spaces(&self, resource: &str, namespace: Option<&str>) -> &[Space] {
        let Some(resource) = self.resources.get(resource) else {
            return &[];
        };
        match namespace {
            None => &resource.spaces,
            Some(namespace) => match find(&resource.spaces, namespace) {
                Ok(place) => &resource.spaces[place..=place],
                Err(_) => &[],
            },
        }
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

impl Resource {
    /// The state of an object at a version that was checked before.
    fn state_at<'a>(&'a self, entry: &'a Entry, at: Version) -> Option<&'a Stored> {
        if entry.changed <= at {
            entry.current.as_ref()
        } else {
            self.log.state_at(entry.changed, at)
        }
    }

    /// Forgets the oldest record, and the object when it was its removal; gives the bytes freed.
    fn drop_oldest(&mut self) -> usize {
        let Some(record) = self.log.pop() else {
            return 0;
        };
        if record.kind == EventKind::Deleted {
            self.bury(&record);
        }
        record.weight()
    }

    fn bury(&mut self, record: &Record) {
        let Ok(place) = find(&self.spaces, &record.namespace) else {
            return;
        };
        let entries = &mut self.spaces[place].entries;
        let gone = entries
            .get(&record.name)
            .is_some_and(|e| e.changed == record.version);
        if gone {
            entries.remove(&record.name);
        }
        if entries.is_empty() {
            self.spaces.remove(place);
        }
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

fn resource_mut<'a>(
    resources: &'a mut BTreeMap<Arc<str>, Resource>,
    name: &Arc<str>,
    floor: Version,
) -> &'a mut Resource {
    resources
        .entry(Arc::clone(name))
        .or_insert_with(|| Resource {
            spaces: Vec::new(),
            live: 0,
            log: Log::starting_after(floor),
        })
}

fn space_mut<'a>(spaces: &'a mut Vec<Space>, namespace: &Arc<str>) -> &'a mut Space {
    let place = find(spaces, namespace).unwrap_or_else(|place| {
        let space = Space {
            namespace: Arc::clone(namespace),
            entries: BTreeMap::new(),
            live: 0,
        };
        spaces.insert(place, space);
        place
    });
    &mut spaces[place]
}

fn find(spaces: &[Space], namespace: &str) -> Result<usize, usize> {
    spaces.binary_search_by(|space| list_order(&space.namespace, namespace))
}

/// The order of namespaces in a list: as if each were followed by a slash.
fn list_order(a: &str, b: &str) -> Ordering {
    a.bytes().chain([b'/']).cmp(b.bytes().chain([b'/']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    /// Plays `+ns/name=content` and `-ns/name` as one commit and shows what it did.
    fn commit(memory: &mut Memory, changes: &str) -> String {
        let changes = changes.split_whitespace().map(|word| {
            let (sign, rest) = word.split_at(1);
            let (place, content) = rest.split_once('=').unwrap_or((rest, ""));
            let (namespace, name) = place.split_once('/').expect("ns/name");
            let key = Key::new("configmaps", namespace, name);
            let body = json!({"data": content});
            match sign {
                "+" => Change::Put { key, body },
                _ => Change::Delete { key, last: body },
            }
        });
        let done = memory.commit(changes.collect());
        let events: Vec<String> = done.events.iter().map(show).collect();
        format!("{:?} {}", done.versions, events.join(" "))
    }

    fn show(event: &Event) -> String {
        let data = |object: &Stored| object.value()["data"].to_string();
        let previous = event.previous.as_ref().map_or("-".to_owned(), data);
        format!(
            "{:?}@{}:{}/{}={previous}>{}",
            event.kind,
            event.version,
            event.key.namespace,
            event.key.name,
            data(&event.object)
        )
    }

    fn names(memory: &Memory) -> String {
        let names = memory
            .list("configmaps", None)
            .map(|(ns, name, _)| format!("{ns}/{name}"));
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_change_has_its_version_and_event() {
        let mut memory = Memory::new();
        assert_eq!(
            commit(&mut memory, "+a/x=1 +a/x=2 -a/x"),
            r#"[2, 3, 4] Added@2:a/x=->"1" Modified@3:a/x="1">"2" Deleted@4:a/x="2">"""#
        );
        assert_eq!(commit(&mut memory, "+a/x=3"), r#"[5] Added@5:a/x=->"3""#);
    }

    #[test]
    fn removing_nothing_changes_nothing() {
        let mut memory = Memory::new();
        assert_eq!(
            commit(&mut memory, "-a/x +a/y=1 -a/x"),
            r#"[1, 2, 2] Added@2:a/y=->"1""#
        );
        assert_eq!(memory.version(), 2);
    }

    #[test]
    fn lists_are_in_the_order_of_etcd_keys() {
        let mut memory = Memory::new();
        commit(
            &mut memory,
            "+b/x= +a/y= +a/x.z= +a/x-z= +a/x= +a-b/x= +a.b/x=",
        );
        assert_eq!(names(&memory), "a-b/x a.b/x a/x a/x-z a/x.z a/y b/x");
    }

    #[test]
    fn a_page_may_start_after_what_is_gone() {
        let mut memory = Memory::new();
        commit(&mut memory, "+a/x= +b/x= +c/x=");
        let page = |after| {
            let page = memory
                .list_at("configmaps", None, 4, Some(after), 1)
                .expect("kept");
            (page.items[0].namespace.to_string(), page.more)
        };
        assert_eq!(page(("a", "y")), ("b".to_owned(), true));
        assert_eq!(page(("aa", "x")), ("b".to_owned(), true));
        assert_eq!(page(("b", "x")), ("c".to_owned(), false));
    }

    #[test]
    fn one_busy_resource_does_not_end_the_watches_of_another() {
        let mut memory = Memory::new();
        commit(&mut memory, "+a/x=1");
        for n in 0..50 {
            let key = Key::new("leases", "a", "lease");
            memory.commit(vec![Change::Put {
                key,
                body: json!({"data": n}),
            }]);
        }
        memory.compact(Limits {
            events_max: 10,
            ..Limits::default()
        });
        assert_eq!(
            memory.events_after("configmaps", 1, 9).map(|e| e.len()),
            Ok(1)
        );
        let refused = memory.events_after("leases", 1, 9).map(|e| e.len());
        assert_eq!(
            refused,
            Err(Compacted {
                asked: 1,
                oldest: 42
            })
        );
    }

    #[test]
    fn removed_objects_leave_nothing_behind() {
        let mut memory = Memory::new();
        for n in 0..100 {
            commit(&mut memory, &format!("+ns{n}/x= -ns{n}/x"));
        }
        memory.compact(Limits {
            events_max: 0,
            bytes_max: 0,
        });
        assert!(memory.resources["configmaps"].spaces.is_empty());
        assert_eq!((memory.history_bytes(), memory.resources().count()), (0, 0));
    }
}
