//! Nodes: what a new one says of itself, its heartbeat, its taints.

use crate::act::{Act, CONTROLLERS, Reaction, create, delete_now, patch};
use crate::event::{Grade, Note, about};
use crate::object::{LEASE, NODE, POD, condition, conditions, is_condition_true, time};
use crate::view::{LEASES, NODES, View};
use model::{Value, json, meta};

const KUBELET: &str = "kubelet";
const BEAT_SECONDS: i64 = 10;
const LEASE_SECONDS: i64 = 40;
const LEASE_SPACE: &str = "kube-node-lease";
const CORDONED: &str = "node.kubernetes.io/unschedulable";
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// A node of the embedded cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSize {
    /// Its name.
    pub name: String,
    /// `16`.
    pub cpu: String,
    /// `64Gi`.
    pub memory: String,
    /// How many Pods it takes.
    pub pods: u32,
}

impl Default for NodeSize {
    fn default() -> Self {
        Self {
            name: "sandbox".into(),
            cpu: "16".into(),
            memory: "64Gi".into(),
            pods: 1_000,
        }
    }
}

/// The request that registers a node. All else follows when it is looked at.
pub fn node_requests(size: &NodeSize) -> Vec<Act> {
    let amounts = json!({
        "cpu": size.cpu, "memory": size.memory, "pods": size.pods.to_string(),
        "ephemeral-storage": "200Gi",
    });
    let name = size.name.as_str();
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
            "kubernetes.io/hostname": name,
        }},
        "status": {"capacity": amounts, "allocatable": amounts},
    });
    vec![create(KUBELET, NODE.collection(""), &node).forget()]
}

/// Looks at one node.
pub(super) fn step(view: &View<'_>, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(node) = view.get(NODES, "", name) else {
        clear(view, name, &mut reaction);
        return reaction;
    };
    if meta::deletion_timestamp(&node).is_some() {
        return reaction;
    }
    beat(view, &node, &mut reaction);
    if condition(&node, "Ready").is_none() {
        introduce(view, &node, &mut reaction);
    }
    taint(view, &node, &mut reaction);
    reaction
}

// The kubelet's lease.
fn beat(view: &View<'_>, node: &Value, reaction: &mut Reaction) {
    let name = meta::name(node);
    let spec = json!({
        "holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS,
        "renewTime": view.now.rfc3339_micros(),
    });
    let mut next = view.now.plus_seconds(BEAT_SECONDS);
    match view.get(LEASES, LEASE_SPACE, name) {
        Some(lease) => {
            let last = time(&lease, "/spec/renewTime").unwrap_or_default();
            let due = last.plus_seconds(BEAT_SECONDS);
            if due > view.now {
                next = due;
            } else {
                let path = LEASE.path(LEASE_SPACE, name);
                reaction.push(patch(KUBELET, path, &json!({"spec": spec})).forget());
            }
        }
        None => {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": name, "ownerReferences": [{
                    "apiVersion": "v1", "kind": "Node", "name": name, "uid": meta::uid(node),
                }]},
                "spec": spec,
            });
            let path = LEASE.collection(LEASE_SPACE);
            reaction.push(create(KUBELET, path, &lease).forget());
        }
    }
    reaction.look_at(next);
}

// What a kubelet says of its node when it starts.
fn introduce(view: &View<'_>, node: &Value, reaction: &mut Reaction) {
    let now = view.now.rfc3339();
    let said = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    };
    let fine = [
        (
            "MemoryPressure",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        (
            "DiskPressure",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
        ),
        (
            "PIDPressure",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
    ];
    let mut list = conditions(node);
    list.extend(fine.map(|(kind, reason, message)| said(kind, "False", reason, message)));
    let ready = "kubelet is posting ready status";
    list.push(said("Ready", "True", "KubeletReady", ready));
    let mut status = json!({
        "conditions": list,
        "addresses": [
            {"type": "InternalIP", "address": address(meta::name(node))},
            {"type": "Hostname", "address": meta::name(node)},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "v1.36.4",
            "kubeProxyVersion": "", "containerRuntimeVersion": "sandbox://1.0.0",
            "kernelVersion": "6.1.0", "osImage": "Tiphys sandbox", "bootID": meta::uid(node),
            "machineID": meta::uid(node).replace('-', ""), "systemUUID": meta::uid(node),
        },
    });
    if node.pointer("/status/allocatable").is_none() {
        let size = NodeSize::default();
        let amounts = json!({
            "cpu": size.cpu, "memory": size.memory, "pods": size.pods.to_string(),
        });
        let capacity = node.pointer("/status/capacity").cloned().unwrap_or(amounts);
        status["capacity"] = capacity.clone();
        status["allocatable"] = capacity;
    }
    let path = NODE.status("", meta::name(node));
    reaction.push(patch(KUBELET, path, &json!({"status": status})));
    let note = Note {
        component: "node-controller",
        grade: Grade::Normal,
        reason: "RegisteredNode",
        message: &format!(
            "Node {0} event: Registered Node {0} in Controller",
            meta::name(node)
        ),
    };
    reaction.push(about(view, &NODE, node, note));
}

/// The address of a node: one of its own in 172.18.0.0/16.
pub(crate) fn address(name: &str) -> String {
    let digest = crate::object::digest(&name.into());
    format!(
        "172.18.{}.{}",
        (digest >> 8) & 0xff,
        (digest & 0xff).clamp(2, 254)
    )
}

// Taints that follow from what the node is: cordoned, not ready.
fn taint(view: &View<'_>, node: &Value, reaction: &mut Reaction) {
    let cordoned = crate::object::flag(node, "/spec/unschedulable");
    let heard = condition(node, "Ready").is_some();
    let unready = heard && !is_condition_true(node, "Ready");
    let mut taints: Vec<Value> = meta::entries(node, "/spec/taints").cloned().collect();
    let before = taints.clone();
    let set = |taints: &mut Vec<Value>, key: &str, wanted: bool| {
        let has = taints
            .iter()
            .any(|t| t["key"] == key && t["effect"] == "NoSchedule");
        if wanted && !has {
            let mut taint = json!({"key": key, "effect": "NoSchedule"});
            if key == CORDONED {
                taint["timeAdded"] = view.now.rfc3339().into();
            }
            taints.push(taint);
        }
        if !wanted {
            taints.retain(|t| !(t["key"] == key && t["effect"] == "NoSchedule"));
        }
    };
    set(&mut taints, CORDONED, cordoned);
    // A node that has not spoken yet keeps the taint it was made with.
    if heard {
        set(&mut taints, NOT_READY, unready);
    }
    if taints == before {
        return;
    }
    let taints = if taints.is_empty() {
        Value::Null
    } else {
        taints.into()
    };
    let path = NODE.path("", meta::name(node));
    reaction.push(patch(
        CONTROLLERS,
        path,
        &json!({"spec": {"taints": taints}}),
    ));
}

// The Pods of a node that is gone go, too.
fn clear(view: &View<'_>, name: &str, reaction: &mut Reaction) {
    let Some(node) = view.index.node(name) else {
        return;
    };
    for (namespace, pod) in &node.pods {
        if let Some(facts) = view.index.pod(namespace, pod) {
            let path = POD.path(namespace, pod);
            reaction.push(delete_now(CONTROLLERS, path, &facts.uid));
        }
    }
}
