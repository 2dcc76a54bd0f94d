//! Where in a document the decoder is, in the notation of Kubernetes' strict errors.

use std::fmt;

/// One step of a path.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Into an object's field.
    Key(&'a str),
    /// Into an array's element.
    Index(usize),
}

/// A path as a chain of steps on the stack; costs nothing until somebody prints it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path<'a> {
    last: Option<(&'a Path<'a>, Step<'a>)>,
}

impl<'a> Path<'a> {
    /// The path of the whole document.
    pub const ROOT: Path<'static> = Path { last: None };

    /// The path of a field below this one.
    #[must_use]
    pub fn key(&'a self, name: &'a str) -> Path<'a> {
        Path {
            last: Some((self, Step::Key(name))),
        }
    }

    /// The path of an element below this one.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Path<'a> {
        Path {
            last: Some((self, Step::Index(index))),
        }
    }

    /// The step that leads here and where it started.
    pub fn split(&self) -> Option<(&'a Path<'a>, Step<'a>)> {
        self.last
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((parent, step)) = self.last else {
            return Ok(());
        };
        parent.fmt(f)?;
        match step {
            Step::Key(name) if parent.last.is_none() => f.write_str(name),
            Step::Key(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_strict_errors_do() {
        let spec = Path::ROOT.key("spec");
        let list = spec.key("containers");
        let entry = list.index(2);
        assert_eq!(entry.key("image").to_string(), "spec.containers[2].image");
    }
}
