//! Bodies that are proper JSON and improper objects.

use super::{Case, JSON, MAP, MAPS, PODS, WIDGETS, post, repeat};

pub(super) fn cases() -> Vec<Case> {
    let mut all = metadata();
    all.extend(contents());
    all.extend(subresources());
    all
}

fn metadata() -> Vec<Case> {
    let make =
        |name: &str, metadata: &str| post(name, MAPS, format!(r#"{{"metadata":{{{metadata}}}}}"#));
    let labels: Vec<String> = (0..20_000).map(|n| format!(r#""l{n}":"v""#)).collect();
    vec![
        make("name-missing", ""),
        make("name-null", r#""name":null"#),
        make("name-number", r#""name":5"#),
        make("name-slash", r#""name":"a/b""#),
        make("name-dots", r#""name":"..""#),
        make("name-upper", r#""name":"UPPER""#),
        make("name-nul", r#""name":"a\u0000b""#),
        make("name-long", &format!(r#""name":"{}""#, repeat("a", 300))),
        make(
            "generate-name-long",
            &format!(r#""generateName":"{}""#, repeat("a", 300)),
        ),
        make("generate-name-bad", r#""generateName":"_""#),
        make("other-namespace", r#""name":"x","namespace":"other""#),
        make("label-bad-key", r#""name":"x","labels":{"a b":"c"}"#),
        make("label-bad-value", r#""name":"x","labels":{"a":"b c"}"#),
        make("label-number", r#""name":"x","labels":{"a":1}"#),
        make(
            "labels-many",
            &format!(r#""name":"many-labels","labels":{{{}}}"#, labels.join(",")),
        ),
        make(
            "annotations-300k",
            &format!(
                r#""name":"x","annotations":{{"a":"{}"}}"#,
                repeat("a", 300 << 10)
            ),
        ),
        make("owner-empty", r#""name":"x","ownerReferences":[{}]"#),
        make(
            "owner-two-controllers",
            r#""name":"x","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1","controller":true},{"apiVersion":"v1","kind":"Pod","name":"b","uid":"2","controller":true}]"#,
        ),
        make(
            "finalizer-bad",
            r#""name":"x","finalizers":["no slash or space"]"#,
        ),
        make(
            "finalizer-both",
            r#""name":"x","finalizers":["orphan","foregroundDeletion"]"#,
        ),
        make("version-on-create", r#""name":"x","resourceVersion":"5""#),
        make("version-nonsense", r#""name":"x","resourceVersion":"abc""#),
        make(
            "timestamp-bad",
            r#""name":"x","creationTimestamp":"yesterday""#,
        ),
        make(
            "managed-fields-operation",
            r#""name":"x","managedFields":[{"manager":"m","operation":"Bogus","fieldsType":"FieldsV1","apiVersion":"v1","fieldsV1":{}}]"#,
        ),
        make(
            "managed-fields-type",
            r#""name":"x","managedFields":[{"manager":"m","operation":"Update","fieldsType":"Fields9","apiVersion":"v1","fieldsV1":{}}]"#,
        ),
        make(
            "managed-fields-garbage",
            r#""name":"managed-garbage","managedFields":[{"manager":"m","operation":"Update","fieldsType":"FieldsV1","apiVersion":"v1","fieldsV1":{"q:x":{},"f:":5}}]"#,
        ),
        make(
            "managed-fields-deep",
            &format!(
                r#""name":"managed-deep","managedFields":[{{"manager":"m","operation":"Update","fieldsType":"FieldsV1","apiVersion":"v1","fieldsV1":{}}}]"#,
                super::deep("{\"f:a\":", "{}", "}", 5_000)
            ),
        ),
        make("self-link-number", r#""name":"x","selfLink":9"#),
        make("metadata-extra", r#""name":"metadata-extra","nope":1"#),
        post("metadata-array", MAPS, r#"{"metadata":[]}"#),
        post("metadata-string", MAPS, r#"{"metadata":"x"}"#),
        post("metadata-null", MAPS, r#"{"metadata":null}"#),
    ]
}

fn contents() -> Vec<Case> {
    let kind = |name: &str, api_version: &str, kind: &str| {
        post(
            name,
            MAPS,
            format!(
                r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":"x"}}}}"#
            ),
        )
    };
    let data = |name: &str, data: &str| {
        post(
            name,
            MAPS,
            format!(r#"{{"metadata":{{"name":"x"}},{data}}}"#),
        )
    };
    let custom = |name: &str, body: &str| post(name, WIDGETS, body);
    vec![
        kind("kind-secret", "v1", "Secret"),
        kind("kind-nonsense", "v1", "Nonsense"),
        kind("group-nonsense", "no.such.group/v1", "ConfigMap"),
        kind("group-slashes", "a/b/c", "ConfigMap"),
        post("kind-number", MAPS, r#"{"kind":5}"#),
        data("data-array", r#""data":[]"#),
        data("data-number", r#""data":{"a":1}"#),
        data("data-key-bad", r#""data":{"a b":"c"}"#),
        data("data-key-dots", r#""data":{"..":"c"}"#),
        data(
            "data-2-mib",
            &format!(r#""data":{{"a":"{}"}}"#, repeat("x", 2 << 20)),
        ),
        data("binary-bad", r#""binaryData":{"a":"***"}"#),
        data(
            "data-twice",
            r#""data":{"a":"1"},"binaryData":{"a":"MQ=="}"#,
        ),
        Case::new(
            "strict-unknown",
            "POST",
            &format!("{MAPS}?fieldValidation=Strict"),
        )
        .body(JSON, r#"{"metadata":{"name":"x"},"nope":1}"#),
        Case::new(
            "strict-duplicate",
            "POST",
            &format!("{MAPS}?fieldValidation=Strict"),
        )
        .body(
            JSON,
            r#"{"metadata":{"name":"x"},"data":{"a":"1","a":"2"}}"#,
        ),
        Case::new(
            "strict-nonsense",
            "POST",
            &format!("{MAPS}?fieldValidation=Bogus"),
        )
        .body(JSON, r#"{"metadata":{"name":"x"}}"#),
        custom("custom-no-kind", r#"{"metadata":{"name":"x"}}"#),
        custom(
            "custom-other-kind",
            r#"{"apiVersion":"hostile.example.com/v1","kind":"Gadget","metadata":{"name":"x"}}"#,
        ),
        custom(
            "custom-other-group",
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}"#,
        ),
        custom(
            "custom-wrong-type",
            r#"{"apiVersion":"hostile.example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":{"count":"many"}}"#,
        ),
        custom(
            "custom-rule",
            r#"{"apiVersion":"hostile.example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":{"count":-1}}"#,
        ),
        custom(
            "custom-metadata-array",
            r#"{"apiVersion":"hostile.example.com/v1","kind":"Widget","metadata":[]}"#,
        ),
        custom(
            "custom-spec-null",
            r#"{"apiVersion":"hostile.example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":null}"#,
        ),
        Case::new("put-no-name", "PUT", MAP).body(JSON, "{}"),
        Case::new("put-other-name", "PUT", MAP).body(JSON, r#"{"metadata":{"name":"other"}}"#),
        Case::new("put-old-version", "PUT", MAP).body(
            JSON,
            r#"{"metadata":{"name":"victim","resourceVersion":"1"}}"#,
        ),
        Case::new("put-bad-version", "PUT", MAP).body(
            JSON,
            r#"{"metadata":{"name":"victim","resourceVersion":"x"}}"#,
        ),
        Case::new("put-other-uid", "PUT", MAP)
            .body(JSON, r#"{"metadata":{"name":"victim","uid":"1-2-3"}}"#),
        Case::new("put-nobody", "PUT", &format!("{MAPS}/nobody"))
            .body(JSON, r#"{"metadata":{"name":"nobody"}}"#),
        post(
            "missing-namespace",
            "/api/v1/namespaces/nowhere/configmaps",
            r#"{"metadata":{"name":"x"}}"#,
        ),
        post("name-taken", MAPS, r#"{"metadata":{"name":"victim"}}"#),
    ]
}

fn subresources() -> Vec<Case> {
    let nobody = format!("{PODS}/nobody");
    vec![
        post(
            "eviction-nobody",
            &format!("{nobody}/eviction"),
            r#"{"metadata":{"name":"nobody"}}"#,
        ),
        post("eviction-garbage", &format!("{nobody}/eviction"), "[]"),
        post("binding-garbage", &format!("{nobody}/binding"), "{}"),
        Case::new(
            "scale-garbage",
            "PUT",
            "/apis/apps/v1/namespaces/default/deployments/nobody/scale",
        )
        .body(JSON, "{}"),
        Case::new("log-nobody", "GET", &format!("{nobody}/log")),
        Case::new(
            "log-bad-option",
            "GET",
            &format!("{nobody}/log?tailLines=abc"),
        ),
        post(
            "token-garbage",
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            "[1]",
        ),
        post(
            "token-short",
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            r#"{"spec":{"expirationSeconds":1}}"#,
        ),
        post(
            "review-garbage",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            "[]",
        ),
        post(
            "review-empty",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            "{}",
        ),
        post(
            "token-review-garbage",
            "/apis/authentication.k8s.io/v1/tokenreviews",
            r#"{"spec":{"token":"nonsense"}}"#,
        ),
        Case::new("delete-garbage", "DELETE", MAP).body(JSON, "{\"gracePeriodSeconds\":"),
        Case::new("delete-wrong-kind", "DELETE", MAP)
            .body(JSON, r#"{"kind":"Pod","apiVersion":"v1"}"#),
        Case::new("delete-bad-policy", "DELETE", MAP)
            .body(JSON, r#"{"propagationPolicy":"Bogus"}"#),
        Case::new("delete-other-uid", "DELETE", MAP)
            .body(JSON, r#"{"preconditions":{"uid":"other"}}"#),
        Case::new("delete-text-grace", "DELETE", MAP)
            .body(JSON, r#"{"gracePeriodSeconds":"soon"}"#),
        post("pod-empty", PODS, r#"{"metadata":{"name":"p"}}"#),
        post(
            "pod-no-containers",
            PODS,
            r#"{"metadata":{"name":"p"},"spec":{"containers":[]}}"#,
        ),
        post(
            "pod-quantity",
            PODS,
            r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"lots"}}}]}}"#,
        ),
        post(
            "pod-quantity-huge",
            PODS,
            &*format!(
                r#"{{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}}"#,
                repeat("9", 10_000)
            ),
        ),
        post(
            "service-bad-port",
            "/api/v1/namespaces/default/services",
            r#"{"metadata":{"name":"s"},"spec":{"ports":[{"port":99999}]}}"#,
        ),
        post(
            "namespace-bad",
            "/api/v1/namespaces",
            r#"{"metadata":{"name":"Bad Name"}}"#,
        ),
    ]
}
