//! The rules that the restricted level adds to the baseline.

use super::baseline::{added, added_detail, proc_mount, seccomp_explicit};
use super::checks::{Fault, Subject, containers, context, fault, name, plural, quoted, setters};
use model::{Value, meta};
use std::collections::BTreeSet;

pub(super) fn capabilities_restricted(s: Subject<'_>) -> Option<Fault> {
    if s.minor < 22 || s.windows() {
        return None;
    }
    let drops_all = |c: &Value| {
        let mut dropped = meta::entries(c, "/securityContext/capabilities/drop");
        dropped.any(|c| c.as_str() == Some("ALL"))
    };
    let keeping: Vec<&str> = s.containers().filter(|c| !drops_all(c)).map(name).collect();
    let (adding, values) = added(s, &["NET_BIND_SERVICE"]);
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details.push(format!(
            "{} must set securityContext.capabilities.drop=[\"ALL\"]",
            containers(&keeping)
        ));
    }
    if !adding.is_empty() {
        details.push(added_detail(&adding, values));
    }
    if details.is_empty() {
        return None;
    }
    fault("unrestricted capabilities", details.join("; "))
}

pub(super) fn proc_mount_restricted(s: Subject<'_>) -> Option<Fault> {
    if s.minor >= 35 { proc_mount(s) } else { None }
}

pub(super) fn seccomp_restricted(s: Subject<'_>) -> Option<Fault> {
    if s.minor < 19 || s.windows() {
        return None;
    }
    if let Some(explicit) = seccomp_explicit(s) {
        return Some(explicit);
    }
    if s.spec("/securityContext/seccompProfile").is_some() {
        return None;
    }
    let unset = |c: &&Value| context(c, "/seccompProfile").is_none();
    let names: Vec<&str> = s.containers().filter(unset).map(name).collect();
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        containers(&names)
    );
    fault("seccompProfile", detail)
}

pub(super) fn privilege_escalation(s: Subject<'_>) -> Option<Fault> {
    if s.minor < 8 || s.windows() {
        return None;
    }
    let open = |c: &&Value| context(c, "/allowPrivilegeEscalation") != Some(&Value::Bool(false));
    let names: Vec<&str> = s.containers().filter(open).map(name).collect();
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must set securityContext.allowPrivilegeEscalation=false",
        containers(&names)
    );
    fault("allowPrivilegeEscalation != false", detail)
}

const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];
const OTHER_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

pub(super) fn restricted_volumes(s: Subject<'_>) -> Option<Fault> {
    let mut names = Vec::new();
    let mut types = BTreeSet::new();
    for volume in meta::entries(s.pod, "/spec/volumes") {
        let is = |kind: &&&str| volume.get(**kind).is_some_and(|v| !v.is_null());
        if VOLUMES.iter().any(|kind| is(&kind)) {
            continue;
        }
        names.push(name(volume));
        types.insert(OTHER_VOLUMES.iter().find(is).copied().unwrap_or("unknown"));
    }
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} {} {} {} {}",
        plural(names.len(), "volume", "volumes"),
        quoted(&names),
        plural(names.len(), "uses", "use"),
        plural(
            types.len(),
            "restricted volume type",
            "restricted volume types"
        ),
        quoted(types)
    );
    fault("restricted volume types", detail)
}

pub(super) fn run_as_non_root(s: Subject<'_>) -> Option<Fault> {
    if s.own_user_namespace() {
        return None;
    }
    let reason = "runAsNonRoot != true";
    let held = s
        .spec("/securityContext/runAsNonRoot")
        .and_then(Value::as_bool);
    let own = |c: &Value| context(c, "/runAsNonRoot").and_then(Value::as_bool);
    let explicit: Vec<&str> = s
        .containers()
        .filter(|c| own(c) == Some(false))
        .map(name)
        .collect();
    if held == Some(false) || !explicit.is_empty() {
        let who = setters(held == Some(false), &explicit);
        return fault(
            reason,
            format!("{who} must not set securityContext.runAsNonRoot=false"),
        );
    }
    if held == Some(true) {
        return None;
    }
    let implicit: Vec<&str> = s
        .containers()
        .filter(|c| own(c).is_none())
        .map(name)
        .collect();
    if implicit.is_empty() {
        return None;
    }
    fault(
        reason,
        format!(
            "pod or {} must set securityContext.runAsNonRoot=true",
            containers(&implicit)
        ),
    )
}

pub(super) fn run_as_user(s: Subject<'_>) -> Option<Fault> {
    if s.minor < 23 || s.own_user_namespace() {
        return None;
    }
    let root = |v: Option<&Value>| v.and_then(Value::as_i64) == Some(0);
    let pod = root(s.spec("/securityContext/runAsUser"));
    let names: Vec<&str> = s
        .containers()
        .filter(|c| root(context(c, "/runAsUser")))
        .map(name)
        .collect();
    if !pod && names.is_empty() {
        return None;
    }
    fault(
        "runAsUser=0",
        format!("{} must not set runAsUser=0", setters(pod, &names)),
    )
}
