//! A file of manifests to documents that know where each of their fields stands.
//!
//! Documents are told apart as Kubernetes' tools do it, by lines that begin with `---`, before
//! anything is parsed: a broken document does not hide those behind it.

use crate::load::{Loader, SIZE_MAX};
use crate::marks::{Marks, Spot, breaks, spot_at};
use crate::{Stage, YamlError};
use model::Value;
use std::borrow::Cow;

/// One document of a file, with the places of its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// The document as JSON; null when it is empty.
    pub value: Value,
    /// Which document of the file, from 0; empty ones count.
    pub document: usize,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Where its fields stand; asked together with the text of the file.
    pub marks: Marks,
}

impl Located {
    /// JSON pointer and line of every field, sorted by pointer.
    pub fn lines(&self, text: &str) -> Vec<(String, usize)> {
        self.marks.lines(text, self.line)
    }
}

/// Reads every document of a file. Keys that stand twice in a mapping are an error that names both
/// places; documents without content are null.
pub fn parse_manifests(text: &str) -> Vec<Result<Located, YamlError>> {
    if text.len() > SIZE_MAX {
        return vec![Err(too_long())];
    }
    let mut documents = Vec::new();
    for (number, part) in parts(text).into_iter().enumerate() {
        documents.push(read(text, number, &part));
    }
    documents
}

pub(crate) fn too_long() -> YamlError {
    crate::fault::compose(format!("text is longer than {SIZE_MAX} bytes"))
}

// One document: where its text begins and ends, and on which line.
struct Part {
    start: usize,
    end: usize,
    line: usize,
    // The line in front of it says more than `---`.
    separator: Option<String>,
}

// Cuts a text at its separators. What stands before the first one is a document only if it says
// something; directives belong to what follows them.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut open = Part {
        start: if text.starts_with('\u{feff}') { 3 } else { 0 },
        end: 0,
        line: 1,
        separator: None,
    };
    let mut at = open.start;
    let mut line = 1;
    let mut first = true;
    while at < text.len() {
        let end = memchr(text.as_bytes(), at);
        let content = &text[at..end];
        if let Some(rest) = content.strip_prefix("---") {
            let rest = rest.trim();
            let before = &text[open.start..at];
            let unsaid = only_directives(before) || (first && says_nothing(before));
            if !unsaid {
                open.end = at;
                parts.push(open);
            }
            first = false;
            open = Part {
                start: (end + 1).min(text.len()),
                end: 0,
                line: line + 1,
                separator: (!rest.is_empty() && !rest.starts_with('#')).then(|| rest.to_owned()),
            };
        }
        at = end + 1;
        line += 1;
    }
    open.end = text.len();
    if !(first && says_nothing(&text[open.start..])) {
        parts.push(open);
    }
    parts
}

// The offset of the next line break, or the end.
fn memchr(bytes: &[u8], from: usize) -> usize {
    bytes[from..]
        .iter()
        .position(|b| *b == b'\n')
        .map_or(bytes.len(), |n| from + n)
}

fn says_nothing(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.all(|line| line.is_empty() || line.starts_with('#'))
}

fn only_directives(text: &str) -> bool {
    text.starts_with('%')
        && text
            .lines()
            .all(|line| line.is_empty() || line.starts_with(['#', '%']))
}

fn read(text: &str, document: usize, part: &Part) -> Result<Located, YamlError> {
    if let Some(rest) = &part.separator {
        return Err(YamlError {
            stage: Stage::Scan,
            line: part.line - 1,
            column: 5,
            message: format!("invalid Yaml document separator: {rest}"),
            first: None,
        });
    }
    // Kubernetes' tools end every line, the last one too.
    let chunk = &text[part.start..part.end];
    let ended = if chunk.is_empty() || chunk.ends_with('\n') {
        Cow::Borrowed(chunk)
    } else {
        Cow::Owned(format!("{chunk}\n"))
    };
    let (value, mut marks) = match crate::fast::read(&ended) {
        Some(read) => read,
        None => read_slowly(&ended).map_err(|fault| lower(fault, part.line))?,
    };
    marks.shift(part.start);
    let line = if value.is_null() {
        part.line
    } else {
        part.line + breaks(&text[part.start..marks.root()])
    };
    Ok(Located {
        value,
        document,
        line,
        marks,
    })
}

/// Reads one document with the full reader.
pub(crate) fn read_slowly(text: &str) -> Result<(Value, Marks), YamlError> {
    let mut loader = Loader::new(text)?;
    loader.keep_marks();
    let value = loader.next_document()?.unwrap_or(Value::Null);
    match loader.written_twice() {
        Some((key, first, second)) => Err(duplicate(text, &key, first, second)),
        None => Ok((value, loader.into_marks())),
    }
}

fn duplicate(text: &str, key: &str, first: usize, second: usize) -> YamlError {
    let (first, second) = (spot_at(text, first), spot_at(text, second));
    YamlError {
        stage: Stage::Compose,
        line: second.line,
        column: second.column,
        message: format!("key {} already set in map", model::field::go_quote(key)),
        first: Some(first),
    }
}

// A fault of a document, counted from the start of the file.
fn lower(fault: YamlError, line: usize) -> YamlError {
    let down = |at: usize| if at == 0 { 0 } else { at + line - 1 };
    YamlError {
        line: down(fault.line),
        first: fault.first.map(|first| Spot {
            line: down(first.line),
            ..first
        }),
        ..fault
    }
}

#[cfg(test)]
mod tests;
