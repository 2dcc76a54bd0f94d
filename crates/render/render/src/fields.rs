//! Reads an object field by field; what is wrong is collected with the name of the field.

use model::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// A field that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field, as in `spec.source.helm.parameters[0].value`.
    pub field: String,
    /// What is wrong, and what to write.
    pub problem: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.problem)
    }
}

impl std::error::Error for FieldError {}

impl FieldError {
    /// The field as JSON pointer, to find its place in a file.
    pub fn pointer(&self) -> String {
        let mut pointer = String::new();
        for part in self.field.split(['.', '[']) {
            pointer.push('/');
            pointer.push_str(part.trim_end_matches(']'));
        }
        pointer
    }
}

/// Reads a whole object, or says everything that is wrong with it.
pub(crate) fn whole<T>(
    value: &Value,
    field: &str,
    read: impl FnOnce(&mut Fields<'_>) -> T,
) -> Result<T, Vec<FieldError>> {
    let mut faults = Vec::new();
    let answer = enter(value, field.to_owned(), &mut faults, read);
    match answer {
        Some(answer) if faults.is_empty() => Ok(answer),
        _ => Err(faults),
    }
}

fn enter<T>(
    value: &Value,
    field: String,
    faults: &mut Vec<FieldError>,
    read: impl FnOnce(&mut Fields<'_>) -> T,
) -> Option<T> {
    let Value::Object(map) = value else {
        faults.push(wrong(&field, "an object", value));
        return None;
    };
    let mut at = Fields {
        map,
        field,
        known: Vec::new(),
        faults,
    };
    let answer = read(&mut at);
    at.unknown();
    Some(answer)
}

/// An object that is being read.
pub(crate) struct Fields<'a> {
    map: &'a Map<String, Value>,
    field: String,
    known: Vec<&'static str>,
    faults: &'a mut Vec<FieldError>,
}

impl<'a> Fields<'a> {
    // The value of a field that is there and not null.
    fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.map.get(name).filter(|value| !value.is_null())
    }

    fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.field)
    }

    fn refuse(&mut self, field: &str, wanted: &str, found: &Value) {
        self.faults.push(wrong(field, wanted, found));
    }

    pub(crate) fn value(&mut self, name: &'static str) -> Option<Value> {
        self.take(name).cloned()
    }

    pub(crate) fn text(&mut self, name: &'static str) -> String {
        self.optional_text(name).unwrap_or_default()
    }

    pub(crate) fn optional_text(&mut self, name: &'static str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.refuse(&self.path(name), "a string", other);
                None
            }
        }
    }

    pub(crate) fn number_or_text(&mut self, name: &'static str) -> String {
        match self.take(name) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(other) => {
                self.refuse(&self.path(name), "a number", other);
                String::new()
            }
        }
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        match self.take(name) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.refuse(&self.path(name), "true or false", other);
                false
            }
        }
    }

    pub(crate) fn texts(&mut self, name: &'static str) -> Vec<String> {
        self.optional_texts(name).unwrap_or_default()
    }

    pub(crate) fn optional_texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        let list = self.items(name)?;
        let mut texts = Vec::new();
        for (index, entry) in list.iter().enumerate() {
            match entry {
                Value::String(text) => texts.push(text.clone()),
                other => self.refuse(&format!("{}[{index}]", self.path(name)), "a string", other),
            }
        }
        Some(texts)
    }

    fn items(&mut self, name: &'static str) -> Option<&'a Vec<Value>> {
        match self.take(name)? {
            Value::Array(list) => Some(list),
            other => {
                self.refuse(&self.path(name), "a list", other);
                None
            }
        }
    }

    pub(crate) fn list<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&mut Fields<'_>) -> T,
    ) -> Vec<T> {
        let Some(list) = self.items(name) else {
            return Vec::new();
        };
        let path = self.path(name);
        let entries = list.iter().enumerate();
        entries
            .filter_map(|(index, entry)| {
                enter(entry, format!("{path}[{index}]"), self.faults, &read)
            })
            .collect()
    }

    pub(crate) fn object<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> Option<T> {
        let value = self.take(name)?;
        let path = self.path(name);
        enter(value, path, self.faults, read)
    }

    fn entries(&mut self, name: &'static str) -> Option<&'a Map<String, Value>> {
        match self.take(name)? {
            Value::Object(map) => Some(map),
            other => {
                self.refuse(&self.path(name), "an object", other);
                None
            }
        }
    }

    pub(crate) fn map(&mut self, name: &'static str) -> Option<BTreeMap<String, String>> {
        let entries = self.entries(name)?;
        let mut map = BTreeMap::new();
        for (key, value) in entries {
            match value {
                Value::String(text) => {
                    map.insert(key.clone(), text.clone());
                }
                other => self.refuse(&format!("{}.{key}", self.path(name)), "a string", other),
            }
        }
        Some(map)
    }

    pub(crate) fn flags(&mut self, name: &'static str) -> BTreeMap<String, bool> {
        let Some(entries) = self.entries(name) else {
            return BTreeMap::new();
        };
        let mut map = BTreeMap::new();
        for (key, value) in entries {
            match value {
                Value::Bool(flag) => {
                    map.insert(key.clone(), *flag);
                }
                other => {
                    self.refuse(
                        &format!("{}.{key}", self.path(name)),
                        "true or false",
                        other,
                    );
                }
            }
        }
        map
    }

    fn unknown(&mut self) {
        for name in self.map.keys() {
            if self.known.contains(&name.as_str()) {
                continue;
            }
            let hint = match nearest(name, self.known.iter().copied()) {
                Some(near) => format!(": did you mean `{near}`?"),
                None => String::new(),
            };
            self.faults.push(FieldError {
                field: self.path(name),
                problem: format!("is not a field{hint}"),
            });
        }
    }
}

fn wrong(field: &str, wanted: &str, found: &Value) -> FieldError {
    let found_word = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let problem = match found {
        Value::Bool(_) | Value::Number(_) if wanted == "a string" => {
            format!("must be a string: write `\"{found}\"`")
        }
        _ => format!("must be {wanted}, not {found_word}"),
    };
    FieldError {
        field: field.to_owned(),
        problem,
    }
}

/// The name that is closest to what was written, when one is close enough to be meant.
pub(crate) fn nearest<'a>(
    written: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (written.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (distance(written, name), name))
        .filter(|(away, _)| *away <= limit)
        .min()
        .map(|(_, name)| name)
}

// How many letters must be added, dropped, changed or swapped; capital letters do not count.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(128).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(128).collect();
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1)
                .min(row[j - 1] + 1)
                .min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
