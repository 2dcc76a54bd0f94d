//! Paths and methods that lead nowhere.

use super::{Case, JSON, MAP, MAPS, get, repeat};

pub(super) fn cases() -> Vec<Case> {
    let spaced = "/api/v1/namespaces/default";
    let mut all = vec![
        get("group-unknown", "/apis/no.such.group/v1/things"),
        get("group-version-unknown", "/apis/apps/v9/deployments"),
        get("core-version-unknown", "/api/v9/pods"),
        get("resource-unknown", &format!("{spaced}/things")),
        get("resource-unknown-named", &format!("{spaced}/things/x")),
        get("subresource-unknown", &format!("{MAP}/nonsense")),
        get("subresource-deep", &format!("{MAP}/a/b/c/d")),
        get(
            "cluster-resource-in-namespace",
            &format!("{spaced}/nodes/x"),
        ),
        get("namespaced-without-namespace", "/api/v1/configmaps/victim"),
        get("object-unknown", &format!("{MAPS}/nobody")),
        get("upper-case", "/API/V1/namespaces"),
        get("resource-upper-case", &format!("{spaced}/ConfigMaps")),
        get("slash-end", &format!("{MAPS}/")),
        get("name-invalid", &format!("{MAPS}/Not%20A%20Name")),
        get("name-escaped-slash", &format!("{MAPS}/a%2Fb")),
        get("name-escaped-nul", &format!("{MAPS}/a%00b")),
        get("name-escaped-utf8", &format!("{MAPS}/%ff%fe")),
        get("name-long-path", &format!("{MAPS}/{}", repeat("n", 10_000))),
        get(
            "namespace-long",
            &format!("/api/v1/namespaces/{}/configmaps", repeat("n", 10_000)),
        ),
        get("percent-broken", &format!("{MAPS}/a%zz")),
        get("percent-cut-path", &format!("{MAPS}/a%2")),
        get("not-a-path", "nonsense"),
        get("root-unknown", "/nothing/here"),
        get("segments-many", &repeat("/x", 20_000)),
        get("openapi-unknown", "/openapi/v3/apis/no.such.group/v1"),
        get("readyz-unknown", "/readyz/nonsense"),
        get("watch-prefix-unknown", "/api/v1/watch/nonsense"),
    ];
    all.extend(methods());
    all
}

fn methods() -> Vec<Case> {
    let with = |name: &str, method: &str, path: &str| {
        Case::new(name, method, path).body(JSON, r#"{"metadata":{"name":"victim"}}"#)
    };
    vec![
        with("put-collection", "PUT", MAPS),
        with("patch-collection", "PATCH", MAPS),
        with("post-object", "POST", MAP),
        with("post-version", "POST", "/api/v1"),
        with("post-all-namespaces", "POST", "/api/v1/configmaps"),
        with("delete-all-namespaces", "DELETE", "/api/v1/configmaps"),
        with("brew", "BREW", MAP),
        with("trace", "TRACE", MAP),
        with("propfind", "PROPFIND", MAPS),
        Case::new("options", "OPTIONS", MAP),
        with("delete-namespaces", "DELETE", "/api/v1/namespaces"),
        with(
            "put-namespace-status-garbage",
            "PUT",
            "/api/v1/namespaces/nowhere/status",
        ),
        with("post-status", "POST", &format!("{MAP}/status")),
        with(
            "get-review",
            "GET",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        ),
    ]
}
