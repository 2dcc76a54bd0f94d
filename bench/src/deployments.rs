//! How much CPU it takes an embedded cluster to bring many Deployments to rest.
//!
//! The cluster lives in this process, in memory and in virtual time: nothing waits, so what is
//! measured is work alone. Creating the Deployments counts as well.

use crate::error::BenchError;
use crate::report::{Measure, Row};
use apiserver::{Certificate, Credentials, Method, Request};
use embedded::{Clock, Cluster, NodeSize, Options};
use model::{Timestamp, Value, json};
use std::time::{Duration, Instant};

/// The world begins on some Monday morning.
const START: Timestamp = Timestamp::from_seconds(1_794_816_000);
/// Longer than a Pod takes to get ready, in microseconds.
const ENOUGH: i64 = 30_000_000;
const REPLICAS: i64 = 2;

/// Measures one size after the other.
pub(crate) async fn run(sizes: &[u32]) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for size in sizes {
        rows.extend(one(*size).await?);
    }
    Ok(rows)
}

async fn one(size: u32) -> Result<[Row; 3], BenchError> {
    let options = Options {
        clock: Clock::Virtual(START),
        seed: Some(1),
        nodes: vec![NodeSize {
            cpu: "100000".into(),
            pods: size.saturating_mul(4),
            ..NodeSize::default()
        }],
        ..Options::default()
    };
    let cluster = Cluster::open(&options).map_err(|e| BenchError::config(e.to_string()))?;
    cluster.advance(0).await;
    let (cpu, begin) = (cpu_seconds(), Instant::now());
    for n in 0..size {
        let answer = cluster.call(create(n)).await;
        if answer.status() != 201 {
            let text = String::from_utf8_lossy(&answer.bytes()).into_owned();
            return Err(BenchError::config(text));
        }
    }
    cluster.advance(ENOUGH).await;
    let (cpu, wall) = (cpu_seconds() - cpu, begin.elapsed());
    check(&cluster, size).await?;
    let cpu = Duration::from_secs_f64(cpu);
    let what = format!("{size} Deployments x {REPLICAS}");
    Ok([
        Row::new(format!("{what}, CPU"), Measure::Time(cpu)),
        Row::new(
            format!("{what}, CPU for each"),
            Measure::Time(cpu / size.max(1)),
        ),
        Row::new(format!("{what}, wall"), Measure::Time(wall)),
    ])
}

// All of them must be ready.
async fn check(cluster: &Cluster, size: u32) -> Result<(), BenchError> {
    let list = cluster.call(request(Method::Get, &Value::Null)).await;
    let text = String::from_utf8_lossy(&list.bytes()).into_owned();
    let list: Value = text.parse().unwrap_or_default();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let ready = items
        .iter()
        .filter(|d| d["status"]["availableReplicas"] == REPLICAS)
        .count();
    if ready != size as usize {
        return Err(BenchError::config(format!(
            "{ready} of {size} Deployments are ready"
        )));
    }
    Ok(())
}

fn create(n: u32) -> Request {
    let name = format!("web-{n:05}");
    let body = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": REPLICAS, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "app", "image": "nginx:1.27", "ports": [{"containerPort": 80}],
                    "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
                }]},
            },
        },
    });
    request(Method::Post, &body)
}

fn request(method: Method, body: &Value) -> Request {
    Request {
        method,
        path: "/apis/apps/v1/namespaces/default/deployments".into(),
        query: String::new(),
        headers: vec![
            ("user-agent".into(), "tiphys-bench/1".into()),
            ("content-type".into(), "application/json".into()),
        ],
        body: if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        },
        credentials: Credentials {
            certificate: Some(Certificate {
                common_name: "bench".into(),
                organizations: vec!["system:masters".into()],
                fingerprint: String::new(),
            }),
        },
    }
}

// User and system time of this process. `/proc` counts in hundredths of a second.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |i: usize| {
        fields
            .get(i)
            .and_then(|f| f.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}
