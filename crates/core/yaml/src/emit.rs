//! [`Value`] to text, byte for byte as `sigs.k8s.io/yaml` prints it.

use crate::resolve::{self, Scalar};
use crate::sort;
use model::Value;

const WIDTH: usize = 80;
const INDENT: usize = 2;
const SIMPLE_KEY_MAX: usize = 128;

/// Prints a value; ends with a line break.
pub fn to_string(value: &Value) -> String {
    let mut emitter = Emitter {
        out: String::with_capacity(256),
        column: 0,
        at_space: true,
        at_indent: true,
    };
    emitter.node(value, None, Place::Root);
    emitter.line(0);
    emitter.out
}

// Where a node stands; decides how lists are indented.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    ListEntry,
    MapValue,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

struct Emitter {
    out: String,
    column: usize,
    // The last thing written was white space, or only indentation and `-`, `?`, `:` so far.
    at_space: bool,
    at_indent: bool,
}

impl Emitter {
    fn put(&mut self, c: char) {
        self.out.push(c);
        if is_break(c) {
            self.column = 0;
        } else {
            self.column += 1;
        }
    }

    // Goes to the given column of a line of its own, unless we are just before it already.
    fn line(&mut self, indent: usize) {
        let here = self.column == indent && !self.at_space;
        if !self.at_indent || self.column > indent || here {
            self.put('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        self.at_space = true;
        self.at_indent = true;
    }

    fn indicator(&mut self, mark: char, needs_space: bool, keeps_indent: bool) {
        if needs_space && !self.at_space {
            self.put(' ');
        }
        self.put(mark);
        self.at_space = false;
        self.at_indent = self.at_indent && keeps_indent;
    }

    fn word(&mut self, text: &str) {
        if !self.at_space {
            self.put(' ');
        }
        text.chars().for_each(|c| self.put(c));
        self.at_space = false;
        self.at_indent = false;
    }

    // `indent` is that of the collection around the node, none at the root.
    fn node(&mut self, value: &Value, indent: Option<usize>, place: Place) {
        match value {
            Value::Null => self.word("null"),
            Value::Bool(true) => self.word("true"),
            Value::Bool(false) => self.word("false"),
            Value::Number(number) => self.word(&number_text(number)),
            Value::String(text) => self.string(text, deeper(indent, false), false),
            Value::Array(list) if list.is_empty() => self.word("[]"),
            Value::Object(map) if map.is_empty() => self.word("{}"),
            Value::Array(list) => {
                let flush = place == Place::MapValue && !self.at_indent;
                let own = if flush {
                    indent.unwrap_or(0)
                } else {
                    indent.map_or(0, |i| i + INDENT)
                };
                for entry in list {
                    self.line(own);
                    self.indicator('-', true, true);
                    self.node(entry, Some(own), Place::ListEntry);
                }
            }
            Value::Object(map) => {
                let own = indent.map_or(0, |i| i + INDENT);
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by(|a, b| sort::compare(a.0, b.0));
                for (key, entry) in entries {
                    self.line(own);
                    self.entry(key, entry, own);
                }
            }
        }
    }

    fn entry(&mut self, key: &str, value: &Value, indent: usize) {
        if key.len() <= SIMPLE_KEY_MAX && !key.chars().any(is_break) {
            self.string(key, indent + INDENT, true);
            self.indicator(':', false, false);
        } else {
            self.indicator('?', true, true);
            self.string(key, indent + INDENT, false);
            self.line(indent);
            self.indicator(':', true, true);
        }
        self.node(value, Some(indent), Place::MapValue);
    }

    fn string(&mut self, text: &str, indent: usize, is_key: bool) {
        match style(text, is_key) {
            Style::Plain => self.plain(text, indent, is_key),
            Style::Single => self.single(text, indent, is_key),
            Style::Double => self.double(text, indent, is_key),
            Style::Literal => self.literal(text, indent),
        }
    }

    fn plain(&mut self, text: &str, indent: usize, is_key: bool) {
        if !self.at_space {
            self.put(' ');
        }
        self.folded(text, indent, is_key, |_, _| {});
        self.at_space = false;
        self.at_indent = false;
    }

    fn single(&mut self, text: &str, indent: usize, is_key: bool) {
        self.indicator('\'', true, false);
        self.folded(text, indent, is_key, |emitter, c| {
            if c == '\'' {
                emitter.put('\'');
            }
        });
        self.indicator('\'', false, false);
        self.at_indent = false;
    }

    // Writes text that may be folded at single spaces; `before` adds what a character needs.
    fn folded(&mut self, text: &str, indent: usize, is_key: bool, before: fn(&mut Self, char)) {
        let (mut spaces, mut breaks) = (false, false);
        let mut chars = text.char_indices().peekable();
        while let Some((i, c)) = chars.next() {
            if c == ' ' {
                let next = chars.peek().map(|(_, c)| *c);
                let inside = i > 0 && next.is_some();
                let fold = !is_key && !spaces && self.column > WIDTH && inside;
                if fold && next != Some(' ') {
                    self.line(indent);
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.put('\n');
                }
                self.put(c);
                self.at_indent = true;
                breaks = true;
            } else {
                if breaks {
                    self.line(indent);
                }
                before(self, c);
                self.put(c);
                self.at_indent = false;
                (spaces, breaks) = (false, false);
            }
        }
    }

    fn double(&mut self, text: &str, indent: usize, is_key: bool) {
        self.indicator('"', true, false);
        let escape_all = text.starts_with('\u{feff}');
        let mut spaces = false;
        let mut chars = text.char_indices().peekable();
        while let Some((i, c)) = chars.next() {
            if escape_all || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                self.escape(c);
                spaces = false;
            } else if c == ' ' {
                let next = chars.peek().map(|(_, c)| *c);
                let inside = i > 0 && next.is_some();
                if !is_key && !spaces && self.column > WIDTH && inside {
                    self.line(indent);
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator('"', false, false);
        self.at_indent = false;
    }

    fn escape(&mut self, c: char) {
        self.put('\\');
        let code = c as u32;
        let short = match code {
            0x00 => '0',
            0x07 => 'a',
            0x08 => 'b',
            0x09 => 't',
            0x0a => 'n',
            0x0b => 'v',
            0x0c => 'f',
            0x0d => 'r',
            0x1b => 'e',
            0x22 => '"',
            0x5c => '\\',
            0x85 => 'N',
            0xa0 => '_',
            0x2028 => 'L',
            0x2029 => 'P',
            _ => {
                let long = match code {
                    0..=0xff => format!("x{code:02X}"),
                    0x100..=0xffff => format!("u{code:04X}"),
                    _ => format!("U{code:08X}"),
                };
                long.chars().for_each(|c| self.put(c));
                return;
            }
        };
        self.put(short);
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.indicator('|', true, false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.put('2');
        }
        let mut last = text.chars().rev();
        match (last.next().map(is_break), last.next().map(is_break)) {
            (Some(true), None | Some(true)) => self.put('+'),
            (Some(true), Some(false)) => {}
            _ => self.put('-'),
        }
        self.put('\n');
        self.at_indent = true;
        self.at_space = true;
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.put(c);
                self.at_indent = true;
                breaks = true;
            } else {
                if breaks {
                    self.line(indent);
                }
                self.put(c);
                self.at_indent = false;
                breaks = false;
            }
        }
    }
}

fn deeper(indent: Option<usize>, flush: bool) -> usize {
    match indent {
        Some(indent) if flush => indent,
        Some(indent) => indent + INDENT,
        None => INDENT,
    }
}

fn style(text: &str, is_key: bool) -> Style {
    let facts = Facts::of(text);
    let wanted = if text.contains('\n') {
        Style::Literal
    } else if resolve::plain(text) == Scalar::Text && !resolve::is_base60(text) {
        Style::Plain
    } else {
        Style::Double
    };
    let wanted = if is_key && facts.multiline {
        Style::Double
    } else {
        wanted
    };
    match wanted {
        Style::Plain if facts.plain => Style::Plain,
        Style::Plain | Style::Single if facts.single => Style::Single,
        Style::Literal if facts.block && !is_key => Style::Literal,
        _ => Style::Double,
    }
}

// Which styles a text can be written in.
struct Facts {
    multiline: bool,
    plain: bool,
    single: bool,
    block: bool,
}

impl Facts {
    fn of(text: &str) -> Self {
        let mut facts = Self {
            multiline: false,
            plain: !text.starts_with("---") && !text.starts_with("..."),
            single: true,
            block: true,
        };
        let mut before = Some(' ');
        let mut chars = text.chars().peekable();
        let mut first = true;
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            let at_end = next.is_none();
            let blank_follows = next.is_none_or(|n| matches!(n, ' ' | '\t'));
            let indicator = match c {
                '#' if first => true,
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
                | '@' | '`' => first,
                '-' | '?' => first && blank_follows,
                ':' => blank_follows,
                '#' => before.is_some_and(|b| matches!(b, ' ' | '\t' | '\0') || is_break(b)),
                _ => false,
            };
            facts.plain &= !indicator;
            if !is_printable(c) {
                (facts.plain, facts.single, facts.block) = (false, false, false);
            }
            let was_break = !first && before.is_some_and(is_break);
            let was_space = !first && before == Some(' ');
            if c == ' ' {
                facts.plain &= !(first || at_end);
                facts.block &= !at_end;
                if was_break {
                    (facts.plain, facts.single) = (false, false);
                }
            } else if is_break(c) {
                facts.multiline = true;
                facts.plain = false;
                if was_space {
                    (facts.single, facts.block) = (false, false);
                }
            }
            before = Some(c);
            first = false;
        }
        facts
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

// Go's emitter counts neither tabs nor anything beyond the basic plane as printable.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn number_text(number: &serde_json::Number) -> String {
    let text = json::number::text(number);
    if number.is_i64() || number.is_u64() || text.parse::<u64>().is_ok() {
        return text;
    }
    match number.as_f64() {
        Some(float) => general(float, &format!("{float:e}")),
        None => text,
    }
}

/// A float in Go's general notation: an exponent below 1e-4 and from 1e6 on. `scientific`
/// is the shortest text of it in Rust's exponent notation.
pub(crate) fn general(value: f64, scientific: &str) -> String {
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific.to_owned();
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return plain_notation(value < 0.0, digits.trim_start_matches('-'), exponent);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

fn plain_notation(negative: bool, digits: &str, exponent: i32) -> String {
    let mut all: String = digits.chars().filter(|c| *c != '.').collect();
    let sign = if negative { "-" } else { "" };
    if exponent < 0 {
        let zeros = "0".repeat((-exponent - 1) as usize);
        return format!("{sign}0.{zeros}{all}");
    }
    let whole = exponent as usize + 1;
    while all.len() < whole {
        all.push('0');
    }
    let (whole, fraction) = all.split_at(whole);
    if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}
