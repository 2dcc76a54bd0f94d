//! Reads and changes `fieldsV1` objects in place.
//!
//! Most writes touch a few fields of an object whose owners own hundreds. What they lose and gain is
//! a small [`FieldSet`]; the stored form is neither read into a set nor written anew for it.

use crate::element::Element;
use crate::fieldset::FieldSet;
use model::{Map, Value};

/// The mark of a member that has more below it.
const MEMBER: &str = ".";

/// How stored fields and a set meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// No path is in both.
    Apart,
    /// Some path is in both.
    Shared,
    /// The set has a path that ends where the stored fields go on: their schema may have changed.
    Unclear,
}

/// Says how stored fields and a set meet.
pub(crate) fn meet(stored: &Map<String, Value>, set: &FieldSet) -> Meeting {
    let mut meeting = Meeting::Apart;
    for entry in set.entries() {
        let Some(Value::Object(below)) = stored.get(entry.element.text().as_ref()) else {
            continue;
        };
        if entry.member && is_member(below) {
            meeting = Meeting::Shared;
        }
        if entry.below.is_empty() && entry.member && !below.is_empty() {
            return Meeting::Unclear;
        }
        match meet(below, &entry.below) {
            Meeting::Unclear => return Meeting::Unclear,
            Meeting::Shared => meeting = Meeting::Shared,
            Meeting::Apart => {}
        }
    }
    meeting
}

/// Takes the paths of a set out of stored fields.
pub(crate) fn take(stored: &mut Map<String, Value>, set: &FieldSet) {
    for entry in set.entries() {
        let key = entry.element.text();
        let Some(Value::Object(below)) = stored.get_mut(key.as_ref()) else {
            continue;
        };
        let was_member = is_member(below);
        let member = was_member && !entry.member;
        if was_member && !member {
            below.remove(MEMBER);
        }
        take(below, &entry.below);
        // A member with nothing below it is an empty object.
        if below.len() == 1 && below.contains_key(MEMBER) {
            below.clear();
        }
        if below.is_empty() && !member {
            stored.remove(key.as_ref());
        }
    }
}

/// Adds the paths of a set to stored fields.
pub(crate) fn put(stored: &mut Map<String, Value>, set: FieldSet) {
    for entry in set.into_entries() {
        let key = entry.element.into_text();
        let Some(Value::Object(below)) = stored.get_mut(&key) else {
            let below = entry.below.into_fields(entry.member);
            stored.insert(key, Value::Object(below));
            continue;
        };
        let member = is_member(below) || entry.member;
        put(below, entry.below);
        if member && !below.is_empty() && !below.contains_key(MEMBER) {
            below.insert(MEMBER.into(), Value::Object(Map::new()));
        }
    }
}

/// How much of a set is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it and nothing else.
    Equal,
    /// Parts of it and nothing else.
    Part,
    /// Something else, too.
    Other,
}

/// Says how much of a set is stored.
pub(crate) fn extent(stored: &Map<String, Value>, set: &FieldSet) -> Extent {
    let mut extent = Extent::Equal;
    let mut next = 0;
    for (key, below) in stored.iter().filter(|(key, _)| *key != MEMBER) {
        // Both are usually in the same order.
        let entry = match set.entries().get(next) {
            Some(entry) if entry.element.text() == key.as_str() => Some(entry),
            Some(_) | None => match Element::parse(key) {
                Ok(Some(element)) => set.entry(&element),
                Ok(None) | Err(_) => None,
            },
        };
        let Some(entry) = entry else {
            return Extent::Other;
        };
        next += 1;
        let Value::Object(below) = below else {
            return Extent::Other;
        };
        match (is_member(below), entry.member) {
            (true, false) => return Extent::Other,
            (false, true) => extent = Extent::Part,
            (_, _) => {}
        }
        match self::extent(below, &entry.below) {
            Extent::Other => return Extent::Other,
            Extent::Part => extent = Extent::Part,
            Extent::Equal => {}
        }
    }
    if next < set.entries().len() {
        extent = Extent::Part;
    }
    extent
}

/// Whether no path is stored.
pub(crate) fn is_empty(stored: &Map<String, Value>) -> bool {
    stored.keys().all(|key| key == MEMBER)
}

fn is_member(below: &Map<String, Value>) -> bool {
    below.is_empty() || below.contains_key(MEMBER)
}
