//! Where values come from: JSON text, read as it stands, or a tree that is there already.

use json::{Kind, Path, Reader, SyntaxError};
use model::Value;

/// A value that is about to be decoded.
pub(crate) enum Source<'r, 'b> {
    /// The next value of a text.
    Text(&'r mut Reader<'b>),
    /// A value of a tree.
    Tree(Value),
}

impl Source<'_, '_> {
    /// What the value is.
    pub(crate) fn kind(&mut self) -> Result<Kind, SyntaxError> {
        Ok(match self {
            Self::Text(reader) => return reader.kind(),
            Self::Tree(Value::Null) => Kind::Null,
            Self::Tree(Value::Bool(_)) => Kind::Bool,
            Self::Tree(Value::Number(_)) => Kind::Number,
            Self::Tree(Value::String(_)) => Kind::String,
            Self::Tree(Value::Array(_)) => Kind::Array,
            Self::Tree(Value::Object(_)) => Kind::Object,
        })
    }

    /// Reads over the value.
    pub(crate) fn skip(self) -> Result<(), SyntaxError> {
        match self {
            Self::Text(reader) => reader.skip(),
            Self::Tree(_) => Ok(()),
        }
    }

    /// Reads a string.
    pub(crate) fn string(self) -> Result<String, SyntaxError> {
        Ok(match self {
            Self::Text(reader) => reader.string()?.into_owned(),
            Self::Tree(Value::String(text)) => text,
            Self::Tree(_) => String::new(),
        })
    }

    /// Reads a boolean.
    pub(crate) fn bool(self) -> Result<bool, SyntaxError> {
        Ok(match self {
            Self::Text(reader) => reader.literal()?.unwrap_or(false),
            Self::Tree(value) => value.as_bool().unwrap_or(false),
        })
    }

    /// Reads a number's text.
    pub(crate) fn number(self) -> Result<String, SyntaxError> {
        Ok(match self {
            Self::Text(reader) => reader.number()?.to_owned(),
            Self::Tree(Value::Number(number)) => json::number::text(&number),
            Self::Tree(_) => String::new(),
        })
    }

    /// Reads any value as it is; `strict` takes keys that stand twice, the message is for a number
    /// beyond all floats.
    pub(crate) fn untyped(
        self,
        path: &str,
        strict: &mut Vec<String>,
    ) -> Result<(Value, Option<String>), SyntaxError> {
        match self {
            Self::Text(reader) => {
                let root = Path::ROOT;
                reader.untyped(&root.key(path), strict)
            }
            Self::Tree(value) => Ok((value, None)),
        }
    }
}
