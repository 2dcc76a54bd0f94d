//! What is special about built-in kinds: defaults, validation, immutable fields, warnings.
//!
//! Takes objects as Go would have decoded them and a [`GroupVersionKind`], gives the object as the
//! API server would store it, or the faults it would report. Pure: what only the caller knows (the
//! time, a new uid, the user) comes in with [`Fresh`].
//!
//! ```text
//! create:  default ─▶ prepare_create ─▶ validate_metadata + validate_create
//! update:  default ─▶ prepare_update ─▶ validate_metadata_update + validate_update
//! ```
//!
//! Every kind is one row of `rules`; a kind without a row has no rules of its own.

mod autoscaler;
mod batch;
mod budget;
pub mod catalog;
mod certificates;
mod claim;
mod cluster;
mod config;
mod diff;
mod endpoints;
mod event;
mod fault;
mod fields;
mod flow;
mod go;
mod ingress;
mod metadata;
mod network;
mod pod;
mod policy;
mod quota;
mod rbac;
mod registration;
mod resources;
mod rules;
mod scheduling;
mod selector;
pub mod service;
mod storage;
mod syntax;
mod volume;
mod webhook;
mod workload;

pub use metadata::{validate_metadata, validate_metadata_update};

use fault::Faults;
use fields::{carry, get, same, set};
use model::{FieldError, GroupVersionKind, Timestamp, User, Value, meta};
use rules::{Keeps, Recheck};

/// What only the caller of a write knows.
#[derive(Clone, Copy, Debug)]
pub struct Fresh<'a> {
    /// The uid of the object.
    pub uid: &'a str,
    /// The time of the write.
    pub now: Timestamp,
    /// Who writes.
    pub user: Option<&'a User>,
}

/// Through which part of a resource an update comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The resource itself.
    Main,
    /// `/status`.
    Status,
    /// `/scale`: only the replicas move.
    Scale,
    /// A pod's `/ephemeralcontainers`.
    Ephemeral,
    /// A pod's `/resize`.
    Resize,
    /// A namespace's `/finalize`.
    Finalize,
    /// A certificate signing request's `/approval`.
    Approval,
}

/// Where a kind keeps what its scale endpoint shows, as JSON pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleInfo {
    /// The wanted number of replicas.
    pub spec_replicas: &'static str,
    /// The observed number of replicas.
    pub status_replicas: &'static str,
    /// The selector of the pods.
    pub selector: &'static str,
    /// Whether the selector is a plain map of labels instead of a `LabelSelector`.
    pub selector_is_map: bool,
}

/// Fills what the API server fills in for a kind.
pub fn default(gvk: &GroupVersionKind, object: &mut Value) {
    (rules::of(gvk).default)(object, &gvk.version);
}

/// Does what a create does to an object before it is validated.
pub fn prepare_create(gvk: &GroupVersionKind, object: &mut Value, fresh: &Fresh<'_>) {
    let rules = rules::of(gvk);
    if let Some(status) = rules.status.filter(|_| !rules.keeps_new_status) {
        let old = gvk.group == "autoscaling" && gvk.version == "v1";
        let status = if old { autoscaler::OLD_STATUS } else { status };
        set(object, "status", zero_status(status));
    }
    if !rules.generation.is_empty() {
        meta::metadata_mut(object).insert("generation".into(), 1.into());
    }
    (rules.create)(object, fresh);
}

fn zero_status(text: &str) -> Value {
    text.parse().expect("the table of kinds holds JSON")
}

/// Does what an update does to an object before it is validated: takes over from `old` what this
/// endpoint cannot change, and moves the generation.
pub fn prepare_update(
    gvk: &GroupVersionKind,
    new: &mut Value,
    old: &Value,
    endpoint: Endpoint,
    fresh: &Fresh<'_>,
) {
    let rules = rules::of(gvk);
    keep_generation(new, old);
    match endpoint {
        Endpoint::Main | Endpoint::Scale if rules.status.is_some() => carry(new, old, "status"),
        Endpoint::Status => {
            carry(new, old, "spec");
            keep_metadata(new, old, rules.status_keeps);
        }
        _ => {}
    }
    (rules.update)(new, old, endpoint, fresh);
    let moves = matches!(
        endpoint,
        Endpoint::Main | Endpoint::Scale | Endpoint::Ephemeral | Endpoint::Resize
    );
    if moves && rules.generation.iter().any(|field| moved(new, old, field)) {
        let next = meta::generation(old) + 1;
        meta::metadata_mut(new).insert("generation".into(), next.into());
    }
}

fn moved(new: &Value, old: &Value, field: &str) -> bool {
    match field.strip_prefix("metadata.") {
        Some(field) => !same(
            get(get(new, "metadata"), field),
            get(get(old, "metadata"), field),
        ),
        None => !same(get(new, field), get(old, field)),
    }
}

fn keep_generation(new: &mut Value, old: &Value) {
    let metadata = meta::metadata_mut(new);
    match meta::generation(old) {
        0 => {
            metadata.remove("generation");
        }
        generation => {
            metadata.insert("generation".into(), generation.into());
        }
    }
}

fn keep_metadata(new: &mut Value, old: &Value, keeps: Keeps) {
    let old = get(old, "metadata");
    let fields: &[&str] = match keeps {
        Keeps::Nothing => &[],
        Keeps::Labels => &["labels"],
        Keeps::Owners => &["ownerReferences"],
        Keeps::All => &[
            "deletionTimestamp",
            "generation",
            "selfLink",
            "labels",
            "annotations",
            "finalizers",
            "ownerReferences",
        ],
    };
    let metadata = fields::map_slot(new, "metadata");
    for field in fields {
        carry(metadata, old, field);
    }
}

/// Finds the faults of a new object, those of its metadata aside.
pub fn validate_create(gvk: &GroupVersionKind, object: &Value) -> Vec<FieldError> {
    let mut faults = Faults::default();
    (rules::of(gvk).check)(object, &mut faults);
    faults.into_list()
}

/// Finds the faults of an update. Kinds that are built in check the metadata here once more, as the
/// API server does: its answers name such faults twice.
pub fn validate_update(
    gvk: &GroupVersionKind,
    new: &Value,
    old: &Value,
    endpoint: Endpoint,
) -> Vec<FieldError> {
    let mut faults = Faults::default();
    let rules = rules::of(gvk);
    let recheck = match rules.recheck {
        _ if !rules::is_built_in(gvk) => Recheck::Not,
        Recheck::Both | Recheck::AsNew | Recheck::Around if endpoint != Endpoint::Main => {
            Recheck::AsUpdate
        }
        recheck => recheck,
    };
    let as_update = |faults: &mut Faults| {
        metadata::check_update(new, old, faults);
        metadata::check_kube_finalizers(new, faults);
    };
    if matches!(recheck, Recheck::AsUpdate | Recheck::Both) {
        as_update(&mut faults);
    }
    if matches!(recheck, Recheck::Both | Recheck::AsNew | Recheck::Around) {
        let namespaced = !meta::namespace(old).is_empty();
        metadata::check(new, namespaced, rules.name, &mut faults);
        metadata::check_kube_finalizers(new, &mut faults);
    }
    (rules.check_update)(new, old, endpoint, &mut faults);
    if recheck == Recheck::Around {
        as_update(&mut faults);
    }
    faults.into_list()
}

/// The warnings that come with an accepted write; `old` is what an update replaces.
pub fn warnings(gvk: &GroupVersionKind, new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut texts = Vec::new();
    (rules::of(gvk).warn)(new, old, &mut texts);
    texts
}

/// The fields that server-side apply ignores at an endpoint of a kind.
pub fn reset_fields(
    gvk: &GroupVersionKind,
    endpoint: Endpoint,
) -> &'static [&'static [&'static str]] {
    let rules = rules::of(gvk);
    match endpoint {
        _ if gvk.kind == "CertificateSigningRequest" => match endpoint {
            Endpoint::Status => &[&["spec"], &["status", "conditions"]],
            Endpoint::Approval => &[&["spec"], &["status", "certificate"]],
            _ => &[&["spec"], &["status"]],
        },
        _ if rules.status.is_none() => &[],
        Endpoint::Main | Endpoint::Finalize => &[&["status"]],
        Endpoint::Status => match rules.status_keeps {
            Keeps::Nothing => &[&["spec"]],
            Keeps::Labels => &[&["spec"], &["metadata", "labels"]],
            Keeps::Owners => &[
                &["spec"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "ownerReferences"],
            ],
            Keeps::All => &[&["spec"], &["metadata"]],
        },
        Endpoint::Scale | Endpoint::Ephemeral | Endpoint::Resize | Endpoint::Approval => &[],
    }
}

/// Whether a PUT of an object that does not exist creates it.
pub fn allows_create_on_update(gvk: &GroupVersionKind) -> bool {
    rules::of(gvk).create_on_update
}

/// Whether a PUT may leave out the resource version.
pub fn unconditional_update(gvk: &GroupVersionKind) -> bool {
    rules::of(gvk).unconditional
}

/// The values of the fields that a field selector may ask for, beyond name and namespace.
pub fn selectable_fields(gvk: &GroupVersionKind, object: &Value) -> Vec<(&'static str, String)> {
    (rules::of(gvk).select)(object)
}

/// Where a kind keeps its replicas, when it has a scale endpoint.
pub fn scale(gvk: &GroupVersionKind) -> Option<ScaleInfo> {
    rules::of(gvk).scale
}

/// The seconds an object has to end itself when a delete names none; `None` deletes at once.
pub fn default_grace_seconds(gvk: &GroupVersionKind, object: &Value) -> Option<i64> {
    if !gvk.group.is_empty() || gvk.kind != "Pod" {
        return None;
    }
    let spec = get(object, "spec");
    let phase = fields::text(get(object, "status"), "phase");
    if fields::text(spec, "nodeName").is_empty() || matches!(phase, "Succeeded" | "Failed") {
        return Some(0);
    }
    Some(fields::int(spec, "terminationGracePeriodSeconds").unwrap_or(30))
}

/// Changes an object of one version into another version of the same kind. Versions that differ
/// in their name alone only get a new `apiVersion`.
pub fn convert(object: &mut Value, from: &GroupVersionKind, to: &GroupVersionKind) {
    if from == to {
        return;
    }
    match (from.group.as_str(), to.group.as_str(), to.kind.as_str()) {
        ("autoscaling", "autoscaling", "HorizontalPodAutoscaler") => {
            autoscaler::convert(object, &from.version, &to.version);
        }
        ("", "events.k8s.io", "Event") => event::to_new(object),
        ("events.k8s.io", "", "Event") => event::to_core(object),
        _ => {}
    }
    set(object, "apiVersion", to.api_version());
}
