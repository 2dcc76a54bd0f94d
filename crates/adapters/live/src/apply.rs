//! Writing objects: apply, delete, and letting go of a hook.

use crate::LiveError;
use crate::api::{Cluster, MANAGER};
use crate::discovery::Served;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::annotation::{HOOK_FINALIZER, has_sync_option};
use http::Method;
use model::{GroupVersionKind, Value, json, meta};

/// The manifest as it was last applied, in the way of kubectl.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const MERGE: &str = "application/merge-patch+json";
const SERVER_SIDE: &str = "application/apply-patch+yaml";
/// How often a write that lost a race is tried again.
const CONFLICTS_MAX: usize = 5;

/// The change a client-side apply makes to a live object; `None` when it makes none.
pub fn change(target: &Value, live: &Value) -> Option<Value> {
    let last = meta::annotation(live, LAST_APPLIED)
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let gvk = meta::gvk(target)?;
    let catalog = kinds::catalog::builtin();
    let schema = catalog.kind(&gvk).and_then(|info| info.schema);
    let at = schema.map(|id| catalog.schemas.at(id));
    merge::client_patch(last.as_ref(), &sent(target), live, at)
}

// A Secret's text becomes its data, as the server does it.
fn sent(target: &Value) -> Value {
    let mut target = target.clone();
    if target["kind"] == "Secret" && target["apiVersion"] == "v1" {
        fold_string_data(&mut target);
    }
    target
}

fn fold_string_data(secret: &mut Value) {
    let Some(map) = secret.as_object_mut() else {
        return;
    };
    let Some(Value::Object(text)) = map.remove("stringData") else {
        return;
    };
    let data = map.entry("data").or_insert_with(|| json!({}));
    if let Some(data) = data.as_object_mut() {
        for (key, value) in text {
            let plain = value.as_str().unwrap_or("").as_bytes();
            data.insert(key, STANDARD.encode(plain).into());
        }
    }
}

impl Cluster {
    /// Applies a manifest; says what became of it in kubectl's words.
    pub(crate) async fn apply(
        &self,
        target: &Value,
        server_side: bool,
    ) -> Result<String, LiveError> {
        let gvk = meta::gvk(target).unwrap_or_default();
        let served = self.served(&gvk).await?;
        let shown = shown(&gvk, &served, meta::name(target));
        let server_side = (server_side || has_sync_option(target, "ServerSideApply=true"))
            && !has_sync_option(target, "ServerSideApply=false");
        let validation = if has_sync_option(target, "Validate=false") {
            "Ignore"
        } else {
            "Strict"
        };
        let query = format!("?fieldManager={MANAGER}&fieldValidation={validation}");
        let namespace = meta::namespace(target);
        let path = served.path(namespace, meta::name(target));
        if server_side {
            let path = format!("{path}{query}&force=true");
            self.send(Method::PATCH, &path, SERVER_SIDE, Some(target))
                .await?;
            return Ok(format!("{shown} serverside-applied"));
        }
        let mut tries = 0;
        loop {
            let live = match self.read(&path).await {
                Ok(live) => Some(live),
                Err(error) if error.code() == 404 => None,
                Err(error) => return Err(error),
            };
            let done = match live {
                None => self
                    .create(&served, target, &query)
                    .await
                    .map(|()| "created"),
                Some(live) => self.bring(&path, target, &live, &query).await,
            };
            match done {
                Ok(word) => return Ok(format!("{shown} {word}")),
                Err(error) if error.code() == 409 && tries < CONFLICTS_MAX => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    async fn create(&self, served: &Served, target: &Value, query: &str) -> Result<(), LiveError> {
        let path = format!("{}{query}", served.path(meta::namespace(target), ""));
        let body = remembered(target);
        self.send(Method::POST, &path, "application/json", Some(&body))
            .await
            .map(drop)
    }

    async fn bring(
        &self,
        path: &str,
        target: &Value,
        live: &Value,
        query: &str,
    ) -> Result<&'static str, LiveError> {
        let wanted = remembered(target);
        let Some(patch) = change(&wanted, live) else {
            return Ok("unchanged");
        };
        let gvk = meta::gvk(target).unwrap_or_default();
        let kind = if kinds::catalog::builtin().kind(&gvk).is_some() {
            STRATEGIC
        } else {
            MERGE
        };
        let path = format!("{path}{query}");
        self.send(Method::PATCH, &path, kind, Some(&patch)).await?;
        Ok("configured")
    }

    /// Removes an object; one that is gone already is no fault.
    pub(crate) async fn delete(
        &self,
        gvk: &GroupVersionKind,
        namespace: &str,
        name: &str,
    ) -> Result<(), LiveError> {
        let served = self.served(gvk).await?;
        let body =
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"});
        let path = served.path(namespace, name);
        match self
            .send(Method::DELETE, &path, "application/json", Some(&body))
            .await
        {
            Ok(_) => Ok(()),
            Err(error) if error.code() == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes the engine's finalizer off a hook; one that is gone already is no fault.
    pub(crate) async fn release(
        &self,
        gvk: &GroupVersionKind,
        namespace: &str,
        name: &str,
    ) -> Result<(), LiveError> {
        let mut tries = 0;
        loop {
            let Some(live) = self.find(gvk, namespace, name).await? else {
                return Ok(());
            };
            let others: Vec<&str> = meta::finalizers(&live)
                .filter(|f| *f != HOOK_FINALIZER)
                .collect();
            if others.len() == meta::finalizers(&live).count() {
                return Ok(());
            }
            let patch = json!({"metadata": {
                "finalizers": others, "resourceVersion": meta::resource_version(&live)}});
            let path = self.served(gvk).await?.path(namespace, name);
            match self.send(Method::PATCH, &path, MERGE, Some(&patch)).await {
                Ok(_) => return Ok(()),
                Err(error) if error.code() == 404 => return Ok(()),
                Err(error) if error.code() == 409 && tries < CONFLICTS_MAX => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

// The manifest with itself written into it, so that the next apply knows what was dropped.
fn remembered(target: &Value) -> Value {
    let mut object = sent(target);
    let text = format!("{}\n", sent(target));
    let metadata = meta::metadata_mut(&mut object);
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations[LAST_APPLIED] = text.into();
    object
}

fn shown(gvk: &GroupVersionKind, served: &Served, name: &str) -> String {
    let singular = if served.singular.is_empty() {
        gvk.kind.to_lowercase()
    } else {
        served.singular.clone()
    };
    if gvk.group.is_empty() {
        format!("{singular}/{name}")
    } else {
        format!("{singular}.{}/{name}", gvk.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_apply_of_what_is_there_changes_nothing() {
        let target = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "abc"}});
        let live = remembered(&target);
        assert_eq!(live["data"]["k"], "YWJj");
        assert_eq!(change(&remembered(&target), &live), None);
        let mut other = target;
        other["stringData"]["k"] = "ab".into();
        assert_eq!(change(&other, &live), Some(json!({"data": {"k": "YWI="}})));
    }
}
