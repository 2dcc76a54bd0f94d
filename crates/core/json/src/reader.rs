//! Pulls tokens out of JSON text; a fault is worded as Go's scanner words it.

use std::borrow::Cow;
use std::fmt;

/// How deep arrays and objects may nest. Go allows 10,000; we stop earlier, with its message, since
/// whoever walks the parsed value does so by recursion, and since `serde_json` reads back no more
/// than 128 levels, lists and events around the object included.
pub const DEPTH_MAX: usize = 120;

/// Why the text is no JSON, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// `invalid character 'x' looking for beginning of value` and the like.
    pub message: String,
    /// How many bytes were read before the fault.
    pub offset: usize,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// What stands next in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A digit or a minus.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`.
    Null,
}

/// A place in JSON text.
///
/// The caller asks for the [`kind`](Reader::kind) of the next value and then reads or skips it.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Starts before the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            depth: 0,
        }
    }

    /// How many bytes were read.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The bytes between two offsets that this reader gave.
    pub fn slice(&self, from: usize, to: usize) -> &'a [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    fn fault(&self, context: &str) -> SyntaxError {
        let message = match self.bytes.get(self.at) {
            None => "unexpected end of JSON input".to_owned(),
            Some(&byte) => format!("invalid character {} {context}", quote_byte(byte)),
        };
        SyntaxError {
            message,
            offset: (self.at + 1).min(self.bytes.len()),
        }
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Says what the next value is, without reading it.
    pub fn kind(&mut self) -> Result<Kind, SyntaxError> {
        self.skip_space();
        match self.bytes.get(self.at) {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            _ => Err(self.fault("looking for beginning of value")),
        }
    }

    /// Reads the bracket that opens an object or array.
    pub fn open(&mut self) -> Result<(), SyntaxError> {
        self.skip_space();
        if self.depth >= DEPTH_MAX {
            return Err(self.fault("exceeded max depth"));
        }
        self.at += 1;
        self.depth += 1;
        Ok(())
    }

    /// Reads up to the next key's value; `None` at the end of the object.
    ///
    /// `first` is true before the first key; the call clears it.
    pub fn next_key(&mut self, first: &mut bool) -> Result<Option<Cow<'a, str>>, SyntaxError> {
        self.skip_space();
        let next = self.bytes.get(self.at);
        if next == Some(&b'}') {
            self.at += 1;
            self.depth = self.depth.saturating_sub(1);
            return Ok(None);
        }
        if !std::mem::take(first) {
            if next != Some(&b',') {
                return Err(self.fault("after object key:value pair"));
            }
            self.at += 1;
            self.skip_space();
        }
        if self.bytes.get(self.at) != Some(&b'"') {
            return Err(self.fault("looking for beginning of object key string"));
        }
        let key = self.string()?;
        self.skip_space();
        if self.bytes.get(self.at) != Some(&b':') {
            return Err(self.fault("after object key"));
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Whether one more array element follows; reads the comma before it or the closing bracket.
    pub fn next_element(&mut self, first: &mut bool) -> Result<bool, SyntaxError> {
        self.skip_space();
        match self.bytes.get(self.at) {
            Some(b']') => {
                self.at += 1;
                self.depth = self.depth.saturating_sub(1);
                Ok(false)
            }
            _ if std::mem::take(first) => Ok(true),
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.fault("after array element")),
        }
    }

    /// Reads `true`, `false` or `null`; gives the first two.
    pub fn literal(&mut self) -> Result<Option<bool>, SyntaxError> {
        self.skip_space();
        let (word, value) = match self.bytes.get(self.at) {
            Some(b't') => ("true", Some(true)),
            Some(b'f') => ("false", Some(false)),
            _ => ("null", None),
        };
        for wanted in word.chars() {
            if self.bytes.get(self.at).copied().map(char::from) != Some(wanted) {
                let context = format!("in literal {word} (expecting '{wanted}')");
                return Err(self.fault(&context));
            }
            self.at += 1;
        }
        Ok(value)
    }

    /// Reads a number and gives its text.
    pub fn number(&mut self) -> Result<&'a str, SyntaxError> {
        self.skip_space();
        let start = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.fault("in numeric literal")),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            if !self.at_digit() {
                return Err(self.fault("after decimal point in numeric literal"));
            }
            self.digits();
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            if !self.at_digit() {
                return Err(self.fault("in exponent of numeric literal"));
            }
            self.digits();
        }
        Ok(std::str::from_utf8(&self.bytes[start..self.at]).expect("numbers are ASCII"))
    }

    fn at_digit(&self) -> bool {
        self.bytes.get(self.at).is_some_and(u8::is_ascii_digit)
    }

    fn digits(&mut self) {
        while self.at_digit() {
            self.at += 1;
        }
    }

    /// Reads a string; bytes that are no UTF-8 become U+FFFD one by one.
    pub fn string(&mut self) -> Result<Cow<'a, str>, SyntaxError> {
        self.skip_space();
        self.at += 1;
        let start = self.at;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    let raw = &self.bytes[start..self.at];
                    self.at += 1;
                    return Ok(text_of(raw));
                }
                Some(b'\\') => return self.string_with_escapes(start),
                Some(0x20..) => self.at += 1,
                _ => return Err(self.fault("in string literal")),
            }
        }
    }

    fn string_with_escapes(&mut self, start: usize) -> Result<Cow<'a, str>, SyntaxError> {
        let mut out = text_of(&self.bytes[start..self.at]).into_owned();
        let mut plain = self.at;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    out.push_str(&text_of(&self.bytes[plain..self.at]));
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => {
                    out.push_str(&text_of(&self.bytes[plain..self.at]));
                    self.at += 1;
                    out.push(self.escape()?);
                    plain = self.at;
                }
                Some(0x20..) => self.at += 1,
                _ => return Err(self.fault("in string literal")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let plain = match self.bytes.get(self.at) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(&c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'u') => {
                self.at += 1;
                let unit = self.hex4()?;
                return self.utf16(unit);
            }
            _ => return Err(self.fault("in string escape code")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn hex4(&mut self) -> Result<u32, SyntaxError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self
                .bytes
                .get(self.at)
                .and_then(|b| char::from(*b).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.fault("in \\u hexadecimal character escape"));
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    // A high surrogate takes the low one that follows; one that stands alone is U+FFFD.
    fn utf16(&mut self, unit: u32) -> Result<char, SyntaxError> {
        if !(0xd800..0xdc00).contains(&unit) {
            return Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let before = self.at;
        if self.bytes.get(self.at) == Some(&b'\\') && self.bytes.get(self.at + 1) == Some(&b'u') {
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    /// Reads over one value of any kind.
    pub fn skip(&mut self) -> Result<(), SyntaxError> {
        match self.kind()? {
            Kind::Object => {
                self.open()?;
                let mut first = true;
                while self.next_key(&mut first)?.is_some() {
                    self.skip()?;
                }
            }
            Kind::Array => {
                self.open()?;
                let mut first = true;
                while self.next_element(&mut first)? {
                    self.skip()?;
                }
            }
            Kind::String => drop(self.string()?),
            Kind::Number => drop(self.number()?),
            Kind::Bool | Kind::Null => drop(self.literal()?),
        }
        Ok(())
    }

    /// Checks that nothing but space follows.
    pub fn end(&mut self) -> Result<(), SyntaxError> {
        self.skip_space();
        if self.at < self.bytes.len() {
            return Err(self.fault("after top-level value"));
        }
        Ok(())
    }
}

fn text_of(raw: &[u8]) -> Cow<'_, str> {
    let mut rest = raw;
    let mut out = String::new();
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) if out.is_empty() => return Cow::Borrowed(text),
            Ok(text) => {
                out.push_str(text);
                return Cow::Owned(out);
            }
            Err(fault) => {
                let (good, bad) = rest.split_at(fault.valid_up_to());
                out.push_str(std::str::from_utf8(good).expect("checked just above"));
                let count = fault.error_len().unwrap_or(bad.len());
                for _ in 0..count {
                    out.push(char::REPLACEMENT_CHARACTER);
                }
                rest = &bad[count..];
            }
        }
    }
}

fn quote_byte(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        // Go prints the byte as the code point of that number, and escapes what is not printable.
        0x80..=0xa0 | 0xad => format!("'\\u{:04x}'", u32::from(byte)),
        _ => {
            let quoted = model::field::go_quote(&char::from(byte).to_string());
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        let mut reader = Reader::new(text.as_bytes());
        match reader.skip().and_then(|()| reader.end()) {
            Ok(()) => "fine".into(),
            Err(fault) => fault.message,
        }
    }

    #[test]
    fn faults_are_worded_as_go_words_them() {
        for (text, message) in [
            ("{\"a\": 1}", "fine"),
            (" [1, -0.5e+3, true, null, \"\\u00e9\"] ", "fine"),
            ("", "unexpected end of JSON input"),
            ("{\"a\": \"v\", ", "unexpected end of JSON input"),
            ("{\"a\"", "unexpected end of JSON input"),
            ("nul", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            (
                "{a}",
                "invalid character 'a' looking for beginning of object key string",
            ),
            (
                "{\"a\":1,}",
                "invalid character '}' looking for beginning of object key string",
            ),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            (
                "{\"a\":1 \"b\"}",
                "invalid character '\"' after object key:value pair",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
            ("{} {}", "invalid character '{' after top-level value"),
            (
                "trux",
                "invalid character 'x' in literal true (expecting 'e')",
            ),
            ("[-]", "invalid character ']' in numeric literal"),
            (
                "[1.]",
                "invalid character ']' after decimal point in numeric literal",
            ),
            (
                "[1e]",
                "invalid character ']' in exponent of numeric literal",
            ),
            ("[01]", "invalid character '1' after array element"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            (
                "\"\\u12g4\"",
                "invalid character 'g' in \\u hexadecimal character escape",
            ),
            (
                "'a'",
                "invalid character '\\'' looking for beginning of value",
            ),
        ] {
            assert_eq!(fault(text), message, "{text}");
        }
    }

    #[test]
    fn depth_has_an_end() {
        assert_eq!(
            fault(&"[".repeat(100_000)),
            "invalid character '[' exceeded max depth"
        );
    }

    #[test]
    fn strings_are_repaired() {
        let mut reader = Reader::new(b"\"a\xff\xe2\x82b\\ud83d\\ude00\\ud800x\"");
        assert_eq!(
            reader.string().unwrap(),
            "a\u{fffd}\u{fffd}\u{fffd}b\u{1f600}\u{fffd}x"
        );
    }
}
