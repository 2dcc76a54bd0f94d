//! The provisioner of a cluster without storage: claims get volumes that hold nothing.
//!
//! What a CSI driver's provisioner does, and no more: it watches claims that the controller manager
//! has left to it, makes a volume for each and tells so in events. Classes that want it name
//! [`PROVISIONER`].

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testkit::{Client, HttpError, Request};

/// The provisioner that classes name.
pub const PROVISIONER: &str = "volumes.sandbox.tiphys.dev";

const ASKED: &str = "volume.kubernetes.io/storage-provisioner";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// How long one watch lasts.
const WATCH: Duration = Duration::from_secs(3600);

/// Serves claims for as long as the cluster answers.
pub fn provision(client: &Client) {
    let driver = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
        "metadata": {"name": PROVISIONER}, "spec": {"attachRequired": false},
    });
    let _ = post(client, "/apis/storage.k8s.io/v1/csidrivers", &driver);
    let mut done = BTreeSet::new();
    let path = "/api/v1/persistentvolumeclaims?watch=true";
    let mut each = |line: &[u8]| {
        let event: Value = serde_json::from_slice(line).unwrap_or_default();
        let uid = text(&event["object"], "/metadata/uid").to_owned();
        if !done.contains(&uid) && make(client, &event["object"]).is_some() {
            done.insert(uid);
        }
        true
    };
    while client.follow(path, WATCH, &mut each).is_ok() {}
}

// Makes the volume of a claim that asks for one now.
fn make(client: &Client, claim: &Value) -> Option<()> {
    let annotations = &claim["metadata"]["annotations"];
    let bound = !text(claim, "/spec/volumeName").is_empty();
    if bound || annotations[ASKED] != PROVISIONER {
        return None;
    }
    let class = text(claim, "/spec/storageClassName");
    let class = client.get(&format!("/apis/storage.k8s.io/v1/storageclasses/{class}"));
    let class = class.ok()?.json()?;
    let node = annotations[SELECTED_NODE].as_str();
    if class["volumeBindingMode"] == "WaitForFirstConsumer" && node.is_none() {
        return None;
    }
    let name = format!("pvc-{}", text(claim, "/metadata/uid"));
    let place = format!(
        "{}/{}",
        text(claim, "/metadata/namespace"),
        text(claim, "/metadata/name")
    );
    let begun = format!("External provisioner is provisioning volume for claim {place:?}");
    tell(client, claim, &class, "Provisioning", &begun);
    post(
        client,
        "/api/v1/persistentvolumes",
        &volume(claim, &class, &name, node),
    )
    .ok()?;
    let ended = format!("Successfully provisioned volume {name}");
    tell(client, claim, &class, "ProvisioningSucceeded", &ended);
    Some(())
}

fn volume(claim: &Value, class: &Value, name: &str, node: Option<&str>) -> Value {
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}},
        "spec": {
            "accessModes": claim["spec"]["accessModes"],
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "claimRef": about(claim),
            "csi": {"driver": PROVISIONER, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": class["reclaimPolicy"],
            "storageClassName": class["metadata"]["name"],
            "volumeMode": claim["spec"]["volumeMode"],
        },
    });
    if let Some(node) = node {
        volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{
            "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}],
        }]}});
    }
    volume
}

fn about(claim: &Value) -> Value {
    let metadata = &claim["metadata"];
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    })
}

fn tell(client: &Client, claim: &Value, class: &Value, reason: &str, message: &str) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let (namespace, name) = (
        text(claim, "/metadata/namespace"),
        text(claim, "/metadata/name"),
    );
    let component = format!("{PROVISIONER}_sandbox_{}", text(class, "/metadata/uid"));
    let event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{name}.{:x}", now.as_nanos()), "namespace": namespace},
        "involvedObject": about(claim), "type": "Normal", "reason": reason, "message": message,
        "source": {"component": component}, "reportingComponent": component, "count": 1,
    });
    let path = format!("/api/v1/namespaces/{namespace}/events");
    // An event that is lost is lost.
    let _ = post(client, &path, &event);
}

fn post(client: &Client, path: &str, body: &Value) -> Result<(), HttpError> {
    client
        .send(&Request::new("POST", path).json(body))
        .map(|_| ())
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}
