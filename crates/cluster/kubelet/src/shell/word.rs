//! Words: quotes, parameters, substitutions.

use super::parse::Parser;
use super::syntax::{Change, Part, Word};
use std::sync::Arc;

/// Reads the word that stands here, if one does.
pub(crate) fn read(parser: &mut Parser) -> Result<Option<Word>, String> {
    let mut parts = Vec::new();
    let mut text = String::new();
    while let Some(c) = parser.peek() {
        if c.is_whitespace() || ";&|()<>".contains(c) {
            break;
        }
        parser.at += 1;
        match c {
            '\\' => match parser.peek() {
                Some('\n') => parser.at += 1,
                Some(escaped) => {
                    parser.at += 1;
                    flush(&mut parts, &mut text);
                    push_quoted(&mut parts, &escaped.to_string());
                }
                None => text.push('\\'),
            },
            '\'' => {
                flush(&mut parts, &mut text);
                let quoted = single(parser)?;
                push_quoted(&mut parts, &quoted);
            }
            '"' => {
                flush(&mut parts, &mut text);
                double(parser, &mut parts)?;
            }
            '$' if parser.peek() == Some('\'') => {
                parser.at += 1;
                flush(&mut parts, &mut text);
                let quoted = single(parser)?;
                push_quoted(&mut parts, &super::text::unescape(&quoted));
            }
            '$' => match dollar(parser, false)? {
                Some(part) => {
                    flush(&mut parts, &mut text);
                    parts.push(part);
                }
                None => text.push('$'),
            },
            '`' => {
                flush(&mut parts, &mut text);
                parts.push(backquote(parser, false)?);
            }
            c => text.push(c),
        }
    }
    flush(&mut parts, &mut text);
    Ok((!parts.is_empty()).then_some(Word { parts }))
}

fn flush(parts: &mut Vec<Part>, text: &mut String) {
    if !text.is_empty() {
        parts.push(Part::Text {
            text: std::mem::take(text),
            quoted: false,
        });
    }
}

fn push_quoted(parts: &mut Vec<Part>, text: &str) {
    parts.push(Part::Text {
        text: text.to_owned(),
        quoted: true,
    });
}

fn single(parser: &mut Parser) -> Result<String, String> {
    let mut out = String::new();
    while let Some(c) = parser.peek() {
        parser.at += 1;
        if c == '\'' {
            return Ok(out);
        }
        out.push(c);
    }
    Err(parser.unfinished("Unterminated quoted string"))
}

fn double(parser: &mut Parser, parts: &mut Vec<Part>) -> Result<(), String> {
    let mut text = String::new();
    let before = parts.len();
    while let Some(c) = parser.peek() {
        parser.at += 1;
        match c {
            '"' => {
                if !text.is_empty() || parts.len() == before {
                    push_quoted(parts, &text);
                }
                return Ok(());
            }
            c => inside(parser, c, parts, &mut text, "$`\"\\")?,
        }
    }
    Err(parser.unfinished("Unterminated quoted string"))
}

// One character inside double quotes or a here-document.
fn inside(
    parser: &mut Parser,
    c: char,
    parts: &mut Vec<Part>,
    text: &mut String,
    escapes: &str,
) -> Result<(), String> {
    match c {
        '\\' => match parser.peek() {
            Some('\n') => parser.at += 1,
            Some(next) if escapes.contains(next) => {
                parser.at += 1;
                text.push(next);
            }
            _ => text.push('\\'),
        },
        '$' => match dollar(parser, true)? {
            Some(part) => {
                if !text.is_empty() {
                    push_quoted(parts, &std::mem::take(text));
                }
                parts.push(part);
            }
            None => text.push('$'),
        },
        '`' => {
            if !text.is_empty() {
                push_quoted(parts, &std::mem::take(text));
            }
            parts.push(backquote(parser, true)?);
        }
        c => text.push(c),
    }
    Ok(())
}

/// The body of a here-document whose end was not quoted.
pub(crate) fn here_text(body: &str, depth: usize) -> Result<Word, String> {
    let mut parser = Parser::new(body, depth);
    let mut parts = Vec::new();
    let mut text = String::new();
    while let Some(c) = parser.peek() {
        parser.at += 1;
        inside(&mut parser, c, &mut parts, &mut text, "$`\\")?;
    }
    push_quoted(&mut parts, &text);
    Ok(Word { parts })
}

fn backquote(parser: &mut Parser, quoted: bool) -> Result<Part, String> {
    let mut script = String::new();
    while let Some(c) = parser.peek() {
        parser.at += 1;
        match c {
            '`' => {
                let mut inner = Parser::new(&script, parser.depth + 1);
                let script = Arc::new(inner.whole_list()?);
                return Ok(Part::Substitution { script, quoted });
            }
            '\\' if parser.peek().is_some_and(|c| "`\\$".contains(c)) => {
                script.extend(parser.peek());
                parser.at += 1;
            }
            c => script.push(c),
        }
    }
    Err(parser.unfinished("EOF in backquote substitution"))
}

// What follows a `$`; nothing when it is only a dollar.
fn dollar(parser: &mut Parser, quoted: bool) -> Result<Option<Part>, String> {
    let simple = |name: String| {
        Ok(Some(Part::Parameter {
            name,
            change: None,
            quoted,
        }))
    };
    match parser.peek() {
        Some('(') if parser.peek_at(1) == Some('(') => {
            parser.at += 2;
            let expression = parser.until_close()?;
            Ok(Some(Part::Sum { expression, quoted }))
        }
        Some('(') => {
            parser.at += 1;
            let script = Arc::new(parser.whole_list()?);
            if parser.peek() != Some(')') {
                return Err(parser.unfinished("end of file unexpected (expecting \")\")"));
            }
            parser.at += 1;
            Ok(Some(Part::Substitution { script, quoted }))
        }
        Some('{') => {
            parser.at += 1;
            braces(parser, quoted).map(Some)
        }
        Some(c) if c == '_' || c.is_ascii_alphabetic() => {
            let name = parser.name();
            simple(name)
        }
        Some(c) if c.is_ascii_digit() || "?#@*$!-".contains(c) => {
            parser.at += 1;
            simple(c.to_string())
        }
        _ => Ok(None),
    }
}

fn braces(parser: &mut Parser, quoted: bool) -> Result<Part, String> {
    let bad = |parser: &Parser| parser.unfinished("Bad substitution");
    let length = parser.peek() == Some('#') && parser.peek_at(1) != Some('}');
    if length {
        parser.at += 1;
    }
    let mut name = parser.name();
    if name.is_empty() {
        let Some(c) = parser
            .peek()
            .filter(|c| c.is_ascii_digit() || "?#@*$!-".contains(*c))
        else {
            return Err(bad(parser));
        };
        parser.at += 1;
        name.push(c);
        while name.starts_with(|c: char| c.is_ascii_digit())
            && parser.peek().is_some_and(|c| c.is_ascii_digit())
        {
            name.extend(parser.peek());
            parser.at += 1;
        }
    }
    let change = if length {
        Some(Change::Length)
    } else {
        change(parser)?
    };
    if parser.peek() != Some('}') {
        return Err(bad(parser));
    }
    parser.at += 1;
    Ok(Part::Parameter {
        name,
        change,
        quoted,
    })
}

fn change(parser: &mut Parser) -> Result<Option<Change>, String> {
    let Some(first) = parser.peek() else {
        return Ok(None);
    };
    let second = parser.peek_at(1);
    let empty_too = first == ':';
    let sign = if empty_too { second } else { Some(first) };
    if let Some(sign) = sign.filter(|s| "-=?+".contains(*s)) {
        parser.at += if empty_too { 2 } else { 1 };
        let word = operand(parser, "}")?;
        return Ok(Some(Change::Default {
            sign,
            empty_too,
            word,
        }));
    }
    match first {
        '#' | '%' => {
            let longest = second == Some(first);
            parser.at += if longest { 2 } else { 1 };
            let pattern = operand(parser, "}")?;
            Ok(Some(Change::Trim {
                front: first == '#',
                longest,
                pattern,
            }))
        }
        '/' => {
            let all = second == Some('/');
            parser.at += if all { 2 } else { 1 };
            let from = operand(parser, "/}")?;
            let to = if parser.peek() == Some('/') {
                parser.at += 1;
                operand(parser, "}")?
            } else {
                Word::default()
            };
            Ok(Some(Change::Replace { all, from, to }))
        }
        '^' | ',' => {
            while parser.peek() == Some(first) {
                parser.at += 1;
            }
            Ok(Some(Change::Case {
                upper: first == '^',
            }))
        }
        ':' => {
            parser.at += 1;
            let mut text = String::new();
            while let Some(c) = parser.peek().filter(|c| *c != '}') {
                text.push(c);
                parser.at += 1;
            }
            let (offset, length) = match text.split_once(':') {
                Some((offset, length)) => (offset.to_owned(), Some(length.to_owned())),
                None => (text, None),
            };
            Ok(Some(Change::Slice(offset, length)))
        }
        _ => Ok(None),
    }
}

// The word after a sign in `${name…}`; it may hold spaces.
fn operand(parser: &mut Parser, ends: &str) -> Result<Word, String> {
    let mut parts = Vec::new();
    let mut text = String::new();
    while let Some(c) = parser.peek().filter(|c| !ends.contains(*c)) {
        parser.at += 1;
        match c {
            '\'' => {
                flush(&mut parts, &mut text);
                let quoted = single(parser)?;
                push_quoted(&mut parts, &quoted);
            }
            '"' => {
                flush(&mut parts, &mut text);
                double(parser, &mut parts)?;
            }
            '$' => match dollar(parser, false)? {
                Some(part) => {
                    flush(&mut parts, &mut text);
                    parts.push(part);
                }
                None => text.push('$'),
            },
            '`' => {
                flush(&mut parts, &mut text);
                parts.push(backquote(parser, false)?);
            }
            '\\' => {
                if let Some(next) = parser.peek() {
                    parser.at += 1;
                    flush(&mut parts, &mut text);
                    push_quoted(&mut parts, &next.to_string());
                }
            }
            c => text.push(c),
        }
    }
    flush(&mut parts, &mut text);
    Ok(Word { parts })
}
