//! What is known of one node: what it has and what is taken.

use model::{Map, Quantity, Value, meta};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Amounts by resource name: CPU in thousandths, all else in units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resources(pub(crate) BTreeMap<Arc<str>, i64>);

impl Resources {
    /// Reads a map of quantities.
    pub(crate) fn read(map: Option<&Value>) -> Self {
        let mut amounts = BTreeMap::new();
        for (name, value) in map.and_then(Value::as_object).into_iter().flatten() {
            if let Some(quantity) = Quantity::from_json(value) {
                amounts.insert(name.as_str().into(), amount(name, quantity));
            }
        }
        Self(amounts)
    }

    /// What a Pod asks for: the sum of its containers, or its largest init container if that is
    /// more; sidecars count with the containers; then the overhead.
    pub(crate) fn of_pod(pod: &Value) -> Self {
        let of = |c: &Value| Self::read(c.pointer("/resources/requests"));
        let mut total = Self::default();
        for container in meta::entries(pod, "/spec/containers") {
            total.add(&of(container));
        }
        let mut sidecars = Self::default();
        let mut peak = Self::default();
        for init in meta::entries(pod, "/spec/initContainers") {
            let mut wants = of(init);
            if init.get("restartPolicy") == Some(&Value::from("Always")) {
                sidecars.add(&wants);
                wants = sidecars.clone();
            } else {
                wants.add(&sidecars);
            }
            peak.at_least(&wants);
        }
        total.add(&sidecars);
        total.at_least(&peak);
        total.add(&Self::read(pod.pointer("/spec/overhead")));
        total
    }

    fn add(&mut self, other: &Self) {
        for (name, value) in &other.0 {
            *self.0.entry(name.clone()).or_default() += value;
        }
    }

    fn subtract(&mut self, other: &Self) {
        for (name, value) in &other.0 {
            *self.0.entry(name.clone()).or_default() -= value;
        }
    }

    fn at_least(&mut self, other: &Self) {
        for (name, value) in &other.0 {
            let mine = self.0.entry(name.clone()).or_default();
            *mine = (*mine).max(*value);
        }
    }

    /// One amount.
    pub(crate) fn get(&self, name: &str) -> i64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

fn amount(name: &str, quantity: Quantity) -> i64 {
    if name == "cpu" {
        quantity.milli_value()
    } else {
        quantity.value()
    }
}

/// The facts of one node.
#[derive(Clone, Debug, Default)]
pub struct NodeFacts {
    /// Its name; empty while the node does not exist but Pods are bound to it.
    pub name: Arc<str>,
    pub(crate) uid: Arc<str>,
    pub(crate) labels: Map<String, Value>,
    pub(crate) taints: Vec<Value>,
    pub(crate) unschedulable: bool,
    pub(crate) allocatable: Resources,
    pub(crate) used: Resources,
    pub(crate) pods: BTreeSet<(Arc<str>, Arc<str>)>,
}

impl NodeFacts {
    // Takes over a change; whether it may let Pods in that did not fit before.
    pub(super) fn learn(&mut self, name: &Arc<str>, new: Option<&Value>) -> bool {
        let Some(node) = new else {
            *self = Self {
                used: std::mem::take(&mut self.used),
                pods: std::mem::take(&mut self.pods),
                ..Self::default()
            };
            return false;
        };
        let labels = meta::labels(node).cloned().unwrap_or_default();
        let taints: Vec<Value> = meta::entries(node, "/spec/taints").cloned().collect();
        let unschedulable = crate::object::flag(node, "/spec/unschedulable");
        let allocatable = Resources::read(node.pointer("/status/allocatable"));
        let moved = self.name.is_empty()
            || self.labels != labels
            || self.taints != taints
            || self.unschedulable != unschedulable
            || self.allocatable != allocatable;
        self.name = name.clone();
        self.uid = meta::uid(node).into();
        self.labels = labels;
        self.taints = taints;
        self.unschedulable = unschedulable;
        self.allocatable = allocatable;
        moved
    }

    pub(super) fn is_empty(&self) -> bool {
        self.name.is_empty() && self.pods.is_empty()
    }

    pub(super) fn take(&mut self, namespace: &Arc<str>, name: &Arc<str>, wants: &Resources) {
        if self.pods.insert((namespace.clone(), name.clone())) {
            self.used.add(wants);
        }
    }

    pub(super) fn release(&mut self, namespace: &Arc<str>, name: &Arc<str>, wants: &Resources) {
        if self.pods.remove(&(namespace.clone(), name.clone())) {
            self.used.subtract(wants);
        }
    }

    /// Whether the node exists.
    pub fn exists(&self) -> bool {
        !self.name.is_empty()
    }
}
