//! One expression, compiled once and evaluated often.

use crate::ast::{Expr, Kind, Literal};
use crate::checker::{check, mentions, visit};
use crate::eval::Evaluator;
use crate::fault::render;
use crate::parser::parse;
use crate::types::Type;
use crate::value::Val;
use model::Value;
use regex::Regex;
use schema::compile_pattern;
use std::cell::Cell;
use std::collections::BTreeMap;

/// What one evaluation may cost.
pub const CALL_COST_MAX: u64 = 1_000_000;

/// The variables of admission policies; all are of any type.
const POLICY_VARIABLES: [&str; 7] = [
    "object",
    "oldObject",
    "request",
    "params",
    "namespaceObject",
    "variables",
    "authorizer",
];

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Program {
    expr: Expr,
    patterns: BTreeMap<String, Regex>,
    result: Type,
}

/// The type of variables whose type is not known before they are there.
static ANY: Type = Type::Dyn;

impl Program {
    /// Compiles an expression of an admission policy.
    ///
    /// It may use `object`, `oldObject`, `request`, `params`, `namespaceObject` and `variables`. The
    /// error shows the place of each fault.
    pub fn compile(expression: &str) -> Result<Self, String> {
        Self::compile_with(expression, &POLICY_VARIABLES)
    }

    /// Compiles an expression that may use the named variables.
    pub fn compile_with(expression: &str, variables: &[&str]) -> Result<Self, String> {
        let variables: Vec<(&str, Type)> = variables.iter().map(|n| (*n, Type::Dyn)).collect();
        Self::compile_typed(expression, &variables)
    }

    pub(crate) fn compile_typed(source: &str, variables: &[(&str, Type)]) -> Result<Self, String> {
        let mut expr = parse(source).map_err(|faults| render(source, &faults))?;
        let result = check(&mut expr, variables).map_err(|faults| render(source, &faults))?;
        let patterns = constant_patterns(&expr);
        Ok(Self {
            expr,
            patterns,
            result,
        })
    }

    /// Evaluates the expression with these variables; those left out are not to be mentioned.
    pub fn eval(&self, variables: &[(&str, &Value)]) -> Result<Value, String> {
        let variables = variables
            .iter()
            .map(|(name, value)| (*name, Val::read(value, &ANY)))
            .collect();
        let (result, _) = self.run(variables, CALL_COST_MAX);
        result.map(|value| value.to_json())
    }

    /// The name of the result's type: `bool`, `string`, `dyn` where it is not known before.
    pub fn result_type(&self) -> String {
        self.result.to_string()
    }

    pub(crate) fn result(&self) -> &Type {
        &self.result
    }

    /// Whether the expression mentions a variable.
    pub fn uses(&self, name: &str) -> bool {
        mentions(&self.expr, name)
    }

    /// Why a conversion of a constant can never work, if there is such a one.
    pub(crate) fn impossible(&self) -> Option<String> {
        const CONVERSIONS: [&str; 6] = ["int", "uint", "double", "bool", "string", "bytes"];
        let mut found = None;
        visit(&self.expr, &mut |expr| {
            if let Kind::Call(None, name, args) = &expr.kind
                && let [Expr { kind, .. }] = args.as_slice()
                && matches!(kind, Kind::Literal(_))
                && CONVERSIONS.contains(&name.as_str())
                && found.is_none()
            {
                let evaluator = Evaluator {
                    variables: Vec::new(),
                    patterns: &self.patterns,
                    left: Cell::new(CALL_COST_MAX),
                };
                found = evaluator.run(expr).err();
            }
        });
        found
    }

    // The value and what it cost.
    pub(crate) fn run<'a>(
        &'a self,
        variables: Vec<(&'a str, Val<'a>)>,
        budget: u64,
    ) -> (Result<Val<'a>, String>, u64) {
        let evaluator = Evaluator {
            variables,
            patterns: &self.patterns,
            left: Cell::new(budget),
        };
        let result = evaluator.run(&self.expr);
        (result, budget - evaluator.left.get())
    }
}

fn constant_patterns(expr: &Expr) -> BTreeMap<String, Regex> {
    let mut patterns = BTreeMap::new();
    visit(expr, &mut |expr| {
        let Kind::Call(_, name, args) = &expr.kind else {
            return;
        };
        if !matches!(name.as_str(), "matches" | "find" | "findAll") {
            return;
        }
        for arg in args {
            if let Kind::Literal(Literal::Text(text)) = &arg.kind
                && let Ok(regex) = compile_pattern(text)
            {
                patterns.insert(text.clone(), regex);
            }
        }
    });
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn check(expression: &str, expected: &Value) {
        let object = json!({
            "metadata": {"name": "web", "labels": {"app.io/x": "y"}},
            "spec": {"replicas": 3, "containers": [{"image": "a:1"}, {"image": "b"}]},
        });
        let program = Program::compile(expression).unwrap();
        let value = program.eval(&[("object", &object), ("oldObject", &Value::Null)]);
        assert_eq!(value.as_ref(), Ok(expected), "{expression}");
    }

    #[test]
    fn policies_see_objects_without_types() {
        check("object.spec.replicas <= 5", &json!(true));
        check("oldObject == null", &json!(true));
        check(
            "object.metadata.?labels['app.io/x'].orValue('')",
            &json!("y"),
        );
        check("has(object.metadata.annotations)", &json!(false));
        check(
            "object.spec.containers.filter(c, !c.image.contains(':')).map(c, c.image)",
            &json!(["b"]),
        );
        check("{'a': object.spec.replicas + 1}", &json!({"a": 4}));
        check("object.spec.replicas == 3.0", &json!(true));
    }

    #[test]
    fn failures_are_told() {
        let eval = |text: &str| Program::compile(text).and_then(|p| p.eval(&[]));
        assert_eq!(
            eval("object.x").unwrap_err(),
            "no such attribute(s): object"
        );
        assert_eq!(eval("[1][5]").unwrap_err(), "index out of bounds: 5");
        assert_eq!(
            eval("nope").unwrap_err(),
            "ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^"
        );
    }

    #[test]
    fn programs_say_what_they_use_and_give() {
        let program = Program::compile("oldObject == null || size('a') > 0").unwrap();
        assert!(program.uses("oldObject"));
        assert!(!program.uses("params"));
        assert_eq!(program.result_type(), "bool");
    }

    #[test]
    fn deep_and_long_expressions_are_refused() {
        let deep = format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000));
        assert!(
            Program::compile(&deep)
                .unwrap_err()
                .contains("recursion limit exceeded")
        );
        let within = format!("{}1{}", "(".repeat(150), ")".repeat(150));
        assert_eq!(Program::compile(&within).unwrap().eval(&[]), Ok(json!(1)));
        let chain = vec!["1"; 5_000].join(" + ");
        assert!(Program::compile(&chain).is_err());
        let unary = "!".repeat(5_000) + "true";
        assert!(Program::compile(&unary).is_err());
        let logic = vec!["true"; 5_000].join(" && ");
        assert_eq!(Program::compile(&logic).unwrap().eval(&[]), Ok(json!(true)));
        let long = " ".repeat(200_000);
        assert!(
            Program::compile(&long)
                .unwrap_err()
                .contains("exceeds limit")
        );
    }
}
