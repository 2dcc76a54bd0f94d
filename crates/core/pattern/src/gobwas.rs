//! gobwas/glob: `*`, `**`, `?`, `[abc]`, `[!a-z]`, `{a,b}`, `\`.

use crate::{DEPTH_MAX, Node, PatternError};
use std::iter::Peekable;
use std::str::Chars;

/// Reads a pattern.
pub(crate) fn parse(pattern: &str) -> Result<Vec<Node>, PatternError> {
    let mut chars = pattern.chars().peekable();
    sequence(&mut chars, 0)
}

// Reads up to the end, or to the comma or brace that ends an alternative.
fn sequence(chars: &mut Peekable<Chars<'_>>, depth: usize) -> Result<Vec<Node>, PatternError> {
    let mut nodes = Vec::new();
    while let Some(&c) = chars.peek() {
        if depth > 0 && matches!(c, ',' | '}') {
            return Ok(nodes);
        }
        chars.next();
        nodes.push(match c {
            '*' if chars.next_if_eq(&'*').is_some() => Node::All,
            '*' => Node::Many,
            '?' => Node::One,
            '[' => class(chars)?,
            '{' => either(chars, depth + 1)?,
            '\\' => match chars.next() {
                Some(next) => Node::Char(next),
                None => return Err(crate::gopath::trailing()),
            },
            other => Node::Char(other),
        });
    }
    if depth > 0 {
        return Err(PatternError::new("a `{` is not closed"));
    }
    Ok(nodes)
}

fn either(chars: &mut Peekable<Chars<'_>>, depth: usize) -> Result<Node, PatternError> {
    if depth > DEPTH_MAX {
        return Err(PatternError::new("braces nest too deep"));
    }
    let mut ways = Vec::new();
    loop {
        ways.push(sequence(chars, depth)?);
        if chars.next() == Some('}') {
            return Ok(Node::Either(ways));
        }
    }
}

// After `[`: either one range or a list of characters.
fn class(chars: &mut Peekable<Chars<'_>>) -> Result<Node, PatternError> {
    let open = || PatternError::new("a `[` is not closed");
    let not = chars.next_if_eq(&'!').is_some();
    let mut ahead = chars.clone();
    let low = ahead.next().ok_or_else(open)?;
    if ahead.next() == Some('-') {
        let high = ahead.next().ok_or_else(open)?;
        *chars = ahead;
        if high < low {
            return Err(PatternError::new(format!(
                "`{low}-{high}` is a range from high to low"
            )));
        }
        if chars.next() != Some(']') {
            return Err(PatternError::new("one range is all that fits into `[]`"));
        }
        return Ok(Node::Class {
            not,
            ranges: vec![(low, high)],
        });
    }
    let mut ranges = Vec::new();
    loop {
        let c = match chars.next().ok_or_else(open)? {
            ']' if ranges.is_empty() => return Err(PatternError::new("`[]` is empty")),
            ']' => break,
            '\\' => chars.next().ok_or_else(open)?,
            other => other,
        };
        ranges.push((c, c));
    }
    Ok(Node::Class { not, ranges })
}
