//! What is known of objects without reading them: Pods by label and node, Services by selector,
//! events by what they say. Kept in step change by change; derived from the store at the start.

mod event;
mod node;
mod pod;

pub(crate) use event::EventKey;
pub use node::NodeFacts;
pub(crate) use node::Resources;
pub use pod::PodFacts;
pub(crate) use pod::{Owner, Phase, TRACKING};

use model::{LabelSelector, Map, Value, meta};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The facts.
#[derive(Debug, Default)]
pub struct Index {
    spaces: BTreeMap<Arc<str>, Space>,
    nodes: BTreeMap<Arc<str>, NodeFacts>,
    /// Pods that no node would take when they were last looked at.
    waiting: BTreeSet<(Arc<str>, Arc<str>)>,
    /// Claims without a volume.
    unbound: BTreeSet<(Arc<str>, Arc<str>)>,
    /// The Deployment of each ReplicaSet.
    deployments: HashMap<(Arc<str>, Arc<str>), Arc<str>>,
    /// A digest of the spec of each autoscaler.
    autoscalers: BTreeMap<(Arc<str>, Arc<str>), u64>,
    daemon_sets: BTreeSet<(Arc<str>, Arc<str>)>,
    /// Volumes by the claim they are for.
    volumes: BTreeMap<(Arc<str>, Arc<str>), BTreeSet<Arc<str>>>,
    events: event::Events,
}

/// The facts of one namespace.
#[derive(Debug, Default)]
struct Space {
    pods: BTreeMap<Arc<str>, PodFacts>,
    /// Pods by `key=value`.
    labelled: HashMap<String, BTreeSet<Arc<str>>>,
    /// Services by one `key=value` of their selector.
    services: HashMap<String, BTreeSet<Arc<str>>>,
    /// The selector of each Service that has one.
    selectors: BTreeMap<Arc<str>, Map<String, Value>>,
    budgets: BTreeMap<Arc<str>, LabelSelector>,
    /// The selector of each ReplicaSet.
    sets: BTreeMap<Arc<str>, LabelSelector>,
}

impl Index {
    /// One Pod.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&PodFacts> {
        self.spaces.get(namespace)?.pods.get(name)
    }

    /// The Pods of a namespace.
    pub(crate) fn pods(&self, namespace: &str) -> impl Iterator<Item = &PodFacts> {
        let space = self.spaces.get(namespace);
        space.into_iter().flat_map(|s| s.pods.values())
    }

    /// The Pods of all namespaces.
    pub(crate) fn all_pods(&self) -> impl Iterator<Item = &PodFacts> {
        self.spaces.values().flat_map(|s| s.pods.values())
    }

    /// The Pods that have all of these labels.
    pub(crate) fn pods_with(&self, namespace: &str, labels: &Map<String, Value>) -> Vec<&PodFacts> {
        let Some(space) = self.spaces.get(namespace) else {
            return Vec::new();
        };
        let sets: Option<Vec<_>> = pairs(labels)
            .map(|pair| space.labelled.get(&pair))
            .collect();
        let Some(rarest) = sets.and_then(|s| s.into_iter().min_by_key(|set| set.len())) else {
            return Vec::new();
        };
        let pods = rarest.iter().filter_map(|name| space.pods.get(name));
        pods.filter(|pod| pod.has_labels(labels)).collect()
    }

    /// The nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeFacts> {
        self.nodes.values()
    }

    /// One node.
    pub fn node(&self, name: &str) -> Option<&NodeFacts> {
        self.nodes.get(name)
    }

    /// Pods that no node would take.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &(Arc<str>, Arc<str>)> {
        self.waiting.iter()
    }

    /// Claims without a volume.
    pub(crate) fn unbound(&self) -> impl Iterator<Item = &(Arc<str>, Arc<str>)> {
        self.unbound.iter()
    }

    /// Notes that no node would take a Pod.
    pub(crate) fn wait(&mut self, namespace: &Arc<str>, name: &Arc<str>) {
        self.waiting.insert((namespace.clone(), name.clone()));
    }

    /// The Services that select a Pod with these labels.
    pub(crate) fn services_of(
        &self,
        namespace: &str,
        labels: &Map<String, Value>,
    ) -> Vec<Arc<str>> {
        let Some(space) = self.spaces.get(namespace) else {
            return Vec::new();
        };
        let named = pairs(labels).filter_map(|pair| space.services.get(&pair));
        named
            .flatten()
            .filter(|name| {
                let wanted = space.selectors.get(*name);
                wanted.is_some_and(|wanted| wanted.iter().all(|(k, v)| labels.get(k) == Some(v)))
            })
            .cloned()
            .collect()
    }

    /// The budgets that select a Pod with these labels.
    pub(crate) fn budgets_of(&self, namespace: &str, labels: &Map<String, Value>) -> Vec<Arc<str>> {
        let space = self.spaces.get(namespace);
        let budgets = space.into_iter().flat_map(|s| &s.budgets);
        budgets
            .filter(|(_, selector)| selector.matches(Some(labels)))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// The Deployment of a ReplicaSet.
    pub(crate) fn deployment_of(&self, namespace: &Arc<str>, set: &Arc<str>) -> Option<&Arc<str>> {
        self.deployments.get(&(namespace.clone(), set.clone()))
    }

    /// Events that say the same, or nearly so.
    pub(crate) fn events(&self) -> &event::Events {
        &self.events
    }

    /// A Pod was made, changed or removed; gives what was known of it before.
    pub(crate) fn learn_pod(
        &mut self,
        namespace: &Arc<str>,
        name: &Arc<str>,
        new: Option<&Value>,
    ) -> Option<PodFacts> {
        let space = self.spaces.entry(namespace.clone()).or_default();
        let facts = new.map(|pod| PodFacts::of(namespace, name, pod));
        let before = space.pods.remove(name);
        let same_labels = match (&before, &facts) {
            (Some(a), Some(b)) => a.labels == b.labels,
            _ => false,
        };
        if !same_labels {
            for pair in before.iter().flat_map(|p| pairs(&p.labels)) {
                if let Some(set) = space.labelled.get_mut(&pair) {
                    set.remove(name);
                    if set.is_empty() {
                        space.labelled.remove(&pair);
                    }
                }
            }
            for pair in facts.iter().flat_map(|p| pairs(&p.labels)) {
                let set = space.labelled.entry(pair).or_default();
                set.insert(name.clone());
            }
        }
        self.place(before.as_ref(), facts.as_ref());
        if facts.as_ref().is_none_or(|f| f.node.is_some()) {
            self.waiting.remove(&(namespace.clone(), name.clone()));
        }
        if let Some(facts) = facts {
            let space = self.spaces.entry(namespace.clone()).or_default();
            space.pods.insert(name.clone(), facts);
        }
        before
    }

    // Keeps what nodes hold in step with a Pod.
    fn place(&mut self, before: Option<&PodFacts>, after: Option<&PodFacts>) {
        let seat =
            |pod: Option<&PodFacts>| pod.filter(|p| p.takes_room()).and_then(|p| p.node.clone());
        if seat(before) == seat(after) {
            return;
        }
        if let (Some(pod), Some(node)) = (before, seat(before)) {
            self.nodes
                .entry(node)
                .or_default()
                .release(&pod.namespace, &pod.name, &pod.requests);
        }
        if let (Some(pod), Some(node)) = (after, seat(after)) {
            self.nodes
                .entry(node)
                .or_default()
                .take(&pod.namespace, &pod.name, &pod.requests);
        }
    }

    /// A node was made, changed or removed; says whether Pods may fit now that did not before.
    pub(crate) fn learn_node(&mut self, name: &Arc<str>, new: Option<&Value>) -> bool {
        let facts = self.nodes.entry(name.clone()).or_default();
        let moved = facts.learn(name, new);
        if new.is_none() && facts.is_empty() {
            self.nodes.remove(name);
        }
        moved
    }

    /// A Service was made, changed or removed.
    pub(crate) fn learn_service(
        &mut self,
        namespace: &Arc<str>,
        name: &Arc<str>,
        new: Option<&Value>,
    ) {
        let space = self.spaces.entry(namespace.clone()).or_default();
        let selector = new.and_then(|s| s.pointer("/spec/selector"));
        let selector = selector.and_then(Value::as_object);
        let selector = selector.filter(|s| !s.is_empty());
        let before = space.selectors.get(name);
        if before == selector {
            return;
        }
        if let Some(pair) = before.and_then(|s| pairs(s).next())
            && let Some(set) = space.services.get_mut(&pair)
        {
            set.remove(name);
        }
        match selector {
            Some(selector) => {
                for pair in pairs(selector).take(1) {
                    let set = space.services.entry(pair).or_default();
                    set.insert(name.clone());
                }
                space.selectors.insert(name.clone(), selector.clone());
            }
            None => {
                space.selectors.remove(name);
            }
        }
    }

    /// A budget was made, changed or removed.
    pub(crate) fn learn_budget(
        &mut self,
        namespace: &Arc<str>,
        name: &Arc<str>,
        new: Option<&Value>,
    ) {
        let space = self.spaces.entry(namespace.clone()).or_default();
        match new {
            Some(budget) => {
                let selector = LabelSelector::from_spec(budget.pointer("/spec/selector"));
                let selector = selector.unwrap_or_else(|_| LabelSelector::nothing());
                space.budgets.insert(name.clone(), selector);
            }
            None => {
                space.budgets.remove(name);
            }
        }
    }

    /// A ReplicaSet was made, changed or removed; gives its Deployment.
    pub(crate) fn learn_replica_set(
        &mut self,
        namespace: &Arc<str>,
        name: &Arc<str>,
        new: Option<&Value>,
    ) -> Option<Arc<str>> {
        let key = (namespace.clone(), name.clone());
        let owner = new.and_then(crate::object::controller);
        let owner = owner.filter(|o| o["kind"] == "Deployment");
        let space = self.spaces.entry(namespace.clone()).or_default();
        match new {
            Some(set) => {
                if !space.sets.contains_key(name) {
                    space
                        .sets
                        .insert(name.clone(), crate::object::selector(set));
                }
            }
            None => {
                space.sets.remove(name);
            }
        }
        let Some(owner) = owner else {
            return self.deployments.remove(&key);
        };
        let owner = self.deployments.entry(key).or_insert_with(|| {
            let name: Arc<str> = meta::text_at(owner, "/name").into();
            name
        });
        Some(owner.clone())
    }

    /// A claim was made, changed or removed.
    pub(crate) fn learn_claim(
        &mut self,
        namespace: &Arc<str>,
        name: &Arc<str>,
        new: Option<&Value>,
    ) {
        let key = (namespace.clone(), name.clone());
        match new {
            Some(claim) if meta::text_at(claim, "/status/phase") != "Bound" => {
                self.unbound.insert(key);
            }
            _ => {
                self.unbound.remove(&key);
            }
        }
    }

    /// An autoscaler was made, changed or removed; whether its spec changed.
    pub(crate) fn learn_autoscaler(
        &mut self,
        namespace: &Arc<str>,
        name: &Arc<str>,
        spec: Option<u64>,
    ) -> bool {
        let key = (namespace.clone(), name.clone());
        match spec {
            Some(spec) => self.autoscalers.insert(key, spec) != Some(spec),
            None => self.autoscalers.remove(&key).is_some(),
        }
    }

    /// A DaemonSet was made, changed or removed.
    pub(crate) fn learn_daemon_set(&mut self, namespace: &Arc<str>, name: &Arc<str>, is: bool) {
        let key = (namespace.clone(), name.clone());
        if is {
            self.daemon_sets.insert(key);
        } else {
            self.daemon_sets.remove(&key);
        }
    }

    /// All DaemonSets.
    pub(crate) fn daemon_sets(&self) -> impl Iterator<Item = &(Arc<str>, Arc<str>)> {
        self.daemon_sets.iter()
    }

    /// A volume is for a claim, or for none any more.
    pub(crate) fn learn_volume(&mut self, volume: &str, namespace: &str, claim: &str) {
        self.volumes.retain(|_, set| {
            set.remove(volume);
            !set.is_empty()
        });
        if !claim.is_empty() {
            let key = (Arc::from(namespace), Arc::from(claim));
            self.volumes.entry(key).or_default().insert(volume.into());
        }
    }

    /// The volumes that are for a claim.
    pub(crate) fn volumes_of(&self, namespace: &Arc<str>, claim: &Arc<str>) -> Vec<Arc<str>> {
        let set = self.volumes.get(&(namespace.clone(), claim.clone()));
        set.into_iter().flatten().cloned().collect()
    }

    /// The Service that an EndpointSlice or Endpoints of this name was made for.
    pub(crate) fn service_of_slice(&self, namespace: &str, name: &str) -> Option<Arc<str>> {
        let space = self.spaces.get(namespace)?;
        let service = space.selectors.get_key_value(name).map(|(k, _)| k);
        let cut = name.rsplit_once('-').map_or(name, |(service, _)| service);
        let sliced = space.selectors.get_key_value(cut).map(|(k, _)| k);
        service.or(sliced).cloned()
    }

    /// The ReplicaSets that select Pods with these labels.
    pub(crate) fn adopters(&self, namespace: &str, labels: &Map<String, Value>) -> Vec<Arc<str>> {
        let Some(space) = self.spaces.get(namespace) else {
            return Vec::new();
        };
        let sets = space.sets.iter();
        sets.filter(|(_, selector)| selector.matches(Some(labels)))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// An event was made, changed or removed.
    pub(crate) fn learn_event(
        &mut self,
        namespace: &Arc<str>,
        name: &Arc<str>,
        new: Option<&Value>,
    ) {
        self.events.learn(namespace, name, new);
    }
}

/// Each label as `key=value`.
fn pairs(labels: &Map<String, Value>) -> impl Iterator<Item = String> {
    labels
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
}
