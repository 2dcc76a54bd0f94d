//! The embedded cluster in this process, in virtual time.
//!
//! Every scenario has a cluster of its own that starts at the same instant with the same seed: what
//! it does is the same in every run.

use crate::kinds::{self, Kind};
use crate::target::{Ask, KindRef, Reply, Target, TargetError};
use crate::timeline::{Change, Seen};
use apiserver::{Method, Request};
use embedded::{Clock, Cluster, Options};
use model::Timestamp;
use std::time::Duration;
use store::{Event, EventKind};
use tokio::runtime::Runtime;

/// Monday, 5 January 2026, ten past ten, and twenty seconds.
const START: Timestamp = Timestamp::from_micros(1_767_607_820_000_000);
const SEED: u64 = 7;

/// An embedded cluster.
#[derive(Debug)]
pub struct InProcess {
    runtime: Runtime,
    cluster: Cluster,
    namespace: String,
    /// What is watched, and how far it has been read.
    watched: Vec<(Kind, u64)>,
}

impl InProcess {
    /// A fresh cluster for the scenario of a namespace.
    pub fn start(namespace: &str) -> Result<Self, TargetError> {
        let failed = |why: String| TargetError {
            what: "a start".into(),
            why,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|e| failed(e.to_string()))?;
        let options = Options {
            address: "127.0.0.1:6443".into(),
            clock: Clock::Virtual(START),
            seed: Some(SEED),
            ..Options::default()
        };
        let cluster = Cluster::open(&options).map_err(|e| failed(e.to_string()))?;
        // The node and the namespaces of every cluster come to rest.
        runtime.block_on(cluster.advance(1_000_000));
        Ok(Self {
            runtime,
            cluster,
            namespace: namespace.to_owned(),
            watched: kinds::watched().map(|kind| (kind, 0)).collect(),
        })
    }

    fn is_ours(&self, event: &Event) -> bool {
        if &*event.key.namespace == self.namespace.as_str() {
            return true;
        }
        event.key.namespace.is_empty() && event.key.name.contains(&self.namespace)
    }
}

fn seen(kind: &Kind, event: &Event) -> Seen {
    let mut body = event.object.value();
    body["kind"] = kind.kind.clone().into();
    let root = if kind.group.is_empty() {
        kind.version.clone()
    } else {
        format!("{}/{}", kind.group, kind.version)
    };
    body["apiVersion"] = root.into();
    Seen {
        change: match event.kind {
            EventKind::Added => Change::Added,
            EventKind::Modified => Change::Modified,
            EventKind::Deleted => Change::Deleted,
        },
        kind: kind.kind.clone(),
        body,
    }
}

fn request(ask: &Ask) -> Request {
    let (path, query) = ask.path.split_once('?').unwrap_or((&ask.path, ""));
    let mut headers = vec![("user-agent".into(), "scenarios".to_owned())];
    if !ask.content_type.is_empty() {
        headers.push(("content-type".into(), ask.content_type.to_owned()));
    }
    Request {
        method: match ask.method {
            "POST" => Method::Post,
            "PATCH" => Method::Patch,
            "DELETE" => Method::Delete,
            _ => Method::Get,
        },
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: ask.body.clone().into_bytes(),
        credentials: apiserver::Credentials {
            certificate: Some(apiserver::Certificate {
                common_name: "admin".into(),
                organizations: vec!["system:masters".into()],
                fingerprint: String::new(),
            }),
        },
    }
}

impl Target for InProcess {
    fn ask(&mut self, ask: &Ask) -> Result<Reply, TargetError> {
        let answer = self.runtime.block_on(self.cluster.call(request(ask)));
        Ok(Reply {
            status: answer.status(),
            text: String::from_utf8_lossy(&answer.bytes()).into_owned(),
        })
    }

    fn pass(&mut self, time: Duration) {
        let micros = time.as_micros() as i64;
        self.runtime.block_on(self.cluster.advance(micros));
    }

    fn elapsed(&self) -> Duration {
        let micros = self.cluster.now().micros() - START.micros();
        Duration::from_micros(micros.max(0) as u64)
    }

    fn seen(&mut self) -> Vec<Seen> {
        let mut found = Vec::new();
        for (kind, after) in &self.watched {
            let storage = kind.storage();
            let events = match self.cluster.events_after(&storage, *after) {
                // What was there before the scenario began.
                Err(gone) => self.cluster.events_after(&storage, gone.oldest),
                known => known,
            };
            let events = events.unwrap_or_default();
            let ours = events.iter().filter(|event| self.is_ours(event));
            found.extend(ours.map(|event| (event.version, seen(kind, event))));
        }
        let last = found.iter().map(|(version, _)| *version).max();
        if let Some(last) = last {
            self.watched.iter_mut().for_each(|(_, after)| *after = last);
        }
        found.sort_by_key(|(version, _)| *version);
        found.into_iter().map(|(_, seen)| seen).collect()
    }

    fn also_watch(&mut self, kind: &KindRef) {
        let storage = kind.0.storage();
        if self
            .watched
            .iter()
            .all(|(known, _)| known.storage() != storage)
        {
            self.watched.push((kind.0.clone(), 0));
        }
    }
}
