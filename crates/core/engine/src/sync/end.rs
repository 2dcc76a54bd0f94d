//! How a sync ends: well, badly, or because somebody said so.

use super::{
    Action, Operation, OperationPhase, Outcome, Progress, Stage, TaskState, is_of_failure,
};
use model::Timestamp;
use std::collections::BTreeSet;

/// The sync is over; refused tasks are named as the reason.
pub(super) fn over(operation: &mut Operation, phase: OperationPhase, why: &str, now: Timestamp) {
    let message = with_reasons(operation, why);
    over_as_is(operation, phase, &message, now);
}

/// The sync is over, in these words.
pub(super) fn over_as_is(
    operation: &mut Operation,
    phase: OperationPhase,
    message: &str,
    now: Timestamp,
) {
    operation.phase = phase;
    message.clone_into(&mut operation.message);
    operation.finished_at = Some(now);
    operation.stage = Stage::Over;
}

fn reasons(operation: &Operation, pick: impl Fn(&Progress) -> bool) -> String {
    let refused = |p: &&Progress| p.outcome == Some(Outcome::SyncFailed) && pick(p);
    let messages: BTreeSet<&str> = operation
        .tasks
        .iter()
        .filter(refused)
        .map(|p| p.message.as_str())
        .collect();
    messages.into_iter().collect::<Vec<_>>().join(", ")
}

fn with_reasons(operation: &Operation, why: &str) -> String {
    match reasons(operation, |p| !is_of_failure(p)) {
        none if none.is_empty() => why.to_owned(),
        reasons => format!("{why}, reason: {reasons}"),
    }
}

/// Everything is done.
pub(super) fn succeed(operation: &mut Operation, message: &str, now: Timestamp) -> Vec<Action> {
    over_as_is(operation, OperationPhase::Succeeded, message, now);
    sweep(operation, |p| p.policies().succeeded)
}

// Removes hooks that are over and whose policy says so.
fn sweep(operation: &mut Operation, policy: impl Fn(&Progress) -> bool) -> Vec<Action> {
    if operation.policy.dry_run {
        return Vec::new();
    }
    let leaving = operation.ids(|p| p.is_hook() && p.is_over() && !p.swept && policy(p));
    for id in &leaving {
        operation.tasks[*id].swept = true;
    }
    leaving.into_iter().map(Action::Delete).collect()
}

/// Something failed: hooks for that run, all at once; then it is over.
pub(super) fn fail(operation: &mut Operation, now: Timestamp) -> Vec<Action> {
    let mut actions = sweep(operation, |p| !is_of_failure(p) && p.policies().failed);
    let pending = operation.ids(|p| is_of_failure(p) && p.state == TaskState::Pending);
    for id in &pending {
        operation.tasks[*id].turn(TaskState::Asked, now);
        actions.push(Action::Apply(*id));
        actions.push(Action::Watch(*id));
    }
    if !pending.is_empty()
        || operation
            .tasks
            .iter()
            .any(|p| is_of_failure(p) && !p.is_over())
    {
        return actions;
    }
    let base = operation.failure.clone().unwrap_or_default();
    let mut message = with_reasons(operation, &base);
    let refused = reasons(operation, is_of_failure);
    if !refused.is_empty() {
        message.push_str(&format!(
            "\none or more SyncFail hooks failed, reason: {refused}"
        ));
    }
    over_as_is(operation, OperationPhase::Failed, &message, now);
    actions.extend(sweep(operation, |p| p.policies().failed));
    actions
}

/// Somebody stopped it: running hooks are removed, plain resources stay as they are.
pub(super) fn stop(operation: &mut Operation, now: Timestamp) -> Vec<Action> {
    let mut actions = Vec::new();
    for id in operation.ids(|p| p.is_hook() && !p.is_over() && p.state != TaskState::Pending) {
        let progress = &mut operation.tasks[id];
        progress.outcome = Some(Outcome::Synced);
        "Terminated".clone_into(&mut progress.message);
        progress.turn(TaskState::Failed, now);
        progress.released = true;
        progress.swept = true;
        actions.push(Action::Release(id));
        actions.push(Action::Delete(id));
    }
    let by = operation.failure.take().unwrap_or_default();
    let message = if by.is_empty() {
        "Operation terminated".to_owned()
    } else {
        format!("Operation terminated, {by}")
    };
    over_as_is(operation, OperationPhase::Failed, &message, now);
    actions
}
