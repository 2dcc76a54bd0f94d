//! Server-side apply, conflicts, dry runs, custom resources.

use crate::{code, object, start, within};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

pub(crate) fn definition() -> CustomResourceDefinition {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer", "default": 3, "minimum": 0},
            "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "text": {"type": "string"}}}},
        }},
        "status": {"type": "object", "properties": {"seen": {"type": "integer"}, "replicas": {"type": "integer"}}},
    }});
    object(
        json!({"metadata": {"name": "widgets.clients.example.com"}, "spec": {
            "group": "clients.example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}}}],
        }}),
    )
}

/// Makes the kind and waits for it.
pub(crate) async fn widgets(client: &Client) -> Api<DynamicObject> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    within(definitions.create(&PostParams::default(), &definition()))
        .await
        .unwrap();
    let established = await_condition(
        definitions,
        "widgets.clients.example.com",
        conditions::is_crd_established(),
    );
    within(established).await.unwrap();
    let gvk = GroupVersionKind::gvk("clients.example.com", "v1", "Widget");
    let (resource, _) = within(kube::discovery::pinned_kind(client, &gvk))
        .await
        .unwrap();
    Api::default_namespaced_with(client.clone(), &resource)
}

fn deployment(image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}},
    }})
}

#[tokio::test]
async fn typed_objects_are_applied() {
    let (_sandbox, client) = start().await;
    let api: Api<Deployment> = Api::default_namespaced(client);
    let ours = PatchParams::apply("ours");
    let made = within(api.patch("web", &ours, &Patch::Apply(deployment("one"))))
        .await
        .unwrap();
    assert_eq!(made.spec.replicas, Some(1));
    assert_eq!(made.managed_fields()[0].manager.as_deref(), Some("ours"));
    let again = within(api.patch("web", &ours, &Patch::Apply(deployment("one"))))
        .await
        .unwrap();
    assert_eq!(
        again.resource_version(),
        made.resource_version(),
        "nothing changed"
    );

    // Somebody else wants another image: refused, then forced.
    let theirs = PatchParams::apply("theirs");
    let conflict = within(api.patch("web", &theirs, &Patch::Apply(deployment("two")))).await;
    let kube::Error::Api(status) = conflict.unwrap_err() else {
        panic!("no answer")
    };
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    let cause = &status.details.unwrap().causes[0];
    assert_eq!(cause.reason, "FieldManagerConflict");
    assert_eq!(cause.message, "conflict with \"ours\"");
    assert_eq!(
        cause.field,
        ".spec.template.spec.containers[name=\"c\"].image"
    );
    let forced = within(api.patch(
        "web",
        &theirs.clone().force(),
        &Patch::Apply(deployment("two")),
    ))
    .await
    .unwrap();
    let image = forced.spec.template.spec.unwrap().containers[0]
        .image
        .clone();
    assert_eq!(image.as_deref(), Some("two"));
}

#[tokio::test]
async fn custom_objects_are_applied_as_dynamic_ones() {
    let (_sandbox, client) = start().await;
    let api = widgets(&client).await;
    let widget = |parts: Value| json!({"apiVersion": "clients.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"parts": parts}});
    let one = Patch::Apply(widget(json!([{"name": "a", "text": "1"}])));
    let made = within(api.patch("w", &PatchParams::apply("one"), &one))
        .await
        .unwrap();
    assert_eq!(
        made.data["spec"]["size"], 3,
        "defaults come from the schema"
    );
    let two = Patch::Apply(widget(json!([{"name": "b", "text": "2"}])));
    let both = within(api.patch("w", &PatchParams::apply("two"), &two))
        .await
        .unwrap();
    assert_eq!(
        both.data["spec"]["parts"].as_array().unwrap().len(),
        2,
        "lists merge by key"
    );
    let less = Patch::Apply(widget(json!([])));
    let left = within(api.patch("w", &PatchParams::apply("one"), &less))
        .await
        .unwrap();
    assert_eq!(
        left.data["spec"]["parts"],
        json!([{"name": "b", "text": "2"}])
    );

    let status = Patch::Merge(json!({"status": {"seen": 1}, "spec": {"size": 9}}));
    let shown = within(api.patch_status("w", &PatchParams::default(), &status))
        .await
        .unwrap();
    assert_eq!(
        (&shown.data["status"]["seen"], &shown.data["spec"]["size"]),
        (&json!(1), &json!(3))
    );
    let scale = within(api.patch_scale(
        "w",
        &PatchParams::default(),
        &Patch::Merge(json!({"spec": {"replicas": 5}})),
    ))
    .await
    .unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(5));

    let wrong = Patch::Merge(json!({"spec": {"size": -1}}));
    assert_eq!(
        code(within(api.patch("w", &PatchParams::default(), &wrong)).await),
        422
    );
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let (_sandbox, client) = start().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let map: ConfigMap = object(json!({"metadata": {"name": "dry"}, "data": {"a": "1"}}));
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let shown = within(api.create(&dry, &map)).await.unwrap();
    assert!(shown.uid().is_some());
    assert!(within(api.get_opt("dry")).await.unwrap().is_none());
    within(api.create(&PostParams::default(), &map))
        .await
        .unwrap();
    let patch = Patch::Merge(json!({"data": {"a": "2"}}));
    let shown = within(api.patch("dry", &PatchParams::default().dry_run(), &patch))
        .await
        .unwrap();
    assert_eq!(shown.data.unwrap()["a"], "2");
    assert_eq!(
        within(api.get("dry")).await.unwrap().data.unwrap()["a"],
        "1"
    );
}

#[tokio::test]
async fn writes_against_an_old_version_are_refused() {
    let (_sandbox, client) = start().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let map: ConfigMap = object(json!({"metadata": {"name": "old"}, "data": {"a": "1"}}));
    let first = within(api.create(&PostParams::default(), &map))
        .await
        .unwrap();
    let mut newer = first.clone();
    newer.data.as_mut().unwrap().insert("a".into(), "2".into());
    within(api.replace("old", &PostParams::default(), &newer))
        .await
        .unwrap();
    assert_eq!(
        code(within(api.replace("old", &PostParams::default(), &first)).await),
        409
    );
    assert_eq!(
        code(within(api.create(&PostParams::default(), &map)).await),
        409
    );
    let strict = PatchParams::default().validation_strict();
    let unknown = Patch::Merge(json!({"nope": 1}));
    assert_eq!(code(within(api.patch("old", &strict, &unknown)).await), 422);
}
