//! Files as texts: encoding, places, and what YAML says when it is broken.

use crate::error::RenderError;
use model::{Place, SourceTree};
use yaml::{Spot, YamlError};

/// Joins a name to a directory of a tree.
pub(crate) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}

/// The text of a file; what is no text is an error that says so.
pub(crate) fn read(tree: &SourceTree, path: &str) -> Result<String, RenderError> {
    decode(path, &tree.read(path)?)
}

/// Bytes as text.
pub(crate) fn decode(path: &str, bytes: &[u8]) -> Result<String, RenderError> {
    if let Some(problem) = other_encoding(bytes) {
        return Err(broken(path, "", 0, problem));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => {
            let at = text.find('\0').unwrap_or(0);
            let before = &text[..at];
            Err(broken(path, before, at, "it is a binary file, not text"))
        }
        Ok(text) => Ok(text.to_owned()),
        Err(fault) => {
            let valid = fault.valid_up_to();
            let before = String::from_utf8_lossy(&bytes[..valid]).into_owned();
            let problem = if bytes[..bytes.len().min(8192)].contains(&0) {
                "it is a binary file, not text".to_owned()
            } else {
                format!("byte {valid} is {:#04x}, which is not UTF-8", bytes[valid])
            };
            Err(broken(path, &before, valid, &problem))
        }
    }
}

fn other_encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("it is UTF-16, not UTF-8"),
        _ => None,
    }
}

fn broken(path: &str, before: &str, at: usize, problem: &str) -> RenderError {
    RenderError::Syntax {
        place: place_of(path, before, yaml::spot_at(before, at)),
        problem: problem.to_owned(),
        other: None,
        hint: "save the file as UTF-8, or exclude it with `directory.exclude`".into(),
    }
}

/// A place in a text.
pub(crate) fn place_of(path: &str, text: &str, spot: Spot) -> Place {
    Place::in_text(path, text, spot.line, spot.column)
}

/// What YAML says of a text, with the place and what to write instead.
pub(crate) fn syntax(path: &str, text: &str, fault: &YamlError) -> RenderError {
    let line_text = text.lines().nth(fault.line.saturating_sub(1)).unwrap_or("");
    if let Some(at) = template_in(text, line_text, fault.line) {
        return at.error(path, text);
    }
    let indent = line_text.len() - line_text.trim_start().len();
    let tab = line_text[..indent].find('\t');
    let spot = Spot {
        line: fault.line.max(1),
        column: tab.map_or(fault.column.max(1), |at| at + 1),
    };
    RenderError::Syntax {
        place: place_of(path, text, spot),
        problem: match fault.first {
            Some(first) => format!("{} on line {}", fault.message, first.line),
            None => fault.message.clone(),
        },
        other: fault.first.map(|first| place_of(path, text, first)),
        hint: hint(fault, line_text),
    }
}

// Go template code that was left in a plain manifest.
struct Template {
    line: usize,
    column: usize,
}

impl Template {
    fn error(&self, path: &str, text: &str) -> RenderError {
        let place = Place {
            width: 2,
            ..Place::in_text(path, text, self.line, self.column)
        };
        RenderError::NotAManifest {
            place,
            document: 0,
            problem: "it is a template, not a manifest: `{{` is filled in by Helm only".into(),
            hint: "point `path` at the chart, or exclude the file with `directory.exclude`".into(),
        }
    }
}

fn template_in(text: &str, line_text: &str, line: usize) -> Option<Template> {
    let found = |line: usize, text: &str| {
        let at = text.find("{{")?;
        text[at..].contains("}}").then(|| Template {
            line,
            column: text[..at].chars().count() + 1,
        })
    };
    found(line.max(1), line_text).or_else(|| {
        let near = line.saturating_sub(3)..=line + 1;
        let mut lines = text.lines().enumerate().map(|(n, text)| (n + 1, text));
        lines.find_map(|(n, text)| near.contains(&n).then(|| found(n, text))?)
    })
}

fn hint(fault: &YamlError, line: &str) -> String {
    let trimmed = line.trim_start();
    if line.starts_with('\t') || line[..line.len() - trimmed.len()].contains('\t') {
        return "indent with spaces: YAML takes no tabs".into();
    }
    if fault.first.is_some() {
        return "remove one of the two".into();
    }
    if fault.message.contains("mapping values are not allowed") {
        let Some((key, value)) = trimmed.split_once(": ") else {
            return "check the indentation of this line".into();
        };
        if value.contains(": ") || value.ends_with(':') {
            return format!("quote the value: `{key}: \"{}\"`", value.trim_end());
        }
        return "give this line the indentation of the one above it".into();
    }
    if fault.message.contains("cannot start any token") {
        if let Some((key, value)) = trimmed.split_once(": ") {
            return format!("quote the value: `{key}: \"{}\"`", value.trim_end());
        }
    }
    String::new()
}
