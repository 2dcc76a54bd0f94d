//! The node's loop: news and timers in, looks at Pods, acts out.

use crate::cache::{Cache, WATCHED, key};
use crate::lives::Lives;
use crate::records::{self, Record};
use crate::server::Server;
use crate::time::{now, until};
use crate::watch::{self, News};
use crate::{NodeError, Options, api};
use http::Method;
use kube::Client;
use kubelet::{Act, Life};
use model::{Map, Timestamp, Value, json, meta};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

const LEASE_EVERY: Duration = Duration::from_secs(10);
/// How long a Pod rests after the API server refused something about it.
const REFUSED: i64 = 1_000_000;

type Key = (String, String);

/// A node that has joined its cluster.
pub(crate) struct Agent {
    client: Client,
    cache: Cache,
    pods: BTreeMap<Key, Value>,
    lives: Lives,
    due: BTreeSet<(Timestamp, Key)>,
    at: BTreeMap<Key, Timestamp>,
    news: UnboundedReceiver<News>,
    records: UnboundedSender<Record>,
    has_pods: bool,
    /// Ends with the agent.
    _tasks: JoinSet<()>,
}

impl Agent {
    /// Registers the Node and begins to watch.
    pub(crate) async fn join(options: &Options) -> Result<Self, NodeError> {
        let client = api::client(options).await?;
        let server = Server::bind().await?;
        register(&client, options, server.port).await?;
        let lives = Lives::new();
        let mut tasks = JoinSet::new();
        let (sender, news) = unbounded_channel();
        for what in WATCHED {
            tasks.spawn(watch::follow(
                client.clone(),
                what,
                String::new(),
                sender.clone(),
            ));
        }
        let mine = format!("spec.nodeName%3D{}", options.name);
        tasks.spawn(watch::follow(
            client.clone(),
            ("", "v1", "pods"),
            mine,
            sender,
        ));
        let (records, written) = unbounded_channel();
        tasks.spawn(records::write(
            client.clone(),
            options.name.clone(),
            written,
        ));
        tasks.spawn(server.serve(lives.clone()));
        tasks.spawn(keep_lease(client.clone(), options.name.clone()));
        Ok(Self {
            client,
            cache: Cache::default(),
            pods: BTreeMap::new(),
            lives,
            due: BTreeSet::new(),
            at: BTreeMap::new(),
            news,
            records,
            has_pods: false,
            _tasks: tasks,
        })
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            let next = self.due.first().map(|(at, _)| *at);
            let wait = next.map_or(Duration::from_secs(3_600), until);
            tokio::select! {
                biased;
                item = self.news.recv() => match item {
                    Some(item) => self.learn(item),
                    None => return,
                },
                () = tokio::time::sleep(wait) => {}
            }
            while let Ok(item) = self.news.try_recv() {
                self.learn(item);
            }
            if self.cache.is_complete() && self.has_pods {
                self.look_at_due().await;
            }
        }
    }

    fn learn(&mut self, item: News) {
        match item {
            News::All("pods", pods) => {
                self.has_pods = true;
                let there: BTreeSet<Key> = pods.iter().map(key).collect();
                let gone = self.pods.keys().filter(|k| !there.contains(*k)).cloned();
                for gone in gone.collect::<Vec<_>>() {
                    self.forget(&gone);
                }
                for pod in pods {
                    self.see(pod);
                }
            }
            News::Changed("pods", pod) => self.see(pod),
            News::Gone("pods", pod) => self.forget(&key(&pod)),
            News::All(resource, objects) => self.cache.replace(resource, objects),
            News::Changed(resource, object) => self.cache.put(resource, object),
            News::Gone(resource, object) => self.cache.remove(resource, &object),
        }
    }

    fn see(&mut self, pod: Value) {
        let key = key(&pod);
        let known = self.pods.get(&key);
        if known.is_some_and(|known| version(known) >= version(&pod)) {
            return;
        }
        self.pods.insert(key.clone(), pod);
        self.plan(key, Some(now()));
    }

    fn forget(&mut self, key: &Key) {
        if let Some(pod) = self.pods.remove(key) {
            self.cache.addresses.borrow_mut().release(meta::uid(&pod));
        }
        self.plan(key.clone(), None);
        self.lives.lock().remove(key);
        self.lives.wake_followers();
    }

    fn plan(&mut self, key: Key, at: Option<Timestamp>) {
        if let Some(before) = self.at.remove(&key) {
            self.due.remove(&(before, key.clone()));
        }
        if let Some(at) = at {
            self.at.insert(key.clone(), at);
            self.due.insert((at, key));
        }
    }

    async fn look_at_due(&mut self) {
        while let Some((at, key)) = self.due.first().cloned() {
            if at > now() {
                return;
            }
            self.plan(key.clone(), None);
            self.look(&key).await;
            // What came meanwhile may concern the next Pod.
            while let Ok(item) = self.news.try_recv() {
                self.learn(item);
            }
        }
    }

    async fn look(&mut self, key: &Key) {
        let Some(pod) = self.pods.get(key).cloned() else {
            return;
        };
        let time = now();
        let reaction = {
            let mut lives = self.lives.lock();
            let life = lives
                .entry(key.clone())
                .or_insert_with(|| Life::resume(&pod, time));
            kubelet::step(&self.cache, &pod, life, time)
        };
        if reaction.logged || !reaction.acts.is_empty() {
            self.lives.wake_followers();
        }
        let mut wake = reaction.wake_at;
        for act in reaction.acts {
            if !self.perform(key, &pod, act).await {
                let soon = Timestamp::from_micros(now().micros() + REFUSED);
                wake = Some(wake.map_or(soon, |at| at.min(soon)));
            }
        }
        if self.pods.contains_key(key) {
            self.plan(key.clone(), wake);
        }
    }

    // False when it must be tried again.
    async fn perform(&mut self, key: &Key, pod: &Value, act: Act) -> bool {
        let path = format!("/api/v1/namespaces/{}/pods/{}", key.0, key.1);
        match act {
            Act::Event(event) => {
                let pod = pod.clone();
                self.records.send(Record { pod, event }).is_ok()
            }
            Act::Status(status) => {
                let before = self.pods.get(key).and_then(|pod| pod.get("status"));
                let patch = json!({
                    "metadata": {"uid": meta::uid(pod)},
                    "status": with_removals(before, status),
                });
                let path = format!("{path}/status");
                match api::send(&self.client, Method::PATCH, &path, Some(&patch)).await {
                    Ok(written) => {
                        let newer = self
                            .pods
                            .get(key)
                            .is_some_and(|p| version(p) < version(&written));
                        if newer {
                            self.pods.insert(key.clone(), written);
                        }
                        true
                    }
                    Err(error) => matches!(api::code(&error), 404 | 409),
                }
            }
            Act::Delete => {
                let body = json!({
                    "apiVersion": "v1",
                    "kind": "DeleteOptions",
                    "gracePeriodSeconds": 0,
                    "preconditions": {"uid": meta::uid(pod)},
                });
                match api::send(&self.client, Method::DELETE, &path, Some(&body)).await {
                    Ok(_) => true,
                    Err(error) => matches!(api::code(&error), 404 | 409),
                }
            }
        }
    }
}

fn version(object: &Value) -> u64 {
    meta::resource_version(object).parse().unwrap_or(0)
}

// A merge patch leaves what it does not name: what is to go must be null.
fn with_removals(before: Option<&Value>, status: Value) -> Value {
    let Value::Object(mut status) = status else {
        return status;
    };
    let before: Option<&Map<String, Value>> = before.and_then(Value::as_object);
    for field in before.into_iter().flat_map(Map::keys) {
        status.entry(field.clone()).or_insert(Value::Null);
    }
    Value::Object(status)
}

async fn register(client: &Client, options: &Options, port: u16) -> Result<(), NodeError> {
    let name = &options.name;
    let fail = |what: &str| {
        let what = format!("{what} the Node {name:?}");
        move |source| NodeError::Api {
            what,
            source: Box::new(source),
        }
    };
    let mut labels = json!({
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    });
    for (key, value) in &options.labels {
        labels[key] = value.as_str().into();
    }
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
    });
    match api::send(client, Method::POST, "/api/v1/nodes", Some(&node)).await {
        Err(error) if api::code(&error) != 409 => return Err(fail("register")(error)),
        _ => {}
    }
    renew_lease(client, name)
        .await
        .map_err(fail("keep the Lease of"))?;
    let path = format!("/api/v1/nodes/{name}/status");
    let status = json!({"status": node_status(options, port)});
    api::send(client, Method::PATCH, &path, Some(&status))
        .await
        .map(|_| ())
        .map_err(fail("report the status of"))
}

fn node_status(options: &Options, port: u16) -> Value {
    let time = now().rfc3339();
    let resources = json!({
        "cpu": options.cpu,
        "memory": options.memory,
        "pods": options.pods.to_string(),
        "ephemeral-storage": "100Gi",
    });
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": time, "lastTransitionTime": time,
        })
    };
    json!({
        "capacity": resources,
        "allocatable": resources,
        "addresses": [
            {"type": "InternalIP", "address": "127.0.0.1"},
            {"type": "Hostname", "address": options.name},
        ],
        "conditions": [
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
            condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "nodeInfo": {
            "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "containerd://2.0.0",
            "kernelVersion": "6.1.0", "kubeProxyVersion": "", "kubeletVersion": "v1.36.4",
            "machineID": "", "operatingSystem": "linux", "osImage": "scripted", "systemUUID": "",
        },
    })
}

async fn renew_lease(client: &Client, name: &str) -> Result<(), kube::Error> {
    let root = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let spec = json!({
        "holderIdentity": name,
        "leaseDurationSeconds": 40,
        "renewTime": now().rfc3339_micros(),
    });
    let patch = json!({ "spec": spec });
    let path = format!("{root}/{name}");
    match api::send(client, Method::PATCH, &path, Some(&patch)).await {
        Err(error) if api::code(&error) == 404 => {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": "kube-node-lease"},
                "spec": spec,
            });
            api::send(client, Method::POST, root, Some(&lease)).await?;
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

async fn keep_lease(client: Client, name: String) {
    loop {
        tokio::time::sleep(LEASE_EVERY).await;
        // The next round tries again.
        let _ = renew_lease(&client, &name).await;
    }
}
