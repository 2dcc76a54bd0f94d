//! Claims and volumes: who gets which, and when.
//!
//! A StorageClass provisions what its claims ask for, whatever its provisioner is called, unless it
//! says `sandbox.tiphys.dev/provisioner: absent`: then claims wait, as in a cluster where nobody
//! runs that provisioner.

use crate::act::{Act, CONTROLLERS, Reaction, create, delete, patch};
use crate::event::{Grade, Note, about};
use crate::object::{CLAIM, VOLUME};
use crate::view::{CLAIMS, CLASSES, VOLUMES, View};
use model::{LabelSelector, Quantity, Value, json, meta};

/// Where the scheduler notes the node of a claim's first Pod.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const COMPONENT: &str = "persistentvolume-controller";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
const BOUND_BY: &str = "pv.kubernetes.io/bound-by-controller";
const COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const PROVISIONERS: [&str; 2] = [
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
];
const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";
const RESYNC_SECONDS: i64 = 15;
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Looks at one claim.
pub(super) fn step(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(claim) = view.get(CLAIMS, namespace, name) else {
        return reaction;
    };
    if meta::deletion_timestamp(&claim).is_some() {
        let used = users(view, &claim).next().is_some();
        if !used {
            reaction.acts.extend(unprotect(
                CLAIM.path(namespace, name),
                &claim,
                CLAIM_PROTECTION,
            ));
        }
        return reaction;
    }
    if meta::annotation(&claim, COMPLETED).is_some() {
        keep(view, &claim, &mut reaction);
    } else {
        seek(view, &claim, &mut reaction);
    }
    reaction
}

// The Pods that use a claim and are not over.
fn users<'a>(view: &View<'a>, claim: &Value) -> impl Iterator<Item = &'a crate::index::PodFacts> {
    let name = meta::name(claim).to_owned();
    let pods = view.index.pods(meta::namespace(claim));
    pods.filter(move |p| !p.is_over() && p.claims.iter().any(|c| **c == *name))
}

fn unprotect(path: String, object: &Value, finalizer: &str) -> Option<Act> {
    let mut kept: Vec<&str> = meta::finalizers(object).collect();
    let before = kept.len();
    kept.retain(|f| *f != finalizer);
    if kept.len() == before {
        return None;
    }
    let kept = if kept.is_empty() {
        Value::Null
    } else {
        json!(kept)
    };
    let body = json!({"metadata": {"uid": meta::uid(object), "finalizers": kept}});
    Some(patch(CONTROLLERS, path, &body).forget())
}

// A claim that was bound: its volume must still be there.
fn keep(view: &View<'_>, claim: &Value, reaction: &mut Reaction) {
    let volume = view.get(VOLUMES, "", meta::text_at(claim, "/spec/volumeName"));
    let ours = volume.as_ref().is_some_and(|v| is_for(v, claim));
    if !ours {
        if meta::text_at(claim, "/status/phase") != "Lost" {
            let message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
            tell(view, claim, Grade::Warning, "ClaimLost", message, reaction);
            let path = CLAIM.status(meta::namespace(claim), meta::name(claim));
            let body = json!({"status": {"phase": "Lost", "accessModes": null, "capacity": null}});
            reaction.push(patch(CONTROLLERS, path, &body));
        }
        return;
    }
    if let Some(volume) = volume {
        settle(&volume, claim, reaction);
    }
}

fn is_for(volume: &Value, claim: &Value) -> bool {
    let text = |pointer: &str| meta::text_at(volume, pointer);
    text("/spec/claimRef/namespace") == meta::namespace(claim)
        && text("/spec/claimRef/name") == meta::name(claim)
        && matches!(text("/spec/claimRef/uid"), uid if uid.is_empty() || uid == meta::uid(claim))
}

fn seek(view: &View<'_>, claim: &Value, reaction: &mut Reaction) {
    let named = meta::text_at(claim, "/spec/volumeName");
    if !named.is_empty() {
        match view.get(VOLUMES, "", named) {
            Some(volume) if is_free(&volume) || is_for(&volume, claim) => {
                bind(&volume, claim, reaction);
            }
            Some(_) => {
                let message = format!("volume {named:?} already bound to a different claim.");
                tell(
                    view,
                    claim,
                    Grade::Warning,
                    "FailedBinding",
                    &message,
                    reaction,
                );
            }
            None => {}
        }
        return;
    }
    // One that is reserved comes first.
    let reserved = view
        .index
        .volumes_of(&meta::namespace(claim).into(), &meta::name(claim).into());
    let reserved = reserved.iter().filter_map(|v| view.get(VOLUMES, "", v));
    if let Some(volume) = reserved.into_iter().find(|v| is_for(v, claim)) {
        bind(&volume, claim, reaction);
        return;
    }
    if let Some(class) = missing_default(view, claim) {
        let path = CLAIM.path(meta::namespace(claim), meta::name(claim));
        let body = json!({"spec": {"storageClassName": class}});
        reaction.push(patch(CONTROLLERS, path, &body));
        return;
    }
    let selected = meta::annotation(claim, SELECTED_NODE).is_some();
    if waits_for_pod(view, claim) && !selected {
        wait(view, claim, reaction);
        return;
    }
    if let Some(volume) = candidates(view, claim).into_iter().next() {
        bind(&volume, claim, reaction);
        return;
    }
    provision(view, claim, reaction);
}

// The default class, for a claim that names none because there was none.
fn missing_default(view: &View<'_>, claim: &Value) -> Option<String> {
    if claim.pointer("/spec/storageClassName").is_some() {
        return None;
    }
    let mut defaults: Vec<Value> = view.list(CLASSES, None);
    defaults.retain(|c| meta::annotation(c, DEFAULT_CLASS) == Some("true"));
    defaults.sort_by(|a, b| {
        let key = |v: &Value| meta::text(v, "creationTimestamp").to_owned();
        key(b)
            .cmp(&key(a))
            .then_with(|| meta::name(a).cmp(meta::name(b)))
    });
    defaults.first().map(|c| meta::name(c).to_owned())
}

fn class_of(view: &View<'_>, claim: &Value) -> Option<Value> {
    view.get(CLASSES, "", meta::text_at(claim, "/spec/storageClassName"))
}

/// Whether a claim is bound only once a Pod needs it.
pub(crate) fn waits_for_pod(view: &View<'_>, claim: &Value) -> bool {
    class_of(view, claim).is_some_and(|c| c["volumeBindingMode"] == "WaitForFirstConsumer")
}

/// Whether a volume would be made for a claim.
pub(crate) fn is_provisioned(view: &View<'_>, claim: &Value) -> bool {
    class_of(view, claim).is_some_and(|c| meta::text_at(&c, "/provisioner") != NO_PROVISIONER)
}

fn wait(view: &View<'_>, claim: &Value, reaction: &mut Reaction) {
    let waiting: Vec<&str> = users(view, claim)
        .filter(|p| p.node.is_none() && !p.deleting)
        .map(|p| &*p.name)
        .collect();
    let first = "waiting for first consumer to be created before binding".to_owned();
    let (reason, message) = match waiting.as_slice() {
        [] => ("WaitForFirstConsumer", first),
        [one] => (
            "WaitForPodScheduled",
            format!("waiting for pod {one} to be scheduled"),
        ),
        many => (
            "WaitForPodScheduled",
            format!("waiting for pods {} to be scheduled", many.join(",")),
        ),
    };
    tell(view, claim, Grade::Normal, reason, &message, reaction);
}

// Says why a claim waits; again every quarter of a minute.
fn tell(
    view: &View<'_>,
    claim: &Value,
    grade: Grade,
    reason: &str,
    message: &str,
    reaction: &mut Reaction,
) {
    reaction.look_at(view.now.plus_seconds(RESYNC_SECONDS));
    let note = Note {
        component: COMPONENT,
        grade,
        reason,
        message,
    };
    reaction.push(about(view, &CLAIM, claim, note));
}

fn is_free(volume: &Value) -> bool {
    volume.pointer("/spec/claimRef").is_none()
        && meta::deletion_timestamp(volume).is_none()
        && matches!(
            meta::text_at(volume, "/status/phase"),
            "Available" | "" | "Pending"
        )
}

/// The volumes that would do for a claim, the smallest first.
pub(crate) fn candidates(view: &View<'_>, claim: &Value) -> Vec<Value> {
    let class = meta::text_at(claim, "/spec/storageClassName");
    let mode = |v: &Value| match meta::text_at(v, "/spec/volumeMode") {
        "" => "Filesystem".to_owned(),
        mode => mode.to_owned(),
    };
    let size = |v: Option<&Value>| v.and_then(Quantity::from_json).map_or(0, Quantity::value);
    let wanted = size(claim.pointer("/spec/resources/requests/storage"));
    let selector = match claim.pointer("/spec/selector") {
        Some(spec) => {
            LabelSelector::from_spec(Some(spec)).unwrap_or_else(|_| LabelSelector::nothing())
        }
        None => LabelSelector::everything(),
    };
    let mut fit = view.list(VOLUMES, None);
    fit.retain(|v| {
        let has_modes = meta::entries(claim, "/spec/accessModes")
            .all(|m| meta::entries(v, "/spec/accessModes").any(|own| own == m));
        is_free(v)
            && meta::text_at(v, "/spec/storageClassName") == class
            && mode(v) == mode(claim)
            && has_modes
            && size(v.pointer("/spec/capacity/storage")) >= wanted
            && selector.matches_object(v)
    });
    fit.sort_by_key(|v| {
        (
            size(v.pointer("/spec/capacity/storage")),
            meta::name(v).to_owned(),
        )
    });
    fit
}

/// Keeps a volume for a claim.
pub(crate) fn reserve(agent: &'static str, volume: &Value, claim: &Value) -> Act {
    let body = json!({
        "metadata": {"annotations": {BOUND_BY: "yes"}},
        "spec": {"claimRef": claim_ref(claim)},
    });
    patch(agent, VOLUME.path("", meta::name(volume)), &body)
}

fn claim_ref(claim: &Value) -> Value {
    json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": meta::namespace(claim),
        "name": meta::name(claim), "uid": meta::uid(claim),
        "resourceVersion": meta::resource_version(claim),
    })
}

fn bind(volume: &Value, claim: &Value, reaction: &mut Reaction) {
    if meta::text_at(volume, "/spec/claimRef/uid") != meta::uid(claim) {
        reaction.push(reserve(CONTROLLERS, volume, claim));
    }
    let path = CLAIM.path(meta::namespace(claim), meta::name(claim));
    let mut notes = json!({COMPLETED: "yes"});
    if meta::text_at(claim, "/spec/volumeName").is_empty() {
        notes[BOUND_BY] = "yes".into();
    }
    let body = json!({
        "metadata": {"annotations": notes}, "spec": {"volumeName": meta::name(volume)},
    });
    reaction.push(patch(CONTROLLERS, path, &body));
    settle(volume, claim, reaction);
}

// Both say that they belong together.
fn settle(volume: &Value, claim: &Value, reaction: &mut Reaction) {
    if meta::text_at(volume, "/status/phase") != "Bound" {
        let path = VOLUME.status("", meta::name(volume));
        reaction.push(patch(
            CONTROLLERS,
            path,
            &json!({"status": {"phase": "Bound"}}),
        ));
    }
    let status = json!({
        "phase": "Bound", "accessModes": volume.pointer("/spec/accessModes"),
        "capacity": volume.pointer("/spec/capacity"),
    });
    let same = ["phase", "accessModes", "capacity"]
        .iter()
        .all(|f| claim.pointer(&format!("/status/{f}")) == Some(&status[*f]));
    if !same {
        let path = CLAIM.status(meta::namespace(claim), meta::name(claim));
        reaction.push(patch(CONTROLLERS, path, &json!({"status": status})));
    }
}

fn provision(view: &View<'_>, claim: &Value, reaction: &mut Reaction) {
    let name = meta::text_at(claim, "/spec/storageClassName");
    if name.is_empty() {
        let message = "no persistent volumes available for this claim and no storage class is set";
        tell(
            view,
            claim,
            Grade::Normal,
            "FailedBinding",
            message,
            reaction,
        );
        return;
    }
    let Some(class) = class_of(view, claim) else {
        let message = format!("storageclass.storage.k8s.io {name:?} not found");
        tell(
            view,
            claim,
            Grade::Warning,
            "ProvisioningFailed",
            &message,
            reaction,
        );
        return;
    };
    let provisioner = meta::text_at(&class, "/provisioner");
    if meta::annotation(claim, PROVISIONERS[1]).is_none() {
        let body = json!({"metadata": {"annotations": {
            PROVISIONERS[0]: provisioner, PROVISIONERS[1]: provisioner,
        }}});
        let path = CLAIM.path(meta::namespace(claim), meta::name(claim));
        reaction.push(patch(CONTROLLERS, path, &body));
    }
    let message = format!(
        "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the system \
         administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
    );
    tell(
        view,
        claim,
        Grade::Normal,
        "ExternalProvisioning",
        &message,
        reaction,
    );
    let absent = meta::annotation(&class, "sandbox.tiphys.dev/provisioner") == Some("absent");
    if provisioner != NO_PROVISIONER && !absent {
        make(view, claim, &class, reaction);
    }
}

// What a provisioner does for a claim.
fn make(view: &View<'_>, claim: &Value, class: &Value, reaction: &mut Reaction) {
    let provisioner = meta::text_at(class, "/provisioner");
    let name = format!("pvc-{}", meta::uid(claim));
    let component = format!("{provisioner}_sandbox_{}", meta::uid(class));
    let note = |reason: &str, message: &str| {
        let note = Note {
            component: &component,
            grade: Grade::Normal,
            reason,
            message,
        };
        about(view, &CLAIM, claim, note)
    };
    let place = format!("{}/{}", meta::namespace(claim), meta::name(claim));
    let begun = format!("External provisioner is provisioning volume for claim {place:?}");
    reaction.push(note("Provisioning", &begun));
    let policy = meta::text_at(class, "/reclaimPolicy");
    let mode = claim.pointer("/spec/volumeMode").cloned();
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": provisioner}},
        "spec": {
            "accessModes": claim.pointer("/spec/accessModes"),
            "capacity": {"storage": claim.pointer("/spec/resources/requests/storage")},
            "claimRef": claim_ref(claim),
            "csi": {"driver": provisioner, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": if policy.is_empty() { "Delete" } else { policy },
            "storageClassName": meta::name(class),
            "volumeMode": mode.unwrap_or_else(|| "Filesystem".into()),
        },
    });
    if let Some(node) = meta::annotation(claim, SELECTED_NODE) {
        volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{
            "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}],
        }]}});
    }
    let done = note(
        "ProvisioningSucceeded",
        &format!("Successfully provisioned volume {name}"),
    );
    let act = create(CONTROLLERS, VOLUME.collection(""), &volume).forget();
    reaction.push(act.and_then(done));
}

/// Looks at one volume.
pub(super) fn volume(view: &View<'_>, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(volume) = view.get(VOLUMES, "", name) else {
        return reaction;
    };
    let text = |pointer: &str| meta::text_at(&volume, pointer);
    let phase = text("/status/phase");
    if meta::deletion_timestamp(&volume).is_some() {
        if phase != "Bound" {
            reaction
                .acts
                .extend(unprotect(VOLUME.path("", name), &volume, VOLUME_PROTECTION));
        }
        return reaction;
    }
    let mut say = |wanted: &str| {
        if phase != wanted {
            let body = json!({"status": {"phase": wanted}});
            reaction.push(patch(CONTROLLERS, VOLUME.status("", name), &body));
        }
    };
    let uid = text("/spec/claimRef/uid");
    if uid.is_empty() {
        say("Available");
        return reaction;
    }
    let claim = view.get(
        CLAIMS,
        text("/spec/claimRef/namespace"),
        text("/spec/claimRef/name"),
    );
    if claim.is_some_and(|c| meta::uid(&c) == uid) {
        return reaction;
    }
    say("Released");
    if text("/spec/persistentVolumeReclaimPolicy") == "Delete" {
        let act = delete(CONTROLLERS, VOLUME.path("", name), meta::uid(&volume));
        reaction.push(act);
    }
    reaction
}
