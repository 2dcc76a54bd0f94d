//! Go's `filepath.Match`: `*`, `?`, `[^a-z]`, `\`.

use crate::{Node, PatternError};
use std::iter::Peekable;
use std::str::Chars;

/// Reads a pattern.
pub(crate) fn parse(pattern: &str) -> Result<Vec<Node>, PatternError> {
    let mut chars = pattern.chars().peekable();
    let mut nodes = Vec::new();
    while let Some(c) = chars.next() {
        nodes.push(match c {
            '*' => Node::Many,
            '?' => Node::One,
            '[' => class(&mut chars)?,
            '\\' => Node::Char(chars.next().ok_or_else(trailing)?),
            other => Node::Char(other),
        });
    }
    Ok(nodes)
}

pub(crate) fn trailing() -> PatternError {
    PatternError::new("it ends with a `\\`")
}

// A class after its `[`: any number of characters and ranges.
fn class(chars: &mut Peekable<Chars<'_>>) -> Result<Node, PatternError> {
    let not = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        if chars.peek() == Some(&']') && !ranges.is_empty() {
            chars.next();
            return Ok(Node::Class { not, ranges });
        }
        let low = member(chars)?;
        let high = match chars.next_if_eq(&'-') {
            Some(_) => member(chars)?,
            None => low,
        };
        ranges.push((low, high));
    }
}

fn member(chars: &mut Peekable<Chars<'_>>) -> Result<char, PatternError> {
    let open = || PatternError::new("a `[` is not closed");
    match chars.next().ok_or_else(open)? {
        '-' | ']' => Err(PatternError::new("`-` and `]` need a `\\` in `[]`")),
        '\\' => chars.next().ok_or_else(open),
        other => Ok(other),
    }
}
