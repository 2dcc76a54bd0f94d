//! Quoted strings as Go's `strconv` writes and reads them.

use crate::text::runes;
use crate::unicode::is_print;

/// Writes `"…"` with Go's escapes.
pub(crate) fn quote(bytes: &[u8]) -> String {
    quote_with(bytes, '"', false)
}

/// Writes a quoted string; `ascii` escapes everything else.
pub(crate) fn quote_with(bytes: &[u8], mark: char, ascii: bool) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push(mark);
    let mut at = 0;
    for (rune, width, sound) in runes(bytes) {
        if sound {
            push_rune(&mut out, rune, mark, ascii);
        } else {
            out.push_str(&format!("\\x{:02x}", bytes[at]));
        }
        at += width;
    }
    out.push(mark);
    out
}

/// Writes `'…'` around one character.
pub(crate) fn quote_rune(rune: char, ascii: bool) -> String {
    let mut out = String::from('\'');
    push_rune(&mut out, rune, '\'', ascii);
    out.push('\'');
    out
}

fn push_rune(out: &mut String, rune: char, mark: char, ascii: bool) {
    if rune == mark || rune == '\\' {
        out.push('\\');
        out.push(rune);
        return;
    }
    if if ascii {
        rune.is_ascii() && is_print(rune)
    } else {
        is_print(rune)
    } {
        out.push(rune);
        return;
    }
    match rune {
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
        c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
        c => out.push_str(&format!("\\U{:08x}", c as u32)),
    }
}

/// Whether the text fits between back quotes.
pub(crate) fn can_backquote(bytes: &[u8]) -> bool {
    runes(bytes).all(|(c, _, sound)| {
        sound && c != '\u{feff}' && c != '`' && c != '\u{7f}' && (c >= ' ' || c == '\t')
    })
}

/// Reads a quoted string of any kind; none when it is malformed.
pub(crate) fn unquote(quoted: &str) -> Option<Vec<u8>> {
    let mark = quoted.chars().next()?;
    let inner = quoted.get(1..)?.strip_suffix(mark)?;
    if quoted.len() < 2 {
        return None;
    }
    if mark == '`' {
        if inner.contains('`') {
            return None;
        }
        return Some(inner.replace('\r', "").into_bytes());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while !rest.is_empty() {
        let (unit, tail) = unquote_char(rest, mark)?;
        match unit {
            Unit::Byte(b) => out.push(b),
            Unit::Rune(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        rest = tail;
    }
    Some(out)
}

/// What one escape stands for.
pub(crate) enum Unit {
    Byte(u8),
    Rune(char),
}

/// Reads one character or escape.
pub(crate) fn unquote_char(text: &str, mark: char) -> Option<(Unit, &str)> {
    let mut chars = text.chars();
    let first = chars.next()?;
    if first == mark && (mark == '\'' || mark == '"') || first == '\n' {
        return None;
    }
    if first != '\\' {
        return Some((Unit::Rune(first), chars.as_str()));
    }
    let kind = chars.next()?;
    let rest = chars.as_str();
    let simple = |c: char| Some((Unit::Rune(c), rest));
    match kind {
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        '\\' => simple('\\'),
        '\'' | '"' if kind == mark => simple(kind),
        'x' => {
            let digits = rest.get(..2)?;
            let value = hex(digits)?;
            Some((Unit::Byte(value as u8), &rest[2..]))
        }
        'u' | 'U' => {
            let length = if kind == 'u' { 4 } else { 8 };
            let value = hex(rest.get(..length)?)?;
            Some((Unit::Rune(char::from_u32(value)?), &rest[length..]))
        }
        '0'..='7' => {
            let digits = text.get(1..4)?;
            if !digits.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
                return None;
            }
            let value = u32::from_str_radix(digits, 8).ok()?;
            Some((Unit::Byte(u8::try_from(value).ok()?), &text[4..]))
        }
        _ => None,
    }
}

fn hex(digits: &str) -> Option<u32> {
    if digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}
