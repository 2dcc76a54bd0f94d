//! Numbers as Kubernetes' decoder keeps them: integers as long as they fit, floats otherwise.

use serde_json::Number;

/// Reads a number's text into an untyped value. `None` when it is too large for a float.
///
/// Text without a point that fits 64 bits is an integer. A float without a fraction becomes one
/// too, as it would after being stored and read again.
pub fn untyped(text: &str) -> Option<Number> {
    if !text.contains('.')
        && let Ok(whole) = text.parse::<i64>()
    {
        return Some(whole.into());
    }
    let float: f64 = text.parse().ok()?;
    from_float(float)
}

/// A float as a JSON number; an integer when it has no fraction. `None` when it is not finite.
pub fn from_float(float: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if float.fract() == 0.0 && float.abs() <= EXACT {
        return Some((float as i64).into());
    }
    Number::from_f64(float)
}

/// Prints a number as Go prints it.
pub fn text(number: &Number) -> String {
    if number.is_i64() || number.is_u64() {
        return number.to_string();
    }
    number.as_f64().map_or_else(|| number.to_string(), float)
}

/// Prints a float as Go's JSON does: exponents only below 1e-6 and from 1e21 on.
pub fn float(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        return match text.split_once("e-") {
            Some(_) => text,
            None => text.replacen('e', "e+", 1),
        };
    }
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_go_prints_them() {
        for (input, shown) in [
            ("1", "1"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("1.5", "1.5"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("1.5e-9", "1.5e-9"),
            ("0.000001", "0.000001"),
            ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9223372036854776000"),
            ("-0", "0"),
        ] {
            assert_eq!(text(&untyped(input).unwrap()), shown, "{input}");
        }
        assert!(untyped("1e400").is_none());
    }
}
