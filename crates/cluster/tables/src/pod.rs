//! Pods: readiness, the one word that best says what is the matter, restarts.

use crate::read::{Read, View, cells, containers, or_none};
use crate::registry::BuiltIn;
use model::{Timestamp, Value, json};

pub(crate) const KINDS: &[BuiltIn] = &[
    BuiltIn {
        group: "",
        kind: "Pod",
        columns: "Name:name|Ready|Status|Restarts|Age|IP+|Node+|Nominated Node+|Readiness Gates+",
        cells: pod,
    },
    BuiltIn {
        group: "",
        kind: "PodTemplate",
        columns: "Name:name|Containers|Images|Pod Labels",
        cells: |v| {
            let (names, images) = containers(v, "template.spec.containers");
            cells![
                v.name(),
                names,
                images,
                v.labels("template.metadata.labels")
            ]
        },
    },
];

/// What a row says of a pod that ran to its end; kubectl hides or marks such rows.
pub(crate) fn conditions(pod: &Value) -> Option<Value> {
    let (reason, message) = match pod.text("status.phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

fn pod(v: &View) -> Vec<Value> {
    let summary = Summary::of(v);
    let restarts = match summary.restarts {
        Restarts {
            count,
            last: Some(last),
        } if count != 0 => {
            format!("{count} ({} ago)", v.since(Some(last)))
        }
        Restarts { count, .. } => count.to_string(),
    };
    cells![
        v.name(),
        format!("{}/{}", summary.ready, summary.containers),
        summary.reason,
        restarts,
        v.age(),
        ip(v),
        v.filled("spec.nodeName", "<none>"),
        v.filled("status.nominatedNodeName", "<none>"),
        readiness_gates(v),
    ]
}

fn ip(pod: &Value) -> String {
    let single = pod.text("status.podIP");
    if !single.is_empty() {
        return single.into();
    }
    let first = pod.list("status.podIPs").first();
    or_none(first.map_or("", |ip| ip.text("ip")).into())
}

fn readiness_gates(pod: &Value) -> String {
    let gates = pod.list("spec.readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let open = gates.iter().filter(|g| pod.holds(g.text("conditionType")));
    format!("{}/{}", open.count(), gates.len())
}

#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.count = self.count.saturating_add(status.int("restartCount"));
        self.last = self
            .last
            .max(status.time("lastState.terminated.finishedAt"));
    }
}

struct Summary {
    ready: usize,
    containers: usize,
    reason: String,
    restarts: Restarts,
}

/// How far the init containers have come.
#[derive(Default)]
struct Initialization {
    /// Why the first unfinished one is not finished.
    pending: Option<String>,
    /// Sidecars that are ready.
    ready: usize,
    /// Restarts of all init containers, up to the first unfinished one.
    restarts: Restarts,
    /// Those of sidecars among them.
    sidecar_restarts: Restarts,
}

impl Summary {
    fn of(pod: &View) -> Self {
        let sidecars = pod
            .list("spec.initContainers")
            .iter()
            .filter(|c| is_sidecar(c))
            .count();
        let initialization = Initialization::of(pod);
        let mut summary = Self {
            ready: initialization.ready,
            containers: pod.list("spec.containers").len() + sidecars,
            reason: phase(pod).into(),
            restarts: initialization.restarts,
        };
        let initialized = initialization.pending.is_none() || pod.holds("Initialized");
        if let Some(pending) = initialization.pending {
            summary.reason = pending;
        }
        if initialized {
            summary.restarts = initialization.sidecar_restarts;
            summary.add_containers(pod);
        }
        if pod.deleting() {
            if pod.text("status.reason") == "NodeLost" {
                summary.reason = "Unknown".into();
            } else if !matches!(pod.text("status.phase"), "Failed" | "Succeeded") {
                summary.reason = "Terminating".into();
            }
        }
        summary
    }

    /// The first container with something to say gives the reason, so they are read backwards.
    fn add_containers(&mut self, pod: &Value) {
        let mut running = false;
        let mut failure = None;
        for status in pod.list("status.containerStatuses").iter().rev() {
            self.restarts.add(status);
            let waiting = status.text("state.waiting.reason");
            if !waiting.is_empty() {
                self.reason = waiting.into();
            } else if let Some(terminated) = status.at("state.terminated") {
                self.reason = end_of(terminated);
                if terminated.int("exitCode") != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if status.flag("ready") && status.at("state.running").is_some() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if running && pod.holds("Ready") {
                self.reason = "Running".into();
            } else if let Some(failure) = failure {
                self.reason = failure;
            } else if running {
                self.reason = "NotReady".into();
            }
        }
    }
}

impl Initialization {
    fn of(pod: &Value) -> Self {
        let mut found = Self::default();
        let specs = pod.list("spec.initContainers");
        for (index, status) in pod.list("status.initContainerStatuses").iter().enumerate() {
            let spec = specs.iter().find(|c| c.text("name") == status.text("name"));
            let sidecar = spec.is_some_and(is_sidecar);
            found.restarts.add(status);
            if sidecar {
                found.sidecar_restarts.add(status);
            }
            let terminated = status.at("state.terminated");
            if terminated.is_some_and(|t| t.int("exitCode") == 0) {
                continue;
            }
            if sidecar && status.flag("started") {
                found.ready += usize::from(status.flag("ready"));
                continue;
            }
            found.pending = Some(match (terminated, status.text("state.waiting.reason")) {
                (Some(terminated), _) => format!("Init:{}", end_of(terminated)),
                (None, "" | "PodInitializing") => format!("Init:{index}/{}", specs.len()),
                (None, reason) => format!("Init:{reason}"),
            });
            break;
        }
        found
    }
}

fn is_sidecar(container: &Value) -> bool {
    container.text("restartPolicy") == "Always"
}

fn phase(pod: &Value) -> &str {
    let gated = pod
        .list("status.conditions")
        .iter()
        .any(|c| c.text("type") == "PodScheduled" && c.text("reason") == "SchedulingGated");
    if gated {
        "SchedulingGated"
    } else {
        pod.filled("status.reason", pod.text("status.phase"))
    }
}

fn end_of(terminated: &Value) -> String {
    let reason = terminated.text("reason");
    let signal = terminated.int("signal");
    if !reason.is_empty() {
        reason.into()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", terminated.int("exitCode"))
    }
}
