//! TOML to values; what is wrong is said under the key `Error`, as Helm does.

use crate::date::{Time, layout};
use crate::function::Edition;
use crate::quote::{quote, quote_rune};
use crate::strconv::{parse_float, parse_int};
use crate::value::{Element, Entries, List, Map, Value};

/// How deep arrays and inline tables may nest.
const DEPTH_MAX: usize = 500;

/// Reads a document.
pub(in crate::helm) fn parse(text: &[u8], edition: Edition) -> Value {
    let text = String::from_utf8_lossy(text).into_owned();
    let mut reader = Reader {
        text: &text,
        at: 0,
        edition,
        last_key: String::new(),
        root: Map::new(Entries::new()),
        defined: Vec::new(),
    };
    match reader.document() {
        Ok(()) => Value::Map(reader.root),
        Err(why) => Value::map([("Error", Value::from(why))]),
    }
}

/// A time as it was written: with a zone, or only a date or a time of day.
pub(super) fn time_text(time: &Time) -> String {
    match time.abbreviation() {
        "datetime-local" => layout::format(time, "2006-01-02T15:04:05.999999999"),
        "date-local" => layout::format(time, "2006-01-02"),
        "time-local" => layout::format(time, "15:04:05.999999999"),
        _ => layout::format(time, "2006-01-02T15:04:05.999999999Z07:00"),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    edition: Edition,
    last_key: String,
    root: Map,
    // Tables that were named by a header already.
    defined: Vec<Vec<String>>,
}

type Result<T> = std::result::Result<T, String>;

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn line(&self) -> usize {
        1 + self.text[..self.at].matches('\n').count()
    }

    fn error<T>(&self, message: impl std::fmt::Display) -> Result<T> {
        self.error_at(self.line(), message)
    }

    fn error_at<T>(&self, line: usize, message: impl std::fmt::Display) -> Result<T> {
        let key = if self.last_key.is_empty() {
            String::new()
        } else {
            format!(" (last key {})", quote(self.last_key.as_bytes()))
        };
        Err(format!("toml: line {line}{key}: {message}"))
    }

    // At the end of the text the older library counts a line less.
    fn end_error<T>(&self, message: impl std::fmt::Display) -> Result<T> {
        let older = usize::from(self.edition == Edition::Helm3);
        self.error_at(self.line() - older, message)
    }

    fn shown(&self) -> String {
        self.peek()
            .map_or_else(|| "'\\x00'".to_owned(), |c| quote_rune(c, false))
    }

    fn blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    // White space, line breaks and comments.
    fn gap(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn document(&mut self) -> Result<()> {
        let mut table = self.root.clone();
        let mut prefix: Vec<String> = Vec::new();
        loop {
            self.gap();
            if self.rest().is_empty() {
                return Ok(());
            }
            if self.rest().starts_with('[') {
                let list = self.rest().starts_with("[[");
                self.at += if list { 2 } else { 1 };
                prefix = self.header(list)?;
                table = self.enter(&prefix, list)?;
            } else {
                self.assignment(&table, &prefix)?;
            }
            self.blank();
            match self.peek() {
                None | Some('\n' | '#' | '\r') => {}
                Some(c) => {
                    return self.error(format!(
                        "expected a top-level item to end with a newline, comment, or EOF, but got {} instead",
                        quote_rune(c, false)
                    ));
                }
            }
        }
    }

    fn header(&mut self, list: bool) -> Result<Vec<String>> {
        let mut key = Vec::new();
        loop {
            self.blank();
            key.push(self.key_part("table name")?);
            self.blank();
            if self.eat(".") {
                continue;
            }
            if self.eat(if list { "]]" } else { "]" }) {
                return Ok(key);
            }
            let shown = self.shown();
            let message = format!("expected '.' or ']' to end table name, but got {shown} instead");
            return if self.peek().is_none() {
                self.end_error(message)
            } else {
                self.error(message)
            };
        }
    }

    // Goes to the table of a header and makes what is missing on the way.
    fn enter(&mut self, key: &[String], list: bool) -> Result<Map> {
        let mut here = self.root.clone();
        for (i, name) in key.iter().enumerate() {
            let last = i + 1 == key.len();
            let found = here.get(name);
            here = match found {
                Some(Value::Map(map)) if !(last && list) => map,
                Some(Value::List(items)) if *items.element() != Element::Any => {
                    if last && list {
                        let table = Map::new(Entries::new());
                        let mut all = items.items().to_vec();
                        all.push(Value::Map(table.clone()));
                        here.set(
                            name.as_str(),
                            Value::List(List::typed(items.element().clone(), all)),
                        );
                        table
                    } else {
                        match items.items().last() {
                            Some(Value::Map(map)) => map.clone(),
                            _ => return self.twice(&key[..=i]),
                        }
                    }
                }
                Some(_) => return self.twice(&key[..=i]),
                None => {
                    let table = Map::new(Entries::new());
                    let value = Value::Map(table.clone());
                    let value = if last && list {
                        let element = Element::Other("map[string]interface {}".into());
                        Value::List(List::typed(element, vec![value]))
                    } else {
                        value
                    };
                    here.set(name.as_str(), value);
                    table
                }
            };
        }
        if list {
            // Tables inside a new element may be named again.
            self.defined.retain(|known| !known.starts_with(key));
        } else {
            if self.defined.iter().any(|known| known == key) {
                return self.twice(key);
            }
            self.defined.push(key.to_vec());
        }
        self.last_key = key.join(".");
        Ok(here)
    }

    fn twice<T>(&mut self, key: &[String]) -> Result<T> {
        self.last_key = key.join(".");
        self.error(format!("Key '{}' has already been defined.", key.join(".")))
    }

    fn key_part(&mut self, what: &str) -> Result<String> {
        match self.peek() {
            Some('"') => self.basic(),
            Some('\'') => self.literal(),
            _ => {
                let rest = self.rest();
                let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                let length = rest.find(|c| !bare(c)).unwrap_or(rest.len());
                if length == 0 {
                    let shown = self.shown();
                    return self.error(format!("unexpected {shown}; expected {what}"));
                }
                self.at += length;
                Ok(rest[..length].to_owned())
            }
        }
    }

    fn assignment(&mut self, table: &Map, prefix: &[String]) -> Result<()> {
        let mut key = vec![self.key_part("key name")?];
        loop {
            self.blank();
            if !self.eat(".") {
                break;
            }
            self.blank();
            key.push(self.key_part("key name")?);
        }
        if self.peek().is_none() {
            return self.end_error("unexpected EOF; expected key separator '='");
        }
        if !self.eat("=") {
            let shown = self.shown();
            return self.error(format!("expected '.' or '=', but got {shown} instead"));
        }
        let whole: Vec<String> = prefix.iter().chain(&key).cloned().collect();
        self.last_key = whole.join(".");
        self.blank();
        let value = self.value(0)?;
        let mut here = table.clone();
        let (name, path) = key.split_last().unwrap_or((&whole[0], &[]));
        for part in path {
            here = match here.get(part) {
                Some(Value::Map(map)) => map,
                Some(_) => return self.twice(&whole),
                None => {
                    let inner = Map::new(Entries::new());
                    here.set(part.as_str(), Value::Map(inner.clone()));
                    inner
                }
            };
        }
        if here.get(name).is_some() {
            return self.twice(&whole);
        }
        here.set(name.as_str(), value);
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        if depth > DEPTH_MAX {
            return self.error("the value nests too deep");
        }
        match self.peek() {
            None => self.end_error("unexpected EOF; expected value"),
            Some('"') if self.rest().starts_with("\"\"\"") => self.multi('"').map(Value::from),
            Some('\'') if self.rest().starts_with("'''") => self.multi('\'').map(Value::from),
            Some('"') => self.basic().map(Value::from),
            Some('\'') => self.literal().map(Value::from),
            Some('[') => self.array(depth),
            Some('{') => self.inline(depth),
            _ => self.word(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.gap();
            if self.eat("]") {
                return Ok(Value::list(items));
            }
            items.push(crate::deep(|| self.value(depth + 1))?);
            self.gap();
            if !self.eat(",") && !self.rest().starts_with(']') {
                let shown = self.shown();
                return self.error(format!(
                    "expected a comma (',') or array terminator (']'), but got {shown}"
                ));
            }
        }
    }

    fn inline(&mut self, depth: usize) -> Result<Value> {
        self.at += 1;
        let table = Map::new(Entries::new());
        let outer = self.last_key.clone();
        loop {
            self.gap();
            if self.eat("}") {
                self.last_key = outer;
                return Ok(Value::Map(table));
            }
            if depth > DEPTH_MAX {
                return self.error("the value nests too deep");
            }
            let prefix = [outer.clone()];
            crate::deep(|| self.assignment(&table, &prefix))?;
            self.gap();
            if !self.eat(",") && !self.rest().starts_with('}') {
                let shown = self.shown();
                return self.error(format!(
                    "expected a comma or an inline table terminator '}}', but got {shown} instead"
                ));
            }
        }
    }

    fn literal(&mut self) -> Result<String> {
        let body = &self.rest()[1..];
        match body.find(['\'', '\n']) {
            Some(end) if body.as_bytes()[end] == b'\'' => {
                self.at += end + 2;
                Ok(body[..end].to_owned())
            }
            Some(_) => self.error("strings cannot contain newlines"),
            None => self.end_error("unexpected EOF; expected \"'\""),
        }
    }

    fn basic(&mut self) -> Result<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            match self.peek() {
                None => return self.end_error("unexpected EOF; expected '\"'"),
                Some('\n') => return self.error("strings cannot contain newlines"),
                Some('"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some('\\') => self.escape(&mut out, false)?,
                Some(c) => {
                    out.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn multi(&mut self, mark: char) -> Result<String> {
        let fence: String = std::iter::repeat_n(mark, 3).collect();
        self.at += 3;
        if !self.eat("\n") {
            self.eat("\r\n");
        }
        let mut out = String::new();
        loop {
            if self.rest().starts_with(&fence) {
                // Up to two marks more belong to the text.
                let count = self
                    .rest()
                    .chars()
                    .take_while(|c| *c == mark)
                    .count()
                    .min(5);
                out.extend(std::iter::repeat_n(mark, count - 3));
                self.at += count;
                return Ok(out);
            }
            match self.peek() {
                None => return self.end_error(format!("unexpected EOF; expected {fence:?}")),
                Some('\\') if mark == '"' => self.escape(&mut out, true)?,
                Some(c) => {
                    out.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String, multi: bool) -> Result<()> {
        let rest = &self.rest()[1..];
        let Some(kind) = rest.chars().next() else {
            return self.end_error("unexpected EOF");
        };
        let mut length = 1 + kind.len_utf8();
        match kind {
            'b' => out.push('\u{8}'),
            't' => out.push('\t'),
            'n' => out.push('\n'),
            'f' => out.push('\u{c}'),
            'r' => out.push('\r'),
            'e' if self.edition != Edition::Helm3 => out.push('\u{1b}'),
            '"' => out.push('"'),
            '\\' => out.push('\\'),
            'u' | 'U' | 'x' => {
                let count = match kind {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let digits = rest.get(1..=count);
                let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
                match code.and_then(char::from_u32) {
                    Some(c) => out.push(c),
                    None => return self.error("invalid escape in string"),
                }
                length += count;
            }
            c if multi && c.is_whitespace() => {
                let skipped = rest.len() - rest.trim_start().len();
                self.at += 1 + skipped;
                return Ok(());
            }
            c => {
                return self.error(format!("invalid escape character {}", quote_rune(c, false)));
            }
        }
        self.at += length;
        Ok(())
    }

    // Numbers, times and the words `true` and `false`.
    fn word(&mut self) -> Result<Value> {
        let rest = self.rest();
        let part = |c: char| c.is_ascii_alphanumeric() || "+-_.:".contains(c);
        let mut length = rest.find(|c| !part(c)).unwrap_or(rest.len());
        // A date and a time may have a space between them.
        let date = length == 10 && rest.as_bytes()[4] == b'-';
        if date
            && rest[length..].starts_with(' ')
            && rest[length + 1..].starts_with(|c: char| c.is_ascii_digit())
        {
            let tail = &rest[length + 1..];
            length += 1 + tail.find(|c| !part(c)).unwrap_or(tail.len());
        }
        let word = &rest[..length];
        let Some(value) = scalar(word) else {
            let shown = self.shown();
            return self.error(if word.is_empty() {
                format!("expected value but found {shown} instead")
            } else {
                format!(
                    "expected value but found {} instead",
                    quote(word.as_bytes())
                )
            });
        };
        self.at += length;
        Ok(value)
    }
}

fn scalar(word: &str) -> Option<Value> {
    match word {
        "true" => return Some(Value::Bool(true)),
        "false" => return Some(Value::Bool(false)),
        "inf" | "+inf" => return Some(Value::Float(f64::INFINITY)),
        "-inf" => return Some(Value::Float(f64::NEG_INFINITY)),
        "nan" | "+nan" | "-nan" => return Some(Value::Float(f64::NAN)),
        _ => {}
    }
    if !word.starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-') {
        return None;
    }
    if let Some(time) = time(word) {
        return Some(Value::Time(time));
    }
    let digits = word.trim_start_matches(['+', '-']);
    let plain = digits.replace('_', "");
    let prefixed = plain.starts_with("0x") || plain.starts_with("0o") || plain.starts_with("0b");
    if prefixed
        || (plain.bytes().all(|b| b.is_ascii_digit())
            && (plain.len() == 1 || !plain.starts_with('0')))
    {
        return parse_int(&word.replace('_', ""), if prefixed { 0 } else { 10 })
            .ok()
            .map(Value::Int64);
    }
    if plain.contains(['.', 'e', 'E']) {
        return parse_float(&word.replace('_', "")).map(Value::Float);
    }
    None
}

fn time(word: &str) -> Option<Time> {
    let word = word
        .replacen(' ', "T", 1)
        .replace('t', "T")
        .replace('z', "Z");
    let layouts = [
        ("2006-01-02T15:04:05Z07:00", ""),
        ("2006-01-02T15:04:05", "datetime-local"),
        ("2006-01-02", "date-local"),
        ("15:04:05", "time-local"),
    ];
    layouts.into_iter().find_map(|(pattern, zone)| {
        let time = layout::parse(pattern, &word).ok()?;
        Some(if zone.is_empty() {
            time
        } else {
            time.shown_in(0, zone)
        })
    })
}
