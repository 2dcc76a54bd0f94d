//! Takes out of an object what its applier no longer asks for and nobody else owns.

use crate::DEPTH_MAX;
use crate::element::Element;
use crate::fieldset::{Entry, FieldSet};
use crate::kind::{Entries, Form, Kind};
use crate::typed::fields_of_stored;
use model::Value;

/// Removes the fields that are in `last` (what the applier owned before) and not in `owned` (what
/// anybody, the applier included, owns now).
///
/// Fields of a structure live and die with it, so a structure counts as owned through its fields;
/// map keys and list entries are owned or not in their own right.
pub(crate) fn prune(object: &mut Value, kind: Kind<'_>, last: &FieldSet, owned: &FieldSet) {
    let last = with_structures(last, kind);
    let owned = with_structures(owned, kind);
    if last.is_subset(&owned) {
        return;
    }
    let all = with_structures(&fields_of_stored(object, kind), kind);
    // What is left when all that the applier had is taken away.
    let mut left = object.clone();
    remove(&mut left, &last, kind, 0);
    let left = with_structures(&fields_of_stored(&left, kind), kind);
    // Of that, what somebody owns comes back.
    let doomed = all.clone().difference(&left.union(&owned));
    let mut kept = object.clone();
    remove(&mut kept, &doomed, kind, 0);
    let kept = with_structures(&fields_of_stored(&kept, kind), kind);
    // And what the applier never had stays in any case.
    let doomed = all.difference(&kept).intersection(&last);
    remove(object, &doomed, kind, 0);
}

/// The set with all structures on the way to its members as members.
fn with_structures(set: &FieldSet, kind: Kind<'_>) -> FieldSet {
    let mut out = FieldSet::new();
    for entry in set.entries() {
        let mut member = entry.member;
        let below = match &entry.element {
            Element::Field(name) => {
                member |= kind.declares(name) && !entry.below.is_empty();
                let kind = kind.field(name).unwrap_or(Kind::Deduced);
                with_structures(&entry.below, kind)
            }
            Element::Key(_) => with_structures(&entry.below, kind.items()),
            Element::Value(_) | Element::Index(_) => entry.below.clone(),
        };
        out.push(Entry {
            element: entry.element.clone(),
            member,
            below,
        });
    }
    out
}

// Removes items; a map or list that loses all it has becomes null.
fn remove(value: &mut Value, items: &FieldSet, kind: Kind<'_>, depth: usize) {
    let form = kind.form(value);
    if depth >= DEPTH_MAX || form == Form::Scalar {
        return;
    }
    let left = match value {
        Value::Object(fields) if form == Form::Map && !kind.atomic_map() => {
            fields.retain(|name, field| {
                let Some(entry) = items.field(name) else {
                    return true;
                };
                if !entry.member {
                    let kind = kind.field(name).unwrap_or(Kind::Deduced);
                    remove(field, &entry.below, kind, depth + 1);
                }
                !entry.member
            });
            fields.len()
        }
        Value::Array(list) if form == Form::List => {
            remove_entries(list, items, kind, depth);
            list.len()
        }
        _ => 0,
    };
    if left == 0 {
        *value = Value::Null;
    }
}

fn remove_entries(list: &mut Vec<Value>, items: &FieldSet, kind: Kind<'_>, depth: usize) {
    let entries = kind.entries();
    if matches!(entries, Entries::Atomic) {
        list.clear();
    }
    list.retain_mut(|item| {
        let Ok(key) = kind.key_of(entries, item) else {
            return true;
        };
        let Some(entry) = items.entry(&key) else {
            return true;
        };
        if !entry.member {
            remove(item, &entry.below, kind.items(), depth + 1);
        }
        !entry.member
    });
}
