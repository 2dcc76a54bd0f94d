//! Reads tokens into a tree, macros included.

use crate::ast::{Access, Expr, Kind, Literal, Loop, Outcome};
use crate::fault::Fault;
use crate::lexer::{Token, TokenKind, tokens};

/// How long an expression may be, in characters.
const LENGTH_MAX: usize = 100_000;
/// How deep an expression may nest.
const DEPTH_MAX: usize = 160;

const OPERAND: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, \
     NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/// Reads an expression.
pub(crate) fn parse(source: &str) -> Result<Expr, Vec<Fault>> {
    let length = source.chars().count();
    if length > LENGTH_MAX {
        let message =
            format!("expression code point size exceeds limit: size: {length}, limit {LENGTH_MAX}");
        return Err(vec![Fault::new(0, message)]);
    }
    let (tokens, mut faults) = tokens(source);
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
    };
    match parser.whole() {
        Ok(expr) if faults.is_empty() => Ok(expr),
        Ok(_) => Err(faults),
        Err(fault) => {
            faults.push(fault);
            Err(faults)
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

type Parsed<T = Expr> = Result<T, Fault>;

fn expr(at: usize, kind: Kind) -> Expr {
    Expr { at, kind }
}

impl Parser {
    fn whole(&mut self) -> Parsed {
        let expr = self.expression()?;
        match self.peek() {
            TokenKind::End => Ok(expr),
            other => {
                let message = format!(
                    "Syntax error: mismatched input '{}' expecting <EOF>",
                    other.show()
                );
                Err(Fault::new(self.place(), message))
            }
        }
    }

    // The last token is always the end, so the index stays within.
    fn peek(&self) -> &TokenKind {
        &self.tokens[self.at.min(self.tokens.len() - 1)].kind
    }

    fn place(&self) -> usize {
        self.tokens[self.at.min(self.tokens.len() - 1)].at
    }

    fn eat(&mut self, sign: &str) -> Option<usize> {
        let place = self.place();
        if matches!(self.peek(), TokenKind::Sign(found) if *found == sign) {
            self.at += 1;
            Some(place)
        } else {
            None
        }
    }

    fn expect(&mut self, sign: &str) -> Parsed<usize> {
        self.eat(sign).ok_or_else(|| {
            let found = self.peek().show();
            Fault::new(
                self.place(),
                format!("Syntax error: missing '{sign}' at '{found}'"),
            )
        })
    }

    fn name(&mut self) -> Parsed<String> {
        if let TokenKind::Name(name) = self.peek().clone() {
            self.at += 1;
            return Ok(name);
        }
        let found = self.peek().show();
        let message = format!("Syntax error: mismatched input '{found}' expecting IDENTIFIER");
        Err(Fault::new(self.place(), message))
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("expression recursion limit exceeded: {DEPTH_MAX}");
            return Err(Fault::new(self.place(), message));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn expression(&mut self) -> Parsed {
        self.deeper(|parser| {
            let condition = parser.or()?;
            let Some(at) = parser.eat("?") else {
                return Ok(condition);
            };
            let then = parser.or()?;
            parser.expect(":")?;
            let otherwise = parser.expression()?;
            Ok(expr(at, Kind::If(Box::new([condition, then, otherwise]))))
        })
    }

    fn or(&mut self) -> Parsed {
        let first = self.and()?;
        let Some(at) = self.eat("||") else {
            return Ok(first);
        };
        let mut parts = vec![first, self.and()?];
        while self.eat("||").is_some() {
            parts.push(self.and()?);
        }
        Ok(expr(at, Kind::Or(parts)))
    }

    fn and(&mut self) -> Parsed {
        let first = self.relation()?;
        let Some(at) = self.eat("&&") else {
            return Ok(first);
        };
        let mut parts = vec![first, self.relation()?];
        while self.eat("&&").is_some() {
            parts.push(self.relation()?);
        }
        Ok(expr(at, Kind::And(parts)))
    }

    fn relation(&mut self) -> Parsed {
        const SIGNS: [(&str, &str); 7] = [
            ("==", "_==_"),
            ("!=", "_!=_"),
            ("<", "_<_"),
            ("<=", "_<=_"),
            (">", "_>_"),
            (">=", "_>=_"),
            ("in", "@in"),
        ];
        self.chain(&SIGNS, Self::sum)
    }

    fn sum(&mut self) -> Parsed {
        self.chain(&[("+", "_+_"), ("-", "_-_")], Self::product)
    }

    fn product(&mut self) -> Parsed {
        const SIGNS: [(&str, &str); 3] = [("*", "_*_"), ("/", "_/_"), ("%", "_%_")];
        self.chain(&SIGNS, Self::unary)
    }

    // Operators of one strength, joined from the left.
    fn chain(
        &mut self,
        signs: &[(&str, &'static str)],
        operand: fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let mut left = operand(self)?;
        let before = self.depth;
        'more: loop {
            for (sign, name) in signs {
                if let Some(at) = self.eat(sign) {
                    let right = operand(self)?;
                    left = expr(at, Kind::Operator(name, vec![left, right]));
                    self.deepen()?;
                    continue 'more;
                }
            }
            self.depth = before;
            return Ok(left);
        }
    }

    fn deepen(&mut self) -> Parsed<()> {
        self.deeper(|_| Ok(()))?;
        self.depth += 1;
        Ok(())
    }

    fn unary(&mut self) -> Parsed {
        if let Some(at) = self.eat("!") {
            let operand = self.deeper(Self::unary)?;
            return Ok(expr(at, Kind::Operator("!_", vec![operand])));
        }
        let place = self.place();
        if self.eat("-").is_some() {
            if let Some(number) = self.negative(place)? {
                return self.members(number);
            }
            let operand = self.deeper(Self::unary)?;
            return Ok(expr(place, Kind::Operator("-_", vec![operand])));
        }
        let primary = self.primary()?;
        self.members(primary)
    }

    // A number right behind a minus sign is a literal of its own.
    fn negative(&mut self, place: usize) -> Parsed<Option<Expr>> {
        let literal = match self.peek().clone() {
            TokenKind::Int(digits, base) => whole(&format!("-{digits}"), base, place)?,
            TokenKind::Float(n) => Literal::Double(-n),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(expr(place, Kind::Literal(literal))))
    }

    fn primary(&mut self) -> Parsed {
        let at = self.place();
        let token = self.peek().clone();
        let literal = match token {
            TokenKind::Int(digits, base) => whole(&digits, base, at)?,
            TokenKind::Uint(n) => Literal::Uint(n),
            TokenKind::Float(n) => Literal::Double(n),
            TokenKind::Text(text) => Literal::Text(text),
            TokenKind::Bytes(bytes) => Literal::Bytes(bytes),
            TokenKind::Sign("true") => Literal::Bool(true),
            TokenKind::Sign("false") => Literal::Bool(false),
            TokenKind::Sign("null") => Literal::Null,
            other => return self.compound(at, &other),
        };
        self.at += 1;
        Ok(expr(at, Kind::Literal(literal)))
    }

    fn compound(&mut self, at: usize, token: &TokenKind) -> Parsed {
        match token {
            TokenKind::Name(name) => {
                self.at += 1;
                self.named(at, name)
            }
            TokenKind::Sign(".") => {
                self.at += 1;
                let at = self.place();
                let name = self.name()?;
                self.named(at, &name)
            }
            TokenKind::Sign("(") => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            TokenKind::Sign("[") => self.list(),
            TokenKind::Sign("{") => self.map(),
            other => {
                let found = other.show();
                let message =
                    format!("Syntax error: mismatched input '{found}' expecting {OPERAND}");
                Err(Fault::new(at, message))
            }
        }
    }

    fn named(&mut self, at: usize, name: &str) -> Parsed {
        const RESERVED: [&str; 17] = [
            "as",
            "break",
            "const",
            "continue",
            "else",
            "for",
            "function",
            "if",
            "import",
            "let",
            "loop",
            "package",
            "namespace",
            "return",
            "var",
            "void",
            "while",
        ];
        let Some(paren) = self.eat("(") else {
            if RESERVED.contains(&name) {
                return Err(Fault::new(at, format!("reserved identifier: {name}")));
            }
            return Ok(expr(at, Kind::Name(name.to_owned())));
        };
        let args = self.arguments(")")?;
        if name == "has" && args.len() == 1 {
            return has(paren, args);
        }
        Ok(expr(paren, Kind::Call(None, name.to_owned(), args)))
    }

    fn arguments(&mut self, close: &str) -> Parsed<Vec<Expr>> {
        let mut args = Vec::new();
        while self.eat(close).is_none() {
            if !args.is_empty() {
                self.expect(",")?;
            }
            args.push(self.expression()?);
        }
        Ok(args)
    }

    fn list(&mut self) -> Parsed {
        let at = self.expect("[")?;
        let mut items = Vec::new();
        while self.eat("]").is_none() {
            if !items.is_empty() {
                self.expect(",")?;
                if self.eat("]").is_some() {
                    break;
                }
            }
            let access = self.access();
            items.push((access, self.expression()?));
        }
        Ok(expr(at, Kind::List(items)))
    }

    fn map(&mut self) -> Parsed {
        let at = self.expect("{")?;
        let mut entries = Vec::new();
        while self.eat("}").is_none() {
            if !entries.is_empty() {
                self.expect(",")?;
                if self.eat("}").is_some() {
                    break;
                }
            }
            let access = self.access();
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((access, key, self.expression()?));
        }
        Ok(expr(at, Kind::Map(entries)))
    }

    fn access(&mut self) -> Access {
        if self.eat("?").is_some() {
            Access::Optional
        } else {
            Access::Plain
        }
    }

    fn members(&mut self, mut left: Expr) -> Parsed {
        let before = self.depth;
        loop {
            if let Some(at) = self.eat(".") {
                let access = self.access();
                let name = self.name()?;
                left = match self.eat("(").filter(|_| access == Access::Plain) {
                    Some(paren) => {
                        let args = self.arguments(")")?;
                        member_call(paren, left, name, args)?
                    }
                    None => expr(at, Kind::Select(Box::new(left), name, access)),
                };
            } else if let Some(at) = self.eat("[") {
                let access = self.access();
                let index = self.expression()?;
                self.expect("]")?;
                left = expr(at, Kind::Index(Box::new(left), Box::new(index), access));
            } else {
                self.depth = before;
                return Ok(left);
            }
            self.deepen()?;
        }
    }
}

fn whole(digits: &str, base: u32, at: usize) -> Parsed<Literal> {
    i64::from_str_radix(digits, base)
        .map(Literal::Int)
        .map_err(|_| Fault::new(at, "invalid int literal"))
}

fn has(at: usize, mut args: Vec<Expr>) -> Parsed {
    match args.pop().map(|arg| arg.kind) {
        Some(Kind::Select(of, field, Access::Plain)) => Ok(expr(at, Kind::Has(of, field))),
        _ => Err(Fault::new(at, "invalid argument to has() macro")),
    }
}

fn member_call(at: usize, on: Expr, name: String, args: Vec<Expr>) -> Parsed {
    let outcome = match (name.as_str(), args.len()) {
        ("all", 2 | 3) => Outcome::All,
        ("exists", 2 | 3) => Outcome::Exists,
        ("exists_one", 2) | ("existsOne", 2 | 3) => Outcome::ExistsOne,
        ("map" | "transformList", 3) | ("transformList", 4) | ("map" | "filter", 2) => {
            Outcome::List
        }
        ("transformMap", 3 | 4) => Outcome::Map,
        ("transformMapEntry", 3 | 4) => Outcome::MapEntries,
        ("optMap" | "optFlatMap", 2) => return opt_map(at, on, &name, args),
        _ => return Ok(expr(at, Kind::Call(Some(Box::new(on)), name, args))),
    };
    loop_macro(at, on, &name, args, outcome)
}

fn opt_map(at: usize, on: Expr, name: &str, args: Vec<Expr>) -> Parsed {
    let mut args = args.into_iter();
    let (Some(variable), Some(body)) = (args.next(), args.next()) else {
        return Err(Fault::new(at, format!("{name}() needs two arguments")));
    };
    let message = format!("{name}() variable name must be a simple identifier");
    let variable = simple_name(variable, &message)?;
    let flat = name == "optFlatMap";
    let kind = Kind::OptMap(Box::new(on), variable, Box::new(body), flat);
    Ok(expr(at, kind))
}

fn loop_macro(at: usize, on: Expr, name: &str, args: Vec<Expr>, outcome: Outcome) -> Parsed {
    let count = args.len();
    let two_names = name.starts_with("transform") || count == 3 && name != "map";
    let mut args = args.into_iter();
    let missing = || Fault::new(at, format!("{name}() is missing an argument"));
    let mut take_name = || {
        let variable = args.next().ok_or_else(missing)?;
        simple_name(variable, "argument must be a simple name")
    };
    let first = take_name()?;
    let second = if two_names { Some(take_name()?) } else { None };
    if second.as_ref() == Some(&first) {
        let message = format!("duplicate variable name: {first}");
        return Err(Fault::new(at, message));
    }
    let rest: Vec<Expr> = args.collect();
    let (test, result) = arms(outcome, name, rest);
    let kind = Kind::Loop(Box::new(Loop {
        range: on,
        first,
        second,
        outcome,
        test,
        result,
    }));
    Ok(expr(at, kind))
}

// Which of the remaining arguments is the condition, and which the value of a step.
fn arms(outcome: Outcome, name: &str, rest: Vec<Expr>) -> (Option<Expr>, Option<Expr>) {
    let mut rest = rest.into_iter();
    match outcome {
        Outcome::All | Outcome::Exists | Outcome::ExistsOne => (rest.next(), None),
        Outcome::List if name == "filter" => (rest.next(), None),
        Outcome::List | Outcome::Map | Outcome::MapEntries => match (rest.next(), rest.next()) {
            (test, result @ Some(_)) => (test, result),
            (result, None) => (None, result),
        },
    }
}

fn simple_name(variable: Expr, message: &str) -> Parsed<String> {
    match variable.kind {
        Kind::Name(name) => Ok(name),
        _ => Err(Fault::new(variable.at, message)),
    }
}
