//! A Pod's status out of what its containers do.

use crate::life::Life;
use model::{Map, Timestamp, Value, json, meta};

/// The status of a Pod whose containers all run.
pub(crate) fn running(pod: &Value, life: &Life, ip: &str, now: Timestamp) -> Value {
    let mut status = pod
        .get("status")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let since = life.since.unwrap_or(now).rfc3339();
    let containers: Vec<Value> = meta::entries(pod, "/spec/containers")
        .map(|c| {
            json!({
                "name": meta::text_at(c, "/name"),
                "image": meta::text_at(c, "/image"),
                "imageID": "", "ready": true, "started": true, "restartCount": 0,
                "state": {"running": {"startedAt": since}}, "lastState": {},
            })
        })
        .collect();
    status.insert("phase".into(), "Running".into());
    status.insert("startTime".into(), since.into());
    status.insert("podIP".into(), ip.into());
    status.insert("podIPs".into(), json!([{ "ip": ip }]));
    status.insert("containerStatuses".into(), containers.into());
    conditions(&mut status, now);
    Value::Object(status)
}

fn conditions(status: &mut Map<String, Value>, now: Timestamp) {
    let mut list: Vec<Value> = status
        .get("conditions")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for kind in [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ] {
        if !list.iter().any(|c| meta::text_at(c, "/type") == kind) {
            list.push(json!({
                "type": kind, "status": "True", "lastProbeTime": null,
                "lastTransitionTime": now.rfc3339(),
            }));
        }
    }
    status.insert("conditions".into(), list.into());
}
