//! Which change concerns whom.

use super::Desk;
use crate::index::PodFacts;
use crate::item::{Item, Kind};
use crate::object::{controller, count, digest};
use crate::view;
use model::{Value, meta};
use std::sync::Arc;

/// What is looked at when a cluster starts, in this order: what others need to know comes first.
pub(super) const RESOURCES: [&str; 18] = [
    view::EVENTS,
    view::NODES,
    view::SERVICES,
    view::BUDGETS,
    view::REPLICA_SETS,
    view::PODS,
    view::DEPLOYMENTS,
    view::REPLICATION_CONTROLLERS,
    view::STATEFUL_SETS,
    view::DAEMON_SETS,
    view::JOBS,
    view::CRON_JOBS,
    view::INGRESSES,
    view::CLAIMS,
    view::VOLUMES,
    view::CLASSES,
    view::AUTOSCALERS,
    view::LEASES,
];

impl Desk {
    /// Takes over one change. `all` wakes everybody whom the object could concern, as at a start.
    pub(super) fn learn(
        &mut self,
        resource: &str,
        namespace: &Arc<str>,
        name: &Arc<str>,
        new: Option<&Value>,
        all: bool,
    ) {
        let here = |kind: Kind| Item::new(kind, namespace.clone(), name.clone());
        match resource {
            view::PODS => self.learn_pod(namespace, name, new, all),
            view::EVENTS => self.index.learn_event(namespace, name, new),
            view::REPLICA_SETS => self.learn_replica_set(namespace, name, new, all),
            view::DEPLOYMENTS => {
                // What the controller writes itself needs no second look.
                if all || new.is_some_and(is_behind) {
                    self.wake(here(Kind::Deployment));
                }
            }
            view::REPLICATION_CONTROLLERS => self.wake(here(Kind::ReplicationController)),
            view::STATEFUL_SETS => self.wake(here(Kind::StatefulSet)),
            view::DAEMON_SETS => {
                self.index.learn_daemon_set(namespace, name, new.is_some());
                self.wake(here(Kind::DaemonSet));
            }
            view::JOBS => {
                self.wake(here(Kind::Job));
                self.wake_owner(namespace, new);
            }
            view::CRON_JOBS => self.wake(here(Kind::CronJob)),
            view::REVISIONS => self.wake_owner(namespace, new),
            view::SERVICES => {
                self.index.learn_service(namespace, name, new);
                self.wake(here(Kind::Service));
                if new.is_some() {
                    self.wake(here(Kind::LoadBalancer));
                }
            }
            view::SLICES | view::ENDPOINTS => self.learn_endpoints(namespace, name, new),
            view::INGRESSES => self.wake(here(Kind::Ingress)),
            view::BUDGETS => {
                self.index.learn_budget(namespace, name, new);
                if all || new.is_some_and(is_behind) {
                    self.wake(here(Kind::Budget));
                }
            }
            view::CLAIMS => self.learn_claim(namespace, name, new),
            view::VOLUMES => {
                self.wake(here(Kind::Volume));
                if let Some(volume) = new {
                    self.wake_claim_of(volume);
                }
                self.wake_unbound();
            }
            view::CLASSES => self.wake_unbound(),
            view::AUTOSCALERS => {
                let spec = new.and_then(|h| h.get("spec")).map(digest);
                if self.index.learn_autoscaler(namespace, name, spec) || all {
                    self.wake(here(Kind::Autoscaler));
                }
            }
            view::NODES => self.learn_node(name, new),
            view::LEASES if &**namespace == "kube-node-lease" => self.learn_lease(name, new),
            _ => {}
        }
    }

    fn learn_pod(&mut self, namespace: &Arc<str>, name: &Arc<str>, new: Option<&Value>, all: bool) {
        let before = self.index.learn_pod(namespace, name, new);
        let after = self.index.pod(namespace, name).cloned();
        let here = |kind: Kind| Item::new(kind, namespace.clone(), name.clone());
        let moved = all || !same_to_owners(before.as_ref(), after.as_ref());
        self.wake_owners(before.as_ref(), after.as_ref(), moved);
        if moved || address_of(before.as_ref()) != address_of(after.as_ref()) {
            self.wake_selectors(before.as_ref(), after.as_ref());
        }
        let fresh = |pod: &PodFacts| before.as_ref().is_none_or(|b| b.business != pod.business);
        match &after {
            Some(pod) if pod.node.is_some() => {
                let bound = before.as_ref().is_none_or(|b| b.node.is_none());
                if all || bound || fresh(pod) || pod.gated {
                    self.wake(here(Kind::Pod));
                }
            }
            Some(pod) if pod.is_active() && (all || fresh(pod)) => {
                self.wake(here(Kind::Schedule));
            }
            Some(_) => {}
            None => self.wake(here(Kind::Pod)),
        }
        let room = |pod: Option<&PodFacts>| pod.is_some_and(|p| p.takes_room() && p.node.is_some());
        if room(before.as_ref()) && !room(after.as_ref()) {
            self.wake_waiting();
        }
        let gone = after.as_ref().is_none_or(PodFacts::is_over);
        let claims = before.as_ref().filter(|_| gone).map(|p| p.claims.clone());
        for claim in claims.into_iter().flatten() {
            self.wake(Item::new(Kind::Claim, namespace.clone(), claim));
        }
    }

    fn wake_owners(&mut self, before: Option<&PodFacts>, after: Option<&PodFacts>, moved: bool) {
        let owners = [before, after].map(|pod| pod.and_then(|p| Some((p, p.owner.as_ref()?))));
        let same = match (owners[0], owners[1]) {
            (Some((_, a)), Some((_, b))) => a == b,
            _ => false,
        };
        for (pod, owner) in owners.into_iter().skip(usize::from(same)).flatten() {
            let Some(kind) = Kind::of_owner(&owner.api_version, &owner.kind) else {
                continue;
            };
            if !moved && matches!(kind, Kind::ReplicaSet | Kind::ReplicationController) {
                continue;
            }
            self.wake(Item::new(kind, pod.namespace.clone(), owner.name.clone()));
            let deployment = self.index.deployment_of(&pod.namespace, &owner.name);
            if let Some(name) = deployment
                .cloned()
                .filter(|_| after.is_none_or(PodFacts::is_over))
            {
                self.wake(Item::new(Kind::Deployment, pod.namespace.clone(), name));
            }
        }
        // One without a controller may belong to whoever selects it.
        if moved && let Some(pod) = after.filter(|p| p.owner.is_none() && !p.labels.is_empty()) {
            for set in self.index.adopters(&pod.namespace, &pod.labels) {
                self.wake(Item::new(Kind::ReplicaSet, pod.namespace.clone(), set));
            }
        }
    }

    // Services and budgets that select a Pod, or did.
    fn wake_selectors(&mut self, before: Option<&PodFacts>, after: Option<&PodFacts>) {
        let same = match (before, after) {
            (Some(a), Some(b)) => a.labels == b.labels,
            _ => false,
        };
        for pod in [before, after]
            .into_iter()
            .skip(usize::from(same))
            .flatten()
        {
            for name in self.index.services_of(&pod.namespace, &pod.labels) {
                self.wake(Item::new(Kind::Service, pod.namespace.clone(), name));
            }
            for name in self.index.budgets_of(&pod.namespace, &pod.labels) {
                self.wake(Item::new(Kind::Budget, pod.namespace.clone(), name));
            }
        }
    }

    fn learn_replica_set(
        &mut self,
        namespace: &Arc<str>,
        name: &Arc<str>,
        new: Option<&Value>,
        all: bool,
    ) {
        let owner = self.index.learn_replica_set(namespace, name, new);
        let behind = new.is_some_and(is_unseen);
        let going = new.is_some_and(|set| meta::deletion_timestamp(set).is_some());
        if all || behind || going {
            self.wake(Item::new(Kind::ReplicaSet, namespace.clone(), name.clone()));
        }
        // A set that is behind will write its status, and that is when its owner has to look.
        if let Some(owner) = owner.filter(|_| !behind || all) {
            self.wake(Item::new(Kind::Deployment, namespace.clone(), owner));
        }
    }

    fn learn_endpoints(&mut self, namespace: &Arc<str>, name: &Arc<str>, new: Option<&Value>) {
        // What was taken away comes back.
        if new.is_none() {
            let service = self.index.service_of_slice(namespace, name);
            if let Some(service) = service {
                self.wake(Item::new(Kind::Service, namespace.clone(), service));
            }
        }
    }

    fn learn_claim(&mut self, namespace: &Arc<str>, name: &Arc<str>, new: Option<&Value>) {
        self.index.learn_claim(namespace, name, new);
        self.wake(Item::new(Kind::Claim, namespace.clone(), name.clone()));
        self.wake_waiting_in(namespace);
        if new.is_none() {
            for volume in self.index.volumes_of(namespace, name) {
                self.wake(Item::new(Kind::Volume, "", volume));
            }
        }
    }

    fn wake_claim_of(&mut self, volume: &Value) {
        let text = |pointer: &str| meta::text_at(volume, pointer);
        let (namespace, name) = (
            text("/spec/claimRef/namespace"),
            text("/spec/claimRef/name"),
        );
        self.index.learn_volume(meta::name(volume), namespace, name);
        if !name.is_empty() {
            self.wake(Item::new(Kind::Claim, namespace, name));
        }
    }

    fn learn_node(&mut self, name: &Arc<str>, new: Option<&Value>) {
        if self.index.learn_node(name, new) {
            self.wake_waiting();
            for set in self.index.daemon_sets().cloned().collect::<Vec<_>>() {
                self.wake(Item::new(Kind::DaemonSet, set.0, set.1));
            }
        }
        self.wake(Item::new(Kind::Node, "", name.clone()));
    }

    fn learn_lease(&mut self, name: &Arc<str>, new: Option<&Value>) {
        if new.is_none() {
            self.wake(Item::new(Kind::Node, "", name.clone()));
        }
    }

    fn wake_owner(&mut self, namespace: &Arc<str>, new: Option<&Value>) {
        let Some(owner) = new.and_then(controller) else {
            return;
        };
        let kind = Kind::of_owner(
            meta::text_at(owner, "/apiVersion"),
            meta::text_at(owner, "/kind"),
        );
        if let Some(kind) = kind {
            let name = meta::text_at(owner, "/name");
            self.wake(Item::new(kind, namespace.clone(), name));
        }
    }

    fn wake_waiting(&mut self) {
        let waiting: Vec<_> = self.index.waiting().cloned().collect();
        for (namespace, name) in waiting {
            self.wake(Item::new(Kind::Schedule, namespace, name));
        }
    }

    fn wake_waiting_in(&mut self, namespace: &Arc<str>) {
        let waiting = self.index.waiting().filter(|(ns, _)| ns == namespace);
        let waiting: Vec<_> = waiting.cloned().collect();
        for (namespace, name) in waiting {
            self.wake(Item::new(Kind::Schedule, namespace, name));
        }
    }

    fn wake_unbound(&mut self) {
        let unbound: Vec<_> = self.index.unbound().cloned().collect();
        for (namespace, name) in unbound {
            self.wake(Item::new(Kind::Claim, namespace, name));
        }
    }
}

// Whether an object's controller has not yet looked at its newest spec.
fn is_behind(object: &Value) -> bool {
    is_unseen(object) || meta::deletion_timestamp(object).is_some()
}

fn is_unseen(object: &Value) -> bool {
    count(object, "/metadata/generation") != count(object, "/status/observedGeneration")
}

fn same_to_owners(before: Option<&PodFacts>, after: Option<&PodFacts>) -> bool {
    match (before, after) {
        (Some(a), Some(b)) => {
            a.phase == b.phase
                && a.ready == b.ready
                && a.deleting == b.deleting
                && a.owner == b.owner
                && a.labels == b.labels
        }
        (None, None) => true,
        _ => false,
    }
}

fn address_of(pod: Option<&PodFacts>) -> Option<&str> {
    pod.map(|p| &*p.address)
}
