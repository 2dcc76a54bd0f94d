//! Arithmetic: `$((count + 1))`.

use crate::environment::Variables;

/// How deep an expression may be nested.
const DEPTH_MAX: usize = 60;

/// Calculates an expression; assignments in it change the variables.
pub(crate) fn calculate(text: &str, variables: &mut Variables) -> Result<i64, String> {
    let mut sum = Sum {
        text: text.as_bytes(),
        at: 0,
        depth: 0,
        variables,
    };
    sum.spaces();
    if sum.at == sum.text.len() {
        return Ok(0);
    }
    let value = sum.comma()?;
    sum.spaces();
    if sum.at < sum.text.len() {
        return Err(format!("arithmetic expression: expecting EOF: \"{text}\""));
    }
    Ok(value)
}

struct Sum<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    variables: &'a mut Variables,
}

const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Sum<'_> {
    fn spaces(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, sign: &str) -> bool {
        self.spaces();
        let found = self.text[self.at..].starts_with(sign.as_bytes());
        if found {
            self.at += sign.len();
        }
        found
    }

    fn comma(&mut self) -> Result<i64, String> {
        let mut value = self.choice()?;
        while self.take(",") {
            value = self.choice()?;
        }
        Ok(value)
    }

    fn choice(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("arithmetic expression: nested too deeply".into());
        }
        let test = self.level(0)?;
        let value = if self.take("?") {
            let yes = self.choice()?;
            if !self.take(":") {
                return Err("arithmetic expression: expecting ':'".into());
            }
            let no = self.choice()?;
            if test != 0 { yes } else { no }
        } else {
            test
        };
        self.depth -= 1;
        Ok(value)
    }

    fn sign(&mut self, level: usize) -> Option<&'static str> {
        self.spaces();
        let rest = &self.text[self.at..];
        let next = |n: usize| rest.get(n).copied().unwrap_or(b' ');
        let found = LEVELS[level]
            .iter()
            .find(|sign| rest.starts_with(sign.as_bytes()))?;
        let after = next(found.len());
        // `|` is not half of `||`, `*` not of `**`, `<` not of `<<`, and no sign is one of `x += 1`.
        let doubled =
            found.len() == 1 && "|&<>*".contains(*found) && next(1) == found.as_bytes()[0];
        let assigns = after == b'=' && !matches!(*found, "==" | "!=" | "<=" | ">=" | "<" | ">");
        if doubled || assigns {
            return None;
        }
        self.at += found.len();
        Some(found)
    }

    fn level(&mut self, level: usize) -> Result<i64, String> {
        if level == LEVELS.len() {
            return self.power();
        }
        let mut left = self.level(level + 1)?;
        while let Some(sign) = self.sign(level) {
            let right = self.level(level + 1)?;
            left = apply(sign, left, right)?;
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<i64, String> {
        let base = self.unary()?;
        if !self.take("**") {
            return Ok(base);
        }
        let exponent = self.power()?;
        let exponent = u32::try_from(exponent).map_err(|_| "exponent less than 0".to_owned())?;
        Ok(base.wrapping_pow(exponent))
    }

    fn unary(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("arithmetic expression: nested too deeply".into());
        }
        self.spaces();
        let value = if self.text[self.at..].starts_with(b"++")
            || self.text[self.at..].starts_with(b"--")
        {
            let step = if self.take("++") { 1 } else { -1 };
            self.at += if step < 0 { 2 } else { 0 };
            let name = self.name();
            self.store(&name, self.value(&name).wrapping_add(step))
        } else if self.take("-") {
            self.unary()?.wrapping_neg()
        } else if self.take("+") {
            self.unary()?
        } else if self.text[self.at..].starts_with(b"!") && !self.text[self.at..].starts_with(b"!=")
        {
            self.at += 1;
            i64::from(self.unary()? == 0)
        } else if self.take("~") {
            !self.unary()?
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn primary(&mut self) -> Result<i64, String> {
        if self.take("(") {
            let value = self.comma()?;
            if !self.take(")") {
                return Err("arithmetic expression: expecting ')'".into());
            }
            return Ok(value);
        }
        self.take("$");
        let word = self.word();
        if word.is_empty() {
            let text = String::from_utf8_lossy(self.text).into_owned();
            return Err(format!(
                "arithmetic expression: expecting primary: \"{text}\""
            ));
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return number(&word).ok_or_else(|| format!("Illegal number: {word}"));
        }
        self.named(&word)
    }

    fn named(&mut self, name: &str) -> Result<i64, String> {
        let old = self.value(name);
        if self.take("++") {
            self.store(name, old.wrapping_add(1));
            return Ok(old);
        }
        if self.take("--") {
            self.store(name, old.wrapping_sub(1));
            return Ok(old);
        }
        self.spaces();
        let rest = &self.text[self.at..];
        if rest.starts_with(b"=") && !rest.starts_with(b"==") {
            self.at += 1;
            let value = self.choice()?;
            return Ok(self.store(name, value));
        }
        for sign in ["+", "-", "*", "/", "%"] {
            if rest.starts_with(format!("{sign}=").as_bytes()) {
                self.at += 2;
                let right = self.choice()?;
                let value = apply(sign, old, right)?;
                return Ok(self.store(name, value));
            }
        }
        Ok(old)
    }

    fn word(&mut self) -> String {
        self.spaces();
        let start = self.at;
        while self
            .text
            .get(self.at)
            .is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'_')
        {
            self.at += 1;
        }
        String::from_utf8_lossy(&self.text[start..self.at]).into_owned()
    }

    fn name(&mut self) -> String {
        self.take("$");
        self.word()
    }

    fn value(&self, name: &str) -> i64 {
        let text = self.variables.get(name).map_or("", String::as_str);
        number(text.trim()).unwrap_or(0)
    }

    fn store(&mut self, name: &str, value: i64) -> i64 {
        self.variables.insert(name.to_owned(), value.to_string());
        value
    }
}

fn number(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let value = if let Some(hex) = digits.strip_prefix("0x") {
        i64::from_str_radix(hex, 16).ok()?
    } else if digits.len() > 1 && digits.starts_with('0') {
        i64::from_str_radix(digits, 8).ok()?
    } else {
        digits.parse().ok()?
    };
    Some(sign * value)
}

fn apply(sign: &str, left: i64, right: i64) -> Result<i64, String> {
    let truth = |holds: bool| i64::from(holds);
    let shift = u32::try_from(right.rem_euclid(64)).unwrap_or(0);
    Ok(match sign {
        "||" => truth(left != 0 || right != 0),
        "&&" => truth(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => truth(left == right),
        "!=" => truth(left != right),
        "<=" => truth(left <= right),
        ">=" => truth(left >= right),
        "<" => truth(left < right),
        ">" => truth(left > right),
        "<<" => left.wrapping_shl(shift),
        ">>" => left.wrapping_shr(shift),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        _ if right == 0 => return Err("arithmetic expression: division by zero".into()),
        "/" => left.wrapping_div(right),
        _ => left.wrapping_rem(right),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let table = [
            ("1 + 2 * 3", 7),
            ("(1+2)*3", 9),
            ("10 / 3 % 2", 1),
            ("-2 - -3", 1),
            ("5 > 3 && 2 < 1", 0),
            ("1 ? 10 : 20", 10),
            ("n + 1", 5),
            ("$n << 2", 16),
            ("n++ + n", 9),
            ("++n", 5),
            ("--n", 3),
            ("m = 3, m * n", 12),
            ("n += 2", 6),
            ("2 ** 10", 1024),
            ("0x1f + 010", 39),
            ("!0", 1),
            ("n==4", 1),
            ("n >= 5", 0),
            ("", 0),
        ];
        for (text, expected) in table {
            let mut variables = Variables::from([("n".to_owned(), "4".to_owned())]);
            assert_eq!(calculate(text, &mut variables), Ok(expected), "{text}");
        }
        for text in ["1 +", "1 / 0", "(1", "1 2", "08"] {
            assert!(calculate(text, &mut Variables::new()).is_err(), "{text}");
        }
    }
}
