//! Go's pattern syntax to that of the `regex` crate, with Go's errors.

use super::class;

/// The highest number in `{n,m}`.
const REPEAT_MAX: u32 = 1000;

pub(super) fn error<T>(what: &str, at: &str) -> Result<T, String> {
    Err(format!("error parsing regexp: {what}: `{at}`"))
}

pub(super) struct Translator<'a> {
    whole: &'a str,
    pub(super) rest: &'a str,
    pub(super) out: String,
    groups: usize,
    names: Vec<&'a str>,
}

/// Translates a pattern.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut t = Translator {
        whole: pattern,
        rest: pattern,
        out: String::with_capacity(pattern.len() + 16),
        groups: 0,
        names: Vec::new(),
    };
    // What a repetition may repeat: something stands before it.
    let mut repeats = false;
    // The last repetition, when it stands right before.
    let mut repetition: Option<&str> = None;
    while let Some(c) = t.rest.chars().next() {
        let before = t.rest;
        let mut last = None;
        match c {
            '(' => {
                repeats = t.open()?;
                repetition = None;
                continue;
            }
            ')' => {
                if t.groups == 0 {
                    return error("unexpected )", t.whole);
                }
                t.groups -= 1;
                t.copy(1);
                repeats = true;
            }
            '|' => {
                t.copy(1);
                repeats = false;
            }
            '*' | '+' | '?' => {
                t.copy(1);
                last = t.repeated(before, repeats, repetition)?;
            }
            '{' => match repeat(t.rest) {
                Some(length) => {
                    t.check_repeat(length)?;
                    t.copy(length);
                    last = t.repeated(before, repeats, repetition)?;
                }
                None => {
                    t.literal('{');
                    t.rest = &t.rest[1..];
                    repeats = true;
                }
            },
            '[' => {
                class::class(&mut t)?;
                repeats = true;
            }
            '\\' => {
                t.escape()?;
                repeats = true;
            }
            '^' | '$' | '.' => {
                t.copy(1);
                repeats = true;
            }
            other => {
                t.literal(other);
                t.rest = &t.rest[other.len_utf8()..];
                repeats = true;
            }
        }
        repetition = last;
    }
    if t.groups > 0 {
        return error("missing closing )", pattern);
    }
    Ok(t.out)
}

impl<'a> Translator<'a> {
    fn copy(&mut self, length: usize) {
        self.out.push_str(&self.rest[..length]);
        self.rest = &self.rest[length..];
    }

    pub(super) fn literal(&mut self, c: char) {
        self.out
            .push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }

    // A repetition was copied; `?` behind it makes it lazy.
    fn repeated(
        &mut self,
        before: &'a str,
        repeats: bool,
        repetition: Option<&'a str>,
    ) -> Result<Option<&'a str>, String> {
        let operator = &before[..before.len() - self.rest.len()];
        if !repeats {
            return error("missing argument to repetition operator", operator);
        }
        if self.rest.starts_with('?') {
            self.copy(1);
        }
        if let Some(first) = repetition {
            let end = self.whole.len() - self.rest.len();
            let start = self.whole.len() - first.len();
            return error(
                "invalid nested repetition operator",
                &self.whole[start..end],
            );
        }
        Ok(Some(before))
    }

    fn check_repeat(&self, length: usize) -> Result<(), String> {
        let text = &self.rest[..length];
        let bounds = text[1..length - 1]
            .split_once(',')
            .unwrap_or((&text[1..length - 1], ""));
        let number = |t: &str| t.parse::<u32>().unwrap_or(REPEAT_MAX + 1);
        let (low, high) = (
            number(bounds.0),
            if bounds.1.is_empty() {
                None
            } else {
                Some(number(bounds.1))
            },
        );
        if low > REPEAT_MAX || high.is_some_and(|high| high > REPEAT_MAX || high < low) {
            return error("invalid repeat count", text);
        }
        Ok(())
    }

    // A group's start; gives whether a repetition may follow, as it may after `(?i)`.
    fn open(&mut self) -> Result<bool, String> {
        if !self.rest.starts_with("(?") {
            self.groups += 1;
            self.copy(1);
            return Ok(false);
        }
        let rest = self.rest;
        let name_at = if rest.starts_with("(?P<") {
            Some(4)
        } else if rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!")
        {
            Some(3)
        } else {
            None
        };
        if let Some(at) = name_at {
            let Some(end) = rest.find('>') else {
                return error("invalid named capture", rest);
            };
            let name = &rest[at..end];
            let valid =
                !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
            if !valid {
                return error("invalid named capture", &rest[..=end]);
            }
            if self.names.contains(&name) {
                return error("duplicate capture group name", name);
            }
            self.names.push(name);
            self.groups += 1;
            // The regex crate wants names to start with a letter; Go does not mind digits.
            self.out.push_str(&format!("(?P<{name}>"));
            self.rest = &rest[end + 1..];
            return Ok(false);
        }
        let Some(length) = rest[2..].find(|c: char| !"imsU-".contains(c)) else {
            return error("missing closing )", self.whole);
        };
        let flags = &rest[2..2 + length];
        let end = rest[2 + length..].chars().next().unwrap_or(')');
        let sound = flags.matches('-').count() <= 1 && !flags.ends_with('-');
        if !sound || !matches!(end, ':' | ')') || (end == ')' && flags.is_empty()) {
            return error(
                "invalid or unsupported Perl syntax",
                &rest[..2 + length + end.len_utf8()],
            );
        }
        self.copy(3 + length);
        if end == ':' {
            self.groups += 1;
        }
        Ok(false)
    }

    fn escape(&mut self) -> Result<(), String> {
        let rest = self.rest;
        let Some(c) = rest[1..].chars().next() else {
            return error("trailing backslash at end of expression", "");
        };
        match c {
            'A' | 'z' => self.copy(2),
            'b' | 'B' => {
                self.out
                    .push_str(if c == 'b' { r"(?-u:\b)" } else { r"(?-u:\B)" });
                self.rest = &rest[2..];
            }
            'Q' => {
                let body = &rest[2..];
                let end = body.find(r"\E");
                for c in body[..end.unwrap_or(body.len())].chars() {
                    self.literal(c);
                }
                self.rest = end.map_or("", |end| &body[end + 2..]);
            }
            _ => {
                if let Some((set, length)) = class::escaped_set(rest)? {
                    self.out.push_str(&format!("[{set}]"));
                    self.rest = &rest[length..];
                } else {
                    let (c, length) = class::escaped_char(rest)?;
                    self.literal(c);
                    self.rest = &rest[length..];
                }
            }
        }
        Ok(())
    }
}

// The length of `{n}`, `{n,}` or `{n,m}`; none when the brace is only a brace.
fn repeat(text: &str) -> Option<usize> {
    let end = text.find('}')?;
    let body = &text[1..end];
    let (low, high) = body.split_once(',').unwrap_or((body, ""));
    let number =
        |t: &str| t.bytes().all(|b| b.is_ascii_digit()) && (t.len() == 1 || !t.starts_with('0'));
    (!low.is_empty() && number(low) && (high.is_empty() || number(high))).then_some(end + 1)
}
