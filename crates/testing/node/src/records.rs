//! Events, written one after another; one that repeats is counted instead.

use crate::api;
use crate::time::now;
use http::Method;
use kube::Client;
use kubelet::{COMPONENT, Event};
use model::{Value, json, meta};
use std::collections::BTreeMap;
use tokio::sync::mpsc::UnboundedReceiver;

/// How many different events are remembered.
const KNOWN_MAX: usize = 4_096;

/// An event and the Pod it is about.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) pod: Value,
    pub(crate) event: Event,
}

/// Writes events as they come.
pub(crate) async fn write(client: Client, node: String, mut records: UnboundedReceiver<Record>) {
    let mut known: BTreeMap<String, (String, u64)> = BTreeMap::new();
    let mut sequence = 0_u64;
    while let Some(record) = records.recv().await {
        let namespace = meta::namespace(&record.pod).to_owned();
        let root = format!("/api/v1/namespaces/{namespace}/events");
        let same = identity(&record);
        if let Some((name, count)) = known.get_mut(&same) {
            *count += 1;
            let patch = json!({"count": *count, "lastTimestamp": now().rfc3339()});
            let path = format!("{root}/{name}");
            if api::send(&client, Method::PATCH, &path, Some(&patch))
                .await
                .is_ok()
            {
                continue;
            }
        }
        sequence += 1;
        let name = format!(
            "{}.{:x}{sequence:04x}",
            meta::name(&record.pod),
            now().micros()
        );
        let body = body(&record, &name, &node);
        // An event that is refused is lost, as a kubelet's would be.
        if api::send(&client, Method::POST, &root, Some(&body))
            .await
            .is_ok()
        {
            if known.len() >= KNOWN_MAX {
                known.clear();
            }
            known.insert(same, (name, 1));
        }
    }
}

fn identity(record: &Record) -> String {
    let event = &record.event;
    format!(
        "{}|{}|{}|{}|{}",
        meta::uid(&record.pod),
        event.field_path,
        event.kind.word(),
        event.reason,
        event.message
    )
}

fn body(record: &Record, name: &str, node: &str) -> Value {
    let (pod, event) = (&record.pod, &record.event);
    let mut involved = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": meta::namespace(pod),
        "name": meta::name(pod),
        "uid": meta::uid(pod),
        "resourceVersion": meta::resource_version(pod),
    });
    if !event.field_path.is_empty() {
        involved["fieldPath"] = event.field_path.as_str().into();
    }
    let time = now().rfc3339();
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": meta::namespace(pod)},
        "involvedObject": involved,
        "reason": event.reason,
        "message": event.message,
        "type": event.kind.word(),
        "source": {"component": COMPONENT, "host": node},
        "reportingComponent": COMPONENT,
        "reportingInstance": node,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    })
}
