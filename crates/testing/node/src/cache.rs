//! The cluster as the node's watches see it.

use kubelet::{Addresses, World};
use model::{Value, meta};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What is watched: group, version, plural.
pub(crate) const WATCHED: [(&str, &str, &str); 8] = [
    ("", "v1", "secrets"),
    ("", "v1", "configmaps"),
    ("", "v1", "serviceaccounts"),
    ("", "v1", "persistentvolumeclaims"),
    ("", "v1", "persistentvolumes"),
    ("", "v1", "services"),
    ("", "v1", "nodes"),
    ("discovery.k8s.io", "v1", "endpointslices"),
];

type Objects = BTreeMap<(String, String), Value>;

/// All watched objects by resource, namespace and name.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    resources: BTreeMap<String, Objects>,
    pub(crate) addresses: RefCell<Addresses>,
}

impl Cache {
    /// Everything of a resource, read anew.
    pub(crate) fn replace(&mut self, resource: &str, objects: Vec<Value>) {
        let objects = objects.into_iter().map(|o| (key(&o), o)).collect();
        self.resources.insert(resource.to_owned(), objects);
    }

    /// One object, new or changed.
    pub(crate) fn put(&mut self, resource: &str, object: Value) {
        let objects = self.resources.entry(resource.to_owned()).or_default();
        objects.insert(key(&object), object);
    }

    /// One object is gone.
    pub(crate) fn remove(&mut self, resource: &str, object: &Value) {
        if let Some(objects) = self.resources.get_mut(resource) {
            objects.remove(&key(object));
        }
    }

    /// Whether all resources were read once.
    pub(crate) fn is_complete(&self) -> bool {
        WATCHED
            .iter()
            .all(|(_, _, resource)| self.resources.contains_key(*resource))
    }
}

/// Namespace and name.
pub(crate) fn key(object: &Value) -> (String, String) {
    (
        meta::namespace(object).to_owned(),
        meta::name(object).to_owned(),
    )
}

impl World for Cache {
    fn object(&self, _: &str, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let objects = self.resources.get(resource)?;
        objects
            .get(&(namespace.to_owned(), name.to_owned()))
            .cloned()
    }

    fn objects(&self, _: &str, resource: &str, namespace: &str) -> Vec<Value> {
        let objects = self.resources.get(resource);
        objects
            .into_iter()
            .flatten()
            .filter(|((place, _), _)| namespace.is_empty() || place == namespace)
            .map(|(_, object)| object.clone())
            .collect()
    }

    fn pod_ip(&self, pod: &Value) -> String {
        self.addresses.borrow_mut().of(pod)
    }
}
