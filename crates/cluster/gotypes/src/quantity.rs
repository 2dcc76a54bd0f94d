//! Quantities: the text Go prints for the text it read.

use model::Quantity;
use model::quantity::SYNTAX;

const SUFFIX: &str = "unable to parse quantity's suffix";
const NUMERIC: &str = "unable to parse numeric part of quantity";

/// Reads a quantity and gives its canonical text, or Go's message.
///
/// Text that is canonical in Go's eyes stays as it was written, sign, zeros and all.
pub(crate) fn canonical(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Err(SYNTAX);
    }
    let parts = Parts::of(text)?;
    let notation = Notation::of(parts.suffix).ok_or(SUFFIX)?;
    if parts.stays(&notation) {
        return Ok(text.to_owned());
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    let plain = format!("{sign}{}.{}0{}", parts.whole, parts.fraction, parts.suffix);
    let quantity = Quantity::parse(&plain).ok_or(NUMERIC)?;
    Ok(quantity.to_string())
}

struct Parts<'a> {
    // Digits before the point without leading zeros, at least one.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, &'static str> {
        let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
        let rest = rest.trim_start_matches('0');
        let (whole, rest) = split_digits(rest);
        let whole = if whole.is_empty() { "0" } else { whole };
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(after) => split_digits(after),
            None => ("", rest),
        };
        let letters =
            suffix.trim_start_matches(['e', 'E', 'i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P']);
        let digits = letters.strip_prefix(['+', '-']).unwrap_or(letters);
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(SYNTAX);
        }
        Ok(Self {
            whole,
            fraction,
            suffix,
        })
    }

    // Whether Go keeps the text: it does where its fast path finds nothing to shorten.
    fn stays(&self, notation: &Notation) -> bool {
        let digits = self.whole.len() + self.fraction.len();
        match *notation {
            Notation::Binary(bits) => {
                let room = 14 - self.whole.len() as i32 - (bits * 3 / 10) as i32;
                self.fraction.is_empty()
                    && room >= 0
                    && self.whole.parse::<u64>().is_ok_and(|n| n & 7 != 0)
            }
            Notation::Decimal(exponent) => {
                let scale = exponent - self.fraction.len() as i64;
                let last = if self.fraction.len() >= 3 {
                    self.fraction.ends_with("000")
                } else {
                    format!("{}{}", self.whole, self.fraction).ends_with("000")
                };
                digits <= 18 && scale >= -9 && scale % 3 == 0 && !last && self.whole != "0"
            }
        }
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(end)
}

enum Notation {
    Binary(u32),
    Decimal(i64),
}

impl Notation {
    fn of(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            other => Self::Decimal(other.strip_prefix(['e', 'E'])?.parse().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn texts_become_what_go_prints() {
        for (text, wanted) in [
            ("1000m", Ok("1")),
            ("100m", Ok("100m")),
            ("1.5", Ok("1500m")),
            ("1.234", Ok("1.234")),
            ("1.5Gi", Ok("1536Mi")),
            ("1024Mi", Ok("1Gi")),
            ("0100Mi", Ok("0100Mi")),
            ("+5", Ok("+5")),
            ("0", Ok("0")),
            ("00", Ok("0")),
            ("0.5", Ok("500m")),
            (".", Ok("0")),
            ("1e3", Ok("1e3")),
            ("1000000", Ok("1M")),
            (" 5 ", Ok("5")),
            ("", Err(super::SYNTAX)),
            ("abc", Err(super::SYNTAX)),
            ("1X", Err(super::SYNTAX)),
            ("1KK", Err(super::SUFFIX)),
            ("1e", Err(super::SUFFIX)),
        ] {
            assert_eq!(canonical(text).as_deref().map_err(|e| *e), wanted, "{text}");
        }
    }
}
