//! What a scalar means to the YAML reader of Kustomize, which is newer than the one of the rest of
//! Kubernetes: `yes` is a string and a date is a point in time.

use crate::fault::{Fault, Outcome};
use crate::node::{Kind, Node, Style, Tag};
use base64::Engine as _;
use model::Value;

/// What a plain scalar is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// A point in time, in the form it is printed in.
    Time(String),
    Text,
    Merge,
}

impl Scalar {
    pub(crate) fn tag(&self) -> Tag {
        match self {
            Self::Null => Tag::Null,
            Self::Bool(_) => Tag::Bool,
            Self::Int(_) | Self::Uint(_) => Tag::Int,
            Self::Float(_) => Tag::Float,
            Self::Time(_) => Tag::Timestamp,
            Self::Text => Tag::Str,
            Self::Merge => Tag::Merge,
        }
    }
}

/// Resolves a plain scalar without a tag.
pub(crate) fn resolve(text: &str) -> Scalar {
    match text.as_bytes().first() {
        None => Scalar::Null,
        Some(b'<') if text == "<<" => Scalar::Text,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            word(text).unwrap_or(Scalar::Text)
        }
        Some(b'.') => match word(text) {
            Some(word) => word,
            None => go_float(text).map_or(Scalar::Text, Scalar::Float),
        },
        Some(b'+' | b'-' | b'0'..=b'9') => word(text)
            .or_else(|| timestamp(text).map(Scalar::Time))
            .or_else(|| number(text))
            .unwrap_or(Scalar::Text),
        Some(_) => Scalar::Text,
    }
}

fn word(text: &str) -> Option<Scalar> {
    Some(match text {
        "true" | "True" | "TRUE" => Scalar::Bool(true),
        "false" | "False" | "FALSE" => Scalar::Bool(false),
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn number(text: &str) -> Option<Scalar> {
    let packed;
    let plain = if text.contains('_') {
        packed = text.replace('_', "");
        packed.as_str()
    } else {
        text
    };
    if let Some(whole) = go_int(plain) {
        return Some(match i64::try_from(whole) {
            Ok(small) => Scalar::Int(small),
            Err(_) => Scalar::Uint(u64::try_from(whole).ok()?),
        });
    }
    if looks_like_float(plain) {
        return go_float(plain).map(Scalar::Float);
    }
    None
}

// Go's integers with the base in front; only one without a sign may need all 64 bits.
fn go_int(text: &str) -> Option<i128> {
    let (signed, digits) = match text.as_bytes().first()? {
        b'-' | b'+' => (true, &text[1..]),
        _ => (false, text),
    };
    let bytes = digits.as_bytes();
    let (base, digits) = match bytes {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || digits.len() > 70 || !digits.bytes().all(|b| b.is_ascii_alphanumeric())
    {
        return None;
    }
    let value = i128::from_str_radix(digits, base).ok()?;
    let value = if text.starts_with('-') { -value } else { value };
    let max = if signed {
        i128::from(i64::MAX)
    } else {
        i128::from(u64::MAX)
    };
    (i128::from(i64::MIN)..=max)
        .contains(&value)
        .then_some(value)
}

// [-+]? ( .digits | digits [.digits?] ) ( e[-+]?digits )?
fn looks_like_float(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = rest.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = &rest[whole..];
    if let Some(after) = rest.strip_prefix('.') {
        let fraction = after.bytes().take_while(u8::is_ascii_digit).count();
        if whole == 0 && fraction == 0 {
            return false;
        }
        rest = &after[fraction..];
    } else if whole == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        None => rest.is_empty(),
        Some(exponent) => {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        }
    }
}

// Go's ParseFloat of text that starts like a number; beyond the range is no number.
fn go_float(text: &str) -> Option<f64> {
    let clean = !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'));
    let value: f64 = clean.then(|| text.parse().ok())??;
    value.is_finite().then_some(value)
}

// A date or a date with a time, as Go prints it in JSON.
fn timestamp(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes[..4].iter().all(u8::is_ascii_digit) || bytes[4] != b'-' {
        return None;
    }
    let mut rest = Rest(&bytes[5..]);
    let year: u32 = text[..4].parse().ok()?;
    let month = rest.number()?;
    rest.take(b'-')?;
    let day = rest.number()?;
    if !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month) {
        return None;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    match rest.next() {
        None => Some(format!("{date}T00:00:00Z")),
        Some(b'T' | b't') => {
            let clock = rest.clock()?;
            let zone = rest.zone()?;
            Some(format!("{date}T{clock}{zone}"))
        }
        Some(b' ') => {
            let clock = rest.clock()?;
            rest.0.is_empty().then(|| format!("{date}T{clock}Z"))
        }
        Some(_) => None,
    }
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    // One or two digits.
    fn number(&mut self) -> Option<u32> {
        let digits = self.0.iter().take(2).take_while(|b| b.is_ascii_digit());
        let digits = digits.count();
        if digits == 0 {
            return None;
        }
        let value = self.0[..digits]
            .iter()
            .fold(0, |n, b| n * 10 + u32::from(b - b'0'));
        self.0 = &self.0[digits..];
        Some(value)
    }

    fn clock(&mut self) -> Option<String> {
        let hour = self.number()?;
        self.take(b':')?;
        let minute = self.number()?;
        self.take(b':')?;
        let second = self.number()?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut text = format!("{hour:02}:{minute:02}:{second:02}");
        if let [b'.' | b',', digit, ..] = self.0
            && digit.is_ascii_digit()
        {
            let digits = self.0[1..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count();
            let fraction: String = self.0[1..=digits]
                .iter()
                .take(9)
                .map(|b| char::from(*b))
                .collect();
            let fraction = fraction.trim_end_matches('0');
            if !fraction.is_empty() {
                text.push('.');
                text.push_str(fraction);
            }
            self.0 = &self.0[1 + digits..];
        }
        Some(text)
    }

    fn zone(&mut self) -> Option<String> {
        match self.0 {
            b"Z" => Some("Z".into()),
            [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
                let digits = [h1, h2, m1, m2];
                if !digits.iter().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                let hours = (h1 - b'0') * 10 + (h2 - b'0');
                let minutes = (m1 - b'0') * 10 + (m2 - b'0');
                if hours > 24 || minutes >= 60 {
                    return None;
                }
                if hours == 0 && minutes == 0 {
                    return Some("Z".into());
                }
                Some(format!("{}{hours:02}:{minutes:02}", char::from(*sign)))
            }
            _ => None,
        }
    }
}

fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

/// Whether a plain scalar that we take for something else than a string is so to older readers too.
pub(crate) fn old_readers_differ(text: &str) -> bool {
    match resolve(text) {
        Scalar::Text | Scalar::Time(_) | Scalar::Merge => old_word(text),
        Scalar::Null => !text.is_empty(),
        _ => true,
    }
}

fn old_word(text: &str) -> bool {
    matches!(
        text,
        "y" | "Y"
            | "yes"
            | "Yes"
            | "YES"
            | "on"
            | "On"
            | "ON"
            | "n"
            | "N"
            | "no"
            | "No"
            | "NO"
            | "off"
            | "Off"
            | "OFF"
    )
}

/// The JSON value of a scalar node once it was printed and read again.
pub(crate) fn meaning(node: &Node) -> Outcome<Value> {
    debug_assert_eq!(node.kind, Kind::Scalar);
    let written = node.style != Style::Plain;
    if node.style == Style::Folded && fits_block(&node.value) {
        let text = refolded(&node.value);
        let again = Node {
            value: text.into(),
            style: Style::Double,
            ..node.clone()
        };
        return meaning(&again);
    }
    if node.tag == Tag::Str && !node.tagged {
        return Ok(Value::String(node.value.to_string()));
    }
    if !node.tagged {
        if written && node.tag == Tag::Empty {
            return Ok(Value::String(node.value.to_string()));
        }
        let found = resolve(&node.value);
        if node.tag == Tag::Empty
            || found.tag() == node.tag
            || (node.tag == Tag::Merge && &*node.value == "<<")
        {
            if written || node.value.contains('\n') {
                return Ok(Value::String(node.value.to_string()));
            }
            return to_value(found, &node.value);
        }
    }
    explicit(node)
}

// Whether the real program prints a text as a block.
fn fits_block(text: &str) -> bool {
    !text.ends_with(' ') && !text.contains(" \n") && !text.chars().any(crate::read::is_forbidden)
}

// A folded text, printed and read again. The real printer looks at the start of the text, where it
// should look at the line, to find out whether a break needs another one.
fn refolded(text: &str) -> String {
    let begins_blank = text.trim_start_matches('\n').starts_with([' ', '\t'])
        || text.trim_matches('\n').is_empty();
    let mut printed = String::with_capacity(text.len() + 8);
    let (mut after_break, mut leading) = (true, true);
    for c in text.chars() {
        if c == '\n' {
            if !after_break && !leading && !begins_blank {
                printed.push('\n');
            }
            printed.push('\n');
            after_break = true;
        } else {
            if after_break {
                leading = matches!(c, ' ' | '\t');
            }
            printed.push(c);
            after_break = false;
        }
    }
    folded(&printed, text)
}

// Reads the lines of a folded block; the end is kept as the text says.
fn folded(printed: &str, text: &str) -> String {
    let body = printed.trim_end_matches('\n');
    let mut out = String::new();
    let (mut leading_break, mut breaks, mut leading_blank) = (false, 0, false);
    for line in body.split('\n') {
        if line.is_empty() {
            breaks += 1;
            continue;
        }
        let blank = line.starts_with([' ', '\t']);
        if leading_break && !leading_blank && !blank {
            if breaks == 0 {
                out.push(' ');
            }
        } else if leading_break {
            out.push('\n');
        }
        out.push_str(&"\n".repeat(breaks));
        breaks = 0;
        leading_blank = blank;
        out.push_str(line);
        leading_break = true;
    }
    let end = printed.len() - body.len();
    let kept = text.len() - text.trim_end_matches('\n').len();
    match kept {
        0 => {}
        1 if !body.is_empty() => out.push('\n'),
        _ => out.push_str(&"\n".repeat(end)),
    }
    out
}

// A scalar that is printed with its tag.
fn explicit(node: &Node) -> Outcome<Value> {
    let found = match &node.tag {
        Tag::Str | Tag::Merge | Tag::Map | Tag::Seq | Tag::Other(_) | Tag::Empty => {
            return Ok(Value::String(node.value.to_string()));
        }
        Tag::Binary => {
            let packed: String = node.value.split_ascii_whitespace().collect();
            return base64::engine::general_purpose::STANDARD
                .decode(packed)
                .map(|bytes| Value::String(String::from_utf8_lossy(&bytes).into_owned()))
                .map_err(|_| Fault::text("!!binary value contains invalid base64 data"));
        }
        Tag::Timestamp => resolve(&node.value),
        _ => match timestamp(&node.value) {
            Some(_) => number(&node.value).unwrap_or(Scalar::Text),
            None => resolve(&node.value),
        },
    };
    let fits = found.tag() == node.tag;
    match found {
        Scalar::Int(n) if node.tag == Tag::Float => to_value(Scalar::Float(n as f64), &node.value),
        found if fits => to_value(found, &node.value),
        found => Err(Fault::text(format!(
            "cannot decode {} `{}` as a {}",
            name(&found.tag()),
            node.value,
            name(&node.tag)
        ))),
    }
}

/// The short name of a tag.
pub(crate) fn name(tag: &Tag) -> &str {
    match tag {
        Tag::Empty => "",
        Tag::Null => "!!null",
        Tag::Str => "!!str",
        Tag::Int => "!!int",
        Tag::Float => "!!float",
        Tag::Bool => "!!bool",
        Tag::Timestamp => "!!timestamp",
        Tag::Binary => "!!binary",
        Tag::Merge => "!!merge",
        Tag::Map => "!!map",
        Tag::Seq => "!!seq",
        Tag::Other(name) => name,
    }
}

fn to_value(found: Scalar, text: &str) -> Outcome<Value> {
    Ok(match found {
        Scalar::Null => Value::Null,
        Scalar::Bool(b) => Value::Bool(b),
        Scalar::Int(n) => n.into(),
        Scalar::Uint(n) => n.into(),
        Scalar::Float(f) => match json::number::from_float(f) {
            Some(number) => Value::Number(number),
            None => return Err(Fault::text(format!("json: unsupported value: {text}"))),
        },
        Scalar::Time(text) => Value::String(text),
        Scalar::Text | Scalar::Merge => Value::String(text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let value = meaning(&Node::scalar(text)).expect("it has a meaning");
        assert_eq!(value.to_string(), expected, "{text}");
    }

    #[test]
    fn plain_scalars() {
        check("yes", "\"yes\"");
        check("true", "true");
        check("0644", "420");
        check("0o17", "15");
        check("1_000", "1000");
        check("08", "8");
        check("1e3", "1000");
        check("~", "null");
        check("2020-01-02", "\"2020-01-02T00:00:00Z\"");
        check(
            "2020-01-02T03:04:05.10+02:00",
            "\"2020-01-02T03:04:05.1+02:00\"",
        );
        check("18446744073709551615", "18446744073709551615");
        check("1:30", "\"1:30\"");
    }

    #[test]
    fn a_number_written_over_a_quoted_string_is_a_string() {
        let node = Node {
            tag: Tag::Int,
            style: Style::Double,
            ..Node::scalar("3")
        };
        assert_eq!(meaning(&node).expect("it is a string").to_string(), "\"3\"");
    }

    #[test]
    fn folded_texts_get_breaks_as_the_real_printer_makes_them() {
        assert_eq!(refolded("one two\n"), "one two\n");
        assert_eq!(refolded("one\ntwo\n"), "one\ntwo\n");
        assert_eq!(refolded("a\n  b\nc\n"), "a\n\n  b\nc\n");
        assert_eq!(refolded("a"), "a");
    }
}
