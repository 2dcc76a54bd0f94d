//! Regular expressions as Go's `regexp` package reads them.
//!
//! Both engines are of the same family; they differ in a few places, which are rewritten: `\d`,
//! `\w`, `\s` and `\b` mean ASCII in Go, and a character class has no nested sets there.

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{ErrorKind, parse::Parser};

const SIZE_MAX: usize = 10 << 20;

/// Compiles a pattern with Go's meaning.
pub fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern);
    RegexBuilder::new(&translated)
        .size_limit(SIZE_MAX)
        .build()
        .map_err(|_| format!("error parsing regexp: {}", reason(pattern, &translated)))
}

// What Go says of a broken pattern; it quotes the offending part, or all of it.
fn reason(pattern: &str, translated: &str) -> String {
    let Err(error) = Parser::new().parse(translated) else {
        return "expression too large".into();
    };
    let (start, end) = (error.span().start.offset, error.span().end.offset);
    let part = translated.get(start..end.max(start + 1)).unwrap_or(pattern);
    match error.kind() {
        ErrorKind::GroupUnclosed => format!("missing closing ): `{pattern}`"),
        ErrorKind::GroupUnopened => format!("unexpected ): `{pattern}`"),
        ErrorKind::ClassUnclosed => {
            let start = pattern.rfind('[').unwrap_or(0);
            format!("missing closing ]: `{}`", &pattern[start..])
        }
        ErrorKind::ClassRangeInvalid => format!("invalid character class range: `{part}`"),
        ErrorKind::EscapeUnexpectedEof => "trailing backslash at end of expression: ``".into(),
        ErrorKind::EscapeUnrecognized => format!("invalid escape sequence: `{part}`"),
        ErrorKind::RepetitionMissing => {
            format!("missing argument to repetition operator: `{part}`")
        }
        ErrorKind::RepetitionCountInvalid => format!("invalid repeat count: `{part}`"),
        _ => format!("invalid or unsupported Perl syntax: `{part}`"),
    }
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut class = Class::Outside;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, class) {
            ('\\', _) => {
                let Some(escaped) = chars.next() else {
                    out.push('\\');
                    break;
                };
                if escaped == 'Q' {
                    literal(&mut chars, &mut out);
                } else {
                    escape(escaped, class, &mut out);
                }
            }
            ('[', Class::Outside) => {
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // A closing bracket in first place stands for itself.
                if chars.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
                class = Class::Inside;
            }
            ('[', Class::Inside) => {
                if chars.peek() == Some(&':') {
                    out.push('[');
                    for named in chars.by_ref() {
                        out.push(named);
                        if named == ']' {
                            break;
                        }
                    }
                } else {
                    out.push_str("\\[");
                }
            }
            (']', Class::Inside) => {
                out.push(']');
                class = Class::Outside;
            }
            ('&' | '~', Class::Inside) => {
                out.push('\\');
                out.push(c);
            }
            ('-', Class::Inside) if chars.peek() == Some(&'-') => out.push_str("\\-"),
            (c, _) => out.push(c),
        }
    }
    out
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Outside,
    Inside,
}

// Inside a class the rewritten sets become nested sets, which this engine unites.
fn escape(c: char, class: Class, out: &mut String) {
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\f\\r ]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'b' if class == Class::Outside => out.push_str("(?-u:\\b)"),
        'B' if class == Class::Outside => out.push_str("(?-u:\\B)"),
        other => {
            out.push('\\');
            out.push(other);
        }
    }
}

// `\Q...\E` quotes everything between.
fn literal(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next_if_eq(&'E').is_some() {
            return;
        }
        out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str, expected: bool) {
        let regex = compile_pattern(pattern).unwrap();
        assert_eq!(regex.is_match(text), expected, "{pattern} on {text}");
    }

    #[test]
    fn classes_are_ascii_and_flat() {
        check(r"^\d+$", "12", true);
        check(r"^\d+$", "\u{663}", false);
        check(r"^[\w.-]+$", "a.b-c_1", true);
        check(r"^[[a]+$", "[a", true);
        check(r"^[]a]+$", "]a", true);
        check(r"^[a&&b]+$", "a&b", true);
        check(r"^[[:alpha:]]+$", "ab", true);
        check(r"^[^\d]+$", "ab", true);
        check(r"^\Qa.b\E$", "a.b", true);
        check(r"^\Qa.b\E$", "axb", false);
        check(r"\bfoo\b", "a foo b", true);
    }

    #[test]
    fn a_broken_pattern_is_refused() {
        for (pattern, why) in [
            ("a(", "missing closing ): `a(`"),
            ("a)", "unexpected ): `a)`"),
            ("x[a", "missing closing ]: `[a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
            ("\\", "trailing backslash at end of expression: ``"),
        ] {
            let message = format!("error parsing regexp: {why}");
            assert_eq!(compile_pattern(pattern).unwrap_err(), message);
        }
    }
}
