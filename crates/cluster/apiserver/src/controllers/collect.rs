//! Garbage collection: dependents follow their owners, in the way the deletion asked for.

use super::{MANAGER, request};
use crate::registry::ResourceType;
use crate::request::{Method, Request};
use crate::state::{ObjectRef, State};
use model::{GroupVersion, Value, json, meta};
use std::sync::Arc;

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// What is known of one owner of an object.
enum Owner {
    Alive,
    /// It waits for its dependents to go first.
    Waiting,
    Gone,
}

/// The dependents of an owner that is gone.
pub(super) fn owner_gone(state: &State, uid: &str) -> Vec<Request> {
    state
        .dependents(uid)
        .flat_map(|at| dependent(state, at))
        .collect()
}

/// Looks at an object that names owners.
pub(super) fn dependent(state: &State, at: &ObjectRef) -> Vec<Request> {
    let Some(object) = state.get_ref(at) else {
        return Vec::new();
    };
    if meta::deletion_timestamp(&object).is_some() {
        return Vec::new();
    }
    let owners: Vec<(&Value, Owner)> = meta::owner_references(&object)
        .map(|r| (r, look(state, at, r)))
        .collect();
    if owners.is_empty() {
        return Vec::new();
    }
    let alive = owners.iter().any(|(_, o)| matches!(o, Owner::Alive));
    let waiting = owners.iter().any(|(_, o)| matches!(o, Owner::Waiting));
    let Some(resource) = resource_of(state, at) else {
        return Vec::new();
    };
    if alive {
        let stay = |o: &Owner| matches!(o, Owner::Alive);
        if owners.iter().all(|(_, o)| stay(o)) {
            return Vec::new();
        }
        let kept: Vec<&Value> = owners
            .iter()
            .filter(|(_, o)| stay(o))
            .map(|(r, _)| *r)
            .collect();
        let patch = json!({"metadata": {"uid": meta::uid(&object), "ownerReferences": kept}});
        return vec![request(
            MANAGER,
            Method::Patch,
            object_path(&resource, at),
            &patch,
        )];
    }
    let policy = if waiting && has_dependents(state, &object) {
        "Foreground"
    } else {
        "Background"
    };
    vec![delete(&resource, at, &object, policy)]
}

fn has_dependents(state: &State, object: &Value) -> bool {
    state.dependents(meta::uid(object)).next().is_some()
}

fn delete(resource: &ResourceType, at: &ObjectRef, object: &Value, policy: &str) -> Request {
    // An object that says what is to become of its dependents keeps its word.
    let policy = if meta::finalizers(object).any(|f| f == ORPHAN) {
        "Orphan"
    } else {
        policy
    };
    let body = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy,
        "preconditions": {"uid": meta::uid(object)},
    });
    request(MANAGER, Method::Delete, object_path(resource, at), &body)
}

fn look(state: &State, at: &ObjectRef, reference: &Value) -> Owner {
    let text = |field: &str| meta::text_at(reference, field);
    let Some(gv) = GroupVersion::parse(text("/apiVersion")) else {
        return Owner::Alive;
    };
    // Of a kind that is not served nothing can be said, so nothing is done.
    let Some(kind) = state.registry.find_group_kind(&gv.group, text("/kind")) else {
        return Owner::Alive;
    };
    let namespace = if kind.namespaced {
        at.namespace.as_str()
    } else {
        ""
    };
    let Some(owner) = state
        .memory
        .get_parts(&kind.storage, namespace, text("/name"))
    else {
        return Owner::Gone;
    };
    let owner = owner.value();
    if meta::uid(&owner) != text("/uid") {
        return Owner::Gone;
    }
    let waiting = meta::deletion_timestamp(&owner).is_some()
        && meta::finalizers(&owner).any(|f| f == FOREGROUND);
    if waiting {
        Owner::Waiting
    } else {
        Owner::Alive
    }
}

/// Looks at an object that is being deleted and has the collector's finalizers.
pub(super) fn finalize(state: &State, at: &ObjectRef) -> Vec<Request> {
    let Some(object) = state.get_ref(at) else {
        return Vec::new();
    };
    let Some(resource) = resource_of(state, at) else {
        return Vec::new();
    };
    if meta::deletion_timestamp(&object).is_none() {
        return Vec::new();
    }
    let uid = meta::uid(&object);
    if meta::finalizers(&object).any(|f| f == ORPHAN) {
        let mut requests: Vec<Request> = state
            .dependents(uid)
            .filter_map(|d| let_go(state, d, uid))
            .collect();
        requests.push(without_finalizer(&resource, at, &object, ORPHAN));
        return requests;
    }
    if meta::finalizers(&object).any(|f| f == FOREGROUND) {
        let blocking = state.dependents(uid).any(|d| blocks(state, d, uid));
        if !blocking {
            return vec![without_finalizer(&resource, at, &object, FOREGROUND)];
        }
        return state
            .dependents(uid)
            .flat_map(|d| dependent(state, d))
            .collect();
    }
    Vec::new()
}

fn blocks(state: &State, dependent: &ObjectRef, uid: &str) -> bool {
    let Some(object) = state.get_ref(dependent) else {
        return false;
    };
    meta::owner_references(&object).any(|r| r["uid"] == uid && r["blockOwnerDeletion"] == true)
}

fn let_go(state: &State, dependent: &ObjectRef, uid: &str) -> Option<Request> {
    let object = state.get_ref(dependent)?;
    let resource = resource_of(state, dependent)?;
    let kept: Vec<&Value> = meta::owner_references(&object)
        .filter(|r| r["uid"] != uid)
        .collect();
    let kept = if kept.is_empty() {
        Value::Null
    } else {
        json!(kept)
    };
    let patch = json!({"metadata": {"uid": meta::uid(&object), "ownerReferences": kept}});
    Some(request(
        MANAGER,
        Method::Patch,
        object_path(&resource, dependent),
        &patch,
    ))
}

fn without_finalizer(
    resource: &ResourceType,
    at: &ObjectRef,
    object: &Value,
    finalizer: &str,
) -> Request {
    let kept: Vec<&str> = meta::finalizers(object)
        .filter(|f| *f != finalizer)
        .collect();
    let kept = if kept.is_empty() {
        Value::Null
    } else {
        json!(kept)
    };
    let patch = json!({"metadata": {"uid": meta::uid(object), "finalizers": kept}});
    request(MANAGER, Method::Patch, object_path(resource, at), &patch)
}

fn resource_of(state: &State, at: &ObjectRef) -> Option<Arc<ResourceType>> {
    let (group, resource) = at.storage.split_once('/')?;
    state.registry.find_group_resource(group, resource).cloned()
}

fn object_path(resource: &ResourceType, at: &ObjectRef) -> String {
    let gvr = &resource.gvr;
    let root = if gvr.group.is_empty() {
        "/api".to_owned()
    } else {
        format!("/apis/{}", gvr.group)
    };
    let place = if resource.namespaced {
        format!("/namespaces/{}", at.namespace)
    } else {
        String::new()
    };
    format!("{root}/{}{place}/{}/{}", gvr.version, gvr.resource, at.name)
}
