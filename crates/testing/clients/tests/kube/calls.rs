//! The calls below objects: eviction, scale, logs, status, tokens, reviews, leases.

use crate::{code, object, start, within};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod, Secret, ServiceAccount};
use kube::api::{EvictParams, ListParams, LogParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

fn pod(name: &str) -> Pod {
    object(
        json!({"metadata": {"name": name, "labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
    )
}

#[tokio::test]
async fn pods_are_evicted() {
    let (_sandbox, client) = start().await;
    let api: Api<Pod> = Api::default_namespaced(client);
    within(api.create(&PostParams::default(), &pod("p")))
        .await
        .unwrap();
    let done = within(api.evict("p", &EvictParams::default()))
        .await
        .unwrap();
    assert!(done.is_success(), "{done:?}");
    assert!(
        within(api.get_opt("p"))
            .await
            .unwrap()
            .is_none_or(|p| p.metadata.deletion_timestamp.is_some())
    );
    assert_eq!(
        code(within(api.evict("nobody", &EvictParams::default())).await),
        404
    );
}

#[tokio::test]
async fn logs_are_asked_for() {
    let (_sandbox, client) = start().await;
    let api: Api<Pod> = Api::default_namespaced(client);
    within(api.create(&PostParams::default(), &pod("p")))
        .await
        .unwrap();
    // Not scheduled yet: there is nothing to read.
    assert_eq!(
        within(api.logs("p", &LogParams::default())).await.unwrap(),
        ""
    );
    let wrong = LogParams {
        container: Some("nobody".into()),
        ..LogParams::default()
    };
    assert_eq!(code(within(api.logs("p", &wrong)).await), 400);
    assert_eq!(
        code(within(api.logs("nobody", &LogParams::default())).await),
        404
    );
}

#[tokio::test]
async fn deployments_are_scaled_restarted_and_reported() {
    let (_sandbox, client) = start().await;
    let api: Api<Deployment> = Api::default_namespaced(client);
    let template = json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let web: Deployment = object(
        json!({"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template}}),
    );
    within(api.create(&PostParams::default(), &web))
        .await
        .unwrap();
    let scale = within(api.get_scale("web")).await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(1));
    let patch = Patch::Merge(json!({"spec": {"replicas": 4}}));
    let scale = within(api.patch_scale("web", &PatchParams::default(), &patch))
        .await
        .unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(4));
    let before = within(api.get("web")).await.unwrap();
    assert_eq!(
        (before.spec.replicas, before.metadata.generation),
        (Some(4), Some(2))
    );
    let after = within(api.restart("web")).await.unwrap();
    assert_eq!(after.metadata.generation, Some(3));
    let status = Patch::Merge(json!({"status": {"replicas": 4, "observedGeneration": 3}}));
    let shown = within(api.patch_status("web", &PatchParams::default(), &status))
        .await
        .unwrap();
    assert_eq!(
        (shown.status.unwrap().replicas, shown.metadata.generation),
        (Some(4), Some(3))
    );
}

#[tokio::test]
async fn nodes_are_cordoned() {
    let (_sandbox, client) = start().await;
    let api: Api<Node> = Api::all(client);
    within(api.create(
        &PostParams::default(),
        &object(json!({"metadata": {"name": "n"}})),
    ))
    .await
    .unwrap();
    assert_eq!(
        within(api.cordon("n"))
            .await
            .unwrap()
            .spec
            .unwrap()
            .unschedulable,
        Some(true)
    );
    assert_ne!(
        within(api.uncordon("n"))
            .await
            .unwrap()
            .spec
            .unwrap_or_default()
            .unschedulable,
        Some(true)
    );
}

#[tokio::test]
async fn accounts_get_tokens_that_work() {
    let (sandbox, client) = start().await;
    let api: Api<ServiceAccount> = Api::default_namespaced(client);
    within(api.create(
        &PostParams::default(),
        &object(json!({"metadata": {"name": "robot"}})),
    ))
    .await
    .unwrap();
    let request =
        object(json!({"metadata": {}, "spec": {"audiences": [], "expirationSeconds": 3600}}));
    let answer = within(api.create_token_request("robot", &PostParams::default(), &request))
        .await
        .unwrap();
    let token = answer.status.unwrap().token.unwrap();
    let robot = sandbox.client_with(Some(&token));
    let refused = robot.get("/api/v1/namespaces/default/secrets").unwrap();
    assert_eq!(refused.status, 403);
    assert!(
        refused
            .text()
            .contains("system:serviceaccount:default:robot"),
        "{}",
        refused.text()
    );
}

#[tokio::test]
async fn reviews_say_who_may_what() {
    let (_sandbox, client) = start().await;
    let api: Api<SelfSubjectAccessReview> = Api::all(client);
    let review = object(
        json!({"metadata": {}, "spec": {"resourceAttributes": {"verb": "delete", "resource": "pods", "namespace": "default"}}}),
    );
    let answer = within(api.create(&PostParams::default(), &review))
        .await
        .unwrap();
    assert!(answer.status.unwrap().allowed);
}

/// Two candidates, one lease: who holds it renews it, the other is refused by version.
#[tokio::test]
async fn a_lease_has_one_holder() {
    let (_sandbox, client) = start().await;
    let api: Api<Lease> = Api::default_namespaced(client);
    let lease: Lease = object(json!({"metadata": {"name": "leader"}, "spec": {
        "holderIdentity": "a", "leaseDurationSeconds": 15, "acquireTime": "2026-01-02T03:04:05.678901Z", "renewTime": "2026-01-02T03:04:05.678901Z"}}));
    let first = within(api.create(&PostParams::default(), &lease))
        .await
        .unwrap();
    let spec = first.spec.clone().unwrap();
    assert_eq!(
        serde_json::to_value(spec.renew_time).unwrap(),
        "2026-01-02T03:04:05.678901Z"
    );
    let mut a = first.clone();
    a.spec.as_mut().unwrap().lease_transitions = Some(0);
    let mut b = first;
    b.spec.as_mut().unwrap().holder_identity = Some("b".into());
    let params = PostParams::default();
    let (a, b) = tokio::join!(
        within(api.replace("leader", &params, &a)),
        within(api.replace("leader", &params, &b)),
    );
    assert_eq!(usize::from(a.is_ok()) + usize::from(b.is_ok()), 1);
    assert_eq!(code(if a.is_err() { a } else { b }), 409);
}

#[tokio::test]
async fn lists_page_and_select() {
    let (_sandbox, client) = start().await;
    let api: Api<Secret> = Api::default_namespaced(client);
    for n in 0..7 {
        let secret = object(
            json!({"metadata": {"name": format!("s{n}"), "labels": {"even": (n % 2 == 0).to_string()}}, "stringData": {"k": "v"}}),
        );
        let made = within(api.create(&PostParams::default(), &secret))
            .await
            .unwrap();
        assert_eq!(made.type_.as_deref(), Some("Opaque"));
        assert_eq!(made.data.unwrap()["k"].0, b"v");
    }
    let even = within(api.list(&ListParams::default().labels("even=true")))
        .await
        .unwrap();
    assert_eq!(even.items.len(), 4);
    let mut params = ListParams::default().limit(3);
    let mut names = Vec::new();
    loop {
        let page = within(api.list(&params)).await.unwrap();
        names.extend(page.items.iter().map(ResourceExt::name_any));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(names, ["s0", "s1", "s2", "s3", "s4", "s5", "s6"]);
    let metadata = within(api.list_metadata(&ListParams::default()))
        .await
        .unwrap();
    assert_eq!(metadata.items.len(), 7);
}
