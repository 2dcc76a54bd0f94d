//! The order of the output.

use crate::Reorder;
use crate::fault::{Fault, Outcome};
use crate::id::{Gvk, ResId};
use crate::kustomization::SortOptions;
use crate::work::{List, Work};
use std::cmp::Ordering;
use std::collections::HashMap;

const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
const LAST: [&str; 2] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// Where a kind stands in the order of installation; what is not listed is in the middle.
pub(crate) fn default_order(kind: &str) -> i32 {
    if let Some(at) = FIRST.iter().position(|known| *known == kind) {
        return at as i32 - FIRST.len() as i32;
    }
    LAST.iter()
        .position(|known| *known == kind)
        .map_or(0, |at| at as i32 + 1)
}

/// Sorts the resources as the kustomization or the flags say.
pub(crate) fn apply(work: &mut Work<'_>, list: &mut List, said: Option<&SortOptions>) -> Outcome {
    let Some(options) = said else {
        if work.options.reorder != Reorder::None {
            sort(work, list, &default_order);
        }
        return Ok(());
    };
    if work.options.reorder != Reorder::Unspecified {
        work.warnings.push(
            "Warning: Sorting order is set both in 'kustomization.yaml' ('sortOptions') and in a CLI flag \
             ('--reorder'). Using the kustomization file over the CLI flag."
                .into(),
        );
    }
    match (options.order.as_str(), &options.legacy) {
        ("fifo", None) => Ok(()),
        ("fifo", Some(_)) => Err(Fault::text(
            "the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not 'legacy'",
        )),
        ("legacy", None) => {
            sort(work, list, &default_order);
            Ok(())
        }
        ("legacy", Some((first, last))) => {
            let mut order: HashMap<&str, i32> = HashMap::new();
            for (at, kind) in first.iter().enumerate() {
                order.insert(kind, at as i32 - first.len() as i32);
            }
            for (at, kind) in last.iter().enumerate() {
                order.insert(kind, at as i32 + 1);
            }
            sort(work, list, &|kind| order.get(kind).copied().unwrap_or(0));
            Ok(())
        }
        _ => Err(Fault::text(
            "the field 'sortOptions.order' must be one of [fifo, legacy]",
        )),
    }
}

fn sort(work: &Work<'_>, list: &mut List, order: &dyn Fn(&str) -> i32) {
    let mut keyed: Vec<(ResId, usize)> = list.iter().map(|at| (work.id(*at), *at)).collect();
    keyed.sort_by(|(a, _), (b, _)| compare(a, b, order));
    *list = keyed.into_iter().map(|(_, at)| at).collect();
}

fn compare(a: &ResId, b: &ResId, order: &dyn Fn(&str) -> i32) -> Ordering {
    if a.gvk == b.gvk {
        return id_text(a).cmp(&id_text(b));
    }
    let (first, second) = (order(&a.gvk.kind), order(&b.gvk.kind));
    first
        .cmp(&second)
        .then_with(|| compare_kinds(&a.gvk, &b.gvk))
}

fn compare_kinds(a: &Gvk, b: &Gvk) -> Ordering {
    let namespaces = a.kind == "Namespace" && b.kind == "Namespace";
    let texts = a.sort_text().cmp(&b.sort_text());
    if namespaces && (a.group.is_empty() || b.group.is_empty()) {
        return texts.reverse();
    }
    texts
}

fn id_text(id: &ResId) -> String {
    let or = |text: &str, other: &str| {
        if text.is_empty() {
            other.to_owned()
        } else {
            text.to_owned()
        }
    };
    format!(
        "{}|{}|{}",
        id.gvk,
        or(&id.namespace, "~X"),
        or(&id.name, "~N")
    )
}
