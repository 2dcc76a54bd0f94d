//! Strategic merge patches: merge patches that know which lists have keys.
//!
//! Lists whose field has the `merge` strategy are merged entry by entry, by their merge key or, when
//! they hold scalars, by value. Directives in the patch say what else to do: `$patch: delete` and
//! `$patch: replace`, `$retainKeys`, `$deleteFromPrimitiveList/field` and `$setElementOrder/field`.

use crate::DEPTH_MAX;
use crate::go;
use crate::json_patch::unprocessable;
use model::{ApiError, Map, Value};
use schema::{Cursor, Node};
use std::fmt;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const ORDER: &str = "$setElementOrder";

/// Why a patch was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchError {
    /// A directive is malformed: 400.
    BadRequest(String),
    /// The patch makes no sense for the object; the client is not told why: 422.
    Unprocessable(String),
    /// Something the patch assumes does not hold: 500.
    Internal(String),
}

impl PatchError {
    /// The answer to the client.
    pub fn to_api_error(&self) -> ApiError {
        match self {
            Self::BadRequest(why) => ApiError::bad_request(why.clone()),
            Self::Unprocessable(_) => unprocessable(),
            Self::Internal(why) => ApiError::internal_plain(why.clone()),
        }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRequest(why) | Self::Unprocessable(why) | Self::Internal(why) => {
                f.write_str(why)
            }
        }
    }
}

impl std::error::Error for PatchError {}

/// Applies a strategic merge patch to an object of the type at `schema`.
pub fn strategic(original: &Value, patch: &Value, schema: Cursor<'_>) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::BadRequest(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go::json_type(patch)
        )));
    };
    let original = original.as_object().cloned().unwrap_or_default();
    merge_maps(original, patch, Some(schema), 0).map(Value::Object)
}

type Object = Map<String, Value>;

fn merge_maps(
    mut original: Object,
    patch: &Object,
    schema: Option<Cursor<'_>>,
    depth: usize,
) -> Result<Object, PatchError> {
    if let Some(directive) = patch.get(PATCH) {
        return directed(directive, patch);
    }
    if depth >= DEPTH_MAX {
        return Err(PatchError::Internal("exceeded max depth".into()));
    }
    retain_keys(&mut original, patch)?;
    let mut done = Vec::new();
    for (key, order) in patch.iter().filter(|(key, _)| key.starts_with(ORDER)) {
        done.extend(merge_ordered(
            &mut original,
            patch,
            key,
            order,
            schema,
            depth,
        )?);
    }
    for (key, value) in patch {
        if key == RETAIN_KEYS || key.starts_with(ORDER) || done.contains(&key.as_str()) {
            continue;
        }
        let (field, deletes) = match key.strip_prefix(DELETE_FROM) {
            Some(rest) => match rest.strip_prefix('/') {
                Some(field) => (field, true),
                None => return Err(bad_request("invalid patch format of primitive list")),
            },
            None => (key.as_str(), false),
        };
        merge_field(&mut original, field, value, deletes, schema, depth)?;
    }
    Ok(original)
}

fn merge_field(
    original: &mut Object,
    field: &str,
    value: &Value,
    deletes: bool,
    schema: Option<Cursor<'_>>,
    depth: usize,
) -> Result<(), PatchError> {
    if value.is_null() {
        original.remove(field);
        return Ok(());
    }
    let below = schema.and_then(|s| s.field(field));
    match (original.get_mut(field), value) {
        (Some(Value::Object(_)), Value::Object(patch)) => {
            if below.is_some_and(|b| b.node().patch_replace) {
                original.insert(field.into(), value.clone());
                return Ok(());
            }
            if let Some(Value::Object(old)) = original.remove(field) {
                let merged = merge_maps(old, patch, below, depth + 1)?;
                original.insert(field.into(), Value::Object(merged));
            }
        }
        (Some(Value::Array(old)), Value::Array(patch)) => {
            let rule = Rule::of(below);
            if rule.merges || deletes {
                let old = std::mem::take(old);
                let merged = merge_lists(old, patch, rule, deletes, depth)?;
                original.insert(field.into(), Value::Array(merged));
            } else {
                original.insert(field.into(), value.clone());
            }
        }
        (_, _) if deletes => {}
        (Some(place @ (Value::Bool(_) | Value::Number(_) | Value::String(_))), _)
            if !matches!(value, Value::Object(_) | Value::Array(_)) =>
        {
            *place = value.clone();
        }
        (_, _) => match without_directives(&without_nulls(value)) {
            Some(value) => {
                original.insert(field.into(), value);
            }
            None => {
                original.remove(field);
            }
        },
    }
    Ok(())
}

// How a list is merged.
#[derive(Clone, Copy)]
struct Rule<'a> {
    merges: bool,
    key: &'a str,
    items: Option<Cursor<'a>>,
}

impl<'a> Rule<'a> {
    fn of(list: Option<Cursor<'a>>) -> Self {
        let node: Option<&'a Node> = list.map(|l| l.node());
        Self {
            merges: node.is_some_and(|n| n.patch_merge),
            key: node
                .and_then(|n| n.patch_merge_key.as_deref())
                .unwrap_or_default(),
            items: list.and_then(|l| l.items()),
        }
    }
}

fn merge_lists(
    original: Vec<Value>,
    patch: &[Value],
    rule: Rule<'_>,
    deletes: bool,
    depth: usize,
) -> Result<Vec<Value>, PatchError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    if !holds_maps(&[&original, patch])? {
        if deletes {
            let mut left = original;
            left.retain(|item| !patch.contains(item));
            return Ok(left);
        }
        let mut merged: Vec<Value> = Vec::with_capacity(original.len() + patch.len());
        for item in original.iter().chain(patch) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return in_order(merged, patch, &original, rule.key);
    }
    if rule.key.is_empty() {
        return Err(PatchError::Internal(
            "cannot merge lists without merge key for struct".into(),
        ));
    }
    let (original, patch) = obey_entries(original, patch, rule.key)?;
    let mut merged = original.clone();
    for entry in &patch {
        let key = key_of(entry, rule.key)?;
        match position(&merged, rule.key, key)? {
            Some(at) => {
                if let (Value::Object(old), Value::Object(new)) = (&mut merged[at], entry) {
                    let old = std::mem::take(old);
                    merged[at] = Value::Object(merge_maps(old, new, rule.items, depth + 1)?);
                }
            }
            None => merged.push(entry.clone()),
        }
    }
    in_order(merged, &patch, &original, rule.key)
}

// Carries out the directives among the entries of a list patch: what they delete or replace is
// gone from the original, and they themselves from the patch.
fn obey_entries(
    mut original: Vec<Value>,
    patch: &[Value],
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replaces = false;
    for entry in patch {
        let Some(directive) = entry.get(PATCH) else {
            plain.push(entry.clone());
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let key = key_of(entry, merge_key)?;
                while let Some(at) = position(&original, merge_key, key)? {
                    original.remove(at);
                }
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(PatchError::Internal(
                    "merging lists cannot yet be specified in the patch".into(),
                ));
            }
            _ => return Err(unknown_directive(directive, entry)),
        }
    }
    if replaces {
        return Ok((plain, Vec::new()));
    }
    Ok((original, plain))
}

// Handles `$setElementOrder/field` together with the list it is about. Returns the fields of the
// patch that are dealt with.
fn merge_ordered<'p>(
    original: &mut Object,
    patch: &'p Object,
    directive: &'p str,
    order: &Value,
    schema: Option<Cursor<'_>>,
    depth: usize,
) -> Result<Option<&'p str>, PatchError> {
    let Value::Array(order) = order else {
        return Err(bad_type("[]interface {}", order));
    };
    let Some(field) = directive
        .strip_prefix(ORDER)
        .and_then(|rest| rest.strip_prefix('/'))
    else {
        return Err(bad_request("invalid patch format of setElementOrder list"));
    };
    let list = |value: Option<&'p Value>| match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.as_slice())),
        Some(other) => Err(bad_type("[]interface {}", other)),
    };
    let new = list(patch.get(field))?;
    let old = match original.get(field) {
        None => None,
        Some(Value::Array(items)) => Some(items.clone()),
        Some(other) => return Err(bad_type("[]interface {}", other)),
    };
    let rule = Rule::of(schema.and_then(|s| s.field(field)));
    check_order(new.unwrap_or_default(), order, rule.key)?;
    if old.is_none() && new.is_none() {
        return Ok(None);
    }
    let live = live_order(
        old.as_deref().unwrap_or_default(),
        new.unwrap_or_default(),
        rule.key,
    );
    holds_maps(&[old.as_deref().unwrap_or_default(), new.unwrap_or_default()])?;
    let merged = match (old, new) {
        (old, None) => old.unwrap_or_default(),
        (None, Some(new)) => new.iter().filter_map(without_directives).collect(),
        (Some(old), Some(new)) if rule.merges => merge_lists(old, new, rule, false, depth)?,
        (Some(_), Some(new)) => new.to_vec(),
    };
    let sorted = in_order(merged, order, &live, rule.key)?;
    original.insert(field.into(), Value::Array(sorted));
    Ok(Some(field))
}

// The order of the live entries. Where the patch deletes some, the server lets those it adds take
// the places that became free at the end.
fn live_order(old: &[Value], new: &[Value], merge_key: &str) -> Vec<Value> {
    let same = |a: &Value, b: &Value| a.get(merge_key) == b.get(merge_key);
    let deletes = |entry: &Value| entry.get(PATCH).and_then(Value::as_str) == Some("delete");
    let mut order = old.to_vec();
    order.retain(|entry| !new.iter().any(|other| deletes(other) && same(entry, other)));
    for entry in new.iter().filter(|entry| entry.get(PATCH).is_none()) {
        if order.len() < old.len() && !order.iter().any(|other| same(entry, other)) {
            order.push(entry.clone());
        }
    }
    order
}

// The entries of a patch must come in the order that the directive gives.
fn check_order(patch: &[Value], order: &[Value], merge_key: &str) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut wanted = order.iter().peekable();
    for entry in patch {
        if !merge_key.is_empty() && !entry.is_object() {
            return Err(bad_type("map[string]interface {}", entry));
        }
        // What is deleted has no place; other directives may not stand after the last place.
        if let Some(directive) = entry.get(PATCH)
            && (directive.as_str() == Some("delete") || wanted.peek().is_some())
        {
            continue;
        }
        let found = loop {
            let Some(next) = wanted.next() else {
                break false;
            };
            let equal = if merge_key.is_empty() {
                entry == next
            } else {
                key_of(entry, merge_key)? == key_of(next, merge_key)?
            };
            if equal {
                break true;
            }
        };
        if !found {
            return Err(PatchError::Internal(format!(
                "The order in patch list:\n{}\n doesn't match {ORDER} list:\n{}\n",
                go::verb(&Value::Array(patch.to_vec())),
                go::verb(&Value::Array(order.to_vec()))
            )));
        }
    }
    Ok(())
}

// Sorts a merged list: entries named by `first` in that order, the others in the order of `live`,
// woven together so that neighbours in `live` stay neighbours as far as possible.
fn in_order(
    merged: Vec<Value>,
    first: &[Value],
    live: &[Value],
    merge_key: &str,
) -> Result<Vec<Value>, PatchError> {
    let place = |list: &[Value], item: &Value| -> Result<Option<usize>, PatchError> {
        if merge_key.is_empty() {
            return Ok(list.iter().position(|other| other == item));
        }
        position(list, merge_key, key_of(item, merge_key)?)
    };
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let in_live = place(live, &item)?;
        match place(first, &item)? {
            Some(at) => named.push((at, in_live, item)),
            None => others.push((in_live, item)),
        }
    }
    named.sort_by_key(|(at, _, _)| *at);
    others.sort_by_key(|(in_live, _)| in_live.unwrap_or(usize::MAX));
    let mut out = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), named.peek()) {
            (None, None) => return Ok(out),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some((Some(a), _)), Some((_, Some(b), _))) => a < b,
            (Some(_), Some(_)) => false,
        };
        if other_first {
            out.extend(others.next().map(|(_, item)| item));
        } else {
            out.extend(named.next().map(|(_, _, item)| item));
        }
    }
}

fn directed(directive: &Value, patch: &Object) -> Result<Object, PatchError> {
    match directive.as_str() {
        Some("replace") => {
            let mut whole = patch.clone();
            whole.remove(PATCH);
            Ok(whole)
        }
        Some("delete") => Ok(Object::new()),
        _ => Err(unknown_directive(directive, &Value::Object(patch.clone()))),
    }
}

fn retain_keys(original: &mut Object, patch: &Object) -> Result<(), PatchError> {
    let Some(keys) = patch.get(RETAIN_KEYS) else {
        return Ok(());
    };
    let bad = || bad_request("invalid patch format of retainKeys");
    let Value::Array(keys) = keys else {
        return Err(bad());
    };
    let kept = |key: &str| keys.iter().any(|k| k.as_str() == Some(key));
    for (key, value) in patch {
        let exempt = value.is_null()
            || key == RETAIN_KEYS
            || key.starts_with(DELETE_FROM)
            || key.starts_with(ORDER);
        if !exempt && !kept(key) {
            return Err(bad());
        }
    }
    original.retain(|key, _| kept(key));
    Ok(())
}

// Whether the entries are objects; they must all be of one type, and no lists.
fn holds_maps(lists: &[&[Value]]) -> Result<bool, PatchError> {
    let mut all = lists.iter().copied().flatten();
    let Some(first) = all.next() else {
        return Err(PatchError::Internal(
            "no elements in any of the given slices".into(),
        ));
    };
    if first.is_array() {
        return Err(PatchError::Unprocessable(
            "lists of lists are not supported".into(),
        ));
    }
    if all.any(|other| go::type_name(other) != go::type_name(first)) {
        let lists: Vec<_> = lists
            .iter()
            .map(|list| go::verb(&Value::Array(list.to_vec())))
            .collect();
        return Err(PatchError::Internal(format!(
            "list element types are not identical: [{}]",
            lists.join(" ")
        )));
    }
    Ok(first.is_object())
}

fn key_of<'v>(entry: &'v Value, merge_key: &str) -> Result<&'v Value, PatchError> {
    let Value::Object(fields) = entry else {
        return Err(bad_type("map[string]interface {}", entry));
    };
    fields.get(merge_key).ok_or_else(|| {
        PatchError::Internal(format!(
            "map: {} does not contain declared merge key: {merge_key}",
            go::verb(entry)
        ))
    })
}

fn position(list: &[Value], merge_key: &str, key: &Value) -> Result<Option<usize>, PatchError> {
    for (i, entry) in list.iter().enumerate() {
        if !entry.is_object() {
            return Err(PatchError::Internal(format!(
                "value for key {i} is not a map"
            )));
        }
        if entry.get(merge_key) == Some(key) {
            return Ok(Some(i));
        }
    }
    Ok(None)
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, field)| !field.is_null())
            .map(|(name, field)| (name.clone(), without_nulls(field)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

// A value that is new to the object; whatever carries a `$patch` directive is not taken over.
fn without_directives(value: &Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => Some(
            fields
                .iter()
                .filter_map(|(name, field)| Some((name.clone(), without_directives(field)?)))
                .collect(),
        ),
        Value::Array(items) => Some(items.iter().filter_map(without_directives).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}

fn bad_request(text: &str) -> PatchError {
    PatchError::BadRequest(text.into())
}

fn bad_type(expected: &str, actual: &Value) -> PatchError {
    PatchError::Internal(format!(
        "expected a {expected}, but received a {}",
        go::type_name(actual)
    ))
}

fn unknown_directive(directive: &Value, map: &Value) -> PatchError {
    PatchError::Internal(format!(
        "unknown patch type: {} in map: {}",
        go::verb(directive),
        go::verb(map)
    ))
}

#[cfg(test)]
mod tests;
