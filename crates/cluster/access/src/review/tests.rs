use super::*;
use expect_test::{Expect, expect};

fn policy() -> Rbac {
    Rbac::from_objects(&[
        json!({"kind": "ClusterRole", "metadata": {"name": "pods"}, "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}, {"nonResourceURLs": ["/version"], "verbs": ["get"]}]}),
        json!({"kind": "RoleBinding", "metadata": {"name": "b", "namespace": "dev"}, "subjects": [{"kind": "Group", "name": "devs"}],
            "roleRef": {"kind": "ClusterRole", "name": "pods"}}),
        json!({"kind": "ClusterRoleBinding", "metadata": {"name": "lost"}, "subjects": [{"kind": "User", "name": "nobody"}],
            "roleRef": {"kind": "ClusterRole", "name": "gone"}}),
    ])
}

fn user(name: &str, group: &str) -> User {
    User {
        name: name.into(),
        groups: vec![group.into()],
        ..User::default()
    }
}

fn check(answer: Result<Value, ApiError>, expected: Expect) {
    let text = match answer {
        Ok(review) => format!("{} {}", review["kind"].as_str().unwrap(), review["status"]),
        Err(error) => format!("{} {}", error.code, error.message),
    };
    expected.assert_eq(&text);
}

#[test]
fn who_am_i() {
    let mut user = user("admin", "system:masters");
    user.uid = "admin-uid".into();
    expect![[r#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview","metadata":{"creationTimestamp":"1970-01-01T00:00:05Z"},"status":{"userInfo":{"groups":["system:masters"],"uid":"admin-uid","username":"admin"}}}"#]]
        .assert_eq(&self_subject_review(&user, Timestamp::from_seconds(5)).to_string());
}

#[test]
fn may_i() {
    let ask = |name: &str, group: &str, spec: Value| {
        self_subject_access_review(&json!({"spec": spec}), &user(name, group), &policy())
    };
    let pods =
        json!({"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "dev"}});
    check(
        ask("a", "system:masters", pods.clone()),
        expect![[r#"SelfSubjectAccessReview {"allowed":true}"#]],
    );
    check(
        ask("a", "devs", pods.clone()),
        expect![[
            r#"SelfSubjectAccessReview {"allowed":true,"reason":"RBAC: allowed by RoleBinding \"b/dev\" of ClusterRole \"pods\" to Group \"devs\""}"#
        ]],
    );
    check(
        ask("a", "x", pods.clone()),
        expect![[r#"SelfSubjectAccessReview {"allowed":false}"#]],
    );
    check(
        ask("nobody", "x", pods),
        expect![[
            r#"SelfSubjectAccessReview {"allowed":false,"reason":"RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found"}"#
        ]],
    );
    check(
        ask("a", "x", json!({})),
        expect![[
            r#"422 .authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"#
        ]],
    );
    check(
        ask(
            "a",
            "x",
            json!({"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"verb": "get", "path": "/version"}}),
        ),
        expect![[
            r#"422 .authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/version","Verb":"get"}: cannot be specified in combination with resourceAttributes"#
        ]],
    );
}

#[test]
fn may_they() {
    let ask = |spec: Value| subject_access_review(&json!({"spec": spec}), &policy());
    check(
        ask(
            json!({"user": "z", "groups": ["devs"], "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "dev"}}),
        ),
        expect![[
            r#"SubjectAccessReview {"allowed":true,"reason":"RBAC: allowed by RoleBinding \"b/dev\" of ClusterRole \"pods\" to Group \"devs\""}"#
        ]],
    );
    check(
        ask(json!({})),
        expect![[
            r#"422 .authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of user or group must be specified]"#
        ]],
    );
    let local = |spec: Value| local_subject_access_review(&json!({"spec": spec}), "dev", &policy());
    check(
        local(
            json!({"user": "a", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "dex"}}),
        ),
        expect![[
            r#"422 .authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "dex": must match metadata.namespace"#
        ]],
    );
    check(
        local(json!({"user": "a", "nonResourceAttributes": {"verb": "get", "path": "/version"}})),
        expect![[
            r#"422 .authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/version","Verb":"get"}: disallowed on this kind of request"#
        ]],
    );
    let good = local(json!({"user": "a", "groups": ["devs"], "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "dev"}})).unwrap();
    assert_eq!(good["metadata"]["namespace"], "dev");
    assert_eq!(good["status"]["allowed"], true);
}

#[test]
fn what_may_i() {
    let ask = |name: &str, spec: Value| {
        self_subject_rules_review(&json!({"spec": spec}), &user(name, "devs"), &policy())
    };
    check(
        ask("a", json!({"namespace": "dev"})),
        expect![[
            r#"SelfSubjectRulesReview {"incomplete":false,"nonResourceRules":[{"nonResourceURLs":["/version"],"verbs":["get"]}],"resourceRules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}"#
        ]],
    );
    check(
        ask("nobody", json!({"namespace": "x"})),
        expect![[
            r#"SelfSubjectRulesReview {"evaluationError":"clusterrole.rbac.authorization.k8s.io \"gone\" not found","incomplete":false,"nonResourceRules":[],"resourceRules":[]}"#
        ]],
    );
    check(ask("a", json!({})), expect!["400 no namespace on request"]);
}

#[test]
fn whose_token_is_this() {
    let ask = |spec: Value| {
        token_review(&json!({"spec": spec}), |token, audiences| match token {
            "t" => Ok((user("alice", "devs"), audiences.to_vec())),
            _ => Err("invalid bearer token".into()),
        })
    };
    check(
        ask(json!({"token": "t", "audiences": ["a"]})),
        expect![[
            r#"TokenReview {"audiences":["a"],"authenticated":true,"user":{"groups":["devs"],"username":"alice"}}"#
        ]],
    );
    check(
        ask(json!({"token": "z"})),
        expect![[r#"TokenReview {"error":"invalid bearer token","user":{}}"#]],
    );
    check(
        ask(json!({})),
        expect!["400 token is required for TokenReview in authentication"],
    );
}
