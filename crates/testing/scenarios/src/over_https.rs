//! A cluster that is reached over HTTPS, in real time.
//!
//! [`Hub`] watches every kind once for all scenarios and sorts what it hears by namespace; each
//! scenario has a [`Https`] of its own that takes its share.

use crate::kinds::{self, Kind};
use crate::target::{Ask, KindRef, Reply, Target, TargetError};
use crate::timeline::{Change, Seen};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use testkit::{Client, HttpError, Request};

/// How long a watch may last.
const WATCH_MAX: Duration = Duration::from_secs(3600);

/// Watches a cluster for many scenarios.
#[derive(Debug)]
pub struct Hub {
    client: Arc<Client>,
    heard: Arc<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    by_namespace: Mutex<BTreeMap<String, Vec<Seen>>>,
}

impl Heard {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Seen>>> {
        self.by_namespace
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    // Takes in one line of a watch; gives the version it speaks of.
    fn line(&self, kind: &str, line: &[u8]) -> Option<String> {
        let mut event = serde_json::from_slice::<Value>(line).ok()?;
        let change = match event["type"].as_str() {
            Some("ADDED") => Change::Added,
            Some("MODIFIED") => Change::Modified,
            Some("DELETED") => Change::Deleted,
            _ => return None,
        };
        let mut body = event["object"].take();
        body["kind"] = kind.into();
        let text = |key: &str| body["metadata"][key].as_str().unwrap_or("").to_owned();
        let (name, mut namespace) = (text("name"), text("namespace"));
        let version = text("resourceVersion");
        if kind == "Event" {
            namespace = involved(&body, namespace);
        }
        let mut shares = self.lock();
        // What lives in no namespace belongs to the scenario whose namespace it is named after.
        let owner = if namespace.is_empty() {
            let named = shares.keys().filter(|ns| name.contains(ns.as_str()));
            named.max_by_key(|ns| ns.len()).cloned()
        } else {
            Some(namespace)
        };
        if let Some(share) = owner.and_then(|owner| shares.get_mut(&owner)) {
            share.push(Seen {
                change,
                kind: kind.to_owned(),
                body,
            });
        }
        Some(version)
    }
}

// Events about objects without a namespace are kept in `default`.
fn involved(body: &Value, namespace: String) -> String {
    let about = &body["involvedObject"];
    if namespace == "default" && about["namespace"].is_null() {
        return String::new();
    }
    namespace
}

impl Hub {
    /// Begins to watch the cluster of a client.
    pub fn start(client: Client) -> Self {
        let hub = Self {
            client: Arc::new(client),
            heard: Arc::default(),
        };
        for kind in kinds::watched() {
            hub.watch(kind);
        }
        hub
    }

    fn watch(&self, kind: Kind) {
        let (client, heard) = (Arc::clone(&self.client), Arc::clone(&self.heard));
        std::thread::spawn(move || {
            let mut version = String::new();
            loop {
                let path = format!(
                    "{}?watch=true&timeoutSeconds=3600&resourceVersion={version}",
                    kind.everywhere()
                );
                let mut each = |line: &[u8]| {
                    if let Some(at) = heard.line(&kind.kind, line) {
                        version = at;
                    }
                    true
                };
                // A server may end a watch at any time; a fresh definition is served a moment
                // later; a server that is gone does not come back.
                if client.follow(&path, WATCH_MAX, &mut each).is_err()
                    && client.get("/readyz").is_err()
                {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
    }

    /// The cluster as one scenario sees it.
    pub fn target(&self, namespace: &str) -> Https<'_> {
        self.heard.lock().insert(namespace.to_owned(), Vec::new());
        Https {
            hub: self,
            namespace: namespace.to_owned(),
            start: Instant::now(),
            more: Vec::new(),
        }
    }
}

/// A real cluster, seen from one namespace.
#[derive(Debug)]
pub struct Https<'a> {
    hub: &'a Hub,
    namespace: String,
    start: Instant,
    more: Vec<String>,
}

impl Target for Https<'_> {
    fn ask(&mut self, ask: &Ask) -> Result<Reply, TargetError> {
        let mut request = Request::new(ask.method, &ask.path);
        if !ask.content_type.is_empty() {
            request = request.header("Content-Type", ask.content_type);
            request.body = ask.body.clone().into_bytes();
        }
        let failed = |error: HttpError| TargetError {
            what: format!("{} {}", ask.method, ask.path),
            why: error.to_string(),
        };
        let response = self.hub.client.send(&request).map_err(failed)?;
        Ok(Reply {
            status: response.status,
            text: response.text(),
        })
    }

    fn pass(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn seen(&mut self) -> Vec<Seen> {
        let mut shares = self.hub.heard.lock();
        shares
            .get_mut(&self.namespace)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    fn also_watch(&mut self, kind: &KindRef) {
        let path = kind.0.everywhere();
        if !self.more.contains(&path) {
            self.more.push(path);
            self.hub.watch(kind.0.clone());
        }
    }
}
