//! The controllers every cluster has: definitions become served, namespaces get their accounts and
//! are emptied when they go, dependents follow their owners.
//!
//! Each is a pure look at the state that returns requests; the caller sends them through
//! [`handle`](crate::handle) like any client's, and what they change becomes new [`Work`].

mod collect;
mod definition;
mod namespace;
mod policy;

use crate::request::{Certificate, Credentials, Method, Request};
use crate::state::{State, Work};
use model::{Timestamp, Value, meta};

pub(crate) use definition::{mark_terminating, prepare_definition, prepare_definition_update};

/// What is to be done about one piece of work, now.
pub fn step(state: &State, work: &Work, now: Timestamp) -> Vec<Request> {
    match work {
        Work::Definition(name) => definition::step(state, name, now),
        Work::Namespace(name) => namespace::step(state, name, now),
        Work::Account(name) => namespace::ensure_defaults(state, name),
        Work::Orphaned(uid) => collect::owner_gone(state, uid),
        Work::Dependent(at) => collect::dependent(state, at),
        Work::Finalize(at) => collect::finalize(state, at),
        Work::Quota(namespace) => policy::count_quotas(state, namespace, now),
        Work::Aggregate => policy::aggregate_roles(state),
    }
}

/// Whether a condition of an object is `True`.
pub(crate) fn is_condition_true(object: &Value, kind: &str) -> bool {
    meta::entries(object, "/status/conditions").any(|c| c["type"] == kind && c["status"] == "True")
}

/// Sets a condition; its transition time moves only with its status.
pub(crate) fn set_condition(conditions: &mut Vec<Value>, mut condition: Value, now: Timestamp) {
    condition["lastTransitionTime"] = now.rfc3339().into();
    match conditions
        .iter_mut()
        .find(|c| c["type"] == condition["type"])
    {
        Some(old) => {
            if old["status"] == condition["status"] {
                condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = condition;
        }
        None => conditions.push(condition),
    }
}

/// A request by one of the cluster's own components.
pub(crate) fn request(agent: &str, method: Method, path: String, body: &Value) -> Request {
    let content = match method {
        Method::Patch => "application/merge-patch+json",
        _ => "application/json",
    };
    let bytes = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    Request {
        method,
        path,
        query: String::new(),
        headers: vec![
            ("user-agent".into(), format!("{agent}/v1.36.4")),
            ("content-type".into(), content.into()),
            ("accept".into(), "application/json".into()),
        ],
        body: bytes,
        credentials: Credentials {
            certificate: Some(Certificate {
                common_name: format!("system:{agent}"),
                organizations: vec!["system:masters".into()],
                fingerprint: String::new(),
            }),
        },
    }
}

/// The name the controllers go by.
pub(crate) const MANAGER: &str = "kube-controller-manager";
