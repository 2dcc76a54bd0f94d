use super::*;
use model::json;

fn check_round_trip(text: &str) {
    let set = FieldSet::from_json(&serde_json::from_str(text).unwrap()).unwrap();
    assert_eq!(set.to_json_text(), text);
    assert_eq!(FieldSet::from_json(&set.to_json()).unwrap(), set);
}

fn set(fields: Value) -> FieldSet {
    FieldSet::from_json(&fields).unwrap()
}

fn texts(set: &FieldSet) -> Vec<String> {
    set.paths().iter().map(|path| path_text(path)).collect()
}

#[test]
fn what_the_server_writes_reads_back_the_same() {
    check_round_trip(r#"{}"#);
    check_round_trip(r#"{"f:data":{".":{},"f:j":{},"f:k":{}}}"#);
    check_round_trip(r#"{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:dnsPolicy":{}}}}}"#);
    check_round_trip(
        r#"{"f:metadata":{"f:finalizers":{".":{},"v:\"x.y/a\"":{},"v:\"x.y/b\"":{}}}}"#,
    );
    check_round_trip(r#"{"f:a":{"i:0":{},"i:10":{}}}"#);
    check_round_trip(r#"{"f:a":{"v:1":{},"v:2.5":{},"v:10":{}}}"#);
}

#[test]
fn list_keys_are_ordered_by_value_in_text() {
    let fields = json!({"f:ports": {
        "k:{\"containerPort\":443,\"protocol\":\"TCP\"}": {},
        "k:{\"containerPort\":80,\"protocol\":\"UDP\"}": {},
        "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {},
    }});
    assert_eq!(
        set(fields).to_json_text(),
        r#"{"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{},"k:{\"containerPort\":80,\"protocol\":\"UDP\"}":{},"k:{\"containerPort\":443,\"protocol\":\"TCP\"}":{}}}"#
    );
}

#[test]
fn key_fields_are_sorted_by_name() {
    let fields = json!({"k:{\"protocol\":\"TCP\",\"containerPort\":80}": {}});
    assert_eq!(
        set(fields).to_json(),
        json!({"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {}})
    );
}

#[test]
fn paths_read_like_conflict_messages() {
    let fields = json!({
        "f:spec": {
            "f:replicas": {},
            "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}}}}},
        },
        "f:metadata": {"f:finalizers": {"v:\"a/b\"": {}}, "f:labels": {"f:x.y/z": {}}},
        "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {"f:name": {}}, "i:3": {}},
    });
    assert_eq!(
        texts(&set(fields)),
        [
            ".metadata.finalizers[=\"a/b\"]",
            ".metadata.labels.x.y/z",
            ".ports[3]",
            ".ports[port=80,protocol=\"TCP\"].name",
            ".spec.replicas",
            ".spec.template.spec.containers[name=\"c\"]",
            ".spec.template.spec.containers[name=\"c\"].image",
        ]
    );
}

#[test]
fn difference_takes_out_exact_paths_only() {
    let all = set(json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}}));
    let parent = set(json!({"f:a": {}}));
    assert_eq!(
        all.clone().difference(&parent).to_json(),
        json!({"f:a": {"f:b": {}, "f:c": {}}})
    );
    let child = set(json!({"f:a": {"f:b": {}}}));
    assert_eq!(
        all.clone().difference(&child).to_json(),
        json!({"f:a": {".": {}, "f:c": {}}})
    );
    let mut trees = all;
    trees.remove_trees(&parent);
    assert!(trees.is_empty());
}

#[test]
fn unknown_kinds_of_steps_are_skipped_and_nonsense_is_refused() {
    assert!(set(json!({"z:future": {}})).is_empty());
    for bad in [
        json!({"x": {}}),
        json!({"noColon": {}}),
        json!({"k:[]": {}}),
        json!({"i:x": {}}),
        json!({"v:{": {}}),
        json!({"f:a": 1}),
        json!([]),
    ] {
        assert!(FieldSet::from_json(&bad).is_err(), "{bad}");
    }
}

#[test]
fn html_characters_are_escaped_as_go_does() {
    let mut set = FieldSet::new();
    set.insert(&[Element::value(json!("a<b>&c"))]);
    assert_eq!(set.to_json(), json!({"v:\"a\\u003cb\\u003e\\u0026c\"": {}}));
    assert_eq!(FieldSet::from_json(&set.to_json()).unwrap(), set);
}

#[test]
fn deep_nonsense_is_refused_not_followed() {
    let mut fields = json!({});
    for _ in 0..1000 {
        let mut next = Map::new();
        next.insert("f:a".into(), fields);
        fields = Value::Object(next);
    }
    assert!(FieldSet::from_json(&fields).is_err());
    // Dropping the value itself must not be the deep part of this test.
    while let Some(below) = fields.get_mut("f:a").map(Value::take) {
        fields = below;
    }
}
