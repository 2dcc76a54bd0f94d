//! Same kustomization as the real program, same bytes.
//!
//! `kustomize/NNN-name.case` holds the files of one kustomization; `NNN-name.expected` what the
//! real program printed for it, or that it refused it. [`check`] compares our builder with the
//! recordings, [`compare`] with the program itself, on these cases and on made up ones.
//!
//! ```text
//! *.case ─┬─ real kustomize ──▶ *.expected ─┐
//! seeds  ─┘                                 ├─▶ Report
//!         └─ our builder ───────────────────┘
//! ```

mod case;
mod random;

pub use case::{Case, Content, load};
pub use random::random;

use crate::{RunError, file_error};
use kustomize::{LoadRestrictor, NoWorld, Options, Reorder};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// What a builder made of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The text that it printed.
    Text(String),
    /// It refused; holds why.
    Refused(String),
}

impl Answer {
    /// Whether two answers agree: the same bytes, or both a refusal.
    pub fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Refused(_), Self::Refused(_)) => true,
            _ => false,
        }
    }

    fn recorded(text: &str) -> Self {
        match text.strip_prefix("# refused\n") {
            Some(why) => Self::Refused(why.to_owned()),
            None => Self::Text(text.to_owned()),
        }
    }
}

/// The cases on which two builders differ.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many were compared.
    pub compared: usize,
    /// How many of them both refuse.
    pub refused: usize,
    /// Name of the case, and both answers.
    pub wrong: Vec<(String, Answer, Answer)>,
}

impl Report {
    fn add(&mut self, name: &str, expected: Answer, got: Answer) {
        self.compared += 1;
        if !expected.agrees(&got) {
            self.wrong.push((name.to_owned(), expected, got));
        } else if matches!(got, Answer::Refused(_)) {
            self.refused += 1;
        }
    }

    /// What differs, for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, expected, got) in &self.wrong {
            let _ = writeln!(text, "{name}: expected {}", shown(expected));
            let _ = writeln!(text, "{name}: got      {}", shown(got));
            if let (Answer::Text(expected), Answer::Text(got)) = (expected, got) {
                text.push_str(&first_difference(expected, got));
            }
        }
        text
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Text(text) => format!("{} bytes", text.len()),
        Answer::Refused(why) => format!("refused: {}", why.lines().next().unwrap_or("")),
    }
}

fn first_difference(expected: &str, got: &str) -> String {
    let (mut a, mut b) = (expected.lines(), got.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (a.next(), b.next()) {
            (None, None) => return String::new(),
            (a, b) if a != b => {
                let (a, b) = (a.unwrap_or("(end)"), b.unwrap_or("(end)"));
                return format!("  line {number}\n  - {a}\n  + {b}\n");
            }
            _ => {}
        }
    }
}

/// What our builder makes of a case.
pub fn ours(case: &Case) -> Answer {
    let mut options = Options::default();
    let mut flags = case.flags.iter().map(String::as_str);
    while let Some(flag) = flags.next() {
        match (flag, flags.next()) {
            ("--load-restrictor", Some("LoadRestrictionsNone")) => {
                options.load_restrictor = LoadRestrictor::None;
            }
            ("--reorder", Some("none")) => options.reorder = Reorder::None,
            ("--reorder", Some("legacy")) => options.reorder = Reorder::Legacy,
            _ => {}
        }
    }
    let tree = model::SourceTree::new(case.tree());
    match kustomize::build(&tree, &case.directory, &options, &NoWorld) {
        Ok(build) => Answer::Text(build.to_yaml()),
        Err(error) => Answer::Refused(error.to_string()),
    }
}

/// What the real program makes of a case, in a folder that is made for it.
pub fn real(case: &Case, program: &Path, folder: &Path) -> Result<Answer, RunError> {
    let root = folder.join(&case.name);
    case.write(&root)?;
    let done = Command::new(program)
        .arg("build")
        .arg(root.join(&case.directory))
        .args(&case.flags)
        .env_remove("KUSTOMIZE_PLUGIN_HOME")
        .output()
        .map_err(file_error(program))?;
    std::fs::remove_dir_all(&root).map_err(file_error(&root))?;
    Ok(if done.status.success() {
        Answer::Text(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        let words = String::from_utf8_lossy(&done.stderr).into_owned();
        Answer::Refused(words.replace(&root.display().to_string(), "."))
    })
}

/// Compares our builder with the recordings.
pub fn check() -> Result<Report, RunError> {
    let mut report = Report::default();
    for case in load()? {
        let path = case.expected_path();
        let text = std::fs::read_to_string(&path).map_err(file_error(&path))?;
        report.add(&case.name, Answer::recorded(&text), ours(&case));
    }
    Ok(report)
}

// What is worth keeping of a refusal: its first line, without what differs from run to run.
fn essence(why: &str) -> String {
    const WIDTH: usize = 160;
    let line = why
        .lines()
        .find(|line| line.starts_with("Error"))
        .unwrap_or("");
    line.chars().take(WIDTH).collect()
}

/// Compares our builder with the real program; `record` keeps what it says.
pub fn compare(
    cases: &[Case],
    program: &Path,
    folder: &Path,
    record: bool,
) -> Result<Report, RunError> {
    let mut report = Report::default();
    for case in cases {
        let expected = real(case, program, folder)?;
        if record {
            let text = match &expected {
                Answer::Text(text) => text.clone(),
                Answer::Refused(why) => format!("# refused\n{}\n", essence(why)),
            };
            let path = case.expected_path();
            std::fs::write(&path, text).map_err(file_error(&path))?;
        }
        report.add(&case.name, expected, ours(case));
    }
    Ok(report)
}
