//! Server-side apply: a manager states the fields it has an opinion about, the server does the rest.
//!
//! ```text
//! live + configuration + manager ── apply ──▶ merged object with managedFields, or conflicts
//! ```
//!
//! Fields in the configuration are set and owned; fields the manager owned before and no longer
//! mentions are removed, unless somebody else owns them too. Changing what others own is a conflict,
//! or, with force, takes the field over.

use crate::compare::{Changes, Was, compare};
use crate::element::Element;
use crate::fieldset::{FieldSet, path_text};
use crate::go;
use crate::kind::Kind;
use crate::managed::{Managed, Operation, Owner, Who, reconcile};
use crate::mix::{has, mix};
use crate::owners::{
    clone_unmanaged, fresh, hand_over, managed_of, named, paths, put_managed, same_but_managed,
    untracked,
};
use crate::prune::prune;
use crate::stored::{Extent, Meeting, extent};
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
        let tracked = mine.difference(untracked());
        if self.is_settled(live, &tracked) {
            return Ok(Applied {
                object: live.clone(),
                changed: false,
            });
        }
        let mut managed = Managed::read(managed_of(live).cloned())
            .map_err(|why| ApplyError::Typed(format!("failed to decode managed fields: {why}")))?;
        if managed.owners.is_empty() {
            managed = self.claim_untracked(live, managed);
        }
        let last = self.last_fields(&managed, &tracked);
        let mut object = clone_unmanaged(live);
        mix(&mut object, request.applied, self.kind, 0);
        if let Some(last) = &last {
            self.prune(&mut object, &managed, last, &tracked);
        }
        let same_object = same_but_managed(live, &object);
        let mut same_owners = managed_of(live).is_some();
        if same_object {
            // Only this applier's own entry can change, and it keeps its time.
            let mine = managed.find(&self.me);
            let time = mine.and_then(Owner::time);
            let kept = mine.is_some_and(|owner| {
                owner.api_version() == request.api_version
                    && owner.extent(&tracked) == Extent::Equal
            });
            same_owners &= kept || (mine.is_none() && tracked.is_empty());
            if !kept {
                self.own(&mut managed, tracked, time);
            }
        } else {
            let changes = compare(Was::Value(live), &object, self.kind).without(&self.reset);
            self.refuse_conflicts(live, &managed, &changes)?;
            managed.owners.retain(|owner| !owner.is(&self.me));
            managed.give_up(&changes, self.kind);
            self.own(&mut managed, tracked, Some(request.now));
        }
        let mut changed = !(same_object && same_owners);
        if request.manager == KUBECTL {
            changed |= sync_last_applied(&mut object, request.applied);
        }
        put_managed(&mut object, managed.write());
        Ok(Applied { object, changed })
    }

    // Whether nothing is to be done: the applier owns exactly this, and the object has it.
    fn is_settled(&self, live: &Value, mine: &FieldSet) -> bool {
        if self.request.manager == KUBECTL {
            return false;
        }
        let Some(entry) = Managed::peek(managed_of(live), &self.me) else {
            return false;
        };
        let fields = entry.get("fieldsV1").and_then(Value::as_object);
        fields.is_some_and(|fields| extent(fields, mine) == Extent::Equal)
            && has(live, self.request.applied, self.kind, 0)
    }

    // All fields of an untracked object belong to somebody who wrote them before.
    fn claim_untracked(&self, live: &Value, managed: Managed) -> Managed {
        let changes = compare(fresh(self.kind), live, self.kind).without(&self.reset);
        let who = Who {
            manager: BEFORE_FIRST_APPLY.into(),
            operation: Operation::Update,
            ..self.me.clone()
        };
        hand_over(managed, changes, who, self.request.now, self.kind)
    }

    // What the applier owned before, if it mentions less now.
    fn last_fields(&self, managed: &Managed, mine: &FieldSet) -> Option<FieldSet> {
        let owner = managed.find(&self.me)?;
        if owner.extent(mine) != Extent::Other {
            return None;
        }
        let mut last = owner.set();
        reconcile(&mut last, self.kind);
        (!last.is_subset(mine)).then_some(last)
    }

    fn own(&self, managed: &mut Managed, mine: FieldSet, time: Option<Timestamp>) {
        managed.owners.retain(|owner| !owner.is(&self.me));
        managed.owners.push(Owner::new(self.me.clone(), time, mine));
    }

    fn prune(&self, object: &mut Value, managed: &Managed, last: &FieldSet, mine: &FieldSet) {
        let mut others = FieldSet::new();
        for owner in managed.owners.iter().filter(|o| !o.is(&self.me)) {
            others.absorb(owner.set());
        }
        // Identity is nobody's, but never to be taken out.
        prune(object, self.kind, last, [mine, &others, untracked()]);
    }

    fn refuse_conflicts(
        &self,
        live: &Value,
        managed: &Managed,
        changes: &Changes,
    ) -> Result<(), ApplyError> {
        if self.request.force || changes.set.is_empty() {
            return Ok(());
        }
        let mut found: Vec<(&Owner, Vec<Vec<Element>>)> = Vec::new();
        for owner in managed.owners.iter().filter(|o| !o.is(&self.me)) {
            if owner.meet(&changes.set) != Meeting::Apart {
                let mut set = owner.set();
                reconcile(&mut set, self.kind);
                let shared = set.intersection(&changes.set);
                if !shared.is_empty() {
                    found.push((owner, shared.paths()));
                }
            }
        }
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
        found.sort_by_cached_key(|(owner, _)| owner.who().identity());
        let conflicts: Vec<_> = found
            .into_iter()
            .flat_map(|(owner, paths)| {
                paths.into_iter().map(move |path| Conflict {
                    manager: owner.manager().into(),
                    operation: owner.operation(),
                    api_version: owner.api_version().into(),
                    subresource: owner.subresource().into(),
                    time: owner.time(),
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
        let changes = compare(Was::Value(&last), live, self.kind);
        Some(set.difference(&changes.set).difference(&changes.gone))
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

// Keeps the annotation of client-side apply up to date where there is one; says whether it moved.
fn sync_last_applied(object: &mut Value, applied: &Value) -> bool {
    let before = match meta::annotation(object, LAST_APPLIED) {
        None | Some("") => return false,
        Some(text) => text.to_owned(),
    };
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
        return false;
    };
    let moved = text != before;
    annotations.insert(LAST_APPLIED.into(), Value::String(text));
    let bytes: usize = annotations
        .iter()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if bytes > ANNOTATIONS_BYTES_MAX {
        annotations.remove(LAST_APPLIED);
    }
    moved
}

#[cfg(test)]
mod tests;
