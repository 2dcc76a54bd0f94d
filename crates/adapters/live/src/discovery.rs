//! Which kinds a cluster serves, and where.

use crate::LiveError;
use crate::api::{Cluster, send};
use http::Method;
use kube::Client;
use model::{GroupVersionKind, Value, meta};
use std::collections::BTreeMap;

/// One served kind.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// `/api/v1` or `/apis/apps/v1`.
    pub(crate) base: String,
    /// `deployments`.
    pub(crate) plural: String,
    /// `deployment`.
    pub(crate) singular: String,
    pub(crate) namespaced: bool,
    pub(crate) listable: bool,
    /// Whether it is the version in which the group is best read.
    pub(crate) preferred: bool,
}

impl Served {
    /// The path of one object, or of all when the name is empty.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = self.base.clone();
        if self.namespaced && !namespace.is_empty() {
            path.push_str(&format!("/namespaces/{namespace}"));
        }
        path.push_str(&format!("/{}", self.plural));
        if !name.is_empty() {
            path.push_str(&format!("/{name}"));
        }
        path
    }
}

/// All served kinds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds {
    pub(crate) by_kind: BTreeMap<GroupVersionKind, Served>,
}

impl Kinds {
    /// Asks the cluster.
    pub(crate) async fn discover(client: &Client) -> Result<Self, LiveError> {
        const AGGREGATED: &str =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let mut kinds = Self::default();
        for root in ["/api", "/apis"] {
            let request = http::Request::builder()
                .method(Method::GET)
                .uri(root)
                .header("accept", format!("{AGGREGATED},application/json"))
                .body(Vec::new())
                .map_err(|e| LiveError::api("list kinds")(kube::Error::HttpError(e)))?;
            let answer = client.request::<Value>(request).await;
            let list = answer.map_err(LiveError::api(format!("list the kinds below {root}")))?;
            if list.get("items").is_some() {
                kinds.take_aggregated(root, &list);
            } else {
                kinds.take_legacy(client, root, &list).await?;
            }
        }
        Ok(kinds)
    }

    fn take_aggregated(&mut self, root: &str, list: &Value) {
        for group in meta::entries(list, "/items") {
            let name = meta::text_at(group, "/metadata/name");
            for (nth, version) in meta::entries(group, "/versions").enumerate() {
                let version_name = meta::text_at(version, "/version");
                for resource in meta::entries(version, "/resources") {
                    let kind = meta::text_at(resource, "/responseKind/kind");
                    let served = Served {
                        base: base(root, name, version_name),
                        plural: meta::text_at(resource, "/resource").into(),
                        singular: meta::text_at(resource, "/singularResource").into(),
                        namespaced: resource["scope"] == "Namespaced",
                        listable: lists(resource),
                        preferred: nth == 0,
                    };
                    let gvk = GroupVersionKind::new(name, version_name, kind);
                    self.by_kind.insert(gvk, served);
                }
            }
        }
    }

    // Servers before 1.27 answer one group version at a time.
    async fn take_legacy(
        &mut self,
        client: &Client,
        root: &str,
        list: &Value,
    ) -> Result<(), LiveError> {
        let mut versions: Vec<(String, String, bool)> = Vec::new();
        for version in meta::entries(list, "/versions").filter_map(Value::as_str) {
            versions.push((String::new(), version.into(), true));
        }
        for group in meta::entries(list, "/groups") {
            let preferred = meta::text_at(group, "/preferredVersion/version");
            for version in meta::entries(group, "/versions") {
                let version = meta::text_at(version, "/version");
                let name = meta::text_at(group, "/name");
                versions.push((name.into(), version.into(), version == preferred));
            }
        }
        for (group, version, preferred) in versions {
            let base = base(root, &group, &version);
            let found = send(client, Method::GET, &base, "application/json", None).await?;
            for resource in meta::entries(&found, "/resources") {
                let plural = meta::text_at(resource, "/name");
                if plural.contains('/') {
                    continue;
                }
                let gvk = GroupVersionKind::new(&group, &version, meta::text_at(resource, "/kind"));
                let served = Served {
                    base: base.clone(),
                    plural: plural.into(),
                    singular: meta::text_at(resource, "/singularName").into(),
                    namespaced: resource["namespaced"] == true,
                    listable: lists(resource),
                    preferred,
                };
                self.by_kind.insert(gvk, served);
            }
        }
        Ok(())
    }
}

fn base(root: &str, group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("{root}/{version}")
    } else {
        format!("{root}/{group}/{version}")
    }
}

fn lists(resource: &Value) -> bool {
    let can = |verb: &str| meta::entries(resource, "/verbs").any(|v| v == verb);
    can("list") && can("delete")
}

impl Cluster {
    /// Where a kind is served; asks the cluster again when it was not known.
    pub(crate) async fn served(&self, gvk: &GroupVersionKind) -> Result<Served, LiveError> {
        if let Some(served) = self.kinds.read().await.by_kind.get(gvk) {
            return Ok(served.clone());
        }
        let fresh = Kinds::discover(&self.client).await?;
        let found = fresh.by_kind.get(gvk).cloned();
        *self.kinds.write().await = fresh;
        found.ok_or_else(|| LiveError::UnknownKind {
            kind: format!("{}, Kind={}", gvk.api_version(), gvk.kind),
        })
    }

    /// Whether objects of a kind live in namespaces; `None` when the cluster does not know it.
    pub async fn is_namespaced(&self, gvk: &GroupVersionKind) -> Option<bool> {
        self.served(gvk).await.ok().map(|served| served.namespaced)
    }
}
