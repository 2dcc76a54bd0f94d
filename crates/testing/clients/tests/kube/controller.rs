//! A whole controller: an object of its own kind, and a ConfigMap it owns.

use crate::apply::widgets;
use crate::{object, start, within};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

struct Context {
    client: Client,
    calls: AtomicU32,
}

// Keeps a ConfigMap that says how large the widget is.
async fn reconcile(
    widget: Arc<DynamicObject>,
    context: Arc<Context>,
) -> Result<Action, kube::Error> {
    context.calls.fetch_add(1, Ordering::SeqCst);
    if widget.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let api: Api<ConfigMap> = Api::default_namespaced(context.client.clone());
    let owner = json!([{"apiVersion": "clients.example.com/v1", "kind": "Widget", "name": widget.name_any(), "uid": widget.uid(), "controller": true}]);
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": widget.name_any(), "ownerReferences": owner},
        "data": {"size": widget.data["spec"]["size"].to_string()}});
    api.patch(
        &widget.name_any(),
        &PatchParams::apply("controller").force(),
        &Patch::Apply(wanted),
    )
    .await?;
    Ok(Action::await_change())
}

#[tokio::test]
async fn a_controller_keeps_what_it_owns() {
    let (_sandbox, client) = start().await;
    let api = widgets(&client).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let context = Arc::new(Context {
        client: client.clone(),
        calls: AtomicU32::new(0),
    });
    let gvk = kube::core::GroupVersionKind::gvk("clients.example.com", "v1", "Widget");
    let (resource, _) = within(kube::discovery::pinned_kind(&client, &gvk))
        .await
        .unwrap();
    let controller = Controller::new_with(api.clone(), watcher::Config::default(), resource)
        .owns(maps.clone(), watcher::Config::default().streaming_lists())
        .run(
            reconcile,
            |_, error, _| panic!("{error:?}"),
            context.clone(),
        )
        .for_each(|_| std::future::ready(()));
    let running = tokio::spawn(controller);

    let widget: DynamicObject = object(
        json!({"apiVersion": "clients.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}),
    );
    let widget = within(api.create(&PostParams::default(), &widget))
        .await
        .unwrap();
    let says = |size: &'static str| {
        move |map: Option<&ConfigMap>| {
            map.and_then(|m| m.data.as_ref())
                .is_some_and(|d| d.get("size").is_some_and(|s| s == size))
        }
    };
    let first = within(await_condition(maps.clone(), "w", says("1")))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(first.owner_references()[0].uid, widget.uid().unwrap());

    // The owner changes; the owned is changed by hand; the owned is removed.
    within(api.patch(
        "w",
        &PatchParams::default(),
        &Patch::Merge(json!({"spec": {"size": 2}})),
    ))
    .await
    .unwrap();
    within(await_condition(maps.clone(), "w", says("2")))
        .await
        .unwrap();
    within(maps.patch(
        "w",
        &PatchParams::default(),
        &Patch::Merge(json!({"data": {"size": "wrong"}})),
    ))
    .await
    .unwrap();
    within(await_condition(maps.clone(), "w", says("2")))
        .await
        .unwrap();
    within(maps.delete("w", &DeleteParams::default()))
        .await
        .unwrap();
    within(await_condition(
        maps.clone(),
        "w",
        conditions::is_deleted(&first.uid().unwrap()),
    ))
    .await
    .unwrap();
    let second = within(await_condition(maps.clone(), "w", says("2")))
        .await
        .unwrap()
        .unwrap();
    assert_ne!(second.uid(), first.uid());

    // Nothing more to do: it rests.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let calls = context.calls.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(
        context.calls.load(Ordering::SeqCst),
        calls,
        "a controller that never rests"
    );

    // The widget goes, and the collector takes the map.
    within(api.delete("w", &DeleteParams::background()))
        .await
        .unwrap();
    within(await_condition(
        maps,
        "w",
        conditions::is_deleted(&second.uid().unwrap()),
    ))
    .await
    .unwrap();
    running.abort();
}
