//! Starting a container: everything that can stand in the way, in the order a kubelet meets it.

use crate::act::EventType::{Normal, Warning};
use crate::behaviour::{ANNOTATION_PREFIX, Behaviour};
use crate::environment::{self, Scene};
use crate::image;
use crate::life::{ContainerLife, Life, Stage};
use crate::probe::{Probes, Target};
use crate::program;
use crate::run::Run;
use crate::spec::{Container, full_name, later, seconds};
use crate::stop;
use crate::turn::Turn;
use model::{Timestamp, Value, meta};

/// How long a failed start waits for the next try, in seconds.
const RETRY: i64 = 10;

/// Starts a container that should run, or leaves it waiting with the reason.
pub(crate) fn attempt(turn: &mut Turn<'_>, life: &mut Life, container: &Container<'_>) {
    let Some(mut one) = life.containers.remove(container.name()) else {
        return;
    };
    if one.retry.is_none_or(|at| at <= turn.now) {
        one.retry = None;
        if may_start(turn, life, container, &mut one) {
            start(turn, life, container, &mut one);
        }
    }
    turn.wake(one.retry);
    life.containers.insert(container.name().to_owned(), one);
}

fn may_start(
    turn: &mut Turn<'_>,
    life: &Life,
    container: &Container<'_>,
    one: &mut ContainerLife,
) -> bool {
    if backs_off(turn, container, one) {
        return false;
    }
    let behaviour = match behaviour(turn.pod, container) {
        Ok(behaviour) => behaviour,
        Err(message) => {
            turn.event(container, Warning, "InvalidBehaviour", message.clone());
            one.wait("InvalidBehaviour", message);
            one.retry = Some(later(turn.now, seconds(RETRY)));
            return false;
        }
    };
    image::next_pull(one, turn.now);
    if !image::ensure(turn, container, one, behaviour.as_ref()) {
        return false;
    }
    let scene = scene(turn, life);
    let fault = environment::declared(&scene, container, &environment::Variables::new())
        .err()
        .or_else(|| root_fault(turn.pod, container));
    if let Some(message) = fault {
        turn.event(container, Warning, "Failed", format!("Error: {message}"));
        one.wait("CreateContainerConfigError", message);
        one.retry = Some(later(turn.now, seconds(RETRY)));
        return false;
    }
    true
}

fn scene<'a>(turn: &Turn<'a>, life: &'a Life) -> Scene<'a> {
    Scene {
        world: turn.world,
        pod: turn.pod,
        ip: &life.ip,
        host_ip: &life.host_ip,
    }
}

// A container that ended is started again only after a while, and the while grows.
fn backs_off(turn: &mut Turn<'_>, container: &Container<'_>, one: &mut ContainerLife) -> bool {
    let Some(until) = one.ended().and_then(|e| one.back_off.until(e.finished)) else {
        return false;
    };
    if until <= turn.now {
        return false;
    }
    let (name, pod) = (container.name(), full_name(turn.pod));
    let message = format!("Back-off restarting failed container {name} in pod {pod}");
    turn.event(container, Warning, "BackOff", message);
    let delay = duration(one.back_off.delay);
    one.wait(
        "CrashLoopBackOff",
        format!("back-off {delay} restarting failed container={name} pod={pod}"),
    );
    one.retry = Some(until);
    true
}

/// Whole seconds as Go prints durations: `40s`, `1m20s`, `5m0s`.
fn duration(total: i64) -> String {
    match (total / 60, total % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

/// What the Pod's annotation says about a container.
pub(crate) fn behaviour(
    pod: &Value,
    container: &Container<'_>,
) -> Result<Option<Behaviour>, String> {
    let key = format!("{ANNOTATION_PREFIX}{}", container.name());
    let Some(text) = meta::annotation(pod, &key) else {
        return Ok(None);
    };
    Behaviour::parse(text)
        .map(Some)
        .map_err(|why| format!("annotation {key} cannot be read: {why}"))
}

// Only what the Pod itself says is known: the user of the image is not.
fn root_fault(pod: &Value, container: &Container<'_>) -> Option<String> {
    let setting = |name: &str| {
        let path = format!("/securityContext/{name}");
        let own = container.value.pointer(&path);
        own.or_else(|| pod.pointer(&format!("/spec{path}")))
    };
    let strict = setting("runAsNonRoot").and_then(Value::as_bool) == Some(true);
    let root = setting("runAsUser").and_then(Value::as_i64) == Some(0);
    (strict && root).then(|| {
        format!(
            "container's runAsUser breaks non-root policy (pod: {:?}, container: {})",
            full_name(pod),
            container.name()
        )
    })
}

fn start(turn: &mut Turn<'_>, life: &mut Life, container: &Container<'_>, one: &mut ContainerLife) {
    let now = turn.now;
    if let Some(ended) = one.ended().cloned() {
        one.back_off.next(ended.finished, now);
        one.restarts = one.restarts.saturating_add(1);
        one.last = Some(ended);
        one.previous = one.run.take().map(|run| run.log);
    }
    turn.event(container, Normal, "Created", "Container created");
    turn.event(container, Normal, "Started", "Container started");
    one.state = Stage::Running(now);
    let run = set_up(turn, life, container, one.restarts, now);
    (one.started, one.ready) = run.probes.initial();
    one.run = Some(run);
    one.resumed = false;
    look(turn, container, one, &life.ip);
    stop::after_start(turn, container, one);
}

/// A run of a container that began then.
pub(crate) fn set_up(
    turn: &Turn<'_>,
    life: &mut Life,
    container: &Container<'_>,
    attempt: u32,
    began: Timestamp,
) -> Run {
    let behaviour = behaviour(turn.pod, container).ok().flatten();
    let program = program::choose(turn, life, container, behaviour.as_ref(), (attempt, began));
    Run::new(
        began,
        program,
        Probes::new(container.value, began, turn.now),
    )
}

/// Lets a running container live up to now: its program, then its probes. True when it ended.
pub(crate) fn look(
    turn: &mut Turn<'_>,
    container: &Container<'_>,
    one: &mut ContainerLife,
    ip: &str,
) -> bool {
    let Some(run) = one.run.as_mut() else {
        return false;
    };
    let written = run.log.end();
    stop::signal(run, turn.now);
    let exit = run.advance(turn.world, turn.now);
    turn.reaction.logged |= run.log.end() != written;
    if let Some((at, exit)) = exit {
        if turn.now >= stop::noticed(run, at) {
            stop::end(turn, container, one, at, exit);
            return true;
        }
        let noticed = stop::noticed(run, at);
        turn.wake(Some(noticed));
        return false;
    }
    if run.kill.is_none() {
        let target = Target {
            container: container.value,
            ip,
            world: turn.world,
            now: turn.now,
        };
        let found = run
            .probes
            .look(&mut run.program, &target, &mut one.started, &mut one.ready);
        for complaint in found.complaints {
            turn.event(container, Warning, "Unhealthy", complaint);
        }
        if let Some(kind) = found.kill {
            stop::failed_probe(turn, container, one, kind);
        }
    }
    if let Some(run) = &one.run {
        turn.wake(run.wake());
        if run.kill.is_none() {
            turn.wake(run.probes.wake(one.started));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_in_go() {
        for (count, text) in [(10, "10s"), (80, "1m20s"), (300, "5m0s")] {
            assert_eq!(duration(count), text);
        }
    }
}
