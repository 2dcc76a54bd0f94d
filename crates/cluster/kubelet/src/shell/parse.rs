//! Text in, commands out.

use super::syntax::{Command, Part, Redirect, RedirectKind, Simple, Word};
use super::word;
use std::sync::Arc;

/// How deep commands may be nested.
const DEPTH_MAX: usize = 60;
/// How long a script may be.
const BYTES_MAX: usize = 256 << 10;

/// Reads a script; the error says what the shell would complain about.
pub(crate) fn parse(script: &str) -> Result<Command, String> {
    if script.len() > BYTES_MAX {
        return Err("script too long".into());
    }
    let mut parser = Parser::new(script, 0);
    let command = parser.whole_list()?;
    match parser.peek() {
        None => Ok(command),
        Some(c) => Err(parser.unexpected(&c.to_string())),
    }
}

/// A place in a script.
pub(crate) struct Parser {
    pub(crate) text: Vec<char>,
    pub(crate) at: usize,
    pub(crate) depth: usize,
    /// Here-documents whose bodies come after this line.
    waiting: Vec<Waiting>,
    bodies: Vec<Word>,
}

struct Waiting {
    end: String,
    quoted: bool,
    strip: bool,
}

const WORDS: [&str; 15] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "in", "{", "}",
];

impl Parser {
    pub(crate) fn new(text: &str, depth: usize) -> Self {
        Self {
            text: text.chars().collect(),
            at: 0,
            depth,
            waiting: Vec::new(),
            bodies: Vec::new(),
        }
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    pub(crate) fn starts(&self, what: &str) -> bool {
        what.chars()
            .enumerate()
            .all(|(i, c)| self.peek_at(i) == Some(c))
    }

    fn unexpected(&self, what: &str) -> String {
        let line = self.text[..self.at.min(self.text.len())]
            .iter()
            .filter(|c| **c == '\n')
            .count();
        format!("{}: Syntax error: \"{what}\" unexpected", line + 1)
    }

    pub(crate) fn unfinished(&self, what: &str) -> String {
        let line = self.text.iter().filter(|c| **c == '\n').count();
        format!("{}: Syntax error: {what}", line + 1)
    }

    // Spaces, comments and escaped line breaks, but no line break.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => self.at += 2,
                Some('#')
                    if self.at == 0
                        || self.text[self.at - 1].is_whitespace()
                        || ";&|()".contains(self.text[self.at - 1]) =>
                {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn newline(&mut self) -> Result<(), String> {
        self.at += 1;
        for waiting in std::mem::take(&mut self.waiting) {
            let body = self.here_body(&waiting)?;
            self.bodies.push(body);
        }
        Ok(())
    }

    fn here_body(&mut self, waiting: &Waiting) -> Result<Word, String> {
        let mut body = String::new();
        while self.at < self.text.len() {
            let end = self.text[self.at..]
                .iter()
                .position(|c| *c == '\n')
                .map_or(self.text.len(), |n| self.at + n);
            let mut line: String = self.text[self.at..end].iter().collect();
            self.at = (end + 1).min(self.text.len());
            if waiting.strip {
                line = line.trim_start_matches('\t').to_owned();
            }
            if line == waiting.end {
                break;
            }
            body.push_str(&line);
            body.push('\n');
        }
        if waiting.quoted {
            return Ok(Word::literal(&body));
        }
        word::here_text(&body, self.depth + 1)
    }

    fn space(&mut self) -> Result<(), String> {
        loop {
            self.blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        if self.depth >= DEPTH_MAX {
            return Err("nested too deeply".into());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    // Commands up to one of these words, a closing sign or the end.
    fn list(&mut self, ends: &[&str]) -> Result<Command, String> {
        let mut commands = Vec::new();
        loop {
            self.space()?;
            match self.peek() {
                None | Some(')') => break,
                Some(';') if self.peek_at(1) == Some(';') => break,
                _ => {}
            }
            if self.reserved().is_some_and(|word| ends.contains(&word)) {
                break;
            }
            let command = self.and_or()?;
            self.blanks();
            match self.peek() {
                Some('&') => {
                    self.at += 1;
                    commands.push(Command::Background(Arc::new(command)));
                }
                Some(';') if self.peek_at(1) != Some(';') => {
                    self.at += 1;
                    commands.push(command);
                }
                Some('\n') => {
                    commands.push(command);
                    self.newline()?;
                }
                _ => {
                    commands.push(command);
                    self.blanks();
                    match self.peek() {
                        None | Some(')') => break,
                        Some(';') => break,
                        Some(c) => return Err(self.unexpected(&c.to_string())),
                    }
                }
            }
        }
        Ok(Command::List(commands))
    }

    /// Commands up to a closing sign or the end, with the here-documents among them.
    pub(crate) fn whole_list(&mut self) -> Result<Command, String> {
        self.deeper(|parser| {
            let outer = (
                std::mem::take(&mut parser.waiting),
                std::mem::take(&mut parser.bodies),
            );
            let mut list = parser.list(&[])?;
            let mut bodies = std::mem::take(&mut parser.bodies).into_iter();
            fill(&mut list, &mut bodies);
            (parser.waiting, parser.bodies) = outer;
            Ok(list)
        })
    }

    fn and_or(&mut self) -> Result<Command, String> {
        let mut left = self.pipeline()?;
        loop {
            self.blanks();
            let and = self.starts("&&");
            if !and && !self.starts("||") {
                return Ok(left);
            }
            self.at += 2;
            self.space()?;
            let right = self.pipeline()?;
            left = if and {
                Command::And(Box::new(left), Box::new(right))
            } else {
                Command::Or(Box::new(left), Box::new(right))
            };
        }
    }

    fn pipeline(&mut self) -> Result<Command, String> {
        self.blanks();
        let mut negated = false;
        while self.peek() == Some('!') && self.peek_at(1).is_some_and(char::is_whitespace) {
            self.at += 1;
            negated = !negated;
            self.blanks();
        }
        let mut parts = vec![self.command()?];
        loop {
            self.blanks();
            if self.peek() != Some('|') || self.peek_at(1) == Some('|') {
                break;
            }
            self.at += 1;
            if self.peek() == Some('&') {
                self.at += 1;
            }
            self.space()?;
            parts.push(self.command()?);
        }
        if parts.len() == 1 && !negated {
            return Ok(parts.remove(0));
        }
        Ok(Command::Pipeline { negated, parts })
    }

    /// The reserved word that stands here, if one does.
    fn reserved(&self) -> Option<&'static str> {
        let rest = &self.text[self.at.min(self.text.len())..];
        let end = rest
            .iter()
            .position(|c| c.is_whitespace() || ";&|()<>".contains(*c));
        let word: String = rest[..end.unwrap_or(rest.len())].iter().collect();
        WORDS.into_iter().find(|w| *w == word)
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        self.space()?;
        if self.reserved() == Some(word) {
            self.at += word.chars().count();
            return Ok(());
        }
        match self.peek() {
            None => Err(self.unfinished(&format!("end of file unexpected (expecting \"{word}\")"))),
            Some(c) => Err(self.unexpected(&c.to_string())),
        }
    }

    fn command(&mut self) -> Result<Command, String> {
        self.deeper(|parser| {
            let command = parser.bare_command()?;
            let mut redirects = Vec::new();
            if !matches!(command, Command::Simple(_)) {
                loop {
                    parser.blanks();
                    match parser.redirect()? {
                        Some(redirect) => redirects.push(redirect),
                        None => break,
                    }
                }
            }
            Ok(if redirects.is_empty() {
                command
            } else {
                Command::Redirected(Box::new(command), redirects)
            })
        })
    }

    fn bare_command(&mut self) -> Result<Command, String> {
        self.blanks();
        if self.starts("((") {
            self.at += 2;
            let expression = self.until_close()?;
            return Ok(Command::Arithmetic(expression));
        }
        if self.peek() == Some('(') {
            self.at += 1;
            let body = self.list(&[])?;
            self.close(')')?;
            return Ok(Command::Subshell(Box::new(body)));
        }
        match self.reserved() {
            Some("{") => {
                self.at += 1;
                let body = self.list(&["}"])?;
                self.expect("}")?;
                Ok(body)
            }
            Some("if") => self.conditional(),
            Some("for") => self.iteration(),
            Some(word @ ("while" | "until")) => {
                self.at += word.len();
                let test = self.list(&["do"])?;
                let body = self.body()?;
                Ok(Command::While {
                    until: word == "until",
                    test: Box::new(test),
                    body: Box::new(body),
                })
            }
            Some("case") => self.choice(),
            Some(word) if !matches!(word, "in") => Err(self.unexpected(word)),
            _ => self.simple(),
        }
    }

    fn close(&mut self, sign: char) -> Result<(), String> {
        self.space()?;
        if self.peek() == Some(sign) {
            self.at += 1;
            return Ok(());
        }
        Err(match self.peek() {
            None => self.unfinished(&format!("end of file unexpected (expecting \"{sign}\")")),
            Some(c) => self.unexpected(&c.to_string()),
        })
    }

    /// Text up to the `))` that closes an arithmetic.
    pub(crate) fn until_close(&mut self) -> Result<String, String> {
        let mut depth = 0_usize;
        let mut out = String::new();
        while let Some(c) = self.peek() {
            if c == ')' && depth == 0 && self.peek_at(1) == Some(')') {
                self.at += 2;
                return Ok(out);
            }
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            out.push(c);
            self.at += 1;
        }
        Err(self.unfinished("missing '))'"))
    }

    fn conditional(&mut self) -> Result<Command, String> {
        let mut arms = Vec::new();
        self.at += 2;
        loop {
            let test = self.list(&["then"])?;
            self.expect("then")?;
            let body = self.list(&["elif", "else", "fi"])?;
            arms.push((test, body));
            self.space()?;
            match self.reserved() {
                Some("elif") => self.at += 4,
                Some("else") => {
                    self.at += 4;
                    let otherwise = self.list(&["fi"])?;
                    self.expect("fi")?;
                    return Ok(Command::If {
                        arms,
                        otherwise: Some(Box::new(otherwise)),
                    });
                }
                _ => {
                    self.expect("fi")?;
                    return Ok(Command::If {
                        arms,
                        otherwise: None,
                    });
                }
            }
        }
    }

    fn body(&mut self) -> Result<Command, String> {
        self.expect("do")?;
        let body = self.list(&["done"])?;
        self.expect("done")?;
        Ok(body)
    }

    fn iteration(&mut self) -> Result<Command, String> {
        self.at += 3;
        self.blanks();
        if self.starts("((") {
            self.at += 2;
            let inside = self.until_close()?;
            let mut parts = inside.splitn(3, ';').map(str::to_owned);
            let parts = [(); 3].map(|()| parts.next().unwrap_or_default());
            self.semicolon()?;
            let body = Box::new(self.body()?);
            return Ok(Command::Count { parts, body });
        }
        let name = self.name();
        if name.is_empty() {
            return Err(self.unfinished("Bad for loop variable"));
        }
        self.space()?;
        let mut words = None;
        if self.reserved() == Some("in") {
            self.at += 2;
            let mut list = Vec::new();
            loop {
                self.blanks();
                match self.word()? {
                    Some(word) => list.push(word),
                    None => break,
                }
            }
            words = Some(list);
        }
        self.semicolon()?;
        let body = Box::new(self.body()?);
        Ok(Command::For { name, words, body })
    }

    fn semicolon(&mut self) -> Result<(), String> {
        self.blanks();
        if self.peek() == Some(';') {
            self.at += 1;
        }
        self.space()
    }

    pub(crate) fn name(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|c| {
            c == '_' || c.is_ascii_alphabetic() || (c.is_ascii_digit() && self.at > start)
        }) {
            self.at += 1;
        }
        self.text[start..self.at].iter().collect()
    }

    fn choice(&mut self) -> Result<Command, String> {
        self.at += 4;
        self.blanks();
        let word = self.word()?.unwrap_or_default();
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.space()?;
            if self.reserved() == Some("esac") {
                self.at += 4;
                return Ok(Command::Case { word, arms });
            }
            if self.peek() == Some('(') {
                self.at += 1;
            }
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                match self.word()? {
                    Some(pattern) => patterns.push(pattern),
                    None => {
                        return Err(self.unfinished("end of file unexpected (expecting \";;\")"));
                    }
                }
                self.blanks();
                if self.peek() != Some('|') {
                    break;
                }
                self.at += 1;
            }
            self.close(')')?;
            let body = self.list(&["esac"])?;
            arms.push((patterns, body));
            self.space()?;
            if self.starts(";;") {
                self.at += 2;
            }
        }
    }

    fn simple(&mut self) -> Result<Command, String> {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            let Some(word) = self.word()? else {
                break;
            };
            simple.words.push(word);
            if simple.words.len() == 1 && simple.words[0].plain() == Some("[[") {
                self.condition(&mut simple.words)?;
                continue;
            }
            if let Some(name) = self.function_name(&simple) {
                self.space()?;
                let body = self.command()?;
                return Ok(Command::Function(name, Arc::new(body)));
            }
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty() {
            return Err(match self.peek() {
                None => self.unfinished("end of file unexpected"),
                Some(c) => self.unexpected(&c.to_string()),
            });
        }
        Ok(Command::Simple(simple))
    }

    // The words of `[[ … ]]`, where signs are words and values are not split.
    fn condition(&mut self, words: &mut Vec<Word>) -> Result<(), String> {
        loop {
            self.space()?;
            let sign = ["&&", "||", "(", ")", "<", ">"]
                .into_iter()
                .find(|sign| self.starts(sign));
            if let Some(sign) = sign {
                self.at += sign.len();
                words.push(Word::literal(sign));
                continue;
            }
            let Some(mut word) = self.word()? else {
                return Err(self.unfinished("end of file unexpected (expecting \"]]\")"));
            };
            for part in &mut word.parts {
                match part {
                    Part::Parameter { quoted, .. }
                    | Part::Substitution { quoted, .. }
                    | Part::Sum { quoted, .. } => *quoted = true,
                    Part::Text { .. } => {}
                }
            }
            let last = word.plain() == Some("]]");
            words.push(word);
            if last {
                return Ok(());
            }
        }
    }

    // `name()` or `function name`.
    fn function_name(&mut self, simple: &Simple) -> Option<String> {
        let words: Vec<Option<&str>> = simple.words.iter().map(Word::plain).collect();
        if !simple.assignments.is_empty() {
            return None;
        }
        let start = self.at;
        self.blanks();
        let parentheses = self.peek() == Some('(') && {
            self.at += 1;
            self.blanks();
            self.peek() == Some(')')
        };
        match words.as_slice() {
            [Some(name)] if parentheses => {
                self.at += 1;
                Some((*name).to_owned())
            }
            [Some("function"), Some(name)] => {
                self.at = if parentheses { self.at + 1 } else { start };
                Some((*name).to_owned())
            }
            _ => {
                self.at = start;
                None
            }
        }
    }

    fn assignment(&mut self) -> Result<Option<(String, Word)>, String> {
        let start = self.at;
        let mut name = self.name();
        let plus = self.starts("+=");
        if name.is_empty() || !(plus || self.peek() == Some('=')) {
            self.at = start;
            return Ok(None);
        }
        self.at += if plus { 2 } else { 1 };
        let mut value = self.word()?.unwrap_or_default();
        if plus {
            let before = Part::Parameter {
                name: name.clone(),
                change: None,
                quoted: true,
            };
            value.parts.insert(0, before);
        }
        name.shrink_to_fit();
        Ok(Some((name, value)))
    }

    fn redirect(&mut self) -> Result<Option<Redirect>, String> {
        let start = self.at;
        let mut stream = None;
        if let Some(digit) = self.peek().and_then(|c| c.to_digit(10))
            && matches!(self.peek_at(1), Some('<' | '>'))
        {
            stream = Some(u8::try_from(digit.min(9)).unwrap_or(9));
            self.at += 1;
        } else if self.starts("&>") {
            stream = Some(3);
            self.at += 1;
        }
        let signs = [
            ("<<<", RedirectKind::Here, 0),
            ("<<-", RedirectKind::Here, 0),
            ("<<", RedirectKind::Here, 0),
            (">>", RedirectKind::Append, 1),
            (">&", RedirectKind::Duplicate, 1),
            ("<&", RedirectKind::Duplicate, 0),
            (">|", RedirectKind::Write, 1),
            (">", RedirectKind::Write, 1),
            ("<", RedirectKind::Read, 0),
        ];
        let Some((sign, kind, default)) = signs.into_iter().find(|(sign, ..)| self.starts(sign))
        else {
            self.at = start;
            return Ok(None);
        };
        self.at += sign.len();
        self.blanks();
        let Some(mut target) = self.word()? else {
            return Err(self.unfinished("redirection unexpected"));
        };
        let stream = stream.unwrap_or(default);
        if sign == "<<<" {
            target.parts.push(Part::Text {
                text: "\n".into(),
                quoted: true,
            });
        } else if kind == RedirectKind::Here {
            let quoted = target
                .parts
                .iter()
                .any(|p| matches!(p, Part::Text { quoted: true, .. }));
            let end = target.parts.iter().map(|p| match p {
                Part::Text { text, .. } => text.as_str(),
                _ => "",
            });
            self.waiting.push(Waiting {
                end: end.collect(),
                quoted,
                strip: sign == "<<-",
            });
            // Filled in once the body has been read.
            target = Word::default();
        }
        Ok(Some(Redirect {
            stream,
            kind,
            target,
        }))
    }

    /// The word that stands here, if one does.
    pub(crate) fn word(&mut self) -> Result<Option<Word>, String> {
        word::read(self)
    }
}

// Gives here-documents their bodies, in the order in which they were announced.
fn fill(command: &mut Command, bodies: &mut impl Iterator<Item = Word>) {
    let mut fill_redirects = |redirects: &mut Vec<Redirect>| {
        for redirect in redirects {
            if redirect.kind == RedirectKind::Here
                && redirect.target.parts.is_empty()
                && let Some(body) = bodies.next()
            {
                redirect.target = body;
            }
        }
    };
    match command {
        Command::Simple(simple) => fill_redirects(&mut simple.redirects),
        Command::Redirected(inner, redirects) => {
            fill_redirects(redirects);
            fill(inner, bodies);
        }
        Command::Pipeline { parts, .. } | Command::List(parts) => {
            for part in parts {
                fill(part, bodies);
            }
        }
        Command::And(a, b) | Command::Or(a, b) => {
            fill(a, bodies);
            fill(b, bodies);
        }
        Command::If { arms, otherwise } => {
            for (test, body) in arms {
                fill(test, bodies);
                fill(body, bodies);
            }
            if let Some(otherwise) = otherwise {
                fill(otherwise, bodies);
            }
        }
        Command::For { body, .. } | Command::Count { body, .. } | Command::Subshell(body) => {
            fill(body, bodies);
        }
        Command::While { test, body, .. } => {
            fill(test, bodies);
            fill(body, bodies);
        }
        Command::Case { arms, .. } => {
            for (_, body) in arms {
                fill(body, bodies);
            }
        }
        Command::Background(inner) | Command::Function(_, inner) => {
            if let Some(inner) = Arc::get_mut(inner) {
                fill(inner, bodies);
            }
        }
        Command::Arithmetic(_) => {}
    }
}
