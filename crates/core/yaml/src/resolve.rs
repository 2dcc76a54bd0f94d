//! What a scalar means under Go's YAML 1.1 rules.

use crate::timestamp::is_timestamp;

/// A scalar's meaning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// Looks like a point in time; is read as text.
    Timestamp,
    Text,
}

impl Scalar {
    /// The short tag, as error messages print it.
    pub(crate) fn tag(&self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Int(_) | Self::Uint(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Timestamp => "!!timestamp",
            Self::Text => "!!str",
        }
    }
}

/// Resolves a scalar without a tag.
pub(crate) fn plain(text: &str) -> Scalar {
    match text.as_bytes().first() {
        None => Scalar::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            word(text).unwrap_or(Scalar::Text)
        }
        Some(b'.') => word(text)
            .or_else(|| go_float(text).map(Scalar::Float))
            .unwrap_or(Scalar::Text),
        Some(b'+' | b'-' | b'0'..=b'9') => word(text).unwrap_or_else(|| {
            if is_timestamp(text) {
                Scalar::Timestamp
            } else {
                number(text).unwrap_or(Scalar::Text)
            }
        }),
        Some(_) => Scalar::Text,
    }
}

fn word(text: &str) -> Option<Scalar> {
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn number(text: &str) -> Option<Scalar> {
    let plain = text.replace('_', "");
    if let Some(whole) = go_int(&plain) {
        return Some(match i64::try_from(whole) {
            Ok(small) => Scalar::Int(small),
            Err(_) => Scalar::Uint(u64::try_from(whole).ok()?),
        });
    }
    if looks_like_float(&plain) {
        return go_float(&plain).map(Scalar::Float);
    }
    None
}

// Go's integers with the base in front; only one without a sign may need all 64 bits.
fn go_int(text: &str) -> Option<i128> {
    let (signed, digits) = match text.as_bytes().first()? {
        b'-' | b'+' => (true, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (base, digits) = match lower.as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        _ if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || digits.starts_with(['+', '-']) {
        return None;
    }
    let value = i128::from_str_radix(digits, base).ok()?;
    let value = if text.starts_with('-') { -value } else { value };
    let max = if signed {
        i128::from(i64::MAX)
    } else {
        i128::from(u64::MAX)
    };
    (i128::from(i64::MIN)..=max)
        .contains(&value)
        .then_some(value)
}

// [-+]? ( .digits | digits [.digits?] ) ( e[-+]?digits )?
fn looks_like_float(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = rest.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = &rest[whole..];
    if let Some(after) = rest.strip_prefix('.') {
        let fraction = after.bytes().take_while(u8::is_ascii_digit).count();
        if whole == 0 && fraction == 0 {
            return false;
        }
        rest = &after[fraction..];
    } else if whole == 0 {
        return false;
    }
    if rest.is_empty() {
        return true;
    }
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else {
        return false;
    };
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn go_float(text: &str) -> Option<f64> {
    if !looks_like_float(text) {
        return None;
    }
    text.parse::<f64>().ok().filter(|f| f.is_finite())
}

/// Whether YAML 1.1 readers could take the text for a base 60 number; Go prints it in quotes.
pub(crate) fn is_base60(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some(colon) = rest.find(':') else {
        return false;
    };
    let (head, tail) = rest.split_at(colon);
    if !head.starts_with(|c: char| c.is_ascii_digit())
        || !head.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    {
        return false;
    }
    let (groups, fraction) = tail.split_once('.').unwrap_or((tail, ""));
    fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_')
        && groups[1..].split(':').all(|group| match group.as_bytes() {
            [one] => one.is_ascii_digit(),
            [ten, one] => (b'0'..=b'5').contains(ten) && one.is_ascii_digit(),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_follow_yaml_1_1() {
        for (text, wanted) in [
            ("yes", Scalar::Bool(true)),
            ("Off", Scalar::Bool(false)),
            ("n", Scalar::Bool(false)),
            ("yEs", Scalar::Text),
            ("~", Scalar::Null),
            ("0644", Scalar::Int(420)),
            ("0o17", Scalar::Int(15)),
            ("0b11", Scalar::Int(3)),
            ("0x_f", Scalar::Int(15)),
            ("-0644", Scalar::Int(-420)),
            ("08", Scalar::Float(8.0)),
            ("1_000", Scalar::Int(1000)),
            ("+1", Scalar::Int(1)),
            ("18446744073709551615", Scalar::Uint(u64::MAX)),
            ("1e3", Scalar::Float(1000.0)),
            ("1e400", Scalar::Text),
            (".5", Scalar::Float(0.5)),
            (".", Scalar::Text),
            ("1:30", Scalar::Text),
            ("2001-01-01", Scalar::Timestamp),
            ("<<", Scalar::Text),
            ("-", Scalar::Text),
            ("0x", Scalar::Text),
            ("a1", Scalar::Text),
        ] {
            assert_eq!(plain(text), wanted, "{text}");
        }
    }

    #[test]
    fn base_60_is_noticed() {
        for (text, wanted) in [
            ("1:30", true),
            ("190:20:30.15", true),
            ("1:60", false),
            ("a:1", false),
            ("1:2:", false),
        ] {
            assert_eq!(is_base60(text), wanted, "{text}");
        }
    }
}
