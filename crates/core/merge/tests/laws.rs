//! Laws that hold for every object, not only for the examples: what applying, tracking and patching
//! promise to their users.

use merge::{
    Apply, Element, FieldSet, Update, apply, json_patch, merge_patch, strategic, track_update,
};
use model::{Map, Timestamp, Value, json};
use proptest::prelude::*;
use schema::{NodeId, Schemas};
use std::sync::OnceLock;

const RESET: &[&[&str]] = &[&["status"]];

// A kind with maps, structures, and lists of every sort.
fn kind() -> &'static (Schemas, NodeId) {
    static KIND: OnceLock<(Schemas, NodeId)> = OnceLock::new();
    KIND.get_or_init(|| {
        let text = json!({"type": "string"});
        let keyed = |keys: Value, properties: Value| {
            json!({
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": keys[0],
                "items": {"type": "object", "properties": properties},
            })
        };
        let spec = json!({"type": "object", "properties": {
            "size": {"type": "integer"}, "color": text,
            "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"},
            "atoms": {"type": "array", "items": text},
            "items": keyed(json!(["name"]), json!({"name": text, "v": text, "sub": {"type": "object", "properties": {"a": text}}})),
            "ports": keyed(json!(["port", "protocol"]), json!({
                "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "w": text,
            })),
            "labels": {"type": "object", "additionalProperties": text},
            "nested": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": text, "y": text}}},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"k": text, "l": text}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "obj": {"type": "object", "properties": {"p": text, "q": {"type": "object", "properties": {"r": text}}}},
        }});
        let mut schemas = Schemas::default();
        let id = schemas.add_structural(&json!({"type": "object", "properties": {"spec": spec}}));
        (schemas, id)
    })
}

fn letter() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

fn object_of(names: &'static [&'static str], value: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop::collection::btree_map(prop::sample::select(names), value, 0..=names.len())
        .prop_map(|fields| {
            let fields = fields.into_iter().map(|(k, v)| (k.to_owned(), v));
            Value::Object(fields.collect())
        })
        .boxed()
}

fn text() -> BoxedStrategy<Value> {
    letter().prop_map(Value::from).boxed()
}

fn list_of(keys: Vec<Value>, entry: fn(Value) -> BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let all = keys.len();
    prop::sample::subsequence(keys, 0..=all)
        .prop_shuffle()
        .prop_flat_map(move |keys| keys.into_iter().map(entry).collect::<Vec<_>>())
        .prop_map(Value::Array)
        .boxed()
}

fn with(base: Value, more: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    more.prop_map(move |more| {
        let mut all = base.clone();
        merge_patch(&mut all, &more);
        all
    })
    .boxed()
}

fn free() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(json!(1)),
        Just(json!(true)),
        text(),
        Just(json!({})),
        Just(json!([{"name": "n"}, 2]))
    ];
    leaf.prop_recursive(3, 12, 3, |inner| object_of(&["f", "g", "h"], inner.boxed()))
        .boxed()
}

// One field of a spec, whole.
fn field(name: &'static str) -> BoxedStrategy<Value> {
    match name {
        "size" => (1..4i64).prop_map(Value::from).boxed(),
        "color" => text(),
        "tags" => list_of(vec![json!("x"), json!("y"), json!("z")], |tag| {
            Just(tag).boxed()
        }),
        "atoms" => prop::collection::vec(text(), 0..3)
            .prop_map(Value::Array)
            .boxed(),
        "items" => list_of(vec![json!("a"), json!("b"), json!("c")], |name| {
            let sub = object_of(&["a"], text());
            let more = (prop::option::of(text()), prop::option::of(sub)).prop_map(|(v, sub)| {
                let mut more = Map::new();
                more.extend(v.map(|v| ("v".to_owned(), v)));
                more.extend(sub.map(|sub| ("sub".to_owned(), sub)));
                Value::Object(more)
            });
            with(json!({"name": name}), more.boxed())
        }),
        "ports" => {
            let keys = vec![
                json!({"port": 80}),
                json!({"port": 443, "protocol": "TCP"}),
                json!({"port": 80, "protocol": "UDP"}),
            ];
            list_of(keys, |key| with(key, object_of(&["w"], text())))
        }
        "labels" => object_of(&["l1", "l2", "l3"], text()),
        "nested" => object_of(&["n1", "n2"], object_of(&["x", "y"], text())),
        "whole" => object_of(&["k", "l"], text()),
        "free" => object_of(&["f", "g"], free()),
        _ => object_of(&["p"], text()),
    }
}

const FIELDS: &[&str] = &[
    "size", "color", "tags", "atoms", "items", "ports", "labels", "nested", "whole", "free", "obj",
];

fn spec_of(names: &'static [&'static str]) -> BoxedStrategy<Value> {
    prop::sample::subsequence(names, 0..=names.len())
        .prop_flat_map(|names| {
            let fields = names.into_iter().map(|name| (Just(name), field(name)));
            fields.collect::<Vec<_>>()
        })
        .prop_map(|fields| {
            let fields = fields.into_iter().map(|(k, v)| (k.to_owned(), v));
            Value::Object(fields.collect())
        })
        .boxed()
}

fn spec() -> BoxedStrategy<Value> {
    spec_of(FIELDS)
}

fn object(spec: Value) -> Value {
    json!({"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "u"}, "spec": spec})
}

fn applied(
    live: Option<&Value>,
    manager: &str,
    spec: &Value,
    seconds: i64,
    force: bool,
) -> Option<(Value, bool)> {
    let (schemas, id) = kind();
    let request = Apply {
        live,
        applied: &object(spec.clone()),
        manager,
        force,
        api_version: "x.io/v1",
        subresource: "",
        now: Timestamp::from_seconds(seconds),
        schema: Some(schemas.at(*id)),
        reset: RESET,
    };
    let done = apply(&request).ok()?;
    Some((done.object, done.changed))
}

fn forced(live: Option<&Value>, manager: &str, spec: &Value, seconds: i64) -> Value {
    applied(live, manager, spec, seconds, true)
        .expect("a forced apply of a sound spec works")
        .0
}

fn updated(live: Option<&Value>, manager: &str, spec: Value, seconds: i64) -> Value {
    let (schemas, id) = kind();
    let mut new = object(spec);
    if let Some(entries) = live.and_then(|live| live.pointer("/metadata/managedFields")) {
        new["metadata"]["managedFields"] = entries.clone();
    }
    track_update(Update {
        live,
        new,
        manager,
        api_version: "x.io/v1",
        subresource: "",
        now: Timestamp::from_seconds(seconds),
        schema: Some(schemas.at(*id)),
        reset: RESET,
    })
}

fn owner_sets(object: &Value) -> Vec<(String, FieldSet)> {
    let entries = object.pointer("/metadata/managedFields");
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    entries
        .map(|entry| {
            let name = format!("{}/{}", entry["operation"], entry["manager"]);
            (name, FieldSet::from_json(&entry["fieldsV1"]).unwrap())
        })
        .collect()
}

// Without order in lists, nulls and empty containers.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(k, v)| (k.clone(), normal(v)));
            fields
                .filter(|(_, v)| !v.is_null())
                .collect::<Map<_, _>>()
                .into_value()
        }
        Value::Array(items) => {
            let mut items: Vec<_> = items.iter().map(normal).collect();
            items.sort_by_key(Value::to_string);
            if items.is_empty() {
                Value::Null
            } else {
                Value::Array(items)
            }
        }
        other => other.clone(),
    }
}

trait IntoValue {
    fn into_value(self) -> Value;
}

impl IntoValue for Map<String, Value> {
    fn into_value(self) -> Value {
        if self.is_empty() {
            Value::Null
        } else {
            Value::Object(self)
        }
    }
}

fn element() -> impl Strategy<Value = Element> {
    prop_oneof![
        4 => letter().prop_map(|name| Element::field(&name)),
        2 => (letter(), 0..3i64).prop_map(|(name, port)| Element::key(vec![("port".into(), json!(port)), ("name".into(), json!(name))])),
        1 => prop_oneof![Just(json!(1)), Just(json!("<&>")), Just(json!(2.5)), Just(json!(true))].prop_map(Element::value),
        1 => (0..12i64).prop_map(Element::index),
    ]
}

fn field_set() -> impl Strategy<Value = FieldSet> {
    prop::collection::vec(prop::collection::vec(element(), 1..4), 0..12).prop_map(|paths| {
        let mut set = FieldSet::new();
        for path in paths {
            set.insert(&path);
        }
        set
    })
}

fn anything() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!(1)),
        Just(json!("delete")),
        Just(json!("replace")),
        text()
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let names = &[
            "spec",
            "metadata",
            "items",
            "tags",
            "name",
            "$patch",
            "$setElementOrder/items",
            "$deleteFromPrimitiveList/tags",
            "$retainKeys",
        ];
        prop_oneof![
            object_of(names, inner.clone().boxed()),
            prop::collection::vec(inner, 0..4).prop_map(Value::Array)
        ]
    })
    .boxed()
}

// The merge patch that makes `y` of `x`.
fn difference(x: &Value, y: &Value) -> Value {
    let (Value::Object(x), Value::Object(y)) = (x, y) else {
        return y.clone();
    };
    let mut patch = Map::new();
    for name in x.keys().filter(|name| !y.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in y {
        match x.get(name) {
            Some(old) if old == value => {}
            Some(old) if old.is_object() && value.is_object() => {
                patch.insert(name.clone(), difference(old, value));
            }
            _ => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn field_sets_survive_json(set in field_set()) {
        prop_assert_eq!(&FieldSet::from_json(&set.to_json()).unwrap(), &set);
        let text: Value = serde_json::from_str(&set.to_json_text()).unwrap();
        prop_assert_eq!(&FieldSet::from_json(&text).unwrap(), &set);
        prop_assert_eq!(set.paths().len(), set.len());
        prop_assert!(set.paths().iter().all(|path| set.has(path)));
    }

    #[test]
    fn field_sets_are_sets(a in field_set(), b in field_set(), c in field_set()) {
        prop_assert_eq!(a.clone().union(&b), b.clone().union(&a));
        prop_assert_eq!(a.clone().union(&b).union(&c), a.clone().union(&b.clone().union(&c)));
        prop_assert_eq!(a.clone().union(&a), a.clone());
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.clone().difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.clone().difference(&b).intersection(&b).is_empty());
        prop_assert_eq!(a.intersects(&b), !a.intersection(&b).is_empty());
        prop_assert_eq!(a.is_subset(&b), a.clone().difference(&b).is_empty());
        prop_assert!(a.intersection(&b).is_subset(&a));
        let union = a.clone().union(&b);
        prop_assert!(union.paths().iter().all(|path| a.has(path) || b.has(path)));
        prop_assert!(a.clone().difference(&b).paths().iter().all(|path| a.has(path) && !b.has(path)));
    }

    #[test]
    fn applying_twice_is_applying_once(others in spec(), mine in spec()) {
        let before = forced(None, "other", &others, 1);
        let once = forced(Some(&before), "me", &mine, 2);
        let (twice, changed) = applied(Some(&once), "me", &mine, 3, false).expect("no conflict with oneself");
        prop_assert!(!changed);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn what_was_applied_is_there_and_owned(others in spec(), mine in spec()) {
        let before = forced(None, "other", &others, 1);
        let after = forced(Some(&before), "me", &mine, 2);
        let mut again = after.clone();
        merge_patch(&mut again, &json!({"metadata": {"managedFields": null}}));
        let (reapplied, _) = applied(Some(&again), "me", &mine, 3, false).expect("values are equal already");
        prop_assert_eq!(&reapplied["spec"], &after["spec"]);
    }

    #[test]
    fn disjoint_applies_commute(
        one in spec_of(&["size", "tags", "items", "labels", "free"]),
        two in spec_of(&["color", "atoms", "ports", "nested", "whole", "obj"]),
    ) {
        // Who owns nothing leaves no entry, and what it wrote belongs to "before-first-apply".
        let (mut one, mut two) = (one, two);
        one["size"] = json!(1);
        two["color"] = json!("a");
        let both = |first: (&str, &Value), second: (&str, &Value)| {
            let live = forced(None, first.0, first.1, 1);
            applied(Some(&live), second.0, second.1, 1, false).expect("nothing in common").0
        };
        let (ab, ba) = (both(("one", &one), ("two", &two)), both(("two", &two), ("one", &one)));
        prop_assert_eq!(normal(&ab["spec"]), normal(&ba["spec"]));
        prop_assert_eq!(owner_sets(&ab), owner_sets(&ba));
    }

    #[test]
    fn entries_of_one_list_commute_too(v in text(), w in text()) {
        let one = json!({"items": [{"name": "a", "v": v}], "labels": {"l1": v}, "tags": ["x"]});
        let two = json!({"items": [{"name": "b", "v": w}], "labels": {"l2": w}, "tags": ["y"]});
        let ab = applied(Some(&forced(None, "one", &one, 1)), "two", &two, 1, false).unwrap().0;
        let ba = applied(Some(&forced(None, "two", &two, 1)), "one", &one, 1, false).unwrap().0;
        prop_assert_eq!(normal(&ab["spec"]), normal(&ba["spec"]));
        prop_assert_eq!(owner_sets(&ab), owner_sets(&ba));
    }

    #[test]
    fn what_the_last_owner_drops_is_gone(others in spec(), mine in spec()) {
        let alone = forced(None, "other", &others, 1);
        // Nothing is taken from the other, so dropping all leaves what it had.
        let Some((both, _)) = applied(Some(&alone), "me", &mine, 2, false) else {
            return Ok(());
        };
        let dropped = forced(Some(&both), "me", &json!({}), 3);
        prop_assert_eq!(normal(&dropped["spec"]), normal(&alone["spec"]));
        let sets = |object: &Value| owner_sets(object).into_iter().filter(|(who, set)| who.contains("other") && !set.is_empty()).collect::<Vec<_>>();
        prop_assert_eq!(sets(&dropped), sets(&alone));
    }

    #[test]
    fn plain_writers_share_the_object_between_them(specs in prop::collection::vec((letter(), spec()), 1..5)) {
        let mut live: Option<Value> = None;
        for (i, (manager, spec)) in specs.iter().enumerate() {
            live = Some(updated(live.as_ref(), manager, spec.clone(), i as i64));
        }
        let live = live.unwrap();
        let sets = owner_sets(&live);
        for (i, (_, a)) in sets.iter().enumerate() {
            for (_, b) in &sets[i + 1..] {
                prop_assert!(!a.intersects(b));
            }
        }
        let all = sets.into_iter().fold(FieldSet::new(), |all, (_, set)| all.union(&set));
        let fresh = updated(None, "x", live["spec"].clone(), 1);
        let whole = owner_sets(&fresh).into_iter().fold(FieldSet::new(), |all, (_, set)| all.union(&set));
        // An empty container that was not empty before belongs to nobody.
        prop_assert!(all.is_subset(&whole));
        let unowned = whole.difference(&all);
        prop_assert!(unowned.paths().iter().all(|path| is_empty_at(&live, path)), "{:?}", unowned.paths());
    }

    #[test]
    fn writing_the_same_changes_nothing(first in spec()) {
        let live = updated(None, "one", first.clone(), 1);
        prop_assert_eq!(updated(Some(&live), "two", first, 2), live);
    }

    #[test]
    fn a_merge_patch_of_the_difference_gets_there(x in free(), y in free()) {
        let (x, y) = (json!({"v": x}), json!({"v": y}));
        let mut patched = x.clone();
        merge_patch(&mut patched, &difference(&x, &y));
        prop_assert_eq!(patched, y);
    }

    #[test]
    fn merge_patches_are_idempotent(x in free(), from in free(), to in free()) {
        let patch = difference(&from, &to);
        let mut once = x;
        merge_patch(&mut once, &patch);
        let mut twice = once.clone();
        merge_patch(&mut twice, &patch);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn nonsense_is_answered_not_followed(spec in spec(), patch in anything(), operations in anything()) {
        let (schemas, id) = kind();
        let live = forced(None, "m", &spec, 1);
        let _ = strategic(&live, &patch, schemas.at(*id));
        let _ = json_patch(live.clone(), &operations);
        let request = Apply {
            live: Some(&live), applied: &patch, manager: "n", force: true, api_version: "x.io/v1",
            subresource: "", now: Timestamp::from_seconds(2), schema: Some(schemas.at(*id)), reset: &[],
        };
        let _ = apply(&request);
        let _ = track_update(Update {
            live: Some(&live), new: patch, manager: "n", api_version: "x.io/v1", subresource: "",
            now: Timestamp::from_seconds(2), schema: Some(schemas.at(*id)), reset: &[],
        });
    }
}

fn is_empty_at(object: &Value, path: &[Element]) -> bool {
    let mut place = object;
    for step in path {
        let Some(name) = step.name() else {
            return false;
        };
        place = &place[name];
    }
    match place {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
