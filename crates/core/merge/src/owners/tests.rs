use super::*;
use crate::testing::{at, owners, widget, workload};
use expect_test::{Expect, expect};
use model::json;

fn check_create(kind: (schema::Schemas, schema::NodeId), object: Value, expected: Expect) {
    let (schemas, id) = kind;
    let done = track_update(Update {
        live: None,
        new: object,
        manager: "me",
        api_version: "x.io/v1",
        subresource: "",
        now: at(1),
        schema: Some(schemas.at(id)),
        reset: &[&["status"]],
    });
    expected.assert_eq(&owners(&done));
}

// Writes versions of a widget's spec one after the other, each by its manager.
struct Story {
    schema: (schema::Schemas, schema::NodeId),
    live: Option<Value>,
    now: i64,
}

impl Story {
    fn new() -> Self {
        Self {
            schema: widget(),
            live: None,
            now: 0,
        }
    }

    fn object(&self, spec: Value) -> Value {
        let mut object = json!({
            "apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "u"}, "spec": spec,
        });
        put_managed(
            &mut object,
            self.live.as_ref().and_then(managed_of).cloned(),
        );
        object
    }

    fn write_whole(&mut self, manager: &str, new: Value) -> &mut Self {
        self.now += 1;
        let done = track_update(Update {
            live: self.live.as_ref(),
            new,
            manager,
            api_version: "x.io/v1",
            subresource: "",
            now: at(self.now),
            schema: Some(self.schema.0.at(self.schema.1)),
            reset: &[],
        });
        self.live = Some(done);
        self
    }

    fn write(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.write_whole(manager, self.object(spec))
    }

    fn check(&self, expected: Expect) {
        expected.assert_eq(&owners(self.live.as_ref().unwrap()));
    }
}

#[test]
fn the_creator_of_a_custom_resource_owns_all_of_it() {
    check_create(
        widget(),
        json!({
            "apiVersion": "x.io/v1", "kind": "Widget",
            "metadata": {"name": "w", "namespace": "n", "labels": {"a": "1"}, "annotations": {}, "finalizers": ["f/x"],
                "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]},
            "spec": {"size": 1, "labels": {"l": "1"}, "items": [{"name": "a", "sub": {"a": "1"}}], "tags": ["t"],
                "whole": {"k": "1"}, "obj": {}, "free": {"x": [1], "y": {"z": null}}},
            "status": {"phase": "dropped"},
        }),
        expect![[r#"
            Update me @1 {"f:metadata":{"f:annotations":{},"f:finalizers":{".":{},"v:\"f/x\"":{}},"f:labels":{".":{},"f:a":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"u\"}":{}}},"f:spec":{".":{},"f:free":{".":{},"f:x":{},"f:y":{".":{},"f:z":{}}},"f:items":{".":{},"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:sub":{".":{},"f:a":{}}}},"f:labels":{".":{},"f:l":{}},"f:obj":{},"f:size":{},"f:tags":{".":{},"v:\"t\"":{}},"f:whole":{}}}
        "#]],
    );
}

#[test]
fn plain_structures_of_a_built_in_kind_are_there_before_anybody_writes() {
    check_create(
        workload(),
        json!({
            "apiVersion": "apps/v1", "kind": "Workload", "metadata": {"name": "w", "labels": {"a": "1"}},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "1"}},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
                "template": {"containers": [{"name": "c", "image": "i", "resources": {}, "ports": [{"containerPort": 80, "protocol": "TCP"}]}],
                    "nodeSelector": {"x": "y"}, "raw": {"any": {"thing": 1}}, "volumes": null}},
            "status": {},
        }),
        expect![[r#"
            Update me @1 {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{}},"f:type":{}},"f:template":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{}}},"f:nodeSelector":{".":{},"f:x":{}},"f:raw":{},"f:volumes":{}}}}
        "#]],
    );
}

#[test]
fn what_a_write_changes_moves_to_the_writer() {
    let mut story = Story::new();
    story
        .write("one", json!({"size": 1, "color": "a", "items": [{"name": "x", "v": "1"}]}))
        .write("two", json!({"size": 2, "color": "a", "items": [{"name": "x", "v": "1"}, {"name": "y"}]}))
        .check(expect![[r#"
            Update one @1 {"f:spec":{".":{},"f:color":{},"f:items":{".":{},"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:v":{}}}}}
            Update two @2 {"f:spec":{"f:items":{"k:{\"name\":\"y\"}":{".":{},"f:name":{}}},"f:size":{}}}
        "#]]);
    story
        .write("one", json!({"color": "b", "items": [{"name": "y"}]}))
        .check(expect![[r#"
            Update two @2 {"f:spec":{"f:items":{"k:{\"name\":\"y\"}":{".":{},"f:name":{}}}}}
            Update one @3 {"f:spec":{".":{},"f:color":{},"f:items":{}}}
        "#]]);
}

#[test]
fn only_removing_moves_no_time() {
    let mut story = Story::new();
    story
        .write("one", json!({"size": 1, "color": "a"}))
        .write("two", json!({"size": 1}))
        .check(expect![[r#"
            Update one @1 {"f:spec":{".":{},"f:size":{}}}
        "#]]);
}

#[test]
fn a_write_of_the_same_keeps_everything() {
    let mut story = Story::new();
    story.write("one", json!({"size": 1}));
    let before = story.live.clone();
    story.write("two", json!({"size": 1}));
    assert_eq!(story.live, before);
    // Clients that drop what they do not know change nothing either.
    let bare = json!({"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "u"}, "spec": {"size": 1}});
    story.write_whole("two", bare);
    assert_eq!(story.live, before);
}

#[test]
fn entries_can_be_cleared_and_then_nothing_is_tracked() {
    for reset in [json!([]), json!([{}])] {
        let mut story = Story::new();
        story.write("one", json!({"size": 1}));
        let mut object = story.object(json!({"size": 1}));
        put_managed(&mut object, Some(reset));
        story.write_whole("two", object).check(expect![""]);
        story.write("three", json!({"size": 5})).check(expect![""]);
    }
}

#[test]
fn entries_that_a_client_sends_replace_the_stored_ones() {
    let mut story = Story::new();
    story.write(
        "one",
        json!({"size": 1, "ports": [{"port": 80, "protocol": "TCP"}]}),
    );
    let mut object = story.object(json!({"size": 1, "ports": [{"port": 80, "protocol": "TCP"}]}));
    let sent = json!([{
        "manager": "new", "operation": "Apply", "apiVersion": "x.io/v1", "fieldsType": "FieldsV1",
        "time": "1970-01-01T00:00:02Z",
        "fieldsV1": {"f:spec": {"f:size": {}, "f:ports": {"k:{\"protocol\":\"TCP\",\"port\":80}": {}}}},
    }]);
    put_managed(&mut object, Some(sent));
    story.write_whole("two", object).check(expect![[r#"
        Apply new @2 {"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}},"f:size":{}}}
    "#]]);
    // What cannot be read is as if not sent.
    let mut object = story.object(json!({"size": 1, "ports": [{"port": 80, "protocol": "TCP"}]}));
    put_managed(&mut object, Some(json!([{"manager": "broken"}])));
    story.write_whole("two", object).check(expect![[r#"
        Apply new @2 {"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}},"f:size":{}}}
    "#]]);
}

#[test]
fn many_writers_become_ancient() {
    let mut story = Story::new();
    let mut labels = Map::new();
    for i in 0..14 {
        labels.insert(format!("l{i:02}"), json!("1"));
        story.write(&format!("m{i:02}"), json!({"labels": labels.clone()}));
    }
    let text = owners(story.live.as_ref().unwrap());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 10);
    assert_eq!(
        lines[0],
        r#"Update ancient-changes @5 {"f:spec":{".":{},"f:labels":{".":{},"f:l00":{},"f:l01":{},"f:l02":{},"f:l03":{},"f:l04":{}}}}"#
    );
    assert_eq!(
        lines[9],
        r#"Update m13 @14 {"f:spec":{"f:labels":{"f:l13":{}}}}"#
    );
}

#[test]
fn a_subresource_has_an_entry_of_its_own_and_cannot_replace_entries() {
    let (schemas, id) = widget();
    let mut story = Story::new();
    story.write("one", json!({"size": 1}));
    let live = story.live.unwrap();
    let mut new = live.clone();
    new["status"] = json!({"phase": "Ready"});
    put_managed(&mut new, Some(json!([])));
    let done = track_update(Update {
        live: Some(&live),
        new,
        manager: "",
        api_version: "x.io/v1",
        subresource: "status",
        now: at(7),
        schema: Some(schemas.at(id)),
        reset: &[&["metadata"], &["spec"]],
    });
    expect![[r#"
        Update one @1 {"f:spec":{".":{},"f:size":{}}}
        Update unknown/status @7 {"f:status":{".":{},"f:phase":{}}}
    "#]]
    .assert_eq(&owners(&done));
}

#[test]
fn a_schema_that_became_atomic_gathers_what_was_granular() {
    let mut story = Story::new();
    story.write("one", json!({"whole": {"k": "1"}}));
    let mut live = story.live.take().unwrap();
    live["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:spec": {"f:whole": {"f:k": {}}}});
    story.live = Some(live);
    story
        .write("two", json!({"whole": {"k": "2"}}))
        .check(expect![[r#"
            Update two @2 {"f:spec":{"f:whole":{}}}
        "#]]);
}

#[test]
fn times_are_kept_when_only_they_moved() {
    let entry = |time: &str| json!({"manager": "m", "time": time});
    let live = json!({"metadata": {"name": "a", "managedFields": [entry("1")]}, "spec": {"x": 1}});
    let mut new =
        json!({"metadata": {"name": "a", "managedFields": [entry("2")]}, "spec": {"x": 1}});
    keep_timestamps(&live, &mut new);
    assert_eq!(new, live);
    let mut changed =
        json!({"metadata": {"name": "a", "managedFields": [entry("2")]}, "spec": {"x": 2}});
    let before = changed.clone();
    keep_timestamps(&live, &mut changed);
    assert_eq!(changed, before);
}
