//! What an annotation asks a container to do: `sandbox.tiphys.dev/<container>: ready after 2s`.
//!
//! A behaviour is a sequence of phrases, joined by `, then ` or by line breaks:
//!
//! | phrase | what the container does |
//! |---|---|
//! | `ready`, `ready after 2s` | runs; its probes succeed from then on |
//! | `never ready: <probe message>` | runs; readiness and startup probes fail |
//! | `unhealthy after 10s: <probe message>` | runs; all probes fail from then on |
//! | `crash [code] after 1s: <log line>` | writes the line and exits (code 1) |
//! | `exit 0 after 5s` | exits with the code |
//! | `oom after 3s` | is killed for its memory: 137, OOMKilled |
//! | `hang` | runs, answers no probe and no signal |
//! | `log: <line>` | writes a line |
//! | `image: not found`, `image: unauthorized`, `image: <answer>` | its image cannot be pulled |
//!
//! A phrase may be said to hold `once`, `twice` or `3 times`; the last one holds for ever. Phrases up
//! to one that ends the container make up one run; the next run follows the phrases after it:
//! `crash 1 after 1s twice, then ready`.

use crate::run::{Exit, Mood, Plan};
use crate::spec::later;
use model::Timestamp;

/// Annotations with this prefix and a container's name script that container.
pub const ANNOTATION_PREFIX: &str = "sandbox.tiphys.dev/";
/// How often a phrase may be repeated by `N times`.
const TIMES_MAX: u32 = 1_000;
/// How many phrases one annotation may have.
const PHRASES_MAX: usize = 100;

/// What an annotation says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Behaviour {
    /// What each run does; the last one is what all further runs do.
    lives: Vec<Vec<Phrase>>,
    /// Answers of the registry to the first pulls.
    pulls: Vec<String>,
    /// Whether the last answer stays.
    never_pulled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Phrase {
    deed: Deed,
    after: i64,
    text: String,
    times: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Ready,
    NeverReady,
    Unhealthy,
    Exit(i32),
    Oom,
    Hang,
    Log,
    Image,
}

impl Deed {
    fn ends(self) -> bool {
        matches!(self, Self::Exit(_) | Self::Oom)
    }
}

impl Behaviour {
    /// Reads an annotation; the error says what to write instead.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let phrases: Vec<Phrase> = split(text)
            .into_iter()
            .map(phrase)
            .collect::<Result<_, _>>()?;
        if phrases.is_empty() {
            return Err("it is empty: write for example \"ready after 2s\"".into());
        }
        if phrases.len() > PHRASES_MAX {
            return Err(format!("it has more than {PHRASES_MAX} phrases"));
        }
        let mut behaviour = Self::default();
        let count = phrases.len();
        let mut life = Vec::new();
        for (at, phrase) in phrases.into_iter().enumerate() {
            let is_last = at + 1 == count;
            if phrase.deed == Deed::Image {
                behaviour.pull(&phrase, is_last);
                continue;
            }
            let (ends, times) = (phrase.deed.ends(), phrase.times.unwrap_or(1));
            life.push(phrase);
            if ends {
                for _ in 0..times {
                    behaviour.lives.push(life.clone());
                }
                life.clear();
            }
        }
        if !life.is_empty() {
            behaviour.lives.push(life);
        }
        Ok(behaviour)
    }

    fn pull(&mut self, phrase: &Phrase, is_last: bool) {
        self.never_pulled = is_last && phrase.times.is_none();
        for _ in 0..phrase.times.unwrap_or(1) {
            self.pulls.push(phrase.text.clone());
        }
    }

    /// What the registry answers to a pull after so many failures; nothing when it gives the image.
    pub(crate) fn refusal(&self, failures: u32) -> Option<&str> {
        let at = failures as usize;
        let last = if self.never_pulled {
            self.pulls.last()
        } else {
            None
        };
        self.pulls.get(at).or(last).map(String::as_str)
    }

    /// Whether it says anything about a run.
    pub(crate) fn has_runs(&self) -> bool {
        !self.lives.is_empty()
    }

    /// What a run does, counted from 0.
    pub(crate) fn plan(&self, attempt: u32, start: Timestamp) -> Plan {
        let mut plan = Plan::default();
        let at = (attempt as usize).min(self.lives.len().saturating_sub(1));
        let mut time = start;
        for phrase in self.lives.get(at).into_iter().flatten() {
            let from = time;
            time = later(time, phrase.after);
            let line = (!phrase.text.is_empty()).then(|| format!("{}\n", phrase.text));
            match phrase.deed {
                Deed::Ready if phrase.after == 0 => {
                    plan.moods.push((time, Mood::Ready));
                    plan.lines.extend(line.map(|l| (time, l)));
                }
                Deed::Ready => {
                    plan.moods.push((from, Mood::Unready(String::new())));
                    plan.moods.push((time, Mood::Ready));
                    plan.lines.extend(line.map(|l| (time, l)));
                }
                Deed::NeverReady => plan.moods.push((time, Mood::Unready(phrase.text.clone()))),
                Deed::Unhealthy => plan
                    .moods
                    .push((time, Mood::Unhealthy(phrase.text.clone()))),
                Deed::Hang => {
                    plan.moods.push((time, Mood::Hung));
                    plan.lines.extend(line.map(|l| (time, l)));
                    plan.stubborn = true;
                }
                Deed::Log => plan.lines.extend(line.map(|l| (time, l))),
                Deed::Exit(code) => {
                    plan.lines.extend(line.map(|l| (time, l)));
                    plan.exit = Some((time, Exit::code(code)));
                }
                Deed::Oom => {
                    plan.lines.extend(line.map(|l| (time, l)));
                    plan.exit = Some((time, Exit::out_of_memory()));
                }
                Deed::Image => {}
            }
        }
        plan
    }
}

// `, then ` joins phrases only where a phrase follows: it may also stand in a log line.
fn split(text: &str) -> Vec<&str> {
    let mut phrases = Vec::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let mut rest = line;
        let mut from = 0;
        while let Some(at) = rest[from..].find(", then ").map(|at| from + at) {
            let next = &rest[at + ", then ".len()..];
            if deed(next.split(':').next().unwrap_or("")).is_some() {
                phrases.push(rest[..at].trim());
                rest = next;
                from = 0;
            } else {
                from = at + 1;
            }
        }
        phrases.push(rest.trim());
    }
    phrases
}

fn phrase(text: &str) -> Result<Phrase, String> {
    let (head, tail) = match text.split_once(':') {
        Some((head, tail)) => (head.trim(), tail.trim()),
        None => (text.trim(), ""),
    };
    let (deed, after, mut times) = deed(head).ok_or_else(|| {
        format!(
            "\"{text}\" is not understood: write one of \"ready after 2s\", \
             \"crash 1 after 1s: <log line>\", \"exit 0 after 5s\", \"oom after 3s\", \"hang\", \
             \"never ready: <probe message>\", \"unhealthy after 10s: <probe message>\", \
             \"log: <line>\", \"image: not found\""
        )
    })?;
    let mut said = tail.to_owned();
    if deed == Deed::Image && times.is_none() {
        // `image: not found twice`
        let words: Vec<&str> = tail.split_whitespace().collect();
        if let Some((count, used)) = ending_times(&words) {
            times = Some(count);
            said = words[..words.len() - used].join(" ");
        }
    }
    if matches!(deed, Deed::Log | Deed::Image) && said.is_empty() {
        return Err(format!("\"{text}\" lacks its text after the colon"));
    }
    Ok(Phrase {
        deed,
        after,
        text: said,
        times,
    })
}

// The words before the colon: what, when, how often.
fn deed(head: &str) -> Option<(Deed, i64, Option<u32>)> {
    let mut words: Vec<&str> = head.split_whitespace().collect();
    let mut times = None;
    if let Some((count, used)) = ending_times(&words) {
        times = Some(count);
        words.truncate(words.len() - used);
    }
    let mut after = 0;
    if let [before @ .., "after" | "for", time] = words.as_slice() {
        after = duration(time)?;
        words = before.to_vec();
    }
    let deed = match words.as_slice() {
        ["ready"] => Deed::Ready,
        ["never", "ready"] => Deed::NeverReady,
        ["unhealthy"] => Deed::Unhealthy,
        ["crash"] => Deed::Exit(1),
        ["crash" | "exit", code] => Deed::Exit(i32::from(code.parse::<u8>().ok()?)),
        ["exit"] => Deed::Exit(0),
        ["oom"] => Deed::Oom,
        ["hang"] => Deed::Hang,
        ["log"] => Deed::Log,
        ["image"] => Deed::Image,
        _ => return None,
    };
    Some((deed, after, times))
}

fn ending_times(words: &[&str]) -> Option<(u32, usize)> {
    match words {
        [.., "once"] => Some((1, 1)),
        [.., "twice"] => Some((2, 1)),
        [.., count, "times"] => Some((count.parse::<u32>().ok()?.min(TIMES_MAX), 2)),
        _ => None,
    }
}

// `2s`, `500ms`, `1m30s`, `2` (seconds).
fn duration(text: &str) -> Option<i64> {
    if let Ok(count) = text.parse::<u32>() {
        return Some(i64::from(count) * 1_000_000);
    }
    let mut total = 0_i64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let count: f64 = rest[..digits].parse().ok()?;
        let unit_end = rest[digits..]
            .find(|c: char| c.is_ascii_digit())
            .map_or(rest.len(), |at| digits + at);
        let unit = match &rest[digits..unit_end] {
            "ms" => 1e3,
            "s" => 1e6,
            "m" => 60e6,
            "h" => 3_600e6,
            _ => return None,
        };
        total = total.saturating_add((count * unit) as i64);
        rest = &rest[unit_end..];
    }
    (total > 0 || text.starts_with('0')).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    // One line a run: when what happens, in seconds after the start.
    fn runs(text: &str, count: u32) -> String {
        let behaviour = match Behaviour::parse(text) {
            Ok(behaviour) => behaviour,
            Err(error) => return error,
        };
        let mut out = String::new();
        for attempt in 0..count {
            let plan = behaviour.plan(attempt, Timestamp::default());
            let at = |t: &Timestamp| t.micros() as f64 / 1e6;
            for (t, mood) in &plan.moods {
                out += &format!("{}s {mood:?}; ", at(t));
            }
            for (t, line) in &plan.lines {
                out += &format!("{}s log {}; ", at(t), line.trim_end());
            }
            if let Some((t, exit)) = &plan.exit {
                out += &format!("{}s {}; ", at(t), exit.code);
            }
            out.push('\n');
        }
        out
    }

    #[test]
    fn phrases_become_runs() {
        let table = [
            ("ready after 2s", 1, "0s Unready(\"\"); 2s Ready; \n"),
            (
                "crash 1 after 1s: dial tcp 10.0.1.45:5432: connect: connection refused",
                1,
                "1s log dial tcp 10.0.1.45:5432: connect: connection refused; 1s 1; \n",
            ),
            (
                "crash 3 after 500ms twice, then ready",
                4,
                "0.5s 3; \n0.5s 3; \n0s Ready; \n0s Ready; \n",
            ),
            ("oom after 3s", 1, "3s 137; \n"),
            (
                "ready after 2s, then crash 1 after 1m10s: gone, then back",
                1,
                "0s Unready(\"\"); 2s Ready; 72s log gone, then back; 72s 1; \n",
            ),
            ("log: hello\nexit 0 after 5s", 1, "0s log hello; 5s 0; \n"),
            (
                "never ready: HTTP probe failed with statuscode: 503",
                1,
                "0s Unready(\"HTTP probe failed with statuscode: 503\"); \n",
            ),
        ];
        for (text, count, expected) in table {
            assert_eq!(runs(text, count), expected, "{text}");
        }
    }

    #[test]
    fn images_fail_as_often_as_said() {
        let pulls = |text: &str| -> Vec<bool> {
            let behaviour = Behaviour::parse(text).unwrap();
            (0..4).map(|n| behaviour.refusal(n).is_none()).collect()
        };
        assert_eq!(pulls("image: not found"), [false; 4]);
        assert_eq!(
            pulls("image: not found twice, then ready"),
            [false, false, true, true]
        );
        assert_eq!(pulls("ready"), [true; 4]);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "",
            "redy",
            "ready after soon",
            "crash 999",
            "log:",
            "crash -1 after 1s",
        ] {
            let error = Behaviour::parse(text).unwrap_err();
            assert!(!error.is_empty(), "{text}");
        }
    }
}
