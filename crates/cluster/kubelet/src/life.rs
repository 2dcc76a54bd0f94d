//! What a kubelet knows of one Pod beyond its object.

use crate::log::Log;
use crate::run::Run;
use crate::shell::files::Shared;
use crate::spec::{self, Role, containers, later, seconds};
use model::{Timestamp, Value, meta};
use std::collections::BTreeMap;

/// The first wait before a container that crashed is started again, in seconds.
pub(crate) const BACK_OFF_FIRST: i64 = 10;
/// The longest such wait; a container that ran twice as long starts over with the first.
pub(crate) const BACK_OFF_MAX: i64 = 300;

/// A Pod's life on its node: its containers' runs, their logs, timers and back-offs.
#[derive(Debug, Default)]
pub struct Life {
    pub(crate) uid: String,
    /// `status.startTime`.
    pub(crate) since: Option<Timestamp>,
    pub(crate) ip: String,
    pub(crate) host_ip: String,
    /// Volumes are mounted and the sandbox has its network.
    pub(crate) prepared: bool,
    pub(crate) mounts: Mounting,
    /// What lies in the volumes, once a script may look.
    pub(crate) volumes: Option<Shared>,
    pub(crate) containers: BTreeMap<String, ContainerLife>,
    /// Why the whole Pod was given up: reason and message.
    pub(crate) failure: Option<(String, String)>,
    /// When containers were told to stop, once they were.
    pub(crate) stopping: Option<Timestamp>,
    /// Status and last transition of each condition.
    pub(crate) conditions: BTreeMap<String, (bool, Timestamp)>,
    /// Succeeded or Failed: nothing more will happen.
    pub(crate) over: bool,
}

/// Tries to mount volumes that failed so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounting {
    pub(crate) next: Option<Timestamp>,
    pub(crate) delay: i64,
    /// When the Pod's volumes were first waited for, or last complained about.
    pub(crate) waiting: Option<Timestamp>,
}

/// One container's life.
#[derive(Debug, Default)]
pub(crate) struct ContainerLife {
    pub(crate) state: Stage,
    /// How the run before the current one ended.
    pub(crate) last: Option<Ended>,
    pub(crate) restarts: u32,
    pub(crate) started: bool,
    pub(crate) ready: bool,
    pub(crate) back_off: BackOff,
    pub(crate) pull: Pull,
    /// A failed start is tried again then.
    pub(crate) retry: Option<Timestamp>,
    pub(crate) run: Option<Run>,
    pub(crate) previous: Option<Log>,
    /// Its Pod has init containers, so that it waits for them.
    pub(crate) initializing: bool,
    /// The run in the status goes on, but its program must be set up again after a restart of ours.
    pub(crate) resumed: bool,
}

/// Where a container is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not running, for a reason.
    Waiting { reason: String, message: String },
    /// Running since.
    Running(Timestamp),
    /// Done, perhaps for good.
    Ended(Ended),
}

impl Default for Stage {
    fn default() -> Self {
        Self::Waiting {
            reason: String::new(),
            message: String::new(),
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) started: Timestamp,
    pub(crate) finished: Timestamp,
    pub(crate) id: String,
}

/// The growing wait between restarts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BackOff {
    pub(crate) delay: i64,
    pub(crate) updated: Option<Timestamp>,
}

/// Failed pulls of an image.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pull {
    pub(crate) failures: u32,
    pub(crate) delay: i64,
    pub(crate) until: Option<Timestamp>,
    pub(crate) error: String,
}

impl BackOff {
    /// Until when a container that ended then must wait; nothing when it may start at once.
    pub(crate) fn until(&self, finished: Timestamp) -> Option<Timestamp> {
        let updated = self.updated?;
        (!expired(finished, updated)).then(|| later(finished, seconds(self.delay)))
    }

    /// Notes a restart now of what ended then.
    pub(crate) fn next(&mut self, finished: Timestamp, now: Timestamp) {
        self.delay = match self.updated {
            Some(updated) if !expired(finished, updated) => (self.delay * 2).min(BACK_OFF_MAX),
            _ => BACK_OFF_FIRST,
        };
        self.updated = Some(now);
    }
}

fn expired(finished: Timestamp, updated: Timestamp) -> bool {
    finished.micros() - updated.micros() > seconds(2 * BACK_OFF_MAX)
}

impl Life {
    /// The life of a Pod as its status tells it: where it was when the status was written, or the
    /// beginning for a Pod that never ran. `now` is when the kubelet takes it over.
    pub fn resume(pod: &Value, now: Timestamp) -> Self {
        let mut life = Self {
            uid: meta::uid(pod).to_owned(),
            since: Timestamp::parse(meta::text_at(pod, "/status/startTime")),
            ip: meta::text_at(pod, "/status/podIP").to_owned(),
            ..Self::default()
        };
        life.prepared = !life.ip.is_empty();
        life.over = matches!(meta::text_at(pod, "/status/phase"), "Succeeded" | "Failed");
        for condition in meta::entries(pod, "/status/conditions") {
            let at = Timestamp::parse(meta::text_at(condition, "/lastTransitionTime"));
            let holds = meta::text_at(condition, "/status") == "True";
            life.conditions.insert(
                meta::text_at(condition, "/type").to_owned(),
                (holds, at.unwrap_or(now)),
            );
        }
        for container in containers(pod) {
            let list = if container.role == Role::Main {
                "/status/containerStatuses"
            } else {
                "/status/initContainerStatuses"
            };
            let status =
                meta::entries(pod, list).find(|s| meta::text_at(s, "/name") == container.name());
            let mut found = status.map(ContainerLife::resume).unwrap_or_default();
            found.initializing = pod.pointer("/spec/initContainers").is_some();
            life.containers.insert(container.name().to_owned(), found);
        }
        life
    }

    /// The containers that run now.
    pub(crate) fn running(&self) -> usize {
        let runs = |c: &&ContainerLife| matches!(c.state, Stage::Running(_));
        self.containers.values().filter(runs).count()
    }
}

impl ContainerLife {
    fn resume(status: &Value) -> Self {
        let flag = |p: &str| status.pointer(p).and_then(Value::as_bool).unwrap_or(false);
        let restarts = spec::number(status, "/restartCount", 0);
        let mut life = Self {
            restarts: u32::try_from(restarts).unwrap_or(0),
            started: flag("/started"),
            ready: flag("/ready"),
            last: status.pointer("/lastState/terminated").map(Ended::read),
            ..Self::default()
        };
        if let Some(running) = status.pointer("/state/running") {
            let since = Timestamp::parse(meta::text_at(running, "/startedAt"));
            life.state = Stage::Running(since.unwrap_or_default());
            life.resumed = true;
        } else if let Some(ended) = status.pointer("/state/terminated") {
            life.state = Stage::Ended(Ended::read(ended));
            life.resumed = true;
        } else {
            let text = |p: &str| meta::text_at(status, p).to_owned();
            life.state = Stage::Waiting {
                reason: match text("/state/waiting/reason").as_str() {
                    "ContainerCreating" | "PodInitializing" => String::new(),
                    reason => reason.to_owned(),
                },
                message: text("/state/waiting/message"),
            };
            life.resumed = life.last.is_some();
        }
        if life.restarts > 0 {
            let doublings = (life.restarts - 1).min(8);
            life.back_off = BackOff {
                delay: (BACK_OFF_FIRST << doublings).min(BACK_OFF_MAX),
                updated: Some(life.begun()),
            };
        }
        life
    }

    /// When the current or latest run began.
    pub(crate) fn begun(&self) -> Timestamp {
        match &self.state {
            Stage::Running(since) => *since,
            _ => self.ended().map(|e| e.started).unwrap_or_default(),
        }
    }

    /// How the latest run ended, when none runs now.
    pub(crate) fn ended(&self) -> Option<&Ended> {
        match &self.state {
            Stage::Running(_) => None,
            Stage::Ended(ended) => Some(ended),
            Stage::Waiting { .. } => self.last.as_ref(),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, Stage::Running(_))
    }

    /// Leaves it waiting; how it ended before is its last state then.
    pub(crate) fn wait(&mut self, reason: &str, message: impl Into<String>) {
        if let Stage::Ended(ended) = &self.state {
            self.last = Some(ended.clone());
        }
        self.state = Stage::Waiting {
            reason: reason.to_owned(),
            message: message.into(),
        };
    }
}

impl Ended {
    fn read(value: &Value) -> Self {
        let time = |p: &str| Timestamp::parse(meta::text_at(value, p)).unwrap_or_default();
        let text = |p: &str| meta::text_at(value, p).to_owned();
        Self {
            code: i32::try_from(spec::number(value, "/exitCode", 0)).unwrap_or(255),
            reason: text("/reason"),
            message: text("/message"),
            started: time("/startedAt"),
            finished: time("/finishedAt"),
            id: text("/containerID"),
        }
    }
}
