//! Checks label selectors as specs hold them.

use crate::fault::{Faults, Spot};
use crate::fields::{get, list, text, texts};
use crate::metadata;
use model::{LabelSelector, Value, names};

/// Finds the faults of a label selector; an absent one has none.
pub(crate) fn check(selector: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("matchLabels");
    metadata::check_labels(get(selector, "matchLabels"), at, faults);
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let at = &spot.child("matchExpressions");
        check_expression(expression, &at.index(index), faults);
    }
}

fn check_expression(expression: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("values");
    let empty = list(expression, "values").is_empty();
    match text(expression, "operator") {
        "In" | "NotIn" => {
            if empty {
                faults.required(at, "must be specified when `operator` is 'In' or 'NotIn'");
            }
        }
        "Exists" | "DoesNotExist" => {
            if !empty {
                let message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                faults.forbidden(at, message);
            }
        }
        other => {
            let spot = &spot.child("operator");
            faults.invalid(spot, other, "not a valid selector operator");
        }
    }
    let key = text(expression, "key");
    faults.invalid_each(&spot.child("key"), key, names::qualified_name(key));
    for (index, value) in texts(expression, "values").enumerate() {
        faults.invalid_each(&at.index(index), value, names::label_value(value));
    }
}

/// Whether a selector names no requirement at all.
pub(crate) fn is_empty(selector: &Value) -> bool {
    crate::fields::is_empty(get(selector, "matchLabels"))
        && list(selector, "matchExpressions").is_empty()
}

/// Whether a selector matches the labels of a template; `None` when it cannot be read.
pub(crate) fn matches(selector: &Value, template: &Value) -> Option<bool> {
    let selector = LabelSelector::from_spec(Some(selector)).ok()?;
    let labels = get(get(template, "metadata"), "labels").as_object();
    Some(selector.matches(labels))
}

/// Prints a selector in the field order of its struct.
pub(crate) fn show(selector: &Value) -> String {
    if selector.is_null() {
        return "null".into();
    }
    let parts: Vec<String> = ["matchLabels", "matchExpressions"]
        .into_iter()
        .filter(|field| !crate::fields::is_empty(get(selector, field)))
        .map(|field| format!("\"{field}\":{}", get(selector, field)))
        .collect();
    format!("{{{}}}", parts.join(","))
}
