//! What goes wrong inside a step, before it is known which file asked for it.

use crate::node::Kind;
use std::fmt;

/// A result of a step.
pub(crate) type Outcome<T = ()> = Result<T, Fault>;

/// What went wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// A node is of another kind than the step needs.
    WrongKind { expected: Kind, found: Kind },
    /// Anything else, in words.
    Text(String),
    /// An error that already knows its place.
    Placed(Box<crate::KustomizeError>),
}

impl Fault {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Puts words in front.
    pub(crate) fn within(self, prefix: impl fmt::Display) -> Self {
        match self {
            placed @ Self::Placed(_) => placed,
            other => Self::Text(format!("{prefix}: {other}")),
        }
    }
}

impl From<crate::KustomizeError> for Fault {
    fn from(error: crate::KustomizeError) -> Self {
        Self::Placed(Box::new(error))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongKind { expected, found } => write!(
                f,
                "wrong node kind: expected {} but got {}",
                expected.word(),
                found.word()
            ),
            Self::Text(text) => f.write_str(text),
            Self::Placed(error) => error.fmt(f),
        }
    }
}
