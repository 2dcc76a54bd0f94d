//! Values to text, byte for byte as Go's `encoding/json` prints them.

use crate::number;
use model::Value;

/// How the text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One line without spaces.
    Compact,
    /// Two spaces a level, as browsers and curl get it.
    Pretty,
}

/// Prints a value, keys in sorted order, without a final line break.
pub fn to_vec(value: &Value, layout: Layout) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    append(&mut out, value, layout, 0);
    out
}

/// Prints a value behind what `out` holds; `level` is how deep it stands.
pub fn append(out: &mut Vec<u8>, value: &Value, layout: Layout, level: usize) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(n) => out.extend_from_slice(number::text(n).as_bytes()),
        Value::String(text) => string(out, text),
        Value::Array(list) => {
            out.push(b'[');
            for (i, entry) in list.iter().enumerate() {
                separate(out, i == 0, layout, level + 1);
                append(out, entry, layout, level + 1);
            }
            close(out, b']', list.is_empty(), layout, level);
        }
        Value::Object(map) => {
            out.push(b'{');
            for (i, (key, entry)) in map.iter().enumerate() {
                separate(out, i == 0, layout, level + 1);
                string(out, key);
                colon(out, layout);
                append(out, entry, layout, level + 1);
            }
            close(out, b'}', map.is_empty(), layout, level);
        }
    }
}

/// Writes what stands before an element or key: a comma unless it is the first, and the indent.
pub fn separate(out: &mut Vec<u8>, first: bool, layout: Layout, level: usize) {
    if !first {
        out.push(b',');
    }
    line(out, layout, level);
}

/// Writes what stands between key and value.
pub fn colon(out: &mut Vec<u8>, layout: Layout) {
    out.push(b':');
    if layout == Layout::Pretty {
        out.push(b' ');
    }
}

/// Writes a closing bracket.
pub fn close(out: &mut Vec<u8>, bracket: u8, empty: bool, layout: Layout, level: usize) {
    if !empty {
        line(out, layout, level);
    }
    out.push(bracket);
}

fn line(out: &mut Vec<u8>, layout: Layout, level: usize) {
    if layout == Layout::Pretty {
        out.push(b'\n');
        out.resize(out.len() + level * 2, b' ');
    }
}

/// Bytes that begin something that is escaped, or may be.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = true;
        control += 1;
    }
    let others = b"\"\\<>&\xe2";
    let mut i = 0;
    while i < others.len() {
        table[others[i] as usize] = true;
        i += 1;
    }
    table
};

/// Prints a string with Go's escapes, `<`, `>` and `&` among them.
pub fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|b| SPECIAL[usize::from(*b)]) {
        at += next;
        let byte = bytes[at];
        let (escape, length): (&[u8], usize) = match byte {
            b'"' => (b"\\\"", 1),
            b'\\' => (b"\\\\", 1),
            b'\n' => (b"\\n", 1),
            b'\r' => (b"\\r", 1),
            b'\t' => (b"\\t", 1),
            0x08 => (b"\\b", 1),
            0x0c => (b"\\f", 1),
            b'<' => (b"\\u003c", 1),
            b'>' => (b"\\u003e", 1),
            b'&' => (b"\\u0026", 1),
            0xe2 if bytes[at..].starts_with(b"\xe2\x80\xa8") => (b"\\u2028", 3),
            0xe2 if bytes[at..].starts_with(b"\xe2\x80\xa9") => (b"\\u2029", 3),
            0x00..0x20 => (b"", 1),
            _ => {
                at += 1;
                continue;
            }
        };
        out.extend_from_slice(&bytes[plain..at]);
        if escape.is_empty() {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
        }
        out.extend_from_slice(escape);
        at += length;
        plain = at;
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn shown(value: &Value, layout: Layout) -> String {
        String::from_utf8(to_vec(value, layout)).unwrap()
    }

    #[test]
    fn go_escapes() {
        assert_eq!(
            shown(&json!("<a&b>\u{1}\u{7f}\u{2028}é\n\u{8}"), Layout::Compact),
            "\"\\u003ca\\u0026b\\u003e\\u0001\u{7f}\\u2028é\\n\\b\""
        );
    }

    #[test]
    fn pretty_text_is_indented() {
        assert_eq!(
            shown(&json!({"b": [1, {}], "a": [], "c": 1.5}), Layout::Pretty),
            "{\n  \"a\": [],\n  \"b\": [\n    1,\n    {}\n  ],\n  \"c\": 1.5\n}"
        );
    }
}
