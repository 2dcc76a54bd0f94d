//! Template text to tokens: text, delimiters, words, numbers and strings.
//!
//! The whole text is cut at once; what is wrong with it becomes one [`Kind::Error`] token at the
//! place where Go's lexer would stop.

use crate::quote::quote;
use crate::unicode::{is_alphanumeric, is_print};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Kind {
    fn is_keyword(self) -> bool {
        use Kind::{
            Block, Break, Continue, Define, Dot, Else, End, If, Nil, Range, Template, With,
        };
        matches!(
            self,
            Block
                | Break
                | Continue
                | Dot
                | Define
                | Else
                | End
                | If
                | Nil
                | Range
                | Template
                | With
        )
    }
}

/// One token, where it starts, and on which line.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) pos: usize,
    pub(crate) end: usize,
    pub(crate) line: usize,
    // What is wrong; only of errors.
    pub(crate) fault: String,
}

impl Token {
    pub(crate) fn none() -> Self {
        Self {
            kind: Kind::Eof,
            pos: 0,
            end: 0,
            line: 0,
            fault: String::new(),
        }
    }

    pub(crate) fn text<'a>(&self, source: &'a str) -> &'a str {
        &source[self.pos..self.end]
    }

    /// As Go prints it in messages.
    pub(crate) fn show(&self, source: &str) -> String {
        let text = self.text(source);
        match self.kind {
            Kind::Eof => "EOF".to_owned(),
            Kind::Error => self.fault.clone(),
            kind if kind.is_keyword() => format!("<{text}>"),
            _ if text.len() > 10 => {
                let cut: String = text.chars().take(10).collect();
                format!("{}...", quote(cut.as_bytes()))
            }
            _ => quote(text.as_bytes()),
        }
    }
}

const SPACE: &str = " \t\r\n";

/// Cuts a text into tokens; the last one is the end or an error.
pub(crate) fn lex(input: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        input,
        pos: 0,
        start: 0,
        line: 1,
        start_line: 1,
        parens: 0,
        inside: false,
        tokens: Vec::with_capacity(input.len() / 8 + 4),
    };
    while lexer.step().is_some() {}
    lexer.tokens
}

struct Lexer<'a> {
    input: &'a str,
    pos: usize,
    start: usize,
    line: usize,
    start_line: usize,
    parens: usize,
    inside: bool,
    tokens: Vec<Token>,
}

// None ends the walk: the end of the text, or a fault.
type Step = Option<()>;

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.input[self.pos..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        self.line += usize::from(c == '\n');
        Some(c)
    }

    // Skips ahead and counts the lines on the way.
    fn skip(&mut self, length: usize) {
        self.line += self.rest()[..length]
            .bytes()
            .filter(|b| *b == b'\n')
            .count();
        self.pos += length;
    }

    fn ignore(&mut self) {
        self.start = self.pos;
        self.start_line = self.line;
    }

    fn emit(&mut self, kind: Kind) -> Step {
        self.tokens.push(Token {
            kind,
            pos: self.start,
            end: self.pos,
            line: self.start_line,
            fault: String::new(),
        });
        self.ignore();
        (kind != Kind::Eof).then_some(())
    }

    fn fail(&mut self, fault: String) -> Step {
        self.tokens.push(Token {
            kind: Kind::Error,
            pos: self.start,
            end: self.start,
            line: self.start_line,
            fault,
        });
        None
    }

    fn accept(&mut self, valid: &str) -> bool {
        let found = self.peek().is_some_and(|c| valid.contains(c));
        if found {
            self.next();
        }
        found
    }

    fn accept_run(&mut self, valid: &str) {
        while self.accept(valid) {}
    }

    fn step(&mut self) -> Step {
        if self.inside {
            self.action()
        } else {
            self.text()
        }
    }

    fn text(&mut self) -> Step {
        let Some(length) = self.rest().find("{{") else {
            self.skip(self.rest().len());
            if self.pos > self.start {
                self.emit(Kind::Text)?;
            }
            return self.emit(Kind::Eof);
        };
        let text = &self.rest()[..length];
        let trims = has_left_trim(&self.rest()[length + 2..]);
        let kept = if trims {
            text.trim_end_matches(is_space).len()
        } else {
            length
        };
        self.skip(kept);
        if kept > 0 {
            self.emit(Kind::Text)?;
        }
        self.skip(length - kept);
        self.ignore();
        self.left_delim()
    }

    fn left_delim(&mut self) -> Step {
        self.pos += 2;
        let marker = if has_left_trim(self.rest()) { 2 } else { 0 };
        if self.rest()[marker..].starts_with("/*") {
            self.skip(marker);
            self.ignore();
            return self.comment();
        }
        self.emit(Kind::LeftDelim)?;
        self.inside = true;
        self.skip(marker);
        self.ignore();
        self.parens = 0;
        Some(())
    }

    fn comment(&mut self) -> Step {
        let Some(length) = self.rest()[2..].find("*/") else {
            return self.fail("unclosed comment".to_owned());
        };
        let after = &self.rest()[length + 4..];
        let Some(trims) = right_delim(after) else {
            return self.fail("comment ends before closing delimiter".to_owned());
        };
        self.skip(length + 4 + if trims { 4 } else { 2 });
        if trims {
            self.skip_space();
        }
        self.ignore();
        Some(())
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.skip(rest.len() - rest.trim_start_matches(is_space).len());
    }

    fn close(&mut self, trims: bool) -> Step {
        if trims {
            self.skip(2);
            self.ignore();
        }
        self.pos += 2;
        self.emit(Kind::RightDelim)?;
        if trims {
            self.skip_space();
            self.ignore();
        }
        self.inside = false;
        Some(())
    }

    fn action(&mut self) -> Step {
        if let Some(trims) = right_delim(self.rest()) {
            if self.parens > 0 {
                return self.fail("unclosed left paren".to_owned());
            }
            return self.close(trims);
        }
        let Some(c) = self.peek() else {
            return self.fail("unclosed action".to_owned());
        };
        match c {
            _ if is_space(c) => self.space(),
            '=' => self.single(Kind::Assign),
            ':' => {
                self.next();
                if self.next() != Some('=') {
                    return self.fail("expected :=".to_owned());
                }
                self.emit(Kind::Declare)
            }
            '|' => self.single(Kind::Pipe),
            '"' => self.quoted('"', Kind::String, "unterminated quoted string"),
            '`' => self.raw(),
            '$' => {
                self.next();
                self.word(Kind::Variable, Kind::Variable)
            }
            '\'' => self.quoted('\'', Kind::CharConstant, "unterminated character constant"),
            '.' if !self.rest()[1..].starts_with(|c: char| c.is_ascii_digit())
                && self.rest().len() > 1 =>
            {
                self.next();
                self.word(Kind::Field, Kind::Dot)
            }
            '.' | '+' | '-' | '0'..='9' => self.number(),
            _ if is_alphanumeric(c) => self.identifier(),
            '(' => {
                self.parens += 1;
                self.single(Kind::LeftParen)
            }
            ')' => {
                if self.parens == 0 {
                    return self.fail("unexpected right paren".to_owned());
                }
                self.parens -= 1;
                self.single(Kind::RightParen)
            }
            _ if c.is_ascii() && is_print(c) => self.single(Kind::Char),
            _ => self.fail(format!(
                "unrecognized character in action: {}",
                show_rune(Some(c))
            )),
        }
    }

    fn single(&mut self, kind: Kind) -> Step {
        self.next();
        self.emit(kind)
    }

    // White space, up to but without the one that belongs to ` -}}`.
    fn space(&mut self) -> Step {
        let rest = self.rest();
        let mut length = rest.len() - rest.trim_start_matches(is_space).len();
        if right_delim(&rest[length - 1..]) == Some(true) {
            length -= 1;
        }
        if length == 0 {
            return self.close(true);
        }
        self.skip(length);
        self.emit(Kind::Space)
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(c) => is_space(c) || self.rest().starts_with("}}"),
        }
    }

    fn bad_character(&mut self) -> Step {
        let c = self.peek();
        self.fail(format!("bad character {}", show_rune(c)))
    }

    fn letters(&mut self) {
        while self.peek().is_some_and(is_alphanumeric) {
            self.next();
        }
    }

    fn word(&mut self, kind: Kind, alone: Kind) -> Step {
        if self.at_terminator() {
            return self.emit(alone);
        }
        self.letters();
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.emit(kind)
    }

    fn identifier(&mut self) -> Step {
        self.letters();
        if !self.at_terminator() {
            return self.bad_character();
        }
        let kind = match &self.input[self.start..self.pos] {
            "block" => Kind::Block,
            "break" => Kind::Break,
            "continue" => Kind::Continue,
            "define" => Kind::Define,
            "else" => Kind::Else,
            "end" => Kind::End,
            "if" => Kind::If,
            "range" => Kind::Range,
            "nil" => Kind::Nil,
            "template" => Kind::Template,
            "with" => Kind::With,
            "true" | "false" => Kind::Bool,
            _ => Kind::Identifier,
        };
        self.emit(kind)
    }

    fn quoted(&mut self, mark: char, kind: Kind, unterminated: &str) -> Step {
        self.next();
        loop {
            match self.next() {
                Some('\\') => {
                    if matches!(self.next(), None | Some('\n')) {
                        return self.fail(unterminated.to_owned());
                    }
                }
                None | Some('\n') => return self.fail(unterminated.to_owned()),
                Some(c) if c == mark => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn raw(&mut self) -> Step {
        self.next();
        loop {
            match self.next() {
                None => return self.fail("unterminated raw quoted string".to_owned()),
                Some('`') => return self.emit(Kind::RawString),
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> Step {
        let sound = self.scan_number();
        if !sound {
            return self.bad_number();
        }
        if matches!(self.peek(), Some('+' | '-')) {
            if !self.scan_number() || !self.input[..self.pos].ends_with('i') {
                return self.bad_number();
            }
            return self.emit(Kind::Complex);
        }
        self.emit(Kind::Number)
    }

    fn bad_number(&mut self) -> Step {
        let text = &self.input[self.start..self.pos];
        self.fail(format!("bad number syntax: {}", quote(text.as_bytes())))
    }

    fn scan_number(&mut self) -> bool {
        self.accept("+-");
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        let exponent = match digits.len() {
            11 => "eE",
            23 => "pP",
            _ => "",
        };
        if self.accept(exponent) {
            self.accept("+-");
            self.accept_run("0123456789_");
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.next();
            return false;
        }
        true
    }
}

fn is_space(c: char) -> bool {
    SPACE.contains(c)
}

fn has_left_trim(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('-') && chars.next().is_some_and(is_space)
}

// Whether the text starts with `}}`, or (true) with ` -}}`.
fn right_delim(rest: &str) -> Option<bool> {
    let mut chars = rest.chars();
    if chars.next().is_some_and(is_space) && chars.as_str().starts_with("-}}") {
        return Some(true);
    }
    rest.starts_with("}}").then_some(false)
}

// As Go's `%#U`.
fn show_rune(c: Option<char>) -> String {
    match c {
        // Go's lexer says end of text with -1.
        None => "U+FFFFFFFFFFFFFFFF".to_owned(),
        Some(c) if is_print(c) => format!("U+{:04X} '{c}'", c as u32),
        Some(c) => format!("U+{:04X}", c as u32),
    }
}
