//! Checks one value against the rules of its schema, level by level.
//!
//! Each level runs its checks in one order (type, combinations, text, format, number, list,
//! enumeration, fields) and counts how many were met: when none of several alternatives fits, the
//! faults of the one that came closest are told.

use super::number::{Breach, Number, nearly_whole, show_float};
use super::rule::{Additional, Rule};
use crate::DEPTH_MAX;
use model::field::{go_quote, show};
use model::{FieldError, FieldErrorKind, Map, Path, Value};
use std::fmt::Write as _;

/// One fault: the sentence it is told apart by, and the answer's form of it.
pub(super) struct Fault {
    pub(super) sentence: String,
    pub(super) error: FieldError,
}

/// A walk over one object.
pub(super) struct Checker<'a> {
    path: String,
    prefix: &'a str,
    depth: usize,
    pub(super) faults: Vec<Fault>,
}

// How many checks a value met.
type Met = u32;

impl<'a> Checker<'a> {
    pub(super) fn new(prefix: &'a str) -> Self {
        Self {
            path: String::new(),
            prefix,
            depth: 0,
            faults: Vec::new(),
        }
    }

    /// Checks a value that may be forgiven: unchanged values keep faults that they had before.
    pub(super) fn value(&mut self, rule: &Rule, value: &Value, old: Option<&Value>) -> Met {
        let mark = self.faults.len();
        let met = self.level(rule, value, old);
        if self.faults.len() > mark && old.is_some_and(|old| unchanged(rule, value, old)) {
            self.faults.truncate(mark);
        }
        met
    }

    fn level(&mut self, rule: &Rule, value: &Value, old: Option<&Value>) -> Met {
        if self.depth > DEPTH_MAX {
            return 0;
        }
        self.depth += 1;
        let met = self.checks(rule, value, old);
        self.depth -= 1;
        met
    }

    fn checks(&mut self, rule: &Rule, value: &Value, old: Option<&Value>) -> Met {
        if value.is_null() {
            let met = self.typed(rule, value);
            self.enumerated(rule, value);
            return met;
        }
        let mut met = 3; // combinations, enumeration, and the level itself
        if !rule.types.is_empty() || rule.format.is_some() {
            met += self.typed(rule, value) + 1;
        }
        met += self.combined(rule, value, old) + 1;
        match value {
            Value::String(text) => met += self.text(rule, text),
            Value::Number(_) => {
                self.number(rule, value);
                met += 2;
            }
            Value::Array(entries) => met += self.list(rule, entries, old) + 2,
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        }
        self.enumerated(rule, value);
        if let Value::Object(fields) = value {
            met += self.fields(rule, fields, old) + 1;
        }
        met
    }

    fn typed(&mut self, rule: &Rule, value: &Value) -> Met {
        match type_fault(rule, value) {
            None => 1,
            Some((wanted, found)) => {
                self.wrong_type(&wanted, found);
                0
            }
        }
    }

    fn combined(&mut self, rule: &Rule, value: &Value, old: Option<&Value>) -> Met {
        let mut met = 0;
        if !rule.any_of.is_empty() {
            met += self.any_of(&rule.any_of, value, old);
        }
        if !rule.one_of.is_empty() {
            met += self.one_of(&rule.one_of, value, old);
        }
        let mut broken = 0;
        for part in &rule.all_of {
            let mark = self.faults.len();
            met += self.level(part, value, old);
            broken += usize::from(self.faults.len() > mark);
        }
        if broken > 0 {
            let none = if broken == rule.all_of.len() {
                ". None validated"
            } else {
                ""
            };
            let path = go_quote(&self.path);
            self.general(format!(
                "{path} must validate all the schemas (allOf){none}"
            ));
        }
        if let Some(not) = &rule.not {
            let mark = self.faults.len();
            self.level(not, value, old);
            let fits = self.faults.len() == mark;
            self.faults.truncate(mark);
            if fits {
                let path = go_quote(&self.path);
                self.general(format!("{path} must not validate the schema (not)"));
            }
        }
        met
    }

    fn any_of(&mut self, parts: &[Rule], value: &Value, old: Option<&Value>) -> Met {
        let mut best: Option<(Met, Vec<Fault>)> = None;
        for part in parts {
            let (met, faults) = self.attempt(part, value, old);
            if faults.is_empty() {
                return met;
            }
            if best.as_ref().is_none_or(|(most, _)| met > *most) {
                best = Some((met, faults));
            }
        }
        let path = go_quote(&self.path);
        self.general(format!("{path} must validate at least one schema (anyOf)"));
        self.keep(best)
    }

    fn one_of(&mut self, parts: &[Rule], value: &Value, old: Option<&Value>) -> Met {
        let mut best: Option<(Met, Vec<Fault>)> = None;
        let mut fitting = 0;
        let mut first = 0;
        for part in parts {
            let (met, faults) = self.attempt(part, value, old);
            if faults.is_empty() {
                if fitting == 0 {
                    first = met;
                }
                fitting += 1;
                best = None;
            } else if fitting == 0 && best.as_ref().is_none_or(|(most, _)| met > *most) {
                best = Some((met, faults));
            }
        }
        if fitting == 1 {
            return first;
        }
        let found = match fitting {
            0 => "Found none valid".to_owned(),
            n => format!("Found {n} valid alternatives"),
        };
        let path = go_quote(&self.path);
        self.general(format!(
            "{path} must validate one and only one schema (oneOf). {found}"
        ));
        self.keep(best)
    }

    fn attempt(&mut self, part: &Rule, value: &Value, old: Option<&Value>) -> (Met, Vec<Fault>) {
        let mark = self.faults.len();
        let met = self.level(part, value, old);
        (met, self.faults.split_off(mark))
    }

    fn keep(&mut self, best: Option<(Met, Vec<Fault>)>) -> Met {
        let (met, faults) = best.unwrap_or_default();
        self.faults.extend(faults);
        met
    }

    fn text(&mut self, rule: &Rule, text: &str) -> Met {
        let (least, most) = rule.length;
        let length = if least.is_some() || most.is_some() {
            text.chars().count() as u64
        } else {
            0
        };
        if let Some(most) = most.filter(|most| length > *most) {
            let at = self.field();
            let sentence = format!("{} in body should be at most {most} chars long", self.path);
            self.push(sentence, FieldError::too_long(&at, most as usize));
        } else if let Some(least) = least.filter(|least| length < *least) {
            let sentence = format!(
                "{} in body should be at least {least} chars long",
                self.path
            );
            self.invalid(go_quote(text), sentence);
        } else if let Some(pattern) = &rule.pattern {
            let expected = match &pattern.regex {
                Ok(regex) if regex.is_match(text) => None,
                Ok(_) => Some(pattern.text.clone()),
                Err(why) => Some(format!("{}, but pattern is invalid: {why}", pattern.text)),
            };
            if let Some(expected) = expected {
                let sentence = format!("{} in body should match '{expected}'", self.path);
                self.invalid(go_quote(text), sentence);
            }
        }
        let format = rule.format.as_ref();
        let Some((format, check)) = format.and_then(|f| f.check.map(|check| (f, check))) else {
            return 1;
        };
        if !check(text) {
            self.wrong_type(&format.name, text);
        }
        2
    }

    fn number(&mut self, rule: &Rule, value: &Value) {
        let Some(number) = Number::of(value) else {
            return;
        };
        for breach in rule.bounds.check(number, &self.path) {
            match breach {
                Breach::Range(sentence) => self.general(sentence),
                Breach::Bound(shown, sentence) => self.invalid(shown, sentence),
            }
        }
    }

    fn list(&mut self, rule: &Rule, entries: &[Value], old: Option<&Value>) -> Met {
        let mut met = 0;
        if let Some(items) = &rule.items {
            for (i, entry) in entries.iter().enumerate() {
                let length = self.path.len();
                let _ = write!(self.path, "[{i}]");
                let old = old.and_then(|old| super::list::counterpart(rule, entry, old));
                met += self.value(items, entry, old);
                self.path.truncate(length);
            }
        }
        let count = entries.len() as u64;
        let (least, most) = rule.item_count;
        if let Some(least) = least.filter(|least| count < *least) {
            let sentence = format!("{} in body should have at least {least} items", self.path);
            self.invalid(count.to_string(), sentence);
        }
        if let Some(most) = most.filter(|most| count > *most) {
            let sentence = format!("{} in body should have at most {most} items", self.path);
            let error = FieldError::too_many(&self.field(), entries.len(), most as usize);
            self.push(sentence, error);
        }
        let twice = |(i, entry): (usize, &Value)| entries[..i].contains(entry);
        if rule.unique && entries.iter().enumerate().any(twice) {
            let sentence = format!("{} in body shouldn't contain duplicates", self.path);
            self.invalid("\"\"".into(), sentence);
        }
        met
    }

    fn enumerated(&mut self, rule: &Rule, value: &Value) {
        if rule.enumeration.is_empty() || rule.enumeration.iter().any(|e| same(e, value)) {
            return;
        }
        let allowed: Vec<String> = rule.enumeration.iter().map(plain).collect();
        let mut error = FieldError::not_supported(&self.field(), &Value::Null, &allowed);
        error.value = Some(show_go(value));
        let sentence = format!(
            "{} in body should be one of [{}]",
            self.path,
            allowed.join(" ")
        );
        self.push(sentence, error);
    }

    fn fields(&mut self, rule: &Rule, fields: &Map<String, Value>, old: Option<&Value>) -> Met {
        let mut met = 0;
        let count = fields.len() as u64;
        let (least, most) = rule.property_count;
        if let Some(least) = least.filter(|least| count < *least) {
            let path = &self.path;
            let sentence = format!("{path} in body should have at least {least} properties");
            self.invalid(count.to_string(), sentence);
        }
        if let Some(most) = most.filter(|most| count > *most) {
            let path = &self.path;
            let sentence = format!("{path} in body should have at most {most} properties");
            let error = FieldError::too_many(&self.field(), fields.len(), most as usize);
            self.push(sentence, error);
        }
        for (name, value) in fields {
            if rule.properties.contains_key(name) {
                continue;
            }
            match &rule.additional {
                Additional::Free => break,
                Additional::Nothing => {
                    let path = &self.path;
                    let sentence = format!("{path}.{name} in body is a forbidden property");
                    self.invalid(go_quote(name), sentence);
                }
                Additional::Each(each) => met += self.below(each, name, value, old),
            }
        }
        if rule.properties.len() < fields.len() {
            for (name, property) in &rule.properties {
                if let Some(value) = fields.get(name) {
                    met += self.below(property, name, value, old);
                }
            }
        } else {
            for (name, value) in fields {
                if let Some(property) = rule.properties.get(name) {
                    met += self.below(property, name, value, old);
                }
            }
        }
        for name in &rule.required {
            if !fields.contains_key(name) {
                let at = if self.path.is_empty() && self.prefix.is_empty() {
                    Path::new(name)
                } else {
                    self.field().child(name)
                };
                let sentence = format!("{}.{name} in body is required", self.path);
                self.push(sentence, FieldError::required(&at, ""));
            }
        }
        met
    }

    fn below(&mut self, rule: &Rule, name: &str, value: &Value, old: Option<&Value>) -> Met {
        let length = self.path.len();
        // The root's type is not visible in the change, so its fields cannot be forgiven.
        let forgivable = length > 0 || !matches!(name, "kind" | "apiVersion");
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        let old = old.filter(|_| forgivable).and_then(|old| old.get(name));
        let met = self.value(rule, value, old);
        self.path.truncate(length);
        met
    }

    fn field(&self) -> Path {
        match (self.prefix, self.path.as_str()) {
            ("", "") => Path::new("<nil>"),
            ("", path) => Path::new(path),
            (prefix, "") => Path::new(prefix),
            (prefix, path) => Path::new(format!("{prefix}.{path}")),
        }
    }

    fn wrong_type(&mut self, wanted: &str, found: &str) {
        let found = go_quote(found);
        let sentence = format!("{} in body must be of type {wanted}: {found}", self.path);
        let error = FieldError::type_invalid(&self.field(), found, &sentence);
        self.push(sentence, error);
    }

    fn invalid(&mut self, shown: String, sentence: String) {
        let error = FieldError::invalid_shown(&self.field(), shown, &sentence);
        self.push(sentence, error);
    }

    // A fault of no field in particular.
    fn general(&mut self, sentence: String) {
        let field = if self.prefix.is_empty() {
            "<nil>"
        } else {
            self.prefix
        };
        let error = FieldError {
            kind: FieldErrorKind::Invalid,
            field: field.to_owned(),
            detail: Some(sentence.clone()),
            value: Some("\"\"".into()),
        };
        self.push(sentence, error);
    }

    fn push(&mut self, sentence: String, error: FieldError) {
        self.faults.push(Fault { sentence, error });
    }
}

// The wanted type and the one found, when they differ.
fn type_fault<'v>(rule: &Rule, value: &'v Value) -> Option<(String, &'v str)> {
    let (found, found_format) = match value {
        Value::Null => {
            let fits = rule.types.is_empty() || rule.types.contains(&"null") || rule.nullable;
            return (!fits).then(|| (rule.types.join(","), "null"));
        }
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Number(_) => match Number::of(value) {
            Some(Number::Whole(_)) => ("integer", "int64"),
            Some(Number::Float(_)) | None => ("number", "float64"),
        },
    };
    let has = |name: &str| rule.types.contains(&name);
    let fits = has(found)
        || found == "integer" && has("number")
        || found == "number" && has("integer") && value.as_f64().is_some_and(nearly_whole);
    let texty = matches!(value, Value::String(_) | Value::Array(_));
    if let Some(format) = &rule.format {
        if !texty && !fits && format.name != found_format {
            return Some((format.name.clone(), found_format));
        }
        if texty && !has("number") && !has("integer") {
            return None;
        }
    }
    let limited = !rule.types.is_empty() || rule.format.is_some();
    (!fits && limited).then(|| (rule.types.join(","), found))
}

// Equality as enumerations see it: numbers by value.
#[expect(clippy::float_cmp, reason = "an enumeration lists exact values")]
fn same(allowed: &Value, value: &Value) -> bool {
    if allowed == value {
        return true;
    }
    match (Number::of(allowed), Number::of(value)) {
        (Some(Number::Whole(a)), Some(Number::Float(b))) => a as f64 == b.trunc(),
        (Some(Number::Float(a)), Some(Number::Whole(b))) => a == b as f64,
        (Some(Number::Float(a)), Some(Number::Float(b))) => a == b,
        _ => false,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Prints a value as field errors do, floating-point numbers as Go does.
pub(super) fn show_go(value: &Value) -> String {
    match Number::of(value) {
        Some(Number::Float(n)) => show_float(n),
        _ => show(value),
    }
}

// Whether a value is what it was; fields the schema does not know count as changed.
fn unchanged(rule: &Rule, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new
                    .iter()
                    .all(|(name, value)| match (rule.field(name), old.get(name)) {
                        (Some(rule), Some(old)) => unchanged(rule, value, old),
                        _ => false,
                    })
        }
        (new, old) => new == old,
    }
}
