//! The Pods of a StatefulSet and their claims.

use super::REVISION_LABEL;
use crate::object::{STATEFUL_SET, pod_of_template};
use model::{Value, json, meta};

/// The Pod of a number.
pub(super) fn make(set: &Value, n: i64, template: &Value, revision: &str) -> Value {
    let name = format!("{}-{n}", meta::name(set));
    let mut pod = pod_of_template(template, STATEFUL_SET.controller_ref(set));
    meta::set_text(&mut pod, "name", &name);
    meta::set_text(&mut pod, "generateName", &format!("{}-", meta::name(set)));
    let labels = meta::metadata_mut(&mut pod)
        .entry("labels")
        .or_insert_with(|| json!({}));
    labels[REVISION_LABEL] = revision.into();
    labels["statefulset.kubernetes.io/pod-name"] = name.as_str().into();
    labels["apps.kubernetes.io/pod-index"] = n.to_string().into();
    pod["spec"]["hostname"] = name.as_str().into();
    let service = meta::text_at(set, "/spec/serviceName");
    if !service.is_empty() {
        pod["spec"]["subdomain"] = service.into();
    }
    let mut volumes: Vec<Value> = Vec::new();
    for claim in meta::entries(set, "/spec/volumeClaimTemplates") {
        let volume = meta::name(claim);
        volumes.push(json!({
            "name": volume, "persistentVolumeClaim": {"claimName": format!("{volume}-{name}")},
        }));
    }
    let others = meta::entries(template, "/spec/volumes")
        .filter(|v| !volumes.iter().any(|own| own["name"] == v["name"]))
        .cloned()
        .collect::<Vec<_>>();
    volumes.extend(others);
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = volumes.into();
    }
    pod
}

/// The claims of a Pod.
pub(super) fn claims(set: &Value, n: i64) -> Vec<Value> {
    let pod = format!("{}-{n}", meta::name(set));
    meta::entries(set, "/spec/volumeClaimTemplates")
        .map(|template| {
            let mut claim = json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": format!("{}-{pod}", meta::name(template))},
                "spec": template.get("spec"),
            });
            for field in ["annotations", "labels"] {
                if let Some(map) = template.pointer(&format!("/metadata/{field}")) {
                    claim["metadata"][field] = map.clone();
                }
            }
            let selector = set
                .pointer("/spec/selector/matchLabels")
                .and_then(Value::as_object);
            for (key, value) in selector.into_iter().flatten() {
                claim["metadata"]["labels"][key] = value.clone();
            }
            claim
        })
        .collect()
}
