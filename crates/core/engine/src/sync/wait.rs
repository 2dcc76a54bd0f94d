//! What a sync waits for, since when, and until when: nothing waits without saying so.

use super::slot::pruning;
use super::{Operation, Outcome, Progress, Pruning, Stage, TaskState};
use crate::plan::{Deed, Slot};
use model::{ResourceKey, Timestamp};

/// What is awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The first object that is awaited.
    pub key: ResourceKey,
    /// Its slot.
    pub slot: Slot,
    /// What it is awaited for.
    pub reason: &'static str,
    /// What it says of itself.
    pub says: String,
    /// Since when.
    pub since: Timestamp,
    /// How many others are awaited too.
    pub others: usize,
    /// When the wait ends by itself, badly.
    pub until: Option<Timestamp>,
}

/// What a sync waits for now; `None` when it waits for nothing but answers.
pub fn waiting(operation: &Operation) -> Option<Waiting> {
    let awaited = awaited(operation);
    let first = awaited.iter().find(|p| p.is_hook()).or(awaited.first())?;
    let reason = reason(operation, &awaited);
    Some(Waiting {
        key: first.task.key.clone(),
        slot: first.task.slot,
        reason,
        says: first.message.clone(),
        since: first.since,
        others: awaited.len() - 1,
        until: until(operation, first),
    })
}

fn awaited(operation: &Operation) -> Vec<&Progress> {
    let steps = operation.has_steps();
    let is_awaited = |p: &&Progress| match p.state {
        TaskState::Clearing => true,
        TaskState::Running => steps || p.is_hook() || p.task.deed == Deed::Prune,
        TaskState::Pending
        | TaskState::Trying
        | TaskState::Asked
        | TaskState::Succeeded
        | TaskState::Failed => false,
    };
    let found: Vec<&Progress> = operation.tasks.iter().filter(is_awaited).collect();
    if found.is_empty() {
        unapproved(operation)
    } else {
        found
    }
}

// Removals of the next slot that wait for somebody's word.
fn unapproved(operation: &Operation) -> Vec<&Progress> {
    let approved = operation
        .policy
        .approved_at
        .is_some_and(|at| at >= operation.started_at);
    let Some(slot) = super::slot::current(operation).filter(|_| !approved) else {
        return Vec::new();
    };
    let ids = operation.ids(|p| {
        p.task.deed == Deed::Prune && p.task.slot == slot && p.state == TaskState::Pending
    });
    let of = |id: &usize| pruning(operation, *id) == Pruning::Confirm;
    ids.into_iter()
        .filter(of)
        .map(|id| &operation.tasks[id])
        .collect()
}

fn reason(operation: &Operation, awaited: &[&Progress]) -> &'static str {
    let hooks = awaited.iter().any(|p| p.is_hook());
    let deleting =
        |p: &&&Progress| p.state == TaskState::Clearing || p.outcome == Some(Outcome::Pruned);
    if awaited
        .iter()
        .any(|p| p.task.deed == Deed::Prune && p.state == TaskState::Pending)
    {
        return "pruning confirmation of";
    }
    match (awaited.iter().any(|p| deleting(&p)), hooks) {
        (true, true) => "deletion of hook",
        (true, false) => "deletion of",
        (false, true) => "completion of hook",
        (false, false) if operation.stage == Stage::Failing => "completion of hook",
        (false, false) => "healthy state of",
    }
}

/// The sentence people see while a sync is under way.
pub(super) fn message(operation: &Operation) -> String {
    let Some(waiting) = waiting(operation) else {
        return "one or more tasks are running".into();
    };
    let key = &waiting.key;
    let mut message = format!(
        "waiting for {} {}/{}/{}",
        waiting.reason, key.group, key.kind, key.name
    );
    if waiting.others > 0 {
        let all_hooks = awaited(operation).iter().all(|p| p.is_hook());
        let word = if all_hooks { "hooks" } else { "resources" };
        message.push_str(&format!(" and {} more {word}", waiting.others));
    }
    message
}

fn until(operation: &Operation, first: &Progress) -> Option<Timestamp> {
    let limits = &operation.policy.limits;
    let whole = limits
        .operation
        .map(|s| operation.started_at.plus_seconds(s));
    let still = limits
        .no_progress
        .map(|s| operation.moved_at.plus_seconds(s));
    let hook = limits
        .hook
        .filter(|_| first.is_hook())
        .map(|s| first.since.plus_seconds(s));
    [whole, still, hook].into_iter().flatten().min()
}

/// When the operation has to be looked at again if nothing happens before.
pub(super) fn next_look(operation: &Operation, now: Timestamp) -> Option<Timestamp> {
    if operation.phase.is_over() {
        return None;
    }
    let awaited = awaited(operation);
    let limits = awaited.iter().filter_map(|p| until(operation, p));
    let delay = operation
        .not_before
        .filter(|at| *at > now && awaited.is_empty());
    limits.chain(delay).min()
}

/// Ends what takes too long, with what it waited for as the reason.
pub(super) fn enforce(operation: &mut Operation, now: Timestamp) {
    let limits = operation.policy.limits;
    let late = |since: Timestamp, limit: Option<i64>| {
        limit.is_some_and(|seconds| now >= since.plus_seconds(seconds))
    };
    for id in operation.ids(|p| p.is_hook() && p.state == TaskState::Running) {
        let since = operation.tasks[id].since;
        if late(since, limits.hook) {
            let seconds = limits.hook.unwrap_or_default();
            give_up(
                operation,
                id,
                &format!("the hook did not end within {}", span(seconds)),
                now,
            );
        }
    }
    let whole = late(operation.started_at, limits.operation);
    let still = late(operation.moved_at, limits.no_progress);
    if !whole && !still {
        return;
    }
    let Some(waiting) = waiting(operation) else {
        return;
    };
    let why = if whole {
        format!(
            "the sync did not end within {}",
            span(limits.operation.unwrap_or_default())
        )
    } else {
        format!(
            "nothing moved for {}",
            span(limits.no_progress.unwrap_or_default())
        )
    };
    let ids = operation.ids(|p| p.task.key == waiting.key && !p.is_over());
    for id in ids {
        give_up(operation, id, &why, now);
    }
    operation.failure = Some("one or more synchronization tasks completed unsuccessfully".into());
    operation.stage = Stage::Failing;
}

fn give_up(operation: &mut Operation, id: usize, why: &str, now: Timestamp) {
    let progress = &mut operation.tasks[id];
    let key = &progress.task.key;
    let says = match progress.message.as_str() {
        "" => String::new(),
        says => format!(": {says}"),
    };
    let message = format!(
        "waited for {}/{}/{}, {why}{says}",
        key.group, key.kind, key.name
    );
    progress.fail(message, now);
}

fn span(seconds: i64) -> String {
    match (seconds / 3600, seconds % 3600 / 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, 0) => format!("{m}m"),
        (0, m, s) => format!("{m}m{s}s"),
        (h, 0, _) => format!("{h}h"),
        (h, m, _) => format!("{h}h{m}m"),
    }
}
