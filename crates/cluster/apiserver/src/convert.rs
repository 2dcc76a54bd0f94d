//! Built-in kinds that are served in several versions, or under two groups, and stored in one.

use model::{GroupVersionKind, GroupVersionResource, Value};
use std::sync::Arc;

/// The version a kind's objects are stored in.
pub(crate) fn storage_kind(gvk: &GroupVersionKind) -> GroupVersionKind {
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("autoscaling", "HorizontalPodAutoscaler") => {
            GroupVersionKind::new("autoscaling", "v2", "HorizontalPodAutoscaler")
        }
        ("events.k8s.io", "Event") => GroupVersionKind::new("", "v1", "Event"),
        _ => gvk.clone(),
    }
}

/// Where the store keeps a resource: events of both groups are the same objects.
pub(crate) fn storage_key(gvr: &GroupVersionResource) -> Arc<str> {
    match (gvr.group.as_str(), gvr.resource.as_str()) {
        ("events.k8s.io", "events") => "/events".into(),
        (group, resource) => format!("{group}/{resource}").into(),
    }
}

/// Brings an object with its type from one version to another.
pub(crate) fn convert(object: &mut Value, from: &GroupVersionKind, to: &GroupVersionKind) {
    if from != to {
        kinds::convert(object, from, to);
        object["apiVersion"] = Value::String(to.api_version());
        object["kind"] = Value::String(to.kind.clone());
        // What the other version leaves out when it is zero is left out here too. A converted
        // object is of the right shape, so decoding cannot fail.
        let _ = gotypes::decode(to, object);
    }
}
