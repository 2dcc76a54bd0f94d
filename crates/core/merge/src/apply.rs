//! Server-side apply: a manager states the fields it has an opinion about, the server does the rest.
//!
//! ```text
//! live + configuration + manager ── apply ──▶ merged object with managedFields, or conflicts
//! ```
//!
//! Fields in the configuration are set and owned; fields the manager owned before and no longer
//! mentions are removed, unless somebody else owns them too. Changing what others own is a conflict,
//! or, with force, takes the field over.

use crate::compare::{Before, Changes, compare};
use crate::element::Element;
use crate::fieldset::{FieldSet, path_text};
use crate::go;
use crate::kind::Kind;
use crate::managed::{Managed, Operation, Owner, Who, reconcile};
use crate::mix::mix;
use crate::owners::{
    fresh, hand_over, managed_of, named, paths, put_managed, same_but_managed, take_managed,
    untracked,
};
use crate::prune::prune;
use crate::typed::fields_of;
use model::{ApiError, Cause, Reason, Timestamp, Value, meta};
use schema::Cursor;

/// The owner of everything in an object that was never tracked.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The manager whose client-side configuration is carried over.
const KUBECTL: &str = "kubectl";

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How large all annotations of an object may be together.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// A server-side apply request.
#[derive(Clone, Copy, Debug)]
pub struct Apply<'a> {
    /// The object as it is stored; `None` when the apply creates it.
    pub live: Option<&'a Value>,
    /// The applied configuration. It must not have `managedFields`.
    pub applied: &'a Value,
    /// Who applies.
    pub manager: &'a str,
    /// Take fields over from their owners instead of refusing.
    pub force: bool,
    /// The version the request speaks, as `apps/v1`.
    pub api_version: &'a str,
    /// The subresource applied to, or nothing.
    pub subresource: &'a str,
    /// The time of the request.
    pub now: Timestamp,
    /// The type of the object. `None` deduces all types: maps are granular, lists atomic.
    pub schema: Option<Cursor<'a>>,
    /// Fields that this endpoint ignores, as `["status"]`: nobody comes to own them here.
    pub reset: &'a [&'a [&'a str]],
}

/// What came of an apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The merged object with its `managedFields`; not yet defaulted.
    pub object: Value,
    /// Whether it differs from the live one in more than times.
    pub changed: bool,
}

/// A field that somebody else owns and the apply would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns the field.
    pub manager: String,
    /// How they came to own it.
    pub operation: Operation,
    /// The version they spoke.
    pub api_version: String,
    /// The subresource they wrote through, or nothing.
    pub subresource: String,
    /// When they last changed what they own.
    pub time: Option<Timestamp>,
    /// The field, as `.spec.replicas`.
    pub field: String,
}

/// Why an apply was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// Somebody else owns what would change.
    Conflicts(Vec<Conflict>),
    /// The configuration does not fit its schema; holds the whole message.
    Typed(String),
}

impl ApplyError {
    /// The answer to the client.
    pub fn to_api_error(&self) -> ApiError {
        match self {
            Self::Typed(message) => ApiError::internal_plain(message.clone()),
            Self::Conflicts(conflicts) => {
                let mut error = ApiError::new(409, Some(Reason::Conflict), self.to_string());
                error.causes = conflicts
                    .iter()
                    .map(|conflict| Cause {
                        reason: "FieldManagerConflict".into(),
                        message: format!("conflict with {}", conflict.owner()),
                        field: conflict.field.clone(),
                    })
                    .collect();
                error.with_details = true;
                error
            }
        }
    }
}

impl std::fmt::Display for ApplyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Typed(message) => f.write_str(message),
            Self::Conflicts(conflicts) => match conflicts.as_slice() {
                [one] => write!(
                    f,
                    "Apply failed with 1 conflict: conflict with {}: {}",
                    one.owner(),
                    one.field
                ),
                many => {
                    write!(f, "Apply failed with {} conflicts: ", many.len())?;
                    for (i, group) in many.chunk_by(|a, b| a.same_owner(b)).enumerate() {
                        let line = if i > 0 { "\n" } else { "" };
                        write!(f, "{line}conflicts with {}:", group[0].owner())?;
                        for conflict in group {
                            write!(f, "\n- {}", conflict.field)?;
                        }
                    }
                    Ok(())
                }
            },
        }
    }
}

impl std::error::Error for ApplyError {}

impl Conflict {
    fn same_owner(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.api_version == other.api_version
            && self.subresource == other.subresource
    }

    // The owner as messages name it; appliers go without a version.
    fn owner(&self) -> String {
        let mut text = go::quote(&self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(
                " with subresource {}",
                go::quote(&self.subresource)
            ));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

/// Applies a configuration.
pub fn apply(request: &Apply<'_>) -> Result<Applied, ApplyError> {
    let kind = Kind::Object(request.schema);
    let mut mine = fields_of(request.applied, kind).map_err(|why| {
        let what = describe(request.applied);
        ApplyError::Typed(format!(
            "failed to create typed patch object ({what}): {why}"
        ))
    })?;
    let reset = paths(request.reset);
    mine.remove_trees(&reset);
    let plan = Plan {
        request,
        kind,
        reset,
        me: Who {
            manager: named(request.manager),
            operation: Operation::Apply,
            api_version: request.api_version.into(),
            subresource: request.subresource.into(),
        },
    };
    match request.live {
        None => Ok(plan.create(mine)),
        Some(live) => plan.merge(live, mine),
    }
}

struct Plan<'a> {
    request: &'a Apply<'a>,
    kind: Kind<'a>,
    reset: FieldSet,
    me: Who,
}

impl Plan<'_> {
    fn create(self, mine: FieldSet) -> Applied {
        let mut object = self.request.applied.clone();
        let mut managed = Managed::default();
        let now = Some(self.request.now);
        let mine = mine.difference(untracked());
        managed.owners.push(Owner::new(self.me, now, mine));
        if self.request.manager == KUBECTL {
            sync_last_applied(&mut object, self.request.applied);
        }
        put_managed(&mut object, managed.write());
        Applied {
            object,
            changed: true,
        }
    }

    fn merge(self, live: &Value, mine: FieldSet) -> Result<Applied, ApplyError> {
        let request = self.request;
        let mut managed = Managed::read(managed_of(live))
            .map_err(|why| ApplyError::Typed(format!("failed to decode managed fields: {why}")))?;
        if managed.owners.is_empty() {
            self.claim_untracked(live, &mut managed);
        }
        let last = managed.find(&self.me).map(|owner| {
            let mut set = owner.set();
            reconcile(&mut set, self.kind);
            set
        });
        let mut object = live.clone();
        take_managed(&mut object);
        mix(&mut object, request.applied, self.kind, 0);
        if let Some(last) = &last
            && !last.is_subset(&mine)
        {
            self.prune(&mut object, &managed, last, &mine);
        }
        let same_object = same_but_managed(live, &object);
        let changes = if same_object {
            Changes::default()
        } else {
            compare(Before::Value(live), &object, self.kind).without(&self.reset)
        };
        self.refuse_conflicts(live, &managed, &changes.set)?;
        self.settle(&mut managed, &changes, mine, same_object);
        if request.manager == KUBECTL {
            sync_last_applied(&mut object, request.applied);
        }
        put_managed(&mut object, managed.write());
        let changed =
            !same_but_managed(live, &object) || !same_owners(managed_of(live), managed_of(&object));
        Ok(Applied { object, changed })
    }

    // All fields of an untracked object belong to somebody who wrote them before.
    fn claim_untracked(&self, live: &Value, managed: &mut Managed) {
        let changes = compare(fresh(self.kind), live, self.kind).without(&self.reset);
        let who = Who {
            manager: BEFORE_FIRST_APPLY.into(),
            operation: Operation::Update,
            ..self.me.clone()
        };
        hand_over(managed, changes, who, self.request.now, self.kind);
    }

    fn prune(&self, object: &mut Value, managed: &Managed, last: &FieldSet, mine: &FieldSet) {
        let mut owned = mine.clone();
        for owner in managed.owners.iter().filter(|o| !o.who.is(&self.me)) {
            owned.absorb(owner.set());
        }
        prune(object, self.kind, last, &owned);
    }

    fn refuse_conflicts(
        &self,
        live: &Value,
        managed: &Managed,
        set: &FieldSet,
    ) -> Result<(), ApplyError> {
        if self.request.force || set.is_empty() {
            return Ok(());
        }
        let mut found: Vec<(&Owner, Vec<Vec<Element>>)> = managed
            .owners
            .iter()
            .filter(|owner| !owner.who.is(&self.me) && owner.owns_any(set))
            .map(|owner| (owner, owner.set().intersection(set).paths()))
            .collect();
        if found.is_empty() {
            return Ok(());
        }
        if self.request.manager == KUBECTL
            && let Some(allowed) = self.last_applied_fields(live)
        {
            for (_, paths) in &mut found {
                paths.retain(|path| !allowed.has(path));
            }
        }
        found.sort_by_cached_key(|(owner, _)| owner.who.identity());
        let conflicts: Vec<_> = found
            .into_iter()
            .flat_map(|(owner, paths)| {
                paths.into_iter().map(move |path| Conflict {
                    manager: owner.who.manager.clone(),
                    operation: owner.who.operation,
                    api_version: owner.who.api_version.clone(),
                    subresource: owner.who.subresource.clone(),
                    time: owner.time,
                    field: path_text(&path),
                })
            })
            .collect();
        if conflicts.is_empty() {
            return Ok(());
        }
        Err(ApplyError::Conflicts(conflicts))
    }

    // What a client-side apply set before and is still so: kubectl may take it from itself.
    fn last_applied_fields(&self, live: &Value) -> Option<FieldSet> {
        let text = meta::annotation(live, LAST_APPLIED).filter(|text| !text.is_empty())?;
        let last: Value = serde_json::from_str(text).ok()?;
        if last.get("apiVersion")?.as_str()? != self.request.api_version {
            return None;
        }
        let set = fields_of(&last, self.kind).ok()?;
        let changes = compare(Before::Value(&last), live, self.kind);
        Some(set.difference(&changes.set).difference(&changes.gone))
    }

    // Gives the applier what it asked for and takes from the others what changed.
    fn settle(&self, managed: &mut Managed, changes: &Changes, mine: FieldSet, same_object: bool) {
        let mine = mine.difference(untracked());
        let mut time = Some(self.request.now);
        if same_object {
            time = managed.find(&self.me).and_then(|owner| owner.time);
        }
        managed.owners.retain(|owner| !owner.who.is(&self.me));
        for owner in &mut managed.owners {
            owner.give_up(&changes.set);
            owner.give_up(&changes.gone);
        }
        managed.owners.push(Owner::new(self.me.clone(), time, mine));
    }
}

// `ns/name; apps/v1, Kind=Deployment`, or `ns/name; /v1, Kind=Service`.
fn describe(object: &Value) -> String {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion");
    // The core group has no name, but its slash is printed.
    let slash = if version.contains('/') { "" } else { "/" };
    format!(
        "{}/{}; {slash}{version}, Kind={}",
        meta::namespace(object),
        meta::name(object),
        text("kind")
    )
}

// Whether the same owners own the same fields, whenever they came to.
fn same_owners(a: Option<&Value>, b: Option<&Value>) -> bool {
    let entries = |v: Option<&Value>| v.and_then(Value::as_array).map_or(0, Vec::len);
    let list = |v: Option<&Value>| -> Vec<Value> {
        let mut list = v.and_then(Value::as_array).cloned().unwrap_or_default();
        for entry in &mut list {
            if let Some(entry) = entry.as_object_mut() {
                entry.remove("time");
            }
        }
        list
    };
    entries(a) == entries(b) && (a == b || list(a) == list(b))
}

// Keeps the annotation of client-side apply up to date where there is one.
fn sync_last_applied(object: &mut Value, applied: &Value) {
    if meta::annotation(object, LAST_APPLIED).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = applied.pointer_mut("/metadata/annotations")
        && let Some(annotations) = annotations.as_object_mut()
    {
        annotations.remove(LAST_APPLIED);
    }
    let mut text = String::new();
    go::write_json(&applied, &mut text);
    text.push('\n');
    let Some(annotations) = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    annotations.insert(LAST_APPLIED.into(), Value::String(text));
    let bytes: usize = annotations
        .iter()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if bytes > ANNOTATIONS_BYTES_MAX {
        annotations.remove(LAST_APPLIED);
    }
}
