//! Settings out of JSON values, as strict and as lax as the real program: unknown fields are
//! refused, names match whatever their case, null is as good as nothing.

use crate::id::{Gvk, ResId};
use model::{Map, Value};
use std::cell::Cell;
use std::collections::BTreeMap;

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where, as a JSON pointer.
    pub(crate) path: String,
    pub(crate) message: String,
    /// What was perhaps meant.
    pub(crate) nearest: Option<String>,
}

/// Something that settings can be read into.
pub(crate) trait Decode: Sized {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault>;
}

thread_local! {
    static LENIENT: Cell<bool> = const { Cell::new(false) };
}

/// Reads settings in which fields that nobody knows are left alone.
pub(crate) fn leniently<T>(read: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let before = LENIENT.replace(true);
    let done = read();
    LENIENT.set(before);
    done
}

/// The fields of an object, taken one by one.
pub(crate) struct Fields<'a> {
    map: Option<&'a Map<String, Value>>,
    path: String,
    known: Vec<&'static str>,
    asked: Vec<String>,
}

impl<'a> Fields<'a> {
    /// The fields of a value; null has none.
    pub(crate) fn of(value: &'a Value, path: &str) -> Result<Self, Fault> {
        let map = match value {
            Value::Null => None,
            Value::Object(map) => Some(map),
            other => return Err(wrong(path, other, "an object")),
        };
        Ok(Self {
            map,
            path: path.to_owned(),
            known: Vec::new(),
            asked: Vec::new(),
        })
    }

    // The name as it is written wins over names that differ in case.
    fn find(&self, name: &str) -> Option<(&'a str, &'a Value)> {
        let map = self.map?;
        if let Some((key, value)) = map.get_key_value(name) {
            return Some((key, value));
        }
        let mut same = map.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        same.next_back().map(|(key, value)| (key.as_str(), value))
    }

    /// The value of a field; null and missing are one.
    pub(crate) fn take(&mut self, name: &str) -> Option<(String, &'a Value)> {
        self.asked.push(name.to_ascii_lowercase());
        let (key, value) = self.find(name)?;
        if value.is_null() {
            return None;
        }
        Some((self.pointer(key), value))
    }

    fn pointer(&self, key: &str) -> String {
        format!(
            "{}/{}",
            self.path,
            key.replace('~', "~0").replace('/', "~1")
        )
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<String, Fault> {
        Ok(self.option(name)?.unwrap_or_default())
    }

    pub(crate) fn option<T: Decode>(&mut self, name: &str) -> Result<Option<T>, Fault> {
        let found = self.take(name);
        found
            .map(|(path, value)| T::decode(value, &path))
            .transpose()
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Fault> {
        Ok(self.option(name)?.unwrap_or_default())
    }

    pub(crate) fn list<T: Decode>(&mut self, name: &str) -> Result<Option<Vec<T>>, Fault> {
        self.option(name)
    }

    pub(crate) fn gvk(&mut self) -> Result<Gvk, Fault> {
        Ok(Gvk {
            group: self.text("group")?,
            version: self.text("version")?,
            kind: self.text("kind")?,
        })
    }

    pub(crate) fn id(&mut self) -> Result<ResId, Fault> {
        Ok(ResId {
            gvk: self.gvk()?,
            name: self.text("name")?,
            namespace: self.text("namespace")?,
            cluster: false,
        })
    }

    /// Refuses fields that nobody asked for.
    pub(crate) fn end(self) -> Result<(), Fault> {
        if LENIENT.get() {
            return Ok(());
        }
        for key in self.map.into_iter().flat_map(|map| map.keys()) {
            if !self.asked.contains(&key.to_ascii_lowercase()) {
                let names: Vec<&str> = self.asked.iter().map(String::as_str).collect();
                return Err(Fault {
                    path: self.pointer(key),
                    message: format!("unknown field `{key}`"),
                    nearest: nearest(key, &names, &self.known),
                });
            }
        }
        Ok(())
    }

    /// Names as they are written, for suggestions.
    pub(crate) fn spelled(&mut self, names: &[&'static str]) {
        self.known = names.to_vec();
    }
}

fn nearest(key: &str, asked: &[&str], spelled: &[&'static str]) -> Option<String> {
    let found = crate::nearest::nearest(&key.to_ascii_lowercase(), asked.iter().copied())?;
    let written = spelled.iter().find(|name| name.eq_ignore_ascii_case(found));
    Some(written.map_or_else(|| found.to_owned(), |name| (*name).to_owned()))
}

/// The refusal of a value of the wrong type.
pub(crate) fn wrong(path: &str, value: &Value, wanted: &str) -> Fault {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let hint = match value {
        Value::Number(_) | Value::Bool(_) if wanted == "a string" => {
            format!("; write \"{value}\" in quotes")
        }
        _ => String::new(),
    };
    Fault {
        path: path.to_owned(),
        message: format!("`{}` must be {wanted}, not {found}{hint}", last(path)),
        nearest: None,
    }
}

fn last(path: &str) -> &str {
    path.trim_start_matches('/')
}

impl Decode for String {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Null => Ok(Self::new()),
            other => Err(wrong(path, other, "a string")),
        }
    }
}

impl Decode for bool {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        match value {
            Value::Bool(flag) => Ok(*flag),
            Value::Null => Ok(false),
            other => Err(wrong(path, other, "a boolean")),
        }
    }
}

impl Decode for i64 {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        match value {
            Value::Null => Ok(0),
            value => value
                .as_i64()
                .ok_or_else(|| wrong(path, value, "a whole number")),
        }
    }
}

impl Decode for Value {
    fn decode(value: &Value, _: &str) -> Result<Self, Fault> {
        Ok(value.clone())
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        match value {
            Value::Null => Ok(Self::new()),
            Value::Array(list) => {
                let entries = list.iter().enumerate();
                entries
                    .map(|(at, entry)| T::decode(entry, &format!("{path}/{at}")))
                    .collect()
            }
            other => Err(wrong(path, other, "a list")),
        }
    }
}

impl Decode for BTreeMap<String, String> {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        match value {
            Value::Null => Ok(Self::new()),
            Value::Object(map) => {
                let entries = map.iter();
                entries
                    .map(|(key, value)| {
                        Ok((
                            key.clone(),
                            String::decode(value, &format!("{path}/{key}"))?,
                        ))
                    })
                    .collect()
            }
            other => Err(wrong(path, other, "an object")),
        }
    }
}
