//! What was seen of a scenario's namespace, as text that two clusters share.
//!
//! For every object: what it said, in order; then the fields of its last version. Objects whose
//! names differ only in random letters are listed one after the other without an order. Events
//! are a set. Two recordings agree when every object said the same things of each facet (a
//! condition, the phase, a container) in the same order; how facets of different writers
//! interleave, how often an event was repeated, and whether a Deployment found the time to say that
//! it progresses before it said that it has progressed, is not compared.

use crate::facts::{self, Fact};
use crate::timeline::{Change, Timeline};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// What each object said, by `Kind/name`.
    pub objects: BTreeMap<String, Vec<Story>>,
    /// What each event said.
    pub events: BTreeSet<String>,
    /// Which requests were refused.
    pub refusals: Vec<String>,
}

/// The story of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Story {
    /// What it said, in order: facet and text.
    said: Vec<Fact>,
    /// The fields of its last version; none when it is gone.
    finally: Vec<Fact>,
}

/// Objects that every namespace has, and those that only carry what was given.
fn is_told(subject: &str) -> bool {
    !matches!(
        subject,
        "ServiceAccount/default" | "ConfigMap/kube-root-ca.crt"
    ) && !subject.starts_with("Secret/")
        && !subject.starts_with("ConfigMap/")
}

impl Recording {
    /// The recording of a timeline.
    pub(crate) fn of(timeline: &Timeline) -> Self {
        let mut by_uid: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (at, moment) in timeline.moments.iter().enumerate() {
            let key = (moment.subject.as_str(), moment.uid.as_str());
            by_uid.entry(key).or_default().push(at);
        }
        let mut objects: BTreeMap<String, Vec<Story>> = BTreeMap::new();
        for ((subject, _), at) in by_uid {
            if is_told(subject) {
                let story = story(timeline, &at);
                objects.entry(subject.to_owned()).or_default().push(story);
            }
        }
        for stories in objects.values_mut() {
            stories.sort();
        }
        let events = timeline.events().iter().map(|e| e.text.clone()).collect();
        Self {
            objects,
            events,
            refusals: Vec::new(),
        }
    }
}

fn story(timeline: &Timeline, moments: &[usize]) -> Story {
    let mut story = Story::default();
    let mut now: BTreeMap<&str, &str> = BTreeMap::new();
    for at in moments {
        for fact in &timeline.moments[*at].facts {
            if now.get(fact.facet.as_str()) != Some(&fact.text.as_str()) {
                now.insert(&fact.facet, &fact.text);
                story.said.push(fact.clone());
            }
        }
    }
    if let Some(last) = moments.last().map(|at| &timeline.moments[*at])
        && last.change != Change::Deleted
    {
        let fields = facts::finally(&last.kind, &last.body);
        story.finally = fields.iter().map(|f| timeline.names.fact(f)).collect();
    }
    story
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (subject, stories) in &self.objects {
            for story in stories {
                writeln!(f, "{subject}")?;
                for fact in &story.said {
                    writeln!(f, "  {}", fact.text)?;
                }
                for fact in &story.finally {
                    writeln!(f, "  finally {}", fact.text)?;
                }
            }
        }
        for event in &self.events {
            writeln!(f, "event {event}")?;
        }
        for refusal in &self.refusals {
            writeln!(f, "refused {refusal}")?;
        }
        Ok(())
    }
}

/// Reads a recording back. Facets are told from the texts.
pub fn parse(text: &str) -> Recording {
    let mut recording = Recording::default();
    let mut subject = String::new();
    for line in text.lines() {
        if let Some(said) = line.strip_prefix("  ") {
            let stories = recording.objects.entry(subject.clone()).or_default();
            let Some(story) = stories.last_mut() else {
                continue;
            };
            if let Some(field) = said.strip_prefix("finally ") {
                story.finally.push(field_fact(field));
            } else {
                story.said.push(said_fact(said));
            }
        } else if let Some(event) = line.strip_prefix("event ") {
            recording.events.insert(event.to_owned());
        } else if let Some(refusal) = line.strip_prefix("refused ") {
            recording.refusals.push(refusal.to_owned());
        } else if !line.is_empty() && !line.starts_with('#') {
            line.clone_into(&mut subject);
            let stories = recording.objects.entry(subject.clone()).or_default();
            stories.push(Story::default());
        }
    }
    recording
}

fn field_fact(text: &str) -> Fact {
    let facet = text.split_once(" = ").map_or(text, |(path, _)| path);
    Fact {
        facet: facet.to_owned(),
        text: text.to_owned(),
    }
}

fn said_fact(text: &str) -> Fact {
    let words: Vec<&str> = text.splitn(4, ' ').collect();
    let facet = match words.as_slice() {
        ["created" | "terminating" | "gone"] => "life".to_owned(),
        ["phase", ..] => "phase".to_owned(),
        ["container", name, "last", ..] => format!("container {name} last"),
        ["container", name, "ready" | "unready"] => format!("container {name} ready"),
        ["container", name, "restarts", _] => format!("container {name} restarts"),
        ["container", name, ..] => format!("container {name}"),
        [first, ..] => first
            .split_once('=')
            .map_or(*first, |(name, _)| name)
            .to_owned(),
        [] => String::new(),
    };
    Fact {
        facet,
        text: text.to_owned(),
    }
}

/// One thing that two recordings tell differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `Kind/name`, or `event` or `refused`.
    pub subject: String,
    /// The condition, container or field; for an event its words.
    pub facet: String,
    /// What the first recording tells.
    pub wanted: String,
    /// What the second one tells.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &str| {
            if text.is_empty() {
                "-".to_owned()
            } else {
                text.to_owned()
            }
        };
        write!(
            f,
            "{} | {}\n      real: {}\n      ours: {}",
            self.subject,
            self.facet,
            shown(&self.wanted),
            shown(&self.got)
        )
    }
}

/// Where two recordings differ.
pub fn compare(wanted: &Recording, got: &Recording) -> Vec<Difference> {
    let mut found = Vec::new();
    let subjects: BTreeSet<&String> = wanted.objects.keys().chain(got.objects.keys()).collect();
    let none = Vec::new();
    for subject in subjects {
        let a = wanted.objects.get(subject).unwrap_or(&none);
        let b = got.objects.get(subject).unwrap_or(&none);
        if a.len() == b.len() {
            facets(subject, &told(a), &told(b), &mut found);
        } else {
            found.push(Difference {
                subject: subject.clone(),
                facet: "count".into(),
                wanted: a.len().to_string(),
                got: b.len().to_string(),
            });
        }
    }
    sets("event", &wanted.events, &got.events, &mut found);
    let set = |list: &[String]| list.iter().cloned().collect();
    sets(
        "refused",
        &set(&wanted.refusals),
        &set(&got.refusals),
        &mut found,
    );
    found
}

// What is told of each facet: one text for each object of that name, without an order.
fn told(stories: &[Story]) -> BTreeMap<String, Vec<String>> {
    let mut by_facet: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for story in stories {
        let mut own: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for fact in &story.said {
            let said = own.entry(fact.facet.clone()).or_default();
            // Pods that are ready at once leave no time for the word in between.
            if fact
                .text
                .starts_with("Progressing=True NewReplicaSetAvailable")
                && said
                    .last()
                    .is_some_and(|text| text.starts_with("Progressing=True ReplicaSetUpdated"))
            {
                said.pop();
            }
            said.push(&fact.text);
        }
        for fact in &story.finally {
            own.entry(format!("finally {}", fact.facet))
                .or_default()
                .push(&fact.text);
        }
        for (facet, texts) in own {
            by_facet
                .entry(facet)
                .or_default()
                .push(texts.join("\n            "));
        }
    }
    for texts in by_facet.values_mut() {
        texts.sort();
    }
    by_facet
}

fn facets(
    subject: &str,
    wanted: &BTreeMap<String, Vec<String>>,
    got: &BTreeMap<String, Vec<String>>,
    found: &mut Vec<Difference>,
) {
    let names: BTreeSet<&String> = wanted.keys().chain(got.keys()).collect();
    for name in names {
        let (a, b) = (wanted.get(name), got.get(name));
        if a != b {
            let show = |texts: Option<&Vec<String>>| {
                texts.map_or(String::new(), |t| t.join("\n         or "))
            };
            found.push(Difference {
                subject: subject.to_owned(),
                facet: name.clone(),
                wanted: show(a),
                got: show(b),
            });
        }
    }
}

fn sets(
    subject: &str,
    wanted: &BTreeSet<String>,
    got: &BTreeSet<String>,
    found: &mut Vec<Difference>,
) {
    for one in wanted.symmetric_difference(got) {
        let here = wanted.contains(one);
        let shown = |yes: bool| if yes { one.clone() } else { String::new() };
        found.push(Difference {
            subject: subject.to_owned(),
            facet: one.clone(),
            wanted: shown(here),
            got: shown(!here),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Pod/a-<id>\n  created\n  phase Pending\n  container app waiting X \"y\"\n  \
                        container app unready\n  finally .status.qosClass = \"BestEffort\"\n\
                        Pod/a-<id>\n  created\nevent Pod/a-<id> Normal Pulled \"x\" by kubelet\n\
                        refused Pod/b 403 \"no\"\n";

    #[test]
    fn a_recording_is_read_back_as_it_was_written() {
        assert_eq!(parse(TEXT).to_string(), TEXT);
    }

    fn check(change: (&str, &str), wanted: &[&str]) {
        let other = TEXT.replace(change.0, change.1);
        let found = compare(&parse(TEXT), &parse(&other));
        let places: Vec<String> = found
            .iter()
            .map(|d| format!("{} | {}", d.subject, d.facet))
            .collect();
        assert_eq!(places, wanted);
    }

    #[test]
    fn progress_that_nobody_had_time_to_see_is_not_compared() {
        let text = |between: &str| {
            format!(
                "Deployment/a\n  Progressing=True NewReplicaSetCreated\n{between}  Progressing=True NewReplicaSetAvailable\n"
            )
        };
        let slow = parse(&text("  Progressing=True ReplicaSetUpdated \"x\"\n"));
        assert_eq!(compare(&slow, &parse(&text(""))), []);
        let late = parse(&text("  Progressing=False ProgressDeadlineExceeded\n"));
        assert_eq!(compare(&slow, &late).len(), 1);
    }

    #[test]
    fn differences_are_told_by_object_and_facet() {
        check(("Pending", "Running"), &["Pod/a-<id> | phase"]);
        check(
            ("BestEffort", "Burstable"),
            &["Pod/a-<id> | finally .status.qosClass"],
        );
        check(
            ("created\n  phase Pending\n", "phase Pending\n  created\n"),
            &[],
        );
        check(
            ("Pod/a-<id>\n  created\nevent", "event"),
            &["Pod/a-<id> | count"],
        );
        check(
            ("Normal Pulled", "Normal Killed"),
            &[
                "event | Pod/a-<id> Normal Killed \"x\" by kubelet",
                "event | Pod/a-<id> Normal Pulled \"x\" by kubelet",
            ],
        );
        check(
            ("403", "422"),
            &["refused | Pod/b 403 \"no\"", "refused | Pod/b 422 \"no\""],
        );
    }
}
