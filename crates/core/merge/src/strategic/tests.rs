use super::*;
use crate::testing::workload;
use model::json;

fn original() -> Value {
    let env: Vec<_> = ["A", "B", "C"]
        .iter()
        .map(|n| json!({"name": n, "value": "1"}))
        .collect();
    json!({
        "metadata": {"name": "w", "finalizers": ["a", "b", "c"], "labels": {"x": "1", "y": "2"}},
        "spec": {
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "pick": {"type": "old", "rollingUpdate": {}},
            "template": {
                "args": ["1", "2"],
                "containers": [
                    {"name": "c", "image": "i", "env": env, "ports": [{"containerPort": 80}, {"containerPort": 81}]},
                    {"name": "d", "image": "i"},
                    {"name": "e", "image": "i"},
                ],
                "volumes": [{"name": "v1", "emptyDir": {}}, {"name": "v2", "secret": "s"}],
                "nodeSelector": {"a": "b"},
            },
        },
    })
}

fn patched(patch: Value) -> Result<Value, PatchError> {
    let (schemas, id) = workload();
    strategic(&original(), &patch, schemas.at(id))
}

// Patches the template and gives one part of it.
fn template(part: &str, patch: Value) -> Value {
    patched(json!({"spec": {"template": patch}})).unwrap()["spec"]["template"][part].take()
}

fn names(list: &Value) -> String {
    let names = list.as_array().unwrap().iter();
    names.map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn lists_with_keys_are_merged_entry_by_entry() {
    let list = template(
        "containers",
        json!({"containers": [{"name": "d", "image": "j"}, {"name": "f", "image": "k"}]}),
    );
    assert_eq!(names(&list), "cdfe");
    assert_eq!(list[1], json!({"name": "d", "image": "j"}));
    assert_eq!(list[0]["image"], "i");
    let env = template(
        "containers",
        json!({"containers": [{"name": "c", "env": [{"name": "D", "value": "4"}, {"name": "B", "value": null}]}]}),
    );
    assert_eq!(names(&env[0]["env"]), "DABC");
    assert_eq!(env[0]["env"][2], json!({"name": "B"}));
}

#[test]
fn lists_without_a_strategy_and_nulls() {
    assert_eq!(template("args", json!({"args": ["3"]})), json!(["3"]));
    assert_eq!(template("args", json!({"args": null})), Value::Null);
    assert_eq!(
        template(
            "nodeSelector",
            json!({"nodeSelector": {"a": null, "c": "d"}})
        ),
        json!({"c": "d"})
    );
}

#[test]
fn directives_delete_replace_and_retain() {
    let delete = json!({"containers": [{"name": "d", "$patch": "delete"}, {"name": "none", "$patch": "delete"}]});
    assert_eq!(names(&template("containers", delete)), "ce");
    let replace = json!({"containers": [{"name": "z"}, {"$patch": "replace"}]});
    assert_eq!(template("containers", replace), json!([{"name": "z"}]));
    let whole = json!({"nodeSelector": {"$patch": "replace", "z": "1"}});
    assert_eq!(template("nodeSelector", whole), json!({"z": "1"}));
    let gone = json!({"nodeSelector": {"$patch": "delete"}});
    assert_eq!(template("nodeSelector", gone), json!({}));
    let retain =
        json!({"volumes": [{"name": "v1", "secret": "t", "$retainKeys": ["name", "secret"]}]});
    assert_eq!(
        template("volumes", retain),
        json!([{"name": "v1", "secret": "t"}, {"name": "v2", "secret": "s"}])
    );
    let strategy = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    assert_eq!(
        patched(strategy).unwrap()["spec"]["strategy"],
        json!({"type": "Recreate"})
    );
    let pick = json!({"spec": {"pick": {"type": "new"}}});
    assert_eq!(
        patched(pick).unwrap()["spec"]["pick"],
        json!({"type": "new"})
    );
}

#[test]
fn lists_of_scalars_are_sets() {
    let finalizers = |patch: Value| {
        patched(json!({"metadata": patch})).unwrap()["metadata"]["finalizers"].take()
    };
    assert_eq!(
        finalizers(json!({"finalizers": ["d", "b"]})),
        json!(["d", "a", "b", "c"])
    );
    assert_eq!(
        finalizers(json!({"$deleteFromPrimitiveList/finalizers": ["a", "c"]})),
        json!(["b"])
    );
    assert_eq!(
        finalizers(json!({"$setElementOrder/finalizers": ["c", "a"]})),
        json!(["b", "c", "a"])
    );
}

#[test]
fn an_order_directive_sorts_what_it_names() {
    let order = |names: &str| -> Value {
        names
            .chars()
            .map(|n| json!({"name": n.to_string()}))
            .collect()
    };
    let list = |patch: Value| names(&template("containers", patch));
    assert_eq!(
        list(json!({"$setElementOrder/containers": order("edc")})),
        "edc"
    );
    let add = json!({"$setElementOrder/containers": order("fec"), "containers": [{"name": "f"}]});
    assert_eq!(list(add), "fdec");
    // Entries that are added take the places of those that are deleted.
    let env = json!({"containers": [{"name": "c", "$setElementOrder/env": order("EBCD"),
        "env": [{"name": "E"}, {"name": "B", "$patch": "delete"}]}]});
    assert_eq!(names(&template("containers", env)[0]["env"]), "AEC");
}

#[test]
fn faults_are_answered_as_the_server_does() {
    for (patch, code, message) in [
        (
            json!([]),
            400,
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            json!({"metadata": {"$setElementOrder": []}}),
            400,
            "invalid patch format of setElementOrder list",
        ),
        (
            json!({"metadata": {"$deleteFromPrimitiveList": []}}),
            400,
            "invalid patch format of primitive list",
        ),
        (
            json!({"spec": {"strategy": {"$retainKeys": "x"}}}),
            400,
            "invalid patch format of retainKeys",
        ),
        (
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "other": 1}}}),
            400,
            "invalid patch format of retainKeys",
        ),
        (
            json!({"metadata": {"labels": {"$patch": "merge"}}}),
            500,
            "unknown patch type: merge in map: map[$patch:merge]",
        ),
        (
            json!({"spec": {"template": {"containers": [{"image": "x", "args": [1]}]}}}),
            500,
            "map: map[args:[1] image:x] does not contain declared merge key: name",
        ),
        (
            json!({"spec": {"template": {"containers": [{"name": "c", "$patch": "merge"}]}}}),
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            json!({"metadata": {"$setElementOrder/finalizers": ["a"], "finalizers": ["d"]}}),
            500,
            "The order in patch list:\n[d]\n doesn't match $setElementOrder list:\n[a]\n",
        ),
        (
            json!({"metadata": {"finalizers": [1]}}),
            500,
            "list element types are not identical: [[a b c] [1]]",
        ),
        (
            json!({"metadata": {"finalizers": [["x"]], "$patch": "x"}}),
            500,
            "unknown patch type: x in map: map[$patch:x finalizers:[[x]]]",
        ),
    ] {
        let error = patched(patch.clone()).unwrap_err().to_api_error();
        assert_eq!(
            (error.code, error.message.as_str()),
            (code, message),
            "{patch}"
        );
    }
}

#[test]
fn new_parts_come_without_nulls_and_directives() {
    let patch = json!({"metadata": {"annotations": {"a": "1", "b": null}, "more": [{"x": null, "$patch": "delete"}, {"y": 1}]}});
    let done = patched(patch).unwrap();
    assert_eq!(done["metadata"]["annotations"], json!({"a": "1"}));
    assert_eq!(done["metadata"]["more"], json!([{"y": 1}]));
}
