//! The YAML that manifests are made of, read in one pass over the bytes.
//!
//! Block mappings and lists, plain and quoted scalars, literal blocks and JSON-like flow: almost every
//! manifest consists of nothing else. Whatever looks different in the least (anchors, tags, tabs, odd keys,
//! a key that stands twice, anything that may be wrong) makes [`read`] give up, and the full reader
//! takes over: it alone decides what is an error. A test holds the two against each other.

use crate::load::{Meaning, to_value};
use crate::marks::{Key, Marks};
use crate::resolve::{self, Scalar};
use model::{Map, Value};
use std::borrow::Cow;

/// How deep this reader goes; deeper texts are left to the full one.
const DEPTH_MAX: usize = 64;
/// Longer keys are no simple keys.
const KEY_MAX: usize = 512;

/// Reads a document; `None` means that the full reader must look at it.
pub(crate) fn read(text: &str) -> Option<(Value, Marks)> {
    if !is_plain(text) {
        return None;
    }
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: 0,
        marks: Marks::default(),
    };
    let value = reader.document()?;
    Some((value, reader.marks))
}

// Only characters that mean themselves: no tabs, carriage returns, controls or odd line breaks.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut ascii = true;
    for &b in bytes {
        if b < b' ' && b != b'\n' || b == 0x7f {
            return false;
        }
        ascii &= b < 0x80;
    }
    let odd = |c: char| {
        matches!(
            c,
            '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
    };
    ascii || !text.chars().any(odd)
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    marks: Marks,
}

// What ends a plain word inside flow, and what may stand in keys.
fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/' | b'-' | b'$')
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn document(&mut self) -> Option<Value> {
        let Some(indent) = self.next_line()? else {
            self.marks.begin(0);
            return Some(Value::Null);
        };
        self.marks.begin(self.at + indent);
        let first = self.bytes[self.at + indent];
        if matches!(first, b'{' | b'[') {
            self.at += indent;
            let value = self.flow(0, true)?;
            self.end_of_line()?;
            return self.next_line()?.is_none().then_some(value);
        }
        if indent != 0 {
            return None;
        }
        let value = self.block(0, 0)?;
        self.next_line()?.is_none().then_some(value)
    }

    // Goes to the start of the next line that says something; gives its indentation.
    #[expect(
        clippy::option_option,
        reason = "giving up and reaching the end are two things"
    )]
    fn next_line(&mut self) -> Option<Option<usize>> {
        loop {
            let indent = self.bytes[self.at..]
                .iter()
                .take_while(|b| **b == b' ')
                .count();
            match self.bytes.get(self.at + indent) {
                None => {
                    self.at = self.bytes.len();
                    return Some(None);
                }
                Some(b'\n') => self.at += indent + 1,
                Some(b'#') => self.skip_line(),
                Some(b'.' | b'-' | b'%') if indent == 0 && self.is_marker() => return None,
                Some(_) => return Some(Some(indent)),
            }
        }
    }

    // Lines that belong to the stream, not to the document.
    fn is_marker(&self) -> bool {
        let rest = &self.bytes[self.at..];
        rest.starts_with(b"...") || rest.starts_with(b"---") || rest.starts_with(b"%")
    }

    fn skip_line(&mut self) {
        self.at = self.line_end();
        if self.at < self.bytes.len() {
            self.at += 1;
        }
    }

    fn line_end(&self) -> usize {
        let rest = &self.bytes[self.at..];
        rest.iter()
            .position(|b| *b == b'\n')
            .map_or(self.bytes.len(), |n| self.at + n)
    }

    // Only blanks or a comment may follow; ends at the start of the next line.
    fn end_of_line(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
        match self.peek() {
            None => Some(()),
            Some(b'\n') => {
                self.at += 1;
                Some(())
            }
            Some(b'#') if self.at > start => {
                self.skip_line();
                Some(())
            }
            Some(_) => None,
        }
    }

    // A collection that begins on the line we are at the start of.
    fn block(&mut self, indent: usize, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.at += indent;
        if self.is_entry() {
            self.sequence(indent, depth)
        } else {
            self.mapping(indent, depth)
        }
    }

    fn is_entry(&self) -> bool {
        self.peek() == Some(b'-')
            && matches!(self.bytes.get(self.at + 1), None | Some(b' ' | b'\n'))
    }

    // We stand at the first `-`; further ones stand in the same column.
    fn sequence(&mut self, indent: usize, depth: usize) -> Option<Value> {
        let mut list = Vec::new();
        loop {
            self.at += 1;
            let from = self.at;
            while self.peek() == Some(b' ') {
                self.at += 1;
            }
            let column = indent + 1 + (self.at - from);
            list.push(self.entry(indent, column, depth)?);
            match self.next_line()? {
                Some(next) if next == indent => {
                    self.at += next;
                    if !self.is_entry() {
                        self.at -= next;
                        return Some(Value::Array(list));
                    }
                }
                Some(next) if next > indent => return None,
                _ => return Some(Value::Array(list)),
            }
        }
    }

    // What stands behind a `-`: `column` is where we are.
    fn entry(&mut self, indent: usize, column: usize, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.peek() {
            None | Some(b'\n' | b'#') => {
                let here = self.at;
                self.end_of_line_after_space()?;
                match self.next_line()? {
                    Some(next) if next > indent => {
                        let mark = self.marks.entry(self.at + next);
                        let value = self.block(next, depth + 1)?;
                        self.marks.close(mark);
                        Some(value)
                    }
                    _ => {
                        let mark = self.marks.entry(here);
                        self.marks.close(mark);
                        Some(Value::Null)
                    }
                }
            }
            Some(_) => {
                let mark = self.marks.entry(self.at);
                let value = if self.is_entry() {
                    self.sequence(column, depth + 1)?
                } else if self.key_ahead() {
                    self.mapping(column, depth + 1)?
                } else {
                    self.scalar(indent)?
                };
                self.marks.close(mark);
                Some(value)
            }
        }
    }

    // A comment needs a blank before it; we have passed the blanks already.
    fn end_of_line_after_space(&mut self) -> Option<()> {
        match self.peek() {
            Some(b'#') if self.bytes[self.at - 1] == b' ' => {
                self.skip_line();
                Some(())
            }
            _ => self.end_of_line(),
        }
    }

    // Whether a key and its colon stand here.
    fn key_ahead(&self) -> bool {
        let mut probe = Probe {
            bytes: self.bytes,
            at: self.at,
        };
        probe.key().is_some()
    }

    // We stand at the first key; further ones stand in the same column.
    fn mapping(&mut self, indent: usize, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut map = Map::new();
        loop {
            self.field(indent, depth, &mut map)?;
            match self.next_line()? {
                Some(next) if next == indent => {
                    self.at += next;
                    if self.is_entry() {
                        return None;
                    }
                }
                Some(next) if next > indent => return None,
                _ => return Some(Value::Object(map)),
            }
        }
    }

    fn field(&mut self, indent: usize, depth: usize, map: &mut Map<String, Value>) -> Option<()> {
        let mut probe = Probe {
            bytes: self.bytes,
            at: self.at,
        };
        let (start, end, odd) = probe.key()?;
        let name = &self.text[start..end];
        if !odd && resolve::plain(name) != Scalar::Text {
            return None;
        }
        let key = Key {
            start: self.at,
            end: probe.at - 1,
            name,
            odd,
        };
        self.at = probe.at;
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
        let value = match self.peek() {
            None | Some(b'\n' | b'#') => self.below(indent, depth, key)?,
            Some(_) => {
                let mark = self.marks.field(key, self.at);
                let value = self.scalar(indent)?;
                self.marks.close(mark);
                value
            }
        };
        // A key that stands twice is for the full reader to report.
        map.insert(name.to_owned(), value).is_none().then_some(())
    }

    // The value of a field with nothing behind its colon.
    fn below(&mut self, indent: usize, depth: usize, key: Key<'a>) -> Option<Value> {
        self.end_of_line_after_space()?;
        let next = self.next_line()?;
        let nested = match next {
            Some(next) if next > indent => true,
            Some(next) if next == indent => {
                self.at += next;
                let entry = self.is_entry();
                self.at -= next;
                entry
            }
            _ => false,
        };
        let offset = self.at + if nested { next.unwrap_or(0) } else { 0 };
        let mark = self.marks.field(key, offset);
        let value = match next {
            Some(next) if nested => self.block(next, depth + 1)?,
            _ => Value::Null,
        };
        self.marks.close(mark);
        Some(value)
    }

    // A value that begins on this line; `indent` is that of the collection around it.
    fn scalar(&mut self, indent: usize) -> Option<Value> {
        match self.peek()? {
            b'"' => {
                let text = self.double()?;
                self.end_of_line()?;
                Some(Value::String(text))
            }
            b'\'' => {
                let text = self.single()?;
                self.end_of_line()?;
                Some(Value::String(text))
            }
            b'|' => self.literal(indent),
            b'{' | b'[' => {
                let value = self.flow(0, false)?;
                self.end_of_line()?;
                Some(value)
            }
            b'&' | b'*' | b'!' | b'%' | b'@' | b'`' | b'?' | b':' | b'>' | b'#' | b',' | b']'
            | b'}' => None,
            b'-' if self.is_entry() => None,
            _ => self.plain(indent),
        }
    }

    fn plain(&mut self, indent: usize) -> Option<Value> {
        let (line, commented) = self.plain_line()?;
        if commented && self.continues(indent) {
            return None;
        }
        if !self.continues(indent) {
            let scalar = resolve::plain(line);
            return to_value(Meaning::Plain(scalar), Cow::Borrowed(line)).ok();
        }
        let mut text = line.to_owned();
        while self.continues(indent) {
            let mut breaks = 0;
            loop {
                let end = self.line_end();
                if self.text[self.at..end].trim_matches(' ').is_empty() {
                    breaks += 1;
                    self.at = end + 1;
                } else {
                    break;
                }
            }
            while self.peek() == Some(b' ') {
                self.at += 1;
            }
            if self.peek() == Some(b'#') {
                return None;
            }
            let (line, commented) = self.plain_line()?;
            if commented && self.continues(indent) {
                return None;
            }
            match breaks {
                0 => text.push(' '),
                _ => (0..breaks).for_each(|_| text.push('\n')),
            }
            text.push_str(line);
        }
        let scalar = resolve::plain(&text);
        to_value(Meaning::Plain(scalar), Cow::Owned(text)).ok()
    }

    // Whether the lines that follow go on with a plain scalar.
    fn continues(&self, indent: usize) -> bool {
        let mut at = self.at;
        loop {
            let spaces = self.bytes[at.min(self.bytes.len())..]
                .iter()
                .take_while(|b| **b == b' ')
                .count();
            match self.bytes.get(at + spaces) {
                None => return false,
                Some(b'\n') => at += spaces + 1,
                // A comment ends the scalar; what comes behind it is another matter.
                Some(b'#') => return false,
                Some(_) => return spaces > indent || (indent == 0 && spaces > 0),
            }
        }
    }

    // The text of a plain scalar on one line, and whether a comment stands behind it; moves to the
    // next line.
    fn plain_line(&mut self) -> Option<(&'a str, bool)> {
        let start = self.at;
        let mut end = start;
        let bytes = self.bytes;
        let mut at = start;
        let mut comment = false;
        while at < bytes.len() {
            match bytes[at] {
                b'\n' => break,
                b' ' => {
                    at += 1;
                    continue;
                }
                b':' if matches!(bytes.get(at + 1), None | Some(b' ' | b'\n')) => return None,
                b'#' if at > start && bytes[at - 1] == b' ' => {
                    comment = true;
                    break;
                }
                _ => {}
            }
            at += 1;
            end = at;
        }
        self.at = at;
        self.skip_line();
        Some((&self.text[start..end], comment))
    }

    // Between quotes, on one line; the usual escapes only.
    fn double(&mut self) -> Option<String> {
        self.at += 1;
        let rest = &self.bytes[self.at..];
        let plain = rest
            .iter()
            .position(|b| matches!(b, b'"' | b'\\' | b'\n'))?;
        let mut text = String::from(&self.text[self.at..self.at + plain]);
        self.at += plain;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(text);
                }
                b'\\' => {
                    text.push(match self.bytes.get(self.at + 1)? {
                        b'n' => '\n',
                        b't' => '\t',
                        b'"' => '"',
                        b'\\' => '\\',
                        _ => return None,
                    });
                    self.at += 2;
                }
                b'\n' => return None,
                _ => {
                    let rest = &self.bytes[self.at..];
                    let run = rest
                        .iter()
                        .position(|b| matches!(b, b'"' | b'\\' | b'\n'))?;
                    text.push_str(&self.text[self.at..self.at + run]);
                    self.at += run;
                }
            }
        }
    }

    fn single(&mut self) -> Option<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.bytes[self.at..];
            let run = rest.iter().position(|b| matches!(b, b'\'' | b'\n'))?;
            text.push_str(&self.text[self.at..self.at + run]);
            self.at += run;
            if self.bytes[self.at] == b'\n' {
                return None;
            }
            self.at += 1;
            if self.peek() != Some(b'\'') {
                return Some(text);
            }
            text.push('\'');
            self.at += 1;
        }
    }

    fn literal(&mut self, indent: usize) -> Option<Value> {
        self.at += 1;
        let keep = match self.peek() {
            Some(b'-') => Chomp::Strip,
            Some(b'+') => Chomp::Keep,
            Some(b'\n') => Chomp::Clip,
            _ => return None,
        };
        if keep != Chomp::Clip {
            self.at += 1;
        }
        if self.peek() != Some(b'\n') {
            return None;
        }
        self.at += 1;
        let own = self.literal_indent(indent)?;
        let mut text = String::new();
        let mut breaks = 0;
        loop {
            let spaces = self.bytes[self.at..]
                .iter()
                .take_while(|b| **b == b' ')
                .count();
            match self.bytes.get(self.at + spaces) {
                None => {
                    // How a text ends without a line break is for the full reader to say.
                    if spaces > 0 || self.bytes.last() != Some(&b'\n') {
                        return None;
                    }
                    break;
                }
                Some(b'\n') if spaces > own => return None,
                Some(b'\n') => {
                    breaks += 1;
                    self.at += spaces + 1;
                }
                Some(_) if spaces < own => break,
                Some(_) => {
                    (0..breaks).for_each(|_| text.push('\n'));
                    let end = self.line_end();
                    if end == self.bytes.len() {
                        return None;
                    }
                    text.push_str(&self.text[self.at + own..end]);
                    breaks = 1;
                    self.at = end + 1;
                }
            }
        }
        match keep {
            Chomp::Strip => {}
            Chomp::Clip if text.is_empty() => {}
            Chomp::Clip => text.push('\n'),
            Chomp::Keep => (0..breaks).for_each(|_| text.push('\n')),
        }
        Some(Value::String(text))
    }

    // The indentation of a literal block is that of its first line; an empty block is left alone.
    fn literal_indent(&self, indent: usize) -> Option<usize> {
        let mut at = self.at;
        let mut blank = 0;
        loop {
            let spaces = self.bytes[at..].iter().take_while(|b| **b == b' ').count();
            match self.bytes.get(at + spaces)? {
                b'\n' => {
                    blank = blank.max(spaces);
                    at += spaces + 1;
                }
                _ => return (spaces > indent && blank <= spaces).then_some(spaces),
            }
        }
    }

    fn gap(&mut self, lines: bool) -> Option<u8> {
        while let Some(b) = self.peek() {
            match b {
                b' ' => self.at += 1,
                b'\n' if lines => self.at += 1,
                b'\n' | b'#' => return None,
                other => return Some(other),
            }
        }
        None
    }

    // A value in flow; it may span lines only when it is the whole document.
    fn flow(&mut self, depth: usize, lines: bool) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.gap(lines)? {
            b'{' => self.flow_map(depth, lines),
            b'[' => self.flow_list(depth, lines),
            b'"' => self.double().map(Value::String),
            b'\'' => self.single().map(Value::String),
            _ => {
                let word = self.word()?;
                to_value(Meaning::Plain(resolve::plain(word)), Cow::Borrowed(word)).ok()
            }
        }
    }

    fn word(&mut self) -> Option<&'a str> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take_while(|b| is_word(**b)).count();
        let word = &self.text[self.at..self.at + length];
        let fits = matches!(
            rest.get(length),
            Some(b',' | b']' | b'}' | b' ' | b'\n' | b':')
        );
        if length == 0 || !fits || word == "-" || word.starts_with("---") || word.starts_with("...")
        {
            return None;
        }
        self.at += length;
        Some(word)
    }

    fn flow_list(&mut self, depth: usize, lines: bool) -> Option<Value> {
        self.at += 1;
        let mut list = Vec::new();
        if self.gap(lines)? == b']' {
            self.at += 1;
            return Some(Value::Array(list));
        }
        loop {
            self.gap(lines)?;
            let mark = self.marks.entry(self.at);
            list.push(self.flow(depth + 1, lines)?);
            self.marks.close(mark);
            match self.gap(lines)? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(Value::Array(list));
                }
                _ => return None,
            }
            if self.gap(lines)? == b']' {
                return None;
            }
        }
    }

    fn flow_map(&mut self, depth: usize, lines: bool) -> Option<Value> {
        self.at += 1;
        let mut map = Map::new();
        if self.gap(lines)? == b'}' {
            self.at += 1;
            return Some(Value::Object(map));
        }
        loop {
            let first = self.gap(lines)?;
            let start = self.at;
            let (name, odd) = match first {
                b'"' => (Cow::Owned(self.double()?), true),
                b'\'' => (Cow::Owned(self.single()?), true),
                _ => {
                    let word = self.word()?;
                    if resolve::plain(word) != Scalar::Text {
                        return None;
                    }
                    (Cow::Borrowed(word), false)
                }
            };
            let end = self.at;
            if self.peek() != Some(b':') || end - start > KEY_MAX {
                return None;
            }
            self.at += 1;
            if !odd && !matches!(self.peek(), Some(b' ')) {
                return None;
            }
            self.gap(lines)?;
            let key = Key {
                start,
                end,
                name: &name,
                odd,
            };
            let mark = self.marks.field(key, self.at);
            let value = self.flow(depth + 1, lines)?;
            self.marks.close(mark);
            if map.insert(name.into_owned(), value).is_some() {
                return None;
            }
            match self.gap(lines)? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(Value::Object(map));
                }
                _ => return None,
            }
            if self.gap(lines)? == b'}' {
                return None;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Clip,
    Strip,
    Keep,
}

// Looks for a key without moving the reader.
struct Probe<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Probe<'_> {
    // Where the name begins and ends, and whether it stands in quotes; ends behind the colon.
    fn key(&mut self) -> Option<(usize, usize, bool)> {
        let first = *self.bytes.get(self.at)?;
        let quoted = matches!(first, b'"' | b'\'');
        let start = self.at + usize::from(quoted);
        if !quoted && (!is_word(first) || first == b'-') {
            return None;
        }
        let rest = &self.bytes[start..];
        let allowed = |b: u8| {
            is_word(b) || (quoted && matches!(b, b' ' | b':' | b'*' | b'@' | b',' | b'{' | b'}'))
        };
        let length = rest.iter().take_while(|b| allowed(**b)).count();
        let end = start + length;
        if length == 0 || length > KEY_MAX {
            return None;
        }
        self.at = end;
        if quoted {
            if self.bytes.get(end) != Some(&first) {
                return None;
            }
            self.at += 1;
        }
        if self.bytes.get(self.at) != Some(&b':') {
            return None;
        }
        self.at += 1;
        matches!(self.bytes.get(self.at), None | Some(b' ' | b'\n')).then_some((start, end, quoted))
    }
}

#[cfg(test)]
mod tests;
