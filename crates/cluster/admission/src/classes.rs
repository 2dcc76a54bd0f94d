//! Small defaults taken from the cluster: tolerations, default classes, protection finalizers; and
//! the rule that only some claims may grow.

use crate::{Cluster, Operation, Review};
use model::{ApiError, Quantity, Value, json, meta};
use std::cmp::Reverse;
use std::sync::Arc;

/// Lets pods stay five minutes on nodes that are not ready or unreachable.
pub fn tolerations(review: &Review<'_>, pod: &mut Value) {
    if !review.is("", "pods") {
        return;
    }
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let tolerates = |t: &Value| {
            let text = |field| t.get(field).and_then(Value::as_str).unwrap_or("");
            (text("key") == key || text("key").is_empty())
                && matches!(text("effect"), "NoExecute" | "")
        };
        if meta::entries(pod, "/spec/tolerations").any(tolerates) {
            continue;
        }
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
            return;
        };
        let slot = spec.entry("tolerations").or_insert_with(|| json!([]));
        if slot.is_null() {
            *slot = json!([]);
        }
        if let Some(list) = slot.as_array_mut() {
            list.push(json!({
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }));
        }
    }
}

fn newest_default(classes: Vec<Arc<Value>>, marks: &[&str]) -> Option<String> {
    let marked = |class: &Arc<Value>| {
        let mut marks = marks.iter();
        marks.any(|mark| meta::annotation(class, mark) == Some("true"))
    };
    let defaults = classes.iter().filter(|class| marked(class));
    let first =
        defaults.min_by_key(|class| (Reverse(meta::creation_timestamp(class)), meta::name(class)));
    first.map(|class| meta::name(class).to_owned())
}

/// Gives a new claim the newest default StorageClass.
pub fn storage_class(review: &Review<'_>, claim: &mut Value, cluster: &dyn Cluster) {
    let asked = || {
        claim
            .pointer("/spec/storageClassName")
            .is_some_and(|c| !c.is_null())
            || meta::annotation(claim, "volume.beta.kubernetes.io/storage-class").is_some()
    };
    let new = review.operation == Operation::Create;
    if !new || !review.is("", "persistentvolumeclaims") || asked() {
        return;
    }
    let classes = cluster.list("storage.k8s.io", "storageclasses", None);
    let marks = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    if let Some(name) = newest_default(classes, &marks) {
        set(claim, "storageClassName", name);
    }
}

/// Gives a new Ingress the newest default IngressClass.
pub fn ingress_class(review: &Review<'_>, ingress: &mut Value, cluster: &dyn Cluster) {
    let asked = || {
        ingress
            .pointer("/spec/ingressClassName")
            .is_some_and(|c| !c.is_null())
            || meta::annotation(ingress, "kubernetes.io/ingress.class").is_some()
    };
    let new = review.operation == Operation::Create;
    if !new || !review.is("networking.k8s.io", "ingresses") || asked() {
        return;
    }
    let classes = cluster.list("networking.k8s.io", "ingressclasses", None);
    if let Some(name) = newest_default(classes, &["ingressclass.kubernetes.io/is-default-class"]) {
        set(ingress, "ingressClassName", name);
    }
}

fn set(object: &mut Value, field: &str, name: String) {
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert(field.into(), Value::String(name));
    }
}

/// Adds the finalizers that keep volumes and claims while they are in use.
pub fn protection(review: &Review<'_>, object: &mut Value) {
    if review.operation != Operation::Create {
        return;
    }
    let finalizer = if review.is("", "persistentvolumeclaims") {
        "kubernetes.io/pvc-protection"
    } else if review.is("", "persistentvolumes") {
        "kubernetes.io/pv-protection"
    } else if review.is("storage.k8s.io", "volumeattributesclasses") {
        "kubernetes.io/vac-protection"
    } else {
        return;
    };
    if meta::finalizers(object).any(|f| f == finalizer) {
        return;
    }
    let slot = meta::metadata_mut(object)
        .entry("finalizers")
        .or_insert_with(|| json!([]));
    if slot.is_null() {
        *slot = json!([]);
    }
    if let Some(list) = slot.as_array_mut() {
        list.push(json!(finalizer));
    }
}

/// Keeps Pods off a Node that has not said yet that it is ready.
pub fn not_ready(review: &Review<'_>, node: &mut Value) {
    const KEY: &str = "node.kubernetes.io/not-ready";
    if review.operation != Operation::Create || !review.is("", "nodes") {
        return;
    }
    let taint = json!({"key": KEY, "effect": "NoSchedule"});
    let Some(spec) = node.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let slot = spec.entry("taints").or_insert_with(|| json!([]));
    if slot.is_null() {
        *slot = json!([]);
    }
    if let Some(list) = slot.as_array_mut()
        && !list
            .iter()
            .any(|t| t["key"] == KEY && t["effect"] == "NoSchedule")
    {
        list.push(taint);
    }
}

fn class_of(claim: &Value) -> &str {
    meta::annotation(claim, "volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| meta::text_at(claim, "/spec/storageClassName"))
}

/// Refuses growth of claims that are not bound, or whose class does not allow it.
pub fn resize(review: &Review<'_>, cluster: &dyn Cluster) -> Result<(), ApiError> {
    let claim = review
        .object
        .filter(|_| review.is("", "persistentvolumeclaims"));
    let (Some(new), Some(old), Operation::Update) = (claim, review.old, review.operation) else {
        return Ok(());
    };
    let size = |claim: &Value| {
        let asked = claim.pointer("/spec/resources/requests/storage");
        asked
            .and_then(Quantity::from_json)
            .unwrap_or(Quantity::ZERO)
    };
    if size(new) <= size(old) {
        return Ok(());
    }
    if meta::text_at(old, "/status/phase") != "Bound" {
        return Err(review.forbidden("Only bound persistent volume claims can be expanded"));
    }
    let name = class_of(new);
    let class = cluster.get("storage.k8s.io", "storageclasses", "", name);
    let grows = class.is_some_and(|c| c.get("allowVolumeExpansion") == Some(&json!(true)));
    if name.is_empty() || name != class_of(old) || !grows {
        return Err(review.forbidden(
            "only dynamically provisioned pvc can be resized and \
             the storageclass that provisions the pvc must support resize",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fake, Request};

    #[test]
    fn tolerations_are_added_unless_tolerated_already() {
        let tolerated = |spec: Value| {
            let request = Request::pod("dev", spec);
            let mut pod = request.object.clone();
            tolerations(&request.review(), &mut pod);
            meta::entries(&pod, "/spec/tolerations")
                .map(|t| t["key"].as_str().unwrap_or("*").to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            tolerated(json!({})),
            "node.kubernetes.io/not-ready node.kubernetes.io/unreachable"
        );
        assert_eq!(
            tolerated(json!({"tolerations": [{"operator": "Exists"}]})),
            "*"
        );
        assert_eq!(
            tolerated(
                json!({"tolerations": [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}, {"key": "node.kubernetes.io/not-ready"}]})
            ),
            "node.kubernetes.io/unreachable node.kubernetes.io/not-ready node.kubernetes.io/unreachable"
        );
    }

    #[test]
    fn the_newest_default_class_wins() {
        let class = |name: &str, mark: &str, time: &str| json!({"metadata": {"name": name, "creationTimestamp": time, "annotations": {mark: "true"}}});
        let storage = "storageclass.kubernetes.io/is-default-class";
        let cluster = Fake::default()
            .with(
                "storage.k8s.io/storageclasses",
                &[
                    class("old", storage, "2026-01-01T00:00:00Z"),
                    class("b", storage, "2026-01-02T00:00:00Z"),
                    class("a", storage, "2026-01-02T00:00:00Z"),
                    class("none", "x", "2026-01-03T00:00:00Z"),
                ],
            )
            .with(
                "networking.k8s.io/ingressclasses",
                &[class(
                    "nginx",
                    "ingressclass.kubernetes.io/is-default-class",
                    "2026-01-01T00:00:00Z",
                )],
            );
        let given = |spec: Value| {
            let request = Request::create(
                "persistentvolumeclaims",
                "dev",
                json!({"metadata": {"name": "c"}, "spec": spec}),
            );
            let mut claim = request.object.clone();
            storage_class(&request.review(), &mut claim, &cluster);
            protection(&request.review(), &mut claim);
            assert_eq!(
                claim["metadata"]["finalizers"],
                json!(["kubernetes.io/pvc-protection"])
            );
            claim["spec"]["storageClassName"].clone()
        };
        assert_eq!(given(json!({})), "a");
        assert_eq!(given(json!({"storageClassName": ""})), "");

        let request = Request::create(
            "networking.k8s.io/v1/ingresses",
            "dev",
            json!({"metadata": {"name": "i"}, "spec": {}}),
        );
        let mut ingress = request.object.clone();
        ingress_class(&request.review(), &mut ingress, &cluster);
        assert_eq!(ingress["spec"]["ingressClassName"], "nginx");
    }

    #[test]
    fn only_bound_claims_of_growing_classes_grow() {
        let cluster = Fake::default().with(
            "storage.k8s.io/storageclasses",
            &[json!({"metadata": {"name": "grow"}, "allowVolumeExpansion": true})],
        );
        let claim = |class: &str, size: &str, phase: &str| json!({"metadata": {"name": "c"}, "spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}}, "status": {"phase": phase}});
        let ask = |class: &str, to: &str, phase: &str| {
            let request = Request::update(
                "persistentvolumeclaims",
                "dev",
                claim(class, to, phase),
                claim(class, "1Gi", phase),
            );
            resize(&request.review(), &cluster).map_err(|e| e.message)
        };
        assert_eq!(ask("grow", "2Gi", "Bound"), Ok(()));
        assert_eq!(ask("stuck", "1Gi", "Pending"), Ok(()));
        assert_eq!(
            ask("grow", "2Gi", "Pending").unwrap_err(),
            "persistentvolumeclaims \"c\" is forbidden: Only bound persistent volume claims can be expanded"
        );
        assert_eq!(
            ask("stuck", "2Gi", "Bound").unwrap_err(),
            "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
        );
    }
}
