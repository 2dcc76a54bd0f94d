//! Text to nodes: documents are split, aliases and merge keys resolved, lists taken apart.

use crate::fault::Fault;
use crate::node::{Arena, DEPTH_MAX, Kind, Node, NodeId, Style, Tag};
use crate::scalar::{self, Scalar};
use crate::write;
use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput};
use model::Value;
use std::collections::BTreeMap;

/// How many nodes the aliases of one document may make.
const ALIASED_MAX: usize = 2_000_000;
/// How long a text may be, in bytes.
const SIZE_MAX: usize = 64 * 1024 * 1024;

/// One object of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Document {
    pub(crate) root: NodeId,
    /// Which document of the file, from 0.
    pub(crate) index: usize,
}

/// A fault of YAML and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Malformed {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
}

/// Why a text is no list of objects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unreadable {
    /// It is no YAML.
    Malformed(Malformed),
    /// A document is no object; holds its line and what it lacks.
    NoObject(usize, String),
}

impl From<Unreadable> for Fault {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Malformed(fault) => {
                Self::text(format!("line {}: {}", fault.line, fault.message))
            }
            Unreadable::NoObject(line, message) => Self::text(format!("line {line}: {message}")),
        }
    }
}

/// Reads the objects of a text, as a resource or a patch is read.
pub(crate) fn objects(
    arena: &mut Arena,
    bytes: &[u8],
    source: u32,
) -> Result<Vec<Document>, Unreadable> {
    let documents = documents(arena, bytes, source)?;
    let kept = drop_bad(arena, documents)?;
    expand_lists(arena, kept)
}

fn documents(arena: &mut Arena, bytes: &[u8], source: u32) -> Result<Vec<Document>, Unreadable> {
    let text = text_of(bytes).map_err(Unreadable::Malformed)?;
    let clean;
    let text = if text.contains("\r\n") {
        clean = text.replace("\r\n", "\n");
        clean.as_str()
    } else {
        text
    };
    let pieces = split(text).map_err(Unreadable::Malformed)?;
    let alone = pieces.len() == 1;
    let mut found = Vec::new();
    for (index, (piece, line)) in pieces.into_iter().enumerate() {
        let root = parse(arena, piece, source, line).map_err(Unreadable::Malformed)?;
        let Some(root) = root.filter(|root| !arena.is_null(*root)) else {
            continue;
        };
        let kind = arena.filled(root, "kind").map(|kind| arena.value(kind));
        let wrapped = alone
            && matches!(kind, Some("List" | "ResourceList"))
            && (arena.field(root, "items").is_some()
                || arena.field(root, "functionConfig").is_some());
        if !wrapped {
            found.push(Document { root, index });
            continue;
        }
        if let Some(items) = arena.field(root, "items") {
            let entry = |&root: &NodeId| Document { root, index };
            found.extend(arena.content(items).iter().map(entry));
        }
    }
    Ok(found)
}

/// The text of a file.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, Malformed> {
    let at = |message: String, line: usize| Malformed {
        line,
        column: 1,
        message,
    };
    if bytes.len() > SIZE_MAX {
        return Err(at(format!("text is longer than {SIZE_MAX} bytes"), 1));
    }
    let text = std::str::from_utf8(bytes).map_err(|fault| {
        let line = bytes[..fault.valid_up_to()]
            .iter()
            .filter(|b| **b == b'\n')
            .count()
            + 1;
        at("yaml: invalid leading UTF-8 octet".into(), line)
    })?;
    if let Some(position) = text.find(is_forbidden) {
        let line = text[..position].matches('\n').count() + 1;
        return Err(at("yaml: control characters are not allowed".into(), line));
    }
    Ok(text)
}

/// Whether the reader of YAML takes a character for no text.
pub(crate) fn is_forbidden(c: char) -> bool {
    let allowed = matches!(c, '\t' | '\n' | '\r' | '\u{85}' | '\u{feff}')
        || ('\u{20}'..='\u{7e}').contains(&c)
        || ('\u{a0}'..='\u{d7ff}').contains(&c)
        || ('\u{e000}'..='\u{fffd}').contains(&c)
        || c >= '\u{10000}';
    !allowed
}

// The pieces between lines that start with `---`, each with the number of its first line.
fn split(text: &str) -> Result<Vec<(&str, usize)>, Malformed> {
    let mut pieces = Vec::new();
    if text.is_empty() {
        return Ok(pieces);
    }
    let (mut start, mut line) = (0, 1);
    let mut from = 0;
    while let Some(at) = text[from..].find("\n---").map(|at| from + at) {
        let rest = &text[at + 4..];
        let Some(end) = rest.find('\n') else {
            break;
        };
        let behind = rest[..end].trim();
        let separator_line = line + text[start..=at].matches('\n').count();
        if !behind.is_empty() && !behind.starts_with('#') {
            return Err(Malformed {
                line: separator_line,
                column: 1,
                message: format!("invalid document separator: ---{}", &rest[..end].trim_end()),
            });
        }
        pieces.push((&text[start..=at], line));
        start = at + 4 + end + 1;
        line = separator_line + 1;
        from = start;
    }
    pieces.push((&text[start..], line));
    Ok(pieces)
}

// Empty objects are dropped, others must say what they are.
fn drop_bad(arena: &Arena, documents: Vec<Document>) -> Result<Vec<Document>, Unreadable> {
    let mut kept = Vec::with_capacity(documents.len());
    for document in documents {
        if arena.is_empty(document.root) {
            continue;
        }
        let line = arena.get(document.root).line as usize;
        check_meta(arena, document.root).map_err(|why| Unreadable::NoObject(line, why))?;
        kept.push(document);
    }
    Ok(kept)
}

/// Refuses what does not say what it is.
pub(crate) fn check_meta(arena: &Arena, root: NodeId) -> Result<(), String> {
    let text = |id: NodeId, name: &str| {
        let field = arena.filled(id, name);
        field.map(|field| arena.value(field).to_owned())
    };
    let (version, kind) = (text(root, "apiVersion"), text(root, "kind"));
    let meta = arena.filled(root, "metadata");
    let name = meta.and_then(|meta| text(meta, "name"));
    let said = |name: &str| meta.is_some_and(|meta| arena.filled(meta, name).is_some());
    let known = ["namespace", "labels", "annotations"].into_iter().any(said);
    if version.is_none() && kind.is_none() && name.is_none() && !known {
        return Err("missing Resource metadata".into());
    }
    let kind = kind.unwrap_or_default();
    if kind.is_empty() {
        return Err("missing kind in object".into());
    }
    if !kind.ends_with("List") && name.unwrap_or_default().is_empty() {
        return Err(format!("missing metadata.name in object of kind {kind}"));
    }
    Ok(())
}

// `FooList` objects give way to what they list, behind everything else.
fn expand_lists(arena: &mut Arena, documents: Vec<Document>) -> Result<Vec<Document>, Unreadable> {
    let mut result = Vec::with_capacity(documents.len());
    let mut pending: std::collections::VecDeque<Document> = documents.into();
    while let Some(document) = pending.pop_front() {
        let root = document.root;
        let kind = arena
            .field(root, "kind")
            .map(|kind| arena.get(kind).value.clone());
        let items = arena.field(root, "items");
        let (Some(kind), Some(items)) = (kind, items) else {
            result.push(document);
            continue;
        };
        if !kind.ends_with("List") {
            result.push(document);
            continue;
        }
        let line = arena.get(root).line as usize;
        let refuse = |why: String| Unreadable::NoObject(line, why);
        // The list is read as plain data: whatever is wrong in it is found here.
        write::to_value(arena, root, true).map_err(|fault| refuse(fault.to_string()))?;
        if arena.is_null(items) {
            continue;
        }
        if arena.kind(items) != Kind::Sequence {
            return Err(refuse(format!("expected array in {kind}/items")));
        }
        let mut inner = Vec::new();
        for entry in arena.content(items).to_vec() {
            let value = write::to_value(arena, entry, false);
            let value = value.map_err(|fault| refuse(fault.to_string()))?;
            if value.is_null() {
                continue;
            }
            let places = (arena.get(entry).source, arena.get(entry).line);
            let root = write::from_value(arena, &value, write::Numbers::Exact, places);
            inner.push(Document {
                root,
                index: document.index,
            });
        }
        pending.extend(drop_bad(arena, inner)?);
    }
    Ok(result)
}

/// Reads the first document of a text; `first_line` is the number of its first line.
pub(crate) fn parse(
    arena: &mut Arena,
    text: &str,
    source: u32,
    first_line: usize,
) -> Result<Option<NodeId>, Malformed> {
    let stripped = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut reader = Reader {
        parser: Parser::new_from_str_with_options(stripped, options),
        text: stripped,
        arena,
        anchors: BTreeMap::new(),
        aliased: 0,
        source,
        first_line,
    };
    reader
        .document()
        .map_err(|fault| worded(fault, stripped, first_line))
}

// The words of the reader that all of Kubernetes uses, when it refuses the text too.
fn worded(fault: Malformed, text: &str, first_line: usize) -> Malformed {
    match yaml::parse(text) {
        Err(error) if error.line > 0 => Malformed {
            line: error.line + first_line - 1,
            column: error.column,
            message: error.message,
        },
        _ => fault,
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    text: &'a str,
    arena: &'a mut Arena,
    // Nodes that are complete; one that is not contains its own alias.
    anchors: BTreeMap<usize, NodeId>,
    aliased: usize,
    source: u32,
    first_line: usize,
}

type Next<'a> = (Event<'a>, Span);

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Option<NodeId>, Malformed> {
        self.check_start()?;
        loop {
            match self.event()?.0 {
                Event::StreamEnd => return Ok(None),
                Event::DocumentStart(..) => break,
                _ => {}
            }
        }
        let next = self.event()?;
        if matches!(next.0, Event::DocumentEnd) {
            return Ok(None);
        }
        let root = self.node(next)?;
        // What is behind it is not read, but the end must be one.
        self.event()?;
        Ok(Some(root))
    }

    // A tab for indentation at the very start is refused by the real reader.
    fn check_start(&self) -> Result<(), Malformed> {
        let mut lines = self.text.lines().enumerate();
        let first = lines.find(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        });
        match first {
            Some((number, line)) if line.starts_with('\t') => Err(Malformed {
                line: self.first_line + number,
                column: 1,
                message: "found character that cannot start any token".into(),
            }),
            _ => Ok(()),
        }
    }

    fn event(&mut self) -> Result<Next<'a>, Malformed> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => {
                let mark = error.marker();
                Err(Malformed {
                    line: self.first_line + mark.line().saturating_sub(1),
                    column: mark.col() + 1,
                    message: error.info().to_owned(),
                })
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn fault(&self, span: Span, message: impl Into<String>) -> Malformed {
        Malformed {
            line: self.line(span),
            column: span.start.col() + 1,
            message: message.into(),
        }
    }

    fn line(&self, span: Span) -> usize {
        self.first_line + span.start.line().saturating_sub(1)
    }

    fn node(&mut self, (event, span): Next<'a>) -> Result<NodeId, Malformed> {
        if self.arena.is_full() {
            return Err(self.fault(span, "too many nodes"));
        }
        match event {
            Event::Alias(id) => self.alias(id, span),
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref().and_then(written_tag);
                let node = self.scalar(&text, style, tag, span)?;
                let id = self.arena.add(node);
                self.keep(anchor, id);
                Ok(id)
            }
            Event::SequenceStart(_, anchor, tag) => {
                let mut content = Vec::new();
                loop {
                    let next = self.event()?;
                    if matches!(next.0, Event::SequenceEnd) {
                        break;
                    }
                    content.push(self.node(next)?);
                }
                let tag = tag.as_deref().and_then(written_tag);
                let id = self.collection(Kind::Sequence, tag, content, span);
                self.keep(anchor, id);
                Ok(id)
            }
            Event::MappingStart(_, anchor, tag) => {
                let content = self.mapping(span)?;
                let tag = tag.as_deref().and_then(written_tag);
                let id = self.collection(Kind::Mapping, tag, content, span);
                self.keep(anchor, id);
                Ok(id)
            }
            Event::UnresolvedAlias(name) => {
                Err(self.fault(span, format!("unknown anchor '{name}' referenced")))
            }
            _ => Err(self.fault(span, "did not find expected node content")),
        }
    }

    fn collection(
        &mut self,
        kind: Kind,
        tag: Option<Tag>,
        content: Vec<NodeId>,
        span: Span,
    ) -> NodeId {
        let implicit = if kind == Kind::Mapping {
            Tag::Map
        } else {
            Tag::Seq
        };
        let node = Node {
            kind,
            tagged: tag.is_some(),
            tag: tag.unwrap_or(implicit),
            content,
            source: self.source,
            line: self.line(span) as u32,
            ..Node::default()
        };
        self.arena.add(node)
    }

    fn keep(&mut self, anchor: usize, id: NodeId) {
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<NodeId, Malformed> {
        let Some(&target) = self.anchors.get(&anchor) else {
            return Err(self.fault(span, "anchor value contains itself"));
        };
        self.aliased += self.size(target);
        if self.aliased > ALIASED_MAX {
            return Err(self.fault(span, "document contains excessive aliasing"));
        }
        Ok(self.arena.copy(target))
    }

    fn size(&self, id: NodeId) -> usize {
        let (mut count, mut pending) = (0, vec![id]);
        while let Some(id) = pending.pop() {
            count += 1;
            if count > ALIASED_MAX {
                break;
            }
            pending.extend(self.arena.content(id));
        }
        count
    }

    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<Tag>,
        span: Span,
    ) -> Result<Node, Malformed> {
        let text = self.without_false_end(text, style, span);
        // Our scanner gives a value that is not there a tilde.
        let missing = style == ScalarStyle::Plain && text == "~" && !self.is_written(span);
        let text = if missing { "" } else { text };
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::Single,
            ScalarStyle::DoubleQuoted => {
                self.check_escapes(span)?;
                Style::Double
            }
            ScalarStyle::Literal => Style::Literal,
            ScalarStyle::Folded => Style::Folded,
        };
        let tagged = tag.is_some();
        let tag = tag.unwrap_or_else(|| match style {
            Style::Plain if text == "<<" => Tag::Merge,
            Style::Plain => match scalar::resolve(text) {
                Scalar::Text => Tag::Str,
                found => found.tag(),
            },
            _ => Tag::Str,
        });
        Ok(Node {
            kind: Kind::Scalar,
            tag,
            tagged,
            style,
            value: text.into(),
            content: Vec::new(),
            source: self.source,
            line: self.line(span) as u32,
        })
    }

    fn is_written(&self, span: Span) -> bool {
        span.slice(self.text).is_some_and(|raw| raw.contains('~'))
    }

    // Our scanner ends a block scalar with a line break even where the text ends without one.
    fn without_false_end<'t>(&self, text: &'t str, style: ScalarStyle, span: Span) -> &'t str {
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let at_end = span.byte_range().is_some_and(|r| r.end >= self.text.len());
        if block && at_end && !self.text.ends_with('\n') {
            return text.strip_suffix('\n').unwrap_or(text);
        }
        text
    }

    // The real reader knows neither `\/` nor pairs of surrogates.
    fn check_escapes(&self, span: Span) -> Result<(), Malformed> {
        let raw = span.slice(self.text).unwrap_or_default();
        let mut rest = raw;
        while let Some(at) = rest.find('\\') {
            let escape = &rest[at + 1..];
            match escape.as_bytes() {
                [b'/', ..] => return Err(self.fault(span, "found unknown escape character")),
                [
                    b'u',
                    b'd' | b'D',
                    b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F',
                    ..,
                ] => {
                    let message = "found invalid Unicode character escape code";
                    return Err(self.fault(span, message));
                }
                _ => {
                    let step = escape.chars().next().map_or(0, char::len_utf8);
                    rest = &escape[step..];
                }
            }
        }
        Ok(())
    }

    fn mapping(&mut self, start: Span) -> Result<Vec<NodeId>, Malformed> {
        let mut content = Vec::new();
        let mut merged: Option<NodeId> = None;
        loop {
            let next = self.event()?;
            if matches!(next.0, Event::MappingEnd) {
                break;
            }
            let key = self.node(next)?;
            let next = self.event()?;
            let value = self.node(next)?;
            if self.arena.get(key).tag != Tag::Merge {
                content.extend([key, value]);
            } else if merged.replace(value).is_some() {
                return Err(self.fault(start, "duplicate merge key"));
            }
        }
        let Some(merged) = merged else {
            return Ok(content);
        };
        let own = content.len();
        for source in self.merge_sources(merged, start)? {
            for (key, value) in self.arena.pairs(source) {
                let name = self.arena.get(key).value.clone();
                let known = (0..content.len())
                    .step_by(2)
                    .find(|&at| self.arena.get(content[at]).value == name);
                let (key, value) = (self.arena.copy(key), self.arena.copy(value));
                match known {
                    // What the mapping says itself wins.
                    Some(at) if at < own => {}
                    Some(at) => {
                        content[at] = key;
                        content[at + 1] = value;
                    }
                    None => content.extend([key, value]),
                }
            }
        }
        Ok(content)
    }

    // The mappings to merge, the last one first: those before it win.
    fn merge_sources(&self, value: NodeId, span: Span) -> Result<Vec<NodeId>, Malformed> {
        match self.arena.kind(value) {
            Kind::Mapping => Ok(vec![value]),
            Kind::Sequence => {
                let entries = self.arena.content(value);
                if entries
                    .iter()
                    .all(|entry| self.arena.kind(*entry) == Kind::Mapping)
                {
                    return Ok(entries.iter().rev().copied().collect());
                }
                Err(self.fault(span, "invalid map merge: received a nested sequence"))
            }
            _ => Err(self.fault(
                span,
                "map merge requires map or sequence of maps as the value",
            )),
        }
    }
}

// The tag that stands in the text; a lone `!` says nothing.
fn written_tag(tag: &granit_parser::Tag) -> Option<Tag> {
    if let Some(name) = tag.suffix_in_namespace("tag:yaml.org,2002:") {
        return Some(match &*name {
            "null" => Tag::Null,
            "str" => Tag::Str,
            "int" => Tag::Int,
            "float" => Tag::Float,
            "bool" => Tag::Bool,
            "timestamp" => Tag::Timestamp,
            "binary" => Tag::Binary,
            "merge" => Tag::Merge,
            "map" => Tag::Map,
            "seq" => Tag::Seq,
            other => Tag::Other(format!("!!{other}").into()),
        });
    }
    let text = tag.to_string();
    (text != "!" && !text.is_empty()).then(|| Tag::Other(text.into()))
}

/// The value of a file that holds settings, as the rest of Kubernetes reads YAML.
pub(crate) fn settings(bytes: &[u8]) -> Result<Value, Malformed> {
    let text = text_of(bytes)?;
    yaml::parse(text).map_err(|error| Malformed {
        line: error.line,
        column: error.column,
        message: error.to_string(),
    })
}
