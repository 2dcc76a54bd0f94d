//! What one object uses of a quota.

use crate::resources::{self, Amounts, Part};
use model::{LabelSelector, Map, Quantity, Timestamp, Value, json, meta};
use std::collections::{BTreeMap, BTreeSet};

const CLASS: &str = ".storageclass.storage.k8s.io/";
const POD_NAMES: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];
/// Names that oblige every container to say its own amount.
const OBLIGING: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];

/// A resource whose objects are counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// API group.
    pub group: String,
    /// Resource.
    pub resource: String,
}

impl Counted {
    /// Names a resource.
    pub fn new(group: &str, resource: &str) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
        }
    }

    /// The resources that the names of a quota's `hard` are about.
    pub fn of_names<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<Self> {
        names.filter_map(Self::of_name).collect()
    }

    fn of_name(name: &str) -> Option<Self> {
        if let Some(counted) = name.strip_prefix("count/") {
            let (resource, group) = counted.split_once('.').unwrap_or((counted, ""));
            return Some(Self::new(group, resource));
        }
        match name {
            "services" | "services.nodeports" | "services.loadbalancers" => {
                Some(Self::new("", "services"))
            }
            "configmaps" | "secrets" | "resourcequotas" | "replicationcontrollers" => {
                Some(Self::new("", name))
            }
            _ if Self::new("", "persistentvolumeclaims").counts(name) => {
                Some(Self::new("", "persistentvolumeclaims"))
            }
            _ if Self::new("", "pods").counts(name) => Some(Self::new("", "pods")),
            _ => None,
        }
    }

    /// The name under which the objects themselves are counted.
    fn count_name(&self) -> String {
        if self.group.is_empty() {
            format!("count/{}", self.resource)
        } else {
            format!("count/{}.{}", self.resource, self.group)
        }
    }

    /// Whether the name in a quota's `hard` is about this resource.
    pub fn counts(&self, name: &str) -> bool {
        if name.starts_with("count/") {
            return name == self.count_name();
        }
        if !self.group.is_empty() {
            return false;
        }
        match self.resource.as_str() {
            "pods" => {
                let extended = name
                    .strip_prefix("requests.")
                    .is_some_and(|n| n.contains('/'));
                let pages = name.strip_prefix("requests.").unwrap_or(name);
                POD_NAMES.contains(&name) || pages.starts_with("hugepages-") || extended
            }
            "services" => {
                matches!(
                    name,
                    "services" | "services.nodeports" | "services.loadbalancers"
                )
            }
            "persistentvolumeclaims" => {
                let plain = name.split_once(CLASS).map_or(name, |(_, rest)| rest);
                matches!(plain, "persistentvolumeclaims" | "requests.storage")
            }
            "configmaps" | "secrets" | "resourcequotas" | "replicationcontrollers" => {
                name == self.resource
            }
            _ => false,
        }
    }

    /// What the containers of a pod must say and do not, when a quota counts it.
    pub fn missing(&self, watched: &[&str], pod: &Value) -> Option<String> {
        if self.resource != "pods" || !self.group.is_empty() {
            return None;
        }
        let level = |part: &str| {
            let amounts = pod.pointer(&format!("/spec/resources/{part}"));
            resources::read(amounts)
                .keys()
                .any(|n| matches!(n.as_str(), "cpu" | "memory"))
        };
        if level("requests") || level("limits") {
            return None;
        }
        let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let containers = meta::entries(pod, "/spec/containers");
        for container in containers.chain(meta::entries(pod, "/spec/initContainers")) {
            let said = compute(
                &resources::of_container(container, Part::Requests),
                &resources::of_container(container, Part::Limits),
            );
            let unsaid = watched
                .iter()
                .filter(|n| OBLIGING.contains(n) && !said.contains_key(**n));
            for name in unsaid {
                let container = meta::text_at(container, "/name");
                missing.entry(name).or_default().insert(container);
            }
        }
        if missing.is_empty() {
            return None;
        }
        let texts = missing.iter().map(|(resource, containers)| {
            let names: Vec<&str> = containers.iter().copied().collect();
            format!("{resource} for: {}", names.join(","))
        });
        Some(format!(
            "must specify {}",
            texts.collect::<Vec<_>>().join("; ")
        ))
    }
}

fn compute(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut used = Amounts::new();
    for (name, amount) in requests {
        let request = format!("requests.{name}");
        match name.as_str() {
            "cpu" | "memory" | "ephemeral-storage" => {
                used.insert(name.clone(), *amount);
                used.insert(request, *amount);
            }
            _ if name.starts_with("hugepages-") => {
                used.insert(name.clone(), *amount);
                used.insert(request, *amount);
            }
            _ if name.contains('/') => {
                used.insert(request, *amount);
            }
            _ => {}
        }
    }
    for (name, amount) in limits {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") {
            used.insert(format!("limits.{name}"), *amount);
        }
    }
    used
}

/// What the object uses, by quota name.
pub fn usage_of(counted: &Counted, object: &Value, now: Timestamp) -> Amounts {
    let one = Quantity::whole(1);
    let mut used = Amounts::from([(counted.count_name(), one)]);
    if !counted.group.is_empty() {
        return used;
    }
    match counted.resource.as_str() {
        "pods" if lives(object, now) => {
            used.insert("pods".into(), one);
            used.extend(compute(
                &resources::of_pod_with_overhead(object, Part::Requests),
                &resources::of_pod_with_overhead(object, Part::Limits),
            ));
        }
        "services" => services(object, &mut used),
        "persistentvolumeclaims" => claims(object, &mut used),
        "configmaps" | "secrets" | "resourcequotas" | "replicationcontrollers" => {
            used.insert(counted.resource.clone(), one);
        }
        _ => {}
    }
    used
}

/// Whether a pod still counts: it has not ended, and is not long overdue for removal.
fn lives(pod: &Value, now: Timestamp) -> bool {
    if matches!(meta::text_at(pod, "/status/phase"), "Failed" | "Succeeded") {
        return false;
    }
    let grace = pod
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64);
    match (meta::deletion_timestamp(pod), grace) {
        (Some(deleted), Some(grace)) => now.seconds() <= deleted.seconds().saturating_add(grace),
        _ => true,
    }
}

fn services(service: &Value, used: &mut Amounts) {
    let ports = meta::entries(service, "/spec/ports");
    let given = |p: &Value| p.get("nodePort").and_then(Value::as_i64).unwrap_or(0) != 0;
    let (balancers, node_ports) = match meta::text_at(service, "/spec/type") {
        "NodePort" => (0, ports.count()),
        "LoadBalancer" => {
            let allocate = service.pointer("/spec/allocateLoadBalancerNodePorts");
            let all = allocate.and_then(Value::as_bool).unwrap_or(true);
            (1, ports.filter(|p| all || given(p)).count())
        }
        _ => (0, 0),
    };
    used.insert("services".into(), Quantity::whole(1));
    used.insert("services.loadbalancers".into(), Quantity::whole(balancers));
    let node_ports = i64::try_from(node_ports).unwrap_or(i64::MAX);
    used.insert("services.nodeports".into(), Quantity::whole(node_ports));
}

fn claims(claim: &Value, used: &mut Amounts) {
    let class = meta::annotation(claim, "volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| meta::text_at(claim, "/spec/storageClassName"));
    let asked = claim
        .pointer("/spec/resources/requests/storage")
        .and_then(Quantity::from_json);
    let held = claim
        .pointer("/status/allocatedResources/storage")
        .and_then(Quantity::from_json);
    let storage = asked.map(|asked| held.map_or(asked, |held| held.max(asked)));
    let mut charge = |name: &str, amount: Quantity| {
        used.insert(name.into(), amount);
        if !class.is_empty() {
            used.insert(format!("{class}{CLASS}{name}"), amount);
        }
    };
    charge("persistentvolumeclaims", Quantity::whole(1));
    if let Some(storage) = storage {
        charge("requests.storage", storage);
    }
}

/// Whether the object is within all scopes of the quota.
pub fn matches_scopes(quota: &Value, counted: &Counted, object: &Value) -> bool {
    let named = meta::entries(quota, "/spec/scopes").filter_map(Value::as_str);
    let named = named.map(|scope| json!({"scopeName": scope, "operator": "Exists"}));
    let chosen = meta::entries(quota, "/spec/scopeSelector/matchExpressions").cloned();
    let mut all = named.chain(chosen);
    all.all(|scope| {
        let pods = counted.group.is_empty() && counted.resource == "pods";
        let claims = counted.group.is_empty() && counted.resource == "persistentvolumeclaims";
        match meta::text_at(&scope, "/scopeName") {
            "VolumeAttributesClass" if claims => {
                let name = meta::text_at(object, "/spec/volumeAttributesClassName");
                chosen_by(&scope, "VolumeAttributesClass", name)
            }
            name => pods && pod_in_scope(name, &scope, object),
        }
    })
}

fn pod_in_scope(name: &str, scope: &Value, pod: &Value) -> bool {
    let deadline = || {
        pod.pointer("/spec/activeDeadlineSeconds")
            .and_then(Value::as_i64)
    };
    match name {
        "Terminating" => deadline().is_some_and(|s| s >= 0),
        "NotTerminating" => deadline().is_none_or(|s| s < 0),
        "BestEffort" => best_effort(pod),
        "NotBestEffort" => !best_effort(pod),
        "PriorityClass" => {
            let class = meta::text_at(pod, "/spec/priorityClassName");
            chosen_by(scope, "PriorityClass", class)
        }
        "CrossNamespacePodAffinity" => crosses_namespaces(pod),
        _ => false,
    }
}

fn chosen_by(scope: &Value, key: &str, name: &str) -> bool {
    let operator = meta::text_at(scope, "/operator");
    if operator == "Exists" {
        return !name.is_empty();
    }
    let expression = json!({"key": key, "operator": operator, "values": scope.get("values")});
    let selector = LabelSelector::from_spec(Some(&json!({"matchExpressions": [expression]})));
    let mut labels = Map::new();
    if !name.is_empty() {
        labels.insert(key.into(), json!(name));
    }
    selector.is_ok_and(|s| s.matches(Some(&labels)))
}

fn best_effort(pod: &Value) -> bool {
    let none = |container: &Value| {
        let parts = [Part::Requests, Part::Limits];
        parts.into_iter().all(|part| {
            let amounts = resources::of_container(container, part);
            !["cpu", "memory"]
                .iter()
                .any(|n| amounts.get(*n).is_some_and(|q| !q.is_zero()))
        })
    };
    let containers = meta::entries(pod, "/spec/containers");
    let mut all = containers.chain(meta::entries(pod, "/spec/initContainers"));
    let level = pod.get("spec").is_none_or(none);
    level && all.all(none)
}

fn crosses_namespaces(pod: &Value) -> bool {
    let crosses = |term: &Value| {
        let named = term.get("namespaces").and_then(Value::as_array);
        named.is_some_and(|n| !n.is_empty())
            || term.get("namespaceSelector").is_some_and(|s| !s.is_null())
    };
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let at = |when: &str| {
            format!("/spec/affinity/{kind}/{when}DuringSchedulingIgnoredDuringExecution")
        };
        meta::entries(pod, &at("required")).any(crosses)
            || meta::entries(pod, &at("preferred"))
                .any(|t| t.get("podAffinityTerm").is_some_and(crosses))
    })
}
