//! Regular expressions as Go's `regexp` reads them.
//!
//! The pattern is checked and translated ([`translate`]), then run by the `regex` crate, which has
//! the same semantics: leftmost, first alternative, linear time.

mod class;
mod translate;

use crate::text::decode;
use regex::bytes::{Captures, Regex, RegexBuilder};

/// How much memory a compiled pattern may take.
const SIZE_MAX: usize = 8 << 20;

/// A compiled pattern.
pub(crate) struct Regexp {
    regex: Regex,
    empty: bool,
}

impl Regexp {
    /// Compiles a pattern; the error is Go's.
    pub(crate) fn new(pattern: &[u8]) -> Result<Self, String> {
        let pattern = std::str::from_utf8(pattern)
            .map_err(|_| "error parsing regexp: invalid UTF-8: ``".to_owned())?;
        let translated = translate::translate(pattern)?;
        let regex = RegexBuilder::new(&translated)
            .size_limit(SIZE_MAX)
            .build()
            .map_err(|_| format!("error parsing regexp: expression too large: `{pattern}`"))?;
        Ok(Self {
            regex,
            empty: pattern.is_empty(),
        })
    }

    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }

    pub(crate) fn find<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        self.regex.find(text).map_or(&[], |m| m.as_bytes())
    }

    // Matches one after the other; an empty one right behind another does not count.
    fn all(&self, text: &[u8], limit: i64) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut at = 0;
        let mut last = None;
        while at <= text.len() && (limit < 0 || (found.len() as i64) < limit) {
            let Some(m) = self.regex.find_at(text, at) else {
                break;
            };
            let mut counts = true;
            if m.end() == at {
                counts = last != Some(m.start());
                at += decode(&text[at..]).map_or(1, |(_, width, _)| width);
            } else {
                at = m.end();
            }
            last = Some(m.end());
            if counts {
                found.push((m.start(), m.end()));
            }
        }
        found
    }

    /// The texts of all matches, or of the first few; none at all is Go's nil slice.
    pub(crate) fn find_all<'t>(&self, text: &'t [u8], limit: i64) -> Option<Vec<&'t [u8]>> {
        let found = self.all(text, limit);
        if found.is_empty() {
            return None;
        }
        Some(
            found
                .into_iter()
                .map(|(from, to)| &text[from..to])
                .collect(),
        )
    }

    /// Cuts the text at its matches.
    pub(crate) fn split<'t>(&self, text: &'t [u8], limit: i64) -> Option<Vec<&'t [u8]>> {
        if limit == 0 {
            return None;
        }
        if !self.empty && text.is_empty() {
            return Some(vec![text]);
        }
        let mut parts = Vec::new();
        let (mut start, mut end) = (0, 0);
        for (from, to) in self.all(text, limit) {
            if limit > 0 && parts.len() as i64 == limit - 1 {
                break;
            }
            end = from;
            if to != 0 {
                parts.push(&text[start..end]);
            }
            start = to;
        }
        if end != text.len() {
            parts.push(&text[start..]);
        }
        Some(parts)
    }

    /// Replaces every match by what the function writes for it.
    pub(crate) fn replace(
        &self,
        text: &[u8],
        mut write: impl FnMut(&Captures<'_>, &mut Vec<u8>),
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let (mut done, mut at) = (0, 0);
        while at <= text.len() {
            let Some(captures) = self.regex.captures_at(text, at) else {
                break;
            };
            let Some(m) = captures.get(0) else { break };
            out.extend_from_slice(&text[done..m.start()]);
            if m.end() > done || m.start() == 0 {
                write(&captures, &mut out);
            }
            done = m.end();
            let width = decode(&text[at..]).map_or(1, |(_, width, _)| width);
            at = (at + width).max(m.end());
        }
        out.extend_from_slice(&text[done.min(text.len())..]);
        out
    }

    /// Replaces every match by a template with `$1` and `${name}`.
    pub(crate) fn replace_expanding(&self, text: &[u8], template: &[u8]) -> Vec<u8> {
        self.replace(text, |captures, out| expand(template, captures, out))
    }
}

fn expand(template: &[u8], captures: &Captures<'_>, out: &mut Vec<u8>) {
    let mut rest = template;
    while let Some(at) = rest.iter().position(|b| *b == b'$') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        if rest.get(1) == Some(&b'$') {
            out.push(b'$');
            rest = &rest[2..];
            continue;
        }
        let Some((name, after)) = reference(rest) else {
            out.push(b'$');
            rest = &rest[1..];
            continue;
        };
        rest = after;
        let group = match name.parse::<usize>() {
            Ok(number) => captures.get(number),
            Err(_) => captures.name(name),
        };
        if let Some(group) = group {
            out.extend_from_slice(group.as_bytes());
        }
    }
    out.extend_from_slice(rest);
}

// The name behind `$`, in braces or as long as it goes.
fn reference(text: &[u8]) -> Option<(&str, &[u8])> {
    let brace = text.get(1) == Some(&b'{');
    let body = &text[1 + usize::from(brace)..];
    let whole = std::str::from_utf8(body).ok()?;
    let length = whole
        .find(|c: char| c != '_' && !crate::unicode::is_letter(c) && !crate::unicode::is_digit(c))
        .unwrap_or(whole.len());
    if length == 0 {
        return None;
    }
    let after = &body[length..];
    if brace {
        return Some((&whole[..length], after.strip_prefix(b"}")?));
    }
    Some((&whole[..length], after))
}

/// Escapes what has a meaning in a pattern.
pub(crate) fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if b"\\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}
