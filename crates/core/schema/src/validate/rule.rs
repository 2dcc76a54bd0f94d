//! A JSON schema made ready for checking values: read once, patterns compiled once.

use super::format::{FormatCheck, format_check};
use super::number::{Bounds, Range};
use crate::DEPTH_MAX;
use crate::node::ListType;
use crate::pattern::compile_pattern;
use model::Value;
use regex::Regex;
use std::collections::BTreeMap;

/// One level of a schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    pub(super) types: Vec<&'static str>,
    pub(super) nullable: bool,
    pub(super) format: Option<Format>,
    pub(super) enumeration: Vec<Value>,
    pub(super) bounds: Bounds,
    pub(super) length: (Option<u64>, Option<u64>),
    pub(super) pattern: Option<Pattern>,
    pub(super) items: Option<Box<Rule>>,
    pub(super) item_count: (Option<u64>, Option<u64>),
    pub(super) unique: bool,
    pub(super) properties: BTreeMap<String, Rule>,
    pub(super) additional: Additional,
    pub(super) property_count: (Option<u64>, Option<u64>),
    pub(super) required: Vec<String>,
    pub(super) any_of: Vec<Rule>,
    pub(super) one_of: Vec<Rule>,
    pub(super) all_of: Vec<Rule>,
    pub(super) not: Option<Box<Rule>>,
    pub(super) list_type: ListType,
    pub(super) list_map_keys: Vec<String>,
    pub(super) embedded: bool,
    /// Whether list types or embedded resources are to be checked here or below.
    pub(super) deep: bool,
}

/// What an object may hold besides its declared fields.
#[derive(Clone, Debug, Default)]
pub(super) enum Additional {
    #[default]
    Free,
    Nothing,
    Each(Box<Rule>),
}

/// A format's own name and its test; formats of numbers have no test here.
#[derive(Clone, Debug)]
pub(super) struct Format {
    pub(super) name: String,
    pub(super) check: Option<FormatCheck>,
}

/// A pattern and its compiled form, or why it could not be compiled.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) regex: Result<Regex, String>,
}

impl Rule {
    pub(super) fn read(schema: &Value) -> Self {
        Self::read_at(schema, 0)
    }

    fn read_at(schema: &Value, depth: usize) -> Self {
        if depth > DEPTH_MAX {
            return Self::default();
        }
        let flag = |key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let float = |key: &str| schema.get(key).and_then(Value::as_f64);
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        let below = |schema: &Value| Self::read_at(schema, depth + 1);
        let list = |key: &str| -> Vec<Rule> {
            let list = schema.get(key).and_then(Value::as_array);
            list.into_iter().flatten().map(below).collect()
        };
        let types = types(schema);
        let format = text("format").and_then(|name| Format::read(name, &types));
        let mut rule = Self {
            nullable: flag("nullable"),
            enumeration: array(schema, "enum").to_vec(),
            bounds: Bounds {
                range: Range::of(&types, format.as_ref().map(|f| f.name.as_str())),
                multiple_of: float("multipleOf"),
                minimum: float("minimum"),
                above: flag("exclusiveMinimum"),
                maximum: float("maximum"),
                below: flag("exclusiveMaximum"),
            },
            length: (count("minLength"), count("maxLength")),
            pattern: text("pattern").filter(|p| !p.is_empty()).map(Pattern::read),
            items: object(schema, "items").map(|items| Box::new(below(items))),
            item_count: (count("minItems"), count("maxItems")),
            unique: flag("uniqueItems"),
            properties: fields(schema, "properties")
                .map(|(name, property)| (name.clone(), below(property)))
                .collect(),
            additional: match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => Additional::Nothing,
                Some(values @ Value::Object(_)) => Additional::Each(Box::new(below(values))),
                _ => Additional::Free,
            },
            property_count: (count("minProperties"), count("maxProperties")),
            required: texts(schema, "required"),
            any_of: list("anyOf"),
            one_of: list("oneOf"),
            all_of: list("allOf"),
            not: object(schema, "not").map(|not| Box::new(below(not))),
            list_type: match text("x-kubernetes-list-type") {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map,
                _ => ListType::Atomic,
            },
            list_map_keys: texts(schema, "x-kubernetes-list-map-keys"),
            embedded: flag("x-kubernetes-embedded-resource"),
            types,
            format,
            deep: false,
        };
        rule.deep = rule.embedded
            || rule.list_type != ListType::Atomic
            || rule.items.as_ref().is_some_and(|r| r.deep)
            || rule.properties.values().any(|r| r.deep)
            || matches!(&rule.additional, Additional::Each(r) if r.deep);
        rule
    }

    /// The rule of a field: the declared one, else the one of all values.
    pub(super) fn field(&self, name: &str) -> Option<&Rule> {
        match (self.properties.get(name), &self.additional) {
            (Some(rule), _) => Some(rule),
            (None, Additional::Each(rule)) => Some(rule),
            (None, Additional::Free | Additional::Nothing) => None,
        }
    }
}

impl Format {
    // A format counts only on the types it is known for.
    fn read(name: &str, types: &[&str]) -> Option<Self> {
        let check = format_check(name);
        let known = match types {
            ["integer"] => matches!(name, "int32" | "int64"),
            ["number"] => matches!(name, "float" | "double"),
            ["object" | "array" | "boolean"] => false,
            _ => check.is_some(),
        };
        known.then(|| Self {
            name: name.to_owned(),
            check,
        })
    }
}

impl Pattern {
    fn read(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            regex: compile_pattern(text),
        }
    }
}

fn types(schema: &Value) -> Vec<&'static str> {
    let int_or_string = schema.get("x-kubernetes-int-or-string");
    if int_or_string.and_then(Value::as_bool) == Some(true) {
        return vec!["integer", "string"];
    }
    let known = [
        "object", "array", "string", "integer", "number", "boolean", "null",
    ];
    let given = schema.get("type").and_then(Value::as_str);
    known.into_iter().filter(|t| Some(*t) == given).collect()
}

fn array<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn object<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    schema.get(key).filter(|v| v.is_object())
}

fn fields<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema
        .get(key)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn texts(schema: &Value, key: &str) -> Vec<String> {
    let list = array(schema, key).iter();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}
