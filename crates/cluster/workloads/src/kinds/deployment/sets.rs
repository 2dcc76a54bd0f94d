//! The ReplicaSets of a Deployment.

use super::{DESIRED, HISTORY, Look, MAXIMUM, REVISION};
use crate::act::{CONTROLLERS, create, patch};
use crate::object::{self, DEPLOYMENT, REPLICA_SET, count, number};
use model::{Map, Timestamp, Value, json, meta};

const HASH: &str = "pod-template-hash";
/// Annotations of a Deployment that its sets do not get.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MAXIMUM,
    "deprecated.deployment.rollback.to",
];

/// What a Deployment needs to know of a set.
#[derive(Debug)]
pub(super) struct ReplicaSet {
    pub(super) object: Value,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) created: Timestamp,
    pub(super) replicas: i64,
    pub(super) status_replicas: i64,
    pub(super) ready: i64,
    pub(super) available: i64,
    pub(super) terminating: i64,
    pub(super) desired: Option<i64>,
    pub(super) maximum: Option<i64>,
    pub(super) revision: i64,
    pub(super) going: bool,
    pub(super) is_observed: bool,
}

impl ReplicaSet {
    pub(super) fn read(set: Value) -> Self {
        let note = |key: &str| meta::annotation(&set, key).and_then(|v| v.parse().ok());
        let going = meta::deletion_timestamp(&set).is_some();
        Self {
            name: meta::name(&set).to_owned(),
            uid: meta::uid(&set).to_owned(),
            created: meta::creation_timestamp(&set).unwrap_or_default(),
            replicas: number(&set, "/spec/replicas").unwrap_or(1),
            status_replicas: count(&set, "/status/replicas"),
            ready: count(&set, "/status/readyReplicas"),
            available: count(&set, "/status/availableReplicas"),
            terminating: count(&set, "/status/terminatingReplicas"),
            desired: note(DESIRED),
            maximum: note(MAXIMUM),
            revision: note(REVISION).unwrap_or(0),
            going,
            is_observed: meta::generation(&set) <= count(&set, "/status/observedGeneration"),
            object: set,
        }
    }

    /// Whether it was made from this template.
    pub(super) fn has_template(&self, template: &Value) -> bool {
        let Some(own) = self.object.pointer("/spec/template") else {
            return false;
        };
        own.get("spec") == template.get("spec") && same_metadata(own, template)
    }

    /// Why it cannot make Pods.
    pub(super) fn failure(&self) -> Option<&Value> {
        object::condition(&self.object, "ReplicaFailure")
    }
}

// The set's template has the hash on top.
fn same_metadata(own: &Value, template: &Value) -> bool {
    let rest = |value: &Value| -> Map<String, Value> {
        let metadata = value.get("metadata").and_then(Value::as_object);
        let mut rest = metadata.cloned().unwrap_or_default();
        if let Some(labels) = rest.get_mut("labels").and_then(Value::as_object_mut) {
            labels.remove(HASH);
        }
        rest.retain(|_, v| !v.is_null() && v.as_object().is_none_or(|m| !m.is_empty()));
        rest
    };
    rest(own) == rest(template)
}

impl Look<'_> {
    fn hash(&self) -> String {
        let template = self.deployment.pointer("/spec/template");
        object::safe_hash(template.unwrap_or(&Value::Null), self.collisions())
    }

    /// The name that a set with the Deployment's template gets.
    pub(super) fn new_name(&self) -> String {
        format!("{}-{}", meta::name(self.deployment), self.hash())
    }

    /// Brings the set with the Deployment's template up to date, if there is one.
    pub(super) fn find_new(&mut self) {
        let Some(new) = self.new else {
            return;
        };
        let newest = self.old().map(|i| self.sets[i].revision).max().unwrap_or(0);
        let set = &self.sets[new];
        let notes = self.notes_for(Some(set), newest + 1);
        let min_ready = count(self.deployment, "/spec/minReadySeconds");
        let changed = notes
            .iter()
            .any(|(k, v)| meta::annotation(&set.object, k) != v.as_str());
        if changed || count(&set.object, "/spec/minReadySeconds") != min_ready {
            let mut body = json!({"metadata": {"annotations": notes}});
            if count(&set.object, "/spec/minReadySeconds") != min_ready {
                body["spec"] = json!({"minReadySeconds": min_ready});
            }
            let path = REPLICA_SET.path(meta::namespace(self.deployment), &set.name);
            self.reaction.push(patch(CONTROLLERS, path, &body));
        }
        let revision = notes
            .get(REVISION)
            .and_then(Value::as_str)
            .map(str::to_owned);
        let revision = revision.or_else(|| meta::annotation(&set.object, REVISION).map(Into::into));
        let name = set.name.clone();
        self.want_revision(revision);
        if self.deadline().is_some() && self.draft.progress_reason().is_empty() {
            let message = format!("Found new replica set {name:?}");
            self.draft
                .set_progress(self.view, "True", "FoundNewReplicaSet", &message);
        }
    }

    fn want_revision(&mut self, revision: Option<String>) {
        let has = meta::annotation(self.deployment, REVISION);
        if let Some(revision) = revision.filter(|r| Some(r.as_str()) != has) {
            self.draft.revision = Some(revision);
        }
    }

    // The annotations a set is to have: the Deployment's, and its revision.
    fn notes_for(&self, set: Option<&ReplicaSet>, revision: i64) -> Map<String, Value> {
        let own = self.deployment.pointer("/metadata/annotations");
        let mut notes: Map<String, Value> = own
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter(|(key, _)| !NOT_COPIED.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let before = set.map_or(0, |s| s.revision);
        if before < revision {
            notes.insert(REVISION.into(), revision.to_string().into());
            if before > 0
                && let Some(set) = set
            {
                let history = meta::annotation(&set.object, HISTORY).unwrap_or("");
                let history = if history.is_empty() {
                    before.to_string()
                } else {
                    format!("{history},{before}")
                };
                notes.insert(HISTORY.into(), history.into());
            }
        }
        notes
    }

    /// Makes the set with the Deployment's template; gives its size.
    pub(super) fn make_new(&mut self) {
        let hash = self.hash();
        let name = self.new_name();
        let deployment = self.deployment;
        let newest = self.sets.iter().map(|s| s.revision).max().unwrap_or(0);
        let size = self.room_for_new(0);
        let mut template = deployment
            .pointer("/spec/template")
            .cloned()
            .unwrap_or_default();
        let labels = meta::metadata_mut(&mut template)
            .entry("labels")
            .or_insert_with(|| json!({}));
        labels[HASH] = hash.as_str().into();
        let labels = labels.clone();
        let mut selector = deployment
            .pointer("/spec/selector")
            .cloned()
            .unwrap_or_default();
        selector["matchLabels"][HASH] = hash.as_str().into();
        let mut notes = self.notes_for(None, newest + 1);
        notes.insert(DESIRED.into(), self.replicas().to_string().into());
        let most = self.replicas() + self.max_surge();
        notes.insert(MAXIMUM.into(), most.to_string().into());
        let mut body = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": name, "labels": labels, "annotations": notes,
                "ownerReferences": [DEPLOYMENT.controller_ref(deployment)],
            },
            "spec": {"replicas": size, "selector": selector, "template": template},
        });
        let min_ready = count(deployment, "/spec/minReadySeconds");
        if min_ready > 0 {
            body["spec"]["minReadySeconds"] = min_ready.into();
        }
        let path = REPLICA_SET.collection(meta::namespace(deployment));
        let mut act = create(CONTROLLERS, path, &body).tell(0);
        if size > 0 {
            act = act.and_then(self.scaled_event(&name, 0, size));
        }
        self.reaction.push(act);
        self.want_revision(Some((newest + 1).to_string()));
        // Right after a pause the real controller's word of the new set is lost to a conflict.
        if self.deadline().is_some() && self.draft.progress_reason() != "DeploymentResumed" {
            let message = format!("Created new replica set {name:?}");
            self.draft
                .set_progress(self.view, "True", "NewReplicaSetCreated", &message);
            self.draft.birth = Some(self.draft.conditions().to_vec());
        }
        self.sets.push(ReplicaSet::read(body));
        self.new = Some(self.sets.len() - 1);
    }
}
