//! Lists whose entries are told apart: sets hold each value once, maps each key once.

use super::check::show_go;
use super::rule::{Additional, Rule};
use crate::DEPTH_MAX;
use crate::node::ListType;
use model::{FieldError, Map, Path, Value};
use std::collections::BTreeMap;

/// Finds entries that stand twice, anywhere below.
pub(super) fn duplicates(rule: &Rule, value: &Value, path: &Path) -> Vec<FieldError> {
    let mut faults = Vec::new();
    walk(rule, value, path, 0, &mut faults);
    faults
}

fn walk(rule: &Rule, value: &Value, path: &Path, depth: usize, faults: &mut Vec<FieldError>) {
    if !rule.deep || depth > DEPTH_MAX {
        return;
    }
    match value {
        Value::Object(fields) => {
            if let Additional::Each(each) = &rule.additional {
                for (key, value) in fields {
                    walk(each, value, &path.key(key), depth + 1, faults);
                }
            }
            for (name, value) in fields {
                if let Some(property) = rule.properties.get(name) {
                    walk(property, value, &path.child(name), depth + 1, faults);
                }
            }
        }
        Value::Array(entries) => {
            match rule.list_type {
                ListType::Atomic => {}
                ListType::Set => {
                    let again = repeated(entries.iter().map(identity));
                    faults.extend(again.into_iter().map(|i| twice(path, i, &entries[i])));
                }
                ListType::Map => check_map(rule, entries, path, faults),
            }
            if let Some(items) = rule.items.as_ref().filter(|items| items.deep) {
                for (i, entry) in entries.iter().enumerate() {
                    walk(items, entry, &path.index(i), depth + 1, faults);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_map(rule: &Rule, entries: &[Value], path: &Path, faults: &mut Vec<FieldError>) {
    let wrong = entries.iter().position(|e| !e.is_object() && !e.is_null());
    if let Some(i) = wrong {
        let detail = "must be an object for an array of list-type map";
        let shown = show_go(&entries[i]);
        faults.push(FieldError::invalid_shown(&path.index(i), shown, detail));
        return;
    }
    let again = repeated(entries.iter().map(|e| identity(&key_of(rule, e))));
    faults.extend(
        again
            .into_iter()
            .map(|i| twice(path, i, &key_of(rule, &entries[i]))),
    );
}

fn twice(path: &Path, index: usize, value: &Value) -> FieldError {
    let mut error = FieldError::duplicate(&path.index(index), value);
    error.value = Some(show_go(value));
    error
}

/// The key fields of an entry of a list map.
fn key_of(rule: &Rule, entry: &Value) -> Value {
    let pick = |key: &String| Some((key.clone(), entry.get(key)?.clone()));
    Value::Object(
        rule.list_map_keys
            .iter()
            .filter_map(pick)
            .collect::<Map<_, _>>(),
    )
}

fn identity(value: &Value) -> String {
    value.to_string()
}

// The second place of every identity that occurs more than once.
fn repeated(identities: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut second = Vec::new();
    for (i, identity) in identities.enumerate() {
        let times = seen.entry(identity).or_default();
        *times += 1;
        if *times == 2 {
            second.push(i);
        }
    }
    second
}

/// The entry of an old list that an entry of the new one continues; only list maps tell.
pub(super) fn counterpart<'v>(rule: &Rule, entry: &Value, old: &'v Value) -> Option<&'v Value> {
    if rule.list_type != ListType::Map || !entry.is_object() {
        return None;
    }
    let same_key = |other: &&Value| {
        rule.list_map_keys
            .iter()
            .all(|key| other.get(key) == entry.get(key))
    };
    old.as_array()?.iter().find(same_key)
}
