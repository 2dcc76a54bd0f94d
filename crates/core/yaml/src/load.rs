//! Text to [`Value`]: parser events, anchors, merge keys, and keys turned into strings.

use crate::YamlError;
use crate::fault::{check_escapes, check_first_line, compose, convert, explain, unexpected};
use crate::marks::{Key as Name, Marks};
use crate::resolve::{self, Scalar};
use base64::Engine as _;
use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use model::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How deep collections may nest.
pub const DEPTH_MAX: usize = json::DEPTH_MAX;
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

pub(crate) struct Loader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    text: &'a str,
    anchors: BTreeMap<usize, Anchor>,
    duplicates: Vec<String>,
    // How many nodes were made, and how many of them by aliases.
    nodes: usize,
    by_alias: usize,
    // Where the fields stand, when somebody wants to know.
    marks: Option<Marks>,
    // A key that is written twice in one mapping: its name and both offsets.
    twice: Option<(String, usize, usize)>,
}

struct Anchor {
    value: Value,
    // How many nodes the value is made of.
    size: usize,
    // Where the values of a mapping stand.
    lines: Lines,
    // The marks of what is in it.
    marks: std::ops::Range<usize>,
}

type Lines = BTreeMap<String, usize>;
type Next<'a> = (Event<'a>, Span);

impl<'a> Loader<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Self, YamlError> {
        if text.len() > SIZE_MAX {
            return Err(crate::located::too_long());
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        check_first_line(text)?;
        let options = granit_parser::options! {
            emit_comments: false,
            emit_unresolved_aliases: true,
            flow_nesting_limit: DEPTH_MAX,
            block_nesting_limit: DEPTH_MAX,
        };
        Ok(Self {
            parser: Parser::new_from_str_with_options(text, options),
            text,
            anchors: BTreeMap::new(),
            duplicates: Vec::new(),
            nodes: 0,
            by_alias: 0,
            marks: None,
            twice: None,
        })
    }

    /// From now on it is noted where the fields stand.
    pub(crate) fn keep_marks(&mut self) {
        self.marks = Some(Marks::default());
    }

    pub(crate) fn into_marks(self) -> Marks {
        self.marks.unwrap_or_default()
    }

    /// The first key that is written twice in one mapping, and both its offsets.
    pub(crate) fn written_twice(&mut self) -> Option<(String, usize, usize)> {
        self.twice.take()
    }

    fn marked(&self) -> usize {
        self.marks.as_ref().map_or(0, Marks::len)
    }

    fn event(&mut self) -> Result<Next<'a>, YamlError> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.explain(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    pub(crate) fn next_document(&mut self) -> Result<Option<Value>, YamlError> {
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
        if let Some(marks) = &mut self.marks {
            marks.begin(start_of(next.1));
        }
        let value = self.node(next)?;
        match self.event()?.0 {
            Event::DocumentEnd | Event::StreamEnd => Ok(Some(value)),
            _ => Err(compose("did not find expected <document start>")),
        }
    }

    // A fault that has no place of its own is where the innermost node around it begins.
    fn node(&mut self, next: Next<'a>) -> Result<Value, YamlError> {
        let span = next.1;
        self.bare_node(next).map_err(|fault| placed(fault, span))
    }

    fn bare_node(&mut self, (event, span): Next<'a>) -> Result<Value, YamlError> {
        self.nodes += 1;
        let before = self.nodes;
        let marked = self.marked();
        let mut lines = Lines::new();
        let (value, anchor) = match event {
            Event::Alias(id) => return self.alias(id, false),
            Event::Scalar(text, style, anchor, tag) => {
                let text = self.without_false_end(text, style, span);
                let scalar = self.scalar(&text, style, tag.as_deref(), span)?;
                (to_value(scalar, text)?, anchor)
            }
            Event::SequenceStart(_, anchor, _) => (self.sequence()?, anchor),
            Event::MappingStart(_, anchor, _) => {
                (self.mapping((anchor != 0).then_some(&mut lines))?, anchor)
            }
            other => return Err(unexpected(&other, span)),
        };
        if anchor != 0 {
            let entry = Anchor {
                value: value.clone(),
                size: self.nodes - before + 1,
                lines,
                marks: marked..self.marked(),
            };
            self.anchors.insert(anchor, entry);
        }
        Ok(value)
    }

    fn alias(&mut self, id: usize, merged: bool) -> Result<Value, YamlError> {
        let Some(anchor) = self.anchors.get(&id) else {
            return Err(compose("anchor value contains itself"));
        };
        self.nodes += anchor.size;
        self.by_alias += anchor.size;
        let share = self.by_alias as f64 / self.nodes as f64;
        if self.by_alias > 100 && self.nodes > 1_000 && share > allowed_share(self.nodes) {
            return Err(compose("document contains excessive aliasing"));
        }
        let value = anchor.value.clone();
        if let Some(marks) = &mut self.marks {
            marks.copy(anchor.marks.clone(), merged);
        }
        Ok(value)
    }

    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<Meaning, YamlError> {
        if style == ScalarStyle::DoubleQuoted {
            check_escapes(span.slice(self.text).unwrap_or_default(), span)?;
        }
        meaning(text, style, tag)
    }

    // Our scanner ends a block scalar with a line break even where the text ends without one.
    fn without_false_end(
        &self,
        text: Cow<'a, str>,
        style: ScalarStyle,
        span: Span,
    ) -> Cow<'a, str> {
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let at_end = span.byte_range().is_some_and(|r| r.end >= self.text.len());
        if !block || !at_end || self.text.ends_with('\n') || !text.ends_with('\n') {
            return text;
        }
        let mut text = text.into_owned();
        text.pop();
        Cow::Owned(text)
    }

    // A collection that is never closed is missed at the end of the text.
    fn explain(&self, error: &ScanError) -> YamlError {
        let mut fault = explain(error);
        if matches!(error.kind(), ErrorKind::UnclosedFlowCollection { .. }) {
            fault.line = self.text.lines().count() + 1;
            fault.column = 1;
        }
        fault
    }

    fn sequence(&mut self) -> Result<Value, YamlError> {
        let mut list = Vec::new();
        loop {
            let next = self.event()?;
            if matches!(next.0, Event::SequenceEnd) {
                return Ok(Value::Array(list));
            }
            let mark = self
                .marks
                .as_mut()
                .map(|marks| marks.entry(start_of(next.1)));
            list.push(self.node(next)?);
            self.close(mark);
        }
    }

    fn close(&mut self, mark: Option<usize>) {
        if let (Some(marks), Some(mark)) = (&mut self.marks, mark) {
            marks.close(mark);
        }
    }

    // `lines` takes where the values stand, for those who merge the mapping.
    fn mapping(&mut self, mut lines: Option<&mut Lines>) -> Result<Value, YamlError> {
        let mut map = Map::new();
        let first = self.marked();
        loop {
            let next = self.event()?;
            if matches!(next.0, Event::MappingEnd) {
                return Ok(Value::Object(map));
            }
            if is_merge(&next.0) {
                let next = self.event()?;
                self.merge(next, &mut map)?;
                continue;
            }
            let at = next.1;
            let key = self.key(next).map_err(|fault| placed(fault, at))?;
            let next = self.event()?;
            let line = next.1.start.line();
            if let Key::Text { text, .. } = &key {
                self.note_twice(first, text, at, &map);
            }
            let mark = self.mark_field(&key, at, next.1);
            let value = self.node(next)?;
            self.close(mark);
            let Key::Text { text, shown } = key else {
                return Err(placed(null_key(&value), at));
            };
            if let Some(lines) = &mut lines {
                lines.insert(text.clone(), line);
            }
            self.insert(&mut map, text, value, line, &shown);
        }
    }

    fn mark_field(&mut self, key: &Key, at: Span, value: Span) -> Option<usize> {
        let Key::Text { text: name, .. } = key else {
            return None;
        };
        let raw = at.slice(self.text).unwrap_or_default();
        let field = Name {
            start: start_of(at),
            end: start_of(at) + raw.len(),
            name,
            odd: raw != name || name.is_empty(),
        };
        let marks = self.marks.as_mut()?;
        Some(marks.field(field, start_of(value)))
    }

    fn note_twice(&mut self, first: usize, name: &str, at: Span, map: &Map<String, Value>) {
        if self.twice.is_some() || !map.contains_key(name) {
            return;
        }
        let Some(marks) = &self.marks else { return };
        if let Some(earlier) = marks.earlier(self.text, first, name) {
            self.twice = Some((name.to_owned(), earlier, start_of(at)));
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
                let scalar = self.scalar(&text, style, tag.as_deref(), span)?;
                if anchor != 0 {
                    let entry = Anchor {
                        value: to_value(scalar.clone(), text.clone())?,
                        size: 1,
                        lines: Lines::new(),
                        marks: 0..0,
                    };
                    self.anchors.insert(anchor, entry);
                }
                (text, scalar)
            }
            other => match self.node((other, span))? {
                Value::String(text) => (Cow::Owned(text), Meaning::Plain(Scalar::Text)),
                Value::Null => return Ok(Key::Null),
                list @ (Value::Array(_) | Value::Object(_)) => {
                    return Err(compose(format!("invalid map key: {}", go_syntax(&list))));
                }
                other => return Ok(Key::text(other.to_string(), other.to_string())),
            },
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
            Meaning::Plain(Scalar::Timestamp | Scalar::Text) => {
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
        let mut sources = Vec::new();
        match next.0 {
            Event::SequenceStart(..) => loop {
                let entry = self.event()?;
                if matches!(entry.0, Event::SequenceEnd) {
                    break;
                }
                sources.push(self.merge_source(entry)?);
            },
            _ => sources.push(self.merge_source(next)?),
        }
        for (source, lines) in sources.into_iter().rev() {
            for (key, value) in source {
                let shown = model::field::go_quote(&key);
                let line = lines.get(&key).copied().unwrap_or(0);
                self.insert(map, key, value, line, &shown);
            }
        }
        Ok(())
    }

    fn merge_source(&mut self, next: Next<'a>) -> Result<(Map<String, Value>, Lines), YamlError> {
        let mut lines = Lines::new();
        let value = match next.0 {
            Event::MappingStart(..) => self.mapping(Some(&mut lines))?,
            Event::Alias(id) => {
                let value = self.alias(id, true)?;
                if let Some(anchor) = self.anchors.get(&id) {
                    lines.clone_from(&anchor.lines);
                }
                value
            }
            _ => Value::Null,
        };
        match value {
            Value::Object(map) => Ok((map, lines)),
            _ => Err(compose(
                "map merge requires map or sequence of maps as the value",
            )),
        }
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
pub(crate) enum Meaning {
    Plain(Scalar),
    Binary(String),
}

fn placed(fault: YamlError, span: Span) -> YamlError {
    if fault.line != 0 {
        return fault;
    }
    YamlError {
        line: span.start.line(),
        column: span.start.col() + 1,
        ..fault
    }
}

fn start_of(span: Span) -> usize {
    span.byte_range().map_or(0, |range| range.start)
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

fn meaning(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Meaning, YamlError> {
    let Some(tag) = tag else {
        return Ok(Meaning::Plain(if style == ScalarStyle::Plain {
            resolve::plain(text)
        } else {
            Scalar::Text
        }));
    };
    let wanted = match standard(tag).as_deref() {
        Some("binary") => {
            let packed: String = text.split_ascii_whitespace().collect();
            return base64::engine::general_purpose::STANDARD
                .decode(packed)
                .map(|bytes| Meaning::Binary(String::from_utf8_lossy(&bytes).into_owned()))
                .map_err(|_| compose("!!binary value contains invalid base64 data"));
        }
        Some(name @ ("bool" | "int" | "float" | "null" | "timestamp")) => format!("!!{name}"),
        _ => return Ok(Meaning::Plain(Scalar::Text)),
    };
    let found = match resolve::plain(text) {
        Scalar::Int(n) if wanted == "!!float" => Scalar::Float(n as f64),
        other => other,
    };
    if found.tag() == wanted {
        return Ok(Meaning::Plain(found));
    }
    let found = found.tag();
    Err(compose(format!(
        "cannot decode {found} `{text}` as a {wanted}"
    )))
}

pub(crate) fn to_value(meaning: Meaning, text: Cow<'_, str>) -> Result<Value, YamlError> {
    Ok(match meaning {
        Meaning::Binary(text) => Value::String(text),
        Meaning::Plain(Scalar::Null) => Value::Null,
        Meaning::Plain(Scalar::Bool(b)) => Value::Bool(b),
        Meaning::Plain(Scalar::Int(n)) => n.into(),
        Meaning::Plain(Scalar::Uint(n)) => float(n as f64)?,
        Meaning::Plain(Scalar::Float(f)) => float(f)?,
        Meaning::Plain(Scalar::Timestamp | Scalar::Text) => Value::String(text.into_owned()),
    })
}

fn float(value: f64) -> Result<Value, YamlError> {
    let number = json::number::from_float(value).map(Value::Number);
    number.ok_or_else(|| {
        let shown = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        };
        convert(format!("json: unsupported value: {shown}"))
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

fn null_key(value: &Value) -> YamlError {
    let shown = go_syntax(value);
    convert(format!(
        "unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}"
    ))
}

// A value as Go's `%#v` prints it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::String(text) => model::field::go_quote(text),
        Value::Array(list) => {
            let shown: Vec<_> = list.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", shown.join(", "))
        }
        Value::Object(map) => {
            let entry = |(k, v): (&String, &Value)| {
                format!("{}:{}", model::field::go_quote(k), go_syntax(v))
            };
            let shown: Vec<_> = map.iter().map(entry).collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", shown.join(", "))
        }
        other => other.to_string(),
    }
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

#[cfg(test)]
mod tests;
