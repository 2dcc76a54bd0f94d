//! Whole sessions of real clients: commands, and what they print.
//!
//! A folder in `sessions/` holds `session.txt` (the commands in order), `files/` (what they read)
//! and `expected-<client>.txt` (what they printed against a real server). Running a session
//! against any server and comparing with that file says whether the client can tell the
//! difference. One session can serve several clients: `helm3` and `helm4` run that of `helm`.
//!
//! ```text
//! ### create-again
//! @exit 1
//! $ kubectl create -f web.yaml
//! ```
//!
//! | directive | meaning |
//! |---|---|
//! | `@exit N` or `@exit N CLIENT` | the exit code it must have on any server; 0 when not given |
//! | `@until` | run again until the exit code is right |
//! | `@stop SECONDS` | end it after that time; for watches |
//! | `@sorted` | compare the printed lines without their order |
//! | `@fields` | compare only names and types that `explain` prints, not its prose |

mod print;
mod run;

pub use print::{parse_expected, write_expected};
pub use run::{Clients, run};

use crate::differences::{self, Allowed};
use crate::replay::{Report, Verdict};
use crate::{RunError, fault};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A session as it is written.
#[derive(Clone, Debug)]
pub struct Session {
    /// The client.
    pub name: String,
    /// Its commands.
    pub steps: Vec<Step>,
    /// Its folder.
    pub folder: PathBuf,
}

/// One command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// What it is called.
    pub name: String,
    /// Program and arguments.
    pub words: Vec<String>,
    /// The exit code it must have.
    pub exit: i32,
    /// Whether it is run again until that is so.
    pub until: bool,
    /// When it is ended.
    pub stop_s: Option<u64>,
    /// Whether the order of printed lines is not compared.
    pub sorted: bool,
    /// Whether only names and types are compared.
    pub fields: bool,
}

/// What a command did, in normal form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Which command.
    pub step: String,
    /// Its exit code; -1 when it was ended.
    pub exit: i32,
    /// What it printed.
    pub stdout: Vec<String>,
    /// What it complained of.
    pub stderr: Vec<String>,
}

impl Outcome {
    fn to_value(&self) -> Value {
        json!({"exit": self.exit, "stdout": self.stdout, "stderr": self.stderr})
    }
}

/// Reads the session of a client: `kubectl`, `helm3` or `helm4`.
pub fn load(name: &str) -> Result<Session, RunError> {
    let family = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let folder = crate::folder().join("sessions").join(family);
    let text = crate::read(&folder.join("session.txt"))?;
    Ok(Session {
        name: name.to_owned(),
        steps: parse(name, &text)?,
        folder,
    })
}

/// The file of what a session printed against a real server.
pub fn expected_file(session: &Session) -> PathBuf {
    session
        .folder
        .join(format!("expected-{}.txt", session.name))
}

/// Reads what a session printed against a real server.
pub fn expected(session: &Session) -> Result<Vec<Outcome>, RunError> {
    let text = crate::read(&expected_file(session))?;
    parse_expected(&session.name, &text)
}

/// Compares two runs of a session step by step; `allowed` has lines for `session/step`.
pub fn compare(
    session: &Session,
    wanted: &[Outcome],
    got: &[Outcome],
    allowed: &[Allowed],
) -> Report {
    let mut report = Report::default();
    let prefix = format!("{}/", session.name);
    let mut used = vec![false; allowed.len()];
    for want in wanted {
        let name = format!("{prefix}{}", want.step);
        let found = got.iter().find(|o| o.step == want.step);
        let found = found.map_or(Value::Null, Outcome::to_value);
        let mut verdict = Verdict {
            name,
            wrong: Vec::new(),
            allowed: 0,
        };
        for difference in differences::compare(&want.to_value(), &found) {
            let covers = |a: &Allowed| a.covers(&verdict.name, &difference.pointer);
            if let Some(line) = allowed.iter().position(covers) {
                used[line] = true;
                verdict.allowed += 1;
            } else {
                verdict.wrong.push(difference);
            }
        }
        report.verdicts.push(verdict);
    }
    let ours = |line: &Allowed| line.case.starts_with(&prefix);
    let lines = allowed.iter().zip(used);
    let stale = lines.filter(|(line, used)| !used && ours(line));
    report.stale = stale.map(|(line, _)| line.clone()).collect();
    report
}

fn parse(place: &str, text: &str) -> Result<Vec<Step>, RunError> {
    let mut steps = Vec::new();
    for block in text.split("\n### ").skip(1) {
        let mut lines = block.lines();
        let name = lines.next().unwrap_or_default().trim().to_owned();
        let wrong = |what: &str| fault(place, format!("{name}: {what}"));
        let mut step = Step {
            name: name.clone(),
            ..Step::default()
        };
        for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(command) = line.strip_prefix("$ ") {
                step.words = split(command).ok_or_else(|| wrong("a quote does not end"))?;
            } else {
                let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
                let (number, client) = rest.split_once(' ').unwrap_or((rest, place));
                match word {
                    "@exit" => {
                        let code = number.parse().map_err(|_| wrong("no exit code"))?;
                        step.exit = if client == place { code } else { step.exit };
                    }
                    "@stop" => step.stop_s = number.parse().ok(),
                    "@until" => step.until = true,
                    "@sorted" => step.sorted = true,
                    "@fields" => step.fields = true,
                    _ => return Err(wrong(&format!("`{line}` is unknown"))),
                }
            }
        }
        if step.words.is_empty() {
            return Err(wrong("no command"));
        }
        steps.push(step);
    }
    Ok(steps)
}

// Words are separated by spaces; single quotes hold them together.
fn split(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quoted, mut begun) = (false, false);
    for letter in command.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                begun = true;
            }
            ' ' if !quoted => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            _ => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    (!quoted).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together() {
        let words = split("kubectl patch -p '{\"a\": 1}'  x ''").unwrap();
        assert_eq!(words, ["kubectl", "patch", "-p", "{\"a\": 1}", "x", ""]);
        assert_eq!(split("a 'b"), None);
    }

    #[test]
    fn a_step_has_a_name_directives_and_a_command() {
        let steps = parse("t", "words\n\n### one\n@exit 1\n@until\n$ kubectl get x\n").unwrap();
        assert_eq!(
            (steps[0].name.as_str(), steps[0].exit, steps[0].until),
            ("one", 1, true)
        );
        assert!(parse("t", "\n### two\n@what\n$ x").is_err());
        assert!(parse("t", "\n### three\n").is_err());
    }

    #[test]
    fn every_session_can_be_read_and_has_its_answers() {
        for name in ["kubectl", "helm3", "helm4"] {
            let session = load(name).unwrap();
            let names: Vec<&String> = session.steps.iter().map(|s| &s.name).collect();
            let answers = expected(&session).unwrap();
            let answered: Vec<&String> = answers.iter().map(|o| &o.step).collect();
            assert_eq!(names, answered, "{name}: run `cargo xtask record`");
            let codes = session.steps.iter().zip(&answers);
            for (step, answer) in codes.filter(|(step, _)| step.stop_s.is_none()) {
                assert_eq!(step.exit, answer.exit, "{name}/{}", step.name);
            }
        }
    }

    #[test]
    fn a_missing_step_and_another_line_are_differences() {
        let outcome = |step: &str, line: &str| Outcome {
            step: step.into(),
            stdout: vec![line.into()],
            ..Outcome::default()
        };
        let session = Session {
            name: "s".into(),
            steps: Vec::new(),
            folder: PathBuf::new(),
        };
        let wanted = [outcome("a", "x"), outcome("b", "y"), outcome("c", "z")];
        let got = [outcome("a", "x"), outcome("b", "Y")];
        let allowed = differences::parse("s/c /** not there").unwrap();
        let report = compare(&session, &wanted, &got, &allowed);
        let wrong: Vec<usize> = report.verdicts.iter().map(|v| v.wrong.len()).collect();
        assert_eq!(wrong, [0, 1, 0]);
        assert!(report.stale.is_empty());
    }
}
