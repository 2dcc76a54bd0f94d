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
