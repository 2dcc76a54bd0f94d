//! Counts quotas and builds aggregated ClusterRoles.

use super::{MANAGER, request};
use crate::request::{Method, Request};
use crate::state::State;
use model::{Timestamp, Value, json, meta};

/// Brings the status of a namespace's quotas up to what is there.
pub(super) fn count_quotas(state: &State, namespace: &str, now: Timestamp) -> Vec<Request> {
    let Some(kind) = state.registry.find("", "v1", "resourcequotas") else {
        return Vec::new();
    };
    let quotas = state.list(kind, Some(namespace)).into_iter();
    quotas
        .filter_map(|mut quota| {
            let status = admission::quota::recompute(&quota, state, now);
            if quota.get("status") == Some(&status) {
                return None;
            }
            let path = format!(
                "/api/v1/namespaces/{namespace}/resourcequotas/{}/status",
                meta::name(&quota)
            );
            quota["status"] = status;
            Some(request(MANAGER, Method::Put, path, &quota))
        })
        .collect()
}

/// Builds the ClusterRoles that gather the rules of others.
pub(super) fn aggregate_roles(state: &State) -> Vec<Request> {
    let Some(kind) = state
        .registry
        .find("rbac.authorization.k8s.io", "v1", "clusterroles")
    else {
        return Vec::new();
    };
    let roles = state.list(kind, None);
    let roles: Vec<&Value> = roles.iter().collect();
    access::aggregate(&roles)
        .into_iter()
        .map(|change| {
            let path = format!(
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/{}",
                change.name
            );
            request(
                MANAGER,
                Method::Patch,
                path,
                &json!({"rules": change.rules}),
            )
        })
        .collect()
}
