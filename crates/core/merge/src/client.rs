//! The patch of a client-side apply: what Git wants now, less what it wanted before and dropped.
//!
//! ```text
//! last applied + target + live ── client_patch ──▶ strategic or merge patch, or nothing to do
//! ```
//!
//! Fields that neither the last nor this manifest mentions are nobody's business here. With a
//! schema the patch is a strategic one, without a merge patch.

use crate::DEPTH_MAX;
use model::{Map, Value, json};
use schema::Cursor;

/// The patch that brings a live object to its manifest; `None` when there is nothing to do.
pub fn client_patch(
    last: Option<&Value>,
    target: &Value,
    live: &Value,
    schema: Option<Cursor<'_>>,
) -> Option<Value> {
    let empty = Map::new();
    let last = last.and_then(Value::as_object).unwrap_or(&empty);
    let (Some(target), Some(live)) = (target.as_object(), live.as_object()) else {
        return None;
    };
    let patch = maps(last, target, live, schema, 0);
    (!patch.is_empty()).then_some(Value::Object(patch))
}

type Fields = Map<String, Value>;

fn maps(
    last: &Fields,
    target: &Fields,
    live: &Fields,
    at: Option<Cursor<'_>>,
    depth: usize,
) -> Fields {
    let mut patch = Map::new();
    for (name, wanted) in target {
        let below = at.and_then(|at| at.field(name));
        field(
            &mut patch,
            name,
            (last.get(name), wanted, live.get(name)),
            below,
            depth,
        );
    }
    for name in last.keys().filter(|name| !target.contains_key(*name)) {
        if live.contains_key(name) {
            patch.insert(name.clone(), Value::Null);
        }
    }
    if !patch.is_empty() && at.is_some_and(|at| at.node().patch_retain_keys) {
        let keys: Vec<&String> = target.keys().collect();
        patch.insert("$retainKeys".into(), json!(keys));
    }
    patch
}

fn field(
    patch: &mut Fields,
    name: &str,
    (last, wanted, live): (Option<&Value>, &Value, Option<&Value>),
    at: Option<Cursor<'_>>,
    depth: usize,
) {
    let Some(live) = live else {
        if !wanted.is_null() {
            patch.insert(name.into(), wanted.clone());
        }
        return;
    };
    if wanted == live {
        return;
    }
    let whole = depth >= DEPTH_MAX || at.is_some_and(|at| at.node().patch_replace);
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) if !whole => {
            let empty = Map::new();
            let last = last.and_then(Value::as_object).unwrap_or(&empty);
            let below = maps(last, wanted, live, at, depth + 1);
            if !below.is_empty() {
                patch.insert(name.into(), Value::Object(below));
            }
        }
        (Value::Array(wanted), Value::Array(live)) if merges(at) && !whole => {
            let last = last
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice);
            match at.and_then(|at| at.node().patch_merge_key.as_deref()) {
                Some(key) => keyed(patch, (name, key), (last, wanted, live), at, depth),
                None => scalars(patch, name, (last, wanted, live)),
            }
        }
        _ => {
            patch.insert(name.into(), wanted.clone());
        }
    }
}

fn merges(at: Option<Cursor<'_>>) -> bool {
    at.is_some_and(|at| at.node().patch_merge)
}

// Entries that are told apart by a key: each is brought to what is wanted, dropped ones go.
fn keyed(
    patch: &mut Fields,
    (name, key): (&str, &str),
    (last, wanted, live): (&[Value], &[Value], &[Value]),
    at: Option<Cursor<'_>>,
    depth: usize,
) {
    let items = at.and_then(|at| at.items());
    let find = |list: &[Value], entry: &Value| -> Option<usize> {
        let id = entry.get(key)?;
        list.iter().position(|other| other.get(key) == Some(id))
    };
    let mut entries = Vec::new();
    for entry in wanted {
        let there = find(live, entry).map(|at| &live[at]);
        let (Some(there), Some(fields)) = (there.and_then(Value::as_object), entry.as_object())
        else {
            entries.push(entry.clone());
            continue;
        };
        let before = find(last, entry).and_then(|at| last[at].as_object());
        let empty = Map::new();
        let mut change = maps(before.unwrap_or(&empty), fields, there, items, depth + 1);
        if !change.is_empty() {
            change.insert(key.into(), entry[key].clone());
            entries.push(Value::Object(change));
        }
    }
    for entry in last.iter().filter(|entry| find(wanted, entry).is_none()) {
        if find(live, entry).is_some() {
            entries.push(json!({"$patch": "delete", key: entry[key]}));
        }
    }
    if entries.is_empty() {
        return;
    }
    let order: Vec<Value> = wanted
        .iter()
        .map(|entry| json!({key: entry[key]}))
        .collect();
    patch.insert(format!("$setElementOrder/{name}"), Value::Array(order));
    patch.insert(name.into(), Value::Array(entries));
}

// Entries that are their own key.
fn scalars(patch: &mut Fields, name: &str, (last, wanted, live): (&[Value], &[Value], &[Value])) {
    let added: Vec<&Value> = wanted
        .iter()
        .filter(|entry| !live.contains(entry))
        .collect();
    let dropped: Vec<&Value> = last
        .iter()
        .filter(|entry| !wanted.contains(entry) && live.contains(entry))
        .collect();
    if !added.is_empty() {
        patch.insert(name.into(), json!(added));
    }
    if !dropped.is_empty() {
        patch.insert(format!("$deleteFromPrimitiveList/{name}"), json!(dropped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::{Edge, Node, Schemas, Type};

    // containers: [{name, image, args: []}] merged by name; finalizers: [text] merged; strategy.
    fn schemas() -> Schemas {
        let mut schemas = Schemas::default();
        let text = schemas.add(Node {
            ty: Type::String,
            ..Node::default()
        });
        let edge = |to| Edge { to, default: None };
        let container = schemas.add(Node {
            ty: Type::Object,
            properties: [("name", text), ("image", text)]
                .map(|(n, t)| (n.to_owned(), edge(t)))
                .into(),
            ..Node::default()
        });
        let containers = schemas.add(Node {
            ty: Type::Array,
            items: Some(edge(container)),
            patch_merge: true,
            patch_merge_key: Some("name".into()),
            ..Node::default()
        });
        let finalizers = schemas.add(Node {
            ty: Type::Array,
            items: Some(edge(text)),
            patch_merge: true,
            ..Node::default()
        });
        let strategy = schemas.add(Node {
            ty: Type::Object,
            patch_retain_keys: true,
            ..Node::default()
        });
        let root = schemas.add(Node {
            ty: Type::Object,
            properties: [
                ("containers", containers),
                ("finalizers", finalizers),
                ("strategy", strategy),
            ]
            .map(|(n, t)| (n.to_owned(), edge(t)))
            .into(),
            ..Node::default()
        });
        schemas.names.insert("Thing".into(), root);
        schemas
    }

    // The patch, and that applying it gives what is wanted.
    fn check(last: &Value, target: &Value, live: &Value, patch: &Value, result: &Value) {
        let schemas = schemas();
        let at = schemas.named("Thing").expect("it was added");
        let made = client_patch(Some(last), target, live, Some(at)).unwrap_or(Value::Null);
        assert_eq!(&made, patch);
        if made.is_null() {
            assert_eq!(live, result);
            return;
        }
        assert_eq!(
            &crate::strategic(live, &made, at).expect("it applies"),
            result
        );
    }

    #[test]
    fn what_nobody_mentions_stays() {
        check(
            &json!({"a": 1}),
            &json!({"a": 1}),
            &json!({"a": 1, "defaulted": true}),
            &Value::Null,
            &json!({"a": 1, "defaulted": true}),
        );
    }

    #[test]
    fn what_git_dropped_goes_and_what_it_changed_changes() {
        check(
            &json!({"a": 1, "b": {"c": 1, "d": 1}}),
            &json!({"a": 2, "b": {"d": 1}}),
            &json!({"a": 1, "b": {"c": 5, "d": 1, "e": 1}}),
            &json!({"a": 2, "b": {"c": null}}),
            &json!({"a": 2, "b": {"d": 1, "e": 1}}),
        );
    }

    #[test]
    fn entries_are_merged_by_their_key() {
        check(
            &json!({"containers": [{"name": "web", "image": "a"}, {"name": "old", "image": "x"}]}),
            &json!({"containers": [{"name": "new", "image": "n"}, {"name": "web", "image": "b"}]}),
            &json!({"containers": [{"name": "web", "image": "a", "pull": "Always"}, {"name": "old", "image": "x"}, {"name": "injected", "image": "i"}]}),
            &json!({"$setElementOrder/containers": [{"name": "new"}, {"name": "web"}],
                "containers": [{"name": "new", "image": "n"}, {"name": "web", "image": "b"}, {"$patch": "delete", "name": "old"}]}),
            &json!({"containers": [{"name": "injected", "image": "i"}, {"name": "new", "image": "n"}, {"name": "web", "image": "b", "pull": "Always"}]}),
        );
    }

    #[test]
    fn scalars_are_added_and_taken_out() {
        check(
            &json!({"finalizers": ["a", "b"]}),
            &json!({"finalizers": ["a", "c"]}),
            &json!({"finalizers": ["a", "b", "theirs"]}),
            &json!({"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["b"]}),
            &json!({"finalizers": ["c", "a", "theirs"]}),
        );
    }

    #[test]
    fn a_union_keeps_only_the_keys_that_are_wanted() {
        check(
            &json!({}),
            &json!({"strategy": {"type": "Recreate"}}),
            &json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}),
            &json!({"strategy": {"type": "Recreate", "$retainKeys": ["type"]}}),
            &json!({"strategy": {"type": "Recreate"}}),
        );
    }

    #[test]
    fn without_a_schema_lists_are_one_value() {
        let patch = client_patch(
            Some(&json!({"spec": {"hosts": ["a"], "old": 1}})),
            &json!({"spec": {"hosts": ["a", "b"]}}),
            &json!({"spec": {"hosts": ["a"], "old": 1, "kept": 1}}),
            None,
        );
        assert_eq!(
            patch,
            Some(json!({"spec": {"hosts": ["a", "b"], "old": null}}))
        );
    }
}
