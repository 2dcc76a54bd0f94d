//! The claims of a Pod: which keep it from being placed, and which wait for it.

use super::filter::{Obstacle, matches_terms};
use crate::act::{Act, SCHEDULER, patch};
use crate::index::NodeFacts;
use crate::kinds::claim;
use crate::object::CLAIM;
use crate::view::{CLAIMS, VOLUMES, View};
use model::{Value, json, meta};

/// A claim of a Pod.
pub(super) struct Claim {
    claim: Value,
    volume: Option<Value>,
}

impl Claim {
    /// Whether it has no volume yet.
    pub(super) fn is_unbound(&self) -> bool {
        meta::text_at(&self.claim, "/status/phase") != "Bound"
    }
}

/// The claims of a Pod; why it cannot be placed at all.
pub(super) fn claims(view: &View<'_>, pod: &Value) -> Result<Vec<Claim>, String> {
    let mut found = Vec::new();
    let namespace = meta::namespace(pod);
    for volume in meta::entries(pod, "/spec/volumes") {
        let mut name = meta::text_at(volume, "/persistentVolumeClaim/claimName").to_owned();
        if volume.get("ephemeral").is_some() {
            name = format!("{}-{}", meta::name(pod), meta::text_at(volume, "/name"));
        }
        if name.is_empty() {
            continue;
        }
        let Some(claim) = view.get(CLAIMS, namespace, &name) else {
            if volume.get("ephemeral").is_some() {
                return Err(format!(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}"
                ));
            }
            return Err(format!("persistentvolumeclaim {name:?} not found"));
        };
        if meta::deletion_timestamp(&claim).is_some() {
            return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
        }
        let bound = meta::text_at(&claim, "/spec/volumeName");
        let volume = view.get(VOLUMES, "", bound);
        let claim = Claim { claim, volume };
        if claim.is_unbound() && !claim::waits_for_pod(view, &claim.claim) {
            return Err("pod has unbound immediate PersistentVolumeClaims".into());
        }
        found.push(claim);
    }
    Ok(found)
}

/// What a claim has against a node.
pub(super) fn obstacle(view: &View<'_>, claims: &[Claim], node: &NodeFacts) -> Option<Obstacle> {
    for claim in claims {
        if let Some(volume) = claim.volume.as_ref().filter(|_| !claim.is_unbound()) {
            if !may_use(volume, node) {
                let reason = "node(s) didn't match PersistentVolume's node affinity";
                return Some(Obstacle::hard(reason));
            }
        } else if find(view, &claim.claim, node).is_none()
            && !claim::is_provisioned(view, &claim.claim)
        {
            let reason = "node(s) didn't find available persistent volumes to bind";
            return Some(Obstacle::hard(reason));
        }
    }
    None
}

fn may_use(volume: &Value, node: &NodeFacts) -> bool {
    volume
        .pointer("/spec/nodeAffinity/required")
        .is_none_or(|required| matches_terms(required, node))
}

fn find(view: &View<'_>, claim: &Value, node: &NodeFacts) -> Option<Value> {
    claim::candidates(view, claim)
        .into_iter()
        .find(|volume| may_use(volume, node))
}

/// Tells the claims that wait for a Pod on which node it will be.
pub(super) fn prepare(view: &View<'_>, claims: &[Claim], node: &NodeFacts) -> Vec<Act> {
    let mut acts = Vec::new();
    for claim in claims.iter().filter(|c| c.is_unbound()) {
        let object = &claim.claim;
        if let Some(volume) = find(view, object, node) {
            acts.push(claim::reserve(SCHEDULER, &volume, object));
            continue;
        }
        if meta::annotation(object, claim::SELECTED_NODE) == Some(&*node.name) {
            continue;
        }
        let body = json!({"metadata": {"annotations": {claim::SELECTED_NODE: &*node.name}}});
        let path = CLAIM.path(meta::namespace(object), meta::name(object));
        acts.push(patch(SCHEDULER, path, &body));
    }
    acts
}
