//! The pattern dialects of Argo CD's settings: globs of several kinds.
//!
//! | where | dialect |
//! |---|---|
//! | directory include and exclude, groups and kinds, destinations, windows, namespaces | [`Glob::free`] |
//! | a project's source repositories | [`Glob::separated`] with `/` |
//! | a project's lists of kinds, manifest-generate-paths | [`Glob::path`], Go's `filepath.Match` |
//! | value files, bundled scripts, ApplicationSet paths | [`Glob::doublestar`] |
//!
//! A pattern becomes a small program that is run over the text once, all ways at the same time:
//! the cost is the product of both lengths, whatever the pattern.

mod compile;
mod gobwas;
mod gopath;
mod run;
mod stars;

use run::Program;
use std::fmt;

/// How long a pattern may be, in bytes.
pub const PATTERN_MAX: usize = 16 * 1024;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Glob {
    program: Program,
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for PatternError {}

impl PatternError {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
        }
    }
}

impl Glob {
    /// gobwas without separators: `*` crosses everything; `?`, `[a-z]`, `[!a]`, `{a,b}`, `\`.
    pub fn free(pattern: &str) -> Result<Self, PatternError> {
        Self::separated(pattern, &[])
    }

    /// gobwas with separators: `*` and `?` stop at them, `**` crosses.
    pub fn separated(pattern: &str, separators: &[char]) -> Result<Self, PatternError> {
        check_length(pattern)?;
        let nodes = gobwas::parse(pattern)?;
        Ok(Self {
            program: compile::compile(&nodes, separators),
        })
    }

    /// Go's `filepath.Match`: `*` and `?` stop at `/`, `[^a-z]`, no braces, no `**`.
    pub fn path(pattern: &str) -> Result<Self, PatternError> {
        check_length(pattern)?;
        let nodes = gopath::parse(pattern)?;
        Ok(Self {
            program: compile::compile(&nodes, &['/']),
        })
    }

    /// doublestar: as [`Glob::path`] with braces, and `**` as any number of directories.
    pub fn doublestar(pattern: &str) -> Result<Self, PatternError> {
        check_length(pattern)?;
        let nodes = stars::parse(pattern)?;
        Ok(Self {
            program: compile::compile(&nodes, &['/']),
        })
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.program.matches(text)
    }
}

fn check_length(pattern: &str) -> Result<(), PatternError> {
    if pattern.len() > PATTERN_MAX {
        return Err(PatternError::new(format!(
            "it is longer than {PATTERN_MAX} bytes"
        )));
    }
    Ok(())
}

// What patterns of every dialect are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Char(char),
    // One character that is no separator.
    One,
    // Any number of characters that are no separators.
    Many,
    // Any number of characters.
    All,
    // One character of a class, be it a separator or not.
    Class {
        not: bool,
        ranges: Vec<(char, char)>,
    },
    Either(Vec<Vec<Node>>),
}

/// How deep braces may nest.
pub(crate) const DEPTH_MAX: usize = 32;
