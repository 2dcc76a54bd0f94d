//! Reading objects, one or all that belong to an application.

use crate::LiveError;
use crate::api::Cluster;
use model::{GroupVersionKind, Value, meta};

/// How many objects a list asks for at once.
const PAGE: usize = 500;
/// Kinds that no application manages.
const NEVER: [(&str, &str); 5] = [
    ("", "Event"),
    ("events.k8s.io", "Event"),
    ("coordination.k8s.io", "Lease"),
    ("", "Endpoints"),
    ("discovery.k8s.io", "EndpointSlice"),
];

impl Cluster {
    /// One object; `None` when it is not there.
    pub async fn find(
        &self,
        gvk: &GroupVersionKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, LiveError> {
        let served = match self.served(gvk).await {
            Ok(served) => served,
            // What the cluster does not know it does not have.
            Err(LiveError::UnknownKind { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        match self.read(&served.path(namespace, name)).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.code() == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All objects without an owner that `belongs` says yes to. A kind that cannot be listed is
    /// reported and does not hide the others.
    pub async fn all(
        &self,
        belongs: impl Fn(&Value) -> bool,
    ) -> Result<(Vec<Value>, Vec<LiveError>), LiveError> {
        let kinds = self.kinds.read().await.clone();
        let mut found = Vec::new();
        let mut faults = Vec::new();
        for (gvk, served) in &kinds.by_kind {
            let never = NEVER.contains(&(gvk.group.as_str(), gvk.kind.as_str()));
            if !served.listable || !served.preferred || never {
                continue;
            }
            match self.list(gvk, &served.path("", "")).await {
                Ok(objects) => found.extend(objects.into_iter().filter(|object| {
                    meta::owner_references(object).next().is_none() && belongs(object)
                })),
                Err(error) => faults.push(error),
            }
        }
        Ok((found, faults))
    }

    async fn list(&self, gvk: &GroupVersionKind, path: &str) -> Result<Vec<Value>, LiveError> {
        let mut objects = Vec::new();
        let mut next = String::new();
        loop {
            let from = if next.is_empty() {
                String::new()
            } else {
                format!("&continue={next}")
            };
            let mut page = self.read(&format!("{path}?limit={PAGE}{from}")).await?;
            meta::text_at(&page, "/metadata/continue").clone_into(&mut next);
            let items = page.get_mut("items").map(Value::take).unwrap_or_default();
            for mut object in items.as_array().cloned().unwrap_or_default() {
                // Items of a list do not say what they are.
                object["apiVersion"] = gvk.api_version().into();
                object["kind"] = gvk.kind.clone().into();
                objects.push(object);
            }
            if next.is_empty() {
                return Ok(objects);
            }
        }
    }
}
