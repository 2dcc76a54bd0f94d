//! Turns a comparison into the tasks of a sync, each in its slot, in order.
//!
//! ```text
//! pairs, hooks, rules ── tasks ──▶ prune waves turned ──▶ sorted ──▶ needs moved forward ──▶ Plan
//! ```
//!
//! A plan is specific enough that performing it needs no further decision about order.

mod order;
mod prune;

use crate::annotation::{self, HOOK_FINALIZER};
use crate::hook::{self, Phase, Role};
use model::{ResourceKey, Value, meta};
use std::collections::BTreeSet;
use std::fmt;

/// A place in a sync: everything in one slot is done together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// The phase.
    pub phase: Phase,
    /// The wave in it.
    pub wave: i64,
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.phase.word(), self.wave)
    }
}

/// What Git wants and what the cluster has of one object.
#[derive(Clone, Debug, Default)]
pub struct Pair {
    /// The manifest; `None` when Git has none.
    pub target: Option<Value>,
    /// The live object; `None` when the cluster has none.
    pub live: Option<Value>,
    /// Whether they differ.
    pub modified: bool,
    /// Whether the live object's tracking id is its own.
    pub own: bool,
}

/// What is done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It is made, or brought to what Git wants.
    Apply,
    /// It runs as a hook.
    Run,
    /// It is removed, since Git has it no more.
    Prune,
}

impl Deed {
    /// The word people see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Run => "run",
            Self::Prune => "prune",
        }
    }
}

/// One thing to do.
#[derive(Clone, Debug)]
pub struct Task {
    /// Which object.
    pub key: ResourceKey,
    /// When.
    pub slot: Slot,
    /// What.
    pub deed: Deed,
    /// The manifest, with the name and namespace it will have.
    pub target: Option<Value>,
    /// The live object.
    pub live: Option<Value>,
    /// Whether manifest and live object differ.
    pub modified: bool,
    /// Whether a server that does not know the kind yet is no reason to refuse.
    pub kind_may_come: bool,
    /// Why it is in the plan, and in this slot.
    pub why: String,
}

/// What a sync is asked to do, as far as it matters for the plan.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Namespace of objects that name none.
    pub destination: String,
    /// What was compared, for the names of hooks.
    pub revision: String,
    /// When the operation began, in seconds; the same on each retry.
    pub started_at: i64,
    /// Options of the whole sync, as `PruneLast=true`.
    pub options: BTreeSet<String>,
    /// The only objects to touch; empty means all.
    pub only: Vec<Selector>,
    /// Whether hooks are left out.
    pub without_hooks: bool,
    /// The namespace that has to be made first, as a manifest.
    pub namespace: Option<Value>,
}

/// One object of a selective sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Its group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty means any.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Selector {
    fn matches(&self, key: &ResourceKey) -> bool {
        self.name == key.name
            && self.kind == key.kind
            && self.group == key.group
            && (self.namespace.is_empty() || self.namespace == key.namespace)
    }
}

/// All tasks, in order.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The tasks.
    pub tasks: Vec<Task>,
}

impl Plan {
    /// The slots in which something happens, in order.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.tasks.iter().map(|task| task.slot).collect();
        slots.dedup();
        slots
    }

    /// Whether more than one slot is used, so that one has to wait for another.
    pub fn has_steps(&self) -> bool {
        match (self.tasks.first(), self.tasks.last()) {
            (Some(first), Some(last)) => first.slot != last.slot,
            _ => false,
        }
    }
}

impl Rules {
    fn has(&self, option: &str) -> bool {
        self.options.contains(option)
    }

    fn selects(&self, key: &ResourceKey) -> bool {
        self.only.is_empty() || self.only.iter().any(|selector| selector.matches(key))
    }
}

/// Makes the plan of a sync from what was compared and the hooks that Git has.
pub fn plan(pairs: &[Pair], hooks: &[(Value, Option<Value>)], rules: &Rules) -> Plan {
    let mut tasks: Vec<Task> = pairs
        .iter()
        .filter_map(|pair| resource(pair, rules))
        .collect();
    if !rules.without_hooks && rules.only.is_empty() {
        tasks.extend(
            hooks
                .iter()
                .flat_map(|(hook, live)| runs(hook, live.as_ref(), rules)),
        );
    }
    tasks.extend(namespace(pairs, rules));
    prune::turn_waves(&mut tasks);
    prune::put_last(&mut tasks, rules.has("PruneLast=true"));
    order::sort(&mut tasks);
    order::move_needs_forward(&mut tasks);
    allow_missing_kinds(&mut tasks, rules);
    Plan { tasks }
}

fn resource(pair: &Pair, rules: &Rules) -> Option<Task> {
    let shown = pair.target.as_ref().or(pair.live.as_ref())?;
    if hook::role(shown) != Role::Resource || !pair.own {
        return None;
    }
    let target = pair
        .target
        .as_ref()
        .map(|target| placed(target, &rules.destination));
    let key = key_of(target.as_ref().or(pair.live.as_ref())?)?;
    if !rules.selects(&key) {
        return None;
    }
    let (deed, why) = match (&target, &pair.live) {
        (None, _) => (Deed::Prune, "no longer in Git"),
        (Some(_), None) => (Deed::Apply, "missing in the cluster"),
        (Some(_), Some(_)) if pair.modified => (Deed::Apply, "differs from Git"),
        (Some(_), Some(_)) => (Deed::Apply, "as in Git"),
    };
    Some(Task {
        key,
        slot: Slot {
            phase: Phase::Sync,
            wave: annotation::wave(shown),
        },
        deed,
        target,
        live: pair.live.clone(),
        modified: pair.modified,
        kind_may_come: false,
        why: why.into(),
    })
}

// A hook runs once in each of its phases.
fn runs(hook: &Value, live: Option<&Value>, rules: &Rules) -> Vec<Task> {
    let Role::Hook(phases) = hook::role(hook) else {
        return Vec::new();
    };
    let in_sync = phases.into_iter().filter(|phase| !phase.is_deletion());
    in_sync
        .filter_map(|phase| run(hook, live, phase, rules))
        .collect()
}

fn run(hook: &Value, live: Option<&Value>, phase: Phase, rules: &Rules) -> Option<Task> {
    let mut target = placed(hook, &rules.destination);
    if meta::name(&target).is_empty() {
        let base = meta::text(&target, "generateName").to_owned();
        let name = hook::generated_name(&base, &rules.revision, phase, rules.started_at);
        meta::set_text(&mut target, "name", &name);
    }
    let finalizers = meta::metadata_mut(&mut target)
        .entry("finalizers")
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Some(list) = finalizers.as_array_mut() {
        list.push(HOOK_FINALIZER.into());
    }
    Some(Task {
        key: key_of(&target)?,
        slot: Slot {
            phase,
            wave: annotation::wave(hook),
        },
        deed: Deed::Run,
        live: live.cloned(),
        target: Some(target),
        modified: true,
        kind_may_come: false,
        why: format!("{} hook", phase.word()),
    })
}

// The destination's namespace, unless Git brings it itself.
fn namespace(pairs: &[Pair], rules: &Rules) -> Option<Task> {
    let wanted = rules.namespace.as_ref()?;
    let key = key_of(wanted)?;
    let brought = pairs
        .iter()
        .filter_map(|pair| key_of(pair.target.as_ref()?))
        .any(|found| found.kind == "Namespace" && found.group.is_empty() && found.name == key.name);
    (!brought).then(|| Task {
        key,
        slot: Slot {
            phase: Phase::PreSync,
            wave: 0,
        },
        deed: Deed::Apply,
        target: Some(wanted.clone()),
        live: None,
        modified: true,
        kind_may_come: false,
        why: "CreateNamespace=true".into(),
    })
}

// A kind whose definition comes with this sync, or that the user vouches for, may be unknown yet.
fn allow_missing_kinds(tasks: &mut [Task], rules: &Rules) {
    const OPTION: &str = "SkipDryRunOnMissingResource=true";
    let defined: BTreeSet<(String, String)> = tasks
        .iter()
        .filter_map(|task| order::defines(task.target.as_ref()?))
        .collect();
    let all = rules.has(OPTION);
    for task in tasks {
        let Some(target) = &task.target else { continue };
        let kind = (task.key.group.clone(), task.key.kind.clone());
        task.kind_may_come =
            all || defined.contains(&kind) || annotation::has_sync_option(target, OPTION);
    }
}

/// The key of an object.
pub fn key_of(object: &Value) -> Option<ResourceKey> {
    let gvk = meta::gvk(object)?;
    Some(ResourceKey {
        group: gvk.group,
        kind: gvk.kind,
        namespace: meta::namespace(object).to_owned(),
        name: meta::name(object).to_owned(),
    })
}

// An object that names no namespace goes to the destination's.
fn placed(object: &Value, destination: &str) -> Value {
    let mut placed = object.clone();
    if meta::namespace(object).is_empty() && !destination.is_empty() {
        meta::set_text(&mut placed, "namespace", destination);
    }
    placed
}

#[cfg(test)]
mod tests;
