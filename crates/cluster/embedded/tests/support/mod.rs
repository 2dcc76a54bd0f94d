//! A cluster in virtual time, driven by hand.
#![allow(dead_code)] // each test uses its part

use apiserver::{Certificate, Credentials, Method, Request};
use embedded::{Clock, Cluster, NodeSize, Options};
use model::{Timestamp, Value, json};
use std::path::Path;

/// When the world begins.
pub const START: &str = "2026-11-16T08:00:00Z";

/// A cluster in virtual time.
pub struct World {
    pub cluster: Cluster,
    runtime: tokio::runtime::Runtime,
}

impl World {
    /// A fresh one in memory.
    pub fn new() -> Self {
        Self::open(None, START)
    }

    /// One that is kept in a folder, opened at a time.
    pub fn open(data: Option<&Path>, at: &str) -> Self {
        let options = Options {
            data: data.map(Path::to_owned),
            clock: Clock::Virtual(Timestamp::parse(at).unwrap()),
            seed: Some(7),
            nodes: vec![NodeSize {
                pods: 20_000,
                cpu: "1000".into(),
                ..NodeSize::default()
            }],
            ..Options::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let cluster = Cluster::open(&options).unwrap();
        let world = Self { cluster, runtime };
        world.advance(0);
        world
    }

    /// Lets seconds pass.
    pub fn advance(&self, seconds: i64) {
        self.runtime
            .block_on(self.cluster.advance(seconds * 1_000_000));
    }

    /// Lets microseconds pass.
    pub fn advance_micros(&self, micros: i64) {
        self.runtime.block_on(self.cluster.advance(micros));
    }

    /// Sends a request; gives status and body.
    pub fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let content = match method {
            Method::Patch => "application/merge-patch+json",
            _ => "application/json",
        };
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let request = Request {
            method,
            path: path.into(),
            query: query.into(),
            headers: vec![
                ("user-agent".into(), "kubectl/v1.36.4".into()),
                ("content-type".into(), content.into()),
            ],
            body: if body.is_null() {
                Vec::new()
            } else {
                body.to_string().into_bytes()
            },
            credentials: Credentials {
                certificate: Some(Certificate {
                    common_name: "admin".into(),
                    organizations: vec!["system:masters".into()],
                    fingerprint: String::new(),
                }),
            },
        };
        let answer = self.runtime.block_on(self.cluster.call(request));
        let text = String::from_utf8(answer.bytes()).unwrap();
        (answer.status(), text.parse().unwrap_or(Value::Null))
    }

    pub fn create(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.send(Method::Post, path, body);
        assert_eq!(status, 201, "{answer:#}");
        answer
    }

    pub fn patch(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.send(Method::Patch, path, body);
        assert_eq!(status, 200, "{answer:#}");
        answer
    }

    pub fn delete(&self, path: &str) -> Value {
        self.send(Method::Delete, path, &Value::Null).1
    }

    pub fn get(&self, path: &str) -> Value {
        self.send(Method::Get, path, &Value::Null).1
    }

    /// The items of a list.
    pub fn list(&self, path: &str) -> Vec<Value> {
        let list = self.get(path);
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// `kind/name reason: message xN` of all events of a namespace about a kind, in order of time.
    pub fn events(&self, kind: &str) -> Vec<String> {
        let events = self.list("/api/v1/namespaces/default/events");
        let events = events
            .iter()
            .filter(|e| e["involvedObject"]["kind"] == kind);
        let text = |v: &Value| v.as_str().unwrap_or("").to_owned();
        let mut lines: Vec<(u64, String)> = events
            .map(|e| {
                let line = format!(
                    "{} {} {}: {} x{}",
                    text(&e["type"]),
                    text(&e["involvedObject"]["name"]),
                    text(&e["reason"]),
                    text(&e["message"]),
                    e["count"]
                );
                (
                    text(&e["metadata"]["resourceVersion"]).parse().unwrap(),
                    line,
                )
            })
            .collect();
        lines.sort();
        lines.into_iter().map(|(_, line)| line).collect()
    }

    /// `type=status reason message` of an object's conditions.
    pub fn conditions(&self, path: &str) -> Vec<String> {
        let object = self.get(path);
        let text = |v: &Value| v.as_str().unwrap_or("").to_owned();
        let list = object["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        list.iter()
            .map(|c| {
                format!(
                    "{}={} {} {}",
                    text(&c["type"]),
                    text(&c["status"]),
                    text(&c["reason"]),
                    text(&c["message"])
                )
            })
            .collect()
    }
}

pub fn deployment(name: &str, replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
            },
        },
    })
}
