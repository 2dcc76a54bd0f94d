//! Splits the text of an expression into tokens.

use crate::fault::Fault;

/// A token and where it starts, counted in characters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) at: usize,
    pub(crate) kind: TokenKind,
}

/// The sorts of tokens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Name(String),
    /// Digits of a whole number, in base 10 or 16, still without sign.
    Int(String, u32),
    Uint(u64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 27] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", "(", ")",
    "[", "]", "{", "}", ",", ".", "true", "false", "null",
];

impl TokenKind {
    /// The token as syntax errors quote it.
    pub(crate) fn show(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Int(digits, 16) => format!("0x{digits}"),
            Self::Int(digits, _) => digits.clone(),
            Self::Uint(n) => format!("{n}u"),
            Self::Float(n) => n.to_string(),
            Self::Text(text) => format!("'{text}'"),
            Self::Bytes(_) => "b''".into(),
            Self::Sign(sign) => (*sign).into(),
            Self::End => "<EOF>".into(),
        }
    }
}

/// Splits a text into tokens, the last of which is [`TokenKind::End`].
pub(crate) fn tokens(source: &str) -> (Vec<Token>, Vec<Fault>) {
    let mut lexer = Lexer {
        chars: source.chars().collect(),
        at: 0,
        tokens: Vec::new(),
        faults: Vec::new(),
    };
    while lexer.at < lexer.chars.len() {
        lexer.token();
    }
    let end = lexer.chars.len();
    lexer.push(end, TokenKind::End);
    (lexer.tokens, lexer.faults)
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
    faults: Vec<Fault>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn push(&mut self, at: usize, kind: TokenKind) {
        self.tokens.push(Token { at, kind });
    }

    fn token(&mut self) {
        let c = self.peek(0);
        if c.is_ascii_whitespace() {
            self.at += 1;
        } else if c == '/' && self.peek(1) == '/' {
            while self.at < self.chars.len() && self.peek(0) != '\n' {
                self.at += 1;
            }
        } else if let Some(prefix) = self.text_prefix() {
            self.text(prefix);
        } else if c.is_ascii_digit() || c == '.' && self.peek(1).is_ascii_digit() {
            self.number();
        } else if c.is_ascii_alphabetic() || c == '_' {
            self.name();
        } else {
            self.sign();
        }
    }

    // The length of a string's prefix (`r`, `b`, `br`) if a string starts here.
    fn text_prefix(&self) -> Option<usize> {
        (0..3).find(|length| {
            let prefix = (0..*length).map(|i| self.peek(i).to_ascii_lowercase());
            let prefix: String = prefix.collect();
            matches!(prefix.as_str(), "" | "r" | "b" | "rb" | "br")
                && matches!(self.peek(*length), '\'' | '"')
        })
    }

    fn name(&mut self) {
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == '_' {
            self.at += 1;
        }
        let name: String = self.chars[start..self.at].iter().collect();
        let keyword = SIGNS.iter().find(|sign| **sign == name);
        let kind = match (keyword, name.as_str()) {
            (Some(sign), _) => TokenKind::Sign(sign),
            (None, "in") => TokenKind::Sign("in"),
            (None, _) => TokenKind::Name(name),
        };
        self.push(start, kind);
    }

    fn sign(&mut self) {
        let start = self.at;
        let sign = SIGNS
            .iter()
            .find(|sign| sign.chars().enumerate().all(|(i, c)| self.peek(i) == c));
        if let Some(sign) = sign {
            self.at += sign.len();
            self.push(start, TokenKind::Sign(sign));
        } else {
            let mut shown = self.peek(0).to_string();
            self.at += 1;
            if self.peek(0) == ' ' {
                shown.push(' ');
            }
            self.fault(start, &shown);
        }
    }

    fn fault(&mut self, at: usize, shown: &str) {
        let message = format!("Syntax error: token recognition error at: '{shown}'");
        self.faults.push(Fault::new(at, message));
    }

    fn number(&mut self) {
        let start = self.at;
        if self.peek(0) == '0'
            && matches!(self.peek(1), 'x' | 'X')
            && self.peek(2).is_ascii_hexdigit()
        {
            self.at += 2;
            let digits = self.digits(|c| c.is_ascii_hexdigit());
            self.whole(start, digits, 16);
            return;
        }
        let mut text = self.digits(|c| c.is_ascii_digit());
        let mut float = false;
        if self.peek(0) == '.' && self.peek(1).is_ascii_digit() {
            float = true;
            self.at += 1;
            text.push('.');
            text.push_str(&self.digits(|c| c.is_ascii_digit()));
        }
        let signed = usize::from(matches!(self.peek(1), '+' | '-'));
        if matches!(self.peek(0), 'e' | 'E') && self.peek(1 + signed).is_ascii_digit() {
            float = true;
            for _ in 0..=signed {
                text.push(self.peek(0));
                self.at += 1;
            }
            text.push_str(&self.digits(|c| c.is_ascii_digit()));
        }
        if float {
            let number = if text.starts_with('.') {
                format!("0{text}").parse()
            } else {
                text.parse()
            };
            self.push(start, TokenKind::Float(number.unwrap_or(f64::NAN)));
        } else {
            self.whole(start, text, 10);
        }
    }

    fn digits(&mut self, wanted: fn(char) -> bool) -> String {
        let start = self.at;
        while wanted(self.peek(0)) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn whole(&mut self, start: usize, digits: String, base: u32) {
        if matches!(self.peek(0), 'u' | 'U') {
            self.at += 1;
            match u64::from_str_radix(&digits, base) {
                Ok(n) => self.push(start, TokenKind::Uint(n)),
                Err(_) => self.faults.push(Fault::new(start, "invalid uint literal")),
            }
        } else {
            self.push(start, TokenKind::Int(digits, base));
        }
    }

    fn text(&mut self, prefix: usize) {
        let start = self.at;
        let prefix_text: String = self.chars[start..start + prefix].iter().collect();
        let raw = prefix_text.contains(['r', 'R']);
        let bytes = prefix_text.contains(['b', 'B']);
        self.at += prefix;
        let quote = self.peek(0);
        let triple = self.peek(1) == quote && self.peek(2) == quote;
        self.at += if triple { 3 } else { 1 };
        let mut out = Literal::default();
        loop {
            let c = self.peek(0);
            let ended = self.at >= self.chars.len() || !triple && c == '\n';
            if ended {
                let shown: String = self.chars[start..self.at].iter().collect();
                self.fault(start, &shown);
                return;
            }
            if c == quote && (!triple || self.peek(1) == quote && self.peek(2) == quote) {
                self.at += if triple { 3 } else { 1 };
                break;
            }
            self.at += 1;
            if c == '\\' && !raw {
                if self.escape(bytes, &mut out).is_none() {
                    let shown: String = self.chars[start..=self.at.min(self.chars.len() - 1)]
                        .iter()
                        .collect();
                    self.fault(start, &shown);
                    self.at += 1;
                    return;
                }
            } else {
                out.push(c);
            }
        }
        let kind = if bytes {
            TokenKind::Bytes(out.bytes)
        } else {
            TokenKind::Text(String::from_utf8_lossy(&out.bytes).into_owned())
        };
        self.push(start, kind);
    }

    fn escape(&mut self, bytes: bool, out: &mut Literal) -> Option<()> {
        let c = self.peek(0);
        let plain = match c {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' | '?' | '"' | '\'' | '`' => c,
            _ => return self.numeric_escape(c, bytes, out),
        };
        self.at += 1;
        out.push(plain);
        Some(())
    }

    fn numeric_escape(&mut self, c: char, bytes: bool, out: &mut Literal) -> Option<()> {
        let (skip, length, base) = match c {
            'x' | 'X' => (1, 2, 16),
            'u' if !bytes => (1, 4, 16),
            'U' if !bytes => (1, 8, 16),
            '0'..='3' => (0, 3, 8),
            _ => return None,
        };
        let digits: String = (0..length).map(|i| self.peek(skip + i)).collect();
        let code = u32::from_str_radix(&digits, base).ok()?;
        if bytes {
            out.bytes.push(u8::try_from(code).ok()?);
        } else {
            out.push(char::from_u32(code)?);
        }
        self.at += skip + length;
        Some(())
    }
}

#[derive(Default)]
struct Literal {
    bytes: Vec<u8>,
}

impl Literal {
    fn push(&mut self, c: char) {
        self.bytes
            .extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}
