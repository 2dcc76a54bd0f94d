//! Gives namespaces their accounts, and empties those that go.

use super::{MANAGER, request, set_condition};
use crate::registry::ResourceType;
use crate::request::{Method, Request};
use crate::state::State;
use model::{Timestamp, Value, json, meta};
use std::collections::BTreeMap;

/// How many objects of a kind are deleted at a time, so that others get their turn.
const BATCH: usize = 500;

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
    let types = state.registry.stored_types();
    let mut requests = Vec::new();
    for resource in types.iter().filter(|r| r.namespaced) {
        let objects = state.memory.list(&resource.storage, Some(name));
        let staying = objects
            .filter(|(_, _, stored)| meta::deletion_timestamp(&stored.value()).is_none())
            .take(BATCH);
        requests.extend(staying.map(|(_, object, _)| {
            let path = format!("{}/{object}", collection_path(resource, name));
            request(MANAGER, Method::Delete, path, &Value::Null)
        }));
    }
    // What was just asked to go may be gone at the next look: only what stays after that is worth
    // a condition.
    if !requests.is_empty() {
        return requests;
    }
    let namespaces = state.registry.find("", "v1", "namespaces");
    let Some(mut namespace) = namespaces.and_then(|kind| state.get(kind, "", name)) else {
        return requests;
    };
    let mut left = Left::default();
    for resource in types.iter().filter(|r| r.namespaced) {
        let objects = state.memory.list(&resource.storage, Some(name));
        left.count(resource, objects.map(|(_, _, stored)| stored.value()));
    }
    let told = meta::entries(&namespace, "/status/conditions")
        .next()
        .is_some();
    if !left.is_empty() || told {
        let news = report(&namespace, &left, now);
        if news.is_some() || !left.is_empty() {
            return news.into_iter().collect();
        }
    }
    let finalizers = meta::entries(&namespace, "/spec/finalizers");
    let others: Vec<Value> = finalizers.filter(|f| *f != "kubernetes").cloned().collect();
    namespace["spec"]["finalizers"] = Value::Array(others);
    let path = format!("/api/v1/namespaces/{name}/finalize");
    vec![request(MANAGER, Method::Put, path, &namespace)]
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
    fn count(&mut self, resource: &ResourceType, objects: impl Iterator<Item = Value>) {
        let gvr = &resource.gvr;
        let mut found = 0;
        for object in objects {
            found += 1;
            for finalizer in meta::finalizers(&object) {
                *self.finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
        if found > 0 {
            let name = format!("{}.{}", gvr.resource, gvr.group);
            *self.resources.entry(name).or_default() += found;
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
    let content = if remaining.is_empty() {
        json!({
            "type": "NamespaceContentRemaining", "status": "False", "reason": "ContentRemoved",
            "message": "All content successfully removed",
        })
    } else {
        json!({
            "type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain",
            "message": format!("Some resources are remaining: {}", remaining.join(", ")),
        })
    };
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
