//! `values.schema.json`: which values a chart accepts, in the words of Helm's two validators.
//!
//! Helm 3 asks gojsonschema (drafts 4, 6 and 7), Helm 4 asks santhosh-tekuri/jsonschema (up to
//! 2020-12). Both are read here from the schema itself, keyword by keyword; nothing is fetched.

mod document;
mod format;
mod number;
mod v3;
mod v4;

use crate::Flavour;
use crate::tree::{ChartTree, NodeId};
use document::Document;
use model::{Map, Value};

/// How deep schemas may lead into each other.
pub(crate) const DEPTH_MAX: usize = 512;

/// Whether a chart, or one inside it, has a schema.
pub(crate) fn is_there(tree: &ChartTree, id: NodeId) -> bool {
    let node = tree.node(id);
    node.chart.schema.is_some() || node.dependencies.iter().any(|child| is_there(tree, *child))
}

/// Checks values against a chart's schema and those of all charts inside it.
pub(crate) fn validate(
    tree: &ChartTree,
    id: NodeId,
    values: &Map<String, Value>,
    flavour: Flavour,
) -> Result<(), String> {
    let node = tree.node(id);
    let mut faults = String::new();
    if let Some(schema) = &node.chart.schema
        && let Err(fault) = validate_one(schema, values, flavour)
    {
        faults.push_str(&format!("{}:\n{fault}", node.name));
    }
    for child in &node.dependencies {
        let name = &tree.node(*child).name;
        match values.get(name) {
            Some(Value::Object(inner)) => {
                if let Err(fault) = validate(tree, *child, inner, flavour) {
                    faults.push_str(&fault);
                }
            }
            None | Some(Value::Null) => {}
            Some(other) => {
                let kind = crate::decode::kind_of(other);
                faults.push_str(&format!(
                    "{name}:\ninvalid type for values: expected object (map), got {kind}\n"
                ));
            }
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

fn validate_one(
    schema: &[u8],
    values: &Map<String, Value>,
    flavour: Flavour,
) -> Result<(), String> {
    let parsed = json::parse(schema).map_err(|error| error.message)?;
    let document = Document::new(parsed.value);
    let values = Value::Object(values.clone());
    match flavour {
        Flavour::V3 => v3::validate(&document, &values),
        Flavour::V4 => v4::validate(&document, &values),
    }
}

/// The words a schema may use for a type, in the order validators list them.
pub(crate) const TYPES: [&str; 7] = [
    "null", "boolean", "number", "integer", "string", "array", "object",
];

// The JSON type of a value; whole numbers are integers where that is asked.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

// The types a schema names, in its order.
fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of(value: &Value, types: &[&str]) -> bool {
    let kind = type_of(value);
    types.contains(&kind)
        || (kind == "number" && types.contains(&"integer") && number::is_whole(value))
}

fn count(schema: &Map<String, Value>, key: &str) -> Option<usize> {
    let value = schema.get(key)?.as_f64()?;
    (value >= 0.0).then_some(value as usize)
}

fn strings<'a>(schema: &'a Map<String, Value>, key: &str) -> Vec<&'a str> {
    let items = schema.get(key).and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn schemas<'a>(schema: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    schema
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn object<'a>(schema: &'a Map<String, Value>, key: &str) -> Option<&'a Map<String, Value>> {
    schema.get(key).and_then(Value::as_object)
}

// Go's patterns, as far as the two languages agree.
fn pattern(text: &str) -> Option<regex::Regex> {
    regex::RegexBuilder::new(text)
        .size_limit(1 << 22)
        .build()
        .ok()
}

// Numbers that are the same number are the same value, however they are written.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => number::compare(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| b.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests;
