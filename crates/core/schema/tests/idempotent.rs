//! Pruning and defaulting change an object once: doing it again changes nothing.

use model::{Value, json};
use proptest::prelude::*;
use schema::{Schemas, Validator, apply_defaults, prune};

/// Fields come from a small alphabet, so that schemas and values meet.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "kind", "metadata"]).prop_map(str::to_owned)
}

fn scalar_schema() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "default": "d"})),
        Just(json!({"type": "integer", "nullable": true, "default": 7})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"type": "object", "additionalProperties": true})),
    ]
}

fn schemas() -> impl Strategy<Value = Value> {
    scalar_schema().prop_recursive(4, 24, 4, |inner| {
        let object = prop::collection::btree_map(name(), inner.clone(), 0..4);
        prop_oneof![
            (object, any::<bool>(), any::<bool>()).prop_map(|(fields, default, embedded)| {
                let mut schema = json!({"type": "object", "properties": fields});
                if default {
                    schema["default"] = json!({});
                }
                schema["x-kubernetes-embedded-resource"] = json!(embedded);
                schema
            }),
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            inner.prop_map(|values| json!({"type": "object", "additionalProperties": values})),
        ]
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_i64..9).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

proptest! {
    #[test]
    fn pruning_twice_is_pruning_once(schema in schemas(), value in values()) {
        let mut arena = Schemas::default();
        let id = arena.add_structural(&schema);
        let mut once = value;
        prune(&mut once, arena.at(id));
        let mut twice = once.clone();
        let removed = prune(&mut twice, arena.at(id));
        prop_assert!(removed.is_empty(), "{removed:?} were left by the first time");
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn defaulting_twice_is_defaulting_once(schema in schemas(), value in values()) {
        let mut arena = Schemas::default();
        let id = arena.add_structural(&schema);
        let mut once = value;
        apply_defaults(&mut once, arena.at(id));
        let mut twice = once.clone();
        apply_defaults(&mut twice, arena.at(id));
        prop_assert_eq!(once, twice);
    }

    /// An unchanged object is never refused for values it had before, except at its root.
    #[test]
    fn an_update_finds_no_more_than_a_create(schema in schemas(), value in values()) {
        let validator = Validator::new(&schema);
        let create = validator.validate(&value);
        let update = validator.validate_update(&value, &value);
        prop_assert!(update.len() <= create.len());
    }
}
