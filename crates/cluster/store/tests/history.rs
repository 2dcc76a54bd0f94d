//! Whatever is written, removed and forgotten: reads of the past and watches are exact.
//!
//! A random history is played into the store and into a model that simply keeps a copy of
//! everything at every version.

use model::{Value, json};
use proptest::prelude::*;
use std::collections::BTreeMap;
use store::{Change, Committed, Compacted, EventKind, Key, Limits, Memory, Version};

const RESOURCES: [&str; 2] = ["configmaps", "apps/deployments"];
/// `a-b` stands before `a` in a list, since a slash follows each.
const NAMESPACES: [&str; 4] = ["", "a", "a-b", "b"];
const NAMES: [&str; 4] = ["x", "y", "y.z", "z"];

type Place = (usize, usize, usize);

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<(Place, Option<u8>)>),
    Compact {
        events_max: usize,
        bytes_max: usize,
    },
    CompactTo {
        percent: u8,
    },
    /// A watcher reads on, at most so many events at once. The store knows no connections: every
    /// read is a new one that says the version it has seen.
    Watch {
        watcher: usize,
        max: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = (0..RESOURCES.len(), 0..NAMESPACES.len(), 0..NAMES.len());
    let change = (place, prop::option::weighted(0.7, any::<u8>()));
    let step = prop_oneof![
        8 => prop::collection::vec(change, 1..4).prop_map(Step::Commit),
        1 => (0..12_usize, 0..4000_usize)
            .prop_map(|(events_max, bytes_max)| Step::Compact { events_max, bytes_max }),
        1 => (0..=100_u8).prop_map(|percent| Step::CompactTo { percent }),
        4 => (0..WATCHERS, 1..5_usize).prop_map(|(watcher, max)| Step::Watch { watcher, max }),
    ];
    prop::collection::vec(step, 1..80)
}

/// Objects in the order of lists: namespace with its slash, name, and the number that was written.
type Snapshot = BTreeMap<(String, String), u64>;
type Listing = Vec<((String, String), u64)>;

/// The store as one would write it without a thought for memory.
#[derive(Default)]
struct Model {
    /// Per resource, the state at every version; the place in the list is the version.
    snapshots: Vec<[Snapshot; 2]>,
    events: Vec<Happened>,
}

#[derive(Clone, Debug, PartialEq)]
struct Happened {
    version: Version,
    resource: usize,
    kind: EventKind,
    place: (String, String),
    object: u64,
    previous: Option<u64>,
}

impl Model {
    fn apply(&mut self, place: Place, value: Option<u8>) {
        let mut next = self.snapshots.last().cloned().unwrap_or_default();
        let version = self.snapshots.len() as Version;
        let state = &mut next[place.0];
        let key = (
            format!("{}/", NAMESPACES[place.1]),
            NAMES[place.2].to_owned(),
        );
        let object = content(version, value);
        let previous = match value {
            Some(_) => state.insert(key.clone(), object),
            None => state.remove(&key),
        };
        let kind = match (value, previous) {
            (Some(_), None) => EventKind::Added,
            (Some(_), Some(_)) => EventKind::Modified,
            (None, Some(_)) => EventKind::Deleted,
            (None, None) => return,
        };
        self.snapshots.push(next);
        self.events.push(Happened {
            version,
            resource: place.0,
            kind,
            place: key,
            object,
            previous,
        });
    }

    fn after(&self, resource: usize, version: Version) -> Vec<Happened> {
        let wanted = |e: &&Happened| e.resource == resource && e.version > version;
        self.events.iter().filter(wanted).cloned().collect()
    }
}

/// A number that names both the version and what was written.
fn content(version: Version, value: Option<u8>) -> u64 {
    version * 1000 + value.map_or(999, u64::from)
}

fn number(object: &store::Stored) -> u64 {
    let value = object.value();
    let version = value["metadata"]["resourceVersion"]
        .as_str()
        .expect("set by the store");
    assert_eq!(version, object.version().to_string());
    assert_eq!(object.json(), serde_json::to_vec(&value).expect("a tree"));
    value["data"]["number"].as_u64().expect("written below")
}

fn body(version: Version, value: Option<u8>) -> Value {
    json!({"data": {"number": content(version, value)}, "metadata": {"resourceVersion": "7"}})
}

const WATCHERS: usize = 3;

/// A client that keeps a copy by list and watch, as informers do.
struct Watcher {
    resource: usize,
    at: Version,
    copy: Snapshot,
    /// The version of the last list.
    since: Version,
    /// All events since then.
    seen: Vec<Happened>,
}

impl Watcher {
    fn relist(&mut self, memory: &Memory) {
        self.copy = listed(memory, self.resource);
        self.at = memory.version();
        self.since = self.at;
        self.seen.clear();
    }

    /// Reads on; a refusal must be true, and is answered by a new list.
    fn read(&mut self, memory: &Memory, max: usize) {
        let resource = RESOURCES[self.resource];
        match memory.events_after(resource, self.at, max) {
            Ok(events) => {
                for event in &events {
                    self.take(event);
                }
            }
            Err(Compacted { asked, oldest }) => {
                assert_eq!((asked, oldest), (self.at, memory.compacted_of(resource)));
                assert!(asked < oldest);
                self.relist(memory);
            }
        }
    }

    fn take(&mut self, event: &store::Event) {
        let happened = happened(event);
        assert!(
            event.version > self.at,
            "twice or out of order: {happened:?}"
        );
        self.at = event.version;
        let before = match event.kind {
            EventKind::Deleted => self.copy.remove(&happened.place),
            _ => self.copy.insert(happened.place.clone(), happened.object),
        };
        assert_eq!(
            before, happened.previous,
            "something was missed before {happened:?}"
        );
        self.seen.push(happened);
    }
}

fn happened(event: &store::Event) -> Happened {
    assert_eq!(event.version, event.object.version());
    let resource = RESOURCES.iter().position(|r| *r == &*event.key.resource);
    Happened {
        version: event.version,
        resource: resource.expect("one of ours"),
        kind: event.kind,
        place: (
            format!("{}/", event.key.namespace),
            event.key.name.to_string(),
        ),
        object: number(&event.object),
        previous: event.previous.as_ref().map(number),
    }
}

fn listed(memory: &Memory, resource: usize) -> Snapshot {
    let items = memory.list(RESOURCES[resource], None);
    items
        .map(|(ns, name, object)| ((format!("{ns}/"), name.to_string()), number(object)))
        .collect()
}

/// Reads a list of the past page by page.
fn paged(
    memory: &Memory,
    resource: usize,
    namespace: Option<&str>,
    at: Version,
    limit: usize,
) -> Result<Listing, Compacted> {
    let mut all = Vec::new();
    let mut after: Option<(String, String)> = None;
    loop {
        let from = after
            .as_ref()
            .map(|(ns, name)| (ns.as_str(), name.as_str()));
        let page = memory.list_at(RESOURCES[resource], namespace, at, from, limit)?;
        assert!(page.items.len() <= limit);
        for item in &page.items {
            let place = (format!("{}/", item.namespace), item.name.to_string());
            all.push((place, number(&item.object)));
            after = Some((item.namespace.to_string(), item.name.to_string()));
        }
        if !page.more {
            return Ok(all);
        }
        assert_eq!(page.items.len(), limit);
    }
}

fn commit(memory: &mut Memory, model: &mut Model, changes: &[(Place, Option<u8>)]) {
    let mut wanted = Vec::new();
    let first = model.events.len();
    let changes = changes.iter().map(|(place, value)| {
        let version = model.snapshots.len() as Version;
        model.apply(*place, *value);
        wanted.push(model.snapshots.len() as Version - 1);
        let key = Key::new(RESOURCES[place.0], NAMESPACES[place.1], NAMES[place.2]);
        let body = body(version, *value);
        match value {
            Some(_) => Change::Put { key, body },
            None => Change::Delete { key, last: body },
        }
    });
    let changes: Vec<Change> = changes.collect();
    let Committed { versions, events } = memory.commit(changes);
    assert_eq!(versions, wanted);
    let events: Vec<Happened> = events.iter().map(happened).collect();
    assert_eq!(events, model.events[first..]);
}

fn check_reads(memory: &Memory, model: &Model, limit: usize) {
    assert_eq!(memory.version() as usize, model.snapshots.len() - 1);
    for (resource, name) in RESOURCES.iter().enumerate() {
        let oldest = memory.compacted_of(name);
        assert!(oldest <= memory.compacted());
        for at in 0..=memory.version() {
            if at < oldest {
                let refused = Compacted { asked: at, oldest };
                assert_eq!(paged(memory, resource, None, at, limit), Err(refused));
                assert_eq!(memory.events_after(name, at, 9).map(|_| ()), Err(refused));
                assert_eq!(memory.count_at(name, None, at), Err(refused));
                continue;
            }
            check_moment(memory, model, resource, at, limit);
        }
        for (place, object) in &model.snapshots.last().expect("has a first")[resource] {
            let (ns, name) = (place.0.trim_end_matches('/'), place.1.as_str());
            let key = Key::new(RESOURCES[resource], ns, name);
            assert_eq!(memory.get(&key).map(number), Some(*object));
        }
    }
    let held: Vec<&str> = memory.resources().collect();
    let now = model.snapshots.last().expect("has a first");
    let mut wanted: Vec<&str> = (0..2)
        .filter(|r| !now[*r].is_empty())
        .map(|r| RESOURCES[r])
        .collect();
    wanted.sort_unstable();
    assert_eq!(held, wanted);
}

fn check_moment(memory: &Memory, model: &Model, resource: usize, at: Version, limit: usize) {
    let name = RESOURCES[resource];
    let snapshot = &model.snapshots[at as usize][resource];
    for namespace in [None].into_iter().chain(NAMESPACES.map(Some)) {
        let here =
            |place: &(String, String)| namespace.is_none_or(|ns| place.0 == format!("{ns}/"));
        let wanted: Vec<_> = snapshot.iter().filter(|(place, _)| here(place)).collect();
        let found = paged(memory, resource, namespace, at, limit).expect("not compacted");
        assert_eq!(
            found.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>(),
            wanted
        );
        assert_eq!(memory.count_at(name, namespace, at), Ok(wanted.len()));
        if at == memory.version() {
            assert_eq!(memory.count(name, namespace), wanted.len());
            assert_eq!(memory.list(name, namespace).count(), wanted.len());
        }
        let Some(namespace) = namespace else { continue };
        let events = memory
            .events_in(name, namespace, at, usize::MAX)
            .expect("not compacted");
        let mut since = model.after(resource, at);
        since.retain(|event| here(&event.place));
        assert_eq!(events.iter().map(happened).collect::<Vec<_>>(), since);
    }
    let events = memory
        .events_after(name, at, usize::MAX)
        .expect("not compacted");
    let events: Vec<Happened> = events.iter().map(happened).collect();
    assert_eq!(events, model.after(resource, at));
}

fn play(steps: &[Step]) -> (Memory, Model, Vec<Watcher>) {
    let mut memory = Memory::new();
    let mut model = Model::default();
    // An empty store stands at version 1.
    model.snapshots.resize_with(2, Default::default);
    let mut watchers: Vec<Watcher> = (0..WATCHERS)
        .map(|n| Watcher {
            resource: n % RESOURCES.len(),
            at: 1,
            copy: Snapshot::new(),
            since: 1,
            seen: Vec::new(),
        })
        .collect();
    for step in steps {
        match step {
            Step::Commit(changes) => commit(&mut memory, &mut model, changes),
            Step::Compact {
                events_max,
                bytes_max,
            } => memory.compact(Limits {
                events_max: *events_max,
                bytes_max: *bytes_max,
            }),
            Step::CompactTo { percent } => {
                memory.compact_to(memory.version() * Version::from(*percent) / 100);
            }
            Step::Watch { watcher, max } => watchers[*watcher].read(&memory, *max),
        }
    }
    (memory, model, watchers)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn the_past_reads_as_it_was(steps in steps(), limit in 1..6_usize) {
        let (memory, model, _) = play(&steps);
        check_reads(&memory, &model, limit);
    }

    #[test]
    fn watchers_see_every_change_once_and_in_order(steps in steps()) {
        let (memory, model, mut watchers) = play(&steps);
        for watcher in &mut watchers {
            // At most one refusal, then the new list is where the watch goes on.
            watcher.read(&memory, usize::MAX);
            watcher.read(&memory, usize::MAX);
            prop_assert_eq!(&watcher.copy, &listed(&memory, watcher.resource));
            prop_assert_eq!(&watcher.seen, &model.after(watcher.resource, watcher.since));
        }
    }

    #[test]
    fn history_stays_within_its_limits(steps in steps(), events_max in 0..10_usize, bytes_max in 0..3000_usize) {
        let (mut memory, _, _) = play(&steps);
        memory.compact(Limits { events_max, bytes_max });
        prop_assert!(memory.history_bytes() <= bytes_max);
        for resource in RESOURCES {
            let oldest = memory.compacted_of(resource);
            let kept = memory.events_after(resource, oldest, usize::MAX).expect("from the oldest on");
            prop_assert!(kept.len() <= events_max);
        }
        memory.compact(Limits { events_max: 0, bytes_max: 0 });
        prop_assert_eq!(memory.history_bytes(), 0);
    }
}
