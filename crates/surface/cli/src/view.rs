//! Values to text: what people see. Nothing here decides anything.

pub(crate) mod finding;
pub(crate) mod manifest;

use std::io::IsTerminal;

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// As it is.
    Plain,
    /// With ANSI colours; they repeat what the words say.
    Colour,
}

impl Paint {
    /// Colours on a terminal, unless `NO_COLOR` is set.
    pub(crate) fn of_stderr() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if std::io::stderr().is_terminal() && !unwanted {
            Self::Colour
        } else {
            Self::Plain
        }
    }

    /// A text in a colour.
    pub(crate) fn paint(self, colour: Colour, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[{}m{text}\x1b[0m", colour.code()),
        }
    }
}

/// The colours in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Red,
    Yellow,
    Blue,
    Green,
    Bold,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Self::Red => "1;31",
            Self::Yellow => "1;33",
            Self::Blue => "1;34",
            Self::Green => "1;32",
            Self::Bold => "1",
        }
    }
}
