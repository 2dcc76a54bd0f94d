//! What is wrong, why, and what to do: one entry of the catalogue of failure modes, as data.

use crate::{ResourceKey, Timestamp, Value};
use std::fmt;

/// One failure, seen: its code, its cause, the evidence and the ways out.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The entry of the catalogue, as in `G05`.
    pub code: &'static str,
    /// The entry's short name, as in `path-not-found`.
    pub slug: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// When it was seen.
    pub moment: Moment,
    /// One sentence that names the culprit and the cause.
    pub summary: String,
    /// The resource that shows the symptom, when there is one.
    pub subject: Option<ResourceKey>,
    /// What causes it: a resource, a field, a commit, a user, a file.
    pub culprit: String,
    /// The chain of observations that leads there.
    pub evidence: Vec<Evidence>,
    /// What cannot go on because of it.
    pub blocked: Vec<String>,
    /// Ways out, the safest first.
    pub fix: Vec<Fix>,
    /// What would have caught it earlier.
    pub prevent: String,
    /// Since when it is so, where that is known.
    pub since: Option<Timestamp>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Will hurt, or hides something that does.
    Warning,
    /// Something does not work.
    Error,
}

/// When a finding was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Before merge: lint or rehearsal.
    Before,
    /// During a sync.
    Sync,
    /// At rest: drift and health.
    Rest,
}

/// One observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Who said it: an API field, an event, a log, a file, a server.
    pub source: String,
    /// What it said.
    pub says: String,
    /// Where in a file it stands, when it does.
    pub place: Option<Place>,
}

/// A place in a file, with enough of the text to show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the root of the repository.
    pub file: String,
    /// Line from 1; 0 when only the file is known.
    pub line: usize,
    /// Column from 1, in characters; 0 when only the line is known.
    pub column: usize,
    /// How many characters are meant; at least 1 is shown.
    pub width: usize,
    /// Number of the first line of `text`.
    pub first_line: usize,
    /// The lines around the place, without the final line break.
    pub text: String,
}

/// One way out.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// What it does, in one phrase.
    pub title: String,
    /// How.
    pub how: Remedy,
    /// Whether it can lose data.
    pub destructive: bool,
}

/// How a fix is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// A command to run.
    Command(String),
    /// A change in Git: a unified diff or the lines to write.
    Git {
        /// The file to change.
        file: String,
        /// What to write.
        patch: String,
    },
    /// A merge patch for the Application.
    Application(Value),
    /// Something only a person can do.
    Advice(String),
}

impl Severity {
    /// The word people and programs see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Moment {
    /// The word people and programs see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Sync => "sync",
            Self::Rest => "rest",
        }
    }
}

impl Finding {
    /// A finding with its essence; the rest is added with struct update.
    pub fn new(code: &'static str, slug: &'static str, summary: impl Into<String>) -> Self {
        Self {
            code,
            slug,
            severity: Severity::Error,
            moment: Moment::Rest,
            summary: summary.into(),
            subject: None,
            culprit: String::new(),
            evidence: Vec::new(),
            blocked: Vec::new(),
            fix: Vec::new(),
            prevent: String::new(),
            since: None,
        }
    }
}

impl Place {
    /// How many lines before and after the place are kept.
    const AROUND: usize = 2;

    /// A place in a text, with the lines around it; lines and columns count from 1.
    pub fn in_text(file: impl Into<String>, text: &str, line: usize, column: usize) -> Self {
        let first_line = line.saturating_sub(Self::AROUND).max(1);
        let last = line + Self::AROUND;
        let shown: Vec<&str> = text
            .lines()
            .skip(first_line - 1)
            .take(last + 1 - first_line)
            .collect();
        Self {
            file: file.into(),
            line,
            column,
            width: 1,
            first_line,
            text: shown.join("\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_keeps_the_lines_around_it() {
        let place = Place::in_text("a.yaml", "1\n2\n3\n4\n5\n6\n", 4, 1);
        assert_eq!(
            (place.first_line, place.text.as_str()),
            (2, "2\n3\n4\n5\n6")
        );
        let place = Place::in_text("a.yaml", "1\n2\n3\n", 1, 1);
        assert_eq!((place.first_line, place.text.as_str()), (1, "1\n2\n3"));
    }
}
