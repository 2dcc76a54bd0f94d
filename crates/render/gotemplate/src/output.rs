//! What a template printed, and which line of which file each part came from.

use crate::node::Source;
use std::sync::Arc;

/// One stretch of output.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) source: Arc<Source>,
    pub(crate) pos: usize,
    // Plain text: lines go on inside it. Otherwise all of it comes from one action.
    pub(crate) is_text: bool,
}

/// Where a byte of output came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// The text a template printed.
#[derive(Clone, Debug)]
pub struct Output {
    /// The bytes; Go does not promise that they are UTF-8.
    pub bytes: Vec<u8>,
    spans: Vec<Span>,
}

const NO_VALUE: &[u8] = b"<no value>";

impl Output {
    pub(crate) fn new(bytes: Vec<u8>, spans: Vec<Span>) -> Self {
        Self { bytes, spans }
    }

    /// The text; each broken byte becomes a U+FFFD, as Go's encoders have it.
    pub fn text(&self) -> String {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => crate::text::runes(&self.bytes).map(|(c, _, _)| c).collect(),
        }
    }

    /// Where the byte at an offset came from.
    pub fn origin(&self, offset: usize) -> Option<Origin> {
        let at = self
            .spans
            .partition_point(|span| span.start <= offset)
            .checked_sub(1)?;
        let span = &self.spans[at];
        let mut line = span.source.place(span.pos).0;
        if span.is_text {
            let passed = self.bytes.get(span.start..offset)?;
            line += passed.iter().filter(|b| **b == b'\n').count();
        }
        Some(Origin {
            file: span.source.name.to_string(),
            line,
        })
    }

    /// Takes out every `<no value>`, as Helm does; origins stay right.
    #[must_use]
    pub fn without_no_value(mut self) -> Self {
        let mut cuts = Vec::new();
        let mut at = 0;
        while let Some(found) = crate::text::find(&self.bytes[at..], NO_VALUE) {
            cuts.push(at + found);
            at += found + NO_VALUE.len();
        }
        if cuts.is_empty() {
            return self;
        }
        for span in &mut self.spans {
            let cut: usize = cuts
                .iter()
                .map(|c| span.start.saturating_sub(*c).min(NO_VALUE.len()))
                .sum();
            span.start -= cut;
        }
        self.bytes = without_no_value(&self.bytes);
        self
    }
}

/// The text without any `<no value>`.
pub(crate) fn without_no_value(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(found) = crate::text::find(rest, NO_VALUE) {
        out.extend_from_slice(&rest[..found]);
        rest = &rest[found + NO_VALUE.len()..];
    }
    out.extend_from_slice(rest);
    out
}
