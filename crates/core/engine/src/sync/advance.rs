//! Decides what comes next, once everything that was asked is answered.

use super::{
    Action, Operation, OperationPhase, Progress, Stage, TaskState, end, is_of_failure, slot, wait,
};
use crate::hook::Phase;
use crate::plan::Deed;
use model::Timestamp;

/// Everything that can be done now.
pub(super) fn advance(operation: &mut Operation, now: Timestamp) -> Vec<Action> {
    let mut actions = Vec::new();
    wait::enforce(operation, now);
    actions.extend(release_ended_hooks(operation));
    loop {
        let before = operation.stage;
        let more = match operation.stage {
            Stage::Namespace => namespace(operation, now),
            Stage::Trial => trial(operation, now),
            Stage::Slots => slots(operation, now),
            Stage::Failing => end::fail(operation, now),
            Stage::Stopping => end::stop(operation, now),
            Stage::Over => Vec::new(),
        };
        let idle = more.is_empty() && operation.stage == before;
        actions.extend(more);
        if idle || operation.tasks.iter().any(Progress::is_in_flight) {
            break;
        }
    }
    if operation.phase == OperationPhase::Running {
        operation.message = wait::message(operation);
    }
    actions
}

// A hook that ended may go: we have seen how.
fn release_ended_hooks(operation: &mut Operation) -> Vec<Action> {
    let dry = operation.policy.dry_run;
    let ended = operation.ids(|p| p.is_hook() && p.is_over() && !p.released && p.outcome.is_some());
    for id in &ended {
        operation.tasks[*id].released = true;
    }
    if dry {
        return Vec::new();
    }
    ended.into_iter().map(Action::Release).collect()
}

// The destination's namespace is made before anything else is tried in it.
fn namespace(operation: &mut Operation, now: Timestamp) -> Vec<Action> {
    let is_first = |p: &Progress| {
        p.task.key.kind == "Namespace"
            && p.task.key.group.is_empty()
            && p.task.live.is_none()
            && p.task.deed == Deed::Apply
            && p.task.slot.phase == Phase::PreSync
    };
    let found = operation.ids(is_first);
    let Some(id) = found.first().copied().filter(|_| !operation.policy.dry_run) else {
        operation.stage = Stage::Trial;
        return Vec::new();
    };
    match operation.tasks[id].state {
        TaskState::Pending => {
            operation.tasks[id].turn(TaskState::Asked, now);
            vec![Action::Apply(id)]
        }
        TaskState::Failed => {
            end::over(
                operation,
                OperationPhase::Failed,
                "the namespace failed to apply",
                now,
            );
            Vec::new()
        }
        TaskState::Running | TaskState::Succeeded => {
            operation.tasks[id].turn(TaskState::Succeeded, now);
            operation.stage = Stage::Trial;
            Vec::new()
        }
        TaskState::Trying | TaskState::Clearing | TaskState::Asked => Vec::new(),
    }
}

// Everything is tried before anything is written. What is as in Git and not touched need not be.
fn trial(operation: &mut Operation, now: Timestamp) -> Vec<Action> {
    let only_changed = operation.policy.out_of_sync_only;
    let untried = operation.ids(|p| {
        p.state == TaskState::Pending
            && !p.tried
            && p.task.deed != Deed::Prune
            && !(only_changed && is_unmodified(p))
    });
    if !untried.is_empty() {
        for id in &untried {
            operation.tasks[*id].turn(TaskState::Trying, now);
        }
        return untried.into_iter().map(Action::Try).collect();
    }
    if operation.tasks.iter().any(Progress::is_in_flight) {
        return Vec::new();
    }
    if operation.tasks.iter().any(|p| p.state == TaskState::Failed) {
        let why = "one or more objects failed to apply (dry run)";
        end::over_as_is(operation, OperationPhase::Failed, why, now);
    } else {
        operation.stage = Stage::Slots;
    }
    Vec::new()
}

/// Whether a task would change nothing.
pub(super) fn is_unmodified(progress: &Progress) -> bool {
    progress.task.deed == Deed::Apply && !progress.task.modified && progress.task.live.is_some()
}

fn slots(operation: &mut Operation, now: Timestamp) -> Vec<Action> {
    if operation.tasks.iter().any(Progress::is_in_flight) {
        return Vec::new();
    }
    let steps = operation.has_steps();
    let awaited = |p: &Progress| {
        p.state == TaskState::Clearing
            || p.state == TaskState::Running && (steps || p.is_hook() || p.task.deed == Deed::Prune)
    };
    // What is under way in this slot is seen through before anything is judged.
    let current = slot::current(operation);
    if let Some(current) = current
        && slot::is_open(operation, current)
    {
        return slot::run(operation, current, now);
    }
    if current.is_none() && slot::need_not_be_seen_through(operation) {
        return end::succeed(operation, "successfully synced (all tasks run)", now);
    }
    if operation.tasks.iter().any(awaited) {
        return Vec::new();
    }
    let failed = |p: &Progress| !is_of_failure(p) && p.state == TaskState::Failed;
    if operation.tasks.iter().any(failed) {
        let others = operation
            .tasks
            .iter()
            .any(|p| p.state == TaskState::Running);
        let refused = operation
            .tasks
            .iter()
            .all(|p| p.state != TaskState::Failed || p.health.is_none());
        let alone = refused && !others && !operation.tasks.iter().any(|p| failed(p) && p.is_hook());
        operation.failure = Some(
            if alone {
                "one or more objects failed to apply"
            } else {
                "one or more synchronization tasks completed unsuccessfully"
            }
            .into(),
        );
        operation.stage = Stage::Failing;
        return Vec::new();
    }
    let Some(current) = current else {
        return end::succeed(operation, "successfully synced (no more tasks)", now);
    };
    if operation.not_before.is_some_and(|at| now < at) {
        return Vec::new();
    }
    slot::run(operation, current, now)
}
