//! A desired object and where in Git it comes from.

use crate::Value;

/// A desired object; its origin is never dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The object, as it will be applied.
    pub object: Value,
    /// Where it stands.
    pub origin: Origin,
}

/// Where an object was written, and what touched it on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file, relative to the root of the repository.
    pub file: String,
    /// Which document of the file, from 0.
    pub document: usize,
    /// Line on which the object begins, from 1; 0 when it has none, as a generated one.
    pub line: usize,
    /// Lines of its fields where they are known: JSON pointer and line, sorted by pointer.
    pub lines: Vec<(String, usize)>,
    /// What changed it after it was read, in order.
    pub touched: Vec<Touch>,
}

/// One step that changed an object between its file and its apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// What kind of step it was, as in `patch`, `images`, `namePrefix` or `configMapGenerator`.
    pub by: String,
    /// The file that asked for it.
    pub file: String,
    /// The line that asked for it, from 1; 0 when not known.
    pub line: usize,
    /// JSON pointers of the fields it changed; empty means the whole object.
    pub fields: Vec<String>,
}

impl Origin {
    /// An object that stands in a file.
    pub fn new(file: impl Into<String>, document: usize, line: usize) -> Self {
        Self {
            file: file.into(),
            document,
            line,
            ..Self::default()
        }
    }

    /// The line of a field, or of the nearest parent whose line is known, or of the object.
    pub fn line_of(&self, pointer: &str) -> usize {
        let mut at = pointer;
        loop {
            if let Ok(found) = self.lines.binary_search_by(|(known, _)| (**known).cmp(at)) {
                return self.lines[found].1;
            }
            match at.rsplit_once('/') {
                Some((parent, _)) => at = parent,
                None => return self.line,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_without_a_line_has_its_parents() {
        let origin = Origin {
            lines: vec![("/spec".into(), 4), ("/spec/replicas".into(), 5)],
            ..Origin::new("web.yaml", 0, 1)
        };
        assert_eq!(origin.line_of("/spec/replicas"), 5);
        assert_eq!(origin.line_of("/spec/template/spec"), 4);
        assert_eq!(origin.line_of("/metadata/name"), 1);
    }
}
