//! Text to steps. Nested parts (filters, unions, quoted keys) are cut out first and read on their own.

use super::{Filter, Slice, Step};
use model::Value;

/// Filters within filters go no deeper than this.
const MAX_DEPTH: usize = 8;

/// Reads a whole path.
pub(super) fn steps(text: &str) -> Result<Vec<Step>, String> {
    Parser { rest: text }.steps(0)
}

struct Parser<'a> {
    rest: &'a str,
}

/// What ends a field name or a bare word.
fn ends_name(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

impl<'a> Parser<'a> {
    fn steps(mut self, depth: usize) -> Result<Vec<Step>, String> {
        if depth > MAX_DEPTH {
            return Err("path is nested too deeply".into());
        }
        let mut steps = Vec::new();
        while let Some(first) = self.rest.chars().next() {
            if let Some(inner) = self.rest.strip_prefix("[?(") {
                self.rest = inner;
                steps.push(self.filter(depth)?);
            } else if let Some(rest) = self.rest.strip_prefix("..") {
                self.rest = rest;
                if steps.last() == Some(&Step::Descend) {
                    return Err("invalid multiple recursive descent".into());
                }
                steps.push(Step::Descend);
                if rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()) {
                    steps.push(self.field());
                }
            } else {
                match first {
                    ' ' | '@' | '$' => self.rest = &self.rest[1..],
                    // What follows the closing brace is text around the path, and never shown.
                    '}' => break,
                    '.' => {
                        self.rest = &self.rest[1..];
                        steps.push(self.field());
                    }
                    '[' => self.brackets(depth, &mut steps)?,
                    '"' | '\'' => steps.push(self.quoted(first)?),
                    '+' | '-' | '0'..='9' => steps.push(self.number()?),
                    c if c == '_' || c.is_alphanumeric() => {
                        let word = self.take_until(ends_name);
                        steps.push(match word {
                            "true" => Step::Literal(Value::Bool(true)),
                            "false" => Step::Literal(Value::Bool(false)),
                            _ => Step::Word,
                        });
                    }
                    '\r' | '\n' => return Err("unclosed action".into()),
                    c => {
                        let code = u32::from(c);
                        let text = "unrecognized character in action";
                        return Err(format!("{text}: U+{code:04X} '{c}'"));
                    }
                }
            }
        }
        Ok(steps)
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn take_until(&mut self, stop: impl Fn(char) -> bool) -> &'a str {
        let length = self.rest.find(stop).unwrap_or(self.rest.len());
        self.take(length)
    }

    /// A name after a dot; a backslash keeps the next character from ending it.
    fn field(&mut self) -> Step {
        let mut escaped = false;
        let mut name = String::new();
        let mut length = 0;
        for c in self.rest.chars() {
            if !escaped && ends_name(c) {
                break;
            }
            escaped = !escaped && c == '\\';
            if c != '\\' {
                name.push(c);
            }
            length += c.len_utf8();
        }
        if self.take(length) == "*" {
            Step::Wildcard
        } else {
            Step::Field(name)
        }
    }

    fn number(&mut self) -> Result<Step, String> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest[sign..].find(|c: char| c != '.' && !c.is_ascii_digit());
        let text = self.take(digits.map_or(self.rest.len(), |digits| sign + digits));
        if let Ok(whole) = text.parse::<i64>() {
            return Ok(Step::Literal(whole.into()));
        }
        match text.parse::<f64>() {
            Ok(number) => Ok(Step::Literal(number.into())),
            Err(_) => Err(format!("cannot parse number {text}")),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Step, String> {
        let mut previous = quote;
        let inner = &self.rest[1..];
        for (at, c) in inner.char_indices() {
            if c == '\n' {
                break;
            }
            if c == quote && (previous != '\\' || at == 0) {
                let text = unescape(&inner[..at]);
                self.rest = &inner[at + 1..];
                return Ok(Step::Literal(text.into()));
            }
            previous = c;
        }
        Err("unterminated quoted string".into())
    }

    fn brackets(&mut self, depth: usize, steps: &mut Vec<Step>) -> Result<(), String> {
        let end = self.rest.find([']', '\n']).ok_or("unterminated array")?;
        if self.rest[end..].starts_with('\n') {
            return Err("unterminated array".into());
        }
        let text = &self.take(end + 1)[1..end];
        if text.contains(',') {
            let parts = text.split(',').map(|part| {
                let part = format!("[{}]", part.trim_matches(' '));
                Parser { rest: &part }.steps(depth + 1)
            });
            steps.push(Step::Union(parts.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            let key = format!(".{key}");
            steps.extend(Parser { rest: &key }.steps(depth + 1)?);
            return Ok(());
        }
        steps.push(Step::Slice(slice(if text == "*" { ":" } else { text })?));
        Ok(())
    }

    fn filter(&mut self, depth: usize) -> Result<Step, String> {
        let length = filter_length(self.rest)?;
        let text = self.take(length);
        self.rest = self.rest.get(1..).unwrap_or("");
        match self.rest.strip_prefix(']') {
            Some(rest) => self.rest = rest,
            None => return Err("unclosed array expect ]".into()),
        }
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let read = |text: &str| Parser { rest: text }.steps(depth + 1);
        let start = text.find(is_operator).filter(|at| *at > 0);
        let split = start.map(|at| {
            let (left, rest) = text.split_at(at);
            let end = rest.find(|c| !is_operator(c)).unwrap_or(rest.len());
            (left, &rest[..end], &rest[end..])
        });
        let filter = match split {
            Some((left, operator, right)) if !right.is_empty() => Filter {
                left: read(left)?,
                test: Some((operator.into(), read(right)?)),
            },
            _ => Filter {
                left: read(text)?,
                test: None,
            },
        };
        Ok(Step::Filter(filter))
    }
}

/// Up to the closing parenthesis that stands outside of the one pair of quotes a filter may have.
fn filter_length(text: &str) -> Result<usize, String> {
    let (mut quote, mut closed, mut previous) = (None, false, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '\n' => break,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            '"' | '\'' if quote == Some(c) && previous != '\\' => closed = true,
            ')' if quote.is_some() == closed => return Ok(at),
            _ => {}
        }
        previous = c;
    }
    Err("unterminated filter".into())
}

/// The usual backslash escapes of a quoted text.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('r') => plain.push('\r'),
                Some(other) => plain.push(other),
                None => {}
            },
            (c, false) => plain.push(c),
        }
    }
    plain
}

/// `2`, `-1`, `1:3`, `::2`.
fn slice(text: &str) -> Result<Slice, String> {
    let invalid = || format!("invalid array index {text}");
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > 3 {
        return Err(invalid());
    }
    let number = |part: Option<&&str>| match part {
        None | Some(&"") => Ok(None),
        Some(part) if part.starts_with('+') => Err(invalid()),
        Some(part) => part.parse::<i64>().map(Some).map_err(|_| invalid()),
    };
    let from = number(parts.first())?;
    let single = parts.len() == 1;
    Ok(Slice {
        from,
        to: if single {
            Some(from.unwrap_or(0).saturating_add(1))
        } else {
            number(parts.get(1))?
        },
        single,
        step: number(parts.get(2))?,
    })
}
