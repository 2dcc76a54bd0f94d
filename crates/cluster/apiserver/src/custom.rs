//! A CustomResourceDefinition made ready to serve: one [`CustomVersion`] per served version.

use crate::registry::{Definition, ResourceType, Subresource};
use expression::Rules;
use model::{GroupVersionKind, GroupVersionResource, Value, meta};
use schema::{Cursor, NodeId, Schemas, Validator};
use std::sync::Arc;

/// The compiled rules of one version of a custom resource.
#[derive(Debug)]
pub struct CustomVersion {
    schemas: Schemas,
    root: Option<NodeId>,
    pub(crate) validator: Option<Validator>,
    pub(crate) rules: Option<Rules>,
    pub(crate) has_status: bool,
    pub(crate) scale: Option<Scale>,
    /// What readers of a deprecated version are told.
    pub(crate) deprecation: Option<String>,
    /// Name of the CustomResourceDefinition.
    pub(crate) crd: String,
    /// `selectableFields` of the version: JSON paths as field selectors name them.
    pub(crate) selectable: Vec<String>,
}

/// Where a custom resource keeps its replica counts.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) selector: Option<String>,
    /// `subresources.scale` as it stands.
    pub(crate) source: Value,
}

impl CustomVersion {
    /// The schema, `None` when the version takes anything.
    pub(crate) fn schema(&self) -> Option<Cursor<'_>> {
        self.root.map(|id| self.schemas.at(id))
    }
}

/// The resources that a CustomResourceDefinition serves.
pub(crate) fn resource_types(crd: &Value) -> Vec<Arc<ResourceType>> {
    let group = meta::text_at(crd, "/spec/group");
    let storage: Arc<str> = format!("{group}/{}", meta::text_at(crd, "/spec/names/plural")).into();
    let versions = || meta::entries(crd, "/spec/versions");
    let stored = versions()
        .find(|v| v["storage"] == true)
        .map_or("", |v| v["name"].as_str().unwrap_or(""));
    let served = versions().filter(|v| v["served"] == true);
    served
        .map(|version| Arc::new(resource_type(crd, version, &storage, stored)))
        .collect()
}

fn resource_type(crd: &Value, version: &Value, storage: &Arc<str>, stored: &str) -> ResourceType {
    let names = |field: &str| meta::text_at(crd, &format!("/status/acceptedNames/{field}"));
    let lists = |field: &str| -> Vec<String> {
        let list = meta::entries(crd, &format!("/status/acceptedNames/{field}"));
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let group = meta::text_at(crd, "/spec/group");
    let name = version["name"].as_str().unwrap_or("");
    let gvk = GroupVersionKind::new(group, name, names("kind"));
    let custom = compile(crd, version, &gvk);
    let endpoint = |name: &str, gvk: GroupVersionKind| Subresource {
        name: name.to_owned(),
        gvk,
        verbs: ["get", "patch", "update"].map(str::to_owned).to_vec(),
    };
    let mut subresources = Vec::new();
    if custom.has_status {
        subresources.push(endpoint("status", gvk.clone()));
    }
    if custom.scale.is_some() {
        subresources.push(endpoint(
            "scale",
            GroupVersionKind::new("autoscaling", "v1", "Scale"),
        ));
    }
    let verbs = [
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ];
    ResourceType {
        gvr: GroupVersionResource::new(group, name, names("plural")),
        list_kind: names("listKind").to_owned(),
        namespaced: meta::text_at(crd, "/spec/scope") == "Namespaced",
        singular: names("singular").to_owned(),
        short_names: lists("shortNames"),
        categories: lists("categories"),
        verbs: verbs.map(str::to_owned).to_vec(),
        subresources,
        storage: storage.clone(),
        storage_gvk: GroupVersionKind::new(group, stored, names("kind")),
        type_prefix: format!(
            "\"apiVersion\":\"{}\",\"kind\":\"{}\",",
            gvk.api_version(),
            gvk.kind
        )
        .into(),
        printer: tables::Printer::custom(version),
        definition: Definition::Custom(Arc::new(custom)),
        gvk,
    }
}

fn compile(crd: &Value, version: &Value, gvk: &GroupVersionKind) -> CustomVersion {
    let mut schemas = Schemas::default();
    let source = version.pointer("/schema/openAPIV3Schema");
    let root = source.map(|source| schemas.add_structural(source));
    let validator = source.map(Validator::new);
    let rules = source.map(|source| Rules::compile(source).0);
    let scale = version.pointer("/subresources/scale").map(|scale| Scale {
        spec_replicas: meta::text_at(scale, "/specReplicasPath").to_owned(),
        status_replicas: meta::text_at(scale, "/statusReplicasPath").to_owned(),
        source: scale.clone(),
        selector: scale
            .get("labelSelectorPath")
            .and_then(Value::as_str)
            .map(str::to_owned),
    });
    let deprecation = (version["deprecated"] == true).then(|| {
        let own = version.get("deprecationWarning").and_then(Value::as_str);
        own.map_or_else(|| default_deprecation(crd, gvk), str::to_owned)
    });
    let selectable = meta::entries(version, "/selectableFields").map(|f| {
        meta::text_at(f, "/jsonPath")
            .trim_start_matches('.')
            .to_owned()
    });
    CustomVersion {
        has_status: version.pointer("/subresources/status").is_some(),
        selectable: selectable.collect(),
        crd: meta::name(crd).to_owned(),
        schemas,
        root,
        validator,
        rules,
        scale,
        deprecation,
    }
}

// Points to the best version that is served and not deprecated.
fn default_deprecation(crd: &Value, gvk: &GroupVersionKind) -> String {
    let fresh = meta::entries(crd, "/spec/versions")
        .filter(|v| v["served"] == true && v["deprecated"] != true)
        .filter_map(|v| v["name"].as_str());
    let best = fresh.max_by_key(|name| crate::registry::version_priority(name));
    let better = best.filter(|name| {
        let priority = crate::registry::version_priority;
        priority(name) > priority(&gvk.version)
    });
    let this = format!("{} {} is deprecated", gvk.api_version(), gvk.kind);
    match better {
        Some(name) => format!("{this}; use {}/{name} {}", gvk.group, gvk.kind),
        None => this,
    }
}
