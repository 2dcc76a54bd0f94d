//! Numbers under the verbs of `fmt`.

use super::Printer;
use crate::strconv::format_float;
use crate::unicode::is_print;
use crate::value::Value;

impl Printer {
    pub(super) fn integer(&mut self, bits: u64, signed: bool, verb: char, whole: &Value) {
        match verb {
            'v' if self.flags.sharp_v && !signed => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                self.digits(bits, 16, signed, 'v');
                self.flags.sharp = sharp;
            }
            'v' | 'd' => self.digits(bits, 10, signed, verb),
            'b' => self.digits(bits, 2, signed, verb),
            'o' | 'O' => self.digits(bits, 8, signed, verb),
            'x' | 'X' => self.digits(bits, 16, signed, verb),
            'c' => self.rune(bits),
            'q' => self.quoted_rune(bits),
            'U' => self.code_point(bits),
            _ => self.bad_verb(verb, whole),
        }
    }

    fn digits(&mut self, bits: u64, base: u32, signed: bool, verb: char) {
        let negative = signed && (bits as i64) < 0;
        let number = if negative { bits.wrapping_neg() } else { bits };
        let f = self.flags;
        let mut least = 0;
        if let Some(precision) = f.precision {
            least = precision;
            if precision == 0 && number == 0 {
                self.flags.zero = false;
                self.padding(f.width.unwrap_or(0));
                self.flags.zero = f.zero;
                return;
            }
        } else if let (true, false, Some(width)) = (f.zero, f.minus, f.width) {
            least = width - usize::from((negative || f.plus || f.space) && width > 0);
        }
        let digits = match (base, verb) {
            (2, _) => format!("{number:b}"),
            (8, _) => format!("{number:o}"),
            (16, 'X') => format!("{number:X}"),
            (16, _) => format!("{number:x}"),
            _ => number.to_string(),
        };
        let mut text = "0".repeat(least.saturating_sub(digits.len()));
        text.push_str(&digits);
        if f.sharp {
            match (base, verb) {
                (2, _) => text.insert_str(0, "0b"),
                (8, _) if !text.starts_with('0') => text.insert(0, '0'),
                (16, 'X') => text.insert_str(0, "0X"),
                (16, _) => text.insert_str(0, "0x"),
                _ => {}
            }
        }
        if verb == 'O' {
            text.insert_str(0, "0o");
        }
        if negative {
            text.insert(0, '-');
        } else if f.plus {
            text.insert(0, '+');
        } else if f.space {
            text.insert(0, ' ');
        }
        self.pad_plain(text.as_bytes());
    }

    fn code_point(&mut self, bits: u64) {
        let least = self.flags.precision.unwrap_or(0).max(4);
        let mut text = format!("U+{bits:0least$X}");
        let rune = u32::try_from(bits).ok().and_then(char::from_u32);
        if let Some(rune) = rune.filter(|r| self.flags.sharp && is_print(*r)) {
            text.push_str(&format!(" '{rune}'"));
        }
        self.pad_plain(text.as_bytes());
    }

    pub(super) fn float(&mut self, f: f64, verb: char, whole: &Value) {
        let (notation, precision) = match verb {
            'v' => (b'g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => (verb as u8, None),
            'f' | 'e' | 'E' => (verb as u8, Some(6)),
            'F' => (b'f', Some(6)),
            _ => return self.bad_verb(verb, whole),
        };
        self.float_text(f, notation, precision);
    }

    fn float_text(&mut self, f: f64, notation: u8, precision: Option<usize>) {
        let precision = self.flags.precision.or(precision);
        let mut text = format_float(f, notation, precision);
        if !text.starts_with(['+', '-']) {
            text.insert(0, '+');
        }
        let f = self.flags;
        if f.space && text.starts_with('+') && !f.plus {
            text.replace_range(..1, " ");
        }
        if text[1..].starts_with(['I', 'N']) {
            let from = usize::from(text[1..].starts_with('N') && !f.space && !f.plus);
            return self.pad_plain(&text.as_bytes()[from..]);
        }
        if f.sharp && notation != b'b' {
            text = keep_point(&text, notation, precision);
        }
        if !f.plus && text.starts_with('+') {
            return self.pad(&text.as_bytes()[1..]);
        }
        match f.width {
            Some(width) if f.zero && !f.minus && width > text.len() => {
                self.put(&text[..1]);
                self.padding(width - text.len());
                self.put(&text[1..]);
            }
            _ => self.pad(text.as_bytes()),
        }
    }

    pub(super) fn complex(&mut self, re: f64, im: f64, verb: char, whole: &Value) {
        if !"vbgGxXfFeE".contains(verb) {
            return self.bad_verb(verb, whole);
        }
        let plus = self.flags.plus;
        self.out.push(b'(');
        self.float(re, verb, whole);
        self.flags.plus = true;
        self.float(im, verb, whole);
        self.flags.plus = plus;
        self.put("i)");
    }
}

// The flag `#`: a point always, and zeros at the end where `g` would drop them.
fn keep_point(text: &str, notation: u8, precision: Option<usize>) -> String {
    let is_hex = matches!(notation, b'x' | b'X');
    let cut = if is_hex {
        text.find(['p', 'P'])
    } else {
        text.find(['e', 'E', 'p', 'P'])
    };
    let (mantissa, tail) = text.split_at(cut.unwrap_or(text.len()));
    let mut missing = match notation {
        b'g' | b'G' | b'x' => precision.map_or(6, |p| p as i64),
        _ => 0,
    };
    let mut seen = false;
    for c in mantissa[1..].chars().filter(|c| *c != '.') {
        seen |= c != '0';
        missing -= i64::from(seen);
    }
    let mut out = mantissa.to_owned();
    if !mantissa.contains('.') {
        if &mantissa[1..] == "0" {
            missing -= 1;
        }
        out.push('.');
    }
    out.push_str(&"0".repeat(missing.max(0) as usize));
    out.push_str(tail);
    out
}
