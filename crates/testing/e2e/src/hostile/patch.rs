//! Patches that explode, do not parse or make no sense.

use super::{Case, DEPTH, JSON_PATCH, MAP, MERGE_PATCH, STRATEGIC, WIDGET, deep, repeat};

fn patch(name: &str, path: &str, media: &str, body: impl Into<Vec<u8>>) -> Case {
    Case::new(name, "PATCH", path).body(media, body)
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = json_patches();
    all.extend(merges());
    all.extend(strategic());
    all
}

fn json_patches() -> Vec<Case> {
    let json = |name: &str, body: String| patch(name, MAP, JSON_PATCH, body);
    let operations = |count: usize| {
        let one = r#"{"op":"test","path":"/data/a","value":"1"},"#;
        format!("[{}]", repeat(one, count).trim_end_matches(','))
    };
    let adds = |count: usize| {
        let all: Vec<String> = (0..count)
            .map(|n| format!(r#"{{"op":"add","path":"/metadata/annotations/a{n}","value":"v"}}"#))
            .collect();
        format!(
            r#"[{{"op":"add","path":"/metadata/annotations","value":{{}}}},{}]"#,
            all.join(",")
        )
    };
    vec![
        json("json-patch-object", "{}".into()),
        json("json-patch-null", "null".into()),
        json("json-patch-cut", "[{\"op\":".into()),
        json("json-patch-numbers", "[1,2]".into()),
        json("json-patch-no-op", r#"[{"path":"/data/a"}]"#.into()),
        json(
            "json-patch-bad-op",
            r#"[{"op":"explode","path":"/data/a"}]"#.into(),
        ),
        json("json-patch-no-path", r#"[{"op":"remove"}]"#.into()),
        json(
            "json-patch-bad-pointer",
            r#"[{"op":"add","path":"data","value":1}]"#.into(),
        ),
        json(
            "json-patch-bad-tilde",
            r#"[{"op":"add","path":"/data/~2","value":"x"}]"#.into(),
        ),
        json(
            "json-patch-missing",
            r#"[{"op":"remove","path":"/data/nobody"}]"#.into(),
        ),
        json(
            "json-patch-test-fails",
            r#"[{"op":"test","path":"/data/a","value":"9"}]"#.into(),
        ),
        json(
            "json-patch-root",
            r#"[{"op":"replace","path":"","value":[]}]"#.into(),
        ),
        json(
            "json-patch-remove-root",
            r#"[{"op":"remove","path":""}]"#.into(),
        ),
        json(
            "json-patch-huge-index",
            r#"[{"op":"add","path":"/metadata/managedFields/99999999999999999999","value":{}}]"#
                .into(),
        ),
        json(
            "json-patch-negative-index",
            r#"[{"op":"add","path":"/metadata/managedFields/-5","value":{}}]"#.into(),
        ),
        json(
            "json-patch-move-into-self",
            r#"[{"op":"move","from":"/data","path":"/data/x"}]"#.into(),
        ),
        json(
            "json-patch-wrong-type",
            r#"[{"op":"replace","path":"/data","value":[1]}]"#.into(),
        ),
        json(
            "json-patch-rename",
            r#"[{"op":"replace","path":"/metadata/name","value":"other"}]"#.into(),
        ),
        json("json-patch-10000", operations(10_000)),
        json("json-patch-10001", operations(10_001)),
        json("json-patch-10000-adds", adds(9_999)),
        json("json-patch-copy-bomb", copy_bomb(60)),
        json("json-patch-copy-many", copies(5_000)),
        json(
            "json-patch-deep",
            format!(
                r#"[{{"op":"add","path":"/data","value":{}}}]"#,
                deep("[", "", "]", DEPTH)
            ),
        ),
        json(
            "json-patch-deep-path",
            format!(
                r#"[{{"op":"add","path":"{}","value":1}}]"#,
                repeat("/a", DEPTH)
            ),
        ),
        patch(
            "json-patch-custom-bomb",
            WIDGET,
            JSON_PATCH,
            custom_bomb(40),
        ),
        patch(
            "json-patch-custom-deep",
            WIDGET,
            JSON_PATCH,
            custom_stairs(9_000),
        ),
        patch(
            "json-patch-custom-insert",
            WIDGET,
            JSON_PATCH,
            inserts(9_000),
        ),
        patch(
            "json-patch-nobody",
            "/api/v1/namespaces/default/configmaps/nobody",
            JSON_PATCH,
            "[]",
        ),
    ]
}

// Each operation doubles the annotations' size: the whole copied into a part of itself.
fn copy_bomb(times: usize) -> String {
    let steps: Vec<String> = (0..times)
        .map(|n| format!(r#"{{"op":"copy","from":"/data","path":"/data/x{n}"}}"#))
        .collect();
    format!("[{}]", steps.join(","))
}

fn custom_bomb(times: usize) -> String {
    let steps: Vec<String> = (0..times)
        .map(|n| format!(r#"{{"op":"copy","from":"/spec/any","path":"/spec/any/x{n}"}}"#))
        .collect();
    format!(
        r#"[{{"op":"add","path":"/spec/any","value":{{"a":1}}}},{}]"#,
        steps.join(",")
    )
}

// Copies of one long string: linear in the number of operations, but long.
fn copies(count: usize) -> String {
    let steps: Vec<String> = (0..count)
        .map(|n| format!(r#"{{"op":"copy","from":"/data/seed","path":"/data/c{n}"}}"#))
        .collect();
    format!(
        r#"[{{"op":"add","path":"/data/seed","value":"{}"}},{}]"#,
        repeat("s", 100_000),
        steps.join(",")
    )
}

// Nesting built from the inside by moves, past what any parser saw.
fn custom_stairs(count: usize) -> String {
    let step = r#"{"op":"move","from":"/spec/any","path":"/spec/other"},{"op":"add","path":"/spec/any","value":{}},{"op":"move","from":"/spec/other","path":"/spec/any/a"},"#;
    format!("[{}]", repeat(step, count / 3).trim_end_matches(','))
}

// Insertions at the front of a growing list.
fn inserts(count: usize) -> String {
    let step = r#"{"op":"add","path":"/spec/any/list/0","value":1},"#;
    format!(
        r#"[{{"op":"add","path":"/spec/any","value":{{"list":[]}}}},{}]"#,
        repeat(step, count).trim_end_matches(',')
    )
}

fn merges() -> Vec<Case> {
    let merge = |name: &str, body: String| patch(name, MAP, MERGE_PATCH, body);
    vec![
        merge("merge-array", "[]".into()),
        merge("merge-null", "null".into()),
        merge("merge-text", "\"x\"".into()),
        merge("merge-cut", "{\"a\"".into()),
        merge("merge-empty-body", String::new()),
        merge(
            "merge-deep",
            format!(r#"{{"data":{}}}"#, deep("{\"a\":", "1", "}", DEPTH)),
        ),
        merge("merge-deep-nulls", deep("{\"a\":", "null", "}", DEPTH)),
        merge("merge-wrong-type", r#"{"data":"x"}"#.into()),
        merge("merge-metadata-null", r#"{"metadata":null}"#.into()),
        merge("merge-kind", r#"{"kind":"Secret"}"#.into()),
        merge("merge-uid", r#"{"metadata":{"uid":"x"}}"#.into()),
        merge(
            "merge-old-version",
            r#"{"metadata":{"resourceVersion":"1"}}"#.into(),
        ),
        patch(
            "merge-custom-deep",
            WIDGET,
            MERGE_PATCH,
            format!(
                r#"{{"spec":{{"any":{}}}}}"#,
                deep("{\"a\":", "1", "}", DEPTH)
            ),
        ),
        patch(
            "merge-custom-type",
            WIDGET,
            MERGE_PATCH,
            r#"{"spec":{"count":"x"}}"#,
        ),
        patch(
            "merge-custom-metadata-null",
            WIDGET,
            MERGE_PATCH,
            r#"{"metadata":null}"#,
        ),
        patch(
            "merge-force",
            &format!("{MAP}?force=true"),
            MERGE_PATCH,
            "{}",
        ),
    ]
}

fn strategic() -> Vec<Case> {
    let map = |name: &str, body: &str| patch(name, MAP, STRATEGIC, body);
    let kube = "/api/v1/namespaces/default/services/kubernetes";
    let service =
        |name: &str, body: &str| patch(name, &format!("{kube}?dryRun=All"), STRATEGIC, body);
    vec![
        map("strategic-array", "[]"),
        map(
            "strategic-deep",
            &format!(r#"{{"data":{}}}"#, deep("{\"a\":", "1", "}", DEPTH)),
        ),
        map("strategic-bad-directive", r#"{"$patch":"nonsense"}"#),
        map("strategic-directive-number", r#"{"$patch":5}"#),
        map(
            "strategic-nested-directive",
            r#"{"data":{"$patch":{"$patch":"delete"}}}"#,
        ),
        map("strategic-retain-number", r#"{"$retainKeys":1}"#),
        map(
            "strategic-retain-unknown",
            r#"{"data":{"$retainKeys":["b"],"a":"2"}}"#,
        ),
        map(
            "strategic-delete-primitive-type",
            r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":"x"}}"#,
        ),
        map(
            "strategic-delete-primitive-unknown",
            r#"{"$deleteFromPrimitiveList/nope":["x"]}"#,
        ),
        map(
            "strategic-order-alone",
            r#"{"metadata":{"$setElementOrder/finalizers":["a","b"]}}"#,
        ),
        map(
            "strategic-order-mismatch",
            r#"{"metadata":{"$setElementOrder/finalizers":["a"],"finalizers":["x.y/b"]}}"#,
        ),
        map(
            "strategic-many-directives",
            &format!(
                "{{{}}}",
                (0..5_000)
                    .map(|n| format!(r#""$setElementOrder/f{n}":[]"#))
                    .collect::<Vec<_>>()
                    .join(",")
            ),
        ),
        service("strategic-list-of-text", r#"{"spec":{"ports":["x"]}}"#),
        service(
            "strategic-no-merge-key",
            r#"{"spec":{"ports":[{"name":"x"}]}}"#,
        ),
        service(
            "strategic-merge-key-type",
            r#"{"spec":{"ports":[{"port":"https"}]}}"#,
        ),
        service(
            "strategic-delete-without-key",
            r#"{"spec":{"ports":[{"$patch":"delete"}]}}"#,
        ),
        service(
            "strategic-replace-mixed",
            r#"{"spec":{"ports":[{"$patch":"replace"},{"$patch":"delete","port":443}]}}"#,
        ),
        service(
            "strategic-bad-list-directive",
            r#"{"spec":{"ports":[{"$patch":"bogus","port":443}]}}"#,
        ),
        service("strategic-map-for-list", r#"{"spec":{"ports":{"port":1}}}"#),
        service(
            "strategic-order-wrong",
            r#"{"spec":{"$setElementOrder/ports":[{"nope":1}],"ports":[{"port":443}]}}"#,
        ),
    ]
}
