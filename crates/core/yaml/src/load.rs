//! Text to [`Value`]: parser events, anchors, merge keys, and keys turned into strings.

use crate::YamlError;
use crate::resolve::{self, Scalar};
use base64::Engine as _;
use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use model::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How deep collections may nest.
pub const DEPTH_MAX: usize = 250;
/// How long a text may be, in bytes.
pub const SIZE_MAX: usize = 64 * 1024 * 1024;

/// One document, and what a strict reader would hold against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The document as JSON; null when it is empty.
    pub value: Value,
    /// `line 3: key "a" already set in map`, one for each key that stands twice.
    pub duplicates: Vec<String>,
}

impl Document {
    /// The error of a strict reader, when it has one.
    pub fn strict_error(&self) -> Option<String> {
        if self.duplicates.is_empty() {
            return None;
        }
        let lines = self.duplicates.join("\n  ");
        Some(format!("yaml: unmarshal errors:\n  {lines}"))
    }
}

/// Reads the first document of a text, as Go's `yaml.Unmarshal` does.
pub fn parse(text: &str) -> Result<Value, YamlError> {
    parse_document(text).map(|document| document.value)
}

/// Reads the first document and notes the keys that stand twice; the last one counts.
pub fn parse_document(text: &str) -> Result<Document, YamlError> {
    let mut loader = Loader::new(text)?;
    let value = loader.next_document()?.unwrap_or(Value::Null);
    Ok(Document {
        value,
        duplicates: loader.duplicates,
    })
}

/// Reads every document of a text; a broken one does not hide those behind it.
pub fn parse_all(text: &str) -> Vec<Result<Value, YamlError>> {
    let mut loader = match Loader::new(text) {
        Ok(loader) => loader,
        Err(fault) => return vec![Err(fault)],
    };
    let mut documents = Vec::new();
    loop {
        match loader.next_document() {
            Ok(None) => return documents,
            Ok(Some(value)) => documents.push(Ok(value)),
            Err(fault) => {
                documents.push(Err(fault));
                if !matches!(loader.parser.proceed_next_document(), Ok(true)) {
                    return documents;
                }
            }
        }
    }
}

struct Loader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    anchors: BTreeMap<usize, (Value, usize, bool)>,
    duplicates: Vec<String>,
    // How many nodes were made, and how many of them by aliases.
    nodes: usize,
    by_alias: usize,
}

type Next<'a> = (Event<'a>, Span);

impl<'a> Loader<'a> {
    fn new(text: &'a str) -> Result<Self, YamlError> {
        if text.len() > SIZE_MAX {
            return Err(fault(0, 0, format!("text is longer than {SIZE_MAX} bytes")));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let options = granit_parser::options! {
            emit_comments: false,
            flow_nesting_limit: DEPTH_MAX,
            block_nesting_limit: DEPTH_MAX,
        };
        Ok(Self {
            parser: Parser::new_from_str_with_options(text, options),
            anchors: BTreeMap::new(),
            duplicates: Vec::new(),
            nodes: 0,
            by_alias: 0,
        })
    }

    fn event(&mut self) -> Result<Next<'a>, YamlError> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(explain(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn next_document(&mut self) -> Result<Option<Value>, YamlError> {
        loop {
            match self.event()?.0 {
                Event::StreamEnd => return Ok(None),
                Event::DocumentStart(..) => break,
                _ => {}
            }
        }
        self.anchors.clear();
        let next = self.event()?;
        if matches!(next.0, Event::DocumentEnd) {
            return Ok(Some(Value::Null));
        }
        let value = self.node(next)?;
        match self.event()?.0 {
            Event::DocumentEnd | Event::StreamEnd => Ok(Some(value)),
            _ => Err(fault(0, 0, "did not find expected <document start>")),
        }
    }

    fn node(&mut self, (event, span): Next<'a>) -> Result<Value, YamlError> {
        self.nodes += 1;
        let before = self.nodes;
        let (value, anchor, is_map) = match event {
            Event::Alias(id) => return self.alias(id, span),
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = scalar(&text, style, tag.as_deref(), span)?;
                (to_value(scalar, text, span)?, anchor, false)
            }
            Event::SequenceStart(_, anchor, _) => (self.sequence()?, anchor, false),
            Event::MappingStart(_, anchor, _) => (self.mapping()?, anchor, true),
            _ => return Err(at(span, "did not find expected node content")),
        };
        if anchor != 0 {
            let size = self.nodes - before + 1;
            self.anchors.insert(anchor, (value.clone(), size, is_map));
        }
        Ok(value)
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<Value, YamlError> {
        let Some((value, size, _)) = self.anchors.get(&id) else {
            return Err(fault(0, 0, "anchor value contains itself"));
        };
        self.nodes += size;
        self.by_alias += size;
        let share = self.by_alias as f64 / self.nodes as f64;
        if self.by_alias > 100 && self.nodes > 1_000 && share > allowed_share(self.nodes) {
            let _ = span;
            return Err(fault(0, 0, "document contains excessive aliasing"));
        }
        Ok(value.clone())
    }

    fn sequence(&mut self) -> Result<Value, YamlError> {
        let mut list = Vec::new();
        loop {
            let next = self.event()?;
            if matches!(next.0, Event::SequenceEnd) {
                return Ok(Value::Array(list));
            }
            list.push(self.node(next)?);
        }
    }

    fn mapping(&mut self) -> Result<Value, YamlError> {
        let mut map = Map::new();
        loop {
            let next = self.event()?;
            let span = next.1;
            if matches!(next.0, Event::MappingEnd) {
                return Ok(Value::Object(map));
            }
            if is_merge(&next.0) {
                let next = self.event()?;
                self.merge(next, &mut map)?;
                continue;
            }
            let key = self.key(next)?;
            let next = self.event()?;
            let line = next.1.start.line();
            let value = self.node(next)?;
            let Key::Text { text, shown } = key else {
                return Err(null_key(&value, span));
            };
            self.insert(&mut map, text, value, line, &shown);
        }
    }

    fn insert(
        &mut self,
        map: &mut Map<String, Value>,
        key: String,
        value: Value,
        line: usize,
        shown: &str,
    ) {
        if map.insert(key, value).is_some() {
            let message = format!("line {line}: key {shown} already set in map");
            self.duplicates.push(message);
        }
    }

    fn key(&mut self, (event, span): Next<'a>) -> Result<Key, YamlError> {
        let (text, scalar) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = scalar(&text, style, tag.as_deref(), span)?;
                if anchor != 0 {
                    let value = to_value(scalar.clone(), text.clone(), span)?;
                    self.anchors.insert(anchor, (value, 1, false));
                }
                (text, scalar)
            }
            Event::Alias(id) => match self.alias(id, span)? {
                Value::String(text) => (Cow::Owned(text), Meaning::Plain(Scalar::Text)),
                Value::Null => return Ok(Key::Null),
                Value::Array(_) | Value::Object(_) => return Err(at(span, "invalid map key")),
                other => return Ok(Key::text(other.to_string(), other.to_string())),
            },
            _ => return Err(at(span, "invalid map key")),
        };
        Ok(match scalar {
            Meaning::Plain(Scalar::Null) => Key::Null,
            Meaning::Plain(Scalar::Bool(b)) => Key::text(b.to_string(), b.to_string()),
            Meaning::Plain(Scalar::Int(n)) => Key::text(n.to_string(), n.to_string()),
            Meaning::Plain(Scalar::Uint(n)) => Key::text(n.to_string(), format!("{n:#x}")),
            Meaning::Plain(Scalar::Float(f)) => {
                let text = float_key(f);
                Key::text(text.clone(), text)
            }
            Meaning::Plain(Scalar::Timestamp | Scalar::Merge | Scalar::Text) => {
                let shown = model::field::go_quote(&text);
                Key::text(text.into_owned(), shown)
            }
            Meaning::Binary(text) => {
                let shown = model::field::go_quote(&text);
                Key::text(text, shown)
            }
        })
    }

    // Keys of a merged mapping go in where the merge stands: what follows wins over them. Of a
    // list of mappings the first wins.
    fn merge(&mut self, next: Next<'a>, map: &mut Map<String, Value>) -> Result<(), YamlError> {
        let line = next.1.start.line();
        let wrong = || {
            fault(
                0,
                0,
                "map merge requires map or sequence of maps as the value",
            )
        };
        let mut sources = Vec::new();
        match next.0 {
            Event::MappingStart(..) => sources.push(self.node(next)?),
            Event::Alias(id) => match self.anchors.get(&id) {
                Some((_, _, true)) => sources.push(self.node(next)?),
                _ => return Err(wrong()),
            },
            Event::SequenceStart(..) => loop {
                let entry = self.event()?;
                match entry.0 {
                    Event::SequenceEnd => break,
                    Event::MappingStart(..) | Event::Alias(_) => sources.push(self.node(entry)?),
                    _ => return Err(wrong()),
                }
            },
            _ => return Err(wrong()),
        }
        for source in sources.into_iter().rev() {
            let Value::Object(source) = source else {
                return Err(wrong());
            };
            for (key, value) in source {
                let shown = model::field::go_quote(&key);
                self.insert(map, key, value, line, &shown);
            }
        }
        Ok(())
    }
}

enum Key {
    Null,
    Text { text: String, shown: String },
}

impl Key {
    fn text(text: String, shown: String) -> Self {
        Self::Text { text, shown }
    }
}

#[derive(Clone)]
enum Meaning {
    Plain(Scalar),
    Binary(String),
}

fn is_merge(event: &Event<'_>) -> bool {
    match event {
        Event::Scalar(text, style, _, tag) => {
            let tagged = tag
                .as_deref()
                .map(|tag| standard(tag).as_deref() == Some("merge"));
            text == "<<" && tagged.unwrap_or(*style == ScalarStyle::Plain)
        }
        _ => false,
    }
}

// The name of a tag of the YAML repository, as in `!!int`.
fn standard(tag: &Tag) -> Option<Cow<'_, str>> {
    tag.suffix_in_namespace("tag:yaml.org,2002:")
}

fn scalar(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    span: Span,
) -> Result<Meaning, YamlError> {
    let Some(tag) = tag else {
        return Ok(Meaning::Plain(if style == ScalarStyle::Plain {
            resolve::plain(text)
        } else {
            Scalar::Text
        }));
    };
    let _ = span;
    let wanted = match standard(tag).as_deref() {
        Some("binary") => {
            let packed: String = text.split_ascii_whitespace().collect();
            return base64::engine::general_purpose::STANDARD
                .decode(packed)
                .map(|bytes| Meaning::Binary(String::from_utf8_lossy(&bytes).into_owned()))
                .map_err(|_| fault(0, 0, "!!binary value contains invalid base64 data"));
        }
        Some(name @ ("bool" | "int" | "float" | "null" | "timestamp")) => format!("!!{name}"),
        _ => return Ok(Meaning::Plain(Scalar::Text)),
    };
    let found = resolve::plain(text);
    let found = match found {
        Scalar::Int(n) if wanted == "!!float" => Scalar::Float(n as f64),
        other => other,
    };
    if found.tag() == wanted {
        return Ok(Meaning::Plain(found));
    }
    let message = format!("cannot decode {} `{text}` as a {wanted}", found.tag());
    Err(fault(0, 0, message))
}

fn to_value(meaning: Meaning, text: Cow<'_, str>, span: Span) -> Result<Value, YamlError> {
    Ok(match meaning {
        Meaning::Binary(text) => Value::String(text),
        Meaning::Plain(Scalar::Null) => Value::Null,
        Meaning::Plain(Scalar::Bool(b)) => Value::Bool(b),
        Meaning::Plain(Scalar::Int(n)) => n.into(),
        Meaning::Plain(Scalar::Uint(n)) => float(n as f64)?,
        Meaning::Plain(Scalar::Float(f)) => float(f)?,
        Meaning::Plain(Scalar::Timestamp | Scalar::Merge | Scalar::Text) => {
            let _ = span;
            Value::String(text.into_owned())
        }
    })
}

fn float(value: f64) -> Result<Value, YamlError> {
    json::number::from_float(value)
        .map(Value::Number)
        .ok_or_else(|| {
            let shown = if value.is_nan() {
                "NaN"
            } else if value > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            fault(0, 0, format!("json: unsupported value: {shown}"))
        })
}

// Go prints float keys with the digits that a 32 bit float needs.
fn float_key(value: f64) -> String {
    if value.is_nan() {
        ".nan".into()
    } else if value.is_infinite() {
        if value > 0.0 { ".inf" } else { "-.inf" }.into()
    } else {
        crate::emit::general(f64::from(value as f32), &format!("{:e}", value as f32))
    }
}

fn null_key(value: &Value, span: Span) -> YamlError {
    let _ = span;
    let shown = match value {
        Value::Null => "interface {}(nil)".to_owned(),
        other => model::field::show(other),
    };
    fault(
        0,
        0,
        format!("unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}"),
    )
}

// Small documents may consist of aliases almost wholly, large ones hardly at all.
fn allowed_share(nodes: usize) -> f64 {
    const LOW: usize = 400_000;
    const HIGH: usize = 4_000_000;
    match nodes {
        0..=LOW => 0.99,
        HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ((nodes - LOW) as f64 / (HIGH - LOW) as f64),
    }
}

fn fault(line: usize, column: usize, message: impl Into<String>) -> YamlError {
    YamlError {
        line,
        column,
        message: message.into(),
    }
}

fn at(span: Span, message: &str) -> YamlError {
    fault(span.start.line(), span.start.col() + 1, message)
}

// The scanner's fault in the words of Go's.
fn explain(error: &ScanError) -> YamlError {
    let message = match error.kind() {
        ErrorKind::ExpectedBlockMappingKey => "did not find expected key",
        ErrorKind::ExpectedNodeContent => "did not find expected node content",
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::UnexpectedEofFlowMapping => {
            "did not find expected ',' or '}'"
        }
        ErrorKind::ExpectedFlowSequenceSeparator | ErrorKind::UnexpectedEofFlowSequence => {
            "did not find expected ',' or ']'"
        }
        ErrorKind::UnclosedFlowCollection { open: '{' } => "did not find expected ',' or '}'",
        ErrorKind::UnclosedFlowCollection { .. } => "did not find expected ',' or ']'",
        ErrorKind::ExpectedBlockSequenceEntry => "did not find expected '-' indicator",
        ErrorKind::ExpectedDocumentStart => "did not find expected <document start>",
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => "could not find expected ':'",
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            "mapping values are not allowed in this context"
        }
        ErrorKind::MappingKeyNotAllowed => "mapping keys are not allowed in this context",
        ErrorKind::BlockSequenceEntryNotAllowed => {
            "block sequence entries are not allowed in this context"
        }
        ErrorKind::UnexpectedCharacter { .. }
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation => "found character that cannot start any token",
        ErrorKind::TabInIndentation | ErrorKind::TabInPlainScalar => {
            "found a tab character that violates indentation"
        }
        ErrorKind::UnclosedQuotedScalar => "found unexpected end of stream",
        ErrorKind::DocumentIndicatorInQuotedScalar => "found unexpected document indicator",
        ErrorKind::UnknownQuotedScalarEscape => "found unknown escape character",
        ErrorKind::InvalidQuotedScalarHexEscape => "did not find expected hexdecimal number",
        ErrorKind::UndeclaredTagHandle => "found undefined tag handle",
        ErrorKind::MissingAnchorOrAliasName => {
            "did not find expected alphabetic or numeric character"
        }
        ErrorKind::UnknownAnchor => "unknown anchor referenced",
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => "did not find expected key",
        ErrorKind::RecursionLimitExceeded => "exceeded max depth of 10000",
        _ => return located(error, &error.info()),
    };
    located(error, message)
}

fn located(error: &ScanError, message: &str) -> YamlError {
    fault(error.marker().line(), error.marker().col() + 1, message)
}

#[cfg(test)]
mod tests;
