//! Workloads in virtual time.

mod support;

use model::json;
use support::{World, deployment};

#[test]
fn a_deployment_gets_ready() {
    let world = World::new();
    world.create(
        "/apis/apps/v1/namespaces/default/deployments",
        &deployment("web", 2),
    );
    world.advance(10);
    let web = world.get("/apis/apps/v1/namespaces/default/deployments/web");
    assert_eq!(web["status"]["availableReplicas"], 2, "{web:#}");
    assert_eq!(
        web["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "1"
    );
    let conditions: Vec<_> = web["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| json!([c["type"], c["status"], c["reason"]]))
        .collect();
    assert_eq!(
        json!(conditions),
        json!([
            ["Available", "True", "MinimumReplicasAvailable"],
            ["Progressing", "True", "NewReplicaSetAvailable"],
        ])
    );
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[test]
fn the_same_seed_gives_the_same_cluster() {
    let run = || {
        let world = World::new();
        world.create(DEPLOYMENTS, &deployment("web", 3));
        world.advance(30);
        let pods = world.list("/api/v1/namespaces/default/pods");
        json!(pods)
    };
    assert_eq!(run(), run());
}

#[test]
fn a_rollout_keeps_enough_pods_and_can_be_undone() {
    let world = World::new();
    world.create(DEPLOYMENTS, &deployment("web", 4));
    world.advance(10);
    let image = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}});
    world.patch(&format!("{DEPLOYMENTS}/web"), &image("nginx:2"));
    world.advance(60);
    world.patch(&format!("{DEPLOYMENTS}/web"), &image("nginx:1"));
    world.advance(60);
    let web = world.get(&format!("{DEPLOYMENTS}/web"));
    assert_eq!(
        web["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "3"
    );
    assert_eq!(web["status"]["availableReplicas"], 4, "{web:#}");
    let sets = world.list("/apis/apps/v1/namespaces/default/replicasets");
    let mut revisions: Vec<String> = sets
        .iter()
        .map(|s| {
            let notes = &s["metadata"]["annotations"];
            format!(
                "{} after {}",
                notes["deployment.kubernetes.io/revision"],
                notes["deployment.kubernetes.io/revision-history"]
            )
        })
        .collect();
    revisions.sort();
    assert_eq!(revisions, ["\"2\" after null", "\"3\" after \"1\""]);
}

#[test]
fn a_quota_is_told_of() {
    let world = World::new();
    world.create(
        "/api/v1/namespaces/default/resourcequotas",
        &json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"pods": "1"}}}),
    );
    world.advance(1);
    world.create(DEPLOYMENTS, &deployment("web", 3));
    world.advance(5);
    let told = world.conditions(&format!("{DEPLOYMENTS}/web"));
    let failure = told
        .iter()
        .find(|c| c.starts_with("ReplicaFailure=True FailedCreate"));
    assert!(
        failure.is_some_and(|c| c.contains("exceeded quota: small")),
        "{told:#?}"
    );
    let events = world.events("ReplicaSet");
    assert!(
        events
            .iter()
            .any(|e| e.contains("FailedCreate: Error creating: pods ")
                && e.contains("exceeded quota: small")),
        "{events:#?}"
    );
}

#[test]
fn a_node_that_is_full_says_so() {
    let world = World::new();
    let mut big = deployment("big", 1);
    big["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"requests": {"cpu": "9000"}});
    world.create(DEPLOYMENTS, &big);
    world.advance(5);
    let pods = world.list("/api/v1/namespaces/default/pods");
    assert_eq!(
        pods[0]["status"]["conditions"][0]["message"],
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    );
}

#[test]
fn an_autoscaler_follows_its_script() {
    let world = World::new();
    world.create(DEPLOYMENTS, &deployment("web", 1));
    world.create(
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
        &json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "annotations": {"sandbox.tiphys.dev/cpu": "40%, 180% after 30s, 20% after 5m"}},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 1, "maxReplicas": 3,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}],
            },
        }),
    );
    let replicas = || world.get(&format!("{DEPLOYMENTS}/web"))["spec"]["replicas"].clone();
    world.advance(20);
    assert_eq!(replicas(), 1);
    world.advance(40);
    assert_eq!(replicas(), 3);
    world.advance(400);
    assert_eq!(replicas(), 3, "recent load counts for five minutes");
    world.advance(300);
    assert_eq!(replicas(), 1);
    let events = world.events("HorizontalPodAutoscaler");
    assert!(
        events[0].contains(
            "New size: 3; reason: cpu resource utilization (percentage of request) above target"
        ),
        "{events:#?}"
    );
}
