//! What a container runs: what its annotation says, else its own script, else it simply is there.

use crate::behaviour::Behaviour;
use crate::environment::{self, Scene, Variables};
use crate::life::Life;
use crate::mounts;
use crate::run::{Exit, Plan, Program};
use crate::shell::files::{Files, Mount};
use crate::shell::{Invocation, Process};
use crate::spec::{Container, later};
use crate::turn::Turn;
use model::{Timestamp, Value, meta};

/// How long work takes of which nothing is known, in microseconds.
pub(crate) const TASK_TIME: i64 = 1_000_000;

/// The program of a run that began then, counted from 0.
pub(crate) fn choose(
    turn: &Turn<'_>,
    life: &mut Life,
    container: &Container<'_>,
    behaviour: Option<&Behaviour>,
    (attempt, began): (u32, Timestamp),
) -> Program {
    if let Some(behaviour) = behaviour.filter(|b| b.has_runs()) {
        return Program::Plan(behaviour.plan(attempt, began));
    }
    if let Some(process) = script(turn, life, container, began) {
        return Program::Script(Box::new(process));
    }
    let mut plan = Plan::default();
    let what = words(container, "/command")
        .into_iter()
        .chain(words(container, "/args"));
    let what: Vec<String> = what.take(4).collect();
    let line = if what.is_empty() {
        format!("simulated: {}\n", container.image())
    } else {
        format!("simulated: {} in {}\n", what.join(" "), container.image())
    };
    plan.lines.push_back((began, line));
    if container.is_task(turn.pod) {
        plan.exit = Some((later(began, TASK_TIME), Exit::code(0)));
    }
    Program::Plan(plan)
}

fn words(container: &Container<'_>, field: &str) -> Vec<String> {
    meta::entries(container.value, field)
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn script(
    turn: &Turn<'_>,
    life: &mut Life,
    container: &Container<'_>,
    began: Timestamp,
) -> Option<Process> {
    let (command, args) = (words(container, "/command"), words(container, "/args"));
    let argv = entry(container.image(), command, args)?;
    let scene = Scene {
        world: turn.world,
        pod: turn.pod,
        ip: &life.ip,
        host_ip: &life.host_ip,
    };
    let services = environment::service_variables(&scene);
    let declared = environment::declared(&scene, container, &services).unwrap_or_default();
    let argv: Vec<String> = argv
        .iter()
        .map(|word| environment::expand(word, &declared, &services))
        .collect();
    let volumes = life
        .volumes
        .get_or_insert_with(|| mounts::contents(&scene).share());
    let files = Files::new(volumes.clone(), mount_points(container));
    let mut variables = services;
    variables.extend(declared);
    standard_variables(&mut variables, turn.pod);
    Process::start(
        Invocation {
            argv,
            variables,
            files,
            namespace: meta::namespace(turn.pod).to_owned(),
            host: host(turn.pod),
            serves: !container.is_task(turn.pod),
            directory: meta::text_at(container.value, "/workingDir").to_owned(),
        },
        began,
    )
}

/// The name a container gives its host.
pub(crate) fn host(pod: &Value) -> String {
    match meta::text_at(pod, "/spec/hostname") {
        "" => meta::name(pod).chars().take(63).collect(),
        host => host.to_owned(),
    }
}

fn standard_variables(variables: &mut Variables, pod: &Value) {
    for (name, value) in [
        (
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
        ),
        ("HOSTNAME", host(pod)),
        ("HOME", "/root".to_owned()),
    ] {
        variables.entry(name.to_owned()).or_insert(value);
    }
}

// The words that are run. Without a command the image has its own, which is known of few images.
fn entry(image: &str, command: Vec<String>, args: Vec<String>) -> Option<Vec<String>> {
    if !command.is_empty() {
        return Some(command.into_iter().chain(args).collect());
    }
    let first = args.first()?.as_str();
    let name = image.rsplit('/').next().unwrap_or("");
    let name = name.split([':', '@']).next().unwrap_or("");
    if name == "curl" && (first.starts_with('-') || first.contains("://")) {
        return Some(std::iter::once("curl".to_owned()).chain(args).collect());
    }
    let shells = [
        "sh",
        "bash",
        "ash",
        "dash",
        "/bin/sh",
        "/bin/bash",
        "/bin/ash",
    ];
    let plain = ["busybox", "alpine", "debian", "ubuntu"].contains(&name);
    (shells.contains(&first) || plain || first == "curl").then_some(args)
}

fn mount_points(container: &Container<'_>) -> Vec<Mount> {
    meta::entries(container.value, "/volumeMounts")
        .map(|mount| Mount {
            path: meta::text_at(mount, "/mountPath").to_owned(),
            volume: meta::text_at(mount, "/name").to_owned(),
            inside: meta::text_at(mount, "/subPath").to_owned(),
            read_only: mount.get("readOnly").and_then(Value::as_bool) == Some(true),
        })
        .collect()
}
