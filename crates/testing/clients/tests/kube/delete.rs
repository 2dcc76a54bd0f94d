//! Deletes in each propagation, finalizers, and waiting for the end.

use crate::{code, object, start, within};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use std::sync::Arc;

async fn make(api: &Api<ConfigMap>, name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let owners = owner.map(|o| {
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": o.name_any(), "uid": o.uid(), "blockOwnerDeletion": true}])
    });
    let map = object(json!({"metadata": {"name": name, "ownerReferences": owners}}));
    within(api.create(&PostParams::default(), &map))
        .await
        .unwrap()
}

async fn gone(api: &Api<ConfigMap>, object: &ConfigMap) {
    let (name, uid) = (object.name_any(), object.uid().unwrap());
    within(await_condition(
        api.clone(),
        &name,
        conditions::is_deleted(&uid),
    ))
    .await
    .unwrap();
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(client)
}

#[tokio::test]
async fn in_the_background_dependents_follow_their_owner() {
    let (_sandbox, client) = start().await;
    let api = maps(client);
    let owner = make(&api, "owner", None).await;
    let child = make(&api, "child", Some(&owner)).await;
    let grandchild = make(&api, "grandchild", Some(&child)).await;
    let answer = within(api.delete("owner", &DeleteParams::background()))
        .await
        .unwrap();
    assert!(
        answer.right().is_some_and(|status| status.is_success()),
        "gone at once"
    );
    gone(&api, &child).await;
    gone(&api, &grandchild).await;
}

#[tokio::test]
async fn in_the_foreground_the_owner_goes_last() {
    let (_sandbox, client) = start().await;
    let api = maps(client);
    let owner = make(&api, "owner", None).await;
    let child = make(&api, "child", Some(&owner)).await;
    let hold = Patch::Merge(json!({"metadata": {"finalizers": ["e2e.example.com/hold"]}}));
    within(api.patch("child", &PatchParams::default(), &hold))
        .await
        .unwrap();
    let answer = within(api.delete("owner", &DeleteParams::foreground()))
        .await
        .unwrap();
    let leaving = answer.left().expect("the object, on its way out");
    assert!(leaving.metadata.deletion_timestamp.is_some());
    assert_eq!(leaving.finalizers(), ["foregroundDeletion"]);
    let has_gone_astray = within(async {
        loop {
            let child = api.get("child").await.unwrap();
            if child.metadata.deletion_timestamp.is_some() {
                return api.get_opt("owner").await.unwrap().is_none();
            }
        }
    });
    assert!(!has_gone_astray.await, "the owner waits for its dependent");
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    within(api.patch("child", &PatchParams::default(), &release))
        .await
        .unwrap();
    gone(&api, &child).await;
    gone(&api, &owner).await;
}

#[tokio::test]
async fn orphans_stay() {
    let (_sandbox, client) = start().await;
    let api = maps(client);
    let owner = make(&api, "owner", None).await;
    make(&api, "child", Some(&owner)).await;
    within(api.delete("owner", &DeleteParams::orphan()))
        .await
        .unwrap();
    gone(&api, &owner).await;
    let child = within(api.get("child")).await.unwrap();
    assert!(child.owner_references().is_empty(), "{child:?}");
    assert!(child.metadata.deletion_timestamp.is_none());
}

#[tokio::test]
async fn preconditions_hold_deletes_back() {
    let (_sandbox, client) = start().await;
    let api = maps(client);
    let map = make(&api, "m", None).await;
    let of = |uid: Option<String>, version: Option<String>| DeleteParams {
        preconditions: Some(Preconditions {
            uid,
            resource_version: version,
        }),
        ..DeleteParams::default()
    };
    assert_eq!(
        code(within(api.delete("m", &of(Some("other".into()), None))).await),
        409
    );
    assert_eq!(
        code(within(api.delete("m", &of(None, Some("1".into())))).await),
        409
    );
    within(api.delete("m", &DeleteParams::default().dry_run()))
        .await
        .unwrap();
    assert!(within(api.get_opt("m")).await.unwrap().is_some());
    within(api.delete("m", &of(map.uid(), map.resource_version())))
        .await
        .unwrap();
    assert!(within(api.get_opt("m")).await.unwrap().is_none());
}

#[tokio::test]
async fn whole_collections_go() {
    let (_sandbox, client) = start().await;
    let api: Api<Pod> = Api::default_namespaced(client);
    for n in 0..5 {
        let pod = object(
            json!({"metadata": {"name": format!("p{n}"), "labels": {"group": (n % 2).to_string()}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
        );
        within(api.create(&PostParams::default(), &pod))
            .await
            .unwrap();
    }
    within(api.delete_collection(
        &DeleteParams::default(),
        &ListParams::default().labels("group=0"),
    ))
    .await
    .unwrap();
    let left = within(api.list(&ListParams::default())).await.unwrap();
    let names: Vec<String> = left
        .items
        .iter()
        .filter(|p| p.metadata.deletion_timestamp.is_none())
        .map(ResourceExt::name_any)
        .collect();
    assert_eq!(names, ["p1", "p3"]);
}

#[tokio::test]
async fn a_namespace_takes_everything_with_it() {
    let (_sandbox, client) = start().await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let made = within(namespaces.create(
        &PostParams::default(),
        &object(json!({"metadata": {"name": "brief"}})),
    ))
    .await
    .unwrap();
    let inside: Api<ConfigMap> = Api::namespaced(client, "brief");
    make(&inside, "m", None).await;
    within(namespaces.delete("brief", &DeleteParams::default()))
        .await
        .unwrap();
    within(await_condition(
        namespaces.clone(),
        "brief",
        conditions::is_deleted(&made.uid().unwrap()),
    ))
    .await
    .unwrap();
    assert!(within(inside.get_opt("m")).await.unwrap().is_none());
    let late = object::<ConfigMap>(json!({"metadata": {"name": "late"}}));
    assert_eq!(
        code(within(inside.create(&PostParams::default(), &late)).await),
        404
    );
}

/// kube-rs' own helper: adds its finalizer, is called, cleans up, lets go.
#[tokio::test]
async fn the_finalizer_helper_works() {
    const NAME: &str = "e2e.example.com/cleanup";
    let (_sandbox, client) = start().await;
    let api = maps(client);
    let map = make(&api, "m", None).await;
    let step = async |object: ConfigMap| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let reconcile = |event: Event<ConfigMap>| {
            let word = match event {
                Event::Apply(_) => "apply",
                Event::Cleanup(_) => "cleanup",
            };
            sender.send(word).unwrap();
            std::future::ready(Ok::<_, std::convert::Infallible>(Action::await_change()))
        };
        within(finalizer(&api, NAME, Arc::new(object), reconcile))
            .await
            .unwrap();
        receiver.try_recv().ok()
    };
    assert_eq!(
        step(map.clone()).await,
        None,
        "first it puts its finalizer on"
    );
    let now = within(api.get("m")).await.unwrap();
    assert_eq!(now.finalizers(), [NAME]);
    assert_eq!(step(now).await, Some("apply"));
    within(api.delete("m", &DeleteParams::default()))
        .await
        .unwrap();
    let now = within(api.get("m")).await.unwrap();
    assert_eq!(step(now).await, Some("cleanup"));
    gone(&api, &map).await;
}

#[tokio::test]
async fn conditions_are_waited_for() {
    let (_sandbox, client) = start().await;
    let api: Api<Pod> = Api::default_namespaced(client);
    let running = tokio::spawn(await_condition(
        api.clone(),
        "p",
        conditions::is_pod_running(),
    ));
    let pod = object(
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
    );
    within(api.create(&PostParams::default(), &pod))
        .await
        .unwrap();
    assert!(!running.is_finished());
    let status = Patch::Merge(json!({"status": {"phase": "Running"}}));
    within(api.patch_status("p", &PatchParams::default(), &status))
        .await
        .unwrap();
    let seen = within(running).await.unwrap().unwrap().unwrap();
    assert_eq!(seen.status.unwrap().phase.as_deref(), Some("Running"));
}
