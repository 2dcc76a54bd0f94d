//! Label and field selectors: their text form in URLs and their object form in specs.

use crate::names;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A conjunction of label requirements; an empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    op: Op,
    values: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Equals,
    NotEquals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    /// Matches every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Matches no object, as an absent selector in a spec does.
    pub fn nothing() -> Self {
        Self {
            requirements: Vec::new(),
            nothing: true,
        }
    }

    /// Whether every object matches.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty() && !self.nothing
    }

    /// Reads the URL form: `a=b,c!=d,e in (f,g),h,!i`. The error is the parser's message.
    pub fn parse(text: &str) -> Result<Self, String> {
        Parser::new(text).selector()
    }

    /// Reads the object form, `matchLabels` and `matchExpressions`; `None` selects nothing.
    pub fn from_spec(spec: Option<&Value>) -> Result<Self, String> {
        let Some(spec) = spec.and_then(Value::as_object) else {
            return Ok(Self::nothing());
        };
        let mut requirements = Vec::new();
        for (key, value) in spec
            .get("matchLabels")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let value = value.as_str().unwrap_or("");
            requirements.push(Requirement::checked(
                key,
                Op::Equals,
                [value.to_owned()].into(),
            )?);
        }
        for entry in spec
            .get("matchExpressions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let key = entry.get("key").and_then(Value::as_str).unwrap_or("");
            let operator = entry.get("operator").and_then(Value::as_str).unwrap_or("");
            let op = match operator {
                "In" => Op::In,
                "NotIn" => Op::NotIn,
                "Exists" => Op::Exists,
                "DoesNotExist" => Op::DoesNotExist,
                other => return Err(format!("{other:?} is not a valid label selector operator")),
            };
            let values = entry.get("values").and_then(Value::as_array);
            let values = values
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned);
            requirements.push(Requirement::checked(key, op, values.collect())?);
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self {
            requirements,
            nothing: false,
        })
    }

    /// Whether a set of labels matches.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        !self.nothing && self.requirements.iter().all(|r| r.matches(labels))
    }

    /// Whether an object's labels match.
    pub fn matches_object(&self, object: &Value) -> bool {
        self.matches(crate::meta::labels(object))
    }
}

impl std::fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            requirement.show(f)?;
        }
        Ok(())
    }
}

impl Requirement {
    fn checked(key: &str, op: Op, values: BTreeSet<String>) -> Result<Self, String> {
        if let Some(fault) = names::qualified_name(key).into_iter().next() {
            return Err(format!("key: Invalid value: {key:?}: {fault}"));
        }
        match op {
            Op::In | Op::NotIn if values.is_empty() => {
                return Err("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty".into());
            }
            Op::Exists | Op::DoesNotExist if !values.is_empty() => {
                let shown: Vec<_> = values.iter().map(|v| format!("{v:?}")).collect();
                return Err(format!(
                    "values: Invalid value: [{}]: values set must be empty for exists and does not exist",
                    shown.join(",")
                ));
            }
            Op::GreaterThan | Op::LessThan if values.iter().any(|v| v.parse::<i64>().is_err()) => {
                let value = values.first().cloned().unwrap_or_default();
                return Err(format!(
                    "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
                ));
            }
            _ => {}
        }
        for (i, value) in values.iter().enumerate() {
            if let Some(fault) = names::label_value(value).into_iter().next() {
                return Err(format!(
                    "values[{i}][{key}]: Invalid value: {value:?}: {fault}"
                ));
            }
        }
        Ok(Self {
            key: key.to_owned(),
            op,
            values,
        })
    }

    fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        let value = labels
            .and_then(|l| l.get(&self.key))
            .and_then(Value::as_str);
        match (self.op, value) {
            (Op::Equals | Op::In, Some(v)) => self.values.contains(v),
            (Op::NotEquals | Op::NotIn, Some(v)) => !self.values.contains(v),
            (Op::Exists, v) => v.is_some(),
            (Op::NotEquals | Op::NotIn | Op::DoesNotExist, None) => true,
            (Op::Equals | Op::In | Op::GreaterThan | Op::LessThan, None)
            | (Op::DoesNotExist, Some(_)) => false,
            (Op::GreaterThan, Some(v)) => self.compare(v, |a, b| a > b),
            (Op::LessThan, Some(v)) => self.compare(v, |a, b| a < b),
        }
    }

    fn compare(&self, value: &str, holds: fn(i64, i64) -> bool) -> bool {
        let bound = self.values.first().and_then(|v| v.parse().ok());
        matches!((value.parse().ok(), bound), (Some(a), Some(b)) if holds(a, b))
    }

    fn show(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let joined = self.values.iter().cloned().collect::<Vec<_>>().join(",");
        match self.op {
            Op::Equals => write!(f, "{}={joined}", self.key),
            Op::In => write!(f, "{} in ({joined})", self.key),
            Op::NotEquals => write!(f, "{}!={joined}", self.key),
            Op::NotIn => write!(f, "{} notin ({joined})", self.key),
            Op::Exists => f.write_str(&self.key),
            Op::DoesNotExist => write!(f, "!{}", self.key),
            Op::GreaterThan => write!(f, "{}>{joined}", self.key),
            Op::LessThan => write!(f, "{}<{joined}", self.key),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn show(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn new(text: &str) -> Self {
        const SYMBOLS: [&str; 10] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<", "\0"];
        let mut tokens = Vec::new();
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            if rest.is_empty() {
                tokens.push(Token::End);
                return Self { tokens, at: 0 };
            }
            if let Some(symbol) = SYMBOLS.into_iter().find(|s| rest.starts_with(s)) {
                tokens.push(Token::Symbol(symbol));
                rest = &rest[symbol.len()..];
                continue;
            }
            let end = rest
                .find(|c: char| c.is_whitespace() || "=!(),><".contains(c))
                .unwrap_or(rest.len())
                .max(1);
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn selector(mut self) -> Result<LabelSelector, String> {
        let mut requirements = Vec::new();
        if *self.peek() == Token::End {
            return Ok(LabelSelector::everything());
        }
        loop {
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {
                    let requirement = self.requirement();
                    requirements.push(
                        requirement.map_err(|why| format!("unable to parse requirement: {why}"))?,
                    );
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.show()
                    ));
                }
            }
            match self.next() {
                Token::End => break,
                Token::Symbol(",") => {
                    if !matches!(self.peek(), Token::Word(_) | Token::Symbol("!")) {
                        return Err(format!(
                            "found '{}', expected: identifier after ','",
                            self.peek().show()
                        ));
                    }
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        other.show()
                    ));
                }
            }
        }
        requirements.sort_by(|a: &Requirement, b| a.key.cmp(&b.key));
        Ok(LabelSelector {
            requirements,
            nothing: false,
        })
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = *self.peek() == Token::Symbol("!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(word) => word,
            other => return Err(format!("found '{}', expected: identifier", other.show())),
        };
        let faults = names::qualified_name(&key);
        if !faults.is_empty() {
            // The key is checked before it has a path.
            let shown = crate::field::go_quote(&key);
            return Err(format!(
                "<nil>: Invalid value: {shown}: {}",
                faults.join("; ")
            ));
        }
        let plain = matches!(self.peek(), Token::End | Token::Symbol(","));
        if negated || plain {
            let op = if negated {
                Op::DoesNotExist
            } else {
                Op::Exists
            };
            return Requirement::checked(&key, op, BTreeSet::new());
        }
        let op = match self.next() {
            Token::Symbol("=" | "==") => Op::Equals,
            Token::Symbol("!=") => Op::NotEquals,
            Token::Symbol(">") => Op::GreaterThan,
            Token::Symbol("<") => Op::LessThan,
            Token::Word(word) if word == "in" => return self.set(&key, Op::In),
            Token::Word(word) if word == "notin" => return self.set(&key, Op::NotIn),
            other => {
                return Err(format!(
                    "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                    other.show()
                ));
            }
        };
        let value = match self.peek().clone() {
            Token::Word(word) => {
                self.next();
                word
            }
            Token::End | Token::Symbol(",") => String::new(),
            other @ Token::Symbol(_) => {
                return Err(format!("found '{}', expected: identifier", other.show()));
            }
        };
        Requirement::checked(&key, op, [value].into())
    }

    fn set(&mut self, key: &str, op: Op) -> Result<Requirement, String> {
        let open = self.next();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.show()));
        }
        let mut values = BTreeSet::new();
        let mut last_was_word = false;
        loop {
            match self.next() {
                Token::Word(word) => {
                    values.insert(word);
                    last_was_word = true;
                    let next = self.peek();
                    if !matches!(next, Token::Symbol("," | ")")) {
                        return Err(format!("found '{}', expected: ',' or ')'", next.show()));
                    }
                }
                Token::Symbol(",") => {
                    if !last_was_word {
                        values.insert(String::new());
                    }
                    last_was_word = false;
                }
                Token::Symbol(")") => {
                    if !last_was_word {
                        values.insert(String::new());
                    }
                    break;
                }
                other if values.is_empty() => {
                    return Err(format!(
                        "found '{}', expected: ',', ')' or identifier",
                        other.show()
                    ));
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', or identifier",
                        other.show()
                    ));
                }
            }
        }
        Requirement::checked(key, op, values)
    }
}

/// A conjunction of field tests, as in `metadata.name=x,status.phase!=Running`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// `(field, wanted value, equal or not)`.
    pub tests: Vec<(String, String, bool)>,
}

impl FieldSelector {
    /// Reads the URL form; the error is the parser's message.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut tests = Vec::new();
        for part in split_unescaped(text) {
            if part.is_empty() {
                continue;
            }
            let (field, value, equal) = if let Some((f, v)) = part.split_once("!=") {
                (f, v, false)
            } else if let Some((f, v)) = part.split_once("==") {
                (f, v, true)
            } else if let Some((f, v)) = part.split_once('=') {
                (f, v, true)
            } else {
                return Err(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                ));
            };
            tests.push((field.to_owned(), unescape(value)?, equal));
        }
        Ok(Self { tests })
    }

    /// The value demanded of a field, when one is.
    pub fn required(&self, field: &str) -> Option<&str> {
        self.tests
            .iter()
            .find(|(f, _, equal)| *equal && f == field)
            .map(|(_, v, _)| v.as_str())
    }

    /// Whether every test holds for the values that `lookup` gives.
    pub fn matches(&self, lookup: impl Fn(&str) -> String) -> bool {
        self.tests
            .iter()
            .all(|(field, value, equal)| (lookup(field) == *value) == *equal)
    }
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut parts, mut start, mut i) = (Vec::new(), 0, 0);
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 1,
            b',' => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
        i += 1;
    }
    parts.push(&text[start..]);
    parts
}

// Only a backslash, a comma and an equals sign are escaped, and the latter two must be.
fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                other => {
                    let shown: String = other.into_iter().collect();
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{shown}"
                    ));
                }
            },
            ',' | '=' => {
                let code = u32::from(c);
                return Err(format!(
                    "invalid field selector: unescaped character in value: {code}"
                ));
            }
            _ => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn matches(selector: &str, labels: &Value) -> bool {
        LabelSelector::parse(selector)
            .expect(selector)
            .matches(labels.as_object())
    }

    #[test]
    fn text_selectors_match() {
        let labels = json!({"app": "web", "tier": "front", "n": "5"});
        for (selector, wanted) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier!=back", true),
            ("app in (web, api),!missing", true),
            ("app notin (web)", false),
            ("missing notin (x)", true),
            ("n>4,n<6", true),
            ("missing", false),
            ("tier", true),
            ("app=", false),
        ] {
            assert_eq!(matches(selector, &labels), wanted, "{selector}");
        }
    }

    #[test]
    fn broken_selectors_say_where() {
        assert_eq!(
            LabelSelector::parse("a=b=c").unwrap_err(),
            "found '=', expected: ',' or 'end of string'"
        );
        assert_eq!(
            LabelSelector::parse("a in b").unwrap_err(),
            "unable to parse requirement: found 'b' expected: '('"
        );
        assert_eq!(
            LabelSelector::parse("a in (b").unwrap_err(),
            "unable to parse requirement: found '', expected: ',' or ')'"
        );
        assert!(
            LabelSelector::parse("-a=b").unwrap_err().starts_with(
                "unable to parse requirement: <nil>: Invalid value: \"-a\": name part"
            )
        );
        assert_eq!(
            LabelSelector::parse("a,").unwrap_err(),
            "found '', expected: identifier after ','"
        );
    }

    #[test]
    fn selectors_print_sorted_by_key() {
        let spec = json!({
            "matchLabels": {"b": "1"},
            "matchExpressions": [
                {"key": "z", "operator": "NotIn", "values": ["q", "p"]},
                {"key": "a", "operator": "In", "values": ["x"]},
                {"key": "b", "operator": "Exists"},
                {"key": "0", "operator": "DoesNotExist"},
            ],
        });
        let selector = LabelSelector::from_spec(Some(&spec)).unwrap();
        assert_eq!(selector.to_string(), "!0,a in (x),b=1,b,z notin (p,q)");
        let parsed = LabelSelector::parse("b!=1,a in (x),c=").unwrap();
        assert_eq!(parsed.to_string(), "a in (x),b!=1,c=");
    }

    #[test]
    fn spec_selectors_match() {
        let spec = json!({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]});
        let selector = LabelSelector::from_spec(Some(&spec)).unwrap();
        assert!(selector.matches(json!({"a": "1", "b": ""}).as_object()));
        assert!(!selector.matches(json!({"a": "1"}).as_object()));
        assert!(!LabelSelector::from_spec(None).unwrap().matches(None));
    }

    #[test]
    fn field_selectors_match() {
        let selector = FieldSelector::parse("metadata.name=a,status.phase!=Running").unwrap();
        assert!(selector.matches(|f| if f == "metadata.name" {
            "a".into()
        } else {
            "Pending".into()
        }));
        assert_eq!(selector.required("metadata.name"), Some("a"));
        assert!(FieldSelector::parse("nonsense").is_err());
    }
}
