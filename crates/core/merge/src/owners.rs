//! Says who owns the fields of an object after a plain write: create, update or patch.
//!
//! ```text
//! live + new object + manager ── track_update ──▶ new object with managedFields
//! ```
//!
//! The writer owns what it changed and everybody else loses it. A write that changes nothing leaves
//! all entries as they are.

use crate::compare::{Changes, Was, compare, same};
use crate::element::Element;
use crate::fieldset::FieldSet;
use crate::kind::Kind;
use crate::managed::{Managed, Operation, Owner, Who};
use model::{Map, Timestamp, Value, meta};
use schema::Cursor;
use std::sync::OnceLock;

/// How many entries of plain writers an object keeps.
const UPDATE_MANAGERS_MAX: usize = 10;

/// The manager that older entries are merged into.
const ANCIENT: &str = "ancient-changes";

/// A plain write whose ownership is to be recorded.
#[derive(Debug)]
pub struct Update<'a> {
    /// The object as it is stored; `None` on create.
    pub live: Option<&'a Value>,
    /// The object as it will be, with all defaults filled in. `managedFields` in it replace the
    /// stored ones where they can be read.
    pub new: Value,
    /// Who writes.
    pub manager: &'a str,
    /// The version the request speaks, as `apps/v1`.
    pub api_version: &'a str,
    /// The subresource written through, or nothing.
    pub subresource: &'a str,
    /// The time of the request.
    pub now: Timestamp,
    /// The type of the object; `None` deduces all types.
    pub schema: Option<Cursor<'a>>,
    /// Fields that this endpoint ignores, as `["status"]`: nobody comes to own them here.
    pub reset: &'a [&'a [&'a str]],
}

/// Records who owns what after a plain write.
pub fn track_update(request: Update<'_>) -> Value {
    let mut new = request.new;
    let sent = take_managed(&mut new);
    let stored = request.live.and_then(managed_of);
    let known = match sent {
        Some(sent) if request.subresource.is_empty() || Some(&sent) == stored => Some(sent),
        Some(_) | None => None,
    };
    let same_owners = known.is_none() || known.as_ref() == stored;
    // What the entries were before this write: what the client sent if it says something.
    let managed = match known {
        Some(entries) if same_owners => Before::Stored(Some(entries)),
        Some(entries) => match read_sent(entries) {
            Some(managed) => Before::Sent(managed),
            None => Before::Stored(stored.cloned()),
        },
        None => Before::Stored(stored.cloned()),
    };
    let exists = request.live.is_some_and(|live| !meta::uid(live).is_empty());
    if exists && managed.is_empty() {
        return new;
    }
    let kind = Kind::Object(request.schema);
    let before = request.live.map_or_else(|| fresh(kind), Was::Value);
    let changes = compare(before, &new, kind).without(&paths(request.reset));
    let managed = match managed {
        Before::Stored(entries) if changes.is_empty() => {
            put_managed(&mut new, entries);
            return new;
        }
        Before::Stored(entries) => Managed::read(entries).unwrap_or_default(),
        Before::Sent(managed) => managed,
    };
    let who = Who {
        manager: named(request.manager),
        operation: Operation::Update,
        api_version: request.api_version.into(),
        subresource: request.subresource.into(),
    };
    let mut managed = hand_over(managed, changes, who, request.now, kind);
    cap(&mut managed);
    put_managed(&mut new, managed.write());
    new
}

// The entries a write starts from.
enum Before {
    /// As they are stored.
    Stored(Option<Value>),
    /// As the client wants them.
    Sent(Managed),
}

impl Before {
    fn is_empty(&self) -> bool {
        match self {
            Self::Stored(Some(Value::Array(entries))) => entries.is_empty(),
            Self::Stored(_) => true,
            Self::Sent(managed) => managed.owners.is_empty(),
        }
    }
}

/// Keeps the stored times when a write turns out to change nothing but times.
///
/// To be called when the object is final, just before it is stored: admission and strategies may
/// have undone a change that `track_update` or `apply` saw.
pub fn keep_timestamps(live: &Value, new: &mut Value) {
    let (Some(Value::Array(old)), Some(Value::Array(fresh))) = (managed_of(live), managed_of(new))
    else {
        return;
    };
    let timeless = |a: &Value, b: &Value| -> bool {
        let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else {
            return false;
        };
        let fields = |m: &Map<String, Value>| m.len() - usize::from(m.contains_key("time"));
        fields(a) == fields(b)
            && a.iter()
                .all(|(key, value)| key == "time" || b.get(key) == Some(value))
    };
    let equal = old.len() == fresh.len()
        && old.iter().zip(fresh).all(|(a, b)| timeless(a, b))
        && same_but_managed(live, new);
    if equal {
        let old = managed_of(live).cloned();
        put_managed(new, old);
    }
}

/// Makes the writer the owner of what it changed.
pub(crate) fn hand_over(
    mut managed: Managed,
    changes: Changes,
    who: Who,
    now: Timestamp,
    kind: Kind<'_>,
) -> Managed {
    managed.give_up(&changes, kind);
    let mine = changes.set.difference(untracked());
    if !mine.is_empty() {
        match managed.find_mut(&who) {
            Some(owner) => {
                owner.gain(mine);
                owner.set_time(Some(now));
            }
            None => managed.owners.push(Owner::new(who, Some(now), mine)),
        }
    }
    managed.drop_empty();
    managed
}

/// What was there before an object was created.
pub(crate) fn fresh(kind: Kind<'_>) -> Was<'static> {
    match kind {
        Kind::Object(Some(cursor)) if !cursor.node().structural => Was::Fresh,
        Kind::Object(_) | Kind::Described(..) | Kind::Deduced | Kind::Opaque => {
            Was::Value(&Value::Null)
        }
    }
}

/// The fields that no entry ever holds: identity and what the server itself keeps.
pub(crate) fn untracked() -> &'static FieldSet {
    static FIELDS: OnceLock<FieldSet> = OnceLock::new();
    FIELDS.get_or_init(|| {
        paths(&[
            &["apiVersion"],
            &["kind"],
            &["metadata"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "creationTimestamp"],
            &["metadata", "selfLink"],
            &["metadata", "uid"],
            &["metadata", "clusterName"],
            &["metadata", "generation"],
            &["metadata", "managedFields"],
            &["metadata", "resourceVersion"],
        ])
    })
}

/// A set of field paths.
pub(crate) fn paths(paths: &[&[&str]]) -> FieldSet {
    let mut set = FieldSet::new();
    for path in paths {
        let path: Vec<_> = path.iter().map(|name| Element::field(name)).collect();
        set.insert(&path);
    }
    set
}

/// The `managedFields` of an object.
pub(crate) fn managed_of(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

/// Takes the `managedFields` out of an object.
pub(crate) fn take_managed(object: &mut Value) -> Option<Value> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    metadata.remove("managedFields")
}

/// The object without its `managedFields`.
pub(crate) fn clone_unmanaged(object: &Value) -> Value {
    let Some(fields) = object.as_object() else {
        return object.clone();
    };
    let copy = fields.iter().map(|(key, value)| match value {
        Value::Object(metadata) if key == "metadata" => {
            let kept = metadata.iter().filter(|(key, _)| *key != "managedFields");
            let kept = kept.map(|(key, value)| (key.clone(), value.clone()));
            (key.clone(), Value::Object(kept.collect()))
        }
        _ => (key.clone(), value.clone()),
    });
    Value::Object(copy.collect())
}

/// Sets the `managedFields` of an object.
pub(crate) fn put_managed(object: &mut Value, managed: Option<Value>) {
    match managed {
        Some(managed) => {
            let metadata = meta::metadata_mut(object);
            metadata.insert("managedFields".into(), managed);
        }
        None => {
            take_managed(object);
        }
    }
}

/// Whether two objects are equal apart from their `managedFields`.
pub(crate) fn same_but_managed(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else {
        return false;
    };
    let others = |m: &Map<String, Value>| m.len() - usize::from(m.contains_key("managedFields"));
    a.len() == b.len()
        && a.iter().all(|(key, value)| match (key.as_str(), value) {
            ("metadata", Value::Object(a)) => match b.get("metadata") {
                Some(Value::Object(b)) => {
                    others(a) == others(b)
                        && a.iter().all(|(k, v)| {
                            k == "managedFields" || b.get(k).is_some_and(|w| same(v, w))
                        })
                }
                _ => false,
            },
            (_, value) => b.get(key).is_some_and(|other| same(value, other)),
        })
}

/// The name a manager goes by.
pub(crate) fn named(manager: &str) -> String {
    if manager.is_empty() {
        return "unknown".into();
    }
    manager.into()
}

// Entries sent by a client: an empty list or one empty entry clears them all; unreadable or missing
// ones are as if not sent.
fn read_sent(sent: Value) -> Option<Managed> {
    let entries = sent.as_array()?;
    let blank = |entry: &Value| {
        entry
            .as_object()
            .is_some_and(|e| e.values().all(|v| v.is_null() || v.as_str() == Some("")))
    };
    if entries.is_empty() || (entries.len() == 1 && blank(&entries[0])) {
        return Some(Managed::default());
    }
    let managed = Managed::read_sent(sent).ok()?;
    (!managed.owners.is_empty()).then_some(managed)
}

// Merges the oldest entries of plain writers, version by version, until few enough are left.
fn cap(managed: &mut Managed) {
    let is_update = |owner: &&Owner| owner.operation() == Operation::Update;
    let count = managed.owners.iter().filter(is_update).count();
    if count <= UPDATE_MANAGERS_MAX {
        return;
    }
    let mut oldest: Vec<(i64, Who)> = managed
        .owners
        .iter()
        .filter(is_update)
        .map(|owner| (owner.seconds(), owner.who()))
        .collect();
    oldest.sort_by_cached_key(|(seconds, who)| (*seconds, who.identity()));
    let mut left = count;
    let mut first: Vec<Who> = Vec::new();
    for (_, who) in oldest {
        if left <= UPDATE_MANAGERS_MAX {
            return;
        }
        let Some(before) = first.iter().find(|w| w.api_version == who.api_version) else {
            first.push(who);
            continue;
        };
        let bucket = Who {
            manager: ANCIENT.into(),
            operation: Operation::Update,
            api_version: who.api_version.clone(),
            subresource: String::new(),
        };
        if managed.find(&bucket).is_none()
            && let Some(owner) = managed.find_mut(before)
        {
            owner.rename(bucket.clone());
        }
        let Some(at) = managed.owners.iter().position(|owner| owner.is(&who)) else {
            continue;
        };
        let merged = managed.owners.remove(at);
        if let Some(owner) = managed.find_mut(&bucket) {
            owner.gain(merged.set());
            owner.set_time(merged.time());
        }
        left -= 1;
    }
}

#[cfg(test)]
mod tests;
