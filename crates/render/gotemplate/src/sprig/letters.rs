//! Upper and lower case, and the names of programmers: snake, kebab and camel case.

use super::args::text;
use crate::function::Function;
use crate::function::Type::String as Str;
use crate::text::runes;
use crate::unicode::{
    is_letter, is_lower, is_number, is_punct, is_title, is_upper, to_lower, to_title, to_upper,
};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("upper", &[Str], |_, a| {
        Ok(mapped(&text(a, 0), to_upper).into())
    }),
    Function::new("lower", &[Str], |_, a| {
        Ok(mapped(&text(a, 0), to_lower).into())
    }),
    Function::new("title", &[Str], |_, a| Ok(title(&text(a, 0)).into())),
    Function::new("untitle", &[Str], |_, a| Ok(untitle(&text(a, 0)).into())),
    Function::new("swapcase", &[Str], |_, a| Ok(swap(&text(a, 0)).into())),
    Function::new("snakecase", &[Str], |_, a| {
        Ok(joined_case(&text(a, 0).lossy(), '_').into())
    }),
    Function::new("kebabcase", &[Str], |_, a| {
        Ok(joined_case(&text(a, 0).lossy(), '-').into())
    }),
    Function::new("camelcase", &[Str], |_, a| {
        Ok(pascal_case(&text(a, 0).lossy()).into())
    }),
];

fn mapped(text: &[u8], map: fn(char) -> char) -> String {
    runes(text).map(|(c, _, _)| map(c)).collect()
}

// Every first letter of a word; digits and `_` belong to words, all other marks end them.
fn title(text: &[u8]) -> String {
    let mut before = ' ';
    runes(text)
        .map(|(c, _, _)| {
            let starts = if before.is_ascii() {
                !before.is_ascii_alphanumeric() && before != '_'
            } else {
                !is_letter(before) && !crate::unicode::is_digit(before) && before.is_whitespace()
            };
            before = c;
            if starts { to_title(c) } else { c }
        })
        .collect()
}

fn untitle(text: &[u8]) -> String {
    let mut starts = true;
    runes(text)
        .map(|(c, _, _)| {
            if c.is_whitespace() {
                starts = true;
                c
            } else if std::mem::take(&mut starts) {
                to_lower(c)
            } else {
                c
            }
        })
        .collect()
}

fn swap(text: &[u8]) -> String {
    let mut starts = true;
    runes(text)
        .map(|(c, _, _)| {
            if is_upper(c) || is_title(c) {
                starts = false;
                to_lower(c)
            } else if is_lower(c) {
                if std::mem::take(&mut starts) {
                    to_title(c)
                } else {
                    to_upper(c)
                }
            } else {
                starts = c.is_whitespace();
                c
            }
        })
        .collect()
}

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || c.is_whitespace()
}

fn pascal_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    let mut upper;
    // Connectors at the start stay; the first other character becomes upper case.
    let mut now = loop {
        match chars.next() {
            None => {
                return out;
            }
            Some(c) if is_connector(c) => {
                if chars.as_str().is_empty() {
                    // The library writes a last connector twice.
                    out.push(c);
                    out.push(c);
                    return out;
                }
                out.push(c);
            }
            Some(c) => {
                upper = is_upper(c);
                break to_upper(c);
            }
        }
    };
    for c in chars {
        let before = now;
        now = c;
        if is_connector(now) && is_connector(before) {
            out.push(before);
            continue;
        }
        if is_connector(before) {
            upper = is_upper(now);
            now = to_upper(now);
        } else {
            if upper {
                if is_upper(now) {
                    now = to_lower(now);
                } else {
                    upper = false;
                }
            }
            out.push(before);
        }
    }
    out.push(now);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    None,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punct,
    Other,
}

fn is_alphabet(c: char) -> bool {
    if !is_letter(c) {
        return false;
    }
    // Chinese characters do not count.
    !matches!(c as u32, 0x4E00..=0x9FCC | 0x3400..=0x4D85 | 0x20000..=0x2B81D)
}

// The next word of a text: what it is, itself, and the rest.
fn next_word(text: &str) -> (Word, &str, &str) {
    let Some(first) = text.chars().next() else {
        return (Word::None, "", "");
    };
    let run = |from: usize, belongs: &dyn Fn(char) -> bool| {
        from + text[from..]
            .find(|c: char| !belongs(c))
            .unwrap_or(text.len() - from)
    };
    let start = first.len_utf8();
    let lower = |c: char| is_alphabet(c) && !is_upper(c);
    let (kind, end) = if is_connector(first) {
        (Word::Connector, run(start, &is_connector))
    } else if is_punct(first) {
        (Word::Punct, run(start, &is_punct))
    } else if is_upper(first) {
        (Word::Upper, upper_word(text, start, &lower))
    } else if is_alphabet(first) {
        (Word::Alphabet, run(start, &lower))
    } else if is_number(first) {
        (Word::Number, run(start, &is_number))
    } else {
        let other = |c: char| !(is_connector(c) || is_alphabet(c) || is_number(c) || is_punct(c));
        (Word::Other, run(start, &other))
    };
    (kind, &text[..end], &text[end..])
}

// `HTTPServer` is `HTTP` and `Server`.
fn upper_word(text: &str, start: usize, lower: &dyn Fn(char) -> bool) -> usize {
    let rest = &text[start..];
    match rest.chars().next() {
        Some(c) if is_upper(c) => {
            let uppers = rest.find(|c: char| !is_upper(c)).unwrap_or(rest.len());
            let after = rest[uppers..].chars().next();
            let last = rest[..uppers].chars().next_back().map_or(0, char::len_utf8);
            start
                + if after.is_some_and(is_alphabet) {
                    uppers - last
                } else {
                    uppers
                }
        }
        Some(c) if is_alphabet(c) => start + rest.find(|c: char| !lower(c)).unwrap_or(rest.len()),
        _ => start,
    }
}

fn write_word(out: &mut String, kind: Word, word: &str, connector: char) {
    if !matches!(kind, Word::Upper | Word::Connector) {
        out.push_str(word);
        return;
    }
    for c in word.chars() {
        out.push(if is_connector(c) {
            connector
        } else {
            to_lower(c)
        });
    }
}

fn joined_case(text: &str, connector: char) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let (mut kind, mut word, mut rest) = next_word(text);
    while !rest.is_empty() {
        if kind != Word::Connector {
            write_word(&mut out, kind, word, connector);
        }
        let (before, last) = (kind, word);
        (kind, word, rest) = next_word(rest);
        match before {
            Word::Number => {
                while matches!(kind, Word::Alphabet | Word::Number) {
                    write_word(&mut out, kind, word, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if !matches!(kind, Word::None | Word::Punct | Word::Connector) {
                    out.push(connector);
                }
            }
            Word::Connector => write_word(&mut out, before, last, connector),
            Word::Punct => {}
            _ if kind != Word::Number => {
                if !matches!(kind, Word::Connector | Word::Punct) {
                    out.push(connector);
                }
            }
            _ if rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word, rest) = next_word(rest);
                if kind != Word::Alphabet {
                    write_word(&mut out, Word::Number, number, connector);
                    if !matches!(kind, Word::Connector | Word::Punct) {
                        out.push(connector);
                    }
                    continue;
                }
                out.push(connector);
                write_word(&mut out, Word::Number, number, connector);
                while matches!(kind, Word::Alphabet | Word::Number) {
                    write_word(&mut out, kind, word, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if !matches!(kind, Word::None | Word::Connector | Word::Punct) {
                    out.push(connector);
                }
            }
        }
    }
    write_word(&mut out, kind, word, connector);
    out
}
