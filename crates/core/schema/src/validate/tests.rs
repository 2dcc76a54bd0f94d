//! Answers recorded from kube-apiserver v1.36.4 for one schema that uses every keyword.

use super::*;
use expect_test::{Expect, expect};
use model::json;

fn schema() -> Value {
    r#"{
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "required": ["a", "b"],
                "properties": {
                    "a": {"type": "string"},
                    "b": {"type": "integer"},
                    "i32": {"type": "integer", "format": "int32"},
                    "i64": {"type": "integer", "format": "int64"},
                    "fl": {"type": "number", "format": "float"},
                    "num": {"type": "number", "minimum": 1.5, "maximum": 1e22},
                    "numx": {"type": "number", "minimum": 1, "exclusiveMinimum": true,
                             "maximum": 10, "exclusiveMaximum": true},
                    "mult": {"type": "integer", "multipleOf": 3},
                    "multf": {"type": "number", "multipleOf": 0.1},
                    "s": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
                    "l": {"type": "array", "minItems": 1, "maxItems": 2,
                          "items": {"type": "string", "maxLength": 3}},
                    "m": {"type": "object", "minProperties": 1, "maxProperties": 2,
                          "additionalProperties": {"type": "integer"}},
                    "ios": {"x-kubernetes-int-or-string": true},
                    "nul": {"type": "string", "nullable": true},
                    "dt": {"type": "string", "format": "date-time"},
                    "dur": {"type": "string", "format": "duration"},
                    "e": {"type": "string", "enum": ["x", "y"]},
                    "en": {"type": "integer", "enum": [1, 2]},
                    "ef": {"type": "number", "enum": [1, 2.5]},
                    "set": {"type": "array", "x-kubernetes-list-type": "set",
                            "items": {"type": "string"}},
                    "map": {"type": "array", "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["k", "j"],
                            "items": {"type": "object", "required": ["k"], "properties": {
                                "k": {"type": "string"}, "j": {"type": "integer"}}}},
                    "map1": {"type": "array", "x-kubernetes-list-type": "map",
                             "x-kubernetes-list-map-keys": ["k"],
                             "items": {"type": "object", "required": ["k"], "properties": {
                                 "k": {"type": "string"}, "v": {"type": "string", "maxLength": 2}}}},
                    "any": {"type": "object",
                            "properties": {"x": {"type": "string"}, "y": {"type": "integer"}},
                            "anyOf": [{"required": ["x"]},
                                      {"required": ["y"], "properties": {"y": {"minimum": 3}}}]},
                    "one": {"type": "object",
                            "properties": {"x": {"type": "string"}, "y": {"type": "integer"}},
                            "oneOf": [{"required": ["x"]}, {"required": ["y"]}]},
                    "all": {"type": "string", "allOf": [{"minLength": 3}, {"pattern": "^b"}]},
                    "no": {"type": "string", "not": {"enum": ["bad"]}},
                    "emb": {"type": "object", "x-kubernetes-embedded-resource": true}
                }
            },
            "status": {"type": "object", "properties": {"n": {"type": "integer"}}}
        }
    }"#
    .parse()
    .unwrap()
}

fn tell(faults: &[FieldError]) -> String {
    let lines = faults.iter().map(|f| format!("{} | {f}\n", f.reason()));
    lines.collect()
}

fn check_field(name: &str, value: Value, expected: Expect) {
    let mut spec = json!({"a": "x", "b": 1});
    spec[name] = value;
    check(json!({"spec": spec}), expected);
}

fn check(object: Value, expected: Expect) {
    expected.assert_eq(&tell(&Validator::new(&schema()).validate(&object)));
}

#[test]
fn required_fields_are_named() {
    check(
        json!({"spec": {}}),
        expect![[r"
            FieldValueRequired | spec.a: Required value
            FieldValueRequired | spec.b: Required value
        "]],
    );
    check(
        json!({}),
        expect![[r"
            FieldValueRequired | spec: Required value
        "]],
    );
}

#[test]
fn types_are_told_by_name() {
    check(
        json!({"spec": 5}),
        expect![[r#"
            FieldValueTypeInvalid | spec: Invalid value: "integer": spec in body must be of type object: "integer"
        "#]],
    );
    check_field(
        "ios",
        json!(true),
        expect![[r#"
            FieldValueTypeInvalid | spec.ios: Invalid value: "boolean": spec.ios in body must be of type integer,string: "boolean"
        "#]],
    );
    check_field(
        "ios",
        json!(1.5),
        expect![[r#"
            FieldValueTypeInvalid | spec.ios: Invalid value: "number": spec.ios in body must be of type integer,string: "number"
        "#]],
    );
    check_field("nul", json!(null), expect![""]);
    check_field(
        "a",
        json!(null),
        expect![[r#"
            FieldValueTypeInvalid | spec.a: Invalid value: "null": spec.a in body must be of type string: "null"
        "#]],
    );
    check_field("b", json!(2.0), expect![""]);
}

#[test]
fn number_formats_limit_the_range() {
    check_field(
        "i32",
        json!(3_000_000_000_i64),
        expect![[r#"
            FieldValueInvalid | <nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.i32
        "#]],
    );
    check_field(
        "i32",
        json!(1.5),
        expect![[r#"
            FieldValueTypeInvalid | spec.i32: Invalid value: "float64": spec.i32 in body must be of type int32: "float64"
            FieldValueInvalid | <nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.i32
        "#]],
    );
    check_field(
        "i64",
        json!(1e30),
        expect![[r#"
            FieldValueTypeInvalid | spec.i64: Invalid value: "float64": spec.i64 in body must be of type int64: "float64"
            FieldValueInvalid | <nil>: Invalid value: "": Checked value must be of type integer with format int64 in spec.i64
        "#]],
    );
    check_field(
        "fl",
        json!(1e300),
        expect![[r#"
            FieldValueInvalid | <nil>: Invalid value: "": Checked value must be of type number with format float in spec.fl
        "#]],
    );
}

#[test]
fn bounds_of_numbers() {
    // A whole number is compared with the whole part of a bound; Go's conversion overflows.
    check_field(
        "num",
        json!(1),
        expect![[r"
            FieldValueInvalid | spec.num: Invalid value: 1: spec.num in body should be less than or equal to -9223372036854775808
        "]],
    );
    check_field(
        "num",
        json!(1.2),
        expect![[r"
            FieldValueInvalid | spec.num: Invalid value: 1.2: spec.num in body should be greater than or equal to 1.5
        "]],
    );
    check_field(
        "num",
        json!(1e23),
        expect![[r"
            FieldValueInvalid | spec.num: Invalid value: 1e+23: spec.num in body should be less than or equal to 1e+22
        "]],
    );
    check_field(
        "numx",
        json!(1),
        expect![[r"
            FieldValueInvalid | spec.numx: Invalid value: 1: spec.numx in body should be greater than 1
        "]],
    );
    check_field(
        "numx",
        json!(10.5),
        expect![[r"
            FieldValueInvalid | spec.numx: Invalid value: 10.5: spec.numx in body should be less than 10
        "]],
    );
    check_field(
        "mult",
        json!(4),
        expect![[r"
            FieldValueInvalid | spec.mult: Invalid value: 4: spec.mult in body should be a multiple of 3
        "]],
    );
    check_field(
        "multf",
        json!(0.25),
        expect![[r"
            FieldValueInvalid | spec.multf: Invalid value: 0.25: spec.multf in body should be a multiple of 0.1
        "]],
    );
    check_field(
        "multf",
        json!(3),
        expect![[r"
            FieldValueInvalid | spec.multf: Invalid value: 0: factor MultipleOf declared for spec.multf must be positive: 0
        "]],
    );
}

#[test]
fn texts() {
    check_field(
        "s",
        json!("a"),
        expect![[r#"
            FieldValueInvalid | spec.s: Invalid value: "a": spec.s in body should be at least 2 chars long
        "#]],
    );
    check_field(
        "s",
        json!("ABCDE"),
        expect![[r"
            FieldValueTooLong | spec.s: Too long: may not be more than 4 bytes
        "]],
    );
    check_field(
        "s",
        json!("AB"),
        expect![[r#"
            FieldValueInvalid | spec.s: Invalid value: "AB": spec.s in body should match '^[a-z]+$'
        "#]],
    );
    check_field(
        "dt",
        json!("foo"),
        expect![[r#"
            FieldValueTypeInvalid | spec.dt: Invalid value: "foo": spec.dt in body must be of type date-time: "foo"
        "#]],
    );
    check_field(
        "dt",
        json!(5),
        expect![[r#"
            FieldValueTypeInvalid | spec.dt: Invalid value: "int64": spec.dt in body must be of type date-time: "int64"
        "#]],
    );
    check_field(
        "dt",
        json!(true),
        expect![[r#"
            FieldValueTypeInvalid | spec.dt: Invalid value: "": spec.dt in body must be of type date-time: ""
        "#]],
    );
    check_field("dt", json!([1]), expect![""]);
    check_field(
        "dur",
        json!("5x"),
        expect![[r#"
            FieldValueTypeInvalid | spec.dur: Invalid value: "5x": spec.dur in body must be of type duration: "5x"
        "#]],
    );
    check_field("dur", json!("5 days"), expect![""]);
}

#[test]
fn counts() {
    check_field(
        "l",
        json!([]),
        expect![[r"
            FieldValueInvalid | spec.l: Invalid value: 0: spec.l in body should have at least 1 items
        "]],
    );
    check_field(
        "l",
        json!(["a", "b", "abcd"]),
        expect![[r"
            FieldValueTooLong | spec.l[2]: Too long: may not be more than 3 bytes
            FieldValueTooMany | spec.l: Too many: 3: must have at most 2 items
        "]],
    );
    check_field(
        "m",
        json!({}),
        expect![[r"
            FieldValueInvalid | spec.m: Invalid value: 0: spec.m in body should have at least 1 properties
        "]],
    );
    check_field(
        "m",
        json!({"a": 1, "b": "x", "c": 3}),
        expect![[r#"
            FieldValueTooMany | spec.m: Too many: 3: must have at most 2 items
            FieldValueTypeInvalid | spec.m.b: Invalid value: "string": spec.m.b in body must be of type integer: "string"
        "#]],
    );
}

#[test]
fn enumerations() {
    check_field(
        "e",
        json!(1),
        expect![[r#"
            FieldValueTypeInvalid | spec.e: Invalid value: "integer": spec.e in body must be of type string: "integer"
            FieldValueNotSupported | spec.e: Unsupported value: 1: supported values: "x", "y"
        "#]],
    );
    check_field(
        "en",
        json!(3),
        expect![[r#"
            FieldValueNotSupported | spec.en: Unsupported value: 3: supported values: "1", "2"
        "#]],
    );
    check_field("en", json!(1.0), expect![""]);
    check_field(
        "ef",
        json!(3.5),
        expect![[r#"
            FieldValueNotSupported | spec.ef: Unsupported value: 3.5: supported values: "1", "2.5"
        "#]],
    );
}

#[test]
fn list_types() {
    check_field(
        "set",
        json!(["a", "b", "a", "a"]),
        expect![[r#"
            FieldValueDuplicate | spec.set[2]: Duplicate value: "a"
        "#]],
    );
    check_field(
        "map",
        json!([{"k": "a", "j": 1}, {"k": "a", "j": 1}, {"k": "b", "j": 1}]),
        expect![[r#"
            FieldValueDuplicate | spec.map[1]: Duplicate value: {"j":1,"k":"a"}
        "#]],
    );
    check_field(
        "map",
        json!([{"k": "a"}, 5]),
        expect![[r#"
            FieldValueTypeInvalid | spec.map[1]: Invalid value: "integer": spec.map[1] in body must be of type object: "integer"
            FieldValueInvalid | spec.map[1]: Invalid value: 5: must be an object for an array of list-type map
        "#]],
    );
    check_field(
        "map1",
        json!([{"k": "a"}, {"k": "a", "v": "abc"}]),
        expect![[r#"
            FieldValueTooLong | spec.map1[1].v: Too long: may not be more than 2 bytes
            FieldValueDuplicate | spec.map1[1]: Duplicate value: {"k":"a"}
        "#]],
    );
}

#[test]
fn combinations_tell_the_closest_alternative() {
    check_field(
        "any",
        json!({"y": 1}),
        expect![[r#"
            FieldValueInvalid | <nil>: Invalid value: "": "spec.any" must validate at least one schema (anyOf)
            FieldValueInvalid | spec.any.y: Invalid value: 1: spec.any.y in body should be greater than or equal to 3
        "#]],
    );
    check_field(
        "any",
        json!({}),
        expect![[r#"
            FieldValueInvalid | <nil>: Invalid value: "": "spec.any" must validate at least one schema (anyOf)
            FieldValueRequired | spec.any.x: Required value
        "#]],
    );
    check_field(
        "one",
        json!({"x": "a", "y": 1}),
        expect![[r#"
            FieldValueInvalid | <nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives
        "#]],
    );
    check_field(
        "one",
        json!({}),
        expect![[r#"
            FieldValueInvalid | <nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found none valid
            FieldValueRequired | spec.one.x: Required value
        "#]],
    );
    check_field(
        "all",
        json!("ab"),
        expect![[r#"
            FieldValueInvalid | spec.all: Invalid value: "ab": spec.all in body should be at least 3 chars long
            FieldValueInvalid | spec.all: Invalid value: "ab": spec.all in body should match '^b'
            FieldValueInvalid | <nil>: Invalid value: "": "spec.all" must validate all the schemas (allOf). None validated
        "#]],
    );
    check_field(
        "no",
        json!("bad"),
        expect![[r#"
            FieldValueInvalid | <nil>: Invalid value: "": "spec.no" must not validate the schema (not)
        "#]],
    );
}

#[test]
fn embedded_resources() {
    check_field(
        "emb",
        json!({}),
        expect![[r"
            FieldValueRequired | spec.emb.apiVersion: Required value
            FieldValueRequired | spec.emb.kind: Required value
        "]],
    );
    check_field(
        "emb",
        json!({"apiVersion": "a/b/c", "kind": "Pod", "metadata": {"name": "a/b"}}),
        expect![[r#"
            FieldValueInvalid | spec.emb.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c
            FieldValueInvalid | spec.emb.metadata.name: Invalid value: "a/b": may not contain '/'
        "#]],
    );
}

fn check_update(old: Value, new: Value, expected: Expect) {
    let (old, new) = (json!({"spec": old}), json!({"spec": new}));
    expected.assert_eq(&tell(
        &Validator::new(&schema()).validate_update(&new, &old),
    ));
}

#[test]
fn unchanged_faults_are_forgiven_on_update() {
    check_update(
        json!({"a": "x", "b": 1, "s": "A"}),
        json!({"a": "y", "b": 1, "s": "A"}),
        expect![""],
    );
    check_update(
        json!({"a": "x", "b": 1, "s": "A"}),
        json!({"a": "x", "b": 1, "s": "B"}),
        expect![[r#"
            FieldValueInvalid | spec.s: Invalid value: "B": spec.s in body should be at least 2 chars long
        "#]],
    );
    check_update(
        json!({"a": "x", "b": 1, "map1": [{"k": "a", "v": "long"}]}),
        json!({"a": "x", "b": 1, "map1": [{"k": "b"}, {"k": "a", "v": "long"}]}),
        expect![""],
    );
    check_update(
        json!({"a": "x", "b": 1, "l": ["long"]}),
        json!({"a": "x", "b": 1, "l": ["long", "a"]}),
        expect![[r"
            FieldValueTooLong | spec.l[0]: Too long: may not be more than 3 bytes
        "]],
    );
    check_update(
        json!({"a": "x", "b": 1, "set": ["a", "a"]}),
        json!({"a": "x", "b": 1, "set": ["b", "b"]}),
        expect![""],
    );
}

#[test]
fn a_status_is_checked_alone() {
    let new = json!({"spec": {}, "status": {"n": "x"}});
    let faults = Validator::new(&schema()).validate_status(&new, &json!({}));
    expect![[r#"
        FieldValueTypeInvalid | status.n: Invalid value: "string": n in body must be of type integer: "string"
    "#]]
    .assert_eq(&tell(&faults));
}

#[test]
fn replica_counts_of_the_scale_subresource() {
    let scale =
        json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    let object = json!({"spec": {"replicas": -1}, "status": {"replicas": "x"}});
    expect![[r"
        FieldValueInvalid | .spec.replicas: Invalid value: -1: should be a non-negative integer
        FieldValueInvalid | .status.replicas: Invalid value: 0: .status.replicas accessor error: x is of the type string, expected int64
    "]]
    .assert_eq(&tell(&check_scale(&object, &scale)));
}

#[test]
fn some_faults_keep_the_rules_from_being_asked() {
    let faults = Validator::new(&schema()).validate(&json!({"spec": {}}));
    assert!(blocks_rules(&faults));
    assert_eq!(
        rules_not_checked().to_string(),
        "<nil>: Invalid value: null: some validation rules were not checked because the object was \
         invalid; correct the existing errors to complete validation"
    );
}
