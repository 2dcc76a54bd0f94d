//! What autoscalers read: how much each Pod uses, as an annotation of the Pod says.
//!
//! Serves `metrics.k8s.io/v1beta1` on loopback and has the API server pass questions on to it: an
//! `APIService` that leads to a Service of type `ExternalName` called `localhost`.

use crate::{RealError, io_error};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use testkit::webhook::Webhook;
use testkit::{Client, Request};

/// The annotation of a Pod that says what each of its containers uses: `cpu=150m,memory=64Mi`.
pub const USAGE: &str = "sandbox.tiphys.dev/usage";

const GROUP: &str = "/apis/metrics.k8s.io/v1beta1";

/// A running metrics server; it ends when this is dropped.
#[derive(Debug)]
pub struct Metrics {
    _server: Webhook,
}

impl Metrics {
    /// Serves the metrics of a cluster.
    pub fn start(client: Client) -> Result<Self, RealError> {
        let client = Arc::new(client);
        let asked = Arc::clone(&client);
        let server = Webhook::start(Box::new(move |path, _| answer(&asked, path)))
            .map_err(io_error("serve metrics"))?;
        let port = server.url.rsplit(':').next().unwrap_or("");
        let port: u16 = port.parse().unwrap_or(0);
        for (path, body) in registration(port) {
            let request = Request::new("POST", path).json(&body);
            client.send(&request).map_err(|e| RealError::Io {
                what: "register the metrics".into(),
                source: std::io::Error::other(e),
            })?;
        }
        Ok(Self { _server: server })
    }
}

fn registration(port: u16) -> [(&'static str, Value); 2] {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "metrics", "namespace": "kube-system"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    });
    let registered = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io", "version": "v1beta1",
            "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": {"name": "metrics", "namespace": "kube-system", "port": port},
            "insecureSkipTLSVerify": true,
        },
    });
    [
        ("/api/v1/namespaces/kube-system/services", service),
        ("/apis/apiregistration.k8s.io/v1/apiservices", registered),
    ]
}

fn answer(client: &Client, path: &str) -> Value {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let pods = path
        .strip_prefix(GROUP)
        .and_then(|rest| rest.strip_prefix("/namespaces/"))
        .and_then(|rest| rest.strip_suffix("/pods"));
    let Some(namespace) = pods else {
        return json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "metrics.k8s.io/v1beta1",
            "resources": [{
                "name": "pods", "singularName": "", "namespaced": true,
                "kind": "PodMetrics", "verbs": ["get", "list"],
            }],
        });
    };
    let listed = client.get(&format!("/api/v1/namespaces/{namespace}/pods?{query}"));
    let listed = listed.ok().and_then(|r| r.json()).unwrap_or_default();
    let pods = listed["items"].as_array().into_iter().flatten();
    let items: Vec<Value> = pods.filter_map(used).collect();
    json!({
        "kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {}, "items": items,
    })
}

// What a running Pod uses; nothing when it does not say.
fn used(pod: &Value) -> Option<Value> {
    let said = pod["metadata"]["annotations"][USAGE].as_str()?;
    if pod["status"]["phase"] != "Running" {
        return None;
    }
    let usage: Map<String, Value> = said
        .split(',')
        .filter_map(|part| part.split_once('='))
        .map(|(name, amount)| (name.trim().to_owned(), amount.trim().into()))
        .collect();
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let containers: Vec<Value> = containers
        .map(|c| json!({"name": c["name"], "usage": usage}))
        .collect();
    let metadata = &pod["metadata"];
    Some(json!({
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"], "labels": metadata["labels"],
        },
        "timestamp": pod["status"]["startTime"], "window": "15s", "containers": containers,
    }))
}
