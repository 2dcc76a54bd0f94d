use super::*;
use crate::testing::{Fake, Request, Servant};
use expect_test::{Expect, expect};
use model::json;

fn cluster(policy: Value, binding: Value) -> Fake {
    let mut spec = json!({"matchConstraints": {"resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]},
    ]}});
    spec.as_object_mut()
        .unwrap()
        .extend(policy.as_object().unwrap().clone());
    let mut bound = json!({"policyName": "a", "validationActions": ["Deny"]});
    bound
        .as_object_mut()
        .unwrap()
        .extend(binding.as_object().unwrap().clone());
    Fake::default()
        .with("namespaces", &[json!({"metadata": {"name": "dev", "labels": {"env": "dev"}}})])
        .with("configmaps", &[json!({"metadata": {"name": "params", "namespace": "default"}, "data": {"name": "p1"}})])
        .with("admissionregistration.k8s.io/validatingadmissionpolicies", &[json!({"metadata": {"name": "a"}, "spec": spec})])
        .with("admissionregistration.k8s.io/validatingadmissionpolicybindings", &[
            json!({"metadata": {"name": "b"}, "spec": bound}),
            json!({"metadata": {"name": "other"}, "spec": {"policyName": "gone", "validationActions": ["Deny"]}}),
        ])
}

fn check(policy: Value, binding: Value, name: &str, expected: Expect) {
    let request = Request::create(
        "configmaps",
        "dev",
        json!({"kind": "ConfigMap", "metadata": {"name": name}}),
    );
    let answer = match validate(&request.review(), &cluster(policy, binding), &Servant) {
        Ok(warnings) if warnings.is_empty() => "fine".into(),
        Ok(warnings) => format!("warning: {}", warnings.join("\n")),
        Err(e) => format!(
            "{} {} {}",
            e.code,
            e.reason.as_ref().map_or("", |r| r.as_str()),
            e.message
        ),
    };
    expected.assert_eq(&answer);
}

#[test]
fn a_denial_carries_its_message_and_reason() {
    let policy = || {
        json!({"validations": [
            {"expression": " object.metadata.name != 'a1'"},
            {"expression": "object.metadata.name != 'a2'", "message": " hello ", "reason": "Forbidden"},
            {"expression": "object.metadata.name != 'a3'", "messageExpression": "'no ' + object.metadata.name"},
            {"expression": "object.metadata.name != 'a4'", "messageExpression": "object.broken", "message": "plain"},
        ]})
    };
    check(
        policy(),
        json!({}),
        "a1",
        expect![
            "422 Invalid configmaps \"a1\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: failed expression: object.metadata.name != 'a1'"
        ],
    );
    check(
        policy(),
        json!({}),
        "a2",
        expect![
            "403 Forbidden configmaps \"a2\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: hello"
        ],
    );
    check(
        policy(),
        json!({}),
        "a3",
        expect![
            "422 Invalid configmaps \"a3\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no a3"
        ],
    );
    check(
        policy(),
        json!({}),
        "a4",
        expect![
            "422 Invalid configmaps \"a4\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: plain"
        ],
    );
    check(policy(), json!({}), "ok", expect!["fine"]);
    check(
        policy(),
        json!({"validationActions": ["Warn", "Audit"]}),
        "a2",
        expect![
            "warning: Validation failed for ValidatingAdmissionPolicy 'a' with binding 'b': hello"
        ],
    );
}

#[test]
fn the_status_has_a_cause() {
    let request = Request::create(
        "configmaps",
        "dev",
        json!({"kind": "ConfigMap", "metadata": {"name": "vap"}}),
    );
    let cluster = cluster(
        json!({"validations": [{"expression": "false", "message": "no"}]}),
        json!({}),
    );
    let status = validate(&request.review(), &cluster, &Servant)
        .unwrap_err()
        .to_status();
    expect![[r#"{"apiVersion":"v1","code":422,"details":{"causes":[{"message":"ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no"}],"kind":"configmaps","name":"vap"},"kind":"Status","message":"configmaps \"vap\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no","metadata":{},"reason":"Invalid","status":"Failure"}"#]]
        .assert_eq(&status.to_string());
}

#[test]
fn failures_deny_unless_they_are_ignored() {
    let policy = |more: &Value| {
        let mut policy = json!({"validations": [{"expression": "object.data == 'x'"}]});
        policy
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        policy
    };
    check(
        policy(&json!({})),
        json!({}),
        "a",
        expect![
            "422 Invalid configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: expression 'object.data == 'x'' resulted in error: no such key: data"
        ],
    );
    check(
        policy(&json!({"failurePolicy": "Ignore"})),
        json!({}),
        "a",
        expect!["fine"],
    );
    check(
        json!({"variables": [{"name": "v", "expression": "object.data"}, {"name": "w", "expression": "variables.v"}, {"name": "vv", "expression": "true"}],
            "validations": [{"expression": "variables.vv"}, {"expression": "variables.w"}]}),
        json!({}),
        "a",
        expect![[
            r#"422 Invalid configmaps "a" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: expression 'variables.w' resulted in error: composited variable "w" fails to evaluate: composited variable "v" fails to evaluate: no such key: data"#
        ]],
    );
}

#[test]
fn conditions_and_selectors_narrow_the_policy() {
    let denies = |more: Value| {
        let mut policy = json!({"validations": [{"expression": "false", "message": "no"}]});
        policy
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        policy
    };
    let conditions = |e: &str| denies(json!({"matchConditions": [{"name": "c", "expression": e}]}));
    check(
        conditions("object.metadata.name == 'x'"),
        json!({}),
        "a",
        expect!["fine"],
    );
    check(
        conditions("object.nope == 'x'"),
        json!({}),
        "a",
        expect![
            "422 Invalid configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: expression 'object.nope == 'x'' resulted in error: no such key: nope"
        ],
    );
    let selected =
        |env: &str| json!({"matchResources": {"namespaceSelector": {"matchLabels": {"env": env}}}});
    check(denies(json!({})), selected("prod"), "a", expect!["fine"]);
    check(
        denies(json!({})),
        selected("dev"),
        "a",
        expect![
            "422 Invalid configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no"
        ],
    );
    let excluded = json!({"matchConstraints": {"excludeResourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "resourceNames": ["a"]}]}});
    check(denies(excluded), json!({}), "a", expect!["fine"]);
    let secret = Request::create("secrets", "dev", json!({"metadata": {"name": "a"}}));
    assert_eq!(
        validate(
            &secret.review(),
            &cluster(denies(json!({})), json!({})),
            &Servant
        ),
        Ok(vec![])
    );
}

#[test]
fn parameters_come_from_other_objects() {
    let policy = || json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{"expression": "params.data.name == 'p1'", "reason": "RequestEntityTooLarge"}, {"expression": "namespaceObject.metadata.name == 'dev'"}]});
    let by = |name: &str, action: &str| json!({"paramRef": {"name": name, "namespace": "default", "parameterNotFoundAction": action}});
    check(policy(), by("params", "Deny"), "a", expect!["fine"]);
    check(
        policy(),
        by("gone", "Deny"),
        "a",
        expect![
            "422 Invalid configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
        ],
    );
    check(policy(), by("gone", "Allow"), "a", expect!["fine"]);
    check(
        policy(),
        json!({"paramRef": {"selector": {}, "namespace": "default"}}),
        "a",
        expect!["fine"],
    );
    let unknown =
        json!({"paramKind": {"apiVersion": "x.io/v1", "kind": "Nope"}, "validations": []});
    check(
        unknown,
        by("x", "Deny"),
        "a",
        expect![
            "422 Invalid configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: failed to configure binding: paramKind kind `x.io/v1, Kind=Nope` not known"
        ],
    );
}
