//! DELETE: at once, gracefully, or after finalizers and dependents.

use crate::admit::{self, Operation};
use crate::handle::{Call, Handled, Outcome, Stop};
use crate::reply::{Reply, Response};
use crate::state::{key_of, stamp, storable};
use crate::write::may_go;
use model::{ApiError, Value, json, meta};
use store::Change;
use wire::DeleteOptions;

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Kinds whose deletion is answered with the object instead of a status.
const RETURNED: [(&str, &str); 16] = [
    ("", "Namespace"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "ResourceQuota"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceSlice"),
];

/// What became of an object that was asked to go.
struct Fate {
    object: Value,
    /// What is written before the object goes: that it is going.
    before: Option<Change>,
    change: Option<Change>,
    gone: bool,
}

/// DELETE of one object.
pub(crate) fn delete(call: &mut Call<'_>) -> Handled {
    let options = options(call)?;
    let namespace = if call.resource.namespaced {
        call.target.namespace.as_str()
    } else {
        ""
    };
    let Some(object) = call.state.get(&call.resource, namespace, &call.target.name) else {
        return Err(call.not_found().into());
    };
    let dry_run = call.dry_run() || options.dry_run;
    let extra = admit::validate(call, Operation::Delete, None, Some(&object))?;
    let version = call.state.next_version();
    let fate = fate(call, object, &options, version)?;
    let reply = Reply::Full(answer(call, &fate));
    let mut changes = Vec::new();
    if !dry_run {
        changes.extend(fate.before);
        changes.extend(fate.change);
        changes.extend(extra);
    }
    Ok(Outcome { reply, changes })
}

fn options(call: &Call<'_>) -> Result<DeleteOptions, ApiError> {
    let bytes = &call.request.body;
    if bytes.is_empty() {
        return DeleteOptions::from_query(call.query);
    }
    let format = wire::body_format(call.request.header("content-type"))?;
    DeleteOptions::from_bytes(format, bytes)
}

fn answer(call: &Call<'_>, fate: &Fate) -> Response {
    let gvk = &call.resource.gvk;
    if !fate.gone || RETURNED.contains(&(gvk.group.as_str(), gvk.kind.as_str())) {
        return crate::read::one(call, 200, &fate.object);
    }
    let gvr = call.gvr();
    let mut details = json!({
        "name": meta::name(&fate.object), "kind": gvr.resource, "uid": meta::uid(&fate.object),
    });
    if !gvr.group.is_empty() {
        details["group"] = json!(gvr.group);
    }
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
    });
    crate::read::with_warnings(crate::read::encode(&call.media, 200, &status), call)
}

fn preconditions(call: &Call<'_>, object: &Value, options: &DeleteOptions) -> Result<(), ApiError> {
    let mismatch = |why: String| {
        let kind = &call.resource.gvk;
        let mut error = ApiError::conflict(call.gvr(), meta::name(object), &why);
        error.message = format!(
            "Operation cannot be fulfilled on {} {:?}: {why}",
            kind.group_kind(),
            meta::name(object)
        );
        error.kind.clone_from(&kind.kind);
        error
    };
    let uid = meta::uid(object);
    if let Some(wanted) = options.preconditions.uid.as_deref().filter(|w| *w != uid) {
        return Err(mismatch(format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The \
             object might have been deleted and then recreated"
        )));
    }
    let version = meta::resource_version(object);
    if let Some(wanted) = options
        .preconditions
        .resource_version
        .as_deref()
        .filter(|w| *w != version)
    {
        return Err(mismatch(format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the \
             ResourceVersion in record ({version}). The object might have been modified"
        )));
    }
    Ok(())
}

// Decides what happens to one object; `version` is what its change will get.
fn fate(
    call: &Call<'_>,
    object: Value,
    options: &DeleteOptions,
    version: u64,
) -> Result<Fate, ApiError> {
    preconditions(call, &object, options)?;
    let resource = &call.resource;
    let key = key_of(resource, meta::namespace(&object), meta::name(&object));
    let mut new = object.clone();
    set_finalizers(&mut new, &gc_finalizers(call, &object, options));
    let grace = grace(call, &object, options);
    mark(call, &mut new, &object, grace);
    if may_go(&new) {
        // Only kinds that end gracefully show the deletion in their last state.
        let graceful = kinds::default_grace_seconds(&resource.gvk, &object).is_some();
        let first = graceful && meta::deletion_timestamp(&object).is_none();
        let mut last = if graceful { new } else { object };
        meta::set_text(&mut last, "resourceVersion", &version.to_string());
        let mut before = None;
        if first {
            before = Some(Change::Put {
                key: key.clone(),
                body: storable(resource, last.clone()),
            });
            meta::set_text(&mut last, "resourceVersion", &(version + 1).to_string());
        }
        let change = Change::Delete {
            key,
            last: storable(resource, last.clone()),
        };
        return Ok(Fate {
            object: last,
            before,
            change: Some(change),
            gone: true,
        });
    }
    if new == object {
        return Ok(Fate {
            object,
            before: None,
            change: None,
            gone: false,
        });
    }
    meta::set_text(&mut new, "resourceVersion", &version.to_string());
    let change = Change::Put {
        key,
        body: storable(resource, new.clone()),
    };
    Ok(Fate {
        object: new,
        before: None,
        change: Some(change),
        gone: false,
    })
}

// How long an object may go on after it was told to stop: only Pods that run have a say.
fn grace(call: &Call<'_>, object: &Value, options: &DeleteOptions) -> Option<i64> {
    let gvk = &call.resource.gvk;
    if call.resource.custom().is_some() {
        return Some(0);
    }
    if gvk.kind == "Namespace" && gvk.group.is_empty() {
        return None;
    }
    let Some(default) = kinds::default_grace_seconds(gvk, object) else {
        return Some(0);
    };
    let placed = !meta::text_at(object, "/spec/nodeName").is_empty();
    let over = matches!(
        meta::text_at(object, "/status/phase"),
        "Succeeded" | "Failed"
    );
    if !placed || over {
        return Some(0);
    }
    Some(options.grace_period_seconds.unwrap_or(default).max(0))
}

fn mark(call: &Call<'_>, new: &mut Value, old: &Value, grace: Option<i64>) {
    let before = old
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64);
    if meta::deletion_timestamp(old).is_some() {
        // A second deletion can only shorten the wait.
        if let (Some(before), Some(grace)) = (before, grace)
            && grace < before
        {
            let start = meta::deletion_timestamp(old).map(|t| t.plus_seconds(-before));
            let end = start.unwrap_or(call.now).plus_seconds(grace).max(call.now);
            let metadata = meta::metadata_mut(new);
            metadata.insert("deletionTimestamp".into(), stamp(end));
            metadata.insert("deletionGracePeriodSeconds".into(), json!(grace));
        }
        return;
    }
    let gvk = &call.resource.gvk;
    if gvk.kind == "CustomResourceDefinition" {
        crate::controllers::mark_terminating(new, call.now);
        meta::metadata_mut(new).insert("deletionTimestamp".into(), stamp(call.now));
        return;
    }
    let metadata = meta::metadata_mut(new);
    metadata.insert(
        "deletionTimestamp".into(),
        stamp(call.now.plus_seconds(grace.unwrap_or(0))),
    );
    if let Some(grace) = grace {
        metadata.insert("deletionGracePeriodSeconds".into(), json!(grace));
    }
    if let Some(generation) = metadata
        .get("generation")
        .and_then(Value::as_i64)
        .filter(|g| *g > 0)
    {
        metadata.insert("generation".into(), json!(generation + 1));
    }
    if gvk.kind == "Namespace" && gvk.group.is_empty() {
        new["status"]["phase"] = json!("Terminating");
    }
}

// The finalizers an object has once the wished treatment of its dependents is written into them.
fn gc_finalizers(call: &Call<'_>, object: &Value, options: &DeleteOptions) -> Vec<String> {
    let has = |name: &str| meta::finalizers(object).any(|f| f == name);
    let gvk = &call.resource.gvk;
    let orphans_by_default = matches!(
        (gvk.group.as_str(), gvk.kind.as_str()),
        ("batch", "Job") | ("", "ReplicationController")
    );
    let old_switch = options
        .orphan_dependents
        .map(|o| if o { "Orphan" } else { "Background" });
    let (orphan, foreground) = match options.propagation_policy.as_deref().or(old_switch) {
        Some("Orphan") => (true, false),
        Some("Foreground") => (false, true),
        Some(_) => (false, false),
        None => match (has(ORPHAN), has(FOREGROUND)) {
            (false, false) => (orphans_by_default, false),
            kept => kept,
        },
    };
    let supported = gvk.kind != "Event";
    let own = meta::finalizers(object).filter(|f| *f != ORPHAN && *f != FOREGROUND);
    let mut all: Vec<String> = own.map(str::to_owned).collect();
    if supported && orphan {
        all.push(ORPHAN.into());
    }
    if supported && foreground {
        all.push(FOREGROUND.into());
    }
    all
}

fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    let metadata = meta::metadata_mut(object);
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), json!(finalizers));
    }
}

/// DELETE of everything a selector matches; with `limit`, of that many at most.
///
/// Objects that go at once are never all held in memory: the store removes them as they stand, and
/// the answer is written from what it had.
pub(crate) fn delete_collection(call: &mut Call<'_>) -> Handled {
    let options = options(call)?;
    let before = call.state.memory.version();
    let mut gone = Vec::new();
    let mut kept = Vec::new();
    let mut changes = Vec::new();
    for stored in crate::collection::matching(call)? {
        let object = crate::state::present(&call.resource, stored.value());
        let extra = match admit::validate(call, Operation::Delete, None, Some(&object)) {
            Err(Stop::Refuse(error)) if error.code == 404 => continue,
            other => other?,
        };
        let version = before + 1 + changes.len() as u64;
        let fate = fate(call, object, &options, version)?;
        changes.extend(fate.before);
        match fate.change {
            Some(Change::Delete { key, .. }) => {
                changes.push(Change::Remove { key });
                gone.push(stored);
            }
            change => {
                changes.extend(change);
                kept.push(fate.object);
            }
        }
        changes.extend(extra);
    }
    if call.dry_run() || options.dry_run {
        changes.clear();
    }
    let reply = crate::collection::deleted(call, before, gone, kept);
    Ok(Outcome { reply, changes })
}
