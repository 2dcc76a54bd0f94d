//! Exact decimal numbers, for arithmetic on floats that people can check by hand.

use num_bigint::{BigInt, BigUint, Sign};

/// How many digits behind the point a division keeps.
const DIVISION_DIGITS: i64 = 16;
/// Exponents beyond this are refused; a float has none of them.
const EXPONENT_MAX: i64 = 5000;

/// A whole number times a power of ten.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    value: BigInt,
    exponent: i64,
}

fn ten(power: i64) -> BigInt {
    BigInt::from(10u8).pow(power.clamp(0, 4 * EXPONENT_MAX) as u32)
}

impl Decimal {
    /// The shortest decimal that stands for a float.
    pub(super) fn from_float(f: f64) -> Result<Self, String> {
        if !f.is_finite() {
            return Err(format!(
                "Cannot create a Decimal from {}",
                crate::strconv::format_float(f, b'g', None)
            ));
        }
        let text = format!("{:e}", f.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
        let behind = digits.len() as i64 - 1;
        let exponent = exponent.parse::<i64>().unwrap_or(0) - behind;
        let magnitude = BigUint::parse_bytes(digits.as_bytes(), 10).unwrap_or_default();
        let sign = if f < 0.0 { Sign::Minus } else { Sign::Plus };
        Ok(Self {
            value: BigInt::from_biguint(sign, magnitude),
            exponent,
        })
    }

    fn scaled(&self, exponent: i64) -> BigInt {
        &self.value * ten(self.exponent - exponent)
    }

    fn checked(self) -> Result<Self, String> {
        if self.exponent.abs() > EXPONENT_MAX {
            return Err("the number has too many digits".to_owned());
        }
        Ok(self)
    }

    pub(super) fn add(&self, other: &Self) -> Result<Self, String> {
        let exponent = self.exponent.min(other.exponent);
        Ok(Self {
            value: self.scaled(exponent) + other.scaled(exponent),
            exponent,
        })
    }

    pub(super) fn sub(&self, other: &Self) -> Result<Self, String> {
        let exponent = self.exponent.min(other.exponent);
        Ok(Self {
            value: self.scaled(exponent) - other.scaled(exponent),
            exponent,
        })
    }

    pub(super) fn mul(&self, other: &Self) -> Result<Self, String> {
        let exponent = self.exponent + other.exponent;
        Self {
            value: &self.value * &other.value,
            exponent,
        }
        .checked()
    }

    /// Rounds half away from zero at the last digit it keeps.
    pub(super) fn div(&self, other: &Self) -> Result<Self, String> {
        if other.value.sign() == Sign::NoSign {
            return Err("decimal division by 0".to_owned());
        }
        let shift = self.exponent - other.exponent + DIVISION_DIGITS;
        let top = &self.value * ten(shift);
        let bottom = &other.value * ten(-shift);
        let quotient = &top / &bottom;
        let rest = (&top - &quotient * &bottom).magnitude() * 2u8;
        let step = if rest < *bottom.magnitude() {
            0
        } else if (top.sign() == Sign::Minus) == (bottom.sign() == Sign::Minus) {
            1
        } else {
            -1
        };
        Ok(Self {
            value: quotient + step,
            exponent: -DIVISION_DIGITS,
        })
    }

    /// The nearest float.
    pub(super) fn to_float(&self) -> f64 {
        format!("{}e{}", self.value, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }
}
