//! Walks through values that may be deep, shared many times over, or contain themselves.

use crate::value::{Element, List, Map, Value};
use std::collections::HashSet;

/// How deep values may nest where they are printed, copied or compared.
pub(crate) const DEPTH_MAX: usize = 1000;
/// How many values one such walk may meet.
pub(crate) const NODES_MAX: usize = 1_000_000;

/// Counts what a walk meets and stops it when that is too much.
pub(crate) struct Walk {
    nodes: usize,
    depth: usize,
}

impl Walk {
    pub(crate) fn new() -> Self {
        Self { nodes: 0, depth: 0 }
    }

    /// Goes one level down; none when the value is too deep or too big.
    pub(crate) fn down<T>(&mut self, work: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.nodes += 1;
        if self.depth >= DEPTH_MAX || self.nodes > NODES_MAX {
            return None;
        }
        self.depth += 1;
        let result = crate::deep(|| work(self));
        self.depth -= 1;
        result
    }
}

/// Whether a map can be reached from itself.
pub(crate) fn contains_itself(map: &Map) -> bool {
    let mut seen = HashSet::new();
    let mut queue = vec![Value::Map(map.clone())];
    let mut first = true;
    while let Some(value) = queue.pop() {
        match value {
            Value::Map(inner) => {
                if inner.same(map) && !first {
                    return true;
                }
                first = false;
                if seen.insert(inner.address()) {
                    queue.extend(inner.entries().into_iter().map(|(_, v)| v));
                }
            }
            Value::List(list) => queue.extend(list.items().iter().cloned()),
            _ => {}
        }
        if seen.len() > NODES_MAX || queue.len() > NODES_MAX {
            return true;
        }
    }
    false
}

/// A copy that shares no map with the original.
pub(crate) fn deep_copy(value: &Value) -> Option<Value> {
    copy(value, &mut Walk::new())
}

fn copy(value: &Value, walk: &mut Walk) -> Option<Value> {
    walk.down(|walk| {
        Some(match value {
            Value::Map(map) if map.is_nil() => value.clone(),
            Value::Map(map) => {
                let entries = map
                    .entries()
                    .into_iter()
                    .map(|(k, v)| Some((k, copy(&v, walk)?)));
                let entries = entries.collect::<Option<_>>()?;
                Value::Map(match map.name() {
                    Some(named) => Map::named(named.clone(), map.element().clone(), entries),
                    None => Map::typed(map.element().clone(), entries),
                })
            }
            Value::List(list) if list.is_nil() => value.clone(),
            Value::List(list) => {
                let items = list
                    .items()
                    .iter()
                    .map(|v| copy(v, walk))
                    .collect::<Option<_>>()?;
                Value::List(match list.name() {
                    Some(named) => List::named(named.clone(), list.element().clone(), items),
                    None => List::typed(list.element().clone(), items),
                })
            }
            other => other.clone(),
        })
    })
}

/// Whether two values are the same, as Go's `reflect.DeepEqual` sees it.
pub(crate) fn deep_equal(left: &Value, right: &Value) -> bool {
    equal(left, right, &mut Walk::new()).unwrap_or(false)
}

fn equal(left: &Value, right: &Value, walk: &mut Walk) -> Option<bool> {
    walk.down(|walk| {
        Some(match (left, right) {
            (Value::Invalid | Value::Nil, Value::Invalid | Value::Nil) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b))
            | (Value::Int64(a), Value::Int64(b))
            | (Value::Duration(a), Value::Duration(b)) => a == b,
            (Value::Int32(a), Value::Int32(b)) => a == b,
            (Value::Uint8(a), Value::Uint8(b)) => a == b,
            (Value::Uint64(a), Value::Uint64(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Complex(a, b), Value::Complex(c, d)) => a == c && b == d,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Time(a), Value::Time(b)) => a == b,
            (Value::List(a), Value::List(b)) => {
                if a.is_nil() != b.is_nil()
                    || left.type_name() != right.type_name()
                    || a.items().len() != b.items().len()
                {
                    return Some(false);
                }
                for (a, b) in a.items().iter().zip(b.items()) {
                    if !equal(a, b, walk)? {
                        return Some(false);
                    }
                }
                true
            }
            (Value::Map(a), Value::Map(b)) => {
                if a.same(b) {
                    return Some(true);
                }
                if a.is_nil() != b.is_nil()
                    || left.type_name() != right.type_name()
                    || a.len() != b.len()
                {
                    return Some(false);
                }
                for (key, a) in a.entries() {
                    let Some(b) = b.get(&*key) else {
                        return Some(false);
                    };
                    if !equal(&a, &b, walk)? {
                        return Some(false);
                    }
                }
                true
            }
            (Value::Struct(a), Value::Struct(b)) => {
                if a.type_name() != b.type_name() || a.string != b.string {
                    return Some(false);
                }
                for ((_, a), (_, b)) in a.fields.iter().zip(&b.fields) {
                    if !equal(a, b, walk)? {
                        return Some(false);
                    }
                }
                true
            }
            _ => false,
        })
    })
}

impl Value {
    /// A value of JSON; every number becomes a `float64`, as Helm reads values.
    pub fn from_json(json: &model::Value) -> Self {
        match json {
            model::Value::Null => Self::Nil,
            model::Value::Bool(b) => Self::Bool(*b),
            model::Value::Number(n) => Self::Float(n.as_f64().unwrap_or(0.0)),
            model::Value::String(text) => Self::from(text.as_str()),
            model::Value::Array(list) => Self::list(
                list.iter()
                    .map(|v| crate::deep(|| Self::from_json(v)))
                    .collect(),
            ),
            model::Value::Object(map) => Self::map(
                map.iter()
                    .map(|(k, v)| (k.as_str(), crate::deep(|| Self::from_json(v)))),
            ),
        }
    }

    /// The value as JSON, numbers as Go's encoder writes them; the error is the encoder's.
    pub fn to_json(&self) -> Result<model::Value, String> {
        self.to_json_with('\u{FFFD}')
    }

    // With a character that stands for broken bytes.
    pub(crate) fn to_json_with(&self, broken: char) -> Result<model::Value, String> {
        let mut fault = None;
        match json(self, &mut Walk::new(), &mut fault, broken) {
            Some(value) => Ok(value),
            None => Err(fault.unwrap_or_else(|| {
                "json: unsupported value: encountered a cycle via map[string]interface {}"
                    .to_owned()
            })),
        }
    }
}

// The text with a character for every broken byte.
fn sound(text: &[u8], broken: char) -> String {
    match std::str::from_utf8(text) {
        Ok(text) => text.to_owned(),
        Err(_) => crate::text::runes(text)
            .map(|(c, _, sound)| if sound { c } else { broken })
            .collect(),
    }
}

fn json(
    value: &Value,
    walk: &mut Walk,
    fault: &mut Option<String>,
    broken: char,
) -> Option<model::Value> {
    walk.down(|walk| {
        Some(match value {
            Value::Invalid | Value::Nil => model::Value::Null,
            Value::Bool(b) => model::Value::Bool(*b),
            Value::Int(i) | Value::Int64(i) | Value::Duration(i) => (*i).into(),
            Value::Int32(i) => (*i).into(),
            Value::Uint8(u) => (*u).into(),
            Value::Uint64(u) => (*u).into(),
            Value::Float(f) => match json::number::from_float(*f) {
                Some(number) => model::Value::Number(number),
                None => {
                    let text = crate::strconv::format_float(*f, b'g', None);
                    *fault = Some(format!("json: unsupported value: {text}"));
                    return None;
                }
            },
            Value::Complex(..) => {
                *fault = Some("json: unsupported type: complex128".to_owned());
                return None;
            }
            Value::String(text) => model::Value::String(sound(text, broken)),
            Value::List(list) if list.is_nil() => model::Value::Null,
            Value::List(list) if *list.element() == Element::Byte => {
                let bytes = list.as_bytes().unwrap_or_default();
                model::Value::String(crate::base64(&bytes))
            }
            Value::List(list) => model::Value::Array(
                list.items()
                    .iter()
                    .map(|v| json(v, walk, fault, broken))
                    .collect::<Option<_>>()?,
            ),
            Value::Map(map) if map.is_nil() => model::Value::Null,
            Value::Map(map) => {
                let mut object = model::Map::new();
                for (key, value) in map.entries() {
                    object.insert(key.lossy().into_owned(), json(&value, walk, fault, broken)?);
                }
                model::Value::Object(object)
            }
            Value::Struct(s) => match &s.json {
                Some(value) => value.clone(),
                None => {
                    let mut object = model::Map::new();
                    for (name, value) in &s.fields {
                        object.insert((*name).to_owned(), json(value, walk, fault, broken)?);
                    }
                    model::Value::Object(object)
                }
            },
            Value::Time(time) => model::Value::String(time.rfc3339()),
        })
    })
}
