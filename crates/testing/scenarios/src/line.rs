//! One line of a `then` block: what must be seen.
//!
//! ```text
//! Deployment/web Available=False MinimumReplicasUnavailable "Deployment does not ..."
//! Pod/web-<hash>-<id> container app waiting CrashLoopBackOff
//! Deployment/web .status.readyReplicas = 3
//! Deployment/web .spec.paused absent
//! event Pod/web-<hash>-<id> Warning BackOff "Back-off ..."
//! logs Pod/migrate-<id> app "connection refused"
//! refused Pod/x 403 "pods \"x\" is forbidden: ..."
//! never Deployment/web Available=True
//! ```
//!
//! A line may say less than what is seen: words that are left out at the end may be anything, and
//! `...` at either end of a quoted text stands for the rest of it.

use crate::facts::Fact;
use crate::timeline::{Moment, Timeline};
use serde_json::Value;

/// What must be seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Line {
    /// A version of an object that says something.
    Says { subject: String, words: Vec<Word> },
    /// A version of an object with a field of a value; `None`: without it.
    Field {
        subject: String,
        path: Vec<Step>,
        value: Option<Value>,
    },
    /// An event.
    Event { words: Vec<Word> },
    /// A container's log that contains a text.
    Logs {
        subject: String,
        container: String,
        previous: bool,
        text: String,
    },
    /// A request that was refused.
    Refused { words: Vec<Word> },
    /// Something that is not seen in the whole scenario.
    Never(Box<Line>),
}

/// One word of what is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Plain(String),
    Quoted(String),
}

/// One step into an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    At(usize),
}

/// Reads a line.
pub(crate) fn parse(text: &str) -> Result<Line, String> {
    if let Some(rest) = text.strip_prefix("never ") {
        return Ok(Line::Never(Box::new(parse(rest)?)));
    }
    let words = split(text)?;
    let plain = |at: usize| match words.get(at) {
        Some(Word::Plain(word)) => Some(word.as_str()),
        _ => None,
    };
    match plain(0) {
        Some("event") => Ok(Line::Event {
            words: words[1..].to_vec(),
        }),
        Some("refused") => Ok(Line::Refused {
            words: words[1..].to_vec(),
        }),
        Some("logs") => logs(&words[1..]),
        Some(subject) if subject.contains('/') && words.len() > 1 => {
            let subject = subject.to_owned();
            match plain(1) {
                Some(path) if path.starts_with('.') => field(subject, path, text),
                _ => Ok(Line::Says {
                    subject,
                    words: words[1..].to_vec(),
                }),
            }
        }
        _ => Err("it begins with neither `Kind/name` nor a word we know".into()),
    }
}

fn logs(words: &[Word]) -> Result<Line, String> {
    let (words, previous) = match words {
        [rest @ .., Word::Plain(last)] if last == "previous" => (rest, true),
        all => (all, false),
    };
    match words {
        [
            Word::Plain(subject),
            Word::Plain(container),
            Word::Quoted(text),
        ] => Ok(Line::Logs {
            subject: subject.clone(),
            container: container.clone(),
            previous,
            text: text.clone(),
        }),
        _ => Err("write `logs Pod/name container \"text\" [previous]`".into()),
    }
}

fn field(subject: String, path: &str, text: &str) -> Result<Line, String> {
    let path_steps = steps(path)?;
    let rest = text.split_once(path).map_or("", |(_, rest)| rest).trim();
    if rest == "absent" {
        return Ok(Line::Field {
            subject,
            path: path_steps,
            value: None,
        });
    }
    let value = rest
        .strip_prefix('=')
        .ok_or("a path is followed by `= value` or `absent`")?;
    let value =
        serde_json::from_str(value.trim()).map_err(|e| format!("the value is no JSON: {e}"))?;
    Ok(Line::Field {
        subject,
        path: path_steps,
        value: Some(value),
    })
}

// `.a.b[0]["c.d/e"]`
fn steps(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix("[\"") {
            let (key, tail) = tail.split_once("\"]").ok_or("`[\"` without `\"]`")?;
            steps.push(Step::Key(key.to_owned()));
            rest = tail;
        } else if let Some(tail) = rest.strip_prefix('[') {
            let (at, tail) = tail.split_once(']').ok_or("`[` without `]`")?;
            steps.push(Step::At(at.parse().map_err(|_| "`[` takes a number")?));
            rest = tail;
        } else {
            let tail = rest
                .strip_prefix('.')
                .ok_or("a step begins with `.` or `[`")?;
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            steps.push(Step::Key(tail[..end].to_owned()));
            rest = &tail[end..];
        }
    }
    Ok(steps)
}

/// Words, and quoted texts as JSON has them.
fn split(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if rest.starts_with('"') {
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let said = stream
                .next()
                .and_then(Result::ok)
                .ok_or("a quote is not closed")?;
            words.push(Word::Quoted(said));
            rest = rest[stream.byte_offset()..].trim_start();
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            words.push(Word::Plain(rest[..end].to_owned()));
            rest = rest[end..].trim_start();
        }
    }
    Ok(words)
}

/// Whether a text says what the words say, and perhaps more.
pub(crate) fn says(text: &str, wanted: &[Word]) -> bool {
    let Ok(said) = split(text) else { return false };
    wanted.len() <= said.len()
        && wanted
            .iter()
            .zip(&said)
            .all(|(wanted, said)| same(wanted, said))
}

fn same(wanted: &Word, said: &Word) -> bool {
    let (Word::Quoted(wanted), Word::Quoted(said)) = (wanted, said) else {
        return wanted == said;
    };
    match (wanted.strip_prefix("..."), wanted.strip_suffix("...")) {
        (Some(_), Some(_)) if wanted.len() > 6 => said.contains(&wanted[3..wanted.len() - 3]),
        (Some(end), _) => said.ends_with(end),
        (_, Some(start)) => said.starts_with(start),
        (None, None) => wanted == said,
    }
}

impl Line {
    /// The first moment from `from` on that shows an object as the line wants it.
    pub(crate) fn find(&self, timeline: &Timeline, from: usize) -> Option<usize> {
        let later = timeline.moments.iter().enumerate().skip(from);
        match self {
            Self::Says { subject, words } => {
                let fits = |m: &Moment| {
                    m.subject == *subject && m.facts.iter().any(|fact| says(&fact.text, words))
                };
                later.filter(|(_, m)| fits(m)).map(|(at, _)| at).next()
            }
            Self::Field {
                subject,
                path,
                value,
            } => {
                let fits = |m: &Moment| {
                    m.subject == *subject && field_is(timeline, m, path, value.as_ref())
                };
                later.filter(|(_, m)| fits(m)).map(|(at, _)| at).next()
            }
            Self::Event { .. } | Self::Logs { .. } | Self::Refused { .. } | Self::Never(_) => None,
        }
    }

    /// The object a line is about, when order matters to it.
    pub(crate) fn subject(&self) -> Option<&str> {
        match self {
            Self::Says { subject, .. } | Self::Field { subject, .. } => Some(subject),
            _ => None,
        }
    }
}

fn field_is(timeline: &Timeline, moment: &Moment, path: &[Step], value: Option<&Value>) -> bool {
    let mut at = Some(&moment.body);
    for step in path {
        at = at.and_then(|v| match step {
            Step::Key(key) => v.get(key.as_str()),
            Step::At(index) => v.get(*index),
        });
    }
    match (at.filter(|v| !v.is_null()), value) {
        (None, None) => true,
        (Some(Value::String(got)), Some(Value::String(wanted))) => {
            timeline.names.text(got) == *wanted
        }
        (Some(got), Some(wanted)) => got == wanted,
        _ => false,
    }
}

/// Whether an event was seen.
pub(crate) fn event_seen(events: &[Fact], words: &[Word]) -> bool {
    events.iter().any(|event| says(&event.text, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_says(line: &str, text: &str, wanted: bool) {
        let words = split(line).unwrap();
        assert_eq!(says(text, &words), wanted, "{line} ~ {text}");
    }

    #[test]
    fn a_line_may_say_less() {
        let text = r#"Available=False Few "not \"enough\" yet""#;
        check_says("Available=False", text, true);
        check_says("Available=False Few", text, true);
        check_says("Available=False Many", text, false);
        check_says(r#"Available=False Few "not \"enough\" yet""#, text, true);
        check_says(r#"Available=False Few "not ...""#, text, true);
        check_says(r#"Available=False Few "...enough..." "#, text, true);
        check_says(r#"Available=False Few "...yet""#, text, true);
        check_says(r#"Available=False Few "enough""#, text, false);
        check_says(r#"Available=False Few "" more"#, text, false);
    }

    #[test]
    fn fields_are_paths_into_the_object() {
        let line = parse(r#"Deployment/web .metadata.annotations["a.b/c"] = "1""#).unwrap();
        let Line::Field { path, value, .. } = line else {
            panic!("{line:?}")
        };
        assert_eq!(path.last(), Some(&Step::Key("a.b/c".into())));
        assert_eq!(value, Some(Value::from("1")));
        assert!(parse("Deployment/web .spec.x").is_err());
        assert!(matches!(
            parse("Deployment/web .spec.x absent"),
            Ok(Line::Field { value: None, .. })
        ));
    }

    #[test]
    fn lines_that_say_nothing_are_faults() {
        for text in ["Deployment/web", "hello", "logs Pod/x", r#"Pod/x phase "a"#] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(matches!(parse("never Pod/x gone"), Ok(Line::Never(_))));
    }
}
