//! Startup, liveness and readiness probes: when they are due, what they find, what follows.

use crate::run::{Mood, Program};
use crate::spec::{later, number, seconds};
use crate::world::World;
use model::{Timestamp, Value, meta};

/// Which of the three probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Startup,
    Liveness,
    Readiness,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Startup, Self::Liveness, Self::Readiness];

    const fn field(self) -> &'static str {
        match self {
            Self::Startup => "/startupProbe",
            Self::Liveness => "/livenessProbe",
            Self::Readiness => "/readinessProbe",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
        }
    }
}

#[derive(Clone, Debug)]
struct Prober {
    kind: Kind,
    /// When it is due; never again when absent.
    next: Option<Timestamp>,
    period: i64,
    failures_max: u32,
    successes_min: u32,
    /// The latest result, and how often in a row it came.
    last: Option<bool>,
    row: u32,
}

/// The probes of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes {
    list: Vec<Prober>,
    /// How many of a plan's moods were complained about.
    said: usize,
    /// When a container without readiness probe changes its mood.
    mood_changes: Option<Timestamp>,
}

/// What probing found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Texts of `Unhealthy` events.
    pub(crate) complaints: Vec<String>,
    /// The probe for which the container is killed.
    pub(crate) kill: Option<Kind>,
}

/// What is probed, and from where.
pub(crate) struct Target<'a> {
    pub(crate) container: &'a Value,
    pub(crate) ip: &'a str,
    pub(crate) world: &'a dyn World,
    pub(crate) now: Timestamp,
}

impl Probes {
    /// The probes of a container that started then; those that were due before `now` are not made up for.
    pub(crate) fn new(container: &Value, started: Timestamp, now: Timestamp) -> Self {
        let list = Kind::ALL.into_iter().filter_map(|kind| {
            let probe = container.pointer(kind.field())?;
            let period = seconds(number(probe, "/periodSeconds", 10).max(1));
            let first = later(started, seconds(number(probe, "/initialDelaySeconds", 0)));
            let count = |field: &str, default| {
                u32::try_from(number(probe, field, default).max(1)).unwrap_or(u32::MAX)
            };
            Some(Prober {
                kind,
                next: Some(tick(first, period, now)),
                period,
                failures_max: count("/failureThreshold", 3),
                successes_min: count("/successThreshold", 1),
                last: None,
                row: 0,
            })
        });
        Self {
            list: list.collect(),
            said: 0,
            mood_changes: None,
        }
    }

    fn has(&self, kind: Kind) -> bool {
        self.list.iter().any(|p| p.kind == kind)
    }

    /// Whether a container counts as started and as ready before any probe ran.
    pub(crate) fn initial(&self) -> (bool, bool) {
        let started = !self.has(Kind::Startup);
        (started, started && !self.has(Kind::Readiness))
    }

    /// When one of them is due.
    pub(crate) fn wake(&self, started: bool) -> Option<Timestamp> {
        let due = self
            .list
            .iter()
            .filter(|p| (p.kind == Kind::Startup) != started)
            .filter_map(|p| p.next);
        due.chain(self.mood_changes).min()
    }

    /// Runs what is due and moves `started` and `ready` accordingly.
    pub(crate) fn look(
        &mut self,
        program: &mut Program,
        target: &Target<'_>,
        started: &mut bool,
        ready: &mut bool,
    ) -> Found {
        let mut found = Found::default();
        for at in 0..self.list.len() {
            let prober = &mut self.list[at];
            let for_now = (prober.kind == Kind::Startup) != *started;
            if !for_now || prober.next.is_none_or(|next| next > target.now) {
                continue;
            }
            let kind = prober.kind;
            match prober.probe(program, target, &mut found.complaints) {
                Some(true) if kind == Kind::Startup => {
                    *started = true;
                    prober.next = None;
                    *ready = !self.has(Kind::Readiness);
                    self.hurry(target);
                }
                Some(true) if kind == Kind::Readiness => *ready = true,
                Some(false) if kind == Kind::Readiness => *ready = false,
                Some(false) => {
                    prober.next = None;
                    found.kill = found.kill.or(Some(kind));
                }
                _ => {}
            }
        }
        if !self.has(Kind::Readiness) && *started {
            self.follow_mood(program, target.now, ready, &mut found.complaints);
        }
        found
    }

    // Once a container has started, its readiness is looked at without waiting for the next tick.
    fn hurry(&mut self, target: &Target<'_>) {
        for prober in self.list.iter_mut().filter(|p| p.kind == Kind::Readiness) {
            let delay = number(target.container, "/readinessProbe/initialDelaySeconds", 0);
            if delay == 0 {
                prober.next = Some(target.now);
            }
        }
    }

    // A container without readiness probe is as ready as its plan says.
    fn follow_mood(
        &mut self,
        program: &Program,
        now: Timestamp,
        ready: &mut bool,
        complaints: &mut Vec<String>,
    ) {
        let Program::Plan(plan) = program else {
            return;
        };
        let (mood, changes) = plan.mood(now);
        *ready = !matches!(mood, Mood::Unready(_));
        self.mood_changes = changes;
        let passed = plan.moods.iter().filter(|(from, _)| *from <= now).count();
        if let Mood::Unready(text) = mood
            && passed > self.said
            && !text.is_empty()
        {
            complaints.push(format!("Readiness probe failed: {text}"));
        }
        self.said = passed;
    }
}

impl Prober {
    // Probes once. The answer is the new result when a threshold is reached.
    fn probe(
        &mut self,
        program: &mut Program,
        target: &Target<'_>,
        complaints: &mut Vec<String>,
    ) -> Option<bool> {
        let spec = target.container.pointer(self.kind.field())?;
        let (answer, holds_until) = ask(program, self.kind, spec, target);
        let success = answer.is_ok();
        if let Err(output) = answer {
            complaints.push(format!("{} probe failed: {output}", self.kind.word()));
        }
        self.row = if self.last == Some(success) {
            self.row.saturating_add(1)
        } else {
            1
        };
        self.last = Some(success);
        let reached = if success {
            self.row >= self.successes_min
        } else {
            self.row >= self.failures_max
        };
        let following = later(target.now, self.period);
        // A success that will not change needs no more looking at.
        self.next = match holds_until {
            Holds::Always if success && reached => None,
            Holds::Until(change) if success && reached => {
                Some(tick(following, self.period, change))
            }
            _ => Some(following),
        };
        reached.then_some(success)
    }
}

// How long an answer stays the same.
enum Holds {
    Always,
    Until(Timestamp),
    Unknown,
}

fn ask(
    program: &mut Program,
    kind: Kind,
    probe: &Value,
    target: &Target<'_>,
) -> (Result<(), String>, Holds) {
    match program {
        Program::Plan(plan) => {
            let (mood, changes) = plan.mood(target.now);
            let own = |text: &String, default: String| {
                if text.is_empty() {
                    default
                } else {
                    text.clone()
                }
            };
            let answer = match mood {
                Mood::Ready => Ok(()),
                Mood::Unready(_) if kind == Kind::Liveness => Ok(()),
                Mood::Unready(text) | Mood::Unhealthy(text) => {
                    Err(own(text, refused(probe, target)))
                }
                Mood::Hung => Err(timed_out(probe, target)),
            };
            (answer, changes.map_or(Holds::Always, Holds::Until))
        }
        Program::Script(process) => {
            let Some(command) = probe.pointer("/exec/command").and_then(Value::as_array) else {
                return (Ok(()), Holds::Always);
            };
            let argv: Vec<String> = command
                .iter()
                .map(|w| w.as_str().unwrap_or("").to_owned())
                .collect();
            let limit = number(probe, "/timeoutSeconds", 1);
            let done = process.exec(target.world, &argv, target.now);
            let answer = if done.took > seconds(limit) {
                Err(timed_out(probe, target))
            } else if done.code == 0 {
                Ok(())
            } else {
                Err(done.output)
            };
            (answer, Holds::Unknown)
        }
    }
}

// The first moment of a rhythm that is not before another.
fn tick(first: Timestamp, period: i64, not_before: Timestamp) -> Timestamp {
    if first >= not_before {
        return first;
    }
    let behind = not_before.micros() - first.micros();
    later(first, (behind + period - 1) / period * period)
}

fn refused(probe: &Value, target: &Target<'_>) -> String {
    if let Some(url) = url(probe, target) {
        let address = address(probe, "/httpGet", target);
        return format!("Get \"{url}\": dial tcp {address}: connect: connection refused");
    }
    if probe.get("tcpSocket").is_some() {
        let address = address(probe, "/tcpSocket", target);
        return format!("dial tcp {address}: connect: connection refused");
    }
    if probe.get("grpc").is_some() {
        return grpc_timeout(probe, target);
    }
    String::new()
}

fn timed_out(probe: &Value, target: &Target<'_>) -> String {
    let limit = number(probe, "/timeoutSeconds", 1);
    if let Some(url) = url(probe, target) {
        let why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
        return format!("Get \"{url}\": {why}");
    }
    if probe.get("tcpSocket").is_some() {
        return format!(
            "dial tcp {}: i/o timeout",
            address(probe, "/tcpSocket", target)
        );
    }
    if probe.get("grpc").is_some() {
        return grpc_timeout(probe, target);
    }
    let words: Vec<&str> = meta::entries(probe, "/exec/command")
        .filter_map(Value::as_str)
        .collect();
    format!(
        "command timed out: {:?} timed out after {limit}s",
        words.join(" ")
    )
}

fn grpc_timeout(probe: &Value, target: &Target<'_>) -> String {
    let limit = number(probe, "/timeoutSeconds", 1);
    format!(
        "timeout: failed to connect service \"{}:{}\" within {limit}s: context deadline exceeded",
        target.ip,
        number(probe, "/grpc/port", 0)
    )
}

fn url(probe: &Value, target: &Target<'_>) -> Option<String> {
    let get = probe.get("httpGet")?;
    let scheme = match meta::text_at(get, "/scheme") {
        "HTTPS" => "https",
        _ => "http",
    };
    let path = match meta::text_at(get, "/path") {
        "" => "/",
        path => path,
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    let address = address(probe, "/httpGet", target);
    Some(format!("{scheme}://{address}{slash}{path}"))
}

fn address(probe: &Value, handler: &str, target: &Target<'_>) -> String {
    let host = match meta::text_at(probe, &format!("{handler}/host")) {
        "" => target.ip,
        host => host,
    };
    let port = match probe.pointer(&format!("{handler}/port")) {
        Some(Value::String(name)) => meta::entries(target.container, "/ports")
            .find(|p| meta::text_at(p, "/name") == name)
            .map_or(0, |p| number(p, "/containerPort", 0)),
        Some(port) => port.as_i64().unwrap_or(0),
        None => 0,
    };
    format!("{host}:{port}")
}
