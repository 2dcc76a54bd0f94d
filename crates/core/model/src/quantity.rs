//! Amounts of resources: `100m`, `1.5Gi`, `1e3`, kept exact and printed canonically.

use std::cmp::Ordering;
use std::fmt;

/// An exact amount in units of 10⁻⁹, with the notation it was written in.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    DecimalSi,
    BinarySi,
    DecimalExponent,
}

const NANO: i128 = 1_000_000_000;
const BINARY: [(&str, u32); 6] = [
    ("Ki", 10),
    ("Mi", 20),
    ("Gi", 30),
    ("Ti", 40),
    ("Pi", 50),
    ("Ei", 60),
];
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// What the API server says of text that is no quantity.
pub const SYNTAX: &str = "quantities must match the regular expression \
     '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

impl Quantity {
    /// Nothing, in decimal notation.
    pub const ZERO: Self = Self {
        nano: 0,
        format: Format::DecimalSi,
    };

    /// A whole number of units.
    pub const fn whole(value: i64) -> Self {
        Self {
            nano: value as i128 * NANO,
            format: Format::DecimalSi,
        }
    }

    /// A number of thousandths.
    pub const fn milli(value: i64) -> Self {
        Self {
            nano: value as i128 * 1_000_000,
            format: Format::DecimalSi,
        }
    }

    /// Reads a quantity; `None` when the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let (format, exponent, shift) = read_suffix(suffix)?;
        let mut nano = scale(whole, fraction, exponent, shift)?;
        if negative {
            nano = -nano;
        }
        Some(Self { nano, format })
    }

    /// Reads a JSON string or number.
    pub fn from_json(value: &serde_json::Value) -> Option<Self> {
        match value {
            serde_json::Value::String(text) => Self::parse(text),
            serde_json::Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// The amount in whole units, rounded up.
    pub fn value(self) -> i64 {
        clamp(self.nano.div_euclid(NANO) + i128::from(self.nano.rem_euclid(NANO) != 0))
    }

    /// The amount in thousandths, rounded up.
    pub fn milli_value(self) -> i64 {
        let step = NANO / 1_000;
        clamp(self.nano.div_euclid(step) + i128::from(self.nano.rem_euclid(step) != 0))
    }

    /// The sum, in the notation of `self` (of `other` when `self` is zero).
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.nano == 0 {
            other.format
        } else {
            self.format
        };
        Self {
            nano: self.nano.saturating_add(other.nano),
            format,
        }
    }

    /// The difference, in the notation of `self`.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let format = if self.nano == 0 {
            other.format
        } else {
            self.format
        };
        Self {
            nano: self.nano.saturating_sub(other.nano),
            format,
        }
    }

    /// Whether the amount is below zero.
    pub const fn is_negative(self) -> bool {
        self.nano < 0
    }

    /// Whether the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.nano == 0
    }
}

fn clamp(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

fn read_suffix(suffix: &str) -> Option<(Format, i32, u32)> {
    if let Some((_, bits)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((Format::BinarySi, 0, *bits));
    }
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((Format::DecimalSi, *exponent, 0));
    }
    let digits = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i32 = digits.parse().ok()?;
    Some((Format::DecimalExponent, exponent, 0))
}

// number · 10^exponent · 2^shift in nanos; what is finer than a nano rounds away from zero.
// Binary amounts above 2^63 units are capped there, as the API machinery does; decimal ones are
// not, and stop only where our numbers do.
fn scale(whole: &str, fraction: &str, exponent: i32, shift: u32) -> Option<i128> {
    let mut digits: i128 = 0;
    let cap = if shift > 0 {
        i128::from(i64::MAX) * NANO
    } else {
        i128::MAX
    };
    let text: String = format!("{whole}{fraction}");
    let mut dropped = 0_i32;
    for c in text.bytes() {
        if digits > i128::MAX / 100 {
            dropped += 1;
            continue;
        }
        digits = digits * 10 + i128::from(c - b'0');
    }
    let mut power = exponent + 9 - i32::try_from(fraction.len()).ok()? + dropped;
    let Some(mut value) = digits.checked_shl(shift).filter(|v| v >> shift == digits) else {
        return Some(cap);
    };
    while power > 0 && value != 0 {
        value = value.checked_mul(10).unwrap_or(cap);
        if value >= cap {
            return Some(cap);
        }
        power -= 1;
    }
    let mut inexact = false;
    while power < 0 && value != 0 {
        inexact |= value % 10 != 0;
        value /= 10;
        power += 1;
    }
    Some((value + i128::from(inexact)).min(cap))
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nano == 0 {
            return f.write_str("0");
        }
        let magnitude = self.nano.unsigned_abs();
        let sign = if self.nano < 0 { "-" } else { "" };
        let unit = NANO.unsigned_abs();
        let small = magnitude < 1024 * unit;
        if self.format == Format::BinarySi && !small && magnitude.is_multiple_of(unit) {
            let mut value = magnitude / unit;
            let mut suffix = "";
            for (name, _) in BINARY {
                if !value.is_multiple_of(1024) {
                    break;
                }
                value /= 1024;
                suffix = name;
            }
            return write!(f, "{sign}{value}{suffix}");
        }
        let mut value = magnitude;
        let mut step = 0;
        while step + 1 < DECIMAL.len() && value.is_multiple_of(1000) {
            value /= 1000;
            step += 1;
        }
        let (name, exponent) = DECIMAL[step];
        match (self.format, exponent) {
            (Format::DecimalExponent, 0) => write!(f, "{sign}{value}"),
            (Format::DecimalExponent, e) => write!(f, "{sign}{value}e{e}"),
            _ => write!(f, "{sign}{value}{name}"),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_forms() {
        for (text, shown) in [
            ("0", "0"),
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("2000", "2k"),
            ("1e3", "1e3"),
            ("100m", "100m"),
            ("0.1Ki", "102400m"),
            ("-5Mi", "-5Mi"),
            ("1024", "1024"),
            ("12e6", "12e6"),
        ] {
            assert_eq!(
                Quantity::parse(text).expect(text).to_string(),
                shown,
                "{text}"
            );
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "abc", "1.2.3", "1X", "-", ".", "1e", "1 Gi"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn sums_keep_the_notation() {
        let sum = Quantity::parse("1Gi")
            .unwrap()
            .plus(Quantity::parse("512Mi").unwrap());
        assert_eq!(sum.to_string(), "1536Mi");
        assert!(Quantity::parse("1").unwrap() == Quantity::parse("1000m").unwrap());
    }
}
