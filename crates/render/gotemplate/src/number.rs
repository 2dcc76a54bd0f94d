//! Number constants: every type that can hold the written value holds it.

use crate::lex::Kind;
use crate::node::Number;
use crate::quote::{Unit, quote, unquote_char};
use crate::strconv::{parse_float, parse_int, parse_uint};

/// Reads a constant; the error is what Go says about it.
pub(crate) fn parse(pos: usize, text: &str, kind: Kind) -> Result<Number, String> {
    let number = Number {
        pos,
        text: text.to_owned(),
        ..Number::default()
    };
    match kind {
        Kind::CharConstant => rune(number),
        Kind::Complex => complex(number),
        _ => plain(number),
    }
}

fn rune(mut number: Number) -> Result<Number, String> {
    let (unit, tail) = unquote_char(&number.text[1..], '\'').ok_or("invalid syntax")?;
    if tail != "'" {
        return Err(format!("malformed character constant: {}", number.text));
    }
    let code = match unit {
        Unit::Byte(b) => u32::from(b),
        Unit::Rune(c) => c as u32,
    };
    number.int = Some(i64::from(code));
    number.uint = Some(u64::from(code));
    number.float = Some(f64::from(code));
    Ok(number)
}

fn complex(mut number: Number) -> Result<Number, String> {
    let text = number.text.trim_end_matches('i');
    let at = text.rfind(['+', '-']).filter(|at| *at > 0).unwrap_or(0);
    // A sign behind `e` or `p` belongs to the exponent.
    let at = match text[..at].chars().last() {
        Some('e' | 'E' | 'p' | 'P') => text[..at].rfind(['+', '-']).unwrap_or(0),
        _ => at,
    };
    let real = parse_float(&text[..at]);
    let imaginary = parse_float(&text[at..]);
    let (Some(real), Some(imaginary)) = (real, imaginary) else {
        return Err("syntax error scanning complex number".to_owned());
    };
    number.complex = Some((real, imaginary));
    simplify(&mut number);
    Ok(number)
}

// A complex number without an imaginary part is also everything else that can hold it.
fn simplify(number: &mut Number) {
    if let Some((real, 0.0)) = number.complex {
        number.float = Some(real);
        number.int = whole(real);
        number.uint = whole_unsigned(real);
    }
}

fn whole(f: f64) -> Option<i64> {
    let i = f as i64;
    (i as f64 == f && f < 9_223_372_036_854_775_808.0).then_some(i)
}

fn whole_unsigned(f: f64) -> Option<u64> {
    let u = f as u64;
    (f >= 0.0 && u as f64 == f && f < 18_446_744_073_709_551_616.0).then_some(u)
}

fn plain(mut number: Number) -> Result<Number, String> {
    let text = number.text.clone();
    if let Some(digits) = text.strip_suffix('i')
        && let Some(imaginary) = parse_float(digits)
    {
        number.complex = Some((0.0, imaginary));
        simplify(&mut number);
        return Ok(number);
    }
    number.uint = parse_uint(&text, 0).ok();
    number.int = parse_int(&text, 0).ok();
    if number.int == Some(0) {
        number.uint = Some(0);
    }
    if let Some(int) = number.int {
        number.float = Some(int as f64);
    } else if let Some(uint) = number.uint {
        number.float = Some(uint as f64);
    } else if let Some(float) = parse_float(&text) {
        if !text.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {}", quote(text.as_bytes())));
        }
        number.float = Some(float);
        number.int = whole(float);
        number.uint = whole_unsigned(float);
    }
    if number.int.is_none() && number.uint.is_none() && number.float.is_none() {
        return Err(format!("illegal number syntax: {}", quote(text.as_bytes())));
    }
    Ok(number)
}
