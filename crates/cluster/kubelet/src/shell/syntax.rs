//! What a script is made of.

use std::sync::Arc;

/// One command, simple or made of others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// Assignments, words and redirections.
    Simple(Simple),
    /// Commands joined by `|`, perhaps behind `!`.
    Pipeline { negated: bool, parts: Vec<Command> },
    /// `a && b`.
    And(Box<Command>, Box<Command>),
    /// `a || b`.
    Or(Box<Command>, Box<Command>),
    /// One after the other.
    List(Vec<Command>),
    /// `a &`.
    Background(Arc<Command>),
    /// `if … then … elif … else … fi`.
    If {
        arms: Vec<(Command, Command)>,
        otherwise: Option<Box<Command>>,
    },
    /// `for name in words`; all arguments without words.
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: Box<Command>,
    },
    /// `for ((start; test; step))`.
    Count {
        parts: [String; 3],
        body: Box<Command>,
    },
    /// `while` and `until`.
    While {
        until: bool,
        test: Box<Command>,
        body: Box<Command>,
    },
    /// `case word in pattern) … ;; esac`.
    Case {
        word: Word,
        arms: Vec<(Vec<Word>, Command)>,
    },
    /// `( … )`.
    Subshell(Box<Command>),
    /// A command with redirections around it: `{ … } > file`.
    Redirected(Box<Command>, Vec<Redirect>),
    /// `name() { … }`.
    Function(String, Arc<Command>),
    /// `((expression))`.
    Arithmetic(String),
}

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<(String, Word)>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

/// Where a stream goes to or comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Redirect {
    /// 0, 1 or 2; 3 stands for both 1 and 2.
    pub(crate) stream: u8,
    pub(crate) kind: RedirectKind,
    pub(crate) target: Word,
}

/// How a stream is redirected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    Read,
    Write,
    Append,
    Duplicate,
    /// The target is the text itself.
    Here,
}

/// A word before it is expanded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// Text; a quoted one keeps its spaces and stars.
    Text { text: String, quoted: bool },
    /// `$name`, `${name…}`.
    Parameter {
        name: String,
        change: Option<Change>,
        quoted: bool,
    },
    /// `$( … )`.
    Substitution { script: Arc<Command>, quoted: bool },
    /// `$(( … ))`.
    Sum { expression: String, quoted: bool },
}

/// What `${name…}` does to the value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// `${#name}`.
    Length,
    /// `:-`, `:=`, `:?`, `:+` and the same without colon.
    Default {
        sign: char,
        empty_too: bool,
        word: Word,
    },
    /// `#`, `##`, `%`, `%%`.
    Trim {
        front: bool,
        longest: bool,
        pattern: Word,
    },
    /// `/a/b`, `//a/b`.
    Replace { all: bool, from: Word, to: Word },
    /// `:offset:length`.
    Slice(String, Option<String>),
    /// `^^` and `,,`.
    Case { upper: bool },
}

impl Word {
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            parts: vec![Part::Text {
                text: text.to_owned(),
                quoted: true,
            }],
        }
    }

    /// The text, when there is nothing to expand and nothing quoted.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [
                Part::Text {
                    text,
                    quoted: false,
                },
            ] => Some(text),
            _ => None,
        }
    }
}
