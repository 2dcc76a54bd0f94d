//! Discovery in kube-rs' three ways, and what the server says of itself.

use crate::apply::widgets;
use crate::{start, within};
use kube::core::{GroupVersion, GroupVersionKind};
use kube::discovery::{self, Discovery, Scope, verbs};

fn check(found: &Discovery) {
    for group in [
        "",
        "apps",
        "batch",
        "rbac.authorization.k8s.io",
        "clients.example.com",
    ] {
        assert!(found.has_group(group), "{group}");
    }
    let (resource, can) = found
        .resolve_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment"))
        .unwrap();
    assert_eq!(resource.plural, "deployments");
    assert_eq!(can.scope, Scope::Namespaced);
    assert!(can.supports_operation(verbs::WATCH));
    assert!(
        can.subresources
            .iter()
            .any(|(sub, _)| sub.plural.ends_with("scale"))
    );
    let (_, node) = found
        .resolve_gvk(&GroupVersionKind::gvk("", "v1", "Node"))
        .unwrap();
    assert_eq!(node.scope, Scope::Cluster);
    let (widget, _) = found
        .resolve_gvk(&GroupVersionKind::gvk(
            "clients.example.com",
            "v1",
            "Widget",
        ))
        .unwrap();
    assert_eq!(widget.plural, "widgets");
}

#[tokio::test]
async fn the_legacy_way_and_the_aggregated_way_agree() {
    let (_sandbox, client) = start().await;
    widgets(&client).await;
    let legacy = within(Discovery::new(client.clone()).run()).await.unwrap();
    let aggregated = within(Discovery::new(client.clone()).run_aggregated())
        .await
        .unwrap();
    check(&legacy);
    check(&aggregated);
    let kinds = |found: &Discovery| {
        let mut all: Vec<String> = found
            .groups()
            .flat_map(|group| {
                group
                    .versions()
                    .flat_map(|version| {
                        let resources = group.versioned_resources(version);
                        resources.into_iter().map(|(r, c)| {
                            format!(
                                "{} {} {:?} {:?}",
                                r.api_version, r.kind, c.scope, c.operations
                            )
                        })
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        all.sort();
        all
    };
    let (legacy, aggregated) = (kinds(&legacy), kinds(&aggregated));
    assert!(legacy.len() > 60, "{}", legacy.len());
    assert_eq!(legacy, aggregated);
}

#[tokio::test]
async fn one_group_and_one_kind_can_be_asked_for() {
    let (_sandbox, client) = start().await;
    let apps = within(discovery::group(&client, "apps")).await.unwrap();
    assert!(apps.recommended_kind("StatefulSet").is_some());
    let pinned = within(discovery::pinned_group(
        &client,
        &GroupVersion::gv("batch", "v1"),
    ))
    .await
    .unwrap();
    assert!(pinned.recommended_kind("Job").is_some());
    let missing = GroupVersionKind::gvk("apps", "v1", "Nonsense");
    assert!(
        within(discovery::pinned_kind(&client, &missing))
            .await
            .is_err()
    );
    let version = within(client.apiserver_version()).await.unwrap();
    assert_eq!(
        (version.major.as_str(), version.minor.as_str()),
        ("1", "36")
    );
    let groups = within(client.list_api_groups()).await.unwrap();
    assert!(groups.groups.iter().any(|g| g.name == "apps"));
}
