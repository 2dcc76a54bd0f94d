//! Values: read from files, set by flags, merged in Helm's order.
//!
//! ```text
//! -f files ─▶ --set-json ─▶ --set ─▶ --set-string ─▶ --set-file ─▶ --set-literal ──▶ user values
//! ```
//!
//! Numbers that come from YAML or JSON are floats, those that come from `--set` are integers:
//! templates can tell them apart.

pub(crate) mod coalesce;
mod set;

pub use set::{INDEX_MAX, NESTED_MAX, set, set_file, set_json, set_literal, set_string};

use crate::{Flavour, HelmError, decode};
use model::{Map, Value};

/// A layer of values, in the order people gave them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    /// `-f`: a file's name and its text.
    File {
        /// The name, for messages.
        name: String,
        /// The content.
        text: String,
    },
    /// `--set-json`.
    Json(String),
    /// `--set`.
    Set(String),
    /// `--set-string`.
    Text(String),
    /// `--set-file`, with the contents of the files it names.
    Files {
        /// What was written behind the flag.
        line: String,
        /// The files it names, by name.
        contents: Vec<(String, Result<String, String>)>,
    },
    /// `--set-literal`.
    Literal(String),
}

impl Layer {
    // Helm applies layers kind by kind, whatever order they were given in.
    fn rank(&self) -> usize {
        match self {
            Self::File { .. } => 0,
            Self::Json(_) => 1,
            Self::Set(_) => 2,
            Self::Text(_) => 3,
            Self::Files { .. } => 4,
            Self::Literal(_) => 5,
        }
    }
}

/// Why a text holds no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadFault {
    pub(crate) message: String,
    pub(crate) line: usize,
}

/// Merges layers of values as Helm does.
pub fn merge(layers: &[Layer], flavour: Flavour) -> Result<Map<String, Value>, HelmError> {
    let mut ordered: Vec<&Layer> = layers.iter().collect();
    ordered.sort_by_key(|layer| layer.rank());
    let mut base = Map::new();
    for layer in ordered {
        apply(layer, &mut base, flavour)?;
    }
    Ok(base)
}

fn apply(layer: &Layer, base: &mut Map<String, Value>, flavour: Flavour) -> Result<(), HelmError> {
    let flag = |name: &str, done: Result<(), String>| {
        done.map_err(|fault| {
            HelmError::values(format!("failed parsing {name} data: {fault}"), name, 0)
        })
    };
    match layer {
        Layer::File { name, text } => {
            let values = read(text, flavour).map_err(|fault| {
                let message = format!("failed to parse {name}: {}", fault.message);
                HelmError::values(message, name, fault.line)
            })?;
            merge_maps(base, values);
            Ok(())
        }
        Layer::Json(line) => json_layer(line, base, flavour),
        Layer::Set(line) if flavour == Flavour::V4 => {
            flag("--set", set::set_leniently(line, base, false))
        }
        Layer::Set(line) => flag("--set", set(line, base)),
        Layer::Text(line) if flavour == Flavour::V4 => {
            flag("--set-string", set::set_leniently(line, base, true))
        }
        Layer::Text(line) => flag("--set-string", set_string(line, base)),
        Layer::Files { line, contents } => {
            let read = |name: &str| {
                let known = contents.iter().find(|(known, _)| known == name);
                known.map_or_else(
                    || Err(format!("open {name}: no such file or directory")),
                    |(_, content)| content.clone(),
                )
            };
            flag("--set-file", set_file(line, base, read))
        }
        Layer::Literal(line) => flag("--set-literal", set_literal(line, base)),
    }
}

fn json_layer(
    line: &str,
    base: &mut Map<String, Value>,
    flavour: Flavour,
) -> Result<(), HelmError> {
    let trimmed = line.trim();
    if flavour == Flavour::V4 && trimmed.starts_with('{') {
        return if let Some(map) = serde_json_map(trimmed) {
            merge_maps(base, map);
            Ok(())
        } else {
            let message = format!("failed parsing --set-json data JSON: {line}");
            Err(HelmError::values(message, "--set-json", 0))
        };
    }
    set_json(line, base).map_err(|_| {
        HelmError::values(
            format!("failed parsing --set-json data {line}"),
            "--set-json",
            0,
        )
    })
}

fn serde_json_map(text: &str) -> Option<Map<String, Value>> {
    match set::json_prefix(text)? {
        (Value::Object(map), used) if text[used..].trim().is_empty() => Some(map),
        _ => None,
    }
}

/// Reads values from YAML, every number a float; Helm 4 merges all documents, Helm 3 reads one.
pub(crate) fn read(text: &str, flavour: Flavour) -> Result<Map<String, Value>, ReadFault> {
    match flavour {
        Flavour::V3 => read_document(text, ""),
        Flavour::V4 => {
            let mut all = Map::new();
            let mut first_line = 0;
            for document in documents(text) {
                let values = read_document(document, "cannot unmarshal yaml document: ").map_err(
                    |fault| ReadFault {
                        line: fault.line + first_line,
                        ..fault
                    },
                )?;
                merge_maps(&mut all, values);
                first_line += document.lines().count() + 1;
            }
            Ok(all)
        }
    }
}

fn read_document(text: &str, prefix: &str) -> Result<Map<String, Value>, ReadFault> {
    let value = yaml::parse(text).map_err(|error| ReadFault {
        message: format!("{prefix}{}", decode::wrap(&error)),
        line: error.line,
    })?;
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(mut map) => {
            map.values_mut().for_each(as_floats);
            Ok(map)
        }
        other => Err(ReadFault {
            message: format!(
                "{prefix}{}",
                decode::mismatch(&other, "map[string]interface {}")
            ),
            line: 1,
        }),
    }
}

// Documents between lines that say `---`.
fn documents(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let rest = line.strip_prefix("---");
        if rest.is_some_and(|rest| rest.trim().is_empty()) {
            if at > start {
                parts.push(&text[start..at]);
            }
            start = at + line.len();
        }
        at += line.len();
    }
    if start < text.len() {
        parts.push(&text[start..]);
    }
    parts
}

/// Turns every number into a float, as Go's JSON decoder does.
pub(crate) fn as_floats(value: &mut Value) {
    match value {
        Value::Number(number) if !number.is_f64() => {
            if let Some(float) = number.as_f64().and_then(model_number) {
                *value = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_floats),
        Value::Object(map) => map.values_mut().for_each(as_floats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn model_number(float: f64) -> Option<Value> {
    let value = Value::from(float);
    value.is_number().then_some(value)
}

/// Lays one map over another: maps merge, everything else is replaced.
pub(crate) fn merge_maps(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge_maps(old, new),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
