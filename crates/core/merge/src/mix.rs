//! Lays an applied configuration over a live object.
//!
//! Nothing is removed here. What both have is taken from the configuration; lists with keys are
//! merged entry by entry, in the order of the configuration where both have an entry, with the
//! entries that only the live object has kept in their place.

use crate::DEPTH_MAX;
use crate::compare::same;
use crate::element::Element;
use crate::kind::{Entries, Form, Kind};
use model::Value;
use std::collections::BTreeMap;

/// Lays `applied` over `live`.
pub(crate) fn mix(live: &mut Value, applied: &Value, kind: Kind<'_>, depth: usize) {
    let form = kind.form(applied);
    if form != kind.form(live) || form == Form::Scalar || depth >= DEPTH_MAX {
        return replace(live, applied);
    }
    match form {
        Form::Map if kind.atomic_map() => replace(live, applied),
        Form::Map => mix_maps(live, applied, kind, depth),
        Form::List => mix_lists(live, applied, kind, depth),
        Form::Scalar => replace(live, applied),
    }
}

/// Whether `live` has everything of `applied` already, in order, so that mixing changes nothing.
/// May say no where it would not.
pub(crate) fn has(live: &Value, applied: &Value, kind: Kind<'_>, depth: usize) -> bool {
    match (live, applied) {
        (Value::Object(old), Value::Object(new)) if !kind.atomic_map() && depth < DEPTH_MAX => {
            new.is_empty()
                || new.iter().all(|(name, value)| {
                    old.get(name).is_some_and(|field| {
                        let kind = kind.field(name).unwrap_or(Kind::Deduced);
                        has(field, value, kind, depth + 1)
                    })
                })
        }
        (Value::Array(old), Value::Array(new)) if depth < DEPTH_MAX => {
            old == new || has_entries(old, new, kind, depth)
        }
        (live, applied) => same(live, applied),
    }
}

fn has_entries(old: &[Value], new: &[Value], kind: Kind<'_>, depth: usize) -> bool {
    let entries = kind.entries();
    if matches!(entries, Entries::Atomic) || new.len() > old.len() {
        return false;
    }
    let keys = |items: &[Value]| -> Option<Vec<Element>> {
        let keys = items.iter().map(|item| kind.key_of(entries, item).ok());
        keys.collect()
    };
    let (Some(old_keys), Some(new_keys)) = (keys(old), keys(new)) else {
        return false;
    };
    let mut rest = old_keys.iter().zip(old);
    new_keys.iter().zip(new).all(|(key, value)| {
        rest.find(|(other, _)| *other == key)
            .is_some_and(|(_, item)| has(item, value, kind.items(), depth + 1))
    })
}

fn replace(live: &mut Value, applied: &Value) {
    if !same(live, applied) {
        *live = applied.clone();
    }
}

fn mix_maps(live: &mut Value, applied: &Value, kind: Kind<'_>, depth: usize) {
    let old = live.as_object_mut().filter(|f| !f.is_empty());
    let new = applied.as_object().filter(|f| !f.is_empty());
    match (old, new) {
        (Some(old), Some(new)) => {
            for (name, value) in new {
                match old.get_mut(name) {
                    // Equal values need no look at their type.
                    Some(field) if same(field, value) => {}
                    Some(field) => {
                        let kind = kind.field(name).unwrap_or(Kind::Deduced);
                        mix(field, value, kind, depth + 1);
                    }
                    None => {
                        old.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (Some(_), None) => {}
        (None, _) => replace(live, applied),
    }
}

fn mix_lists(live: &mut Value, applied: &Value, kind: Kind<'_>, depth: usize) {
    let entries = kind.entries();
    let old = live.as_array_mut().filter(|items| !items.is_empty());
    let new = applied.as_array().filter(|items| !items.is_empty());
    match (entries, old, new) {
        (Entries::Atomic, _, _) | (_, None, _) => replace(live, applied),
        (_, Some(_), None) => {}
        (_, Some(old), Some(new)) if old == new => {}
        (_, Some(old), Some(new)) => {
            let keys = |items: &[Value]| -> Option<Vec<Element>> {
                items
                    .iter()
                    .map(|item| kind.key_of(entries, item).ok())
                    .collect()
            };
            let (Some(old_keys), Some(new_keys)) = (keys(old), keys(new)) else {
                return replace(live, applied);
            };
            *old = Weave::new(std::mem::take(old), &old_keys, new, &new_keys)
                .run(|item, value| mix(item, value, kind.items(), depth + 1));
        }
    }
}

// Two keyed lists being woven into one.
struct Weave<'v> {
    old: Vec<Option<Value>>,
    old_keys: &'v [Element],
    new: &'v [Value],
    new_keys: &'v [Element],
    /// Where a key is in the old list; `None` when more than one entry has it.
    old_places: BTreeMap<&'v Element, Option<usize>>,
    new_places: BTreeMap<&'v Element, usize>,
    out: Vec<Value>,
}

impl<'v> Weave<'v> {
    fn new(
        old: Vec<Value>,
        old_keys: &'v [Element],
        new: &'v [Value],
        new_keys: &'v [Element],
    ) -> Self {
        let mut old_places = BTreeMap::new();
        for (i, key) in old_keys.iter().enumerate() {
            old_places
                .entry(key)
                .and_modify(|place| *place = None)
                .or_insert(Some(i));
        }
        Self {
            out: Vec::with_capacity(old.len().max(new.len())),
            old: old.into_iter().map(Some).collect(),
            old_keys,
            new,
            new_keys,
            old_places,
            new_places: new_keys.iter().enumerate().map(|(i, k)| (k, i)).collect(),
        }
    }

    fn run(mut self, mut join: impl FnMut(&mut Value, &Value)) -> Vec<Value> {
        let (mut at_old, mut at_new) = (0, 0);
        // The next entry that both lists have, in the order of the new one.
        let mut shared = self.next_shared(0);
        loop {
            let old = self.old_keys.get(at_old);
            let new = self.new_keys.get(at_new);
            let old_is_new = old.and_then(|key| self.new_places.get(key)).copied();
            match (old, new) {
                (None, None) => return self.out,
                (Some(a), Some(b)) if a == b => {
                    self.take_new(at_new, &mut join);
                    at_old += 1;
                    at_new += 1;
                    shared = self.next_shared(at_new);
                }
                // It is placed where the new list has it.
                (Some(_), Some(_))
                    if old_is_new.is_some() && shared.is_some() && shared != old_is_new =>
                {
                    at_old += 1;
                }
                (Some(_), _) if old_is_new.is_none() => {
                    self.out.extend(self.old[at_old].take());
                    at_old += 1;
                }
                (_, None) => at_old += 1,
                (_, Some(_)) => {
                    // An old entry that was placed already is passed by.
                    at_old += usize::from(old_is_new.is_some_and(|place| place < at_new));
                    self.take_new(at_new, &mut join);
                    at_new += 1;
                    if shared.is_some_and(|place| place < at_new) {
                        shared = self.next_shared(at_new);
                    }
                }
            }
        }
    }

    fn next_shared(&self, from: usize) -> Option<usize> {
        (from..self.new_keys.len()).find(|i| self.old_places.contains_key(&self.new_keys[*i]))
    }

    fn take_new(&mut self, at: usize, join: &mut impl FnMut(&mut Value, &Value)) {
        let place = self.old_places.get(&self.new_keys[at]).copied().flatten();
        let old = place.and_then(|place| self.old[place].take());
        let value = &self.new[at];
        self.out.push(match old {
            Some(mut item) => {
                join(&mut item, value);
                item
            }
            None => value.clone(),
        });
    }
}
