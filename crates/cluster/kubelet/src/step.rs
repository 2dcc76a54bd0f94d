//! One look at a Pod: what ended, what must stop, what can start, and what its status then is.

use crate::act::EventType::Normal;
use crate::act::{Act, Reaction};
use crate::life::{ContainerLife, Life};
use crate::mounts;
use crate::spec::{Container, Role, containers, grace_seconds, later, number, seconds};
use crate::start;
use crate::status;
use crate::stop;
use crate::turn::Turn;
use crate::world::World;
use model::{Timestamp, Value, meta};

const DEADLINE: (&str, &str) = (
    "DeadlineExceeded",
    "Pod was active on the node longer than the specified deadline",
);
/// A look never asks for the next one sooner than this, in microseconds.
const WAKE_MIN: i64 = 1_000;

/// Moves a Pod's life on to `now` and says what to do about it.
///
/// Total and deterministic: it may be called at any time, for any Pod bound to this node; a call
/// that has nothing to do gives no acts. The Pod may be an older version than the last that was
/// written: what was decided is in `life`.
pub fn step(world: &dyn World, pod: &Value, life: &mut Life, now: Timestamp) -> Reaction {
    if life.uid != meta::uid(pod) {
        *life = Life::resume(pod, now);
    }
    let mut turn = Turn::new(world, pod, now);
    if !(life.over && life.running() == 0) {
        live(&mut turn, life);
    }
    let deleted = meta::deletion_timestamp(pod).is_some();
    if deleted && life.running() == 0 && life.over {
        turn.reaction.acts.push(Act::Delete);
        turn.reaction.wake_at = None;
    }
    let soonest = later(now, WAKE_MIN);
    turn.reaction.wake_at = turn.reaction.wake_at.map(|at| at.max(soonest));
    turn.reaction
}

fn live(turn: &mut Turn<'_>, life: &mut Life) {
    settle_in(turn, life);
    let ended = look_at_all(turn, life);
    if ended {
        // Seen as ended before anything is done about it.
        report(turn, life);
    }
    if must_stop(turn, life) {
        let grace = grace(turn.pod);
        stop::all(turn, life, grace);
    } else {
        advance(turn, life);
    }
    report(turn, life);
}

// What is known once a Pod is on this node.
fn settle_in(turn: &Turn<'_>, life: &mut Life) {
    life.since.get_or_insert(turn.now);
    if life.host_ip.is_empty() {
        life.host_ip = host_ip(turn);
    }
    for container in containers(turn.pod) {
        let one = life.containers.remove(container.name()).unwrap_or_default();
        let one = if one.resumed {
            take_up(turn, life, &container, one)
        } else {
            one
        };
        life.containers.insert(container.name().to_owned(), one);
    }
}

fn host_ip(turn: &Turn<'_>) -> String {
    let known = meta::text_at(turn.pod, "/status/hostIP");
    if !known.is_empty() {
        return known.to_owned();
    }
    let name = meta::text_at(turn.pod, "/spec/nodeName");
    let node = turn.world.object("", "nodes", "", name);
    node.iter()
        .flat_map(|node| meta::entries(node, "/status/addresses"))
        .find(|a| meta::text_at(a, "/type") == "InternalIP")
        .map(|a| meta::text_at(a, "/address").to_owned())
        .unwrap_or_default()
}

// After a restart of the kubelet the programs are set up as they were, and write their logs again.
fn take_up(
    turn: &Turn<'_>,
    life: &mut Life,
    container: &Container<'_>,
    mut one: ContainerLife,
) -> ContainerLife {
    one.resumed = false;
    let mut run = start::set_up(turn, life, container, one.restarts, one.begun());
    if let Some(ended) = one.ended() {
        run.advance(turn.world, ended.finished);
    } else if let (Some(last), true) = (&one.last, one.restarts > 0) {
        let mut before = start::set_up(turn, life, container, one.restarts - 1, last.started);
        before.advance(turn.world, last.finished);
        one.previous = Some(before.log);
    }
    one.run = Some(run);
    one
}

// True when a container was seen to have ended.
fn look_at_all(turn: &mut Turn<'_>, life: &mut Life) -> bool {
    let mut ended = false;
    for container in containers(turn.pod) {
        if let Some(one) = life.containers.get_mut(container.name())
            && one.is_running()
        {
            ended |= start::look(turn, &container, one, &life.ip);
        }
    }
    ended
}

fn must_stop(turn: &mut Turn<'_>, life: &mut Life) -> bool {
    let deleted = meta::deletion_timestamp(turn.pod).is_some();
    let limit = number(turn.pod, "/spec/activeDeadlineSeconds", 0);
    if limit > 0 && life.failure.is_none() && !deleted {
        let end = later(life.since.unwrap_or(turn.now), seconds(limit));
        if end <= turn.now {
            let (reason, message) = DEADLINE;
            turn.pod_event(Normal, "DeadlineExceeded", message);
            life.failure = Some((reason.to_owned(), message.to_owned()));
        } else {
            turn.wake(Some(end));
        }
    }
    deleted || life.failure.is_some() || life.stopping.is_some()
}

fn grace(pod: &Value) -> i64 {
    let own = grace_seconds(pod);
    number(pod, "/metadata/deletionGracePeriodSeconds", own)
}

// Volumes, network, init containers one by one, then the others.
fn advance(turn: &mut Turn<'_>, life: &mut Life) {
    if !life.prepared {
        if !mounts::ensure(turn, life) {
            return;
        }
        life.prepared = true;
        let shared = turn
            .pod
            .pointer("/spec/hostNetwork")
            .and_then(Value::as_bool);
        life.ip = match shared {
            Some(true) => life.host_ip.clone(),
            _ => turn.world.pod_ip(turn.pod),
        };
    }
    let list = containers(turn.pod);
    let begun = list.iter().any(|c| {
        let one = life.containers.get(c.name());
        c.role == Role::Main && one.is_some_and(|one| one.is_running() || one.ended().is_some())
    });
    for container in list.iter().filter(|c| c.role != Role::Main) {
        if !initialize(turn, life, container, begun) && !begun {
            return;
        }
    }
    for container in list.iter().filter(|c| c.role == Role::Main) {
        if due(turn.pod, life, container) {
            start::attempt(turn, life, container);
        }
    }
    let done = list.iter().filter(|c| c.role == Role::Main).all(|c| {
        let ended = life.containers.get(c.name()).and_then(ContainerLife::ended);
        ended.is_some_and(|e| !c.restarts_after(turn.pod, e.code))
    });
    if done && life.running() > 0 {
        // Only sidecars are left.
        stop::all(turn, life, grace_seconds(turn.pod));
    }
}

// True when the next container may start.
fn initialize(
    turn: &mut Turn<'_>,
    life: &mut Life,
    container: &Container<'_>,
    begun: bool,
) -> bool {
    let Some(one) = life.containers.get(container.name()) else {
        return false;
    };
    if container.role == Role::Init {
        let code = one.ended().map(|e| e.code);
        if code == Some(0) || begun {
            return true;
        }
        if code.is_some_and(|code| !container.restarts_after(turn.pod, code)) {
            stop::all(turn, life, grace_seconds(turn.pod));
            return false;
        }
    }
    if !one.is_running() {
        start::attempt(turn, life, container);
    }
    let one = life.containers.get(container.name());
    container.role == Role::Sidecar && one.is_some_and(|one| one.is_running() && one.started)
}

fn due(pod: &Value, life: &Life, container: &Container<'_>) -> bool {
    let Some(one) = life.containers.get(container.name()) else {
        return false;
    };
    let again = |e: &crate::life::Ended| container.restarts_after(pod, e.code);
    !one.is_running() && one.ended().is_none_or(again)
}

fn report(turn: &mut Turn<'_>, life: &mut Life) {
    let status = status::build(turn.pod, life, turn.now);
    let latest = turn.reaction.acts.iter().rev().find_map(|act| match act {
        Act::Status(status) => Some(status),
        _ => None,
    });
    let known = latest.or_else(|| turn.pod.get("status"));
    if known.is_none_or(|known| !status::same(known, &status)) {
        turn.reaction.acts.push(Act::Status(status));
    }
}
