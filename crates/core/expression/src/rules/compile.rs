//! Finds and compiles the rules of a schema.

use super::{CompileFault, Node, Rule};
use crate::program::Program;
use crate::types::{Place, Type};
use model::{FieldErrorKind, Path, Value};
use schema::field_path;

const DEPTH_MAX: usize = 100;

/// The rules of a whole schema that stands at `at`, `None` when it has none.
pub(super) fn root(schema: &Value, at: &Path, faults: &mut Vec<CompileFault>) -> Option<Node> {
    let mut compiler = Compiler { faults };
    compiler.node(schema, schema, at, Place::Root, None, 0)
}

struct Compiler<'f> {
    faults: &'f mut Vec<CompileFault>,
}

impl Compiler<'_> {
    // `rules` holds the rules, `types` the fields: they differ inside of `allOf`.
    fn node(
        &mut self,
        rules: &Value,
        types: &Value,
        path: &Path,
        place: Place,
        blind: Option<&Path>,
        depth: usize,
    ) -> Option<Node> {
        if depth > DEPTH_MAX || !has_rules(rules, 0) {
            return None;
        }
        let ty = Type::of_schema(types, place);
        let mut node = Node {
            type_name: text(types, "type").to_owned(),
            ..Node::default()
        };
        let list = rules.get("x-kubernetes-validations");
        let list = list.and_then(Value::as_array).into_iter().flatten();
        if let Some(ty) = &ty {
            for (i, rule) in list.enumerate() {
                let at = path.child("x-kubernetes-validations").index(i);
                let mut compiled = self.rule(rule, ty, &at, blind);
                if let Some(compiled) = &mut compiled {
                    let path = field_path(text(rule, "fieldPath"), types);
                    compiled.field_path = path.map_or_else(|_| Path::root(), |(path, _)| path);
                }
                node.rules.extend(compiled);
            }
        }
        node.ty = ty;
        self.below(rules, types, path, blind, depth, &mut node);
        Some(node)
    }

    fn below(
        &mut self,
        rules: &Value,
        types: &Value,
        path: &Path,
        blind: Option<&Path>,
        depth: usize,
        node: &mut Node,
    ) {
        let properties = rules.get("properties").and_then(Value::as_object);
        for (name, rules) in properties.into_iter().flatten() {
            let Some(types) = types.get("properties").and_then(|p| p.get(name)) else {
                continue;
            };
            let at = path.child("properties").key(name);
            let place = Place::of(types);
            let below = self.node(rules, types, &at, place, blind, depth + 1);
            node.properties
                .extend(below.map(|below| (name.clone(), below)));
        }
        let both = |key: &str| rules.get(key).zip(types.get(key));
        if let Some((rules, types)) = both("additionalProperties") {
            let at = path.child("additionalProperties");
            let below = self.node(rules, types, &at, Place::of(types), blind, depth + 1);
            node.values = below.map(Box::new);
        }
        let keys = list_map_keys(types);
        if let Some((rules, types)) = both("items") {
            // Entries of other lists than list maps have no old value to look at.
            let blind = match (blind, &keys) {
                (Some(blind), _) => Some(blind),
                (None, None) => Some(path),
                (None, Some(_)) => None,
            };
            let at = path.child("items");
            let below = self.node(rules, types, &at, Place::of(types), blind, depth + 1);
            node.items = below.map(Box::new);
        }
        node.keys = keys;
        let parts = rules.get("allOf").and_then(Value::as_array);
        for (i, part) in parts.into_iter().flatten().enumerate() {
            let at = path.child("allOf").index(i);
            let place = Place::of(types);
            let below = self.node(part, types, &at, place, blind, depth + 1);
            node.all_of.extend(below);
        }
    }

    fn rule(&mut self, rule: &Value, ty: &Type, at: &Path, blind: Option<&Path>) -> Option<Rule> {
        let source = text(rule, "rule").to_owned();
        if source.trim().is_empty() {
            return None;
        }
        let optional_old = rule.get("optionalOldSelf").and_then(Value::as_bool) == Some(true);
        let old = if optional_old {
            Type::optional(ty.clone())
        } else {
            ty.clone()
        };
        let variables = [("self", ty.clone()), ("oldSelf", old)];
        let program = compile_rule(&source, &variables);
        let uses_old = program.as_ref().is_ok_and(|p| p.uses("oldSelf"));
        if let Err(why) = &program {
            self.fault(rule, &at.child("rule"), why);
        }
        let message_program = match (&program, text(rule, "messageExpression")) {
            (Err(_), _) | (Ok(_), "") => None,
            (Ok(_), message) => match compile_message(message, &variables) {
                Ok(program) => Some(program),
                Err(why) => {
                    self.fault(rule, &at.child("messageExpression"), &why);
                    None
                }
            },
        };
        if program.is_ok() {
            self.check_old(rule, uses_old, at, blind);
        }
        Some(Rule {
            text: source,
            message: text(rule, "message").to_owned(),
            program,
            uses_old,
            optional_old,
            message_program,
            reason: match text(rule, "reason") {
                "FieldValueForbidden" => Some(FieldErrorKind::Forbidden),
                "FieldValueRequired" => Some(FieldErrorKind::Required),
                "FieldValueDuplicate" => Some(FieldErrorKind::Duplicate),
                _ => None,
            },
            field_path: Path::root(),
        })
    }

    fn check_old(&mut self, rule: &Value, uses_old: bool, at: &Path, blind: Option<&Path>) {
        let source = text(rule, "rule");
        match (uses_old, blind, rule.get("optionalOldSelf")) {
            (true, Some(blind), _) => self.faults.push(CompileFault {
                path: at.child("rule").as_str().to_owned(),
                rule: source.to_owned(),
                shown: model::field::go_quote(source),
                message: format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within \
                     {blind}"
                ),
            }),
            (false, _, Some(given)) if !given.is_null() => self.faults.push(CompileFault {
                path: at.child("optionalOldSelf").as_str().to_owned(),
                rule: source.to_owned(),
                shown: given.to_string(),
                message: "may not be set if oldSelf is not used in rule".to_owned(),
            }),
            _ => {}
        }
    }

    fn fault(&mut self, rule: &Value, at: &Path, message: &str) {
        self.faults.push(CompileFault {
            path: at.as_str().to_owned(),
            rule: text(rule, "rule").to_owned(),
            shown: shown(rule),
            message: message.to_owned(),
        });
    }
}

fn compile_rule(source: &str, variables: &[(&str, Type)]) -> Result<Program, String> {
    let program = Program::compile_typed(source, variables);
    let program = program.map_err(|why| format!("compilation failed: {why}"))?;
    if !matches!(program.result(), Type::Bool) {
        return Err("cel expression must evaluate to a bool".into());
    }
    match program.impossible() {
        Some(why) => Err(format!("program instantiation failed: {why}")),
        None => Ok(program),
    }
}

fn compile_message(source: &str, variables: &[(&str, Type)]) -> Result<Program, String> {
    let program = Program::compile_typed(source, variables);
    let program = program.map_err(|why| format!("messageExpression compilation failed: {why}"))?;
    match program.result() {
        Type::Text => Ok(program),
        _ => Err("messageExpression must evaluate to a string".into()),
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list_map_keys(schema: &Value) -> Option<Vec<String>> {
    if text(schema, "x-kubernetes-list-type") != "map" {
        return None;
    }
    let keys = schema.get("x-kubernetes-list-map-keys")?.as_array()?;
    let keys = keys.iter().filter_map(Value::as_str).map(str::to_owned);
    Some(keys.collect())
}

fn has_rules(schema: &Value, depth: usize) -> bool {
    if depth > DEPTH_MAX {
        return false;
    }
    let below = |schema: &Value| has_rules(schema, depth + 1);
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    list("x-kubernetes-validations").is_some_and(|rules| !rules.is_empty())
        || list("allOf").is_some_and(|parts| parts.iter().any(below))
        || schema.get("items").is_some_and(below)
        || schema.get("additionalProperties").is_some_and(below)
        || schema
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|properties| properties.values().any(below))
}

// The rule as the API server prints it: all fields, with Go's escapes for HTML.
fn shown(rule: &Value) -> String {
    let json = |key: &str| match rule.get(key) {
        Some(value) => value.to_string(),
        None if matches!(key, "reason" | "optionalOldSelf") => "null".to_owned(),
        None => "\"\"".to_owned(),
    };
    let all = format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\
         \"OptionalOldSelf\":{}}}",
        json("rule"),
        json("message"),
        json("messageExpression"),
        json("reason"),
        json("fieldPath"),
        json("optionalOldSelf"),
    );
    all.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
