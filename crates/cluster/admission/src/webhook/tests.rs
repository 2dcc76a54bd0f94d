use super::*;
use crate::Operation;
use crate::testing::{Fake, Request, Servant};
use base64::Engine as _;
use expect_test::{Expect, expect};
use model::json;

fn webhook(name: &str, more: &Value) -> Value {
    let mut webhook = json!({
        "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 2,
        "clientConfig": {"url": "https://127.0.0.1:18444/dead"},
        "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    });
    webhook
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    webhook
}

fn cluster(kind: &str, webhooks: &[Value]) -> Fake {
    let configuration = json!({"metadata": {"name": "conf"}, "webhooks": webhooks});
    Fake::default()
        .with(
            &format!("admissionregistration.k8s.io/{kind}webhookconfigurations"),
            &[configuration],
        )
        .with("namespaces", &[json!({"metadata": {"name": "dev"}})])
}

fn request() -> Request {
    Request::create(
        "configmaps",
        "dev",
        json!({"kind": "ConfigMap", "metadata": {"name": "denied"}}),
    )
}

fn reply(call: &Call, response: &Value) -> Answer {
    let mut response = response.clone();
    if response.get("uid").is_none() {
        response["uid"] = json!(call.uid);
    }
    Answer::Body(
        json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}),
    )
}

/// Answers every call by `answer` until there is nothing left to ask.
fn run(
    kind: &str,
    webhooks: &[Value],
    request: &Request,
    answer: impl Fn(&Call) -> Answer,
) -> (Vec<String>, String) {
    let cluster = cluster(kind, webhooks);
    let mut answers = Answers::new();
    let mut asked = Vec::new();
    loop {
        let mut object = request.object.clone();
        let step = if kind == "mutating" {
            mutating(&request.review(), &mut object, &cluster, &Servant, &answers)
        } else {
            validating(&request.review(), &cluster, &Servant, &answers)
        };
        match step {
            Ok(Step::Call(calls)) => {
                for call in calls {
                    asked.push(call.key.clone());
                    answers.insert(call.key.clone(), answer(&call));
                }
            }
            Ok(Step::Done(warnings)) => return (asked, format!("{object} {warnings:?}")),
            Err(e) => return (asked, format!("{} {}", e.code, e.to_status())),
        }
    }
}

fn check_answer(response: &Value, expected: Expect) {
    let (_, text) = run(
        "validating",
        &[webhook("deny.e2e.example.com", &json!({}))],
        &request(),
        |call| reply(call, response),
    );
    expected.assert_eq(&text);
}

#[test]
fn the_request_is_an_admission_review() {
    let cluster = cluster("validating", &[webhook("deny", &json!({}))]);
    let Ok(Step::Call(calls)) =
        validating(&request().review(), &cluster, &Servant, &Answers::new())
    else {
        panic!("no call");
    };
    expect![[r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"dryRun":false,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"name":"denied","namespace":"dev","object":{"kind":"ConfigMap","metadata":{"name":"denied"}},"oldObject":null,"operation":"CREATE","options":{"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"},"requestKind":{"group":"","kind":"ConfigMap","version":"v1"},"requestResource":{"group":"","resource":"configmaps","version":"v1"},"resource":{"group":"","resource":"configmaps","version":"v1"},"uid":"uid of v/conf/0/deny","userInfo":{"username":"admin"}}}"#]]
        .assert_eq(&calls[0].body.to_string());
    assert_eq!(calls[0].url(), "https://127.0.0.1:18444/dead?timeout=2s");
}

#[test]
fn services_have_a_url_too() {
    let hook = webhook(
        "s",
        &json!({"clientConfig": {"service": {"namespace": "ns", "name": "svc", "path": "a/b"}}, "timeoutSeconds": null}),
    );
    let call = Call::new("k".into(), "u".into(), "c", &hook, json!({})).unwrap();
    assert_eq!(call.url(), "https://svc.ns.svc:443/a/b?timeout=10s");
}

#[test]
fn a_refusal_keeps_code_reason_and_details() {
    check_answer(
        &json!({"allowed": true, "warnings": ["hello"]}),
        expect![[r#"{"kind":"ConfigMap","metadata":{"name":"denied"}} ["hello"]"#]],
    );
    check_answer(
        &json!({"allowed": false, "status": {"code": 403, "reason": "Forbidden", "message": "no ConfigMap named denied"}}),
        expect![[
            r#"403 {"apiVersion":"v1","code":403,"kind":"Status","message":"admission webhook \"deny.e2e.example.com\" denied the request: no ConfigMap named denied","metadata":{},"reason":"Forbidden","status":"Failure"}"#
        ]],
    );
    check_answer(
        &json!({"allowed": false}),
        expect![[
            r#"400 {"apiVersion":"v1","code":400,"kind":"Status","message":"admission webhook \"deny.e2e.example.com\" denied the request without explanation","metadata":{},"status":"Failure"}"#
        ]],
    );
    check_answer(
        &json!({"allowed": false, "status": {"code": 200, "reason": "Odd", "details": {"kind": "x", "causes": [{"message": "m"}]}}}),
        expect![[
            r#"400 {"apiVersion":"v1","code":400,"details":{"causes":[{"message":"m"}],"kind":"x"},"kind":"Status","message":"admission webhook \"deny.e2e.example.com\" denied the request: Odd","metadata":{},"reason":"Odd","status":"Failure"}"#
        ]],
    );
}

#[test]
fn a_broken_answer_fails_the_request() {
    let ask = |answer: Answer| {
        run(
            "validating",
            &[webhook("w", &json!({}))],
            &request(),
            |_| answer.clone(),
        )
        .1
    };
    let message = |text: String| {
        text.split("\"message\":\"")
            .last()
            .unwrap_or("")
            .split("\",\"")
            .next()
            .unwrap_or("")
            .to_owned()
    };
    let body = |api: &str, response: Value| {
        Answer::Body(json!({"kind": "AdmissionReview", "apiVersion": api, "response": response}))
    };
    let uid = "uid of v/conf/0/w";
    let answers = [
        Answer::Unreachable("dial tcp 127.0.0.1:18444: connect: connection refused".into()),
        Answer::Status(500, "boom".into()),
        Answer::Status(500, String::new()),
        Answer::Status(503, "later".into()),
        Answer::Status(404, String::new()),
        Answer::Garbled("unexpected end of JSON input".into()),
        Answer::Body(json!({"kind": "Pod", "apiVersion": "v1"})),
        Answer::Body(json!({})),
        Answer::Body(json!({"response": {"uid": uid, "allowed": true}})),
        body("admission.k8s.io/v1", json!({"uid": "x"})),
        body("admission.k8s.io/v1beta1", json!({"uid": uid})),
        body("admission.k8s.io/v1", json!({"uid": uid, "patch": "W10="})),
        body(
            "admission.k8s.io/v1",
            json!({"uid": uid, "patchType": "JSONPatch"}),
        ),
    ];
    let texts: Vec<String> = answers.into_iter().map(|a| message(ask(a))).collect();
    expect![[r#"
        Internal error occurred: failed calling webhook \"w\": failed to call webhook: Post \"https://127.0.0.1:18444/dead?timeout=2s\": dial tcp 127.0.0.1:18444: connect: connection refused
        Internal error occurred: failed calling webhook \"w\": failed to call webhook: an error on the server (\"boom\") has prevented the request from succeeding
        Internal error occurred: failed calling webhook \"w\": failed to call webhook: an error on the server (\"unknown\") has prevented the request from succeeding
        Internal error occurred: failed calling webhook \"w\": failed to call webhook: the server is currently unable to handle the request
        Internal error occurred: failed calling webhook \"w\": failed to call webhook: the server could not find the requested resource
        Internal error occurred: failed calling webhook \"w\": failed to call webhook: couldn't get version/kind; json parse error: unexpected end of JSON input
        Internal error occurred: failed calling webhook \"w\": failed to call webhook: no kind \"Pod\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"
        Internal error occurred: failed calling webhook \"w\": received invalid webhook response: webhook response was absent
        Internal error occurred: failed calling webhook \"w\": received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=
        Internal error occurred: failed calling webhook \"w\": received invalid webhook response: expected response.uid=\"uid of v/conf/0/w\", got \"x\"
        Internal error occurred: failed calling webhook \"w\": failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion
        Internal error occurred: failed calling webhook \"w\": received invalid webhook response: validating webhook may not return response.patch
        Internal error occurred: failed calling webhook \"w\": received invalid webhook response: validating webhook may not return response.patchType"#]]
        .assert_eq(&texts.join("\n"));
    let (_, ignored) = run(
        "validating",
        &[webhook("w", &json!({"failurePolicy": "Ignore"}))],
        &request(),
        |_| Answer::Unreachable("x".into()),
    );
    assert!(ignored.ends_with("[]"), "{ignored}");
}

#[test]
fn dry_runs_need_a_webhook_without_side_effects() {
    let dry = Request {
        dry_run: true,
        ..request()
    };
    let hook = webhook(
        "w",
        &json!({"sideEffects": "Unknown", "failurePolicy": "Ignore"}),
    );
    let (asked, text) = run("validating", &[hook], &dry, |call| {
        reply(call, &json!({"allowed": true}))
    });
    assert!(asked.is_empty());
    expect![[r#"400 {"apiVersion":"v1","code":400,"kind":"Status","message":"admission webhook \"w\" does not support dry run","metadata":{},"reason":"BadRequest","status":"Failure"}"#]].assert_eq(&text);
}

#[test]
fn validating_webhooks_are_asked_at_once_and_the_first_refusal_wins() {
    let hooks = [
        webhook("a", &json!({})),
        webhook("b", &json!({})),
        webhook("c", &json!({"rules": []})),
    ];
    let cluster = cluster("validating", &hooks);
    let Ok(Step::Call(calls)) =
        validating(&request().review(), &cluster, &Servant, &Answers::new())
    else {
        panic!("no calls");
    };
    assert_eq!(
        calls.iter().map(|c| c.webhook.as_str()).collect::<Vec<_>>(),
        ["a", "b"]
    );
    let (_, text) = run("validating", &hooks, &request(), |call| {
        reply(
            call,
            &json!({"allowed": false, "status": {"message": call.webhook}}),
        )
    });
    assert!(text.contains("webhook \\\"a\\\" denied"), "{text}");
}

#[test]
fn configurations_themselves_are_never_reviewed() {
    let object = json!({"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "x"}});
    let request = Request::create(
        "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "",
        object,
    );
    let all = webhook(
        "w",
        &json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}]}),
    );
    let (asked, _) = run("validating", &[all], &request, |call| {
        reply(call, &json!({"allowed": false}))
    });
    assert!(asked.is_empty());
}

#[test]
fn conditions_spare_a_call_or_fail() {
    let conditioned = |e: &str| {
        webhook(
            "w",
            &json!({"matchConditions": [{"name": "c", "expression": e}]}),
        )
    };
    let ask = |e: &str| {
        run("validating", &[conditioned(e)], &request(), |call| {
            reply(call, &json!({"allowed": true}))
        })
    };
    assert_eq!(ask("object.metadata.name == 'denied'").0.len(), 1);
    assert_eq!(ask("object.metadata.name == 'x'").0.len(), 0);
    expect![[r#"403 {"apiVersion":"v1","code":403,"details":{"kind":"configmaps","name":"denied"},"kind":"Status","message":"configmaps \"denied\" is forbidden: expression 'object.x' resulted in error: no such key: x","metadata":{},"reason":"Forbidden","status":"Failure"}"#]].assert_eq(&ask("object.x").1);
}

fn patch(steps: &Value) -> Value {
    let text = base64::engine::general_purpose::STANDARD.encode(steps.to_string());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": text})
}

#[test]
fn patches_are_applied_in_order_and_earlier_webhooks_may_look_again() {
    let hooks = [
        webhook("first", &json!({"reinvocationPolicy": "IfNeeded"})),
        webhook("second", &json!({})),
        webhook("third", &json!({"reinvocationPolicy": "IfNeeded"})),
    ];
    let (asked, text) = run("mutating", &hooks, &request(), |call| {
        match call.webhook.as_str() {
            "second" => reply(
                call,
                &patch(&json!([{"op": "add", "path": "/data", "value": {"seen": "2"}}])),
            ),
            _ => reply(
                call,
                &json!({"allowed": true, "warnings": [format!("{} saw {}", call.webhook, call.body["request"]["object"]["data"])]}),
            ),
        }
    });
    assert_eq!(
        asked,
        [
            "m0/conf/0/first",
            "m0/conf/1/second",
            "m0/conf/2/third",
            "m1/conf/0/first",
            "m1/conf/2/third"
        ]
    );
    expect![[r#"{"again":true,"data":{"seen":"2"},"kind":"ConfigMap","metadata":{"name":"denied"},"settled":true} ["first saw null", "third saw {\"seen\":\"2\"}", "first saw {\"seen\":\"2\"}", "third saw {\"seen\":\"2\"}"]"#]].assert_eq(&text);
}

#[test]
fn broken_patches_refuse_the_request() {
    let ask = |response: Value| {
        run(
            "mutating",
            &[webhook("w", &json!({}))],
            &request(),
            |call| reply(call, &response),
        )
        .1
    };
    let message = |text: &str| {
        text.split("\"message\":\"")
            .last()
            .unwrap_or("")
            .split("\",\"")
            .next()
            .unwrap_or("")
            .to_owned()
    };
    let encoded = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let texts = [
        ask(json!({"allowed": true, "patch": encoded("[]")})),
        ask(json!({"allowed": true, "patchType": "JSONPatch"})),
        ask(json!({"allowed": true, "patchType": "Merge", "patch": encoded("[{}]")})),
        ask(json!({"allowed": true, "patchType": "JSONPatch", "patch": encoded("{}")})),
        ask(json!({"allowed": true, "patchType": "JSONPatch", "patch": "!!"})),
        ask(patch(&json!([{"op": "replace", "path": "/a/b/c"}]))),
    ];
    let texts: Vec<String> = texts.iter().map(|t| message(t)).collect();
    expect![[r#"
        Internal error occurred: failed calling webhook \"w\": received invalid webhook response: webhook returned response.patch but not response.patchType
        Internal error occurred: failed calling webhook \"w\": received invalid webhook response: webhook returned response.patchType but not response.patch
        Internal error occurred: failed calling webhook \"w\": unsupported patch type \"Merge\"
        Internal error occurred: failed calling webhook \"w\": received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch
        Internal error occurred: failed calling webhook \"w\": failed to call webhook: illegal base64 data at input byte 0
        Internal error occurred: /a/b/c: missing value"#]]
        .assert_eq(&texts.join("\n"));
}

#[test]
fn deletes_show_only_the_old_object() {
    let request = Request {
        operation: Operation::Delete,
        object: Value::Null,
        old: Some(json!({"metadata": {"name": "x"}})),
        ..request()
    };
    let (asked, text) = run("mutating", &[webhook("w", &json!({}))], &request, |call| {
        assert_eq!(call.body["request"]["object"], Value::Null);
        assert_eq!(call.body["request"]["oldObject"]["metadata"]["name"], "x");
        reply(
            call,
            &patch(&json!([{"op": "add", "path": "/x", "value": 1}])),
        )
    });
    assert_eq!(asked.len(), 1);
    assert!(
        text.contains("attempted to modify the object, which is not supported for this operation"),
        "{text}"
    );
}
