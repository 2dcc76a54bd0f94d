//! The groups, versions and resources of the server, as aggregated discovery lists them.

use super::fetch;
use serde_json::{Value, json};
use testkit::Client;

const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// One resource that can be listed.
pub(crate) struct Listable {
    /// Group, empty for core.
    pub(crate) group: String,
    /// Version.
    pub(crate) version: String,
    /// Plural name.
    pub(crate) resource: String,
    /// Kind of its objects.
    pub(crate) kind: String,
}

impl Listable {
    /// `v1/pods`, `apps/v1/deployments`.
    pub(crate) fn key(&self) -> String {
        let Self {
            group,
            version,
            resource,
            ..
        } = self;
        if group.is_empty() {
            format!("{version}/{resource}")
        } else {
            format!("{group}/{version}/{resource}")
        }
    }

    /// The path of the list over all namespaces.
    pub(crate) fn path(&self) -> String {
        let root = if self.group.is_empty() { "api" } else { "apis" };
        format!("/{root}/{}", self.key())
    }

    /// The `apiVersion` of its objects.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// The core group and all named groups in one document.
pub(crate) fn read(client: &Client) -> Result<Value, Box<dyn std::error::Error>> {
    let mut items = Vec::new();
    for path in ["/api", "/apis"] {
        let mut document = fetch(client, path, Some(ACCEPT))?;
        if let Some(Value::Array(groups)) = document.get_mut("items").map(Value::take) {
            items.extend(groups);
        }
    }
    Ok(json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }))
}

/// Everything with the verb `list`, in the order of discovery.
pub(crate) fn listable(groups: &Value) -> Vec<Listable> {
    let mut found = Vec::new();
    for group in list(groups, "items") {
        let name = group.pointer("/metadata/name").and_then(Value::as_str);
        for version in list(group, "versions") {
            for resource in list(version, "resources") {
                if list(resource, "verbs").any(|verb| verb == "list") {
                    found.push(Listable {
                        group: name.unwrap_or("").to_owned(),
                        version: text(version, "/version"),
                        resource: text(resource, "/resource"),
                        kind: text(resource, "/responseKind/kind"),
                    });
                }
            }
        }
    }
    found
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let items = value.get(key).and_then(Value::as_array);
    items.into_iter().flatten()
}

fn text(value: &Value, pointer: &str) -> String {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or("").to_owned()
}
