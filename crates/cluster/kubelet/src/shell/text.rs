//! Escapes, patterns and `printf`.

use regex::Regex;

/// What `\n`, `\t`, `\033` and their kin stand for.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('e') => out.push('\u{1b}'),
            Some('f') => out.push('\u{c}'),
            Some('v') => out.push('\u{b}'),
            Some('\\') => out.push('\\'),
            Some('\'') => out.push('\''),
            Some('"') => out.push('"'),
            Some('c') => break,
            Some('x') => {
                let mut code = 0;
                for _ in 0..2 {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) else {
                        break;
                    };
                    code = code * 16 + digit;
                    chars.next();
                }
                out.extend(char::from_u32(code));
            }
            Some(d @ '0'..='7') => {
                let mut code = d.to_digit(8).unwrap_or(0);
                for _ in 0..3 {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    code = code * 8 + digit;
                    chars.next();
                }
                out.extend(char::from_u32(code & 0xff));
            }
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
    }
    out
}

/// A pattern of the shell: text in which some characters were quoted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pattern {
    regex: String,
    /// Nothing in it is special.
    plain: bool,
}

impl Pattern {
    /// From pieces and whether each was quoted.
    pub(crate) fn new<'a>(pieces: impl IntoIterator<Item = (&'a str, bool)>) -> Self {
        let mut regex = String::new();
        let mut plain = true;
        for (text, quoted) in pieces {
            let mut chars = text.chars().peekable();
            while let Some(c) = chars.next() {
                match c {
                    '*' if !quoted => {
                        plain = false;
                        regex.push_str(".*");
                    }
                    '?' if !quoted => {
                        plain = false;
                        regex.push('.');
                    }
                    '[' if !quoted => {
                        plain = false;
                        regex.push('[');
                        if chars.peek() == Some(&'!') {
                            chars.next();
                            regex.push('^');
                        }
                    }
                    ']' if !quoted && !plain => regex.push(']'),
                    '-' if !plain && !quoted => regex.push('-'),
                    c => regex.push_str(&regex::escape(&c.to_string())),
                }
            }
        }
        Self { regex, plain }
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    fn compiled(&self, before: &str, after: &str) -> Option<Regex> {
        let text = format!("(?s){before}{}{after}", self.regex);
        Regex::new(&text).ok()
    }

    /// Whether it describes a whole text.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.compiled("^(?:", ")$")
            .is_some_and(|regex| regex.is_match(text))
    }

    /// Cuts it off the front or the end of a text.
    pub(crate) fn trim(&self, text: &str, front: bool, longest: bool) -> String {
        let Some(regex) = self.compiled("^(?:", ")$") else {
            return text.to_owned();
        };
        let mut cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        cuts.push(text.len());
        // The shortest piece at the front ends early, at the end it begins late.
        if front == longest {
            cuts.reverse();
        }
        for cut in cuts {
            let (piece, rest) = if front {
                text.split_at(cut)
            } else {
                let (rest, piece) = text.split_at(cut);
                (piece, rest)
            };
            if regex.is_match(piece) {
                return rest.to_owned();
            }
        }
        text.to_owned()
    }

    /// Replaces it in a text.
    pub(crate) fn replace(&self, text: &str, to: &str, all: bool) -> String {
        let Some(regex) = self.compiled("", "") else {
            return text.to_owned();
        };
        let limit = usize::from(!all);
        regex
            .replacen(text, limit, regex::NoExpand(to))
            .into_owned()
    }
}

/// A regular expression as grep and sed understand it.
pub(crate) fn expression(text: &str, extended: bool, fold: bool) -> Option<Regex> {
    let mut out = String::from(if fold { "(?i)" } else { "" });
    if extended {
        out.push_str(text);
        return Regex::new(&out).ok();
    }
    // In a basic expression the backslash makes special what is plain in an extended one.
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('(' | ')' | '{' | '}' | '+' | '?' | '|')) => out.push(c),
                Some(c) => {
                    out.push('\\');
                    out.push(c);
                }
                None => out.push_str("\\\\"),
            },
            '(' | ')' | '{' | '}' | '+' | '?' | '|' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    Regex::new(&out).ok()
}

/// `printf`: the format is used again until all arguments are.
pub(crate) fn printf(format: &str, arguments: &[String]) -> String {
    let mut out = String::new();
    let mut left = arguments.iter();
    loop {
        let before = left.len();
        print_once(format, &mut left, &mut out);
        if left.len() == 0 || left.len() == before {
            return out;
        }
    }
}

fn print_once(format: &str, left: &mut std::slice::Iter<'_, String>, out: &mut String) {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&unescape(&rest[..at]));
        rest = &rest[at + 1..];
        let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '%') else {
            out.push('%');
            break;
        };
        let (flags, sign) = (&rest[..end], rest.as_bytes()[end]);
        rest = &rest[end + 1..];
        if sign == b'%' {
            out.push('%');
            continue;
        }
        let argument = left.next().map_or("", String::as_str);
        let number = || argument.trim().parse::<i64>().unwrap_or(0);
        let (width, precision) = match flags.split_once('.') {
            Some((width, precision)) => (width, precision.parse::<usize>().ok()),
            None => (flags, None),
        };
        let text = match sign {
            b'd' | b'i' | b'u' => number().to_string(),
            b'x' => format!("{:x}", number()),
            b'o' => format!("{:o}", number()),
            b'c' => argument.chars().take(1).collect(),
            b'b' => unescape(argument),
            b'f' => format!(
                "{:.*}",
                precision.unwrap_or(6).min(30),
                argument.parse::<f64>().unwrap_or(0.0)
            ),
            b'q' => format!("'{}'", argument.replace('\'', "'\\''")),
            _ => match precision {
                Some(count) => argument.chars().take(count).collect(),
                None => argument.to_owned(),
            },
        };
        pad(out, &text, width);
    }
    out.push_str(&unescape(rest));
}

fn pad(out: &mut String, text: &str, flags: &str) {
    let left = flags.contains('-');
    let digits = flags.trim_start_matches(['-', '+', ' ', '#']);
    let zero = digits.starts_with('0') && !left;
    let width: usize = digits.parse().unwrap_or(0).min(10_000);
    let missing = width.saturating_sub(text.chars().count());
    let filler = if zero { "0" } else { " " }.repeat(missing);
    if left {
        out.push_str(text);
        out.push_str(&filler);
    } else {
        out.push_str(&filler);
        out.push_str(text);
    }
}
