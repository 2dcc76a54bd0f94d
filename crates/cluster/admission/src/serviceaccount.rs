//! Every pod runs as a ServiceAccount, and gets its token mounted.

use crate::{Cluster, Operation, Review, seen};
use model::{ApiError, Value, json, meta};
use std::sync::Arc;

const MIRROR: &str = "kubernetes.io/config.mirror";
const VOLUME: &str = "kube-api-access-";
const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

fn concerns(review: &Review<'_>) -> bool {
    review.is("", "pods") && review.operation == Operation::Create
}

/// Sets the account, mounts its token and takes over its image pull secrets.
pub fn mutate(
    review: &Review<'_>,
    pod: &mut Value,
    cluster: &dyn Cluster,
    suffix: &mut dyn FnMut() -> String,
) -> Result<(), ApiError> {
    if !concerns(review) || meta::annotation(pod, MIRROR).is_some() {
        return validate(&seen(review, pod), cluster);
    }
    let given = ["/spec/serviceAccountName", "/spec/serviceAccount"].into_iter();
    let mut given = given.map(|field| meta::text_at(pod, field));
    let name = given
        .find(|n| !n.is_empty())
        .unwrap_or("default")
        .to_owned();
    let found = account(&seen(review, pod), cluster, &name)?;
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    spec.insert("serviceAccountName".into(), json!(name));
    spec.insert("serviceAccount".into(), json!(name));
    let automount = |value: Option<&Value>| value.and_then(Value::as_bool);
    let wanted = automount(spec.get("automountServiceAccountToken"))
        .or_else(|| automount(found.get("automountServiceAccountToken")));
    let no_pull_secrets = spec
        .get("imagePullSecrets")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty);
    if no_pull_secrets {
        let names = meta::entries(&found, "/imagePullSecrets").filter_map(|s| s.get("name"));
        let secrets: Vec<Value> = names.map(|name| json!({"name": name})).collect();
        if !secrets.is_empty() {
            spec.insert("imagePullSecrets".into(), json!(secrets));
        }
    }
    if wanted.unwrap_or(true) {
        mount(pod, suffix);
    }
    Ok(())
}

/// Refuses pods whose account does not exist, and mirror pods that use one.
pub fn validate(review: &Review<'_>, cluster: &dyn Cluster) -> Result<(), ApiError> {
    let Some(pod) = review.object.filter(|_| concerns(review)) else {
        return Ok(());
    };
    let name = meta::text_at(pod, "/spec/serviceAccountName");
    if meta::annotation(pod, MIRROR).is_none() {
        if name.is_empty() {
            let why = format!(
                "no service account specified for pod {}/{}",
                review.namespace,
                meta::name(pod)
            );
            return Err(review.forbidden(&why));
        }
        return account(review, cluster, name).map(|_| ());
    }
    if !name.is_empty() {
        return Err(review.forbidden("a mirror pod may not reference service accounts"));
    }
    let volumes = || meta::entries(pod, "/spec/volumes");
    if volumes().any(|v| v.get("secret").is_some()) {
        return Err(review.forbidden("a mirror pod may not reference secrets"));
    }
    let projects_token = |v: &Value| {
        meta::entries(v, "/projected/sources").any(|s| s.get("serviceAccountToken").is_some())
    };
    if volumes().any(projects_token) {
        let why = "a mirror pod may not use ServiceAccountToken volume projections";
        return Err(review.forbidden(why));
    }
    Ok(())
}

fn account(review: &Review<'_>, cluster: &dyn Cluster, name: &str) -> Result<Arc<Value>, ApiError> {
    let found = cluster.get("", "serviceaccounts", review.namespace, name);
    found.ok_or_else(|| {
        review.forbidden(&format!(
            "error looking up service account {}/{name}: serviceaccount {name:?} not found",
            review.namespace
        ))
    })
}

fn mount(pod: &mut Value, suffix: &mut dyn FnMut() -> String) {
    let existing = meta::entries(pod, "/spec/volumes")
        .filter_map(|v| v.get("name")?.as_str())
        .find(|name| name.starts_with(VOLUME))
        .map(str::to_owned);
    let has_volume = existing.is_some();
    let name = existing.unwrap_or_else(|| format!("{VOLUME}{}", suffix()));
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        let items = pod.get_mut("spec").and_then(|s| s.get_mut(list));
        let items = items.and_then(Value::as_array_mut);
        for container in items.into_iter().flatten() {
            let taken = meta::entries(container, "/volumeMounts")
                .any(|m| m.get("mountPath").and_then(Value::as_str) == Some(MOUNT));
            if !taken {
                let mount = json!({"name": name, "readOnly": true, "mountPath": MOUNT});
                needed |= push(container, "volumeMounts", mount);
            }
        }
    }
    if needed
        && !has_volume
        && let Some(spec) = pod.get_mut("spec")
    {
        push(spec, "volumes", volume(&name));
    }
}

fn push(parent: &mut Value, field: &str, item: Value) -> bool {
    let Some(body) = parent.as_object_mut() else {
        return false;
    };
    let slot = body.entry(field).or_insert_with(|| json!([]));
    if slot.is_null() {
        *slot = json!([]);
    }
    let Some(list) = slot.as_array_mut() else {
        return false;
    };
    list.push(item);
    true
}

fn volume(name: &str) -> Value {
    json!({
        "name": name,
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
                {"downwardAPI": {"items": [{
                    "path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fake, Request};
    use expect_test::{Expect, expect};

    fn check(spec: Value, expected: Expect) {
        let cluster = Fake::default().with("serviceaccounts", &[
            json!({"metadata": {"name": "default", "namespace": "dev"}}),
            json!({"metadata": {"name": "quiet", "namespace": "dev"}, "automountServiceAccountToken": false, "imagePullSecrets": [{"name": "reg"}]}),
        ]);
        let request = Request::pod("dev", spec);
        let mut pod = request.object.clone();
        let answer = match mutate(&request.review(), &mut pod, &cluster, &mut || {
            "abcde".into()
        }) {
            Ok(()) => pod["spec"].to_string(),
            Err(e) => format!("{} {}", e.code, e.message),
        };
        expected.assert_eq(&answer);
    }

    #[test]
    fn the_token_is_mounted_into_every_container() {
        check(
            json!({"containers": [{"name": "c"}, {"name": "d", "volumeMounts": [{"name": "x", "mountPath": MOUNT}]}]}),
            expect![[
                r#"{"containers":[{"name":"c","volumeMounts":[{"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"kube-api-access-abcde","readOnly":true}]},{"name":"d","volumeMounts":[{"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"x"}]}],"serviceAccount":"default","serviceAccountName":"default","volumes":[{"name":"kube-api-access-abcde","projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"items":[{"key":"ca.crt","path":"ca.crt"}],"name":"kube-root-ca.crt"}},{"downwardAPI":{"items":[{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"},"path":"namespace"}]}}]}}]}"#
            ]],
        );
    }

    #[test]
    fn accounts_may_keep_their_token_to_themselves() {
        check(
            json!({"serviceAccountName": "quiet", "containers": [{"name": "c"}]}),
            expect![[
                r#"{"containers":[{"name":"c"}],"imagePullSecrets":[{"name":"reg"}],"serviceAccount":"quiet","serviceAccountName":"quiet"}"#
            ]],
        );
        check(
            json!({"automountServiceAccountToken": false, "containers": [{"name": "c"}]}),
            expect![[
                r#"{"automountServiceAccountToken":false,"containers":[{"name":"c"}],"serviceAccount":"default","serviceAccountName":"default"}"#
            ]],
        );
    }

    #[test]
    fn a_missing_account_is_refused() {
        check(
            json!({"serviceAccountName": "x", "containers": []}),
            expect![[
                r#"403 pods "p" is forbidden: error looking up service account dev/x: serviceaccount "x" not found"#
            ]],
        );
    }

    #[test]
    fn mirror_pods_have_no_account() {
        let mut request = Request::pod("dev", json!({"serviceAccountName": "default"}));
        request.object["metadata"]["annotations"] = json!({MIRROR: "x"});
        let mut pod = request.object.clone();
        let error = mutate(
            &request.review(),
            &mut pod,
            &Fake::default(),
            &mut String::new,
        )
        .unwrap_err();
        assert_eq!(
            error.message,
            "pods \"p\" is forbidden: a mirror pod may not reference service accounts"
        );
        assert_eq!(pod, request.object);
    }
}
