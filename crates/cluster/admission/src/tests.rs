//! The whole chain of built-in plugins.

use crate::testing::{Fake, Request};
use crate::{Operation, mutate, validate};
use expect_test::expect;
use model::{Value, json};

fn cluster() -> Fake {
    Fake::default()
        .with("namespaces", &[json!({"metadata": {"name": "dev", "labels": {"pod-security.kubernetes.io/warn": "baseline"}}})])
        .with("serviceaccounts", &[json!({"metadata": {"name": "default", "namespace": "dev"}})])
}

#[test]
fn a_pod_gets_what_a_real_server_gives_it() {
    let request = Request::pod(
        "dev",
        json!({"hostPID": true, "containers": [{"name": "c", "image": "x"}]}),
    );
    let mut pod = request.object.clone();
    mutate(&request.review(), &mut pod, &cluster(), &mut || {
        "cqvzn".into()
    })
    .unwrap();
    expect![[r#"{"containers":[{"image":"x","name":"c","volumeMounts":[{"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"kube-api-access-cqvzn","readOnly":true}]}],"hostPID":true,"preemptionPolicy":"PreemptLowerPriority","priority":0,"serviceAccount":"default","serviceAccountName":"default","tolerations":[{"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300},{"effect":"NoExecute","key":"node.kubernetes.io/unreachable","operator":"Exists","tolerationSeconds":300}],"volumes":[{"name":"kube-api-access-cqvzn","projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"items":[{"key":"ca.crt","path":"ca.crt"}],"name":"kube-root-ca.crt"}},{"downwardAPI":{"items":[{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"},"path":"namespace"}]}}]}}]}"#]]
        .assert_eq(&pod["spec"].to_string());
    let admitted = Request {
        object: pod,
        ..request
    };
    assert_eq!(
        validate(&admitted.review(), &cluster()).unwrap(),
        [r#"would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)"#]
    );
}

#[test]
fn other_objects_and_deletes_pass_untouched() {
    let cm = || {
        Request::create(
            "configmaps",
            "dev",
            json!({"kind": "ConfigMap", "metadata": {"name": "a"}}),
        )
    };
    let delete = Request {
        operation: Operation::Delete,
        object: Value::Null,
        old: Some(json!({})),
        ..cm()
    };
    for request in [cm(), delete] {
        let mut object = request.object.clone();
        let warnings = mutate(&request.review(), &mut object, &cluster(), &mut || {
            panic!("no name needed")
        });
        assert_eq!(warnings, Ok(vec![]));
        assert_eq!(object, request.object);
        assert_eq!(validate(&request.review(), &cluster()), Ok(vec![]));
    }
}
