//! A cluster in memory and short ways to say a request, for the tests of this crate.

use crate::{Cluster, Operation, Review};
use model::{GroupVersionKind, GroupVersionResource, User, Value, json, meta};
use std::sync::Arc;

/// Objects with the resource they are listed under.
#[derive(Default)]
pub(crate) struct Fake(Vec<(String, String, Arc<Value>)>);

impl Fake {
    /// Adds objects of `group/resource`.
    pub(crate) fn with(mut self, path: &str, objects: &[Value]) -> Self {
        let (group, resource) = path.split_once('/').unwrap_or(("", path));
        for object in objects {
            self.0
                .push((group.into(), resource.into(), Arc::new(object.clone())));
        }
        self
    }
}

impl Cluster for Fake {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let found = self.list(group, resource, None);
        found
            .into_iter()
            .find(|o| meta::namespace(o) == namespace && meta::name(o) == name)
    }

    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let here = |o: &Value| namespace.is_none_or(|ns| meta::namespace(o) == ns);
        let found = self.0.iter();
        let found = found.filter(|(g, r, o)| g == group && r == resource && here(o));
        found.map(|(_, _, o)| Arc::clone(o)).collect()
    }
}

/// What a [`Review`] borrows.
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) gvk: GroupVersionKind,
    pub(crate) gvr: GroupVersionResource,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) object: Value,
    pub(crate) old: Option<Value>,
    pub(crate) user: User,
    pub(crate) options: Value,
    pub(crate) dry_run: bool,
}

impl Request {
    /// A create of an object of `group/version/resource` and the kind the object says.
    pub(crate) fn create(path: &str, namespace: &str, object: Value) -> Self {
        let parts: Vec<&str> = path.split('/').collect();
        let (group, version, resource) = match parts.as_slice() {
            [resource] => ("", "v1", *resource),
            [group, version, resource] => (*group, *version, *resource),
            _ => panic!("resource or group/version/resource"),
        };
        let kind = object
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or("Thing");
        Self {
            operation: Operation::Create,
            gvk: GroupVersionKind::new(group, version, kind),
            gvr: GroupVersionResource::new(group, version, resource),
            subresource: String::new(),
            namespace: namespace.into(),
            object,
            old: None,
            user: User {
                name: "admin".into(),
                ..User::default()
            },
            options: json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}),
            dry_run: false,
        }
    }

    /// An update from `old`.
    pub(crate) fn update(path: &str, namespace: &str, object: Value, old: Value) -> Self {
        Self {
            operation: Operation::Update,
            old: Some(old),
            ..Self::create(path, namespace, object)
        }
    }

    /// A pod with the given spec.
    pub(crate) fn pod(namespace: &str, spec: Value) -> Self {
        let pod =
            json!({"kind": "Pod", "metadata": {"name": "p", "namespace": namespace}, "spec": spec});
        Self::create("pods", namespace, pod)
    }

    pub(crate) fn review(&self) -> Review<'_> {
        Review {
            operation: self.operation,
            gvk: &self.gvk,
            gvr: &self.gvr,
            subresource: &self.subresource,
            namespace: &self.namespace,
            name: meta::name(&self.object),
            object: (!self.object.is_null()).then_some(&self.object),
            old: self.old.as_ref(),
            user: &self.user,
            dry_run: self.dry_run,
            options: &self.options,
        }
    }
}
