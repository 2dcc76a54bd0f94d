//! Pods whose lives are told as text: a manifest and a world go in, a timeline comes out.

mod basics;

use crate::{Act, Addresses, Life, World, step};
use model::{Timestamp, Value, json, meta};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Noon of a day; stories count seconds from here.
const START: Timestamp = Timestamp::from_seconds(1_780_000_000);
/// No story needs more looks than this.
const LOOKS_MAX: usize = 2_000;

#[derive(Default)]
pub(crate) struct Cluster {
    objects: BTreeMap<String, Value>,
    addresses: RefCell<Addresses>,
}

impl Cluster {
    pub(crate) fn with(objects: &[(&str, Value)]) -> Self {
        let mut cluster = Self::default();
        for (path, object) in objects {
            cluster.put(path, object.clone());
        }
        cluster
    }

    /// `resource/namespace/name`.
    pub(crate) fn put(&mut self, path: &str, mut object: Value) {
        let mut parts = path.split('/');
        let (_, namespace, name) = (parts.next(), parts.next(), parts.next());
        object["metadata"]["namespace"] = namespace.unwrap_or("").into();
        object["metadata"]["name"] = name.unwrap_or("").into();
        self.objects.insert(path.to_owned(), object);
    }
}

impl World for Cluster {
    fn object(&self, _: &str, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.objects
            .get(&format!("{resource}/{namespace}/{name}"))
            .cloned()
    }

    fn objects(&self, _: &str, resource: &str, namespace: &str) -> Vec<Value> {
        let prefix = format!("{resource}/{namespace}");
        let all = self.objects.iter();
        all.filter(|(key, _)| key.starts_with(&prefix))
            .map(|(_, value)| value.clone())
            .collect()
    }

    fn pod_ip(&self, pod: &Value) -> String {
        self.addresses.borrow_mut().of(pod)
    }
}

/// One Pod and what happened to it so far.
pub(crate) struct Story {
    pub(crate) cluster: Cluster,
    pub(crate) pod: Value,
    pub(crate) life: Life,
    pub(crate) now: Timestamp,
    pub(crate) told: String,
    pub(crate) gone: bool,
}

impl Story {
    /// A Pod `p` in namespace `n` with this spec.
    pub(crate) fn new(spec: Value) -> Self {
        let mut pod = json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "generation": 1},
            "spec": spec,
        });
        pod["spec"]["nodeName"] = "node".into();
        let node =
            json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}});
        Self {
            cluster: Cluster::with(&[("nodes//node", node)]),
            life: Life::resume(&pod, START),
            pod,
            now: START,
            told: String::new(),
            gone: false,
        }
    }

    pub(crate) fn annotated(mut self, container: &str, behaviour: &str) -> Self {
        let key = format!("{}{container}", crate::ANNOTATION_PREFIX);
        self.pod["metadata"]["annotations"][key] = behaviour.into();
        self
    }

    /// Looks at the Pod whenever it asks for it, up to so many seconds after the start.
    pub(crate) fn until(mut self, end: i64) -> Self {
        let end = START.plus_seconds(end);
        for _ in 0..LOOKS_MAX {
            let wake = self.look();
            match wake.filter(|at| *at <= end && !self.gone) {
                Some(at) => self.now = at,
                None => break,
            }
        }
        self.now = end;
        self
    }

    fn look(&mut self) -> Option<Timestamp> {
        let reaction = step(&self.cluster, &self.pod, &mut self.life, self.now);
        let at = (self.now.micros() - START.micros()) as f64 / 1e6;
        for act in reaction.acts {
            let line = match act {
                Act::Status(status) => {
                    let line = summary(&status);
                    self.pod["status"] = status;
                    line
                }
                Act::Event(event) => {
                    let place = event.field_path.split(['{', '}']).nth(1).unwrap_or("-");
                    format!(
                        "  {} {} {place}: {}",
                        event.kind.word(),
                        event.reason,
                        event.message
                    )
                }
                Act::Delete => {
                    self.gone = true;
                    "deleted".to_owned()
                }
            };
            self.told += &format!("{at}s {line}\n");
        }
        reaction.wake_at
    }

    /// Asks for the Pod's deletion now.
    pub(crate) fn delete(mut self, grace: i64) -> Self {
        let end = self.now.plus_seconds(grace).rfc3339();
        self.pod["metadata"]["deletionTimestamp"] = end.into();
        self.pod["metadata"]["deletionGracePeriodSeconds"] = grace.into();
        self
    }

    /// What was told since the last time.
    pub(crate) fn tell(&mut self) -> String {
        std::mem::take(&mut self.told)
    }
}

fn summary(status: &Value) -> String {
    let ready = meta::entries(status, "/conditions")
        .find(|c| meta::text_at(c, "/type") == "Ready")
        .map_or("", |c| meta::text_at(c, "/status"));
    let mut line = format!("{} ready={ready}", meta::text_at(status, "/phase"));
    let reason = meta::text_at(status, "/reason");
    if !reason.is_empty() {
        line += &format!(" reason={reason}");
    }
    for list in ["/initContainerStatuses", "/containerStatuses"] {
        for one in meta::entries(status, list) {
            line += &format!(" {}={}", meta::text_at(one, "/name"), stage(one));
        }
    }
    line
}

fn stage(status: &Value) -> String {
    let restarts = crate::spec::number(status, "/restartCount", 0);
    let restarts = match restarts {
        0 => String::new(),
        count => format!("#{count}"),
    };
    let flag = |f: &str| status.get(f).and_then(Value::as_bool) == Some(true);
    if let Some(waiting) = status.pointer("/state/waiting") {
        return format!("{}{restarts}", meta::text_at(waiting, "/reason"));
    }
    if let Some(ended) = status.pointer("/state/terminated") {
        let code = crate::spec::number(ended, "/exitCode", -1);
        return format!("{}({code}){restarts}", meta::text_at(ended, "/reason"));
    }
    let ready = match (flag("started"), flag("ready")) {
        (_, true) => "ready",
        (true, false) => "unready",
        (false, false) => "unstarted",
    };
    format!("{ready}{restarts}")
}
