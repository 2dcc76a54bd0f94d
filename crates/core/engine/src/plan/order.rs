//! The order of tasks: phase, wave, kind, name; and what others need moves before them.

use super::Task;
use model::{Value, meta};

/// Kinds in the order in which they are applied; all others come after, by name alone.
const KINDS: [&str; 35] = [
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
];

fn rank(kind: &str) -> usize {
    KINDS
        .iter()
        .position(|known| *known == kind)
        .unwrap_or(KINDS.len())
}

/// Sorts tasks by phase, wave, kind and name; ties keep a fixed order too, so that a plan does not
/// depend on the order of its input.
pub(super) fn sort(tasks: &mut [Task]) {
    tasks.sort_by(|a, b| {
        (a.slot, rank(&a.key.kind), &a.key.name)
            .cmp(&(b.slot, rank(&b.key.kind), &b.key.name))
            .then_with(|| a.key.cmp(&b.key))
    });
}

/// Moves Namespaces and definitions right before the first task that needs them, into its slot.
pub(super) fn move_needs_forward(tasks: &mut Vec<Task>) {
    let mut at = 0;
    while at < tasks.len() {
        if let Some(first) = first_user(tasks, at) {
            let mut task = tasks.remove(at);
            task.slot = tasks[first].slot;
            let user = &tasks[first].key;
            task.why = format!("{}; needed by {} {}", task.why, user.kind, user.name);
            tasks.insert(first, task);
        }
        at += 1;
    }
}

// The first task before `at` that cannot be done without it.
fn first_user(tasks: &[Task], at: usize) -> Option<usize> {
    let target = tasks[at].target.as_ref()?;
    let key = &tasks[at].key;
    if key.kind == "Namespace" && key.group.is_empty() {
        let lives_in = |task: &Task| task.target.is_some() && task.key.namespace == key.name;
        return tasks[..at].iter().position(lives_in);
    }
    let (group, kind) = defines(target)?;
    let is_of_kind =
        |task: &Task| task.target.is_some() && task.key.group == group && task.key.kind == kind;
    tasks[..at].iter().position(is_of_kind)
}

/// The group and kind that a definition defines.
pub(super) fn defines(object: &Value) -> Option<(String, String)> {
    let gvk = meta::gvk(object)?;
    if gvk.kind != "CustomResourceDefinition" {
        return None;
    }
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    Some((
        text("/spec/group")?.into(),
        text("/spec/names/kind")?.into(),
    ))
}
