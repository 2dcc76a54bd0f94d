//! The order in which objects are printed, by kind.

use crate::Flavour;

// Namespaces before what lives in them, definitions before what uses them.
const INSTALL: [&str; 36] = [
    "PriorityClass",
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

// What Helm 4 puts behind the rest.
const WEBHOOKS: [&str; 2] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// What to sort a kind by: known kinds in their order, unknown ones behind them by name.
pub(crate) fn rank(kind: &str, flavour: Flavour) -> (usize, &str) {
    if let Some(at) = INSTALL.iter().position(|known| *known == kind) {
        return (at, "");
    }
    match WEBHOOKS.iter().position(|known| *known == kind) {
        Some(at) if flavour == Flavour::V4 => (INSTALL.len() + at, ""),
        _ => (usize::MAX, kind),
    }
}
