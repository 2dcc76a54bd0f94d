//! Makes CustomResourceDefinitions served, and cleans up after them.

use super::{is_condition_true, request, set_condition};
use crate::request::{Method, Request};
use crate::state::State;
use kinds::Endpoint;
use model::{Timestamp, Value, json, meta};
use std::collections::BTreeSet;

const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
const AGENT: &str = "kube-apiserver";

fn path(name: &str) -> String {
    format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
}

/// Looks at one definition.
pub(super) fn step(state: &State, name: &str, now: Timestamp) -> Vec<Request> {
    let Some(kind) = state
        .registry
        .find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    else {
        return Vec::new();
    };
    let Some(crd) = state.get(kind, "", name) else {
        return Vec::new();
    };
    if meta::deletion_timestamp(&crd).is_some() {
        return clean_up(state, &crd, now);
    }
    let status = accept_names(state, &crd, now);
    if crd.get("status") == Some(&status) {
        return Vec::new();
    }
    let write = |status: &Value| {
        let body = json!({"metadata": {"name": name}, "status": status});
        request(
            AGENT,
            Method::Patch,
            format!("{}/status", path(name)),
            &body,
        )
    };
    let established = |status: &Value| {
        let all = status["conditions"].as_array().into_iter().flatten();
        let mut found = all.filter(|c| c["type"] == "Established");
        found.any(|c| c["status"] == "True")
    };
    let was = crd.get("status").is_some_and(established);
    if was || !established(&status) {
        return vec![write(&status)];
    }
    // Names are accepted first; the definition is served a moment later.
    vec![write(&installing(&status)), write(&status)]
}

fn installing(status: &Value) -> Value {
    let mut status = status.clone();
    let conditions = status["conditions"].as_array_mut().into_iter().flatten();
    for condition in conditions.filter(|c| c["type"] == "Established") {
        condition["status"] = "False".into();
        condition["reason"] = "Installing".into();
    }
    status
}

// The status of a definition whose names are compared with those of its group.
fn accept_names(state: &State, crd: &Value, now: Timestamp) -> Value {
    let mut status = crd.get("status").cloned().unwrap_or_else(|| json!({}));
    let taken = names_of_others(state, crd);
    let wanted = crd.pointer("/spec/names").cloned().unwrap_or_default();
    let conflict = name_conflict(&wanted, &taken);
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    match &conflict {
        None => {
            set_condition(
                &mut conditions,
                json!({"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"}),
                now,
            );
            status["acceptedNames"] = wanted;
            if !is_condition_true(crd, "Established") {
                set_condition(
                    &mut conditions,
                    json!({"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": "the initial names have been accepted"}),
                    now,
                );
            }
        }
        Some((reason, message)) => {
            status["acceptedNames"] = free_names(&wanted, &taken, &status["acceptedNames"]);
            set_condition(
                &mut conditions,
                json!({"type": "NamesAccepted", "status": "False", "reason": reason, "message": message}),
                now,
            );
            if !is_condition_true(crd, "Established") {
                set_condition(
                    &mut conditions,
                    json!({"type": "Established", "status": "False", "reason": "NotAccepted", "message": "not all names are accepted"}),
                    now,
                );
            }
        }
    }
    status["conditions"] = Value::Array(conditions);
    status
}

struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

fn names_of_others(state: &State, crd: &Value) -> Taken {
    let group = meta::text_at(crd, "/spec/group");
    let mut taken = Taken {
        resources: BTreeSet::new(),
        kinds: BTreeSet::new(),
    };
    let others =
        state.registry.resources().iter().filter(|r| {
            r.gvr.group == group && r.custom().is_none_or(|c| c.crd != meta::name(crd))
        });
    for other in others {
        taken.resources.insert(other.gvr.resource.clone());
        taken.resources.insert(other.singular.clone());
        taken.resources.extend(other.short_names.iter().cloned());
        taken.kinds.insert(other.gvk.kind.clone());
        taken.kinds.insert(other.list_kind.clone());
    }
    taken
}

fn name_conflict(wanted: &Value, taken: &Taken) -> Option<(&'static str, String)> {
    let text = |field: &str| wanted[field].as_str().unwrap_or("");
    let used = |name: &str| format!("{name:?} is already in use");
    for (field, reason) in [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
    ] {
        if taken.resources.contains(text(field)) {
            return Some((reason, used(text(field))));
        }
    }
    for short in meta::entries(wanted, "/shortNames").filter_map(Value::as_str) {
        if taken.resources.contains(short) {
            return Some(("ShortNamesConflict", used(short)));
        }
    }
    for (field, reason) in [("kind", "KindConflict"), ("listKind", "ListKindConflict")] {
        if taken.kinds.contains(text(field)) {
            return Some((reason, used(text(field))));
        }
    }
    None
}

// The names that nobody else has; of the others those that were accepted before.
fn free_names(wanted: &Value, taken: &Taken, before: &Value) -> Value {
    let mut names = before.as_object().cloned().unwrap_or_default();
    for (field, used) in [
        ("plural", &taken.resources),
        ("singular", &taken.resources),
        ("kind", &taken.kinds),
        ("listKind", &taken.kinds),
    ] {
        if let Some(name) = wanted[field].as_str().filter(|name| !used.contains(*name)) {
            names.insert(field.into(), name.into());
        }
    }
    let shorts: Vec<&str> = meta::entries(wanted, "/shortNames")
        .filter_map(Value::as_str)
        .collect();
    if !shorts.is_empty() && shorts.iter().all(|name| !taken.resources.contains(*name)) {
        names.insert("shortNames".into(), json!(shorts));
    }
    if let Some(categories) = wanted.get("categories") {
        names.insert("categories".into(), categories.clone());
    }
    Value::Object(names)
}

// Deletes the instances of a definition that goes, then lets it go.
fn clean_up(state: &State, crd: &Value, now: Timestamp) -> Vec<Request> {
    if !meta::finalizers(crd).any(|f| f == FINALIZER) {
        return Vec::new();
    }
    let group = meta::text_at(crd, "/spec/group");
    let plural = meta::text_at(crd, "/spec/names/plural");
    let storage = format!("{group}/{plural}");
    let namespaces: BTreeSet<String> = state
        .memory
        .list(&storage, None)
        .map(|(namespace, _, _)| namespace.to_string())
        .collect();
    let served = state.registry.find_group_resource(group, plural);
    let (Some(served), false) = (served, namespaces.is_empty()) else {
        let finalizers: Vec<&str> = meta::finalizers(crd).filter(|f| *f != FINALIZER).collect();
        let finalizers = if finalizers.is_empty() {
            Value::Null
        } else {
            json!(finalizers)
        };
        let patch = json!({"metadata": {"finalizers": finalizers}});
        return vec![request(AGENT, Method::Patch, path(meta::name(crd)), &patch)];
    };
    let version = &served.gvr.version;
    // What already waits for its own finalizers is not asked again.
    let waiting = |namespace: &str| {
        let mut items = state.memory.list(&storage, Some(namespace));
        items.all(|(_, _, stored)| meta::deletion_timestamp(&stored.value()).is_some())
    };
    let deletions = namespaces
        .iter()
        .filter(|namespace| !waiting(namespace))
        .map(|namespace| {
            let place = if namespace.is_empty() {
                String::new()
            } else {
                format!("/namespaces/{namespace}")
            };
            let path = format!("/apis/{group}/{version}{place}/{plural}");
            request(AGENT, Method::Delete, path, &Value::Null)
        });
    in_progress(crd, now).into_iter().chain(deletions).collect()
}

// Says once that instances are being deleted.
fn in_progress(crd: &Value, now: Timestamp) -> Option<Request> {
    const REASON: &str = "InstanceDeletionInProgress";
    let conditions = crd["status"]["conditions"].as_array();
    let mut conditions = conditions.cloned().unwrap_or_default();
    if conditions.iter().any(|c| c["reason"] == REASON) {
        return None;
    }
    set_condition(
        &mut conditions,
        json!({
            "type": "Terminating", "status": "True", "reason": REASON,
            "message": "CustomResource deletion is in progress",
        }),
        now,
    );
    let path = format!("{}/status", path(meta::name(crd)));
    let body = json!({"status": {"conditions": conditions}});
    Some(request(AGENT, Method::Patch, path, &body))
}

/// What a create does to a definition before it is stored.
pub(crate) fn prepare_definition(crd: &mut Value) {
    let status = schema::initial_status(crd);
    crd["status"] = status;
    meta::metadata_mut(crd).insert("generation".into(), json!(1));
}

/// What an update does to a definition before it is stored.
pub(crate) fn prepare_definition_update(new: &mut Value, old: &Value, endpoint: Endpoint) {
    if endpoint == Endpoint::Status {
        new["spec"] = old["spec"].clone();
        for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
            let metadata = meta::metadata_mut(new);
            match old["metadata"].get(field) {
                Some(value) => metadata.insert(field.into(), value.clone()),
                None => metadata.remove(field),
            };
        }
        return;
    }
    new["status"] = old.get("status").cloned().unwrap_or_else(|| json!({}));
    if new.get("spec") == old.get("spec") {
        return;
    }
    meta::metadata_mut(new).insert("generation".into(), json!(meta::generation(old) + 1));
    let storage = meta::entries(new, "/spec/versions")
        .find(|v| v["storage"] == true)
        .map(|v| v["name"].clone());
    if let (Some(storage), Some(stored)) = (storage, new["status"]["storedVersions"].as_array_mut())
        && !stored.contains(&storage)
    {
        stored.push(storage);
    }
}

/// Marks a definition that is being deleted: it waits for its instances.
pub(crate) fn mark_terminating(crd: &mut Value, now: Timestamp) {
    let mut finalizers: Vec<String> = meta::finalizers(crd).map(str::to_owned).collect();
    if !finalizers.iter().any(|f| f == FINALIZER) {
        finalizers.push(FINALIZER.into());
    }
    meta::metadata_mut(crd).insert("finalizers".into(), json!(finalizers));
    let mut conditions = crd["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    set_condition(
        &mut conditions,
        json!({
            "type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }),
        now,
    );
    crd["status"]["conditions"] = Value::Array(conditions);
}
