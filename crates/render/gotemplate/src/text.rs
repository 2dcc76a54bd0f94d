//! Strings as Go has them: bytes that are usually, but not always, UTF-8.
//!
//! `b64dec` gives any bytes and `trunc` may cut a letter in half; both must survive until they
//! are encoded again. A [`Text`] is cheap to clone.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A string of bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<[u8]>);

impl Text {
    /// The text for people; broken bytes show as U+FFFD.
    pub fn lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl Default for Text {
    fn default() -> Self {
        Self(Arc::from([]))
    }
}

impl Deref for Text {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Text {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Arc::from(text.as_bytes()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Arc::from(text.into_bytes()))
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::from(bytes))
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(Arc::from(bytes))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lossy())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.lossy())
    }
}

/// Walks bytes as Go's `range` walks a string: a broken byte is one U+FFFD of width 1.
///
/// Gives each rune, its width in bytes, and whether the bytes were sound.
pub(crate) fn runes(bytes: &[u8]) -> Runes<'_> {
    Runes { rest: bytes }
}

pub(crate) struct Runes<'a> {
    rest: &'a [u8],
}

impl Iterator for Runes<'_> {
    type Item = (char, usize, bool);

    fn next(&mut self) -> Option<Self::Item> {
        let (rune, width, sound) = decode(self.rest)?;
        self.rest = &self.rest[width..];
        Some((rune, width, sound))
    }
}

/// The first rune of some bytes.
pub(crate) fn decode(bytes: &[u8]) -> Option<(char, usize, bool)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((char::from(first), 1, true));
    }
    let width = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return Some(('\u{FFFD}', 1, false)),
    };
    let found = bytes.get(..width).and_then(|b| std::str::from_utf8(b).ok());
    match found.and_then(|s| s.chars().next()) {
        Some(rune) => Some((rune, width, true)),
        None => Some(('\u{FFFD}', 1, false)),
    }
}

/// The last rune of some bytes and its width.
pub(crate) fn decode_last(bytes: &[u8]) -> Option<(char, usize)> {
    if bytes.is_empty() {
        return None;
    }
    for width in 1..=bytes.len().min(4) {
        if let Some((rune, w, true)) = decode(&bytes[bytes.len() - width..])
            && w == width
        {
            return Some((rune, width));
        }
    }
    Some(('\u{FFFD}', 1))
}

/// Where one text stands in another.
pub(crate) fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    if needle.len() > hay.len() {
        return None;
    }
    let first = needle[0];
    let last = hay.len() - needle.len();
    let mut at = 0;
    while at <= last {
        at += hay[at..=last].iter().position(|b| *b == first)?;
        if hay[at..].starts_with(needle) {
            return Some(at);
        }
        at += 1;
    }
    None
}
