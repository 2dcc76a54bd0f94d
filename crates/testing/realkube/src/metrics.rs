//! What autoscalers read: how much each Pod uses, as a script says.
//!
//! `sandbox.tiphys.dev/cpu: "40%, 180% after 30s"` on an autoscaler is the load over time, since it
//! was made, in percent of what one Pod requests; it is spread over the Pods. The same script
//! drives autoscalers of the embedded cluster. In a namespace without a script there are no metrics.
//!
//! Serves `metrics.k8s.io/v1beta1` on loopback and has the API server pass questions on to it: an
//! `APIService` that leads to a Service of type `ExternalName` called `localhost`.

use crate::{RealError, io_error};
use model::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use testkit::webhook::Webhook;
use testkit::{Client, Request};

const SCRIPT: &str = "sandbox.tiphys.dev/cpu";
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
    let Some(load) = load(client, namespace) else {
        return Value::Null;
    };
    let pods = list(
        client,
        &format!("/api/v1/namespaces/{namespace}/pods?{query}"),
    );
    let running: Vec<&Value> = pods
        .iter()
        .filter(|pod| pod["status"]["phase"] == "Running")
        .collect();
    let share = load / (running.len().max(1) as f64);
    let items: Vec<Value> = running.into_iter().map(|pod| used(pod, share)).collect();
    json!({
        "kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {}, "items": items,
    })
}

fn list(client: &Client, path: &str) -> Vec<Value> {
    let listed = client.get(path).ok().and_then(|r| r.json());
    let items = listed.and_then(|mut v| v["items"].as_array_mut().map(std::mem::take));
    items.unwrap_or_default()
}

// The load of the autoscaler of a namespace now, as a multiple of what one Pod requests.
fn load(client: &Client, namespace: &str) -> Option<f64> {
    let path = format!("/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers");
    let scalers = list(client, &path);
    let scaler = scalers
        .iter()
        .find(|s| !s["metadata"]["annotations"][SCRIPT].is_null())?;
    let script = scaler["metadata"]["annotations"][SCRIPT].as_str()?;
    let made = Timestamp::parse(scaler["metadata"]["creationTimestamp"].as_str()?)?;
    let age = (now().micros() - made.micros()) as f64 / 1e6;
    let mut load = 0.0;
    for part in script.split(',') {
        let mut words = part.split_whitespace();
        let percent: f64 = words.next()?.trim_end_matches('%').parse().ok()?;
        let after: f64 = match words.nth(1) {
            None => 0.0,
            Some(time) => time.trim_end_matches('s').parse().ok()?,
        };
        if after <= age {
            load = percent / 100.0;
        }
    }
    Some(load)
}

fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp::from_micros(now.unwrap_or_default().as_micros() as i64)
}

// What a Pod uses that carries a share of the load.
fn used(pod: &Value, share: f64) -> Value {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let containers: Vec<Value> = containers
        .map(|container| {
            let asked = container["resources"]["requests"]["cpu"]
                .as_str()
                .unwrap_or("0");
            let asked = model::Quantity::parse(asked).map_or(0, model::Quantity::milli_value);
            let cpu = format!("{}m", (asked as f64 * share).round());
            json!({"name": container["name"], "usage": {"cpu": cpu, "memory": "64Mi"}})
        })
        .collect();
    let metadata = &pod["metadata"];
    json!({
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"], "labels": metadata["labels"],
        },
        "timestamp": now().rfc3339(), "window": "0s", "containers": containers,
    })
}
