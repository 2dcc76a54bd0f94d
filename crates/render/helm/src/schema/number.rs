//! Numbers of schemas, compared exactly as decimals.

use model::Value;
use std::cmp::Ordering;

// A decimal: digits and the power of ten behind them.
fn decimal(value: &Value) -> Option<(i128, i32)> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text.as_str(), 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, exponent - i32::try_from(fraction.len()).ok()?))
}

// Both numbers over one power of ten; `None` when they are too far apart.
fn aligned(a: &Value, b: &Value) -> Option<(i128, i128)> {
    let ((a, a_power), (b, b_power)) = (decimal(a)?, decimal(b)?);
    let low = a_power.min(b_power);
    let scale = |digits: i128, power: i32| {
        let factor = 10i128.checked_pow(u32::try_from(power - low).ok()?)?;
        digits.checked_mul(factor)
    };
    Some((scale(a, a_power)?, scale(b, b_power)?))
}

/// Which of two numbers is larger.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    if let Some((a, b)) = aligned(a, b) {
        a.cmp(&b)
    } else {
        let float = |value: &Value| value.as_f64().unwrap_or_default();
        float(a).total_cmp(&float(b))
    }
}

/// Whether a number has no fraction.
pub(super) fn is_whole(value: &Value) -> bool {
    match decimal(value) {
        Some((digits, power)) if power < 0 => {
            let factor = u32::try_from(-power)
                .ok()
                .and_then(|p| 10i128.checked_pow(p));
            factor.is_some_and(|factor| digits % factor == 0)
        }
        Some(_) => true,
        None => value.as_f64().is_some_and(|float| float.fract() == 0.0),
    }
}

/// Whether one number is a whole multiple of another.
pub(super) fn is_multiple(value: &Value, of: &Value) -> bool {
    match aligned(value, of) {
        Some((_, 0)) => true,
        Some((value, of)) => value % of == 0,
        None => {
            let (value, of) = (value.as_f64().unwrap_or(0.0), of.as_f64().unwrap_or(1.0));
            (value / of).fract() == 0.0
        }
    }
}

/// A number with at most ten digits, as Go prints a `big.Float`.
pub(super) fn brief(value: &Value) -> String {
    let float = value.as_f64().unwrap_or_default();
    if float == 0.0 {
        return "0".into();
    }
    let digits = format!("{float:.9e}");
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..10).contains(&exponent) {
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let places = usize::try_from(9 - exponent).unwrap_or(0);
    let text = format!("{float:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A number as English readers see it: `65,536`.
pub(super) fn english(value: &Value) -> String {
    let text = value
        .as_f64()
        .map_or_else(|| value.to_string(), |float| format!("{float}"));
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest.to_owned()),
        None => ("", text),
    };
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole.to_owned(), format!(".{fraction}")),
        None => (text, String::new()),
    };
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}
