//! Bounds of numbers, and numbers printed as Go prints them.
//!
//! The bounds of a schema are floating-point numbers, but a whole value is compared with their whole
//! part: what the API server does, and what its messages show.

use model::Value;

/// A JSON number: whole when it is written so and fits 64 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Whole(i64),
    Float(f64),
}

impl Number {
    pub(super) fn of(value: &Value) -> Option<Self> {
        let number = value.as_number()?;
        number
            .as_i64()
            .map(Self::Whole)
            .or_else(|| number.as_f64().map(Self::Float))
    }

    fn float(self) -> f64 {
        match self {
            Self::Whole(n) => n as f64,
            Self::Float(n) => n,
        }
    }

    pub(super) fn show(self) -> String {
        match self {
            Self::Whole(n) => n.to_string(),
            Self::Float(n) => show_float(n),
        }
    }
}

/// The declared type, as far as it limits a number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Range {
    #[default]
    Any,
    Integer,
    Int32,
    Int64,
    Number,
    Float32,
    Float64,
}

impl Range {
    pub(super) fn of(types: &[&str], format: Option<&str>) -> Self {
        match (types, format) {
            (["integer"], Some("int32")) => Self::Int32,
            (["integer"], Some("int64")) => Self::Int64,
            (["integer"], _) => Self::Integer,
            (["number"], Some("float")) => Self::Float32,
            (["number"], Some("double")) => Self::Float64,
            (["number"], _) => Self::Number,
            _ => Self::Any,
        }
    }

    fn holds(self, number: Number) -> bool {
        match (self, number) {
            (Self::Any | Self::Number | Self::Float64, _)
            | (Self::Integer | Self::Int64, Number::Whole(_)) => true,
            (Self::Int32, Number::Whole(n)) => i32::try_from(n).is_ok(),
            (Self::Integer | Self::Int64, Number::Float(n)) => whole_text(n),
            (Self::Int32, Number::Float(n)) => whole_text(n) && n.abs() <= 2_147_483_648.0,
            (Self::Float32, n) => n.float().abs() <= f64::from(f32::MAX),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Any => " (default format)",
            Self::Integer => "integer (default format)",
            Self::Int32 => "integer with format int32",
            Self::Int64 => "integer with format int64",
            Self::Number => "number (default format)",
            Self::Float32 => "number with format float",
            Self::Float64 => "number with format double",
        }
    }
}

fn whole_text(n: f64) -> bool {
    n.fract() == 0.0 && n.abs() < 9.2e18
}

/// The bounds of one schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    pub(super) range: Range,
    pub(super) multiple_of: Option<f64>,
    pub(super) minimum: Option<f64>,
    pub(super) above: bool,
    pub(super) maximum: Option<f64>,
    pub(super) below: bool,
}

/// What a number breaks: a rule of the value, or of the schema itself.
pub(super) enum Breach {
    /// Does not fit the declared type.
    Range(String),
    /// Breaks a bound; the value as it is shown, and the message.
    Bound(String, String),
}

impl Bounds {
    pub(super) fn check(&self, number: Number, path: &str) -> Vec<Breach> {
        let mut breaches: Vec<Breach> = self.misfit(number, "Checked", path).into_iter().collect();
        if let Some(factor) = self.multiple_of {
            let (value, factor) =
                self.comparable(number, factor, "MultipleOf", path, &mut breaches);
            breaches.extend(multiple(value, factor, path));
        }
        if let Some(limit) = self.minimum {
            let what = "Minimum boundary";
            let (value, limit) = self.comparable(number, limit, what, path, &mut breaches);
            if less(value, limit) || self.above && !less(limit, value) {
                let words = ["greater than or equal to", "greater than"][usize::from(self.above)];
                breaches.push(bound(value, limit, words, path));
            }
        }
        if let Some(limit) = self.maximum {
            let what = "Maximum boundary";
            let (value, limit) = self.comparable(number, limit, what, path, &mut breaches);
            if less(limit, value) || self.below && !less(value, limit) {
                let words = ["less than or equal to", "less than"][usize::from(self.below)];
                breaches.push(bound(value, limit, words, path));
            }
        }
        breaches
    }

    fn misfit(&self, number: Number, what: &str, path: &str) -> Option<Breach> {
        let words = self.range.words();
        let text = || format!("{what} value must be of type {words} in {path}");
        (!self.range.holds(number)).then(|| Breach::Range(text()))
    }

    // A whole value is compared with the whole part of the limit, if that fits the declared type.
    fn comparable(
        &self,
        number: Number,
        limit: f64,
        what: &str,
        path: &str,
        breaches: &mut Vec<Breach>,
    ) -> (Number, Number) {
        let misfit = self.misfit(Number::Float(limit), what, path);
        let fits = misfit.is_none();
        breaches.extend(misfit);
        match number {
            Number::Whole(_) if fits => (number, Number::Whole(go_int(limit))),
            Number::Whole(_) | Number::Float(_) => {
                (Number::Float(number.float()), Number::Float(limit))
            }
        }
    }
}

fn bound(value: Number, limit: Number, words: &str, path: &str) -> Breach {
    Breach::Bound(
        value.show(),
        format!("{path} in body should be {words} {}", limit.show()),
    )
}

fn less(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => a < b,
        (a, b) => a.float() < b.float(),
    }
}

fn multiple(value: Number, factor: Number, path: &str) -> Option<Breach> {
    if factor.float() <= 0.0 {
        let message = format!(
            "factor MultipleOf declared for {path} must be positive: {}",
            factor.show()
        );
        return Some(Breach::Bound(factor.show(), message));
    }
    let fits = match (value, factor) {
        (Number::Whole(value), Number::Whole(factor)) => value % factor == 0,
        (value, factor) => {
            let (value, factor) = (value.float(), factor.float());
            let times = if factor < 1.0 {
                1.0 / factor * value
            } else {
                value / factor
            };
            nearly_whole(times)
        }
    };
    (!fits).then(|| {
        let message = format!("{path} in body should be a multiple of {}", factor.show());
        Breach::Bound(value.show(), message)
    })
}

/// Whether a floating-point number stands for a whole one, within rounding.
pub(super) fn nearly_whole(n: f64) -> bool {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    if !n.is_finite() || n.abs() > SAFE {
        return false;
    }
    let diff = (n - n.trunc()).abs();
    let spread = n.abs() + n.trunc().abs();
    diff == 0.0 || diff / spread.min(f64::MAX) < 1e-9
}

// Go's conversion of a float to an int64 out of range gives the smallest int64.
fn go_int(n: f64) -> i64 {
    if n.abs() < 9_223_372_036_854_775_807.0 {
        n as i64
    } else {
        i64::MIN
    }
}

/// Prints a floating-point number as Go's `%v` does.
pub fn show_float(n: f64) -> String {
    if n.is_nan() {
        return "NaN".into();
    }
    if n.is_infinite() {
        return if n > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    let text = format!("{n:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) || n == 0.0 {
        return format!("{n}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_go_prints_them() {
        for (n, text) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (100_000.5, "100000.5"),
            (1e6, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (1.25e-7, "1.25e-07"),
            (-0.0001, "-0.0001"),
        ] {
            assert_eq!(show_float(n), text);
        }
    }
}
