//! Takes out of an object what its applier no longer asks for and nobody else owns.

use crate::DEPTH_MAX;
use crate::fieldset::{Entry, FieldSet};
use crate::kind::{Entries, Form, Kind};
use model::Value;

/// Removes the fields that are in `last` (what the applier owned before) and in none of `owned`
/// (what anybody, the applier included, owns now).
///
/// A structure lives as long as one of its fields is owned; map keys and list entries are owned or
/// not in their own right, and take with them what is below them. Nothing goes that the applier
/// did not own. What loses all it has becomes null. (The API server also removes a structure of
/// which nothing but an empty keyed list would be left; here it stays.)
pub(crate) fn prune(object: &mut Value, kind: Kind<'_>, last: &FieldSet, owned: [&FieldSet; 3]) {
    prune_at(object, kind, last, owned.map(Some), false, 0);
}

type Owned<'s> = [Option<&'s FieldSet>; 3];

// `doomed` says that something above goes by nobody's ownership.
fn prune_at(
    value: &mut Value,
    kind: Kind<'_>,
    last: &FieldSet,
    owned: Owned<'_>,
    doomed: bool,
    depth: usize,
) {
    if depth >= DEPTH_MAX || last.is_empty() {
        return;
    }
    let (form, entries) = (kind.form(value), kind.entries());
    let left = match value {
        Value::Object(fields) if form == Form::Map && !kind.atomic_map() && !fields.is_empty() => {
            fields.retain(|name, field| match last.field(name) {
                Some(entry) => {
                    let (kind, declared) = kind.step(name).unwrap_or((Kind::Deduced, false));
                    let owned = owned.map(|set| set.and_then(|set| set.field(name)));
                    let place = Visit {
                        entry,
                        owned,
                        declared,
                        doomed,
                    };
                    place.survives(field, kind, depth)
                }
                None => true,
            });
            fields.len()
        }
        Value::Array(list)
            if form == Form::List && !matches!(entries, Entries::Atomic) && !list.is_empty() =>
        {
            list.retain_mut(|item| {
                let Ok(key) = kind.key_of(entries, item) else {
                    return true;
                };
                let Some(entry) = last.entry(&key) else {
                    return true;
                };
                let owned = owned.map(|set| set.and_then(|set| set.entry(&key)));
                let place = Visit {
                    entry,
                    owned,
                    declared: false,
                    doomed,
                };
                place.survives(item, kind.items(), depth)
            });
            list.len()
        }
        _ => return,
    };
    if left == 0 {
        *value = Value::Null;
    }
}

// One place that the applier owned, or owned something below.
struct Visit<'s> {
    entry: &'s Entry,
    owned: [Option<&'s Entry>; 3],
    declared: bool,
    doomed: bool,
}

impl Visit<'_> {
    fn survives(self, value: &mut Value, kind: Kind<'_>, depth: usize) -> bool {
        let in_set = |entry: &Entry| entry.member || (self.declared && !entry.below.is_empty());
        let counts = !self.declared || holds_any(value, kind, depth);
        let owned = self.owned.iter().flatten().any(|entry| in_set(entry));
        let doomed = self.doomed || (counts && !owned);
        if doomed && counts && in_set(self.entry) {
            return false;
        }
        let below = self.owned.map(|entry| entry.map(|entry| &entry.below));
        prune_at(value, kind, &self.entry.below, below, doomed, depth + 1);
        true
    }
}

// Whether a declared field has anything that can be owned: an empty list with keys has not.
fn holds_any(value: &Value, kind: Kind<'_>, depth: usize) -> bool {
    match (value, kind.form(value)) {
        (Value::Array(items), Form::List) => {
            !items.is_empty() || matches!(kind.entries(), Entries::Atomic)
        }
        (Value::Object(fields), Form::Map) if !kind.atomic_map() && depth < DEPTH_MAX => {
            fields.is_empty()
                || fields.iter().any(|(name, field)| {
                    let (kind, declared) = kind.step(name).unwrap_or((Kind::Deduced, false));
                    !declared || holds_any(field, kind, depth + 1)
                })
        }
        (_, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;
    use crate::testing::widget;
    use crate::typed::fields_of_stored;
    use model::json;
    use proptest::prelude::*;

    /// The rule stated with sets, slowly: take away all that the applier had, bring back what
    /// somebody owns, and what the applier never had.
    fn prune_by_sets(object: &mut Value, kind: Kind<'_>, last: &FieldSet, owned: &FieldSet) {
        let last = with_structures(last, kind);
        let owned = with_structures(owned, kind);
        let fields = |value: &Value| with_structures(&fields_of_stored(value, kind), kind);
        let all = fields(object);
        let mut left = object.clone();
        remove(&mut left, &last, kind);
        let doomed = all.clone().difference(&fields(&left).union(&owned));
        let mut kept = object.clone();
        remove(&mut kept, &doomed, kind);
        let doomed = all.difference(&fields(&kept)).intersection(&last);
        remove(object, &doomed, kind);
    }

    fn with_structures(set: &FieldSet, kind: Kind<'_>) -> FieldSet {
        let mut out = FieldSet::new();
        for entry in set.entries() {
            let mut member = entry.member;
            let below = match entry.element.name() {
                Some(name) => {
                    let declared = kind.step(name).is_some_and(|(_, declared)| declared);
                    member |= declared && !entry.below.is_empty();
                    let kind = kind.field(name).unwrap_or(Kind::Deduced);
                    with_structures(&entry.below, kind)
                }
                None if entry.element.text().starts_with("k:") => {
                    with_structures(&entry.below, kind.items())
                }
                None => entry.below.clone(),
            };
            let element = entry.element.clone();
            out.push(Entry {
                element,
                member,
                below,
            });
        }
        out
    }

    fn remove(value: &mut Value, items: &FieldSet, kind: Kind<'_>) {
        let form = kind.form(value);
        if form == Form::Scalar || items.is_empty() {
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
                        remove(field, &entry.below, kind);
                    }
                    !entry.member
                });
                fields.len()
            }
            Value::Array(list) if !matches!(kind.entries(), Entries::Atomic) => {
                list.retain_mut(|item| {
                    let key = kind.key_of(kind.entries(), item).unwrap();
                    let Some(entry) = items.entry(&key) else {
                        return true;
                    };
                    if !entry.member {
                        remove(item, &entry.below, kind.items());
                    }
                    !entry.member
                });
                list.len()
            }
            _ => 0,
        };
        if left == 0 {
            *value = Value::Null;
        }
    }

    fn example() -> Value {
        json!({
            "metadata": {"name": "w", "labels": {"a": "1"}},
            "spec": {
                "size": 1, "tags": ["t", "u"], "atoms": ["x"], "labels": {"l": "1", "m": "2"},
                "items": [{"name": "a", "v": "1", "sub": {"a": "1", "b": "2"}}, {"name": "b", "sub": {}}],
                "nested": {"n": {"x": "1", "y": "2"}, "o": {}}, "whole": {"k": "1"},
                "free": {"f": {"g": {"h": 1}}, "i": [1]}, "obj": {"q": {"r": "1"}},
            },
        })
    }

    // Any paths of the example, whether somebody could own them or not.
    fn some_fields() -> impl Strategy<Value = FieldSet> {
        let (schemas, id) = widget();
        let kind = Kind::Object(Some(schemas.at(id)));
        let mut paths = fields_of_stored(&example(), kind).paths();
        let inner: Vec<_> = paths
            .iter()
            .map(|path| path[..path.len() - 1].to_vec())
            .collect();
        paths.extend(inner.into_iter().filter(|path| !path.is_empty()));
        paths.push(vec![Element::field("spec"), Element::field("absent")]);
        let all = paths.len();
        prop::sample::subsequence(paths, 0..all).prop_map(|paths| {
            let mut set = FieldSet::new();
            for path in paths {
                set.insert(&path);
                // Whoever owns something in a list entry owns its key.
                let entry = path.iter().position(|step| step.text().starts_with("k:"));
                if let Some(at) = entry {
                    let mut key = path[..=at].to_vec();
                    key.push(Element::field("name"));
                    set.insert(&key);
                }
            }
            set
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pruning_in_place_is_pruning_by_sets(last in some_fields(), one in some_fields(), two in some_fields()) {
            let (schemas, id) = widget();
            let kind = Kind::Object(Some(schemas.at(id)));
            let mut in_place = example();
            prune(&mut in_place, kind, &last, [&one, &two, &FieldSet::new()]);
            let mut by_sets = example();
            prune_by_sets(&mut by_sets, kind, &last, &one.clone().union(&two));
            let sets = [&last, &one, &two].map(FieldSet::to_json_text);
            prop_assert_eq!(in_place, by_sets, "{:?}", sets);
        }
    }
}
