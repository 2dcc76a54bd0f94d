//! doublestar: Go's paths with `{a,b}`, and `**` as any number of directories.

use crate::gopath::trailing;
use crate::{DEPTH_MAX, Node, PatternError};
use std::iter::Peekable;
use std::str::Chars;

/// Reads a pattern.
pub(crate) fn parse(pattern: &str) -> Result<Vec<Node>, PatternError> {
    let mut chars = pattern.chars().peekable();
    sequence(&mut chars, 0, true)
}

// `start`: nothing or a `/` stands before.
fn sequence(
    chars: &mut Peekable<Chars<'_>>,
    depth: usize,
    start: bool,
) -> Result<Vec<Node>, PatternError> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut after_slash = start;
    while let Some(&c) = chars.peek() {
        if depth > 0 && matches!(c, ',' | '}') {
            return Ok(nodes);
        }
        chars.next();
        match c {
            '*' => {
                let double = chars.next_if_eq(&'*').is_some();
                while chars.next_if_eq(&'*').is_some() {}
                stars(&mut nodes, chars, double && after_slash, depth);
            }
            '?' => nodes.push(Node::One),
            '[' => nodes.push(class(chars)?),
            '{' => nodes.push(either(chars, depth + 1, after_slash)?),
            '}' => return Err(PatternError::new("a `}` closes nothing")),
            '\\' => nodes.push(Node::Char(chars.next().ok_or_else(trailing)?)),
            other => nodes.push(Node::Char(other)),
        }
        after_slash = nodes.last() == Some(&Node::Char('/')) || ends_with_directories(&nodes);
    }
    if depth > 0 {
        return Err(PatternError::new("a `{` is not closed"));
    }
    Ok(nodes)
}

fn ends_with_directories(nodes: &[Node]) -> bool {
    matches!(nodes.last(), Some(Node::Either(ways)) if *ways == directories())
}

// Nothing, or any directories and a `/`.
fn directories() -> Vec<Vec<Node>> {
    vec![Vec::new(), vec![Node::All, Node::Char('/')]]
}

// `**` is special only when it is the whole of a path's part.
fn stars(nodes: &mut Vec<Node>, chars: &mut Peekable<Chars<'_>>, whole: bool, depth: usize) {
    match chars.peek() {
        Some('/') if whole => {
            chars.next();
            if chars.peek().is_none() && nodes.last() == Some(&Node::Char('/')) {
                nodes.pop();
                let below = vec![Node::Char('/'), Node::Either(directories())];
                nodes.push(Node::Either(vec![Vec::new(), below]));
            } else {
                nodes.push(Node::Either(directories()));
            }
        }
        None if whole => at_the_end(nodes),
        Some(',' | '}') if whole && depth > 0 => at_the_end(nodes),
        _ => nodes.push(Node::Many),
    }
}

// `a/**` is `a` itself too.
fn at_the_end(nodes: &mut Vec<Node>) {
    if nodes.last() == Some(&Node::Char('/')) {
        nodes.pop();
        let below = vec![Node::Char('/'), Node::All];
        nodes.push(Node::Either(vec![Vec::new(), below]));
    } else {
        nodes.push(Node::All);
    }
}

fn either(
    chars: &mut Peekable<Chars<'_>>,
    depth: usize,
    start: bool,
) -> Result<Node, PatternError> {
    if depth > DEPTH_MAX {
        return Err(PatternError::new("braces nest too deep"));
    }
    let mut ways = Vec::new();
    loop {
        ways.push(sequence(chars, depth, start)?);
        if chars.next() == Some('}') {
            return Ok(Node::Either(ways));
        }
    }
}

// A class after its `[`: any number of characters and ranges.
fn class(chars: &mut Peekable<Chars<'_>>) -> Result<Node, PatternError> {
    let open = || PatternError::new("a `[` is not closed");
    let not = chars.next_if(|c| matches!(c, '^' | '!')).is_some();
    let mut ranges = Vec::new();
    loop {
        let low = match chars.next().ok_or_else(open)? {
            ']' if ranges.is_empty() => return Err(PatternError::new("`[]` is empty")),
            ']' => return Ok(Node::Class { not, ranges }),
            '\\' => chars.next().ok_or_else(open)?,
            other => other,
        };
        let mut ahead = chars.clone();
        let range = ahead.next() == Some('-') && ahead.peek().is_some_and(|c| *c != ']');
        if !range {
            ranges.push((low, low));
            continue;
        }
        *chars = ahead;
        let high = match chars.next().ok_or_else(open)? {
            '\\' => chars.next().ok_or_else(open)?,
            other => other,
        };
        ranges.push((low, high));
    }
}
