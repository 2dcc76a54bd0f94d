//! Moves a sync from event to event until it is over.
//!
//! ```text
//! Operation + Event + now ── step ──▶ Operation + Actions
//! ```
//!
//! Total and deterministic: every event is legal in every state, and one that no longer matters
//! changes nothing. All there is to know stands in the [`Operation`], so that the process may die
//! between any two steps: [`resume`] says again what was under way.

mod advance;
mod end;
mod slot;
mod wait;

use crate::health::{Health, HealthStatus};
use crate::hook::{self, DeletePolicies, Phase};
use crate::plan::{Deed, Plan, Task};
use model::{Timestamp, Value};

pub use wait::{Waiting, waiting};

/// How a sync stands, in the words people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationPhase {
    /// Under way.
    Running,
    /// Being stopped.
    Terminating,
    /// Over, and it did what it should.
    Succeeded,
    /// Over: something was refused, failed or took too long.
    Failed,
    /// Over: it could not be tried.
    Error,
}

impl OperationPhase {
    /// The word people see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Terminating => "Terminating",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Error => "Error",
        }
    }

    /// Whether it is over.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Error)
    }
}

/// What a sync may do and how long it may take.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Whether what Git no longer has is removed.
    pub prune: bool,
    /// Whether objects that may not be pruned by default are (`Prune=false` for all).
    pub prune_by_default: Pruning,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Whether objects that are as in Git are left alone.
    pub out_of_sync_only: bool,
    /// Pause between waves, in seconds.
    pub wave_delay_seconds: i64,
    /// When removal was approved by hand.
    pub approved_at: Option<Timestamp>,
    /// Limits; `None` means no limit.
    pub limits: Limits,
}

/// Whether an object that Git no longer has may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pruning {
    /// Yes.
    #[default]
    Allowed,
    /// No.
    Forbidden,
    /// Once somebody said so.
    Confirm,
}

/// How long things may take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The whole operation.
    pub operation: Option<i64>,
    /// A wave in which nothing moves.
    pub no_progress: Option<i64>,
    /// One hook.
    pub hook: Option<i64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            operation: Some(6 * 3600),
            no_progress: Some(30 * 60),
            hook: Some(60 * 60),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            prune: false,
            prune_by_default: Pruning::Allowed,
            dry_run: false,
            out_of_sync_only: false,
            wave_delay_seconds: 2,
            approved_at: None,
            limits: Limits::default(),
        }
    }
}

/// What became of an object, in the words people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Applied.
    Synced,
    /// Refused.
    SyncFailed,
    /// Removed.
    Pruned,
    /// Left, although Git has it no more.
    PruneSkipped,
}

impl Outcome {
    /// The word people see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Synced => "Synced",
            Self::SyncFailed => "SyncFailed",
            Self::Pruned => "Pruned",
            Self::PruneSkipped => "PruneSkipped",
        }
    }
}

/// How far one task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Not begun.
    Pending,
    /// A dry run was asked for.
    Trying,
    /// A delete of the old hook was asked for, or is awaited.
    Clearing,
    /// The write was asked for.
    Asked,
    /// Done; its health, completion or disappearance is awaited.
    Running,
    /// Over, well.
    Succeeded,
    /// Over, badly.
    Failed,
}

/// A task and how far it is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// What is to be done.
    pub task: Task,
    /// How far it is.
    pub state: TaskState,
    /// What became of the object.
    pub outcome: Option<Outcome>,
    /// The last word about it.
    pub message: String,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// The last health seen.
    pub health: Option<HealthStatus>,
    /// Whether a dry run found nothing to refuse.
    pub tried: bool,
    /// Whether the engine's hold on a hook was let go.
    pub released: bool,
    /// Whether its removal after the end was asked for.
    pub swept: bool,
}

impl Progress {
    fn new(task: Task, now: Timestamp) -> Self {
        Self {
            task,
            state: TaskState::Pending,
            outcome: None,
            message: String::new(),
            since: now,
            health: None,
            tried: false,
            released: false,
            swept: false,
        }
    }

    /// Whether the task is a hook.
    pub fn is_hook(&self) -> bool {
        self.task.deed == Deed::Run
    }

    pub(crate) fn policies(&self) -> DeletePolicies {
        hook::delete_policies(self.task.target.as_ref().unwrap_or(&Value::Null))
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, TaskState::Succeeded | TaskState::Failed)
    }

    // Whether a request is on its way whose answer is not there yet.
    pub(crate) fn is_in_flight(&self) -> bool {
        matches!(self.state, TaskState::Trying | TaskState::Asked)
    }

    pub(crate) fn turn(&mut self, state: TaskState, now: Timestamp) {
        if self.state != state {
            self.state = state;
            self.since = now;
        }
    }

    pub(crate) fn fail(&mut self, message: impl Into<String>, now: Timestamp) {
        self.outcome = Some(Outcome::SyncFailed);
        self.message = message.into();
        self.turn(TaskState::Failed, now);
    }
}

/// Where in its course a sync is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The destination's namespace is made, so that the rest can be tried.
    Namespace,
    /// Everything is tried without being written.
    Trial,
    /// Slot after slot.
    Slots,
    /// Something failed: hooks for that run.
    Failing,
    /// Somebody stopped it.
    Stopping,
    /// It is over.
    Over,
}

/// One sync: what is done, what is awaited and since when.
#[derive(Clone, Debug)]
pub struct Operation {
    /// How it stands.
    pub phase: OperationPhase,
    /// The same in a sentence.
    pub message: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Where in its course it is.
    pub stage: Stage,
    /// What it may do.
    pub policy: Policy,
    /// All tasks, in order.
    pub tasks: Vec<Progress>,
    /// When something last moved.
    pub moved_at: Timestamp,
    /// The next wave does not begin before this.
    pub not_before: Option<Timestamp>,
    /// Why it failed, while it still has to run the hooks for that.
    pub failure: Option<String>,
}

/// A task, by its place in the operation.
pub type TaskId = usize;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The sync begins.
    Started,
    /// A dry run was answered.
    Tried {
        /// Of which task.
        task: TaskId,
        /// What the server said against it.
        refused: Option<String>,
    },
    /// A write was answered.
    Applied {
        /// Of which task.
        task: TaskId,
        /// What was written, or why not.
        result: Result<Written, String>,
    },
    /// A delete was answered.
    Deleted {
        /// Of which task.
        task: TaskId,
        /// Why not.
        refused: Option<String>,
    },
    /// An object was looked at.
    Observed {
        /// Of which task.
        task: TaskId,
        /// What there is now.
        seen: Seen,
    },
    /// Time passed.
    Woke,
    /// Somebody approved removals.
    Approved,
    /// Somebody stopped it.
    Stopped {
        /// Who or what.
        by: String,
    },
}

/// What a write led to.
#[derive(Clone, Debug)]
pub struct Written {
    /// What the server or tool says, as `configmap/a created`.
    pub message: String,
}

/// What there is of an object.
#[derive(Clone, Debug)]
pub enum Seen {
    /// It is there, and this is how it is.
    Live {
        /// Its health; `None` when no rule is made for its kind.
        health: Option<Health>,
        /// Whether it is on its way out.
        leaving: bool,
    },
    /// It is not there.
    Gone,
}

/// What to do. Plain data; whoever performs it reports back an [`Event`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Try the task's write without writing.
    Try(TaskId),
    /// Write the task's manifest.
    Apply(TaskId),
    /// Remove the task's object. Its logs and events are read before.
    Delete(TaskId),
    /// Take the engine's finalizer off a hook.
    Release(TaskId),
    /// Report the task's object now and whenever it changes.
    Watch(TaskId),
    /// Send [`Event::Woke`] then.
    WakeAt(Timestamp),
}

impl Operation {
    /// A sync that has a plan and has not begun.
    pub fn new(plan: Plan, policy: Policy, now: Timestamp) -> Self {
        Self {
            phase: OperationPhase::Running,
            message: String::new(),
            started_at: now,
            finished_at: None,
            stage: Stage::Namespace,
            policy,
            tasks: plan
                .tasks
                .into_iter()
                .map(|task| Progress::new(task, now))
                .collect(),
            moved_at: now,
            not_before: None,
            failure: None,
        }
    }

    /// Whether one slot has to wait for another.
    pub(crate) fn has_steps(&self) -> bool {
        let ends = self.tasks.first().zip(self.tasks.last());
        ends.is_some_and(|(first, last)| first.task.slot != last.task.slot)
    }

    pub(crate) fn ids(&self, pick: impl Fn(&Progress) -> bool) -> Vec<TaskId> {
        let found = self.tasks.iter().enumerate().filter(|(_, task)| pick(task));
        found.map(|(id, _)| id).collect()
    }
}

/// Moves one sync forward by one event.
#[must_use]
pub fn step(mut operation: Operation, event: Event, now: Timestamp) -> (Operation, Vec<Action>) {
    if operation.phase.is_over() {
        return (operation, Vec::new());
    }
    let moved = learn(&mut operation, event, now);
    if moved {
        operation.moved_at = now;
    }
    let mut actions = advance::advance(&mut operation, now);
    if let Some(at) = wait::next_look(&operation, now) {
        actions.push(Action::WakeAt(at));
    }
    (operation, actions)
}

/// What has to be asked again after the process was gone: answers that were on their way are lost,
/// and asking twice changes nothing.
pub fn resume(operation: &Operation) -> Vec<Action> {
    let again = |(id, progress): (TaskId, &Progress)| match progress.state {
        TaskState::Trying => Some(Action::Try(id)),
        TaskState::Asked if progress.task.deed == Deed::Prune => Some(Action::Delete(id)),
        TaskState::Asked => Some(Action::Apply(id)),
        TaskState::Clearing | TaskState::Running => Some(Action::Watch(id)),
        TaskState::Pending | TaskState::Succeeded | TaskState::Failed => None,
    };
    operation
        .tasks
        .iter()
        .enumerate()
        .filter_map(again)
        .collect()
}

// Takes an event into the tasks; says whether anything moved.
fn learn(operation: &mut Operation, event: Event, now: Timestamp) -> bool {
    match event {
        Event::Started => true,
        Event::Woke => false,
        Event::Approved => {
            operation.policy.approved_at = Some(now);
            true
        }
        Event::Stopped { by } => {
            operation.stage = Stage::Stopping;
            operation.phase = OperationPhase::Terminating;
            operation.failure = Some(by);
            true
        }
        Event::Tried { task, refused } => with(operation, task, |progress| {
            if progress.state != TaskState::Trying {
                return false;
            }
            if let Some(why) = refused {
                progress.fail(why, now);
            } else {
                progress.tried = true;
                progress.turn(TaskState::Pending, now);
            }
            true
        }),
        Event::Applied { task, result } => {
            let dry = operation.policy.dry_run;
            with(operation, task, |progress| {
                applied(progress, result, dry, now)
            })
        }
        Event::Deleted { task, refused } => {
            with(operation, task, |progress| deleted(progress, refused, now))
        }
        Event::Observed { task, seen } => {
            with(operation, task, |progress| observed(progress, &seen, now))
        }
    }
}

fn with(
    operation: &mut Operation,
    task: TaskId,
    change: impl FnOnce(&mut Progress) -> bool,
) -> bool {
    operation.tasks.get_mut(task).is_some_and(change)
}

fn applied(
    progress: &mut Progress,
    result: Result<Written, String>,
    dry: bool,
    now: Timestamp,
) -> bool {
    if progress.state != TaskState::Asked {
        return false;
    }
    match result {
        Err(why) => progress.fail(why, now),
        Ok(written) => {
            progress.outcome = Some(Outcome::Synced);
            progress.message = written.message;
            let next = if dry {
                TaskState::Succeeded
            } else {
                TaskState::Running
            };
            progress.turn(next, now);
        }
    }
    true
}

fn deleted(progress: &mut Progress, refused: Option<String>, now: Timestamp) -> bool {
    match (progress.task.deed, progress.state) {
        (Deed::Prune, TaskState::Asked) => {
            if let Some(why) = refused {
                progress.fail(why, now);
            } else {
                progress.outcome = Some(Outcome::Pruned);
                "pruned".clone_into(&mut progress.message);
                progress.turn(TaskState::Running, now);
            }
        }
        (Deed::Run, TaskState::Clearing) => {
            if let Some(why) = refused {
                progress.fail(format!("failed to delete resource: {why}"), now);
            }
        }
        _ => return false,
    }
    true
}

fn observed(progress: &mut Progress, seen: &Seen, now: Timestamp) -> bool {
    let before = (progress.state, progress.message.clone(), progress.health);
    match (progress.task.deed, progress.state, seen) {
        (Deed::Run, TaskState::Clearing, Seen::Gone) => {
            progress.task.live = None;
            progress.turn(TaskState::Pending, now);
        }
        (Deed::Prune, TaskState::Running, Seen::Gone) => progress.turn(TaskState::Succeeded, now),
        (Deed::Apply | Deed::Run, TaskState::Running, Seen::Gone) => gone(progress, now),
        (Deed::Run, TaskState::Running, Seen::Live { health, .. }) => {
            judge_hook(progress, health.as_ref(), now);
        }
        (Deed::Apply, TaskState::Running, Seen::Live { health, .. }) => {
            judge(progress, health.as_ref(), now);
        }
        _ => {}
    }
    before != (progress.state, progress.message.clone(), progress.health)
}

// Something we made is gone before it was done. A hook that was seen to end has ended; whatever
// else happened nobody knows, and nobody waits for what is not there.
fn gone(progress: &mut Progress, now: Timestamp) {
    let key = &progress.task.key;
    let message = format!(
        "Resource {}/{}/{} is missing, it might have been deleted",
        key.group, key.kind, key.name
    );
    progress.fail(message, now);
}

fn note(progress: &mut Progress, health: &Health) {
    progress.health = Some(health.status);
    if !health.message.is_empty() {
        progress.message.clone_from(&health.message);
    }
}

fn judge_hook(progress: &mut Progress, health: Option<&Health>, now: Timestamp) {
    let Some(health) = health else {
        progress.message = format!("{} created", progress.task.key.name);
        progress.turn(TaskState::Succeeded, now);
        return;
    };
    note(progress, health);
    match health.status {
        HealthStatus::Healthy => progress.turn(TaskState::Succeeded, now),
        HealthStatus::Degraded | HealthStatus::Unknown => progress.turn(TaskState::Failed, now),
        HealthStatus::Progressing | HealthStatus::Suspended => {}
        HealthStatus::Missing => {
            progress.message = format!("{} created", progress.task.key.name);
            progress.turn(TaskState::Succeeded, now);
        }
    }
}

fn judge(progress: &mut Progress, health: Option<&Health>, now: Timestamp) {
    let Some(health) = health else {
        progress.turn(TaskState::Succeeded, now);
        return;
    };
    note(progress, health);
    match health.status {
        HealthStatus::Healthy => progress.turn(TaskState::Succeeded, now),
        HealthStatus::Degraded => progress.turn(TaskState::Failed, now),
        HealthStatus::Progressing
        | HealthStatus::Suspended
        | HealthStatus::Missing
        | HealthStatus::Unknown => {}
    }
}

pub(crate) fn is_of_failure(progress: &Progress) -> bool {
    progress.task.slot.phase == Phase::SyncFail
}

#[cfg(test)]
mod tests;
