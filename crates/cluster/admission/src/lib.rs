//! What happens between "you may" and "it is stored": defaults from the cluster's own objects,
//! limits, quotas, policies and webhooks.
//!
//! Pure: the request is a [`Review`], the cluster's state is read through [`Cluster`], and calls to
//! webhooks are data the caller performs. The order of a real API server:
//!
//! ```text
//! mutate ─▶ mutating webhooks ─▶ (schema validation) ─▶ validate ─▶ policies ─▶ validating webhooks ─▶ quota
//! ```

pub mod classes;
pub mod lifecycle;
pub mod limits;
pub mod matching;
pub mod podsecurity;
pub mod policy;
pub mod priority;
pub mod quota;
pub mod resources;
pub mod runtimeclass;
pub mod serviceaccount;
pub mod webhook;

use model::{ApiError, GroupVersionKind, GroupVersionResource, User, Value, meta};
use std::sync::Arc;

/// What a request does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A change, by PUT, PATCH or apply.
    Update,
    /// A removal.
    Delete,
    /// A connection to a subresource such as `exec`.
    Connect,
}

impl Operation {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// One request under review.
#[derive(Clone, Copy, Debug)]
pub struct Review<'a> {
    /// What it does.
    pub operation: Operation,
    /// Kind of the object; for a subresource with a kind of its own, that kind.
    pub gvk: &'a GroupVersionKind,
    /// Resource of the path.
    pub gvr: &'a GroupVersionResource,
    /// Subresource of the path, empty for none.
    pub subresource: &'a str,
    /// Namespace, empty for cluster scope. For Namespace objects it is their own name.
    pub namespace: &'a str,
    /// Name of the object; empty when it is yet to be generated.
    pub name: &'a str,
    /// The object to be stored; `None` for deletes.
    pub object: Option<&'a Value>,
    /// The stored object that is replaced or deleted.
    pub old: Option<&'a Value>,
    /// Who asks.
    pub user: &'a User,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions` with kind and version.
    pub options: &'a Value,
}

impl Review<'_> {
    /// Whether the request is about this resource proper, not one of its subresources.
    pub fn is(&self, group: &str, resource: &str) -> bool {
        self.subresource.is_empty() && self.is_any(group, resource)
    }

    /// Whether the request is about this resource or one of its subresources.
    pub fn is_any(&self, group: &str, resource: &str) -> bool {
        self.gvr.resource == resource && self.gvr.group == group
    }

    /// The name refusals print: the object's, else the prefix it will be generated from.
    pub fn shown_name(&self) -> &str {
        if !self.name.is_empty() {
            return self.name;
        }
        let Some(object) = self.object else {
            return "Unknown";
        };
        let names = [meta::name(object), meta::text(object, "generateName")];
        names
            .into_iter()
            .find(|n| !n.is_empty())
            .unwrap_or("Unknown")
    }

    /// The 403 of an admission plugin.
    pub fn forbidden(&self, why: &str) -> ApiError {
        ApiError::forbidden(self.gvr, self.shown_name(), why)
    }
}

/// The cluster as admission sees it. Both functions answer from one consistent state.
pub trait Cluster {
    /// One object; `namespace` is empty for cluster scope.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;
    /// All objects of a resource, in one namespace or everywhere, sorted by name.
    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>>;
}

/// What the API server lends to webhooks and policies. Every answer depends on the arguments alone.
pub trait Host {
    /// Evaluates a CEL expression with these variables.
    fn evaluate(&self, expression: &str, variables: &[(&str, &Value)]) -> Result<Value, String>;
    /// Applies a JSON patch to an object; the error is the text of the refusal.
    fn json_patch(&self, object: &Value, patch: &Value) -> Result<Value, String>;
    /// The uid of the call with this key.
    fn uid(&self, key: &str) -> String;
    /// The resource of a kind, and whether it is namespaced.
    fn resource_of(&self, gvk: &GroupVersionKind) -> Option<(GroupVersionResource, bool)>;
    /// All versions and groups under which the same objects are served, with their kinds.
    fn equivalents(
        &self,
        gvr: &GroupVersionResource,
        subresource: &str,
    ) -> Vec<(GroupVersionResource, GroupVersionKind)>;
    /// The object in another version of [`Host::equivalents`].
    fn convert(&self, object: &Value, to: &GroupVersionKind) -> Result<Value, String>;
    /// Brings an object that a webhook patched into stored form: decodes and defaults it.
    fn settle(&self, object: &mut Value) -> Result<(), ApiError>;
    /// Runs [`mutate`] once more, after a webhook changed the object.
    fn mutate_again(&self, object: &mut Value) -> Result<(), ApiError>;
}

/// Text for the `Warning` headers of the answer.
pub type Warnings = Vec<String>;

/// Runs the built-in mutating plugins on the object to be stored.
///
/// `object` takes the place of `review.object`; for deletes it is `Null` and stays so. `suffix`
/// gives five random characters of the alphabet that `generateName` uses.
pub fn mutate(
    review: &Review<'_>,
    object: &mut Value,
    cluster: &dyn Cluster,
    suffix: &mut dyn FnMut() -> String,
) -> Result<Warnings, ApiError> {
    lifecycle::check(&seen(review, object), cluster)?;
    if matches!(review.operation, Operation::Delete | Operation::Connect) {
        return Ok(Vec::new());
    }
    limits::mutate(review, object, cluster);
    serviceaccount::mutate(review, object, cluster, suffix)?;
    priority::mutate(review, object, cluster)?;
    classes::tolerations(review, object);
    classes::storage_class(review, object, cluster);
    classes::protection(review, object);
    classes::not_ready(review, object);
    runtimeclass::mutate(review, object, cluster)?;
    classes::ingress_class(review, object, cluster);
    Ok(Vec::new())
}

/// Runs the built-in validating plugins, except [`quota::charge`] which comes after the webhooks.
///
/// `review.object` is the object as it will be stored.
pub fn validate(review: &Review<'_>, cluster: &dyn Cluster) -> Result<Warnings, ApiError> {
    if matches!(review.operation, Operation::Delete | Operation::Connect) {
        return Ok(Vec::new());
    }
    limits::validate(review, cluster)?;
    serviceaccount::validate(review, cluster)?;
    let warnings = podsecurity::validate(review, cluster)?;
    priority::validate(review, cluster)?;
    classes::resize(review, cluster)?;
    runtimeclass::validate(review, cluster)?;
    Ok(warnings)
}

/// The review with the object as it now is.
fn seen<'a>(review: &Review<'a>, object: &'a Value) -> Review<'a> {
    Review {
        object: (!object.is_null()).then_some(object),
        ..*review
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
