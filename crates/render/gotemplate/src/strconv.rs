//! Numbers to and from text as Go's `strconv` does it.

/// Why a text is no number of the wanted type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumError {
    Syntax,
    Range,
}

/// `strconv.ParseUint(text, base, 64)`; base 0 reads the prefix and takes `_`.
pub(crate) fn parse_uint(text: &str, base: u32) -> Result<u64, NumError> {
    if text.is_empty() {
        return Err(NumError::Syntax);
    }
    let (base, digits, underscores) = if base == 0 {
        prefix(text)
    } else {
        (base, text, false)
    };
    if underscores && text.contains('_') && !underscores_fit(text) {
        return Err(NumError::Syntax);
    }
    let mut value: u64 = 0;
    let mut over = false;
    let mut any = false;
    for c in digits.chars() {
        if c == '_' && underscores {
            continue;
        }
        let digit = c
            .to_digit(36)
            .filter(|d| *d < base && c.is_ascii())
            .ok_or(NumError::Syntax)?;
        any = true;
        match value
            .checked_mul(u64::from(base))
            .and_then(|v| v.checked_add(u64::from(digit)))
        {
            Some(v) => value = v,
            None => over = true,
        }
    }
    if !any {
        return Err(NumError::Syntax);
    }
    if over {
        Err(NumError::Range)
    } else {
        Ok(value)
    }
}

fn prefix(text: &str) -> (u32, &str, bool) {
    let bytes = text.as_bytes();
    if bytes[0] != b'0' {
        return (10, text, true);
    }
    match bytes.get(1).map(u8::to_ascii_lowercase) {
        Some(b'b') if bytes.len() >= 3 => (2, &text[2..], true),
        Some(b'o') if bytes.len() >= 3 => (8, &text[2..], true),
        Some(b'x') if bytes.len() >= 3 => (16, &text[2..], true),
        Some(_) => (8, &text[1..], true),
        None => (10, text, true),
    }
}

// An underscore must stand between digits, or between the prefix and a digit.
fn underscores_fit(text: &str) -> bool {
    let text = text.trim_start_matches(['+', '-']);
    let lower = text.to_ascii_lowercase();
    let hex = lower.starts_with("0x");
    let start = if hex || lower.starts_with("0b") || lower.starts_with("0o") {
        2
    } else {
        0
    };
    let mut last = if start == 2 { '0' } else { '^' };
    for c in lower[start..].chars() {
        if c.is_ascii_digit() || (hex && c.is_ascii_hexdigit()) {
            last = '0';
        } else if c == '_' {
            if last != '0' {
                return false;
            }
            last = '_';
        } else {
            if last == '_' {
                return false;
            }
            last = '!';
        }
    }
    last != '_'
}

/// `strconv.ParseInt(text, base, 64)`.
pub(crate) fn parse_int(text: &str, base: u32) -> Result<i64, NumError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let value = parse_uint(digits, base)?;
    if negative {
        0i64.checked_sub_unsigned(value).ok_or(NumError::Range)
    } else {
        i64::try_from(value).map_err(|_| NumError::Range)
    }
}

/// `strconv.ParseFloat(text, 64)`; none when it is no float or too big for one.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = body.to_ascii_lowercase();
    if matches!(lower.as_str(), "inf" | "infinity") {
        return Some(if text.starts_with('-') {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        });
    }
    if lower == "nan" {
        return (body.len() == text.len()).then_some(f64::NAN);
    }
    if let Some(digits) = lower.strip_prefix("0x") {
        return hex_float(text.starts_with('-'), digits).filter(|_| underscores_ok(text));
    }
    if !lower.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !lower
            .bytes()
            .all(|b| b.is_ascii_digit() || b".e+-_".contains(&b))
        || !lower.bytes().any(|b| b.is_ascii_digit())
    {
        return None;
    }
    if !underscores_ok(text) {
        return None;
    }
    let value: f64 = text.replace('_', "").parse().ok()?;
    value.is_finite().then_some(value)
}

fn underscores_ok(text: &str) -> bool {
    !text.contains('_') || underscores_fit(text)
}

fn hex_float(negative: bool, body: &str) -> Option<f64> {
    let (mantissa, exponent) = body.split_once('p')?;
    let exponent: i32 = exponent.replace('_', "").parse().ok()?;
    let mut value = 0.0f64;
    let mut scale = 0i32;
    let (mut point, mut any) = (false, false);
    for c in mantissa.chars() {
        match c {
            '_' => {}
            '.' if !point => point = true,
            _ => {
                value = value * 16.0 + f64::from(c.to_digit(16)?);
                scale -= if point { 4 } else { 0 };
                any = true;
            }
        }
    }
    let value = value * 2f64.powi(exponent.checked_add(scale)?);
    (any && value.is_finite()).then_some(if negative { -value } else { value })
}

/// A float in the given notation, as `strconv.FormatFloat(f, verb, precision, 64)`.
///
/// No precision stands for the shortest text that reads back as the same number.
pub(crate) fn format_float(f: f64, verb: u8, precision: Option<usize>) -> String {
    if f.is_nan() {
        return "NaN".to_owned();
    }
    if f.is_infinite() {
        return if f > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    match verb {
        b'e' | b'E' => exponent_form(f, precision, verb),
        b'f' | b'F' => match precision {
            Some(precision) => format!("{f:.precision$}"),
            None => format!("{f}"),
        },
        b'x' | b'X' => hex_form(f, precision, verb == b'X'),
        b'b' => binary_form(f),
        _ => general_form(f, precision, verb),
    }
}

fn exponent_form(f: f64, precision: Option<usize>, verb: u8) -> String {
    let text = match precision {
        Some(precision) => format!("{f:.precision$e}"),
        None => format!("{f:e}"),
    };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!(
        "{digits}{}{sign}{:02}",
        char::from(verb),
        exponent.unsigned_abs()
    )
}

// The shorter of the two notations: an exponent below 1e-4 and from the precision on, which counts
// as 6 when none is asked for.
fn general_form(f: f64, precision: Option<usize>, verb: u8) -> String {
    let (digits, exponent) = digits_of(f, precision);
    let count = digits.len() as i32;
    let limit = match precision.map(|p| p.max(1) as i32) {
        None => 6,
        Some(limit) if limit > count && count > exponent => count,
        Some(limit) => limit,
    };
    let sign = if f.is_sign_negative() { "-" } else { "" };
    if exponent < -4 || exponent >= limit {
        let letter = if verb == b'G' { 'E' } else { 'e' };
        let mark = if exponent < 0 { '-' } else { '+' };
        let (head, tail) = digits.split_at(1);
        let dot = if tail.is_empty() { "" } else { "." };
        return format!(
            "{sign}{head}{dot}{tail}{letter}{mark}{:02}",
            exponent.unsigned_abs()
        );
    }
    format!("{sign}{}", place_point(&digits, exponent))
}

// Significant digits without zeros at the end, and the exponent of the first one.
fn digits_of(f: f64, precision: Option<usize>) -> (String, i32) {
    let text = match precision {
        None => format!("{:e}", f.abs()),
        Some(p) => format!("{:.*e}", p.max(1) - 1, f.abs()),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let trimmed = digits.trim_end_matches('0');
    let digits = if trimmed.is_empty() { "0" } else { trimmed };
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}

fn place_point(digits: &str, exponent: i32) -> String {
    if exponent < 0 {
        return format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{digits}{}", "0".repeat(whole - digits.len()));
    }
    format!("{}.{}", &digits[..whole], &digits[whole..])
}

fn binary_form(f: f64) -> String {
    let bits = f.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let (mantissa, exponent) = if exponent == 0 {
        (fraction, -1074)
    } else {
        (fraction | (1 << 52), exponent - 1075)
    };
    let sign = if f.is_sign_negative() { "-" } else { "" };
    format!("{sign}{mantissa}p{exponent:+}")
}

fn hex_form(f: f64, precision: Option<usize>, upper: bool) -> String {
    let bits = f.to_bits();
    let mut mantissa = bits & ((1 << 52) - 1);
    let raw = ((bits >> 52) & 0x7ff) as i32;
    let mut exponent = if raw == 0 { -1022 } else { raw - 1023 };
    if raw != 0 {
        mantissa |= 1 << 52;
    } else if mantissa == 0 {
        exponent = 0;
    } else {
        while mantissa & (1 << 52) == 0 {
            mantissa <<= 1;
            exponent -= 1;
        }
    }
    if let Some(p) = precision
        && p < 13
    {
        let shift = 52 - 4 * p as u32;
        let half = 1u64 << (shift - 1);
        let rest = mantissa & ((1 << shift) - 1);
        mantissa >>= shift;
        if rest > half || (rest == half && mantissa & 1 == 1) {
            mantissa += 1;
        }
        mantissa <<= shift;
        if mantissa >= 1 << 53 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let mut fraction = format!("{:013x}", mantissa & ((1 << 52) - 1));
    match precision {
        None => fraction.truncate(fraction.trim_end_matches('0').len()),
        Some(p) if p <= 13 => fraction.truncate(p),
        Some(p) => fraction.push_str(&"0".repeat(p - 13)),
    }
    let sign = if f.is_sign_negative() { "-" } else { "" };
    let dot = if fraction.is_empty() { "" } else { "." };
    let mark = if exponent < 0 { '-' } else { '+' };
    let lead = mantissa >> 52;
    let text = format!(
        "{sign}0x{lead}{dot}{fraction}p{mark}{:02}",
        exponent.unsigned_abs()
    );
    if upper { text.to_uppercase() } else { text }
}
