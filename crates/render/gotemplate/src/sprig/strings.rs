//! Text: cutting, padding, quoting, replacing.

use super::args::{int, string_of, text};
use crate::call::Call;
use crate::error::Limit;
use crate::fmt;
use crate::function::Type::{Any, Int, String as Str};
use crate::function::{Fault, Function};
use crate::quote::quote;
use crate::strconv::parse_int;
use crate::text::{Text, decode, decode_last, find, runes};
use crate::value::{Element, Entries, List, Map, Value};

type Answer = Result<Value, Fault>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("hello", &[], |_, _| Ok("Hello!".into())),
    Function::new("trim", &[Str], |_, a| {
        Ok(Value::from(trim_with(&text(a, 0), char::is_whitespace)))
    }),
    Function::new("trimAll", &[Str, Str], trim_all),
    Function::new("trimall", &[Str, Str], trim_all),
    Function::new("trimSuffix", &[Str, Str], |_, a| {
        let (suffix, text) = (text(a, 0), text(a, 1));
        Ok(Value::String(
            text.strip_suffix(&*suffix).map_or(text.clone(), Text::from),
        ))
    }),
    Function::new("trimPrefix", &[Str, Str], |_, a| {
        let (prefix, text) = (text(a, 0), text(a, 1));
        Ok(Value::String(
            text.strip_prefix(&*prefix).map_or(text.clone(), Text::from),
        ))
    }),
    Function::new("trunc", &[Int, Str], trunc),
    Function::new("abbrev", &[Int, Str], |_, a| {
        Ok(abbreviate(&text(a, 1), 0, int(a, 0)).into())
    }),
    Function::new("abbrevboth", &[Int, Int, Str], |_, a| {
        let (left, right) = (int(a, 0), int(a, 1));
        let text = text(a, 2);
        if right < 4 || (left > 0 && right < 7) {
            return Ok(Value::String(text));
        }
        Ok(abbreviate(&text, left, right).into())
    }),
    Function::new("substr", &[Int, Int, Str], substr),
    Function::new("repeat", &[Int, Str], repeat),
    Function::new("nospace", &[Str], |_, a| Ok(no_space(&text(a, 0)))),
    Function::new("initials", &[Str], |_, a| Ok(initials(&text(a, 0)).into())),
    Function::new("wrap", &[Int, Str], |_, a| {
        Ok(wrap(&text(a, 1), int(a, 0), b"\n", false).into())
    }),
    Function::new("wrapWith", &[Int, Str, Str], |call, a| {
        let (separator, text) = (text(a, 1), text(a, 2));
        call.bytes(text.len().saturating_mul(separator.len().max(1)))?;
        let separator: &[u8] = if separator.is_empty() {
            b"\n"
        } else {
            &separator
        };
        Ok(wrap(&text, int(a, 0), separator, true).into())
    }),
    Function::new("contains", &[Str, Str], |_, a| {
        Ok(find(&text(a, 1), &text(a, 0)).is_some().into())
    }),
    Function::new("hasPrefix", &[Str, Str], |_, a| {
        Ok(text(a, 1).starts_with(&text(a, 0)).into())
    }),
    Function::new("hasSuffix", &[Str, Str], |_, a| {
        Ok(text(a, 1).ends_with(&text(a, 0)).into())
    }),
    Function::variadic("quote", &[Any], |_, a| {
        Ok(spaced(
            a.iter()
                .filter(|v| !v.is_nil())
                .map(|v| quote(&string_of(v)).into_bytes()),
        )
        .into())
    }),
    Function::variadic("squote", &[Any], |_, a| {
        let quoted = |v: &Value| [b"'", &fmt::sprint(std::slice::from_ref(v))[..], b"'"].concat();
        Ok(spaced(a.iter().filter(|v| !v.is_nil()).map(quoted)).into())
    }),
    Function::variadic("cat", &[Any], |_, a| {
        let shown = a
            .iter()
            .filter(|v| !v.is_nil())
            .map(|v| fmt::sprint(std::slice::from_ref(v)));
        Ok(spaced(shown).into())
    }),
    Function::new("indent", &[Int, Str], |call, a| {
        Ok(indent(call, int(a, 0), &text(a, 1))?.into())
    }),
    Function::new("nindent", &[Int, Str], |call, a| {
        let mut out = vec![b'\n'];
        out.append(&mut indent(call, int(a, 0), &text(a, 1))?);
        Ok(out.into())
    }),
    Function::new("replace", &[Str, Str, Str], replace),
    Function::new("plural", &[Str, Str, Int], |_, a| {
        Ok(if int(a, 2) == 1 {
            a[0].clone()
        } else {
            a[1].clone()
        })
    }),
    Function::new("toString", &[Any], |_, a| {
        Ok(Value::String(string_of(&a[0])))
    }),
    Function::new("split", &[Str, Str], |_, a| {
        Ok(numbered(&split(&text(a, 1), &text(a, 0), -1)))
    }),
    Function::new("splitn", &[Str, Int, Str], |_, a| {
        Ok(numbered(&split(&text(a, 2), &text(a, 0), int(a, 1))))
    }),
    Function::new("splitList", &[Str, Str], |call, a| {
        let text = text(a, 1);
        call.bytes(text.len().saturating_mul(16))?;
        let parts = split(&text, &super::args::text(a, 0), -1);
        Ok(Value::List(List::strings(parts)))
    }),
    Function::new("atoi", &[Str], |_, a| Ok(Value::Int(atoi(&text(a, 0))))),
];

// What cannot be read is 0, but what is too big is the biggest number.
fn atoi(text: &Text) -> i64 {
    let text = text.lossy();
    match parse_int(&text, 10) {
        Ok(number) => number,
        Err(crate::strconv::NumError::Syntax) => 0,
        Err(crate::strconv::NumError::Range) if text.starts_with('-') => i64::MIN,
        Err(crate::strconv::NumError::Range) => i64::MAX,
    }
}

fn spaced(parts: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let parts: Vec<Vec<u8>> = parts.collect();
    parts.join(&b' ')
}

fn trim_with(text: &[u8], cut: impl Fn(char) -> bool) -> Vec<u8> {
    let mut rest = text;
    while let Some((rune, width, _)) = decode(rest).filter(|(c, _, _)| cut(*c)) {
        let _ = rune;
        rest = &rest[width..];
    }
    while let Some((_, width)) = decode_last(rest).filter(|(c, _)| cut(*c)) {
        rest = &rest[..rest.len() - width];
    }
    rest.to_vec()
}

fn trim_all(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let cut = text(args, 0);
    let cut = cut.lossy();
    Ok(trim_with(&text(args, 1), |c| cut.contains(c)).into())
}

fn trunc(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let (count, text) = (int(args, 0), text(args, 1));
    let length = text.len() as i64;
    let part = if count < 0 && length.saturating_add(count) > 0 {
        &text[(length + count) as usize..]
    } else if count >= 0 && length > count {
        &text[..count as usize]
    } else {
        &text[..]
    };
    Ok(Value::from(part.to_vec()))
}

// Cuts a text to a width with dots at the end, and at the start when it begins at an offset.
fn abbreviate(text: &[u8], offset: i64, width: i64) -> Vec<u8> {
    let length = text.len() as i64;
    if width < 4 || length <= width {
        return text.to_vec();
    }
    let mut offset = offset.min(length);
    if length - offset < width - 3 {
        offset = length - (width - 3);
    }
    let cut = |from: i64, to: i64| &text[from.max(0) as usize..to as usize];
    if offset <= 4 {
        return [cut(0, width - 3), b"..."].concat();
    }
    if width < 7 {
        return Vec::new();
    }
    if offset + width - 3 < length {
        return [b"...", &abbreviate(cut(offset, length), 0, width - 3)[..]].concat();
    }
    [b"...", cut(length - (width - 3), length)].concat()
}

fn substr(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let (start, end, text) = (int(args, 0), int(args, 1), text(args, 2));
    let length = text.len() as i64;
    let bounds =
        |what: String| Err(format!("runtime error: slice bounds out of range {what}").into());
    if start < 0 {
        if end < 0 {
            return bounds(format!("[:{end}]"));
        }
        if end > length {
            return bounds(format!("[:{end}] with length {length}"));
        }
        return Ok(text[..end as usize].to_vec().into());
    }
    if end < 0 || end > length {
        if start > length {
            return bounds(format!("[{start}:{length}]"));
        }
        return Ok(text[start as usize..].to_vec().into());
    }
    if start > end {
        return bounds(format!("[{start}:{end}]"));
    }
    Ok(text[start as usize..end as usize].to_vec().into())
}

fn repeat(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let (count, text) = (int(args, 0), text(args, 1));
    let count = usize::try_from(count).map_err(|_| "strings: negative Repeat count")?;
    call.bytes(count.checked_mul(text.len()).ok_or(Limit::Output)?)?;
    Ok(text.repeat(count).into())
}

// The library takes bytes for characters.
fn no_space(text: &Text) -> Value {
    if !text.iter().any(|b| char::from(*b).is_whitespace()) {
        return Value::String(text.clone());
    }
    let kept = text
        .iter()
        .map(|b| char::from(*b))
        .filter(|c| !c.is_whitespace());
    kept.collect::<String>().into()
}

fn initials(text: &[u8]) -> String {
    let mut out = String::new();
    let mut gap = true;
    for c in text.iter().map(|b| char::from(*b)) {
        if c.is_whitespace() {
            gap = true;
        } else if std::mem::take(&mut gap) {
            out.push(c);
        }
    }
    out
}

fn wrap(text: &[u8], width: i64, separator: &[u8], cuts_words: bool) -> Vec<u8> {
    let width = width.max(1) as usize;
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while text.len() - at > width {
        if text[at] == b' ' {
            at += 1;
            continue;
        }
        let line = &text[at..=at + width];
        let (end, next) = match line.iter().rposition(|b| *b == b' ') {
            Some(space) => (at + space, at + space + 1),
            None if cuts_words => (at + width, at + width),
            None => match text[at + width..].iter().position(|b| *b == b' ') {
                Some(space) => (at + width + space, at + width + space + 1),
                None => {
                    out.extend_from_slice(&text[at..]);
                    return out;
                }
            },
        };
        out.extend_from_slice(&text[at..end]);
        out.extend_from_slice(separator);
        at = next;
    }
    out.extend_from_slice(&text[at..]);
    out
}

fn indent(call: &mut Call<'_>, spaces: i64, text: &[u8]) -> Result<Vec<u8>, Fault> {
    let spaces = usize::try_from(spaces).map_err(|_| "strings: negative Repeat count")?;
    let lines = text.iter().filter(|b| **b == b'\n').count() + 1;
    call.bytes(
        lines
            .checked_mul(spaces)
            .and_then(|n| n.checked_add(text.len()))
            .ok_or(Limit::Output)?,
    )?;
    let mut out = Vec::with_capacity(text.len() + lines * spaces);
    for (i, line) in text.split(|b| *b == b'\n').enumerate() {
        if i > 0 {
            out.push(b'\n');
        }
        out.resize(out.len() + spaces, b' ');
        out.extend_from_slice(line);
    }
    Ok(out)
}

fn replace(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let (old, new, text) = (text(args, 0), text(args, 1), text(args, 2));
    let most = text.len() / old.len().max(1) + 1;
    let size = most
        .checked_mul(new.len())
        .and_then(|n| n.checked_add(text.len()));
    call.bytes(size.ok_or(Limit::Output)?)?;
    let parts = if old.is_empty() {
        // Between all characters, and at both ends.
        let mut parts = vec![&[][..]];
        parts.append(&mut split(&text, b"", -1));
        parts.push(&[]);
        parts
    } else {
        split(&text, &old, -1)
    };
    Ok(parts.join(&new[..]).into())
}

/// As `strings.SplitN`: nothing for 0, everything below it; an empty separator cuts characters.
fn split<'t>(text: &'t [u8], separator: &[u8], count: i64) -> Vec<&'t [u8]> {
    if count == 0 {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut rest = text;
    let full = |parts: &Vec<&[u8]>| count > 0 && parts.len() as i64 == count - 1;
    if separator.is_empty() {
        for (_, width, _) in runes(text) {
            if full(&parts) {
                break;
            }
            parts.push(&rest[..width]);
            rest = &rest[width..];
        }
        if !rest.is_empty() {
            parts.push(rest);
        }
        return parts;
    }
    while let Some(at) = find(rest, separator).filter(|_| !full(&parts)) {
        parts.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    parts.push(rest);
    parts
}

// `_0`, `_1` and so on.
fn numbered(parts: &[&[u8]]) -> Value {
    let entries: Entries = parts
        .iter()
        .enumerate()
        .map(|(i, part)| (Text::from(format!("_{i}")), Value::String((*part).into())))
        .collect();
    Value::Map(Map::typed(Element::String, entries))
}
