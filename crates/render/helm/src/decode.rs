//! YAML into Go structs, with the words of Go's decoder when something does not fit.
//!
//! `sigs.k8s.io/yaml` turns YAML into JSON and helps numbers and booleans into string fields on the
//! way; `encoding/json` does the rest: it goes on behind the first fault and reports that one.

use model::{Map, Value};

/// Reads one YAML document; the error says what Helm says.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    yaml::parse(text).map_err(|error| wrap(&error))
}

/// What Helm says about YAML that cannot be read.
pub(crate) fn wrap(error: &yaml::YamlError) -> String {
    format!("error converting YAML to JSON: {error}")
}

/// What Go calls a JSON value.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What Helm says about a document that is no mapping where it needs one.
pub(crate) fn mismatch(value: &Value, go_type: &str) -> String {
    format!(
        "{PREFIX}json: cannot unmarshal {} into Go value of type {go_type}",
        kind_of(value)
    )
}

const PREFIX: &str = "error unmarshaling JSON: while decoding JSON: ";

/// A scalar helped into a string field, as the YAML reader does; `None` when it cannot be.
pub(crate) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) if number.is_f64() => {
            Some(go_general(number.as_f64().unwrap_or_default()))
        }
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A float as Go's `FormatFloat(f, 'g', -1, 64)` prints it.
pub(crate) fn go_general(float: f64) -> String {
    if float == 0.0 || !float.is_finite() {
        return format!("{float}");
    }
    let shortest = format!("{float:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{float}")
}

/// The fields of one struct, and the first fault among them.
pub(crate) struct Fields<'a> {
    map: &'a Map<String, Value>,
    // The struct the field belongs to and the way to it, as Go names them.
    owner: String,
    path: String,
    fault: Option<(String, String)>,
}

impl<'a> Fields<'a> {
    /// The fields of a document; null has none and is no fault.
    pub(crate) fn of(value: &'a Value, owner: &str, go_type: &str) -> Result<Option<Self>, String> {
        match value {
            Value::Null => Ok(None),
            Value::Object(map) => Ok(Some(Self::inner(map, owner, ""))),
            other => Err(mismatch(other, go_type)),
        }
    }

    fn inner(map: &'a Map<String, Value>, owner: &str, path: &str) -> Self {
        Self {
            map,
            owner: owner.to_owned(),
            path: path.to_owned(),
            fault: None,
        }
    }

    /// The first fault, when there was one.
    pub(crate) fn finish(self) -> Result<(), String> {
        self.fault.map_or(Ok(()), |(_, message)| Err(message))
    }

    /// A fault of ours, which counts when Go found none.
    pub(crate) fn note(&mut self, message: &str) {
        if self.fault.is_none() {
            self.fault = Some(("~".into(), message.to_owned()));
        }
    }

    // The value under a key, in any case of letters; the last one in Go's order counts.
    fn get(&self, key: &str) -> Option<&'a Value> {
        if let Some(value) = self.map.get(key) {
            // An upper-case twin sorts first and is overwritten.
            return Some(value);
        }
        let same = |(k, _): &(&String, &Value)| k.eq_ignore_ascii_case(key);
        self.map.iter().filter(same).map(|(_, v)| v).next_back()
    }

    // Keeps the fault of the key that Go meets first.
    fn fail(&mut self, key: &str, message: String) {
        let earlier = self
            .fault
            .as_ref()
            .is_some_and(|(at, _)| at.as_str() <= key);
        if !earlier {
            self.fault = Some((key.to_owned(), message));
        }
    }

    fn refuse(&mut self, key: &str, value: &Value, go_type: &str) {
        let (owner, path) = (&self.owner, &self.path);
        let message = format!(
            "{PREFIX}json: cannot unmarshal {} into Go struct field {owner}.{path}{key} of type {go_type}",
            kind_of(value)
        );
        self.fail(key, message);
    }

    pub(crate) fn is_null(&self, key: &str) -> bool {
        self.get(key).is_some_and(Value::is_null)
    }

    pub(crate) fn text(&mut self, key: &str, into: &mut String) {
        match self.get(key) {
            None | Some(Value::Null) => {}
            Some(value) => match as_text(value) {
                Some(text) => *into = text,
                None => self.refuse(key, value, "string"),
            },
        }
    }

    pub(crate) fn flag(&mut self, key: &str, into: &mut bool) {
        match self.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Bool(flag)) => *into = *flag,
            Some(value) => self.refuse(key, value, "bool"),
        }
    }

    pub(crate) fn texts(&mut self, key: &str, into: &mut Vec<String>) {
        match self.get(key) {
            None => {}
            Some(Value::Null) => into.clear(),
            Some(Value::Array(items)) => {
                into.clear();
                for item in items {
                    match as_text(item) {
                        Some(text) => into.push(text),
                        None if item.is_null() => into.push(String::new()),
                        None => self.refuse(key, item, "string"),
                    }
                }
            }
            Some(value) => self.refuse(key, value, "[]string"),
        }
    }

    /// A list of anything.
    pub(crate) fn any_list(&mut self, key: &str) -> Option<Vec<Value>> {
        match self.get(key)? {
            Value::Null => Some(Vec::new()),
            Value::Array(items) => Some(items.clone()),
            value => {
                self.refuse(key, value, "[]interface {}");
                None
            }
        }
    }

    /// A map of strings; the inner `None` is null.
    #[expect(clippy::option_option, reason = "absent and null differ, as in Go")]
    pub(crate) fn text_map(&mut self, key: &str) -> Option<Option<Map<String, Value>>> {
        match self.get(key)? {
            Value::Null => Some(None),
            Value::Object(map) => {
                let mut texts = Map::new();
                for (name, value) in map {
                    match as_text(value) {
                        Some(text) => {
                            texts.insert(name.clone(), Value::String(text));
                        }
                        None if value.is_null() => {
                            texts.insert(name.clone(), Value::String(String::new()));
                        }
                        None => self.refuse(key, value, "string"),
                    }
                }
                Some(Some(texts))
            }
            value => {
                self.refuse(key, value, "map[string]string");
                None
            }
        }
    }

    /// A struct.
    pub(crate) fn inner_struct(
        &mut self,
        key: &str,
        owner: &str,
        go_type: &str,
        mut read: impl FnMut(&mut Fields<'a>),
    ) {
        match self.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                let path = format!("{}{key}.", self.path);
                let mut fields = Fields::inner(map, owner, &path);
                read(&mut fields);
                if let Some((_, message)) = fields.fault {
                    self.fail(key, message);
                }
            }
            Some(value) => self.refuse(key, value, go_type),
        }
    }

    /// A list of structs; null items are `None`.
    pub(crate) fn structs<T>(
        &mut self,
        key: &str,
        owner: &str,
        go_type: &str,
        mut read: impl FnMut(&mut Fields<'a>) -> T,
    ) -> Option<Vec<Option<T>>> {
        let items = match self.get(key)? {
            Value::Null => return Some(Vec::new()),
            Value::Array(items) => items,
            value => {
                self.refuse(key, value, &format!("[]*{go_type}"));
                return None;
            }
        };
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::Null => list.push(None),
                Value::Object(map) => {
                    let path = format!("{}{key}.", self.path);
                    let mut fields = Fields::inner(map, owner, &path);
                    list.push(Some(read(&mut fields)));
                    if let Some((_, message)) = fields.fault {
                        self.fail(key, message);
                    }
                }
                value => {
                    self.refuse(key, value, go_type);
                }
            }
        }
        Some(list)
    }
}
