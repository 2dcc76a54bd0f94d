//! Query parameters that are wrong, huge or broken.

use super::{Case, MAP, MAPS, PODS, get, numbered, repeat};
use base64::Engine as _;

pub(super) fn cases() -> Vec<Case> {
    let list = |name: &str, query: &str| get(name, &format!("{MAPS}?{query}"));
    // Watches with a fault are answered at once; the others end by themselves.
    let watch = |name: &str, query: &str| get(name, &format!("{MAPS}?watch=1&{query}"));
    let token = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let many = numbered(2_000, |n| format!("l{n}%3Dv,"));
    let set = numbered(8_000, |n| format!("v{n},"));
    let mut all = vec![
        list("selector-open-set", "labelSelector=a+in+("),
        list("selector-equals", "labelSelector=%3D"),
        list("selector-bangs", "labelSelector=!!a"),
        list("selector-double", "labelSelector=a%3Db%3Dc"),
        list("selector-comma", "labelSelector=,,,"),
        list("selector-bad-value", "labelSelector=a%3D%24%24"),
        list("selector-bad-key", "labelSelector=-a-%3Db"),
        list("selector-nul", "labelSelector=a%00b%3Dc"),
        list("selector-greater-text", "labelSelector=a%3Ex"),
        list(
            "selector-long-key",
            &format!("labelSelector={}%3Db", repeat("k", 10_000)),
        ),
        list(
            "selector-many",
            &format!("labelSelector={}", many.trim_end_matches(',')),
        ),
        list(
            "selector-big-set",
            &format!("labelSelector=a+in+({})", set.trim_end_matches(',')),
        ),
        list(
            "selector-parentheses",
            &format!("labelSelector=a+in+{}", repeat("(", 20_000)),
        ),
        list("field-unknown", "fieldSelector=spec.nope%3D1"),
        list("field-no-operator", "fieldSelector=metadata.name"),
        list("field-bad-escape", "fieldSelector=metadata.name%3Da%5Cq"),
        list(
            "field-many",
            &format!(
                "fieldSelector={}",
                repeat("metadata.name%3Dx,", 2_000).trim_end_matches(',')
            ),
        ),
        list("limit-text", "limit=abc"),
        list("limit-negative", "limit=-1"),
        list("limit-max", "limit=9223372036854775807"),
        list("limit-too-big", "limit=99999999999999999999"),
        list("limit-fraction", "limit=1.5"),
        list("limit-empty", "limit="),
        list("continue-text", "continue=xyz"),
        list("continue-bad-base64", "continue=%21%21%21"),
        list(
            "continue-no-json",
            &format!("continue={}", token("rubbish")),
        ),
        list(
            "continue-empty-object",
            &format!("continue={}", token("{}")),
        ),
        list(
            "continue-no-start",
            &format!("continue={}", token(r#"{"v":"meta.k8s.io/v1","rv":1}"#)),
        ),
        list(
            "continue-negative",
            &format!(
                "continue={}",
                token(r#"{"v":"meta.k8s.io/v1","rv":-5,"start":"a"}"#)
            ),
        ),
        list(
            "continue-no-version",
            &format!(
                "continue={}",
                token(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#)
            ),
        ),
        list(
            "continue-future",
            &format!(
                "continue={}",
                token(r#"{"v":"meta.k8s.io/v1","rv":999999999,"start":"a"}"#)
            ),
        ),
        list(
            "continue-climbs",
            &format!(
                "continue={}",
                token(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../../secrets/x"}"#)
            ),
        ),
        list(
            "continue-other-format",
            &format!("continue={}", token(r#"{"v":"v9","rv":1,"start":"a"}"#)),
        ),
        list(
            "continue-deep",
            &format!("continue={}", token(&repeat("[", 30_000))),
        ),
        list(
            "continue-and-version",
            &format!(
                "resourceVersion=5&continue={}",
                token(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a"}"#)
            ),
        ),
        list("version-text", "resourceVersion=abc"),
        list("version-negative", "resourceVersion=-1"),
        list("version-too-big", "resourceVersion=99999999999999999999"),
        list("version-match-alone", "resourceVersionMatch=Exact"),
        list(
            "version-match-bogus",
            "resourceVersion=1&resourceVersionMatch=Bogus",
        ),
        list(
            "version-exact-zero",
            "resourceVersion=0&resourceVersionMatch=Exact",
        ),
        list("initial-events-list", "sendInitialEvents=true"),
        list("timeout-text", "timeoutSeconds=abc"),
        list("pretty-nonsense", "pretty=%00"),
        list("percent-cut", "labelSelector=%"),
        list("percent-bad", "labelSelector=%zz&limit=%"),
        list("semicolons", "a;b;c=1;limit=1"),
        list("many-parameters", &repeat("a=b&", 10_000)),
        list("many-limits", &repeat("limit=1&", 5_000)),
        list("long-value", &format!("x={}", repeat("y", 60_000))),
        watch("watch-version-text", "resourceVersion=abc"),
        watch("watch-initial-alone", "sendInitialEvents=true"),
        watch(
            "watch-initial-exact",
            "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
        ),
        watch(
            "watch-match-alone",
            "resourceVersionMatch=NotOlderThan&resourceVersion=1",
        ),
        watch("watch-timeout-text", "timeoutSeconds=abc"),
        watch("watch-bad-selector", "labelSelector=%3D"),
        watch("watch-bad-field", "fieldSelector=x%3D1"),
        get(
            "watch-nonsense",
            &format!("{MAPS}?watch=maybe&timeoutSeconds=1&labelSelector=no%3Dbody"),
        ),
        get("get-version-text", &format!("{MAP}?resourceVersion=abc")),
        get("get-version-future", &format!("{MAP}?resourceVersion=-1")),
        get(
            "pods-bad-field",
            &format!("{PODS}?fieldSelector=spec.nope%3Dx"),
        ),
        get("table-bad-include", &format!("{MAPS}?includeObject=Bogus"))
            .header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
    ];
    all.extend(writes());
    all
}

fn writes() -> Vec<Case> {
    let delete =
        |name: &str, query: &str| Case::new(name, "DELETE", &format!("{MAPS}/nobody?{query}"));
    let create = |name: &str, query: &str| {
        super::post(
            name,
            &format!("{MAPS}?{query}"),
            r#"{"metadata":{"name":"query"}}"#,
        )
    };
    vec![
        delete("grace-text", "gracePeriodSeconds=soon"),
        delete("grace-negative", "gracePeriodSeconds=-7"),
        delete("policy-bogus", "propagationPolicy=Bogus"),
        delete(
            "policy-and-orphan",
            "propagationPolicy=Orphan&orphanDependents=true",
        ),
        delete("delete-dry-run-bogus", "dryRun=Some"),
        create("dry-run-bogus", "dryRun=Some"),
        create("dry-run-twice", "dryRun=All&dryRun=Some"),
        create(
            "manager-long",
            &format!("fieldManager={}", repeat("m", 200)),
        ),
        create("manager-control", "fieldManager=a%0Ab"),
        create("validation-bogus", "fieldValidation=maybe"),
        Case::new(
            "delete-all-bad-selector",
            "DELETE",
            &format!("{MAPS}?labelSelector=%3D"),
        ),
        Case::new(
            "delete-all-bad-field",
            "DELETE",
            &format!("{MAPS}?fieldSelector=a%3Db"),
        ),
        Case::new(
            "delete-all-bad-version",
            "DELETE",
            &format!("{MAPS}?resourceVersion=abc&labelSelector=no%3Dbody"),
        ),
    ]
}
