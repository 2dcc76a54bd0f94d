//! Where the objects of a kind are found: their path, and whether they live in namespaces.

use serde_json::Value;

/// One kind of object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_field_names,
    reason = "Kubernetes calls that part of a kind the kind"
)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
}

/// The kinds whose objects are looked at in every scenario.
const WATCHED: &[(&str, &str, &str, &str, bool)] = &[
    ("", "v1", "Namespace", "namespaces", false),
    ("", "v1", "PersistentVolume", "persistentvolumes", false),
    (
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
    ),
    (
        "apps",
        "v1",
        "ControllerRevision",
        "controllerrevisions",
        true,
    ),
    ("apps", "v1", "Deployment", "deployments", true),
    ("apps", "v1", "ReplicaSet", "replicasets", true),
    ("apps", "v1", "StatefulSet", "statefulsets", true),
    ("apps", "v1", "DaemonSet", "daemonsets", true),
    ("batch", "v1", "Job", "jobs", true),
    ("batch", "v1", "CronJob", "cronjobs", true),
    (
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        true,
    ),
    (
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        true,
    ),
    ("networking.k8s.io", "v1", "Ingress", "ingresses", true),
    (
        "discovery.k8s.io",
        "v1",
        "EndpointSlice",
        "endpointslices",
        true,
    ),
    ("", "v1", "Endpoints", "endpoints", true),
    ("", "v1", "Service", "services", true),
    (
        "",
        "v1",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        true,
    ),
    ("", "v1", "ResourceQuota", "resourcequotas", true),
    ("", "v1", "ServiceAccount", "serviceaccounts", true),
    ("", "v1", "ConfigMap", "configmaps", true),
    ("", "v1", "Secret", "secrets", true),
    ("", "v1", "Pod", "pods", true),
    ("", "v1", "Event", "events", true),
];

/// Kinds that scenarios give and nobody needs to look at.
const GIVEN: &[(&str, &str, &str, &str, bool)] = &[
    (
        "storage.k8s.io",
        "v1",
        "StorageClass",
        "storageclasses",
        false,
    ),
    (
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
        false,
    ),
    ("", "v1", "Node", "nodes", false),
    ("", "v1", "LimitRange", "limitranges", true),
    (
        "",
        "v1",
        "ReplicationController",
        "replicationcontrollers",
        true,
    ),
];

fn kind(row: &(&str, &str, &str, &str, bool)) -> Kind {
    Kind {
        group: row.0.into(),
        version: row.1.into(),
        kind: row.2.into(),
        plural: row.3.into(),
        namespaced: row.4,
    }
}

/// The kinds that are always watched.
pub(crate) fn watched() -> impl Iterator<Item = Kind> {
    WATCHED.iter().map(kind)
}

/// The kind of a name; `None` for one that is not built in.
pub(crate) fn named(name: &str) -> Option<Kind> {
    let known = WATCHED.iter().chain(GIVEN);
    known.filter(|row| row.2 == name).map(kind).next()
}

/// The kind of a manifest; that of a custom resource is namespaced and has a regular plural.
pub(crate) fn of(manifest: &Value) -> Kind {
    let text = |key: &str| manifest[key].as_str().unwrap_or("");
    if let Some(mut known) = named(text("kind")) {
        known.version = text("apiVersion").rsplit('/').next().unwrap_or("").into();
        return known;
    }
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", "v1"));
    Kind {
        group: group.into(),
        version: version.into(),
        kind: text("kind").into(),
        plural: format!("{}s", text("kind").to_lowercase()),
        namespaced: true,
    }
}

impl Kind {
    /// The path of all objects, in a namespace when they live in one.
    pub(crate) fn path(&self, namespace: &str) -> String {
        if self.namespaced {
            let root = self.root();
            format!("{root}/namespaces/{namespace}/{}", self.plural)
        } else {
            self.everywhere()
        }
    }

    /// The path of all objects of all namespaces.
    pub(crate) fn everywhere(&self) -> String {
        format!("{}/{}", self.root(), self.plural)
    }

    /// What a store calls them.
    pub(crate) fn storage(&self) -> String {
        format!("{}/{}", self.group, self.plural)
    }

    fn root(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(manifest: &Value, path: &str) {
        assert_eq!(of(manifest).path("ns"), path);
    }

    #[test]
    fn built_in_and_custom_kinds_have_paths() {
        check(
            &json!({"apiVersion": "v1", "kind": "Pod"}),
            "/api/v1/namespaces/ns/pods",
        );
        check(
            &json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}),
            "/apis/storage.k8s.io/v1/storageclasses",
        );
        check(
            &json!({"apiVersion": "shop.example/v1", "kind": "Order"}),
            "/apis/shop.example/v1/namespaces/ns/orders",
        );
    }
}
