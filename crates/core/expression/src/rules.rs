//! The validation rules of a custom resource: `x-kubernetes-validations` of its schema.
//!
//! Rules stand at any level of the schema and see the value there as `self`, and what it was as
//! `oldSelf`. They are compiled once for a CRD version.
//!
//! ```text
//! openAPIV3Schema ── Rules::compile ──▶ Rules ── check(new, old) ──▶ [FieldError]
//! ```

mod compile;
#[cfg(test)]
mod tests;

use crate::eval::TOO_COSTLY;
use crate::operators::NO_OVERLOAD;
use crate::program::{CALL_COST_MAX, Program};
use crate::types::Type;
use crate::value::Val;
use model::{FieldError, FieldErrorKind, Path, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What all rules of one object may cost.
pub const OBJECT_COST_MAX: u64 = 10_000_000;
/// How long a message may be that a rule makes.
const MESSAGE_MAX: usize = 5 * 1024;

/// The compiled rules of one schema.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    root: Option<Node>,
}

/// Why a rule cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct CompileFault {
    /// Where in the schema: `properties[spec].x-kubernetes-validations[0].rule`.
    pub path: String,
    /// The rule's text.
    pub rule: String,
    /// The refused value as the API server shows it: mostly the whole rule.
    pub shown: String,
    /// What is wrong with it.
    pub message: String,
}

/// The rules at one level of a schema and below.
#[derive(Clone, Debug, Default)]
struct Node {
    type_name: String,
    ty: Option<Type>,
    rules: Vec<Rule>,
    items: Option<Box<Node>>,
    /// Key fields of a list map; entries of other lists have no old value.
    keys: Option<Vec<String>>,
    properties: BTreeMap<String, Node>,
    values: Option<Box<Node>>,
    all_of: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Rule {
    text: String,
    message: String,
    program: Result<Program, String>,
    uses_old: bool,
    optional_old: bool,
    message_program: Option<Program>,
    reason: Option<FieldErrorKind>,
    /// The field below that the fault is told of.
    field_path: Path,
}

impl Rules {
    /// Compiles the rules of an `openAPIV3Schema`; those that cannot be compiled are told.
    pub fn compile(schema: &Value) -> (Self, Vec<CompileFault>) {
        let mut faults = Vec::new();
        let root = compile::root(schema, &Path::root(), &mut faults);
        (Self { root }, faults)
    }

    /// Whether there are no rules at all.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// What the rules say of an object; `old` is what it replaces.
    ///
    /// Rules that mention `oldSelf` are skipped where there is no old value, and rules that do not
    /// are forgiven where the value did not change.
    pub fn check(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut check = Check {
            left: OBJECT_COST_MAX,
            exhausted: false,
            faults: Vec::new(),
        };
        if let Some(root) = &self.root {
            check.node(root, &Path::root(), new, old, Unchanged::Never);
        }
        check.faults
    }
}

/// Whether faults of unchanged values are forgiven here.
#[derive(Clone, Copy)]
enum Unchanged<'v> {
    Never,
    /// When this value is what it was.
    If(&'v Value, &'v Value),
}

impl Unchanged<'_> {
    fn holds(self) -> bool {
        matches!(self, Self::If(new, old) if new == old)
    }
}

struct Check {
    left: u64,
    exhausted: bool,
    faults: Vec<FieldError>,
}

impl Check {
    fn node<'v>(
        &mut self,
        node: &Node,
        path: &Path,
        new: &'v Value,
        old: Option<&'v Value>,
        unchanged: Unchanged<'v>,
    ) {
        if new.is_null() || self.exhausted {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        self.rules(node, path, new, old, unchanged);
        for part in &node.all_of {
            self.node(part, path, new, old, Unchanged::Never);
        }
        match new {
            Value::Array(entries) => {
                let Some(items) = &node.items else { return };
                for (i, entry) in entries.iter().enumerate() {
                    let before = counterpart(node, entry, old);
                    let below = correlate(unchanged, entry, before);
                    self.node(items, &path.index(i), entry, before, below);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let before = old.and_then(|old| old.get(name));
                    let below = correlate(unchanged, value, before);
                    if let Some(property) = node.properties.get(name) {
                        self.node(property, &path.child(name), value, before, below);
                    } else if let Some(values) = &node.values {
                        self.node(values, &path.key(name), value, before, below);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn rules(
        &mut self,
        node: &Node,
        path: &Path,
        new: &Value,
        old: Option<&Value>,
        unchanged: Unchanged<'_>,
    ) {
        let Some(ty) = &node.ty else { return };
        for rule in &node.rules {
            if self.exhausted || rule.uses_old && old.is_none() && !rule.optional_old {
                continue;
            }
            let program = match &rule.program {
                Ok(program) => program,
                Err(why) => {
                    let detail = format!("rule compile error: {why}");
                    self.invalid_type(node, path, &detail);
                    continue;
                }
            };
            match self.run(program, rule, ty, new, old) {
                Ok(Val::Bool(true)) => {}
                Ok(_) => {
                    let forgiven = !rule.uses_old && unchanged.holds();
                    let fault = self.broken(node, rule, path, new, old);
                    self.faults.extend(fault.filter(|_| !forgiven));
                }
                Err(why) => self.failed(node, rule, path, &why),
            }
        }
    }

    fn run<'r>(
        &mut self,
        program: &'r Program,
        rule: &Rule,
        ty: &'r Type,
        new: &'r Value,
        old: Option<&'r Value>,
    ) -> Result<Val<'r>, String> {
        let mut variables = vec![("self", Val::read(new, ty))];
        let before = old.map(|old| Val::read(old, ty));
        if rule.optional_old {
            variables.push(("oldSelf", Val::Optional(before.map(Rc::new))));
        } else if let Some(before) = before {
            variables.push(("oldSelf", before));
        }
        let (result, cost) = program.run(variables, CALL_COST_MAX);
        let left = self.left.checked_sub(cost);
        self.left = left.unwrap_or(0);
        if left.is_none() {
            return Err(String::new());
        }
        result
    }

    // The rule could not be evaluated.
    fn failed(&mut self, node: &Node, rule: &Rule, path: &Path, why: &str) {
        let name = rule.name();
        let detail = if why.is_empty() {
            self.exhausted = true;
            "validation failed due to running out of cost budget, no further validation rules \
             will be run"
                .to_owned()
        } else if why.starts_with(NO_OVERLOAD) {
            format!(
                "'{why}': call arguments did not match a supported operator, function or macro \
                 signature for rule: {name}"
            )
        } else if why == TOO_COSTLY {
            self.exhausted = true;
            format!(
                "'{why}': no further validation rules will be run due to call cost exceeds limit \
                 for rule: {name}"
            )
        } else {
            format!("{why} evaluating rule: {name}")
        };
        self.invalid_type(node, path, &detail);
    }

    fn invalid_type(&mut self, node: &Node, path: &Path, detail: &str) {
        let shown = model::field::go_quote(&node.type_name);
        let error = FieldError::invalid_shown(&nil_root(path), shown, detail);
        self.faults.push(error);
    }

    // The rule was evaluated, and does not hold.
    fn broken(
        &mut self,
        node: &Node,
        rule: &Rule,
        path: &Path,
        new: &Value,
        old: Option<&Value>,
    ) -> Option<FieldError> {
        let path = match rule.field_path.as_str() {
            "" => nil_root(path),
            below => path.child(below),
        };
        let made = match &rule.message_program {
            Some(program) => self.message(program, rule, node.ty.as_ref()?, new, old),
            None => None,
        };
        let detail = made.unwrap_or_else(|| rule.message_or_default());
        // Values of objects and lists are not shown.
        let compound = matches!(node.type_name.as_str(), "object" | "array");
        let value = (!compound).then(|| show(new));
        Some(match rule.reason {
            Some(FieldErrorKind::Forbidden) => FieldError::forbidden(&path, &detail),
            Some(FieldErrorKind::Required) => FieldError::required(&path, &detail),
            Some(FieldErrorKind::Duplicate) => FieldError {
                kind: FieldErrorKind::Duplicate,
                field: path.as_str().to_owned(),
                detail: None,
                value,
            },
            _ => FieldError {
                kind: FieldErrorKind::Invalid,
                field: path.as_str().to_owned(),
                detail: Some(detail),
                value,
            },
        })
    }

    fn message(
        &mut self,
        program: &Program,
        rule: &Rule,
        ty: &Type,
        new: &Value,
        old: Option<&Value>,
    ) -> Option<String> {
        let Ok(Val::Text(text)) = self.run(program, rule, ty, new, old) else {
            return None;
        };
        let text = text.trim();
        let good = !text.is_empty() && text.len() <= MESSAGE_MAX && !text.contains('\n');
        good.then(|| text.to_owned())
    }
}

impl Rule {
    // What errors call the rule.
    fn name(&self) -> &str {
        let text = if self.message.is_empty() {
            &self.text
        } else {
            &self.message
        };
        text.trim()
    }

    fn message_or_default(&self) -> String {
        if self.message.is_empty() {
            format!("failed rule: {}", self.name())
        } else {
            self.name().to_owned()
        }
    }
}

fn nil_root(path: &Path) -> Path {
    if path.as_str().is_empty() {
        Path::new("<nil>")
    } else {
        path.clone()
    }
}

fn show(value: &Value) -> String {
    match value.as_f64() {
        Some(n) if value.is_f64() => schema::show_float(n),
        _ => model::field::show(value),
    }
}

// Only list maps tell which old entry an entry continues.
fn counterpart<'v>(node: &Node, entry: &Value, old: Option<&'v Value>) -> Option<&'v Value> {
    let keys = node.keys.as_ref()?;
    let same = |other: &&Value| keys.iter().all(|key| other.get(key) == entry.get(key));
    old?.as_array()?.iter().find(same)
}

// The nearest value that has an old one decides whether a fault is forgiven.
fn correlate<'v>(parent: Unchanged<'v>, new: &'v Value, old: Option<&'v Value>) -> Unchanged<'v> {
    match old {
        Some(old) => Unchanged::If(new, old),
        None => parent,
    }
}

/// The faults of a schema's rules as faults of the CRD whose schema stands at `at`.
///
/// This is the function that the check of a CRD asks for.
pub fn compile_errors(schema: &Value, at: &Path) -> Vec<FieldError> {
    let mut faults = Vec::new();
    compile::root(schema, at, &mut faults);
    let error = |fault: CompileFault| {
        FieldError::invalid_shown(&Path::new(fault.path), fault.shown, &fault.message)
    };
    faults.into_iter().map(error).collect()
}
