use super::*;
use crate::testing::{at, owners, widget, workload};
use expect_test::{Expect, expect};
use model::json;

// Applies `manager: spec` lines in turn and shows the object's spec and owners after the last one.
fn check_applies(steps: &[(&str, Value)], expected: Expect) {
    let (schemas, id) = widget();
    let mut live: Option<Value> = None;
    for (i, (manager, spec)) in steps.iter().enumerate() {
        let (manager, force) = match manager.strip_suffix('!') {
            Some(manager) => (manager, true),
            None => (*manager, false),
        };
        let applied = json!({"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec});
        let request = Apply {
            live: live.as_ref(),
            applied: &applied,
            manager,
            force,
            api_version: "x.io/v1",
            subresource: "",
            now: at(i as i64 + 1),
            schema: Some(schemas.at(id)),
            reset: &[&["status"]],
        };
        match apply(&request) {
            Ok(done) => live = Some(done.object),
            Err(error) => return expected.assert_eq(&error.to_string()),
        }
    }
    let live = live.unwrap();
    expected.assert_eq(&format!("{}\n{}", live["spec"], owners(&live)));
}

fn refused(applied: Value) -> String {
    let (schemas, id) = widget();
    let request = Apply {
        live: None,
        applied: &applied,
        manager: "m",
        force: false,
        api_version: "x.io/v1",
        subresource: "",
        now: at(1),
        schema: Some(schemas.at(id)),
        reset: &[],
    };
    apply(&request).unwrap_err().to_string()
}

#[test]
fn an_applier_owns_what_it_mentions() {
    check_applies(
        &[(
            "one",
            json!({"size": 2, "items": [{"name": "a", "v": "1"}], "ports": [{"port": 80}], "tags": ["t"],
                   "labels": {"l": "1"}, "nested": {"n": {"x": "1"}}, "whole": {"k": "1"}, "atoms": ["x"],
                   "free": {"f": {"g": 1}}, "obj": {"q": {"r": "1"}}}),
        )],
        expect![[r#"
            {"atoms":["x"],"free":{"f":{"g":1}},"items":[{"name":"a","v":"1"}],"labels":{"l":"1"},"nested":{"n":{"x":"1"}},"obj":{"q":{"r":"1"}},"ports":[{"port":80}],"size":2,"tags":["t"],"whole":{"k":"1"}}
            Apply one @1 {"f:spec":{"f:atoms":{},"f:free":{"f:f":{".":{},"f:g":{}}},"f:items":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:v":{}}},"f:labels":{"f:l":{}},"f:nested":{"f:n":{".":{},"f:x":{}}},"f:obj":{"f:q":{"f:r":{}}},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},"f:size":{},"f:tags":{"v:\"t\"":{}},"f:whole":{}}}
        "#]],
    );
}

#[test]
fn empty_and_null_values() {
    check_applies(
        &[(
            "one",
            json!({"labels": {}, "items": [], "atoms": [], "whole": {}, "color": null, "obj": null, "tags": null}),
        )],
        expect![[r#"
            {"atoms":[],"color":null,"items":[],"labels":{},"obj":null,"tags":null,"whole":{}}
            Apply one @1 {"f:spec":{"f:atoms":{},"f:color":{},"f:labels":{},"f:obj":{},"f:tags":{},"f:whole":{}}}
        "#]],
    );
}

#[test]
fn the_same_again_changes_nothing_not_even_the_time() {
    let spec = json!({"size": 2, "items": [{"name": "a"}]});
    check_applies(
        &[("one", spec.clone()), ("one", spec)],
        expect![[r#"
            {"items":[{"name":"a"}],"size":2}
            Apply one @1 {"f:spec":{"f:items":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}},"f:size":{}}}
        "#]],
    );
}

#[test]
fn equal_values_are_shared_and_the_second_owner_has_no_time() {
    check_applies(
        &[("one", json!({"size": 2})), ("two", json!({"size": 2}))],
        expect![[r#"
            {"size":2}
            Apply two @- {"f:spec":{"f:size":{}}}
            Apply one @1 {"f:spec":{"f:size":{}}}
        "#]],
    );
}

#[test]
fn other_values_conflict_and_force_takes_over() {
    let one = json!({"size": 1, "items": [{"name": "a", "v": "1"}]});
    let two = json!({"size": 2, "items": [{"name": "a", "v": "2"}]});
    check_applies(
        &[("one", one.clone()), ("two", two.clone())],
        expect![[r#"
            Apply failed with 2 conflicts: conflicts with "one":
            - .spec.size
            - .spec.items[name="a"].v"#]],
    );
    check_applies(
        &[("one", one), ("two!", two)],
        expect![[r#"
            {"items":[{"name":"a","v":"2"}],"size":2}
            Apply one @1 {"f:spec":{"f:items":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}
            Apply two @2 {"f:spec":{"f:items":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:v":{}}},"f:size":{}}}
        "#]],
    );
}

#[test]
fn what_its_last_owner_drops_is_removed() {
    check_applies(
        &[
            (
                "one",
                json!({"size": 1, "labels": {"a": "1", "b": "1"}, "items": [{"name": "a"}, {"name": "b"}]}),
            ),
            (
                "two",
                json!({"labels": {"b": "1"}, "items": [{"name": "b", "v": "1"}]}),
            ),
            ("one", json!({"size": 1})),
        ],
        expect![[r#"
            {"items":[{"name":"b","v":"1"}],"labels":{"b":"1"},"size":1}
            Apply two @2 {"f:spec":{"f:items":{"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:v":{}}},"f:labels":{"f:b":{}}}}
            Apply one @3 {"f:spec":{"f:size":{}}}
        "#]],
    );
}

#[test]
fn entries_keep_the_applied_order_and_others_their_place() {
    let names = |list: &[&str]| -> Value {
        json!({"items": list.iter().map(|n| json!({"name": n})).collect::<Vec<_>>()})
    };
    for (live, applied, merged) in [
        (&["a", "b", "c"][..], &["c", "a"][..], &["b", "c", "a"][..]),
        (&["a", "b", "c"], &["d", "b"], &["a", "d", "b", "c"]),
        (&["a", "b"], &["c"], &["a", "b", "c"]),
        (
            &["a", "b", "c", "d"],
            &["d", "x", "b"],
            &["a", "c", "d", "x", "b"],
        ),
    ] {
        let (schemas, id) = widget();
        let wrap = |spec: Value| json!({"spec": spec});
        let mut object = wrap(names(live));
        mix(
            &mut object,
            &wrap(names(applied)),
            Kind::Object(Some(schemas.at(id))),
            0,
        );
        assert_eq!(object, wrap(names(merged)), "{live:?} {applied:?}");
    }
}

#[test]
fn faults_name_the_field_and_what_is_wrong() {
    let with = |spec: Value| json!({"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec});
    let mut all = String::new();
    for spec in [
        json!({"nope": 1}),
        json!({"size": "two"}),
        json!({"color": 1}),
        json!({"color": {"a": [1.5, "x"]}}),
        json!({"on": "yes"}),
        json!({"labels": [1]}),
        json!({"items": {"a": 1}}),
        json!({"items": [{"name": "c"}, {"name": "c"}]}),
        json!({"items": [{"v": "1"}]}),
        json!({"items": [null]}),
        json!({"tags": [["a"]]}),
        json!({"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}),
        json!({"size": "x", "color": true}),
        json!({"items": [{"name": "c", "zz": 1}]}),
    ] {
        let text = refused(with(spec));
        let text = text
            .strip_prefix("failed to create typed patch object (/w; x.io/v1, Kind=Widget): ")
            .unwrap();
        all.push_str(text);
        all.push('\n');
    }
    expect![[r#"
        .spec.nope: field not declared in schema
        .spec.size: expected numeric (int or float), got string
        .spec.color: expected string, got &value.valueUnstructured{Value:1}
        .spec.color: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{1.5, "x"}}}
        .spec.on: expected boolean, got &{yes}
        .spec.labels: expected map, got &{[1]}
        .spec.items: expected list, got &{map[a:1]}
        .spec.items: duplicate entries for key [name="c"]
        .spec.items: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)
        .spec.items: element 0: associative list with keys may not have a null element
        .spec.tags: element 0: not supported: associative list with lists as elements
        .spec.ports: duplicate entries for key [port=80,protocol="TCP"]
        errors:
          .spec.color: expected string, got &value.valueUnstructured{Value:true}
          .spec.size: expected numeric (int or float), got string
        .spec.items[name="c"].zz: field not declared in schema
    "#]]
    .assert_eq(&all);
    let core = refused(
        json!({"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "n"}, "spec": {"nope": 1}}),
    );
    assert!(core.contains("(n/w; /v1, Kind=Widget)"), "{core}");
}

// The answer to a conflicting apply over an object with these owners.
fn conflict(owners: Value, applied_spec: Value) -> Value {
    let (schemas, id) = workload();
    let live = json!({
        "apiVersion": "apps/v1", "kind": "Workload",
        "metadata": {"name": "w", "uid": "u", "managedFields": owners},
        "spec": {"replicas": 1, "template": {"containers": [{"name": "c", "image": "a"}]}},
    });
    let applied = json!({"apiVersion": "apps/v1", "kind": "Workload", "metadata": {"name": "w"}, "spec": applied_spec});
    let request = Apply {
        live: Some(&live),
        applied: &applied,
        manager: "third",
        force: false,
        api_version: "apps/v1",
        subresource: "",
        now: at(9),
        schema: Some(schemas.at(id)),
        reset: &[],
    };
    apply(&request).unwrap_err().to_api_error().to_status()
}

fn entry(manager: &str, operation: &str, subresource: &str, fields: Value) -> Value {
    json!({
        "manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "fieldsV1": fields, "subresource": subresource, "time": "2026-01-01T00:00:00Z",
    })
}

#[test]
fn conflicts_are_answered_as_the_server_does() {
    let replicas = json!({"f:spec": {"f:replicas": {}}});
    let answer = conflict(
        json!([entry("me", "Apply", "", replicas.clone())]),
        json!({"replicas": 7}),
    );
    assert_eq!(
        answer,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 409,
            "message": "Apply failed with 1 conflict: conflict with \"me\": .spec.replicas",
            "reason": "Conflict",
            "details": {"causes": [{
                "reason": "FieldManagerConflict", "message": "conflict with \"me\"", "field": ".spec.replicas",
            }]},
        })
    );
    let both = json!({"f:spec": {"f:replicas": {}, "f:template": {"f:containers": {"k:{\"name\":\"c\"}": {"f:image": {}}}}}});
    let answer = conflict(
        json!([
            entry("me", "Update", "", both),
            entry("scaler", "Update", "scale", replicas)
        ]),
        json!({"replicas": 7, "template": {"containers": [{"name": "c", "image": "b"}]}}),
    );
    assert_eq!(
        answer["message"],
        "Apply failed with 3 conflicts: conflicts with \"me\" using apps/v1:\n- .spec.replicas\n\
         - .spec.template.containers[name=\"c\"].image\n\
         conflicts with \"scaler\" with subresource \"scale\" using apps/v1:\n- .spec.replicas"
    );
    assert_eq!(
        answer["details"]["causes"][2]["message"],
        "conflict with \"scaler\" with subresource \"scale\" using apps/v1"
    );
}

#[test]
fn an_untracked_object_belongs_to_whoever_was_before() {
    let answer = conflict(Value::Null, json!({"replicas": 7}));
    assert_eq!(
        answer["message"],
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using apps/v1: .spec.replicas"
    );
}

#[test]
fn kubectl_takes_over_what_client_side_apply_set() {
    let (schemas, id) = workload();
    let last = r#"{"apiVersion":"apps/v1","kind":"Workload","metadata":{"name":"w"},"spec":{"replicas":1}}"#;
    let owned = json!({"f:spec": {"f:replicas": {}}, "f:metadata": {"f:labels": {"f:x": {}}}});
    let live = json!({
        "apiVersion": "apps/v1", "kind": "Workload",
        "metadata": {
            "name": "w", "uid": "u", "labels": {"x": "1"}, "annotations": {LAST_APPLIED: last},
            "managedFields": [entry("kubectl-client-side-apply", "Update", "", owned)],
        },
        "spec": {"replicas": 1},
    });
    let mut request = Apply {
        live: Some(&live),
        applied: &json!({"apiVersion": "apps/v1", "kind": "Workload", "metadata": {"name": "w"}, "spec": {"replicas": 3}}),
        manager: "kubectl",
        force: false,
        api_version: "apps/v1",
        subresource: "",
        now: at(9),
        schema: Some(schemas.at(id)),
        reset: &[],
    };
    let done = apply(&request).unwrap();
    assert_eq!(done.object["spec"]["replicas"], 3);
    assert_eq!(
        meta::annotation(&done.object, LAST_APPLIED),
        Some(
            "{\"apiVersion\":\"apps/v1\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\"},\"spec\":{\"replicas\":3}}\n"
        )
    );
    let relabelled = json!({
        "apiVersion": "apps/v1", "kind": "Workload",
        "metadata": {"name": "w", "labels": {"x": "2"}}, "spec": {"replicas": 3},
    });
    request.applied = &relabelled;
    assert_eq!(
        apply(&request).unwrap_err().to_string(),
        "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using apps/v1: .metadata.labels.x"
    );
}

#[test]
fn without_a_schema_lists_are_one_value_and_maps_are_not() {
    let applied = json!({"apiVersion": "x.io/v1", "kind": "Free", "metadata": {"name": "w", "labels": {"a": "1"}},
        "spec": {"list": [{"name": "a"}], "map": {"k": {"l": 1}}, "empty": {}}});
    let request = Apply {
        live: None,
        applied: &applied,
        manager: "m",
        force: false,
        api_version: "x.io/v1",
        subresource: "",
        now: at(1),
        schema: None,
        reset: &[],
    };
    expect![[r#"
        Apply m @1 {"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{".":{},"f:empty":{},"f:list":{},"f:map":{".":{},"f:k":{".":{},"f:l":{}}}}}
    "#]]
    .assert_eq(&owners(&apply(&request).unwrap().object));
}

#[test]
fn reset_fields_are_owned_by_nobody() {
    let (schemas, id) = widget();
    let applied = json!({"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}, "status": {"phase": "x"}});
    let mut request = Apply {
        live: None,
        applied: &applied,
        manager: "m",
        force: false,
        api_version: "x.io/v1",
        subresource: "",
        now: at(1),
        schema: Some(schemas.at(id)),
        reset: &[&["status"]],
    };
    let done = apply(&request).unwrap();
    assert_eq!(
        owners(&done.object),
        "Apply m @1 {\"f:spec\":{\"f:size\":{}}}\n"
    );
    request.subresource = "status";
    request.reset = &[&["spec"], &["metadata"]];
    let done = apply(&request).unwrap();
    assert_eq!(
        owners(&done.object),
        "Apply m/status @1 {\"f:status\":{\"f:phase\":{}}}\n"
    );
}
