//! Which resources are served, built in and custom, and what is known of each.

use crate::custom::{self, CustomVersion};
use kinds::catalog;
use model::{GroupVersionKind, GroupVersionResource, Value, meta};
use schema::Cursor;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// One resource at one version.
#[derive(Debug)]
pub struct ResourceType {
    /// Its name in URLs.
    pub gvr: GroupVersionResource,
    /// The kind of its objects.
    pub gvk: GroupVersionKind,
    /// The kind of its lists.
    pub list_kind: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Singular name.
    pub singular: String,
    /// Short names.
    pub short_names: Vec<String>,
    /// Categories, as `all`.
    pub categories: Vec<String>,
    /// Verbs served on the main endpoint.
    pub verbs: Vec<String>,
    /// Further endpoints below an object.
    pub subresources: Vec<Subresource>,
    /// Where the store keeps its objects: `group/resource`, one for all versions.
    pub storage: Arc<str>,
    /// The version its objects are stored in.
    pub storage_gvk: GroupVersionKind,
    /// `"kind":…,"apiVersion":…,`: what stored bodies lack.
    pub type_prefix: Arc<str>,
    /// How its objects look as a table.
    pub printer: tables::Printer,
    /// What a built-in kind's or custom resource's objects may hold.
    pub definition: Definition,
}

/// An endpoint below an object.
#[derive(Clone, Debug)]
pub struct Subresource {
    /// Name, as `status`.
    pub name: String,
    /// The kind it speaks.
    pub gvk: GroupVersionKind,
    /// Verbs served.
    pub verbs: Vec<String>,
}

/// Where a resource's rules come from.
#[derive(Debug)]
pub enum Definition {
    /// Kubernetes' own kinds; the schema is a node of the catalogue.
    Builtin(Option<schema::NodeId>),
    /// A version of a CustomResourceDefinition.
    Custom(Arc<CustomVersion>),
}

impl ResourceType {
    /// The custom version, when this is no built-in kind.
    pub(crate) fn custom(&self) -> Option<&CustomVersion> {
        match &self.definition {
            Definition::Builtin(_) => None,
            Definition::Custom(custom) => Some(custom),
        }
    }

    /// The schema of its objects; `None` when anything goes.
    pub(crate) fn schema(&self) -> Option<Cursor<'_>> {
        match &self.definition {
            Definition::Builtin(id) => id.map(|id| catalog::builtin().schemas.at(id)),
            Definition::Custom(custom) => custom.schema(),
        }
    }

    /// Whether a subresource is served.
    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }

    /// Whether this version differs from the stored one in more than its name.
    pub(crate) fn converts(&self) -> bool {
        self.custom().is_none() && self.gvk != self.storage_gvk
    }

    /// Puts the type in front of a stored body.
    pub(crate) fn typed(&self, mut body: Value) -> Value {
        if let Some(map) = body.as_object_mut() {
            map.insert("apiVersion".into(), Value::String(self.gvk.api_version()));
            map.insert("kind".into(), Value::String(self.gvk.kind.clone()));
        }
        body
    }
}

/// Takes `apiVersion` and `kind` off an object before it is stored.
pub(crate) fn untyped(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.remove("apiVersion");
        map.remove("kind");
    }
    object
}

/// Everything that is served.
#[derive(Debug, Default)]
pub struct Registry {
    by_path: HashMap<String, Arc<ResourceType>>,
    /// Group versions in the order in which discovery lists them: built-in ones first.
    groups: Vec<(String, Vec<String>)>,
    custom: BTreeMap<String, Vec<Arc<ResourceType>>>,
    order: Vec<Arc<ResourceType>>,
    /// Moves whenever what is served changes; the base of discovery's ETags.
    pub(crate) generation: u64,
}

fn path_key(group: &str, version: &str, resource: &str) -> String {
    format!("{group}/{version}/{resource}")
}

fn type_prefix(gvk: &GroupVersionKind) -> Arc<str> {
    format!(
        "\"kind\":\"{}\",\"apiVersion\":\"{}\",",
        gvk.kind,
        gvk.api_version()
    )
    .into()
}

impl Registry {
    /// The built-in resources.
    pub fn builtin() -> Self {
        let mut registry = Self::default();
        for info in &catalog::builtin().resources {
            let storage_gvk = crate::convert::storage_kind(&info.gvk);
            let storage = crate::convert::storage_key(&info.gvr);
            let subresources = info.subresources.iter().map(|s| Subresource {
                name: s.name.clone(),
                gvk: s.gvk.clone(),
                verbs: s.verbs.clone(),
            });
            registry.add(Arc::new(ResourceType {
                gvr: info.gvr.clone(),
                list_kind: format!("{}List", info.gvk.kind),
                namespaced: info.namespaced,
                singular: info.singular.clone(),
                short_names: info.short_names.clone(),
                categories: info.categories.clone(),
                verbs: info.verbs.clone(),
                subresources: subresources.collect(),
                storage,
                storage_gvk,
                type_prefix: type_prefix(&info.gvk),
                printer: tables::Printer::built_in(&info.gvk),
                definition: Definition::Builtin(info.schema),
                gvk: info.gvk.clone(),
            }));
        }
        registry
    }

    fn add(&mut self, resource: Arc<ResourceType>) {
        let gvr = &resource.gvr;
        let entry = self
            .groups
            .iter_mut()
            .find(|(group, _)| *group == gvr.group);
        match entry {
            Some((_, versions)) => {
                if !versions.contains(&gvr.version) {
                    versions.push(gvr.version.clone());
                }
            }
            None => self
                .groups
                .push((gvr.group.clone(), vec![gvr.version.clone()])),
        }
        let key = path_key(&gvr.group, &gvr.version, &gvr.resource);
        self.by_path.insert(key, resource.clone());
        self.order.push(resource);
        self.generation += 1;
    }

    /// The resource at a path.
    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<&Arc<ResourceType>> {
        self.by_path.get(&path_key(group, version, resource))
    }

    /// The resource of a kind.
    pub fn find_kind(&self, gvk: &GroupVersionKind) -> Option<&Arc<ResourceType>> {
        self.order.iter().find(|r| r.gvk == *gvk)
    }

    /// Any served version of a group's kind, the preferred one first.
    pub fn find_group_kind(&self, group: &str, kind: &str) -> Option<&Arc<ResourceType>> {
        self.order
            .iter()
            .find(|r| r.gvk.group == group && r.gvk.kind == kind)
    }

    /// Any served version of a group's resource, the preferred one first.
    pub fn find_group_resource(&self, group: &str, name: &str) -> Option<&Arc<ResourceType>> {
        self.order
            .iter()
            .find(|r| r.gvr.group == group && r.gvr.resource == name)
    }

    /// Whether a group version is served.
    pub(crate) fn serves(&self, group: &str, version: &str) -> bool {
        self.groups
            .iter()
            .any(|(g, versions)| g == group && versions.iter().any(|v| v == version))
    }

    /// Groups with their versions, preferred first.
    pub(crate) fn groups(&self) -> &[(String, Vec<String>)] {
        &self.groups
    }

    /// All resources, in discovery's order.
    pub fn resources(&self) -> &[Arc<ResourceType>] {
        &self.order
    }

    /// One resource per stored type, as controllers that look at everything want it.
    pub fn stored_types(&self) -> Vec<Arc<ResourceType>> {
        let mut seen = std::collections::BTreeSet::new();
        let listable = self
            .order
            .iter()
            .filter(|r| r.verbs.iter().any(|v| v == "list"));
        listable
            .filter(|r| seen.insert(r.storage.clone()))
            .cloned()
            .collect()
    }

    /// Whether a store key is that of a custom resource.
    pub(crate) fn is_custom(&self, storage: &str) -> bool {
        self.custom.contains_key(&crate::state::crd_name(storage))
    }

    /// Serves a CustomResourceDefinition as it now stands, or stops serving it.
    pub(crate) fn set_custom(&mut self, crd: &Value, served: bool) {
        let name = meta::name(crd).to_owned();
        self.remove_custom(&name);
        if served {
            let types = custom::resource_types(crd);
            for resource in &types {
                self.add(resource.clone());
            }
            self.sort_custom_groups();
            self.custom.insert(name, types);
        }
    }

    /// Stops serving a CustomResourceDefinition.
    pub(crate) fn remove_custom(&mut self, name: &str) {
        let Some(types) = self.custom.remove(name) else {
            return;
        };
        for gone in types {
            let key = path_key(&gone.gvr.group, &gone.gvr.version, &gone.gvr.resource);
            self.by_path.remove(&key);
            self.order.retain(|r| r.gvr != gone.gvr);
        }
        let order = &self.order;
        self.groups.retain_mut(|(group, versions)| {
            versions.retain(|v| {
                order
                    .iter()
                    .any(|r| r.gvr.group == *group && r.gvr.version == *v)
            });
            !versions.is_empty()
        });
        self.generation += 1;
    }

    // Custom groups come after the built-in ones by name, their versions by priority.
    fn sort_custom_groups(&mut self) {
        let builtin = |group: &str| {
            catalog::builtin()
                .resources
                .iter()
                .position(|r| r.gvr.group == group)
        };
        self.groups
            .sort_by_cached_key(|(group, _)| match builtin(group) {
                Some(at) => (at, String::new()),
                None => (usize::MAX, group.clone()),
            });
        for (group, versions) in &mut self.groups {
            if builtin(group).is_none() {
                versions.sort_by_key(|v| std::cmp::Reverse(version_priority(v)));
            }
        }
        let groups = &self.groups;
        self.order.sort_by_cached_key(|r| {
            let group = groups.iter().position(|(g, _)| *g == r.gvr.group);
            let version = group.and_then(|g| groups[g].1.iter().position(|v| *v == r.gvr.version));
            (group, version)
        });
    }
}

/// Kubernetes' order of versions: GA before beta before alpha, higher numbers first, the rest by
/// name.
pub(crate) fn version_priority(version: &str) -> (u8, u64, u64, std::cmp::Reverse<String>) {
    let rest = (0, 0, 0, std::cmp::Reverse(version.to_owned()));
    let Some(body) = version.strip_prefix('v') else {
        return rest;
    };
    let digits = body
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(body.len());
    let Ok(major) = body[..digits].parse::<u64>() else {
        return rest;
    };
    let name = std::cmp::Reverse(String::new());
    let tail = &body[digits..];
    if tail.is_empty() {
        return (3, major, 0, name);
    }
    for (word, class) in [("beta", 2), ("alpha", 1)] {
        if let Some(minor) = tail.strip_prefix(word).and_then(|m| m.parse().ok()) {
            return (class, major, minor, name);
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_maturity() {
        let mut versions = vec![
            "v1alpha1", "v2", "foo", "v1", "v1beta2", "v11beta1", "v1beta1",
        ];
        versions.sort_by_key(|v| std::cmp::Reverse(version_priority(v)));
        assert_eq!(
            versions,
            [
                "v2", "v1", "v11beta1", "v1beta2", "v1beta1", "v1alpha1", "foo"
            ]
        );
    }
}
