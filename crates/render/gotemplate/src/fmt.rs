//! Go's `fmt`: values to text, by verb, flags, width and precision.
//!
//! ```text
//! sprintf("%05.1f", [Value]) ──▶ bytes       what does not fit shows as %!d(string=hi)
//! ```

mod number;
mod value;

use crate::quote::{can_backquote, quote_rune, quote_with};
use crate::text::{decode, runes};
use crate::value::Value;
use crate::walk::Walk;

/// The widest field that is printed.
const WIDTH_MAX: usize = 1_000_000;

/// Prints values as `fmt.Sprint` does: a space between two that are no strings.
pub(crate) fn sprint(values: &[Value]) -> Vec<u8> {
    let mut printer = Printer::new();
    let mut after_string = false;
    for (i, value) in values.iter().enumerate() {
        let is_string = matches!(value, Value::String(_));
        if i > 0 && !is_string && !after_string {
            printer.out.push(b' ');
        }
        printer.arg(value, 'v');
        after_string = is_string;
    }
    printer.out
}

/// Prints values as `fmt.Sprintln` does.
pub(crate) fn sprintln(values: &[Value]) -> Vec<u8> {
    let mut printer = Printer::new();
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            printer.out.push(b' ');
        }
        printer.arg(value, 'v');
    }
    printer.out.push(b'\n');
    printer.out
}

/// Prints one value; none when it is too big or contains itself.
pub(crate) fn sprint_value(value: &Value) -> Option<Vec<u8>> {
    let mut printer = Printer::new();
    printer.arg(value, 'v');
    (!printer.overflowed).then_some(printer.out)
}

/// The text of one value under `%v`.
pub(crate) fn text_of(value: &Value) -> String {
    String::from_utf8_lossy(&sprint(std::slice::from_ref(value))).into_owned()
}

#[derive(Clone, Copy, Default)]
struct Flags {
    width: Option<usize>,
    precision: Option<usize>,
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    plus_v: bool,
    sharp_v: bool,
}

struct Printer {
    out: Vec<u8>,
    flags: Flags,
    // Inside a complaint methods are not called.
    complaining: bool,
    walk: Walk,
    overflowed: bool,
}

// What stands at `[3]` in a format.
struct Index {
    number: usize,
    at: usize,
    found: bool,
}

struct Format<'a> {
    text: &'a [u8],
    args: &'a [Value],
    number: usize,
    good: bool,
    reordered: bool,
}

impl Format<'_> {
    // Reads `[n]`, which names the argument to use next.
    fn index(&mut self, at: usize) -> Index {
        if self.text.get(at) != Some(&b'[') {
            return Index {
                number: self.number,
                at,
                found: false,
            };
        }
        self.reordered = true;
        let rest = &self.text[at..];
        let close = if rest.len() < 3 {
            None
        } else {
            rest.iter().position(|b| *b == b']')
        };
        let Some(close) = close else {
            self.good = false;
            return Index {
                number: self.number,
                at: at + 1,
                found: false,
            };
        };
        let (number, end) = parse_number(self.text, at + 1, at + close);
        let next = at + close + 1;
        match number {
            Some(n) if end == at + close => {
                if n >= 1 && n <= self.args.len() {
                    return Index {
                        number: n - 1,
                        at: next,
                        found: true,
                    };
                }
                self.good = false;
                Index {
                    number: self.number,
                    at: next,
                    found: true,
                }
            }
            _ => {
                self.good = false;
                Index {
                    number: self.number,
                    at: next,
                    found: false,
                }
            }
        }
    }

    // The width or precision that `*` takes from the arguments.
    fn star(&mut self) -> Option<i64> {
        let value = self.args.get(self.number)?;
        self.number += 1;
        let number = value
            .as_signed()
            .or_else(|| value.as_unsigned().and_then(|u| i64::try_from(u).ok()))?;
        (number.unsigned_abs() <= WIDTH_MAX as u64).then_some(number)
    }
}

fn parse_number(text: &[u8], start: usize, end: usize) -> (Option<usize>, usize) {
    let (mut number, mut at) = (None, start);
    while at < end && text[at].is_ascii_digit() {
        if number.unwrap_or(0) > WIDTH_MAX {
            return (None, end);
        }
        number = Some(number.unwrap_or(0) * 10 + usize::from(text[at] - b'0'));
        at += 1;
    }
    (number, if start >= end { end } else { at })
}

/// Prints as `fmt.Sprintf` does.
pub(crate) fn sprintf(format: &[u8], args: &[Value]) -> Vec<u8> {
    let mut printer = Printer::new();
    let mut f = Format {
        text: format,
        args,
        number: 0,
        good: true,
        reordered: false,
    };
    let mut at = 0;
    while at < format.len() {
        let percent = format[at..]
            .iter()
            .position(|b| *b == b'%')
            .map_or(format.len(), |p| at + p);
        printer.out.extend_from_slice(&format[at..percent]);
        if percent >= format.len() {
            break;
        }
        at = printer.directive(&mut f, percent + 1);
    }
    if !f.reordered && f.number < args.len() {
        printer.extra(&args[f.number..]);
    }
    printer.out
}

impl Printer {
    fn new() -> Self {
        Self {
            out: Vec::new(),
            flags: Flags::default(),
            complaining: false,
            walk: Walk::new(),
            overflowed: false,
        }
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    // One `%…`; gives where the text goes on.
    fn directive(&mut self, f: &mut Format<'_>, mut at: usize) -> usize {
        let end = f.text.len();
        f.good = true;
        self.flags = Flags::default();
        while at < end {
            match f.text[at] {
                b'#' => self.flags.sharp = true,
                b'0' => self.flags.zero = true,
                b'+' => self.flags.plus = true,
                b'-' => self.flags.minus = true,
                b' ' => self.flags.space = true,
                _ => break,
            }
            at += 1;
        }
        let mut index = f.index(at);
        (f.number, at) = (index.number, index.at);
        at = self.width(f, at, &mut index.found);
        if at + 1 < end && f.text[at] == b'.' {
            at = self.precision(f, at + 1, &mut index.found);
        }
        if !index.found {
            let index = f.index(at);
            (f.number, at) = (index.number, index.at);
        }
        let Some((verb, width, _)) = decode(&f.text[at.min(end)..]) else {
            self.put("%!(NOVERB)");
            return end;
        };
        match verb {
            '%' => self.out.push(b'%'),
            _ if !f.good => self.put(&format!("%!{verb}(BADINDEX)")),
            _ if f.number >= f.args.len() => self.put(&format!("%!{verb}(MISSING)")),
            _ => {
                if matches!(verb, 'v' | 'w') {
                    self.flags.sharp_v = std::mem::take(&mut self.flags.sharp);
                    self.flags.plus_v = std::mem::take(&mut self.flags.plus);
                }
                self.arg(&f.args[f.number], verb);
                f.number += 1;
            }
        }
        at + width
    }

    fn width(&mut self, f: &mut Format<'_>, at: usize, after_index: &mut bool) -> usize {
        if f.text.get(at) == Some(&b'*') {
            match f.star() {
                None => self.put("%!(BADWIDTH)"),
                Some(width) => {
                    self.flags.width = Some(width.unsigned_abs() as usize);
                    if width < 0 {
                        self.flags.minus = true;
                        self.flags.zero = false;
                    }
                }
            }
            *after_index = false;
            return at + 1;
        }
        let (width, next) = parse_number(f.text, at, f.text.len());
        self.flags.width = width;
        if *after_index && width.is_some() {
            f.good = false;
        }
        next
    }

    fn precision(&mut self, f: &mut Format<'_>, at: usize, after_index: &mut bool) -> usize {
        if *after_index {
            f.good = false;
        }
        let index = f.index(at);
        *after_index = index.found;
        f.number = index.number;
        let at = index.at;
        if f.text.get(at) == Some(&b'*') {
            match f.star().and_then(|p| usize::try_from(p).ok()) {
                Some(precision) => self.flags.precision = Some(precision),
                None => self.put("%!(BADPREC)"),
            }
            *after_index = false;
            return at + 1;
        }
        let (precision, next) = parse_number(f.text, at, f.text.len());
        self.flags.precision = Some(precision.unwrap_or(0));
        next
    }

    fn extra(&mut self, args: &[Value]) {
        self.flags = Flags::default();
        self.put("%!(EXTRA ");
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            if arg.is_nil() {
                self.put("<nil>");
            } else {
                self.put(&arg.type_name());
                self.out.push(b'=');
                self.arg(arg, 'v');
            }
        }
        self.out.push(b')');
    }

    fn padding(&mut self, count: usize) {
        let byte = if self.flags.zero && !self.flags.minus {
            b'0'
        } else {
            b' '
        };
        self.out.resize(self.out.len() + count, byte);
    }

    fn pad(&mut self, text: &[u8]) {
        let missing = self
            .flags
            .width
            .unwrap_or(0)
            .saturating_sub(runes(text).count());
        if !self.flags.minus {
            self.padding(missing);
        }
        self.out.extend_from_slice(text);
        if self.flags.minus {
            self.padding(missing);
        }
    }

    // Pads with spaces whatever the flags say.
    fn pad_plain(&mut self, text: &[u8]) {
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(text);
        self.flags.zero = zero;
    }

    fn bad_verb(&mut self, verb: char, value: &Value) {
        self.complaining = true;
        self.put(&format!("%!{verb}("));
        if value.is_nil() {
            self.put("<nil>");
        } else {
            self.put(&value.type_name());
            self.out.push(b'=');
            self.arg(value, 'v');
        }
        self.out.push(b')');
        self.complaining = false;
    }

    fn truncated<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        match self.flags.precision {
            None => text,
            Some(precision) => {
                &text[..runes(text).take(precision).map(|(_, width, _)| width).sum()]
            }
        }
    }

    fn string(&mut self, text: &[u8], verb: char, whole: &Value) {
        match verb {
            'v' if self.flags.sharp_v => self.quoted(text),
            'v' | 's' => {
                let text = self.truncated(text).to_vec();
                self.pad(&text);
            }
            'x' | 'X' => self.hex(text, verb == 'X'),
            'q' => self.quoted(text),
            _ => self.bad_verb(verb, whole),
        }
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        let quoted = if self.flags.sharp && can_backquote(text) {
            [b"`", text, b"`"].concat()
        } else {
            quote_with(text, '"', self.flags.plus).into_bytes()
        };
        self.pad(&quoted);
    }

    fn hex(&mut self, bytes: &[u8], upper: bool) {
        let length = self
            .flags
            .precision
            .map_or(bytes.len(), |p| p.min(bytes.len()));
        let prefix = if upper { "0X" } else { "0x" };
        let mut text = String::new();
        for (i, byte) in bytes[..length].iter().enumerate() {
            if self.flags.space && i > 0 {
                text.push(' ');
            }
            if self.flags.sharp && (i == 0 || self.flags.space) {
                text.push_str(prefix);
            }
            text.push_str(&if upper {
                format!("{byte:02X}")
            } else {
                format!("{byte:02x}")
            });
        }
        self.pad(text.as_bytes());
    }

    fn rune(&mut self, code: u64) {
        let rune = u32::try_from(code)
            .ok()
            .and_then(char::from_u32)
            .unwrap_or('\u{FFFD}');
        self.pad(rune.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn quoted_rune(&mut self, code: u64) {
        let rune = u32::try_from(code)
            .ok()
            .and_then(char::from_u32)
            .unwrap_or('\u{FFFD}');
        let text = quote_rune(rune, self.flags.plus);
        self.pad(text.as_bytes());
    }
}
