//! Ending a container: by itself, by a failed probe, or with its Pod.

use crate::act::EventType::{Normal, Warning};
use crate::life::{ContainerLife, Ended, Life, Stage};
use crate::probe::Kind;
use crate::run::{Exit, Kill, Program, Run};
use crate::spec::{Container, Role, containers, grace_seconds, later, number, seconds};
use crate::status::container_id;
use crate::turn::Turn;
use model::{Timestamp, Value, meta};

/// How long after its start a container's end is noticed at the earliest, in microseconds: a kubelet
/// looks at its containers once a second.
const NOTICED: i64 = 1_000_000;
/// The least grace a container gets, in seconds.
const GRACE_MIN: i64 = 2;
/// How much of a log a termination message quotes.
const QUOTED_LINES: usize = 80;
const QUOTED_BYTES: usize = 2_048;
/// How long a termination message may be.
const MESSAGE_MAX: usize = 4_096;

/// When the end of a run is seen.
pub(crate) fn noticed(run: &Run, at: Timestamp) -> Timestamp {
    if run.kill.is_some() {
        return at;
    }
    at.max(later(run.started, NOTICED))
}

/// Notes how a run ended.
pub(crate) fn end(
    turn: &mut Turn<'_>,
    container: &Container<'_>,
    one: &mut ContainerLife,
    at: Timestamp,
    exit: Exit,
) {
    let message = one
        .run
        .as_ref()
        .map(|run| termination_message(container.value, run, exit))
        .unwrap_or_default();
    one.state = Stage::Ended(Ended {
        code: exit.code,
        reason: exit.reason().into(),
        message,
        started: one.begun(),
        finished: at,
        id: container_id(turn.pod, container, one.restarts),
    });
    one.started = false;
    one.ready = false;
    one.retry = None;
}

fn termination_message(container: &Value, run: &Run, exit: Exit) -> String {
    let path = match meta::text_at(container, "/terminationMessagePath") {
        "" => "/dev/termination-log",
        path => path,
    };
    let mut message = match &run.program {
        Program::Script(process) => process.file(path).unwrap_or_default(),
        Program::Plan(_) => String::new(),
    };
    let policy = meta::text_at(container, "/terminationMessagePolicy");
    if message.is_empty() && policy == "FallbackToLogsOnError" && exit.code != 0 {
        message = run.log.ending(QUOTED_LINES, QUOTED_BYTES);
    }
    if message.len() > MESSAGE_MAX {
        let mut end = MESSAGE_MAX;
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
    }
    message
}

/// A probe failed too often: the container is killed, and started again if it may be.
pub(crate) fn failed_probe(
    turn: &mut Turn<'_>,
    container: &Container<'_>,
    one: &mut ContainerLife,
    kind: Kind,
) {
    let (word, field) = match kind {
        Kind::Startup => ("startup", "/startupProbe/terminationGracePeriodSeconds"),
        _ => ("liveness", "/livenessProbe/terminationGracePeriodSeconds"),
    };
    let again = container.restarts_after(turn.pod, 137);
    let again = if again { ", will be restarted" } else { "" };
    let message = format!("Container {} failed {word} probe{again}", container.name());
    let grace = number(container.value, field, grace_seconds(turn.pod));
    kill(turn, container, one, message, grace);
}

/// Begins to kill a container: hook, signal, and after the grace period the end.
fn kill(
    turn: &mut Turn<'_>,
    container: &Container<'_>,
    one: &mut ContainerLife,
    message: String,
    grace: i64,
) {
    turn.event(container, Normal, "Killing", message);
    let hook = hook(turn, container, one, "preStop").unwrap_or_default();
    let Some(run) = one.run.as_mut() else {
        return;
    };
    let deadline = later(turn.now, seconds(grace.max(GRACE_MIN)));
    let signal = later(turn.now, hook.took.min(seconds(grace)));
    run.kill = Some(Kill {
        signal: Some(signal.min(deadline)),
        signalled: false,
        deadline,
    });
    if hook.code != 0 {
        turn.event(
            container,
            Warning,
            "FailedPreStopHook",
            "PreStopHook failed",
        );
    }
    signal_now(turn, container, one);
}

// What can end at once ends at once.
fn signal_now(turn: &mut Turn<'_>, container: &Container<'_>, one: &mut ContainerLife) {
    let Some(run) = one.run.as_mut() else {
        return;
    };
    signal(run, turn.now);
    let written = run.log.end();
    let exit = run.advance(turn.world, turn.now);
    turn.reaction.logged |= run.log.end() != written;
    match exit {
        Some((at, exit)) => end(turn, container, one, at, exit),
        None => turn.wake(run.wake()),
    }
}

/// Gives a program its signal when its time has come.
pub(crate) fn signal(run: &mut Run, now: Timestamp) {
    let Some(kill) = &mut run.kill else {
        return;
    };
    if let Some(at) = kill.signal.filter(|at| *at <= now && !kill.signalled) {
        kill.signalled = true;
        run.terminate(at);
    }
}

#[derive(Default)]
struct Hook {
    code: i32,
    took: i64,
}

fn hook(
    turn: &Turn<'_>,
    container: &Container<'_>,
    one: &mut ContainerLife,
    name: &str,
) -> Option<Hook> {
    let hook = container.value.pointer(&format!("/lifecycle/{name}"))?;
    if let Some(time) = hook.pointer("/sleep/seconds").and_then(Value::as_i64) {
        return Some(Hook {
            code: 0,
            took: seconds(time),
        });
    }
    let command = hook.pointer("/exec/command").and_then(Value::as_array)?;
    let argv: Vec<String> = command
        .iter()
        .map(|w| w.as_str().unwrap_or("").to_owned())
        .collect();
    let done = match &mut one.run.as_mut()?.program {
        Program::Script(process) => process.exec(turn.world, &argv, turn.now),
        Program::Plan(_) => crate::shell::exec_alone(turn.world, turn.pod, &argv, turn.now),
    };
    Some(Hook {
        code: done.code,
        took: done.took,
    })
}

/// Runs the hook that follows a start; when it fails the container is killed.
pub(crate) fn after_start(turn: &mut Turn<'_>, container: &Container<'_>, one: &mut ContainerLife) {
    if hook(turn, container, one, "postStart").is_some_and(|hook| hook.code != 0) {
        turn.event(
            container,
            Warning,
            "FailedPostStartHook",
            "PostStartHook failed",
        );
        let grace = grace_seconds(turn.pod);
        kill(turn, container, one, "FailedPostStartHook".into(), grace);
    }
}

/// Stops all containers of a Pod; sidecars get their signal after the others, last one first.
pub(crate) fn all(turn: &mut Turn<'_>, life: &mut Life, grace: i64) {
    let list = containers(turn.pod);
    life.stopping.get_or_insert(turn.now);
    for container in &list {
        let Some(one) = life.containers.get_mut(container.name()) else {
            continue;
        };
        one.retry = None;
        let unasked = one.run.as_ref().is_some_and(|run| run.kill.is_none());
        if one.is_running() && unasked {
            let message = format!("Stopping container {}", container.name());
            if container.role == Role::Sidecar {
                wait_for_others(turn, container, one, message, grace);
            } else {
                kill(turn, container, one, message, grace);
            }
        }
    }
    release_sidecars(turn, life, &list);
    for one in life.containers.values().filter(|one| one.is_running()) {
        turn.wake(one.run.as_ref().and_then(Run::wake));
    }
}

fn wait_for_others(
    turn: &mut Turn<'_>,
    container: &Container<'_>,
    one: &mut ContainerLife,
    message: String,
    grace: i64,
) {
    turn.event(container, Normal, "Killing", message);
    if let Some(run) = one.run.as_mut() {
        run.kill = Some(Kill {
            signal: None,
            signalled: false,
            deadline: later(turn.now, seconds(grace.max(GRACE_MIN))),
        });
    }
}

fn release_sidecars(turn: &mut Turn<'_>, life: &mut Life, list: &[Container<'_>]) {
    let main_runs = list.iter().filter(|c| c.role != Role::Sidecar).any(|c| {
        life.containers
            .get(c.name())
            .is_some_and(ContainerLife::is_running)
    });
    if main_runs {
        return;
    }
    for container in list.iter().rev().filter(|c| c.role == Role::Sidecar) {
        let Some(one) = life.containers.get_mut(container.name()) else {
            continue;
        };
        if !one.is_running() {
            continue;
        }
        let hook = hook(turn, container, one, "preStop").unwrap_or_default();
        if let Some(kill) = one.run.as_mut().and_then(|run| run.kill.as_mut())
            && kill.signal.is_none()
        {
            let signal = later(turn.now, hook.took);
            kill.signal = Some(signal.min(kill.deadline));
        }
        signal_now(turn, container, one);
        if one.is_running() {
            return;
        }
    }
}
