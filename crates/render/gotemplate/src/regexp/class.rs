//! Sets of characters in patterns: `[a-z]`, `\d`, `\pL`, `[[:alpha:]]`.

use super::translate::{Translator, error};

const POSIX: [(&str, &str); 14] = [
    ("alnum", "0-9A-Za-z"),
    ("alpha", "A-Za-z"),
    ("ascii", r"\x00-\x7F"),
    ("blank", r"\t\x20"),
    ("cntrl", r"\x00-\x1F\x7F"),
    ("digit", "0-9"),
    ("graph", r"\x21-\x7E"),
    ("lower", "a-z"),
    ("print", r"\x20-\x7E"),
    ("punct", r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E"),
    ("space", r"\t\n\x0B\x0C\r\x20"),
    ("upper", "A-Z"),
    ("word", "0-9A-Za-z_"),
    ("xdigit", "0-9A-Fa-f"),
];

/// `\d` and its kin, and `\pL`: what stands inside brackets for them, and their length.
pub(super) fn escaped_set(text: &str) -> Result<Option<(String, usize)>, String> {
    let set = match text[1..].chars().next() {
        Some('d') => "0-9".to_owned(),
        Some('D') => "[^0-9]".to_owned(),
        Some('s') => r"\t\n\x0C\r\x20".to_owned(),
        Some('S') => r"[^\t\n\x0C\r\x20]".to_owned(),
        Some('w') => "0-9A-Za-z_".to_owned(),
        Some('W') => "[^0-9A-Za-z_]".to_owned(),
        Some('p' | 'P') => return unicode(text).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((set, 2)))
}

fn unicode(text: &str) -> Result<(String, usize), String> {
    let negated = text.as_bytes()[1] == b'P';
    let body = &text[2..];
    let (mut name, length) = if let Some(inner) = body.strip_prefix('{') {
        match inner.find('}') {
            Some(end) => (&inner[..end], end + 4),
            None => return error("invalid character class range", text),
        }
    } else {
        match body.chars().next() {
            Some(c) => (&body[..c.len_utf8()], 2 + c.len_utf8()),
            None => return error("invalid character class range", text),
        }
    };
    let mut negated = negated;
    if let Some(inner) = name.strip_prefix('^') {
        name = inner;
        negated = !negated;
    }
    let set = format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' });
    let known = name == "Any" || regex::Regex::new(&set).is_ok();
    // Go wants the names as Unicode writes them; the regex crate takes any case.
    if !known || !name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return error("invalid character class range", &text[..length]);
    }
    Ok((set, length))
}

/// One escaped character and the length of its escape.
pub(super) fn escaped_char(text: &str) -> Result<(char, usize), String> {
    let Some(c) = text[1..].chars().next() else {
        return error("trailing backslash at end of expression", "");
    };
    let simple = |c| Ok((c, 2));
    match c {
        'a' => simple('\u{7}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        '0' => Ok(octal(text)),
        '1'..='7' if text[2..].starts_with(|c| ('0'..='7').contains(&c)) => Ok(octal(text)),
        'x' => hex(text),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => simple(c),
        c => error("invalid escape sequence", &text[..=c.len_utf8()]),
    }
}

fn octal(text: &str) -> (char, usize) {
    let digits = text[1..]
        .bytes()
        .take(3)
        .take_while(|b| (b'0'..=b'7').contains(b))
        .count();
    let code = u32::from_str_radix(&text[1..=digits], 8).unwrap_or(0);
    (char::from_u32(code).unwrap_or('\0'), digits + 1)
}

fn hex(text: &str) -> Result<(char, usize), String> {
    let body = &text[2..];
    if let Some(inner) = body.strip_prefix('{') {
        let digits = inner.bytes().take_while(u8::is_ascii_hexdigit).count();
        let closed = inner[digits..].starts_with('}');
        let code = u32::from_str_radix(&inner[..digits], 16)
            .ok()
            .and_then(char::from_u32);
        return match code {
            Some(c) if closed => Ok((c, digits + 4)),
            _ => error(
                "invalid escape sequence",
                &text[..(3 + digits + 1).min(text.len())],
            ),
        };
    }
    match body
        .get(..2)
        .and_then(|d| u32::from_str_radix(d, 16).ok())
        .and_then(char::from_u32)
    {
        Some(c) => Ok((c, 4)),
        None => {
            let shown: usize = text.chars().take(3).map(char::len_utf8).sum();
            error("invalid escape sequence", &text[..shown])
        }
    }
}

/// `[…]`, from the bracket on.
pub(super) fn class(t: &mut Translator<'_>) -> Result<(), String> {
    let whole = t.rest;
    let mut rest = &whole[1..];
    let mut out = String::from("[");
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut first = true;
    loop {
        let Some(c) = rest.chars().next() else {
            return error("missing closing ]", whole);
        };
        if c == ']' && !first {
            break;
        }
        first = false;
        if let Some((set, length)) = posix(rest)? {
            out.push_str(&set);
            rest = &rest[length..];
            continue;
        }
        if c == '\\'
            && let Some((set, length)) = escaped_set(rest)?
        {
            out.push_str(&set);
            rest = &rest[length..];
            continue;
        }
        let range = rest;
        let (low, length) = class_char(rest, whole)?;
        rest = &rest[length..];
        let mut high = low;
        if rest.starts_with('-') && !rest[1..].starts_with(']') && rest.len() > 1 {
            let (c, length) = class_char(&rest[1..], whole)?;
            high = c;
            rest = &rest[1 + length..];
            if high < low {
                return error(
                    "invalid character class range",
                    &range[..range.len() - rest.len()],
                );
            }
        }
        out.push_str(&format!("\\x{{{:x}}}-\\x{{{:x}}}", low as u32, high as u32));
    }
    out.push(']');
    t.out.push_str(&out);
    t.rest = &rest[1..];
    Ok(())
}

fn class_char(text: &str, whole: &str) -> Result<(char, usize), String> {
    match text.chars().next() {
        None => error("missing closing ]", whole),
        Some('\\') => escaped_char(text),
        Some(c) => Ok((c, c.len_utf8())),
    }
}

// `[:alpha:]` and `[:^alpha:]`.
fn posix(text: &str) -> Result<Option<(String, usize)>, String> {
    let Some(end) = text.strip_prefix("[:").and_then(|t| t.find(":]")) else {
        return Ok(None);
    };
    let name = &text[2..2 + end];
    let (negated, name) = name.strip_prefix('^').map_or((false, name), |n| (true, n));
    match POSIX.iter().find(|(n, _)| *n == name) {
        Some((_, set)) if negated => Ok(Some((format!("[^{set}]"), end + 4))),
        Some((_, set)) => Ok(Some(((*set).to_owned(), end + 4))),
        None => error("invalid character class range", &text[..end + 4]),
    }
}
