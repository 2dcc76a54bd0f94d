//! Nobody may grant more than they hold.
//!
//! Takes a Role, ClusterRole or binding about to be written and who writes it; refuses it when it
//! would give permissions the writer lacks. The verbs `escalate` (roles) and `bind` (bindings)
//! lift the check, and so does membership in `system:masters`.

use crate::rbac::{Attributes, MissingRole, Rbac, aggregated};
use crate::rule::{self, Rule, quoted_list};
use crate::{MASTERS, RBAC_GROUP};
use model::field::go_quote;
use model::{ApiError, GroupVersionResource, User, Value, meta};

/// One write of an RBAC object.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// Who writes.
    pub user: &'a User,
    /// `roles`, `clusterroles`, `rolebindings` or `clusterrolebindings`.
    pub resource: &'a str,
    /// Namespace of the request, empty for cluster scope.
    pub namespace: &'a str,
    /// Name in the request's path, empty for a create.
    pub name: &'a str,
    /// The object to be stored.
    pub object: &'a Value,
    /// The object it replaces.
    pub old: Option<&'a Value>,
}

/// Refuses a write that would grant what the writer does not hold; other resources pass.
pub fn check(rbac: &Rbac, write: &Write<'_>) -> Result<(), ApiError> {
    let role = matches!(write.resource, "roles" | "clusterroles");
    let binding = matches!(write.resource, "rolebindings" | "clusterrolebindings");
    if !role && !binding || write.user.groups.iter().any(|g| g == MASTERS) {
        return Ok(());
    }
    if role && may_escalate(rbac, write) {
        return Ok(());
    }
    if write
        .old
        .is_some_and(|old| same_but_ownership(write.object, old))
    {
        return Ok(());
    }
    if role {
        check_role(rbac, write)
    } else {
        check_binding(rbac, write)
    }
}

fn gvr(write: &Write<'_>) -> GroupVersionResource {
    GroupVersionResource::new(RBAC_GROUP, "v1", write.resource)
}

fn may_escalate(rbac: &Rbac, write: &Write<'_>) -> bool {
    let a = Attributes {
        namespace: write.namespace,
        name: write.name,
        ..Attributes::resource(write.user, "escalate", RBAC_GROUP, "*", write.resource)
    };
    rbac.authorize(&a).is_allowed()
}

fn check_role(rbac: &Rbac, write: &Write<'_>) -> Result<(), ApiError> {
    let name = meta::name(write.object);
    let refuse = |why: &str| Err(ApiError::forbidden(&gvr(write), name, why));
    if let Some(why) = lacking(rbac, write, &Rule::read_all(write.object)) {
        return refuse(&why);
    }
    let aggregates = |role: &Value| {
        let selectors = meta::entries(role, "/aggregationRule/clusterRoleSelectors");
        selectors.count() > 0
    };
    if write.resource == "clusterroles"
        && (aggregates(write.object) || write.old.is_some_and(aggregates))
        && lacking(rbac, write, &everything()).is_some()
    {
        return refuse("must have cluster-admin privileges to use the aggregationRule");
    }
    Ok(())
}

fn everything() -> [Rule; 2] {
    let star = || vec!["*".to_owned()];
    [
        Rule {
            verbs: star(),
            groups: star(),
            resources: star(),
            ..Rule::default()
        },
        Rule {
            verbs: star(),
            urls: star(),
            ..Rule::default()
        },
    ]
}

fn check_binding(rbac: &Rbac, write: &Write<'_>) -> Result<(), ApiError> {
    let text = |field| meta::text_at(write.object, field);
    let (kind, role) = (text("/roleRef/kind"), text("/roleRef/name"));
    let resource = match kind {
        "ClusterRole" => "clusterroles",
        "Role" => "roles",
        other => {
            let why = format!("unsupported role reference kind: {}", go_quote(other));
            return Err(ApiError::internal_plain(why));
        }
    };
    let bind = Attributes {
        namespace: write.namespace,
        name: role,
        ..Attributes::resource(write.user, "bind", text("/roleRef/apiGroup"), "*", resource)
    };
    if rbac.authorize(&bind).is_allowed() {
        return Ok(());
    }
    // A real API server looks the role up through the storage of the request, and so names the
    // binding's resource in this refusal.
    let rules = rbac
        .rules(kind, role, write.namespace)
        .map_err(|_| ApiError::not_found(&gvr(write), role))?;
    match lacking(rbac, write, rules) {
        Some(why) => Err(ApiError::forbidden(
            &gvr(write),
            meta::name(write.object),
            &why,
        )),
        None => Ok(()),
    }
}

/// Why the writer may not grant the rules; `None` when everything is held.
fn lacking(rbac: &Rbac, write: &Write<'_>, wanted: &[Rule]) -> Option<String> {
    let (held, unresolved) = rbac.rules_for(write.user, write.namespace);
    let missing = rule::missing(&held, wanted);
    if missing.is_empty() {
        return None;
    }
    let mut why = format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        go_quote(&write.user.name),
        quoted_list(&write.user.groups),
        missing.join("\n")
    );
    if !unresolved.is_empty() {
        let text = |role: &MissingRole| ApiError::not_found(&gvr(write), &role.name).message;
        why += &format!(
            "; resolution errors: [{}]",
            aggregated(unresolved.iter().map(text))
        );
    }
    Some(why)
}

/// Whether two versions differ in nothing but what garbage collection and bookkeeping touch.
fn same_but_ownership(new: &Value, old: &Value) -> bool {
    const IGNORED: [&str; 4] = ["ownerReferences", "finalizers", "selfLink", "managedFields"];
    let fields = |value: &Value| -> Vec<(String, Value)> {
        let map = value.as_object().into_iter().flatten();
        map.filter(|(key, _)| key.as_str() != "metadata")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let metadata = |value: &Value| -> Vec<(String, Value)> {
        let map = value.get("metadata").and_then(Value::as_object);
        let map = map.into_iter().flatten();
        map.filter(|(key, _)| !IGNORED.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    fields(new) == fields(old) && metadata(new) == metadata(old)
}

#[cfg(test)]
mod tests;
