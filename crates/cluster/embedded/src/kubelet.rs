//! The scripted kubelet of the embedded cluster: one for all its nodes.

use crate::cluster::Cluster;
use apiserver::State;
use kubelet::{Addresses, Life, World};
use model::{Timestamp, Value, json, meta};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use workloads::{Act, Item, View, delete_now, patch, pod_event, replacing};

const AGENT: &str = "kubelet";

/// What the kubelet knows of its Pods.
#[derive(Debug, Default)]
pub(crate) struct Kubelet {
    /// By namespace and name, with the uid of the Pod.
    lives: HashMap<(String, String), (String, Life)>,
    addresses: Mutex<Addresses>,
    /// Moves whenever a log grew or a container ended.
    logged: watch::Sender<u64>,
}

/// The cluster as the kubelet sees it.
struct Sight<'a> {
    state: &'a State,
    addresses: &'a Mutex<Addresses>,
}

impl World for Sight<'_> {
    fn object(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let kind = self.state.registry.find_group_resource(group, resource)?;
        self.state.get(kind, namespace, name)
    }

    fn objects(&self, group: &str, resource: &str, namespace: &str) -> Vec<Value> {
        let Some(kind) = self.state.registry.find_group_resource(group, resource) else {
            return Vec::new();
        };
        let space = (!namespace.is_empty()).then_some(namespace);
        self.state.list(kind, space)
    }

    fn pod_ip(&self, pod: &Value) -> String {
        let addresses = self.addresses.lock();
        addresses.unwrap_or_else(PoisonError::into_inner).of(pod)
    }

    fn exists(&self, group: &str, resource: &str, namespace: &str, name: &str) -> bool {
        let storage = format!("{group}/{resource}");
        let found = self.state.memory.get_parts(&storage, namespace, name);
        found.is_some()
    }
}

impl Cluster {
    fn kubelet(&self) -> MutexGuard<'_, Kubelet> {
        let kubelet = self.shared.kubelet.lock();
        kubelet.unwrap_or_else(PoisonError::into_inner)
    }

    /// What a Pod's life says, if it has one.
    pub(crate) fn with_life<T>(
        &self,
        namespace: &str,
        pod: &str,
        read: impl FnOnce(&Life) -> T,
    ) -> Option<T> {
        let kubelet = self.kubelet();
        let place = (namespace.to_owned(), pod.to_owned());
        kubelet.lives.get(&place).map(|(_, life)| read(life))
    }

    /// Moves when a log may have grown.
    pub(crate) fn log_changes(&self) -> watch::Receiver<u64> {
        self.kubelet().logged.subscribe()
    }

    // Looks at one Pod that has a node.
    pub(crate) fn live(&self, item: &Item, now: Timestamp) -> Vec<Act> {
        let state = self.shared.read();
        let mut desk = self.shared.desk();
        let Some(desk) = desk.as_mut() else {
            return Vec::new();
        };
        let mut kubelet = self.kubelet();
        let place = (item.namespace.to_string(), item.name.to_string());
        let stored = state.memory.get_parts("/pods", &place.0, &place.1);
        let Some(pod) = stored.map(store::Stored::value) else {
            kubelet.forget(&place);
            return Vec::new();
        };
        let node = meta::text_at(&pod, "/spec/nodeName").to_owned();
        let exists = desk
            .index()
            .node(&node)
            .is_some_and(workloads::NodeFacts::exists);
        if !exists {
            return Vec::new();
        }
        let Kubelet {
            lives,
            addresses,
            logged,
        } = &mut *kubelet;
        let uid = meta::uid(&pod).to_owned();
        let (known, life) = lives
            .entry(place)
            .or_insert_with(|| (uid.clone(), Life::resume(&pod, now)));
        *known = uid;
        let sight = Sight {
            state: &state,
            addresses,
        };
        let reaction = kubelet::step(&sight, &pod, life, now);
        if reaction.logged || !reaction.acts.is_empty() {
            logged.send_modify(|count| *count += 1);
        }
        if let Some(at) = reaction.wake_at {
            let soonest = Timestamp::from_micros(now.micros() + 1);
            desk.set_timer(item.clone(), at.max(soonest));
        }
        let view = desk.view(&state, now);
        let acts = reaction.acts.iter();
        acts.map(|act| request(&view, &pod, &node, act)).collect()
    }
}

impl Kubelet {
    fn forget(&mut self, place: &(String, String)) {
        if let Some((uid, _)) = self.lives.remove(place) {
            let addresses = self.addresses.get_mut();
            let addresses = addresses.unwrap_or_else(PoisonError::into_inner);
            addresses.release(&uid);
            self.logged.send_modify(|count| *count += 1);
        }
    }
}

// What the kubelet wants, as a request.
fn request(view: &View<'_>, pod: &Value, node: &str, act: &kubelet::Act) -> Act {
    let (namespace, name) = (meta::namespace(pod), meta::name(pod));
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    match act {
        kubelet::Act::Status(status) => {
            let body = json!({"status": replacing(pod.get("status"), status.clone())});
            patch(AGENT, format!("{path}/status"), &body)
        }
        kubelet::Act::Event(event) => pod_event(
            view,
            pod,
            node,
            (event.kind.word(), event.reason, &event.message),
            &event.field_path,
        ),
        kubelet::Act::Delete => delete_now(AGENT, path, meta::uid(pod)),
    }
}
