//! Everything the cluster knows: stored objects, and what is derived from them.
//!
//! The store is the truth; the registry, RBAC index, owner index, address pools and the
//! controllers' work list follow from it and are brought along by [`State::commit`], change by
//! change, so that no request and no controller ever scans everything.

use crate::registry::{Registry, ResourceType, untyped};
use crate::service_ip::Addresses;
use access::Rbac;
use model::{Timestamp, Value, meta};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use store::{Change, Key, Memory, Stored};

/// What a cluster is started with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Bearer tokens and whom they stand for.
    pub tokens: access::Tokens,
    /// Signs and checks ServiceAccount tokens.
    pub signer: Option<Arc<pki::TokenKey>>,
    /// `iss` of ServiceAccount tokens.
    pub issuer: String,
    /// The cluster's CA, published to every namespace.
    pub root_ca: String,
    /// `host:port` that discovery names.
    pub address: String,
}

/// Something a controller has to look at. Ordered, so that a run is deterministic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// A definition was made, changed or is going.
    Definition(String),
    /// A namespace was made or is going, or lost an object while going.
    Namespace(String),
    /// An object with this uid is gone: its dependents lost an owner.
    Orphaned(String),
    /// An object is being deleted and waits for, or lets go of, its dependents.
    Finalize(ObjectRef),
    /// An object names owners that may never have existed.
    Dependent(ObjectRef),
    /// A namespace's quotas need counting.
    Quota(String),
    /// Aggregated ClusterRoles need building.
    Aggregate,
    /// A ServiceAccount every namespace has was removed.
    Account(String),
}

/// Where one object is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// `group/resource`.
    pub storage: Arc<str>,
    /// Namespace, empty when there is none.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// One owner of an object, and where it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    uid: String,
    place: Option<ObjectRef>,
}

/// The state of a cluster.
#[derive(Debug)]
pub struct State {
    /// The stored objects.
    pub memory: Memory,
    /// What is served.
    pub registry: Registry,
    /// Start-up facts.
    pub settings: Settings,
    /// What controllers have to look at.
    pub work: BTreeSet<Work>,
    pub(crate) rbac: Rbac,
    pub(crate) addresses: Addresses,
    namespaces: HashMap<String, Arc<Value>>,
    dependents: HashMap<String, BTreeSet<ObjectRef>>,
    /// The owners of every object that has some.
    owned: BTreeMap<ObjectRef, Vec<Owner>>,
    quotas: BTreeMap<String, usize>,
}

const WEBHOOKS: [&str; 2] = [
    "admissionregistration.k8s.io/mutatingwebhookconfigurations",
    "admissionregistration.k8s.io/validatingwebhookconfigurations",
];
const POLICIES: &str = "admissionregistration.k8s.io/validatingadmissionpolicies";

const CRDS: &str = "apiextensions.k8s.io/customresourcedefinitions";
const NAMESPACES: &str = "/namespaces";
const RBAC_PREFIX: &str = "rbac.authorization.k8s.io/";

impl State {
    /// Builds the state over a store, deriving everything from what it holds.
    pub fn new(memory: Memory, settings: Settings) -> Self {
        let mut state = Self {
            memory,
            registry: Registry::builtin(),
            settings,
            work: BTreeSet::new(),
            rbac: Rbac::default(),
            addresses: Addresses::default(),
            namespaces: HashMap::new(),
            dependents: HashMap::new(),
            owned: BTreeMap::new(),
            quotas: BTreeMap::new(),
        };
        let mut resources: Vec<String> = state.memory.resources().map(str::to_owned).collect();
        // Definitions first: owners of custom kinds are found through them.
        resources.sort_by_key(|resource| resource != CRDS);
        for resource in resources {
            let stored: Vec<(Key, Stored)> = state
                .memory
                .list(&resource, None)
                .map(|(namespace, name, stored)| {
                    (
                        Key::new(resource.as_str(), namespace.clone(), name.clone()),
                        stored.clone(),
                    )
                })
                .collect();
            for (key, stored) in stored {
                state.learn(&key, Some(&stored.value()));
            }
        }
        for (namespace, _, _) in state.memory.list("/resourcequotas", None) {
            *state.quotas.entry(namespace.to_string()).or_default() += 1;
        }
        state
    }

    /// Makes changes true. Returns the version each of them got.
    pub fn commit(&mut self, changes: Vec<Change>) -> store::Committed {
        for change in &changes {
            match change {
                Change::Put { key, body } => self.learn(key, Some(body)),
                Change::Delete { key, last } => {
                    self.learn(key, None);
                    self.learn_gone(key, last);
                }
                Change::Remove { key } => {
                    let last = self.memory.get(key).map(Stored::value);
                    self.learn(key, None);
                    self.learn_gone(key, &last.unwrap_or_default());
                }
            }
        }
        self.memory.commit(changes)
    }

    // Keeps everything derived in step with one change. The store still holds the state before it,
    // which is only unpacked for the few kinds that need it.
    fn learn(&mut self, key: &Key, new: Option<&Value>) {
        let resource: &str = &key.resource;
        match resource {
            NAMESPACES => self.learn_namespace(key, new),
            CRDS => self.learn_definition(key, new),
            "/services" => {
                let old = self.memory.get(key).map(Stored::value);
                self.addresses.learn(old.as_ref(), new);
            }
            "/resourcequotas" => self.learn_quota(key, new),
            "/serviceaccounts" if new.is_none() => {
                self.work.insert(Work::Account(key.namespace.to_string()));
            }
            _ if resource.starts_with(RBAC_PREFIX) => self.learn_policy(key, new),
            _ => {}
        }
        self.learn_owners(key, new);
        if let Some(body) = new.filter(|body| meta::deletion_timestamp(body).is_some()) {
            self.learn_going(key, body);
        }
    }

    fn learn_quota(&mut self, key: &Key, new: Option<&Value>) {
        let existed = self.memory.get(key).is_some();
        let count = self.quotas.entry(key.namespace.to_string()).or_default();
        match (existed, new) {
            (false, Some(_)) => *count += 1,
            (true, None) => *count = count.saturating_sub(1),
            _ => {}
        }
        if new.is_some() {
            self.work.insert(Work::Quota(key.namespace.to_string()));
        }
    }

    fn learn_namespace(&mut self, key: &Key, new: Option<&Value>) {
        let name = key.name.to_string();
        match new {
            Some(body) => {
                let mut namespace = body.clone();
                namespace["kind"] = "Namespace".into();
                namespace["apiVersion"] = "v1".into();
                self.namespaces.insert(name.clone(), Arc::new(namespace));
                self.work.insert(Work::Namespace(name));
            }
            None => {
                self.namespaces.remove(&name);
            }
        }
    }

    fn learn_definition(&mut self, key: &Key, new: Option<&Value>) {
        match new {
            Some(body) => {
                let established = crate::controllers::is_condition_true(body, "Established");
                self.registry.set_custom(body, established);
                self.work.insert(Work::Definition(key.name.to_string()));
            }
            None => self.registry.remove_custom(&key.name),
        }
    }

    fn learn_policy(&mut self, key: &Key, new: Option<&Value>) {
        let resource = key.resource.strip_prefix(RBAC_PREFIX).unwrap_or("");
        let kind = match resource {
            "clusterroles" => "ClusterRole",
            "clusterrolebindings" => "ClusterRoleBinding",
            "roles" => "Role",
            _ => "RoleBinding",
        };
        match new {
            Some(body) => {
                // Bodies are stored without their type; the index wants it.
                let mut object = body.clone();
                object["kind"] = kind.into();
                self.rbac.upsert(&object);
            }
            None => self.rbac.remove(kind, &key.namespace, &key.name),
        }
        if resource == "clusterroles" {
            self.work.insert(Work::Aggregate);
        }
    }

    fn learn_owners(&mut self, key: &Key, new: Option<&Value>) {
        let references: Vec<&Value> = new.into_iter().flat_map(meta::owner_references).collect();
        if references.is_empty() && self.owned.is_empty() {
            return;
        }
        let this = ObjectRef::of(key);
        let before = self.owned.remove(&this).unwrap_or_default();
        if references.is_empty() && before.is_empty() {
            return;
        }
        let after: Vec<Owner> = references
            .into_iter()
            .map(|reference| Owner {
                uid: meta::text_at(reference, "/uid").to_owned(),
                place: self.owner_ref(&key.namespace, reference),
            })
            .collect();
        for gone in before.iter().filter(|o| !after.contains(o)) {
            if let Some(set) = self.dependents.get_mut(&gone.uid) {
                set.remove(&this);
                if set.is_empty() {
                    self.dependents.remove(&gone.uid);
                }
            }
            // An owner that waits for its dependents looks again when one let go of it.
            self.work.extend(gone.place.clone().map(Work::Finalize));
        }
        for owner in &after {
            let set = self.dependents.entry(owner.uid.clone()).or_default();
            set.insert(this.clone());
        }
        if new.is_some() && before != after && !after.iter().all(|owner| self.is_alive(owner)) {
            self.work.insert(Work::Dependent(this.clone()));
        }
        if !after.is_empty() {
            self.owned.insert(this, after);
        }
    }

    // Whether an owner is surely there and not on its way out; seen in its text, which is much
    // cheaper than reading it. When in doubt the collector looks.
    fn is_alive(&self, owner: &Owner) -> bool {
        let Some(place) = &owner.place else {
            return false;
        };
        let stored = self
            .memory
            .get_parts(&place.storage, &place.namespace, &place.name);
        let text = stored.and_then(|stored| String::from_utf8(stored.json()).ok());
        let Some(text) = text else {
            return false;
        };
        let uid = format!("\"uid\":\"{}\"", owner.uid);
        text.contains(&uid) && !text.contains("\"deletionTimestamp\":")
    }

    fn owner_ref(&self, namespace: &str, reference: &Value) -> Option<ObjectRef> {
        let gv = model::GroupVersion::parse(meta::text_at(reference, "/apiVersion"))?;
        let kind = meta::text_at(reference, "/kind");
        let resource = self.registry.find_group_kind(&gv.group, kind)?;
        Some(ObjectRef {
            storage: resource.storage.clone(),
            namespace: if resource.namespaced {
                namespace.to_owned()
            } else {
                String::new()
            },
            name: meta::text_at(reference, "/name").to_owned(),
        })
    }

    // An object is on its way out: whoever has to do something about that looks at it.
    fn learn_going(&mut self, key: &Key, body: &Value) {
        if meta::finalizers(body).any(|f| matches!(f, "foregroundDeletion" | "orphan")) {
            self.work.insert(Work::Finalize(ObjectRef::of(key)));
        }
        if self.namespace(&key.namespace) == Some(false) {
            self.work.insert(Work::Namespace(key.namespace.to_string()));
        }
    }

    // An object is gone: so may be its dependents, its namespace, its definition.
    fn learn_gone(&mut self, key: &Key, last: &Value) {
        let uid = meta::uid(last);
        if self.dependents.contains_key(uid) {
            self.work.insert(Work::Orphaned(uid.to_owned()));
        }
        if self.namespace(&key.namespace) == Some(false) {
            self.work.insert(Work::Namespace(key.namespace.to_string()));
        }
        if self.has_quota(&key.namespace) {
            self.work.insert(Work::Quota(key.namespace.to_string()));
        }
        if self.registry.is_custom(&key.resource) {
            self.work.insert(Work::Definition(crd_name(&key.resource)));
        }
    }

    /// Whether a namespace exists, and whether it is not on its way out.
    pub(crate) fn namespace(&self, name: &str) -> Option<bool> {
        self.namespaces
            .get(name)
            .map(|n| meta::deletion_timestamp(n).is_none())
    }

    /// The objects that name `uid` as an owner.
    pub fn dependents<'a>(&'a self, uid: &str) -> impl Iterator<Item = &'a ObjectRef> + use<'a> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// Whether any webhook is configured.
    pub(crate) fn has_webhooks(&self) -> bool {
        WEBHOOKS
            .iter()
            .any(|storage| self.memory.count(storage, None) > 0)
    }

    /// Whether any admission policy is configured.
    pub(crate) fn has_policies(&self) -> bool {
        self.memory.count(POLICIES, None) > 0
    }

    /// Whether a namespace has quotas at all.
    pub(crate) fn has_quota(&self, namespace: &str) -> bool {
        self.quotas.get(namespace).is_some_and(|n| *n > 0)
    }

    /// One object in the version of `resource`, with its type.
    pub fn get(&self, resource: &ResourceType, namespace: &str, name: &str) -> Option<Value> {
        let stored = self.memory.get_parts(&resource.storage, namespace, name)?;
        Some(present(resource, stored.value()))
    }

    /// One object as it is stored, by place.
    pub fn get_ref(&self, at: &ObjectRef) -> Option<Value> {
        Some(
            self.memory
                .get_parts(&at.storage, &at.namespace, &at.name)?
                .value(),
        )
    }

    /// All objects of a resource, in its version, with their type.
    pub fn list(&self, resource: &ResourceType, namespace: Option<&str>) -> Vec<Value> {
        let stored = self.memory.list(&resource.storage, namespace);
        stored
            .map(|(_, _, stored)| present(resource, stored.value()))
            .collect()
    }

    /// The version that the next change will get.
    pub(crate) fn next_version(&self) -> u64 {
        self.memory.version() + 1
    }

    /// Whether the ServiceAccount a token names still exists with that uid.
    pub(crate) fn has_account(&self, namespace: &str, name: &str, uid: &str) -> bool {
        let account = self.memory.get_parts("/serviceaccounts", namespace, name);
        account.is_some_and(|a| uid.is_empty() || meta::uid(&a.value()) == uid)
    }
}

/// A stored body as readers of `resource`'s version see it.
pub(crate) fn present(resource: &ResourceType, body: Value) -> Value {
    if !resource.converts() {
        return resource.typed(body);
    }
    let mut object = body;
    if let Some(map) = object.as_object_mut() {
        map.insert(
            "apiVersion".into(),
            resource.storage_gvk.api_version().into(),
        );
        map.insert("kind".into(), resource.storage_gvk.kind.clone().into());
    }
    crate::convert::convert(&mut object, &resource.storage_gvk, &resource.gvk);
    object
}

/// An object of `resource`'s version as the store keeps it.
pub(crate) fn storable(resource: &ResourceType, mut object: Value) -> Value {
    if resource.converts() {
        crate::convert::convert(&mut object, &resource.gvk, &resource.storage_gvk);
    }
    untyped(object)
}

/// The store's key of an object.
pub(crate) fn key_of(resource: &ResourceType, namespace: &str, name: &str) -> Key {
    Key {
        resource: resource.storage.clone(),
        namespace: namespace.into(),
        name: name.into(),
    }
}

/// `widgets.example.com` from `example.com/widgets`.
pub(crate) fn crd_name(storage: &str) -> String {
    let (group, resource) = storage.split_once('/').unwrap_or(("", storage));
    format!("{resource}.{group}")
}

impl ObjectRef {
    /// The place of a key.
    pub(crate) fn of(key: &Key) -> Self {
        Self {
            storage: key.resource.clone(),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
        }
    }
}

impl admission::Cluster for State {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        // Every write asks for its namespace, so those are kept ready.
        if resource == "namespaces" && group.is_empty() {
            return self.namespaces.get(name).cloned();
        }
        let resource = self.registry.find_group_resource(group, resource)?;
        State::get(self, resource, namespace, name).map(Arc::new)
    }

    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let resource = self.registry.find_group_resource(group, resource);
        let found = resource
            .map(|r| State::list(self, r, namespace))
            .unwrap_or_default();
        found.into_iter().map(Arc::new).collect()
    }
}

/// `now` as an object's timestamp field.
pub(crate) fn stamp(now: Timestamp) -> Value {
    Value::String(now.rfc3339())
}
