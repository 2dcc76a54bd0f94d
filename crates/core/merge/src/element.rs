//! One step of a field path: a field, a keyed list entry, a set entry or an index.
//!
//! Steps have a text for `fieldsV1` (`f:name`, `k:{"name":"c"}`, `v:"x"`, `i:0`), a text for people
//! (`.name`, `[name="c"]`, `[="x"]`, `[0]`) and a total order, which is the order of both.

use crate::fieldset::FieldSetError;
use crate::go;
use model::Value;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// One step of a field path.
#[derive(Clone, Debug)]
pub struct Element(Step);

#[derive(Clone, Debug)]
enum Step {
    /// A field of an object or a key of a map, as `f:name`: most sets are written out again.
    Field(Box<str>),
    /// The list entry whose key fields have these values; sorted by name.
    Key(Box<[(Box<str>, Value)]>),
    /// The set entry that is this scalar.
    Value(Box<Value>),
    /// The entry at this index.
    Index(i64),
}

impl Element {
    /// A field of an object or a key of a map.
    pub fn field(name: &str) -> Self {
        let mut text = String::with_capacity(name.len() + 2);
        text.push_str("f:");
        text.push_str(name);
        Self(Step::Field(text.into_boxed_str()))
    }

    /// The list entry whose key fields have these values.
    pub fn key(mut fields: Vec<(Box<str>, Value)>) -> Self {
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Self(Step::Key(fields.into_boxed_slice()))
    }

    /// The set entry that is this scalar.
    pub fn value(value: Value) -> Self {
        Self(Step::Value(Box::new(value)))
    }

    /// The entry at this index of a list.
    pub fn index(index: i64) -> Self {
        Self(Step::Index(index))
    }

    /// The name of the field this is, if it is one.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Step::Field(text) => Some(&text[2..]),
            Step::Key(_) | Step::Value(_) | Step::Index(_) => None,
        }
    }

    /// Reads the text of `fieldsV1`. `Ok(None)` for kinds of steps that do not exist yet, which
    /// readers skip.
    pub fn parse(text: &str) -> Result<Option<Self>, FieldSetError> {
        let bad = || FieldSetError(text.to_owned());
        let bytes = text.as_bytes();
        if bytes.len() < 2 || bytes[1] != b':' {
            return Err(bad());
        }
        let rest = &text[2..];
        Ok(Some(match bytes[0] {
            b'f' => Self(Step::Field(text.into())),
            b'v' => Self::value(serde_json::from_str(rest).map_err(|_| bad())?),
            b'i' => Self::index(rest.parse().map_err(|_| bad())?),
            b'k' => {
                let Ok(Value::Object(fields)) = serde_json::from_str(rest) else {
                    return Err(bad());
                };
                // A sorted map already yields its keys in order.
                let fields = fields.into_iter().map(|(k, v)| (k.into(), v));
                Self(Step::Key(fields.collect()))
            }
            _ => return Ok(None),
        }))
    }

    /// The text of `fieldsV1`.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Step::Field(text) => Cow::Borrowed(text),
            Step::Key(_) | Step::Value(_) | Step::Index(_) => Cow::Owned(self.write()),
        }
    }

    /// The text of `fieldsV1`, made from the step itself.
    pub fn into_text(self) -> String {
        match self.0 {
            Step::Field(text) => text.into_string(),
            Step::Key(_) | Step::Value(_) | Step::Index(_) => self.write(),
        }
    }

    fn write(&self) -> String {
        let mut out = String::with_capacity(32);
        match &self.0 {
            Step::Field(text) => out.push_str(text),
            Step::Key(fields) => {
                out.push_str("k:{");
                for (i, (name, value)) in fields.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    go::write_json_string(name, &mut out);
                    out.push(':');
                    go::write_json(value, &mut out);
                }
                out.push('}');
            }
            Step::Value(value) => {
                out.push_str("v:");
                go::write_json(value, &mut out);
            }
            Step::Index(index) => out.push_str(&format!("i:{index}")),
        }
        out
    }

    fn rank(&self) -> u8 {
        match self.0 {
            Step::Field(_) => 0,
            Step::Key(_) => 1,
            Step::Value(_) => 2,
            Step::Index(_) => 3,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Step::Field(text) => write!(f, ".{}", &text[2..]),
            Step::Key(fields) => {
                f.write_str("[")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", go::path_value(value))?;
                }
                f.write_str("]")
            }
            Step::Value(value) => write!(f, "[={}]", go::path_value(value)),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Step::Field(a), Step::Field(b)) => a.cmp(b),
            (Step::Key(a), Step::Key(b)) => order_keys(a, b),
            (Step::Value(a), Step::Value(b)) => order_values(a, b),
            (Step::Index(a), Step::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

fn order_keys(a: &[(Box<str>, Value)], b: &[(Box<str>, Value)]) -> Ordering {
    for ((name_a, value_a), (name_b, value_b)) in a.iter().zip(b) {
        let order = name_a
            .cmp(name_b)
            .then_with(|| order_values(value_a, value_b));
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// A total order of values: numbers by size, then text, booleans, lists, maps and null.
fn order_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let mut pairs = a.iter().zip(b).map(|(a, b)| order_values(a, b));
            let first = pairs.find(|o| *o != Ordering::Equal);
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let mut pairs = a
                .iter()
                .zip(b)
                .map(|((ka, va), (kb, vb))| ka.cmp(kb).then_with(|| order_values(va, vb)));
            let first = pairs.find(|o| *o != Ordering::Equal);
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => value_rank(a).cmp(&value_rank(b)),
    }
}

fn order_numbers(a: &serde_json::Number, b: &serde_json::Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
    a.total_cmp(&b)
}

fn value_rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}
