//! Plays a scenario on a cluster.
//!
//! Takes a [`Case`] and a [`Target`]; gives the [`Recording`] of everything that was seen in the
//! scenario's namespace and the lines that were not seen in time.

use crate::case::{Act, Case, Deletion};
use crate::kinds;
use crate::line::{self, Line};
use crate::recording::Recording;
use crate::target::{Ask, KindRef, Reply, Target, TargetError};
use crate::timeline::Timeline;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// How much time passes between two looks.
const STEP: Duration = Duration::from_millis(100);
/// How long a scenario is watched after its last line was seen.
const SETTLE: Duration = Duration::from_secs(3);
/// How long a fresh namespace may wait for its ServiceAccount.
const START: Duration = Duration::from_secs(30);
/// How long a custom resource may be unknown after its definition.
const DEFINED: Duration = Duration::from_secs(10);

/// What became of a scenario.
#[derive(Debug)]
pub struct Played {
    /// What was seen.
    pub recording: Recording,
    /// What was not, or should not have been.
    pub failures: Vec<Failure>,
    /// How long it took, on the cluster's clock.
    pub time: Duration,
}

/// One expectation that did not come true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line of the file.
    pub line: usize,
    /// What happened, or did not.
    pub what: String,
}

/// Plays a scenario.
pub fn run(case: &Case, target: &mut dyn Target) -> Result<Played, TargetError> {
    let namespace = case.namespace();
    let mut play = Play {
        timeline: Timeline::new(&namespace),
        namespace,
        target,
        cursors: BTreeMap::new(),
        refusals: Vec::new(),
        expected: Vec::new(),
        failures: Vec::new(),
    };
    play.begin()?;
    for step in &case.steps {
        if !play.failures.is_empty() {
            break;
        }
        play.step(step.line, &step.act)?;
    }
    play.settle();
    play.close(case);
    let time = play.target.elapsed();
    let mut recording = Recording::of(&play.timeline);
    recording.refusals = play.refusals;
    Ok(Played {
        recording,
        failures: play.failures,
        time,
    })
}

struct Play<'a> {
    target: &'a mut dyn Target,
    namespace: String,
    timeline: Timeline,
    /// How far each object has been followed.
    cursors: BTreeMap<String, usize>,
    /// `Kind/name 403 "message"`.
    refusals: Vec<String>,
    /// Which of them a line asked for.
    expected: Vec<usize>,
    failures: Vec<Failure>,
}

impl Play<'_> {
    fn begin(&mut self) -> Result<(), TargetError> {
        let body = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": self.namespace},
        });
        self.ask("POST", "/api/v1/namespaces", "application/json", &body)?;
        let account = line::parse("ServiceAccount/default created").expect("a line we wrote");
        let until = self.target.elapsed() + START;
        while account.find(&self.timeline, 0).is_none() && self.target.elapsed() < until {
            self.target.pass(STEP);
            self.look();
        }
        Ok(())
    }

    fn look(&mut self) {
        let seen = self.target.seen();
        self.timeline.extend(seen);
    }

    fn settle(&mut self) {
        let until = self.target.elapsed() + SETTLE;
        while self.target.elapsed() < until {
            self.target.pass(STEP);
        }
        self.look();
    }

    fn step(&mut self, line: usize, act: &Act) -> Result<(), TargetError> {
        match act {
            Act::Apply { manifests, other } => {
                for manifest in manifests {
                    self.apply(manifest, other.as_deref())?;
                }
            }
            Act::Patch {
                subject,
                subresource,
                body,
            } => {
                let below = subresource
                    .as_ref()
                    .map_or(String::new(), |s| format!("/{s}"));
                let path = self.path(subject) + &below;
                let reply = self.ask("PATCH", &path, "application/merge-patch+json", body)?;
                self.note(subject, &reply);
            }
            Act::Delete(deletions) => {
                for deletion in deletions {
                    self.delete(deletion)?;
                }
            }
            Act::Evict(subjects) => {
                for subject in subjects {
                    self.evict(subject)?;
                }
            }
            Act::Wait(time) => {
                let until = self.target.elapsed() + *time;
                while self.target.elapsed() < until {
                    self.target.pass(STEP);
                    self.look();
                }
            }
            Act::Then { lines, within } => self.then(line, lines, *within),
        }
        self.look();
        Ok(())
    }

    fn apply(&mut self, manifest: &Value, other: Option<&str>) -> Result<(), TargetError> {
        let kind = kinds::of(manifest);
        let name = manifest["metadata"]["name"].as_str().unwrap_or("");
        let query = match other {
            None => "fieldManager=scenario&force=true".to_owned(),
            Some(name) => format!("fieldManager={name}"),
        };
        let path = format!("{}/{name}?{query}", kind.path(&self.namespace));
        let subject = format!("{}/{name}", kind.kind);
        let custom = kinds::named(&kind.kind).is_none();
        if custom {
            self.target.also_watch(&KindRef(kind));
        }
        let until = self.target.elapsed() + DEFINED;
        loop {
            let reply = self.ask("PATCH", &path, "application/apply-patch+yaml", manifest)?;
            // A fresh definition is served a moment later.
            if custom && reply.status == 404 && self.target.elapsed() < until {
                self.target.pass(STEP);
                continue;
            }
            self.note(&subject, &reply);
            return Ok(());
        }
    }

    fn delete(&mut self, deletion: &Deletion) -> Result<(), TargetError> {
        let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        if let Some(policy) = deletion.propagation {
            body["propagationPolicy"] = policy.into();
        }
        if let Some(grace) = deletion.grace {
            body["gracePeriodSeconds"] = grace.into();
        }
        let path = self.path(&deletion.subject);
        let reply = self.ask("DELETE", &path, "application/json", &body)?;
        self.note(&deletion.subject, &reply);
        Ok(())
    }

    fn evict(&mut self, subject: &str) -> Result<(), TargetError> {
        let path = self.path(subject);
        let name = path.rsplit('/').next().unwrap_or("").to_owned();
        let body = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": self.namespace},
        });
        let reply = self.ask(
            "POST",
            &format!("{path}/eviction"),
            "application/json",
            &body,
        )?;
        self.note(subject, &reply);
        Ok(())
    }

    // The path of an object by its name in a recording, or by its name as it is.
    fn path(&self, subject: &str) -> String {
        let (kind, name) = subject.split_once('/').unwrap_or((subject, ""));
        let shown = subject.replace(&self.namespace, "$NS");
        let name = self
            .timeline
            .real_name(&shown)
            .unwrap_or_else(|| name.to_owned());
        let kind = kinds::named(kind).unwrap_or_else(|| self.custom(kind));
        format!("{}/{name}", kind.path(&self.namespace))
    }

    fn custom(&self, kind: &str) -> kinds::Kind {
        let living = self.timeline.living();
        let found = living.iter().find(|((k, _), _)| *k == kind);
        kinds::of(found.map_or(&json!({"apiVersion": "v1", "kind": kind}), |(_, m)| &m.body))
    }

    fn ask(
        &mut self,
        method: &'static str,
        path: &str,
        content_type: &'static str,
        body: &Value,
    ) -> Result<Reply, TargetError> {
        self.target.ask(&Ask {
            method,
            path: path.to_owned(),
            content_type,
            body: body.to_string(),
        })
    }

    fn note(&mut self, subject: &str, reply: &Reply) {
        if reply.status >= 400 {
            let message = Value::from(reply.message());
            let said = format!("{subject} {} {message}", reply.status);
            self.refusals.push(self.timeline.names.text(&said));
        }
    }

    fn then(&mut self, _line: usize, lines: &[(usize, String, Line)], within: Duration) {
        let until = self.target.elapsed() + within;
        let mut open: Vec<&(usize, String, Line)> = lines.iter().collect();
        loop {
            self.look();
            self.advance(&mut open);
            if open.is_empty() {
                return;
            }
            if self.target.elapsed() >= until {
                break;
            }
            self.target.pass(STEP);
        }
        for (line, text, _) in open {
            let what = format!("not seen within {} s: {text}", within.as_secs());
            self.failures.push(Failure { line: *line, what });
        }
    }

    // Strikes out the lines that have come true; of the lines about one object only the first
    // open one is looked at.
    fn advance(&mut self, open: &mut Vec<&(usize, String, Line)>) {
        let mut blocked: Vec<String> = Vec::new();
        let mut left = Vec::new();
        for entry in std::mem::take(open) {
            let line = &entry.2;
            let done = match line.subject() {
                Some(subject) if blocked.iter().any(|b| b == subject) => false,
                Some(subject) => self.follow(subject, line),
                None => self.happened(line),
            };
            if !done {
                blocked.extend(line.subject().map(str::to_owned));
                left.push(entry);
            }
        }
        *open = left;
    }

    fn follow(&mut self, subject: &str, line: &Line) -> bool {
        let from = self.cursors.get(subject).copied().unwrap_or(0);
        let Some(at) = line.find(&self.timeline, from) else {
            return false;
        };
        self.cursors.insert(subject.to_owned(), at);
        true
    }

    fn happened(&mut self, line: &Line) -> bool {
        match line {
            Line::Event { words } => line::event_seen(self.timeline.events(), words),
            Line::Refused { words } => {
                let found = self
                    .refusals
                    .iter()
                    .position(|said| line::says(said, words));
                self.expected.extend(found);
                found.is_some()
            }
            Line::Logs {
                subject,
                container,
                previous,
                text,
            } => {
                let path = format!(
                    "{}/log?container={container}&previous={previous}",
                    self.path(subject)
                );
                let ask = Ask {
                    method: "GET",
                    path,
                    content_type: "",
                    body: String::new(),
                };
                let reply = self.target.ask(&ask);
                reply.is_ok_and(|r| r.status == 200 && r.text.contains(text))
            }
            // Looked at when all is over.
            Line::Never(_) => true,
            Line::Says { .. } | Line::Field { .. } => false,
        }
    }

    // What can only be told at the end: what never happened, and refusals nobody expected.
    fn close(&mut self, case: &Case) {
        for step in &case.steps {
            let Act::Then { lines, .. } = &step.act else {
                continue;
            };
            for (line, text, parsed) in lines {
                let Line::Never(inner) = parsed else { continue };
                let seen = match &**inner {
                    Line::Event { .. } | Line::Refused { .. } | Line::Logs { .. } => {
                        self.happened(inner)
                    }
                    other => other.find(&self.timeline, 0).is_some(),
                };
                if seen {
                    let what = format!("seen: {text}");
                    self.failures.push(Failure { line: *line, what });
                }
            }
        }
        for (at, refusal) in self.refusals.iter().enumerate() {
            if !self.expected.contains(&at) {
                let what = format!("a request was refused: {refusal}");
                self.failures.push(Failure { line: 0, what });
            }
        }
    }
}
