//! One slot: first what goes, then old hooks, then what is applied, kind after kind.

use super::advance::is_unmodified;
use super::{Action, Operation, Outcome, Progress, Pruning, TaskId, TaskState, is_of_failure};
use crate::annotation;
use crate::plan::{Deed, Slot};
use model::Timestamp;

/// The slot of the first task that is not begun.
pub(super) fn current(operation: &Operation) -> Option<Slot> {
    let only_changed = operation.policy.out_of_sync_only;
    let pending = |p: &&Progress| {
        matches!(p.state, TaskState::Pending | TaskState::Clearing)
            && !is_of_failure(p)
            && !(only_changed && is_unmodified(p))
    };
    operation.tasks.iter().find(pending).map(|p| p.task.slot)
}

/// Whether something of the slot was begun and the rest has to follow.
pub(super) fn is_open(operation: &Operation, slot: Slot) -> bool {
    let begun = |p: &Progress| p.state != TaskState::Pending;
    let here = |p: &&Progress| p.task.slot == slot && !is_of_failure(p);
    operation.tasks.iter().filter(here).any(begun)
}

/// Whether the last slot was done without fault and holds no hook: its health is not awaited.
pub(super) fn need_not_be_seen_through(operation: &Operation) -> bool {
    let done = |p: &&Progress| !is_of_failure(p) && p.outcome.is_some();
    let Some(last) = operation
        .tasks
        .iter()
        .filter(done)
        .map(|p| p.task.slot)
        .max()
    else {
        return false;
    };
    let sound = operation
        .tasks
        .iter()
        .filter(done)
        .all(|p| p.state != TaskState::Failed);
    let hooks = |p: &Progress| p.task.slot == last && p.is_hook();
    sound && !operation.policy.dry_run && !operation.tasks.iter().any(hooks)
}

/// Does the next part of the slot.
pub(super) fn run(operation: &mut Operation, slot: Slot, now: Timestamp) -> Vec<Action> {
    let only_changed = operation.policy.out_of_sync_only;
    let here = operation
        .ids(|p| p.task.slot == slot && !is_of_failure(p) && !(only_changed && is_unmodified(p)));
    if let Some(actions) = prune(operation, &here, now) {
        return actions;
    }
    if let Some(actions) = clear(operation, &here, now) {
        return actions;
    }
    let actions = apply(operation, &here, now);
    if !actions.is_empty() && is_last_part(operation, &here) {
        let delay = operation.policy.wave_delay_seconds;
        operation.not_before = Some(now.plus_seconds(delay));
    }
    actions
}

fn is_last_part(operation: &Operation, here: &[TaskId]) -> bool {
    here.iter()
        .all(|id| operation.tasks[*id].state != TaskState::Pending)
}

// Removes what Git no longer has. `Some` when the rest has to wait for that.
fn prune(operation: &mut Operation, here: &[TaskId], now: Timestamp) -> Option<Vec<Action>> {
    let prunes: Vec<TaskId> = here
        .iter()
        .copied()
        .filter(|id| operation.tasks[*id].task.deed == Deed::Prune)
        .collect();
    if needs_approval(operation, &prunes) {
        return Some(Vec::new());
    }
    let mut actions = Vec::new();
    for id in prunes
        .iter()
        .copied()
        .filter(|id| operation.tasks[*id].state == TaskState::Pending)
        .collect::<Vec<_>>()
    {
        let skipped = if !operation.policy.prune {
            Some("ignored (requires pruning)")
        } else if pruning(operation, id) == Pruning::Forbidden {
            Some("ignored (no prune)")
        } else {
            None
        };
        let dry = operation.policy.dry_run;
        let progress = &mut operation.tasks[id];
        if let Some(why) = skipped {
            progress.outcome = Some(Outcome::PruneSkipped);
            why.clone_into(&mut progress.message);
            progress.turn(TaskState::Succeeded, now);
        } else if dry {
            progress.outcome = Some(Outcome::Pruned);
            "pruned (dry run)".clone_into(&mut progress.message);
            progress.turn(TaskState::Succeeded, now);
        } else {
            progress.turn(TaskState::Asked, now);
            actions.push(Action::Delete(id));
            actions.push(Action::Watch(id));
        }
    }
    if !actions.is_empty() {
        return Some(actions);
    }
    // A refused removal ends the slot; the others are not begun.
    let refused = prunes
        .iter()
        .any(|id| operation.tasks[*id].state == TaskState::Failed);
    if refused {
        for id in here {
            let progress = &mut operation.tasks[*id];
            if progress.state == TaskState::Pending {
                progress.fail("not begun: a removal of the same wave was refused", now);
            }
        }
        return Some(Vec::new());
    }
    None
}

/// Whether an object that Git no longer has may go: what it says itself beats what all are told.
pub(super) fn pruning(operation: &Operation, id: TaskId) -> Pruning {
    let live = operation.tasks[id].task.live.as_ref();
    match live.and_then(|live| annotation::sync_option(live, "Prune")) {
        Some("false") => Pruning::Forbidden,
        Some("confirm") => Pruning::Confirm,
        Some("true") => Pruning::Allowed,
        Some(_) | None => operation.policy.prune_by_default,
    }
}

fn needs_approval(operation: &Operation, prunes: &[TaskId]) -> bool {
    let approved = operation
        .policy
        .approved_at
        .is_some_and(|at| at >= operation.started_at);
    !approved
        && prunes.iter().any(|id| {
            operation.tasks[*id].state == TaskState::Pending
                && pruning(operation, *id) == Pruning::Confirm
        })
}

// Removes the last run of hooks that are made anew. `Some` when the rest has to wait for that.
fn clear(operation: &mut Operation, here: &[TaskId], now: Timestamp) -> Option<Vec<Action>> {
    let dry = operation.policy.dry_run;
    let mut actions = Vec::new();
    let mut waiting = false;
    for id in here {
        let progress = &mut operation.tasks[*id];
        if !progress.is_hook() {
            continue;
        }
        let old = progress.task.live.is_some() && progress.policies().before_creation && !dry;
        if progress.state == TaskState::Pending && old {
            progress.turn(TaskState::Clearing, now);
            actions.push(Action::Release(*id));
            actions.push(Action::Delete(*id));
            actions.push(Action::Watch(*id));
        }
        waiting |= progress.state == TaskState::Clearing;
    }
    waiting.then_some(actions)
}

// Applies the next kind of the slot.
fn apply(operation: &mut Operation, here: &[TaskId], now: Timestamp) -> Vec<Action> {
    let pending = |p: &Progress| p.state == TaskState::Pending && p.task.deed != Deed::Prune;
    let first = here.iter().position(|id| pending(&operation.tasks[*id]));
    let Some(first) = first else {
        return Vec::new();
    };
    let kind = operation.tasks[here[first]].task.key.kind.clone();
    let mut actions = Vec::new();
    for id in &here[first..] {
        let progress = &mut operation.tasks[*id];
        if progress.task.key.kind != kind {
            break;
        }
        if pending(progress) {
            progress.turn(TaskState::Asked, now);
            actions.push(Action::Apply(*id));
            actions.push(Action::Watch(*id));
        }
    }
    actions
}
