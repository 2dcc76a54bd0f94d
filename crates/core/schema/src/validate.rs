//! Says what is wrong with the values of a custom resource, in the API server's words.
//!
//! A [`Validator`] is made once from the `openAPIV3Schema` of a CRD version (patterns are compiled
//! then) and checks any number of objects. Objects come pruned and defaulted.
//!
//! ```text
//! openAPIV3Schema ── Validator::new ──▶ Validator ── validate(object) ──▶ [FieldError]
//! ```

mod check;
mod embedded;
mod format;
mod list;
mod number;
mod rule;
#[cfg(test)]
mod tests;

pub use format::{FormatCheck, format_check, parse_duration};
pub use number::show_float;

use check::{Checker, Fault};
use model::{FieldError, FieldErrorKind, Path, Value};
use rule::Rule;
use std::collections::BTreeSet;

/// What follows the faults of an object whose validation rules could not be asked any more.
pub const RULES_NOT_CHECKED: &str = "some validation rules were not checked because the object \
     was invalid; correct the existing errors to complete validation";

/// The values that a schema allows.
#[derive(Clone, Debug)]
pub struct Validator {
    root: Rule,
}

impl Validator {
    /// Reads the `openAPIV3Schema` of a CRD version.
    pub fn new(schema: &Value) -> Self {
        Self {
            root: Rule::read(schema),
        }
    }

    /// What is wrong with a new object.
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut faults = self.values(object, None);
        faults.extend(embedded::embedded(&self.root, object, &Path::root()));
        faults.extend(list::duplicates(&self.root, object, &Path::root()));
        faults
    }

    /// What is wrong with an object that replaces another.
    ///
    /// Faults of values that did not change are forgiven, so that a schema may become stricter
    /// while older objects live on.
    pub fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut faults = self.values(new, Some(old));
        faults.extend(self.structure(new, old));
        faults
    }

    /// What is wrong with an object whose `status` is replaced; only the status is looked at.
    pub fn validate_status(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut faults = Vec::new();
        if let (Some(rule), Some(status)) = (self.root.properties.get("status"), new.get("status"))
        {
            let mut checker = Checker::new("status");
            checker.value(rule, status, old.get("status"));
            faults = once_each(checker.faults);
        }
        faults.extend(self.structure(new, old));
        faults
    }

    fn values(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut checker = Checker::new("");
        checker.value(&self.root, object, old);
        once_each(checker.faults)
    }

    fn structure(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut faults = embedded::embedded(&self.root, new, &Path::root());
        if list::duplicates(&self.root, old, &Path::root()).is_empty() {
            faults.extend(list::duplicates(&self.root, new, &Path::root()));
        }
        faults
    }

    /// What is wrong with the default of a schema, which stands at `at`.
    pub(crate) fn validate_default(&self, default: &Value, at: &Path) -> Vec<FieldError> {
        let resources = embedded::embedded(&self.root, default, at);
        if !resources.is_empty() {
            return resources;
        }
        let mut checker = Checker::new(at.as_str());
        checker.value(&self.root, default, None);
        once_each(checker.faults)
    }
}

/// Whether such faults keep the validation rules (CEL) from being asked.
///
/// When they do and the kind has rules, [`rules_not_checked`] is added to the answer.
pub fn blocks_rules(faults: &[FieldError]) -> bool {
    faults.iter().any(|fault| {
        matches!(
            fault.kind,
            FieldErrorKind::NotSupported
                | FieldErrorKind::Required
                | FieldErrorKind::TooLong
                | FieldErrorKind::TooMany
                | FieldErrorKind::TypeInvalid
        )
    })
}

/// The note that validation rules were not asked, in the form of a fault.
pub fn rules_not_checked() -> FieldError {
    FieldError::invalid(&Path::new("<nil>"), &Value::Null, RULES_NOT_CHECKED)
}

/// What is wrong with the replica counts that a CRD's scale subresource points at.
///
/// `scale` is the CRD version's `subresources.scale`.
pub fn check_scale(object: &Value, scale: &Value) -> Vec<FieldError> {
    let mut faults = Vec::new();
    for key in ["specReplicasPath", "statusReplicasPath"] {
        let path = scale.get(key).and_then(Value::as_str).unwrap_or_default();
        let Some(value) = at_path(object, path) else {
            continue;
        };
        let why = match value.as_i64() {
            Some(n) if n < 0 => "should be a non-negative integer".to_owned(),
            Some(n) if n > i64::from(i32::MAX) => {
                format!("should be less than or equal to {}", i32::MAX)
            }
            Some(_) => continue,
            None => not_of_type(path, value, "int64"),
        };
        let shown = value.as_i64().unwrap_or_default().to_string();
        faults.push(FieldError::invalid_shown(&Path::new(path), shown, &why));
    }
    let path = scale.get("labelSelectorPath").and_then(Value::as_str);
    if let Some(path) = path
        && let Some(value) = at_path(object, path).filter(|v| !v.is_string())
    {
        let why = not_of_type(path, value, "string");
        faults.push(FieldError::invalid_shown(&Path::new(path), "\"\"", &why));
    }
    faults
}

fn at_path<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    let path = path.strip_prefix('.').unwrap_or(path);
    path.split('.').try_fold(object, |v, key| v.get(key))
}

fn not_of_type(path: &str, value: &Value, wanted: &str) -> String {
    let shown = match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".into(),
        other => check::show_go(other),
    };
    let found = match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        Value::Number(n) if n.is_i64() => "int64",
        Value::Number(_) => "float64",
    };
    format!("{path} accessor error: {shown} is of the type {found}, expected {wanted}")
}

// The same sentence is told once, however many alternatives of a schema led to it.
fn once_each(faults: Vec<Fault>) -> Vec<FieldError> {
    let mut told = BTreeSet::new();
    faults
        .into_iter()
        .filter(|fault| told.insert(fault.sentence.clone()))
        .map(|fault| fault.error)
        .collect()
}
