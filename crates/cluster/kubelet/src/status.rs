//! A Pod's status out of what its containers do: phase, conditions, container statuses.

use crate::image;
use crate::life::{ContainerLife, Ended, Life, Stage};
use crate::spec::{Container, Role, containers, digest};
use model::{Map, Timestamp, Value, json, meta};

/// Conditions that a kubelet writes, in its order.
const OWN: [&str; 5] = [
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
];
const LOST: &str = "The container could not be located when the pod was terminated";

/// What the status of a Pod should be.
pub(crate) fn build(pod: &Value, life: &mut Life, now: Timestamp) -> Value {
    let mut status = pod
        .get("status")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let all = containers(pod);
    let ending = life.stopping.is_some() && life.running() == 0;
    let mut phase = phase(pod, &all, life, ending);
    if ending && (phase != "Succeeded" || life.failure.is_some()) {
        phase = "Failed";
        lose_the_rest(&all, life);
    }
    if life.over {
        let kept = meta::text_at(pod, "/status/phase");
        if matches!(kept, "Succeeded" | "Failed") {
            phase = if kept == "Failed" {
                "Failed"
            } else {
                "Succeeded"
            };
        }
    }
    life.over = matches!(phase, "Succeeded" | "Failed");
    let conditions = conditions(pod, &all, life, phase, now);
    status.insert("conditions".into(), conditions);
    statuses(pod, &all, life, &mut status);
    set(&mut status, "phase", phase);
    if phase != meta::text_at(pod, "/status/phase") {
        status.remove("reason");
        status.remove("message");
    }
    if let (Some((reason, message)), "Failed") = (&life.failure, phase) {
        set(&mut status, "reason", reason);
        set(&mut status, "message", message);
    }
    if let Some(generation) = pod.pointer("/metadata/generation") {
        status.insert("observedGeneration".into(), generation.clone());
    }
    set(
        &mut status,
        "startTime",
        &life.since.unwrap_or(now).rfc3339(),
    );
    for (single, list, ip) in [
        ("hostIP", "hostIPs", &life.host_ip),
        ("podIP", "podIPs", &life.ip),
    ] {
        if !ip.is_empty() {
            set(&mut status, single, ip);
            status.insert(list.into(), json!([{ "ip": ip }]));
        }
    }
    Value::Object(status)
}

fn set(status: &mut Map<String, Value>, field: &str, text: &str) {
    status.insert(field.into(), text.into());
}

// A container that should have run but did not is a failure once the Pod ends.
fn lose_the_rest(all: &[Container<'_>], life: &mut Life) {
    let began = all
        .iter()
        .filter(|c| c.role == Role::Main)
        .any(|c| life.containers.get(c.name()).is_some_and(ran));
    for container in all.iter().filter(|c| c.role == Role::Main && began) {
        if let Some(one) = life.containers.get_mut(container.name())
            && matches!(one.state, Stage::Waiting { .. })
        {
            one.state = Stage::Ended(Ended {
                code: 137,
                reason: "ContainerStatusUnknown".into(),
                message: LOST.into(),
                started: Timestamp::default(),
                finished: Timestamp::default(),
                id: String::new(),
            });
        }
    }
}

fn ran(life: &ContainerLife) -> bool {
    !matches!(life.state, Stage::Waiting { .. }) || life.last.is_some()
}

/// `Pending`, `Running`, `Succeeded` or `Failed`.
fn phase(pod: &Value, all: &[Container<'_>], life: &Life, ending: bool) -> &'static str {
    let (mut pending_init, mut pending_sidecars) = (0, 0);
    let (mut waiting, mut running, mut stopped, mut succeeded, mut final_stops) = (0, 0, 0, 0, 0);
    let mut begun = false;
    for container in all {
        let Some(one) = life.containers.get(container.name()) else {
            waiting += 1;
            continue;
        };
        let ended = one.ended();
        match (container.role, &one.state) {
            (Role::Init, _) => match ended {
                Some(ended) if ended.code != 0 => {
                    if !container.restarts_after(pod, ended.code) {
                        return "Failed";
                    }
                }
                Some(_) if matches!(one.state, Stage::Ended(_)) => {}
                _ => pending_init += 1,
            },
            (Role::Sidecar, Stage::Running(_)) => {
                running += 1;
                pending_sidecars += usize::from(!one.started);
            }
            (Role::Sidecar, _) if ended.is_some() => {}
            (Role::Sidecar, _) => {
                pending_sidecars += 1;
                waiting += 1;
            }
            (Role::Main, Stage::Running(_)) => {
                running += 1;
                begun = true;
            }
            (Role::Main, _) => match ended {
                Some(ended) => {
                    begun = true;
                    stopped += 1;
                    succeeded += usize::from(ended.code == 0);
                    final_stops += usize::from(!container.restarts_after(pod, ended.code));
                }
                None => waiting += 1,
            },
        }
    }
    if pending_init > 0 || (pending_sidecars > 0 && !begun) || waiting > 0 {
        return "Pending";
    }
    match (running, stopped) {
        (0, 0) => "Pending",
        (0, 1..) if ending || stopped == final_stops => {
            if stopped == succeeded {
                "Succeeded"
            } else {
                "Failed"
            }
        }
        _ => "Running",
    }
}

fn statuses(pod: &Value, all: &[Container<'_>], life: &Life, status: &mut Map<String, Value>) {
    let has_init = all.iter().any(|c| c.role != Role::Main);
    let list = |main: bool| -> Vec<Value> {
        all.iter()
            .filter(|c| (c.role == Role::Main) == main)
            .filter_map(|c| Some(container(pod, c, life.containers.get(c.name())?, has_init)))
            .collect()
    };
    if has_init {
        status.insert("initContainerStatuses".into(), list(false).into());
    }
    status.insert("containerStatuses".into(), list(true).into());
}

fn container(pod: &Value, container: &Container<'_>, life: &ContainerLife, init: bool) -> Value {
    let mut out = Map::new();
    let (started, ready) = flags(container, life);
    let id = match &life.state {
        Stage::Running(_) => container_id(pod, container, life.restarts),
        _ => life.ended().map(|e| e.id.clone()).unwrap_or_default(),
    };
    if !id.is_empty() {
        set(&mut out, "containerID", &id);
    }
    let image = container.image();
    set(&mut out, "image", image);
    let image_id = if id.is_empty() {
        String::new()
    } else {
        image::id(image)
    };
    set(&mut out, "imageID", &image_id);
    let last = life.last.as_ref().map(terminated);
    out.insert(
        "lastState".into(),
        last.map_or(json!({}), |last| json!({"terminated": last})),
    );
    set(&mut out, "name", container.name());
    out.insert("ready".into(), ready.into());
    out.insert("restartCount".into(), life.restarts.into());
    out.insert("started".into(), started.into());
    out.insert("state".into(), state(life, init));
    Value::Object(out)
}

fn flags(container: &Container<'_>, life: &ContainerLife) -> (bool, bool) {
    let running = life.is_running();
    let started = running && life.started;
    let done = matches!(&life.state, Stage::Ended(ended) if ended.code == 0);
    let ready = match container.role {
        Role::Init => done,
        _ => started && life.ready,
    };
    (started, ready)
}

fn state(life: &ContainerLife, init: bool) -> Value {
    match &life.state {
        Stage::Running(since) => json!({"running": {"startedAt": since.rfc3339()}}),
        Stage::Ended(ended) => json!({"terminated": terminated(ended)}),
        Stage::Waiting { reason, message } => {
            let reason = match (reason.as_str(), init) {
                ("", true) => "PodInitializing",
                ("", false) => "ContainerCreating",
                (reason, _) => reason,
            };
            let mut waiting = Map::new();
            if !message.is_empty() {
                set(&mut waiting, "message", message);
            }
            set(&mut waiting, "reason", reason);
            json!({ "waiting": waiting })
        }
    }
}

fn terminated(ended: &Ended) -> Value {
    let mut out = Map::new();
    if !ended.id.is_empty() {
        set(&mut out, "containerID", &ended.id);
    }
    out.insert("exitCode".into(), ended.code.into());
    let time = |at: Timestamp| {
        if at == Timestamp::default() {
            Value::Null
        } else {
            at.rfc3339().into()
        }
    };
    out.insert("finishedAt".into(), time(ended.finished));
    if !ended.message.is_empty() {
        set(&mut out, "message", &ended.message);
    }
    set(&mut out, "reason", &ended.reason);
    out.insert("startedAt".into(), time(ended.started));
    Value::Object(out)
}

/// The id of a container's run.
pub(crate) fn container_id(pod: &Value, container: &Container<'_>, attempt: u32) -> String {
    let text = format!("{}/{}/{attempt}", meta::uid(pod), container.name());
    format!("containerd://{}", digest(&text))
}

type Verdict = (bool, &'static str, String);

fn conditions(
    pod: &Value,
    all: &[Container<'_>],
    life: &mut Life,
    phase: &str,
    now: Timestamp,
) -> Value {
    let mut list: Vec<Value> = meta::entries(pod, "/status/conditions")
        .filter(|c| !OWN.contains(&meta::text_at(c, "/type")))
        .cloned()
        .collect();
    let ready_to_start = life.prepared && !(life.over && life.running() == 0);
    let initialized = initialized(all, life, phase);
    let containers_ready = containers_ready(all, life, phase);
    let ready = gates(pod, &list, &containers_ready);
    let verdicts: [Verdict; 5] = [
        (ready_to_start, "", String::new()),
        initialized,
        ready,
        containers_ready,
        (true, "", String::new()),
    ];
    for (kind, (holds, reason, message)) in OWN.into_iter().zip(verdicts) {
        let known = life.conditions.get(kind).filter(|(was, _)| *was == holds);
        let since = known.map_or(now, |(_, since)| *since);
        life.conditions.insert(kind.to_owned(), (holds, since));
        let mut out = Map::new();
        out.insert("lastProbeTime".into(), Value::Null);
        set(&mut out, "lastTransitionTime", &since.rfc3339());
        if !message.is_empty() {
            set(&mut out, "message", &message);
        }
        if let Some(generation) = pod.pointer("/metadata/generation") {
            out.insert("observedGeneration".into(), generation.clone());
        }
        if !reason.is_empty() {
            set(&mut out, "reason", reason);
        }
        set(&mut out, "status", if holds { "True" } else { "False" });
        set(&mut out, "type", kind);
        list.push(Value::Object(out));
    }
    list.into()
}

fn initialized(all: &[Container<'_>], life: &Life, phase: &str) -> Verdict {
    if phase == "Succeeded" {
        return (true, "PodCompleted", String::new());
    }
    let begun = all
        .iter()
        .any(|c| c.role == Role::Main && life.containers.get(c.name()).is_some_and(ran));
    let incomplete: Vec<&str> = all
        .iter()
        .filter(|c| c.role != Role::Main)
        .filter(|c| {
            life.containers.get(c.name()).is_none_or(|one| {
                let (started, ready) = flags(c, one);
                !(if c.role == Role::Sidecar {
                    started
                } else {
                    ready
                })
            })
        })
        .map(Container::name)
        .collect();
    if begun || incomplete.is_empty() {
        return (true, "", String::new());
    }
    let message = format!(
        "containers with incomplete status: [{}]",
        incomplete.join(" ")
    );
    (false, "ContainersNotInitialized", message)
}

fn containers_ready(all: &[Container<'_>], life: &Life, phase: &str) -> Verdict {
    match phase {
        "Succeeded" => return (false, "PodCompleted", String::new()),
        "Failed" => return (false, "PodFailed", String::new()),
        _ => {}
    }
    let unready: Vec<&str> = all
        .iter()
        .filter(|c| c.role != Role::Init)
        .filter(|c| {
            let one = life.containers.get(c.name());
            one.is_none_or(|one| !flags(c, one).1)
        })
        .map(Container::name)
        .collect();
    if unready.is_empty() {
        return (true, "", String::new());
    }
    let message = format!("containers with unready status: [{}]", unready.join(" "));
    (false, "ContainersNotReady", message)
}

fn gates(pod: &Value, conditions: &[Value], containers: &Verdict) -> Verdict {
    if !containers.0 {
        return containers.clone();
    }
    let mut faults = Vec::new();
    for gate in meta::entries(pod, "/spec/readinessGates") {
        let kind = meta::text_at(gate, "/conditionType");
        let found = conditions
            .iter()
            .find(|c| meta::text_at(c, "/type") == kind);
        match found.map(|c| meta::text_at(c, "/status")) {
            Some("True") => {}
            Some(status) => faults.push(format!(
                "the status of pod readiness gate {kind:?} is not \"True\", but {status}"
            )),
            None => faults.push(format!(
                "corresponding condition of pod readiness gate {kind:?} does not exist."
            )),
        }
    }
    if faults.is_empty() {
        return (true, "", String::new());
    }
    (false, "ReadinessGatesNotReady", faults.join(", "))
}

/// Whether two statuses say the same: what is empty counts as absent.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|k| !a.contains_key(*k)));
            keys.into_iter().all(|key| {
                same(
                    a.get(key).unwrap_or(&Value::Null),
                    b.get(key).unwrap_or(&Value::Null),
                )
            })
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (a, b) => a == b || (is_empty(a) && is_empty(b)),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
        _ => false,
    }
}
