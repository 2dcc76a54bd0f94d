//! Names and values that differ from run to run, and what a recording calls them.
//!
//! | in the cluster | in a recording |
//! |---|---|
//! | the scenario's namespace | `$NS` |
//! | the hash of a Deployment's first, second, … ReplicaSet | `<hash>`, `<hash2>`, … |
//! | the same of a ControllerRevision | `<revision>`, `<revision2>`, … |
//! | five random letters after a `generateName` | `<id>` |
//! | the minute in the name of a CronJob's Job | `<minute>` |
//! | a UUID | `<uid>` |
//! | an instant after 2021 | `<time>` |
//! | an address of a Pod, of a Service | `<ip>` |
//! | `in 12ms`, how long a pull took | `in <time>` |
//! | `(combined from similar events): ` before an event's message | nothing |

use crate::facts::{Fact, items, text};
use serde_json::Value;
use std::collections::BTreeMap;

/// What stands for what.
#[derive(Debug)]
pub(crate) struct Names {
    // Longest first, so that no part of a name is replaced before the whole.
    known: Vec<(String, String)>,
    // How many hashes each owner has.
    counts: BTreeMap<String, usize>,
}

impl Names {
    pub(crate) fn new(namespace: &str) -> Self {
        Self {
            known: vec![(namespace.to_owned(), "$NS".to_owned())],
            counts: BTreeMap::new(),
        }
    }

    /// How many names are known.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Learns what an object is called.
    pub(crate) fn learn(&mut self, kind: &str, body: &Value) {
        let metadata = &body["metadata"];
        let name = text(metadata, "name");
        if self.known.iter().any(|(known, _)| known == name) {
            return;
        }
        match kind {
            "ReplicaSet" => {
                let hash = text(&metadata["labels"], "pod-template-hash");
                self.hash(name, hash, "hash");
            }
            "ControllerRevision" => {
                let owner = items(&metadata["ownerReferences"]).next();
                let prefix = owner.map_or(String::new(), |o| format!("{}-", text(o, "name")));
                if let Some(hash) = name.strip_prefix(&prefix).filter(|_| !prefix.is_empty()) {
                    self.hash(name, hash, "revision");
                }
            }
            "Job" => self.minute(name),
            _ => {}
        }
        let prefix = text(metadata, "generateName");
        if let Some(random) = name.strip_prefix(prefix)
            && !prefix.is_empty()
            && random.len() == 5
        {
            let shown = format!("{}<id>", self.text(prefix));
            self.add(name, shown);
        }
    }

    fn hash(&mut self, name: &str, hash: &str, word: &str) {
        let Some(owner) = name.strip_suffix(hash).filter(|_| !hash.is_empty()) else {
            return;
        };
        let count = self.counts.entry(format!("{word} {owner}")).or_default();
        *count += 1;
        let ordinal = if *count == 1 {
            String::new()
        } else {
            count.to_string()
        };
        let shown = format!("<{word}{ordinal}>");
        self.add(name, format!("{owner}{shown}"));
        self.add(hash, shown);
    }

    fn minute(&mut self, name: &str) {
        if let Some((owner, minute)) = name.rsplit_once('-')
            && minute.len() == 8
            && minute.bytes().all(|b| b.is_ascii_digit())
        {
            self.add(name, format!("{owner}-<minute>"));
        }
    }

    fn add(&mut self, from: &str, to: String) {
        if self.known.iter().all(|(known, _)| known != from) {
            self.known.push((from.to_owned(), to));
            self.known
                .sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        }
    }

    /// A fact as a recording has it.
    pub(crate) fn fact(&self, fact: &Fact) -> Fact {
        Fact {
            facet: self.text(&fact.facet),
            text: self.text(&fact.text),
        }
    }

    /// A text as a recording has it.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.known {
            if text.contains(from.as_str()) {
                text = text.replace(from.as_str(), to);
            }
        }
        if text.contains(COMBINED) {
            text = text.replace(COMBINED, "");
        }
        if text.contains(" is forbidden: ") {
            text = refused_name(&text);
        }
        pieces(&text)
    }
}

/// What an event recorder puts before the message when there were many like it.
const COMBINED: &str = "(combined from similar events): ";
/// What names are made of.
const RANDOM: &str = "bcdfghjklmnpqrstvwxz2456789";

// A name that was drawn for a Pod that was then refused was never seen elsewhere:
// `pods "web-x7k2p" is forbidden`.
fn refused_name(text: &str) -> String {
    let Some((before, rest)) = text.split_once("pods \\\"") else {
        return text.to_owned();
    };
    let Some((name, after)) = rest.split_once("\\\" is forbidden") else {
        return text.to_owned();
    };
    let Some((start, drawn)) = name.rsplit_once('-') else {
        return text.to_owned();
    };
    let random = drawn.len() == 5 && drawn.chars().all(|c| RANDOM.contains(c));
    let shown = if random { "<id>" } else { drawn };
    format!("{before}pods \\\"{start}-{shown}\\\" is forbidden{after}")
}

// Replaces what is told by its form alone.
fn pieces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let inside = out.ends_with(|c: char| c.is_ascii_alphanumeric());
        if !inside && let Some((length, word)) = piece(rest, &out) {
            out.push_str(word);
            rest = &rest[length..];
        } else {
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    out
}

fn piece(text: &str, before: &str) -> Option<(usize, &'static str)> {
    let first = text.as_bytes().first()?;
    if !first.is_ascii_alphanumeric() {
        return None;
    }
    if matches(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
        return Some((36, "<uid>"));
    }
    if matches(text, "dddd-dd-ddTdd:dd:dd") && text >= "2022" {
        let end = text.find('Z').filter(|end| *end < 40)?;
        return Some((end + 1, "<time>"));
    }
    let number = |text: &str| {
        text.bytes()
            .take_while(|b| b.is_ascii_digit() || *b == b'.')
            .count()
    };
    for prefix in ["10.244.", "10.245.", "10.246.", "10.247.", "10.0.0."] {
        if let Some(tail) = text.strip_prefix(prefix) {
            let tail = tail.trim_end_matches('.');
            return Some((prefix.len() + number(tail), "<ip>"));
        }
    }
    let digits = number(text);
    if digits > 0 && (before.ends_with(" in ") || before.ends_with('(')) {
        let unit = ["ms", "µs", "s"]
            .into_iter()
            .find(|u| text[digits..].starts_with(u))?;
        let after = &text[digits + unit.len()..];
        let whole = after.starts_with(' ') || after.starts_with(')');
        return whole.then_some((digits + unit.len(), "<time>"));
    }
    None
}

// `x` is a hexadecimal digit, `d` a decimal one.
fn matches(text: &str, pattern: &str) -> bool {
    let mut letters = text.bytes();
    pattern.bytes().all(|wanted| {
        letters.next().is_some_and(|letter| match wanted {
            b'x' => letter.is_ascii_hexdigit(),
            b'd' => letter.is_ascii_digit(),
            _ => letter == wanted,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(names: &Names, text: &str, wanted: &str) {
        assert_eq!(names.text(text), wanted);
    }

    #[test]
    fn random_names_are_told_by_their_owners() {
        let mut names = Names::new("t-x");
        for hash in ["6d4cf56db6", "7f9c6b5d44"] {
            let labels = json!({"pod-template-hash": hash});
            let name = format!("web-{hash}");
            names.learn(
                "ReplicaSet",
                &json!({"metadata": {"name": name, "labels": labels}}),
            );
        }
        let pod = json!({"metadata": {"name": "web-7f9c6b5d44-x7k2p", "generateName": "web-7f9c6b5d44-"}});
        names.learn("Pod", &pod);
        names.learn(
            "Pod",
            &json!({"metadata": {"name": "db-0", "generateName": "db-"}}),
        );
        names.learn("Job", &json!({"metadata": {"name": "nightly-29384756"}}));
        check(
            &names,
            "Created pod: web-7f9c6b5d44-x7k2p",
            "Created pod: web-<hash2>-<id>",
        );
        check(&names, "web-6d4cf56db6 of t-x", "web-<hash> of $NS");
        check(&names, "db-0 nightly-29384756", "db-0 nightly-<minute>");
    }

    #[test]
    fn forms_tell_the_rest() {
        let names = Names::new("t-x");
        check(
            &names,
            "pod(a6286382-eb89-481c-8a7c-dae64294f283)",
            "pod(<uid>)",
        );
        check(&names, "at 2026-11-15T19:57:17Z.", "at <time>.");
        check(
            &names,
            "http://10.244.0.17:80/ 10.0.1.45:5432",
            "http://<ip>:80/ 10.0.1.45:5432",
        );
        check(
            &names,
            "pulled in 12ms (15ms including",
            "pulled in <time> (<time> including",
        );
        check(
            &names,
            r#""(combined from similar events): Error: pods \"web-x7k2p\" is forbidden: quota""#,
            r#""Error: pods \"web-<id>\" is forbidden: quota""#,
        );
        check(&names, "back-off 10s restarting", "back-off 10s restarting");
    }
}
