//! What a real API server knows about its built-in resources.
//!
//! `data/builtin.json.zst` is written by `cargo xtask generate` from a running kube-apiserver:
//! its version, its resources, the shapes of its objects, the columns of its tables and the
//! objects it makes by itself. [`builtin`] unpacks it once.
//!
//! Bootstrap objects have no uid, resourceVersion, creationTimestamp, managedFields and no
//! `lastTransitionTime`; ConfigMap values that hold a certificate or a date of the recorded run
//! are empty texts; the Service `kubernetes` points at port 6443.

use model::{GroupVersion, GroupVersionKind, GroupVersionResource, Map, Value};
use schema::{NodeId, Schemas};
use std::collections::BTreeMap;
use std::sync::OnceLock;

const PACKED: &[u8] = include_bytes!("../data/builtin.json.zst");
/// More than the file unpacks to; a bound for the decoder.
const UNPACKED_MAX: usize = 8 * 1024 * 1024;
const KINDS: &str = "x-kubernetes-group-version-kind";

/// Everything about the built-in resources.
#[derive(Debug)]
pub struct Catalog {
    /// The body of `/version`.
    pub version: Value,
    /// The shapes of all objects.
    pub schemas: Schemas,
    /// The same as JSON, by type name, for `/openapi`; without descriptions.
    pub raw_schemas: Map<String, Value>,
    /// The type name of each kind that has one.
    pub schema_names: BTreeMap<GroupVersionKind, String>,
    /// The aggregated discovery document of all groups, core first, as a server sends it.
    pub discovery: Value,
    /// The groups in the order of discovery; versions of a group: the preferred one first.
    pub groups: Vec<GroupInfo>,
    /// Every resource of every version, in the order of discovery.
    pub resources: Vec<ResourceInfo>,
    /// Table columns by resource, without descriptions.
    pub columns: BTreeMap<GroupVersionResource, Vec<Column>>,
    /// The objects a fresh server makes by itself.
    pub bootstrap: Vec<Value>,
    by_resource: BTreeMap<GroupVersionResource, usize>,
}

/// One API group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupInfo {
    /// Its name, empty for core.
    pub name: String,
    /// Its versions, the preferred one first.
    pub versions: Vec<String>,
}

/// One resource at one version.
#[derive(Clone, Debug)]
pub struct ResourceInfo {
    /// Its address.
    pub gvr: GroupVersionResource,
    /// The kind of its objects.
    pub gvk: GroupVersionKind,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Singular name, as in `deployment`.
    pub singular: String,
    /// Short names, as in `deploy`.
    pub short_names: Vec<String>,
    /// Categories, as in `all`.
    pub categories: Vec<String>,
    /// What can be done with it.
    pub verbs: Vec<String>,
    /// What hangs below an object, as `status` and `scale`.
    pub subresources: Vec<SubresourceInfo>,
    /// The shape of its objects.
    pub schema: Option<NodeId>,
}

/// What hangs below an object.
#[derive(Clone, Debug)]
pub struct SubresourceInfo {
    /// Its name, as in `status`.
    pub name: String,
    /// The kind of its body.
    pub gvk: GroupVersionKind,
    /// What can be done with it.
    pub verbs: Vec<String>,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its title.
    pub name: String,
    /// Its type, as in `string`.
    pub ty: String,
    /// Its format, mostly empty.
    pub format: String,
    /// 0 is always shown; more only in wide output.
    pub priority: i64,
}

impl Catalog {
    /// The resource at that address.
    pub fn resource(&self, gvr: &GroupVersionResource) -> Option<&ResourceInfo> {
        self.by_resource.get(gvr).map(|at| &self.resources[*at])
    }

    /// The resource whose objects are of that kind.
    pub fn kind(&self, gvk: &GroupVersionKind) -> Option<&ResourceInfo> {
        self.resources.iter().find(|r| r.gvk == *gvk)
    }

    /// Every group version, in the order of discovery.
    pub fn group_versions(&self) -> impl Iterator<Item = GroupVersion> + '_ {
        self.groups.iter().flat_map(|group| {
            let versions = group.versions.iter();
            versions.map(|version| GroupVersion::new(&group.name, version))
        })
    }
}

/// The catalog of the built-in resources; unpacked at the first call.
pub fn builtin() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let text = zstd::bulk::decompress(PACKED, UNPACKED_MAX)
            .expect("the file is part of this crate and a test unpacks it");
        let whole = serde_json::from_slice(&text)
            .expect("the file is part of this crate and a test reads it");
        read(whole)
    })
}

fn read(mut whole: Value) -> Catalog {
    let mut part = |name: &str| whole.get_mut(name).map(Value::take).unwrap_or_default();
    let raw_schemas = match part("schemas") {
        Value::Object(types) => types,
        _ => Map::new(),
    };
    let mut schemas = Schemas::default();
    schemas.add_components(&raw_schemas);
    let schema_names = kinds_of(&raw_schemas);
    let discovery = part("discovery");
    let (groups, mut resources) = read_discovery(&discovery);
    for resource in &mut resources {
        let name = schema_names.get(&resource.gvk);
        resource.schema = name.and_then(|name| schemas.names.get(name)).copied();
    }
    let by_resource = resources
        .iter()
        .enumerate()
        .map(|(at, resource)| (resource.gvr.clone(), at))
        .collect();
    Catalog {
        version: part("version"),
        schemas,
        schema_names,
        discovery,
        groups,
        resources,
        columns: read_columns(&part("columns")),
        bootstrap: match part("bootstrap") {
            Value::Array(objects) => objects,
            _ => Vec::new(),
        },
        raw_schemas,
        by_resource,
    }
}

// A type that stands for many kinds (as DeleteOptions does) is nobody's shape.
fn kinds_of(raw: &Map<String, Value>) -> BTreeMap<GroupVersionKind, String> {
    let mut names = BTreeMap::new();
    for (name, schema) in raw {
        if let Some([only]) = schema
            .get(KINDS)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
        {
            names.insert(read_kind(only), name.clone());
        }
    }
    names
}

fn read_discovery(document: &Value) -> (Vec<GroupInfo>, Vec<ResourceInfo>) {
    let (mut groups, mut resources) = (Vec::new(), Vec::new());
    for group in list(document, "items") {
        let metadata = group.get("metadata");
        let name = metadata.map(|m| text(m, "name")).unwrap_or_default();
        let mut versions = Vec::new();
        for version in list(group, "versions") {
            let at = GroupVersion::new(&name, text(version, "version"));
            let found = list(version, "resources");
            resources.extend(found.map(|resource| read_resource(&at, resource)));
            versions.push(at.version);
        }
        groups.push(GroupInfo { name, versions });
    }
    (groups, resources)
}

fn read_resource(at: &GroupVersion, resource: &Value) -> ResourceInfo {
    // Discovery leaves out a group version that is the resource's own.
    let response = |value: &Value| {
        let mut gvk = value.get("responseKind").map(read_kind).unwrap_or_default();
        if gvk.version.is_empty() {
            gvk.group.clone_from(&at.group);
            gvk.version.clone_from(&at.version);
        }
        gvk
    };
    let subresources = list(resource, "subresources").map(|sub| SubresourceInfo {
        name: text(sub, "subresource"),
        gvk: response(sub),
        verbs: texts(sub, "verbs"),
    });
    ResourceInfo {
        gvr: GroupVersionResource::new(&at.group, &at.version, text(resource, "resource")),
        gvk: response(resource),
        namespaced: text(resource, "scope") == "Namespaced",
        singular: text(resource, "singularResource"),
        short_names: texts(resource, "shortNames"),
        categories: texts(resource, "categories"),
        verbs: texts(resource, "verbs"),
        subresources: subresources.collect(),
        schema: None,
    }
}

fn read_columns(columns: &Value) -> BTreeMap<GroupVersionResource, Vec<Column>> {
    let entries = columns.as_object().into_iter().flatten();
    let read = |(key, list): (&String, &Value)| {
        let (prefix, resource) = key.rsplit_once('/')?;
        let at = GroupVersion::parse(prefix)?;
        let columns = list.as_array()?.iter().map(|column| Column {
            name: text(column, "name"),
            ty: text(column, "type"),
            format: text(column, "format"),
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
        });
        let gvr = GroupVersionResource::new(at.group, at.version, resource);
        Some((gvr, columns.collect()))
    };
    entries.filter_map(read).collect()
}

fn read_kind(value: &Value) -> GroupVersionKind {
    GroupVersionKind::new(
        text(value, "group"),
        text(value, "version"),
        text(value, "kind"),
    )
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let items = value.get(key).and_then(Value::as_array);
    items.into_iter().flatten()
}

fn text(value: &Value, key: &str) -> String {
    let found = value.get(key).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let items = list(value, key).filter_map(Value::as_str);
    items.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::meta;

    fn find(group: &str, version: &str, resource: &str) -> &'static ResourceInfo {
        let gvr = GroupVersionResource::new(group, version, resource);
        builtin().resource(&gvr).unwrap()
    }

    #[test]
    fn every_group_of_a_default_server_is_there_in_its_order() {
        let catalog = builtin();
        let names: Vec<&str> = catalog.groups.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(names.len(), 21);
        assert_eq!(names[..3], ["", "apiregistration.k8s.io", "apps"]);
        let autoscaling = catalog.groups.iter().find(|g| g.name == "autoscaling");
        assert_eq!(autoscaling.unwrap().versions, ["v2", "v1"]);
        assert_eq!(catalog.group_versions().count(), 22);
        assert_eq!(catalog.version["gitVersion"], "v1.36.4");
    }

    #[test]
    fn a_resource_knows_its_names_verbs_and_subresources() {
        let deployments = find("apps", "v1", "deployments");
        assert_eq!(
            deployments.gvk,
            GroupVersionKind::new("apps", "v1", "Deployment")
        );
        assert!(deployments.namespaced);
        assert_eq!(deployments.singular, "deployment");
        assert_eq!(deployments.short_names, ["deploy"]);
        assert_eq!(deployments.categories, ["all"]);
        assert_eq!(deployments.verbs.len(), 8);
        let scale = deployments.subresources.iter().find(|s| s.name == "scale");
        let scale = scale.unwrap();
        assert_eq!(
            scale.gvk,
            GroupVersionKind::new("autoscaling", "v1", "Scale")
        );
        assert_eq!(scale.verbs, ["get", "patch", "update"]);
        assert!(!find("", "v1", "nodes").namespaced);
    }

    #[test]
    fn everything_that_can_be_listed_has_a_shape_and_columns() {
        let catalog = builtin();
        let listable = |r: &&ResourceInfo| r.verbs.iter().any(|v| v == "list");
        for resource in catalog.resources.iter().filter(listable) {
            assert!(resource.schema.is_some(), "{:?}", resource.gvr);
            let columns = &catalog.columns[&resource.gvr];
            assert!(
                columns.iter().any(|c| c.name == "Name"),
                "{:?}",
                resource.gvr
            );
        }
        assert!(catalog.columns.len() > 55);
        assert!(catalog.raw_schemas.len() > 500);
    }

    #[test]
    fn shapes_can_be_walked() {
        let catalog = builtin();
        let pod = find("", "v1", "pods").schema.unwrap();
        let containers = catalog.schemas.at(pod).field("spec").unwrap();
        let containers = containers.field("containers").unwrap();
        assert_eq!(containers.node().list_map_keys, ["name"]);
        assert_eq!(containers.node().patch_merge_key.as_deref(), Some("name"));
        let ports = containers.items().unwrap().field("ports").unwrap();
        let ports = ports.items().unwrap();
        assert_eq!(
            ports.node().properties["protocol"].default,
            Some("TCP".into())
        );
    }

    #[test]
    fn a_fresh_server_has_its_roles_and_namespaces() {
        let catalog = builtin();
        let names = |kind: &str| -> Vec<&str> {
            let of_kind = catalog.bootstrap.iter().filter(|o| o["kind"] == kind);
            of_kind.map(meta::name).collect()
        };
        let namespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];
        assert_eq!(names("Namespace"), namespaces);
        assert!(names("ClusterRole").contains(&"cluster-admin"));
        assert_eq!(names("PriorityClass").len(), 2);
        assert!(names("Lease").is_empty());
        for object in &catalog.bootstrap {
            assert_eq!(meta::uid(object), "");
            assert_eq!(meta::resource_version(object), "");
        }
    }

    #[test]
    fn unpacking_is_quick() {
        let begin = std::time::Instant::now();
        builtin();
        // Generous: a busy machine and an unoptimised build; optimised it takes a few ms.
        assert!(begin.elapsed() < std::time::Duration::from_secs(2));
    }

    #[test]
    fn no_prose_is_shipped() {
        for schema in builtin().raw_schemas.values() {
            assert!(schema.get("description").is_none());
        }
    }
}
