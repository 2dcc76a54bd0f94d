//! `test`, `[`, `[[` and `expr`.

use crate::shell::machine::{Outcome, Shell, Streams};
use crate::shell::text::{Pattern, expression};

/// How deep a condition may be nested.
const DEPTH_MAX: usize = 40;

/// Runs `test`, `[` or `[[`.
pub(crate) fn run(shell: &Shell, name: &str, arguments: &[String], streams: &Streams) -> Outcome {
    let close = match name {
        "[" => "]",
        "[[" => "]]",
        _ => "",
    };
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if !close.is_empty() && words.pop() != Some(close) {
        shell.complain(streams, &format!("{name}: missing {close}"))?;
        return Ok(2);
    }
    let mut test = Test {
        shell,
        words: &words,
        at: 0,
        depth: 0,
        patterns: name == "[[",
    };
    let result = test.either();
    match result {
        Ok(holds) if test.at == words.len() => Ok(i32::from(!holds)),
        Ok(_) => {
            let word = words.get(test.at).unwrap_or(&"");
            shell.complain(streams, &format!("{name}: {word}: unexpected operator"))?;
            Ok(2)
        }
        Err(why) => {
            shell.complain(streams, &format!("{name}: {why}"))?;
            Ok(2)
        }
    }
}

struct Test<'a> {
    shell: &'a Shell,
    words: &'a [&'a str],
    at: usize,
    depth: usize,
    patterns: bool,
}

impl<'a> Test<'a> {
    fn peek(&self, ahead: usize) -> Option<&'a str> {
        self.words.get(self.at + ahead).copied()
    }

    fn either(&mut self) -> Result<bool, String> {
        let mut holds = self.both()?;
        while matches!(self.peek(0), Some("-o" | "||")) {
            self.at += 1;
            holds |= self.both()?;
        }
        Ok(holds)
    }

    fn both(&mut self) -> Result<bool, String> {
        let mut holds = self.negated()?;
        while matches!(self.peek(0), Some("-a" | "&&")) {
            self.at += 1;
            holds &= self.negated()?;
        }
        Ok(holds)
    }

    fn negated(&mut self) -> Result<bool, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("too complex".into());
        }
        let left = self.words.len() - self.at;
        let holds = if self.peek(0) == Some("!") && left > 1 && !self.is_binary(1) {
            self.at += 1;
            !self.negated()?
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(holds)
    }

    fn is_binary(&self, at: usize) -> bool {
        const SIGNS: [&str; 15] = [
            "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot",
            "-ef", "=~",
        ];
        self.peek(at).is_some_and(|word| SIGNS.contains(&word)) && self.peek(at + 1).is_some()
    }

    fn primary(&mut self) -> Result<bool, String> {
        let Some(first) = self.peek(0) else {
            return Ok(false);
        };
        if self.is_binary(1) {
            let (sign, right) = (self.words[self.at + 1], self.words[self.at + 2]);
            self.at += 3;
            return self.compare(first, sign, right);
        }
        if first == "(" && self.words.len() > self.at + 1 {
            self.at += 1;
            let holds = self.either()?;
            if self.peek(0) != Some(")") {
                return Err("closing paren expected".into());
            }
            self.at += 1;
            return Ok(holds);
        }
        let operand = self.peek(1);
        if let (Some(operand), true) = (operand, first.len() == 2 && first.starts_with('-')) {
            if let Some(holds) = self.unary(first, operand) {
                self.at += 2;
                return Ok(holds);
            }
        }
        self.at += 1;
        Ok(!first.is_empty())
    }

    fn unary(&self, sign: &str, operand: &str) -> Option<bool> {
        let path = self.shell.path(operand);
        let files = &self.shell.files;
        Some(match sign {
            "-z" => operand.is_empty(),
            "-n" => !operand.is_empty(),
            "-e" | "-a" | "-r" | "-w" => files.exists(&path),
            "-f" | "-x" => files.read(&path).is_ok() || (sign == "-x" && files.is_folder(&path)),
            "-d" => files.is_folder(&path),
            "-s" => files.read(&path).is_ok_and(|text| !text.is_empty()),
            "-v" => self.shell.variables.contains_key(operand),
            "-h" | "-L" | "-p" | "-S" | "-b" | "-c" | "-t" => false,
            _ => return None,
        })
    }

    fn compare(&self, left: &str, sign: &str, right: &str) -> Result<bool, String> {
        Ok(match sign {
            "=" | "==" if self.patterns => Pattern::new([(right, false)]).matches(left),
            "!=" if self.patterns => !Pattern::new([(right, false)]).matches(left),
            "=" | "==" => left == right,
            "!=" => left != right,
            "<" => left < right,
            ">" => left > right,
            "=~" => expression(right, true, false).is_some_and(|regex| regex.is_match(left)),
            "-nt" | "-ot" | "-ef" => false,
            _ => {
                let number = |text: &str| {
                    text.trim()
                        .parse::<i64>()
                        .map_err(|_| format!("Illegal number: {text}"))
                };
                let (left, right) = (number(left)?, number(right)?);
                match sign {
                    "-eq" => left == right,
                    "-ne" => left != right,
                    "-lt" => left < right,
                    "-le" => left <= right,
                    "-gt" => left > right,
                    _ => left >= right,
                }
            }
        })
    }
}

/// `expr 1 + 2` and its kin.
pub(crate) fn expr(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        [left, sign, right] => {
            let numbers = left.parse::<i64>().ok().zip(right.parse::<i64>().ok());
            let truth = |holds: bool| i64::from(holds).to_string();
            match (*sign, numbers) {
                ("+", Some((a, b))) => a.wrapping_add(b).to_string(),
                ("-", Some((a, b))) => a.wrapping_sub(b).to_string(),
                ("*", Some((a, b))) => a.wrapping_mul(b).to_string(),
                ("/", Some((a, b))) if b != 0 => a.wrapping_div(b).to_string(),
                ("%", Some((a, b))) if b != 0 => a.wrapping_rem(b).to_string(),
                ("<", Some((a, b))) => truth(a < b),
                (">", Some((a, b))) => truth(a > b),
                ("<=", Some((a, b))) => truth(a <= b),
                (">=", Some((a, b))) => truth(a >= b),
                ("=", _) => truth(left == right),
                ("!=", _) => truth(left != right),
                _ => {
                    shell.write(&streams.err, "expr: non-integer argument\n")?;
                    return Ok(2);
                }
            }
        }
        [only] => (*only).to_owned(),
        ["length", text] => text.chars().count().to_string(),
        _ => {
            shell.write(&streams.err, "expr: syntax error\n")?;
            return Ok(2);
        }
    };
    shell.write(&streams.out, &format!("{result}\n"))?;
    Ok(i32::from(result.is_empty() || result == "0"))
}
