//! Gives namespaces their accounts, and empties those that go.

use super::{MANAGER, request, set_condition};
use crate::registry::ResourceType;
use crate::request::{Method, Request};
use crate::state::State;
use model::{Timestamp, Value, json, meta};
use std::collections::BTreeMap;

/// Looks at one namespace.
pub(super) fn step(state: &State, name: &str, now: Timestamp) -> Vec<Request> {
    match state.namespace(name) {
        None => Vec::new(),
        Some(true) => ensure_defaults(state, name),
        Some(false) => empty(state, name, now),
    }
}

/// The account and the CA certificate that every namespace has.
pub(super) fn ensure_defaults(state: &State, name: &str) -> Vec<Request> {
    if state.namespace(name) != Some(true) {
        return Vec::new();
    }
    let mut requests = Vec::new();
    let missing =
        |storage: &str, object: &str| state.memory.get_parts(storage, name, object).is_none();
    if missing("/serviceaccounts", "default") {
        let body =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        let path = format!("/api/v1/namespaces/{name}/serviceaccounts");
        requests.push(request(MANAGER, Method::Post, path, &body));
    }
    if !state.settings.root_ca.is_empty() && missing("/configmaps", "kube-root-ca.crt") {
        let note = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
             endpoints such as the internal service IP or kubernetes.default.svc. No other usage is \
             guaranteed across distributions of Kubernetes clusters.";
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "kube-root-ca.crt", "annotations": {"kubernetes.io/description": note}},
            "data": {"ca.crt": state.settings.root_ca},
        });
        let path = format!("/api/v1/namespaces/{name}/configmaps");
        requests.push(request(MANAGER, Method::Post, path, &body));
    }
    requests
}

// Deletes what is left; says what holds the namespace; lets it go once nothing does.
fn empty(state: &State, name: &str, now: Timestamp) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut left = Left::default();
    for resource in state
        .registry
        .stored_types()
        .iter()
        .filter(|r| r.namespaced)
    {
        let objects: Vec<Value> = state
            .memory
            .list(&resource.storage, Some(name))
            .map(|(_, _, s)| s.value())
            .collect();
        if objects.is_empty() {
            continue;
        }
        left.count(resource, &objects);
        if objects
            .iter()
            .any(|o| meta::deletion_timestamp(o).is_none())
        {
            requests.push(request(
                MANAGER,
                Method::Delete,
                collection_path(resource, name),
                &Value::Null,
            ));
        }
    }
    let Some(kind) = state.registry.find("", "v1", "namespaces") else {
        return requests;
    };
    let Some(namespace) = state.get(kind, "", name) else {
        return requests;
    };
    if left.is_empty() {
        let mut body = namespace;
        body["spec"]["finalizers"] = Value::Array(
            meta::entries(&body, "/spec/finalizers")
                .filter(|f| *f != "kubernetes")
                .cloned()
                .collect(),
        );
        let path = format!("/api/v1/namespaces/{name}/finalize");
        return vec![request(MANAGER, Method::Put, path, &body)];
    }
    // Objects that were just asked to go may be gone before the next look: only what stays after
    // that is worth a condition.
    if requests.is_empty() {
        requests.extend(report(&namespace, &left, now));
    }
    requests
}

fn collection_path(resource: &ResourceType, namespace: &str) -> String {
    let gvr = &resource.gvr;
    let root = if gvr.group.is_empty() {
        "/api".to_owned()
    } else {
        format!("/apis/{}", gvr.group)
    };
    format!(
        "{root}/{}/namespaces/{namespace}/{}",
        gvr.version, gvr.resource
    )
}

#[derive(Default)]
struct Left {
    resources: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
}

impl Left {
    fn count(&mut self, resource: &ResourceType, objects: &[Value]) {
        let gvr = &resource.gvr;
        *self
            .resources
            .entry(format!("{}.{}", gvr.resource, gvr.group))
            .or_default() += objects.len();
        for finalizer in objects.iter().flat_map(meta::finalizers) {
            *self.finalizers.entry(finalizer.to_owned()).or_default() += 1;
        }
    }

    fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }
}

fn report(namespace: &Value, left: &Left, now: Timestamp) -> Option<Request> {
    let mut conditions = namespace["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let fine = [
        (
            "NamespaceDeletionDiscoveryFailure",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
    ];
    for (kind, reason, message) in fine {
        let condition =
            json!({"type": kind, "status": "False", "reason": reason, "message": message});
        set_condition(&mut conditions, condition, now);
    }
    let remaining: Vec<String> = left
        .resources
        .iter()
        .map(|(r, n)| format!("{r} has {n} resource instances"))
        .collect();
    let content = json!({
        "type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain",
        "message": format!("Some resources are remaining: {}", remaining.join(", ")),
    });
    set_condition(&mut conditions, content, now);
    let held: Vec<String> = left
        .finalizers
        .iter()
        .map(|(f, n)| format!("{f} in {n} resource instances"))
        .collect();
    let finalizers = if held.is_empty() {
        json!({
            "type": "NamespaceFinalizersRemaining", "status": "False", "reason": "ContentHasNoFinalizers",
            "message": "All content-preserving finalizers finished",
        })
    } else {
        json!({
            "type": "NamespaceFinalizersRemaining", "status": "True", "reason": "SomeFinalizersRemain",
            "message": format!("Some content in the namespace has finalizers remaining: {}", held.join(", ")),
        })
    };
    set_condition(&mut conditions, finalizers, now);
    let wanted = Value::Array(conditions);
    if namespace["status"]["conditions"] == wanted {
        return None;
    }
    let path = format!("/api/v1/namespaces/{}/status", meta::name(namespace));
    let mut body = namespace.clone();
    body["status"]["conditions"] = wanted;
    Some(request(MANAGER, Method::Put, path, &body))
}
