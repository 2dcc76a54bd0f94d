//! Checks where a pod may run: affinity, spreading, tolerations, node selectors.

use crate::fault::{Faults, Spot};
use crate::fields::{get, has, int, list, number, text, texts};
use crate::selector;
use model::{Value, names};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Finds the faults of a pod's affinity.
pub(crate) fn check_affinity(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let affinity = get(spec, "affinity");
    let node = get(affinity, "nodeAffinity");
    let at = &spot.child("nodeAffinity");
    if has(node, REQUIRED) {
        check_node_selector(get(node, REQUIRED), &at.child(REQUIRED), faults);
    }
    for (index, term) in list(node, PREFERRED).iter().enumerate() {
        let at = &at.child(PREFERRED);
        let at = &at.index(index);
        check_weight(term, at, faults);
        check_node_term(
            get(term, "preference"),
            Values::Free,
            &at.child("preference"),
            faults,
        );
    }
    for side in ["podAffinity", "podAntiAffinity"] {
        check_pod_affinity(get(affinity, side), &spot.child(side), faults);
    }
}

fn check_pod_affinity(affinity: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for (index, term) in list(affinity, REQUIRED).iter().enumerate() {
        let at = &spot.child(REQUIRED);
        check_pod_term(term, &at.index(index), faults);
    }
    for (index, weighted) in list(affinity, PREFERRED).iter().enumerate() {
        let at = &spot.child(PREFERRED);
        let at = &at.index(index);
        check_weight(weighted, at, faults);
        let term = get(weighted, "podAffinityTerm");
        check_pod_term(term, &at.child("podAffinityTerm"), faults);
    }
}

fn check_weight(term: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let weight = number(term, "weight");
    if !(1..=100).contains(&weight) {
        let message = "must be in the range 1-100";
        faults.invalid(&spot.child("weight"), weight, message);
    }
}

fn check_pod_term(term: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for field in ["labelSelector", "namespaceSelector"] {
        selector::check(get(term, field), &spot.child(field), faults);
    }
    for name in texts(term, "namespaces") {
        faults.invalid_each(&spot.child("namespace"), name, names::dns1123_label(name));
    }
    check_label_keys(term, &["matchLabelKeys", "mismatchLabelKeys"], spot, faults);
    let key = text(term, "topologyKey");
    if key.is_empty() {
        faults.required(&spot.child("topologyKey"), "can not be empty");
    }
    faults.invalid_each(&spot.child("topologyKey"), key, names::qualified_name(key));
}

fn check_label_keys(term: &Value, fields: &[&str], spot: &Spot<'_>, faults: &mut Faults) {
    let selector = get(term, "labelSelector");
    for field in fields {
        let at = &spot.child(field);
        let keys = list(term, field);
        if keys.is_empty() {
            continue;
        }
        if selector.is_null() {
            faults.forbidden(at, "must not be specified when labelSelector is not set");
            continue;
        }
        for (index, key) in texts(term, field).enumerate() {
            faults.invalid_each(&at.index(index), key, names::qualified_name(key));
        }
    }
    let mut asked: Vec<&str> = crate::fields::entries(selector, "matchLabels")
        .map(|(key, _)| key.as_str())
        .collect();
    for expression in list(selector, "matchExpressions") {
        let key = text(expression, "key");
        let index = texts(term, "matchLabelKeys").position(|k| k == key);
        if let Some(index) = index.filter(|_| asked.contains(&key)) {
            let message = "exists in both matchLabelKeys and labelSelector";
            faults.invalid(&spot.index(index), key, message);
        }
        asked.push(key);
    }
    for (index, key) in texts(term, "matchLabelKeys").enumerate() {
        if texts(term, "mismatchLabelKeys").any(|k| k == key) {
            let message = "exists in both matchLabelKeys and mismatchLabelKeys";
            let at = &spot.child("matchLabelKeys");
            faults.invalid(&at.index(index), key, message);
        }
    }
}

/// Whether the values of a node selector must be label values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Checked,
    Free,
}

/// Finds the faults of a node selector.
pub(crate) fn check_node_selector(selector: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("nodeSelectorTerms");
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        return faults.required(at, "must have at least one node selector term");
    }
    for (index, term) in terms.iter().enumerate() {
        check_node_term(term, Values::Checked, &at.index(index), faults);
    }
}

fn check_node_term(term: &Value, values: Values, spot: &Spot<'_>, faults: &mut Faults) {
    for (index, requirement) in list(term, "matchExpressions").iter().enumerate() {
        let at = &spot.child("matchExpressions");
        check_node_labels(requirement, values, &at.index(index), faults);
    }
    for (index, requirement) in list(term, "matchFields").iter().enumerate() {
        let at = &spot.child("matchFields");
        check_node_fields(requirement, &at.index(index), faults);
    }
}

fn check_node_labels(rule: &Value, values: Values, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("values");
    let given = list(rule, "values").len();
    match text(rule, "operator") {
        "In" | "NotIn" if given == 0 => {
            faults.required(at, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if given > 0 => {
            let message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            faults.forbidden(at, message);
        }
        "Gt" | "Lt" if given != 1 => {
            let message = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            faults.required(at, message);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => {
            let spot = &spot.child("operator");
            faults.invalid(spot, other, "not a valid selector operator");
        }
    }
    let key = text(rule, "key");
    faults.invalid_each(&spot.child("key"), key, names::qualified_name(key));
    if values == Values::Checked {
        for (index, value) in texts(rule, "values").enumerate() {
            faults.invalid_each(&at.index(index), value, names::label_value(value));
        }
    }
}

fn check_node_fields(rule: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("values");
    match text(rule, "operator") {
        "In" | "NotIn" => {
            if list(rule, "values").len() != 1 {
                let message = "must be only one value when `operator` is 'In' or 'NotIn' for node \
                     field selector";
                faults.required(at, message);
            }
        }
        other => {
            let spot = &spot.child("operator");
            faults.invalid(spot, other, "not a valid selector operator");
        }
    }
    let key = text(rule, "key");
    if key != "metadata.name" {
        let message = "not a valid field selector key";
        return faults.invalid(&spot.child("key"), key, message);
    }
    for (index, value) in texts(rule, "values").enumerate() {
        faults.invalid_each(&at.index(index), value, names::dns1123_subdomain(value));
    }
}

/// Finds the faults of tolerations.
pub(crate) fn check_tolerations(tolerations: &[Value], spot: &Spot<'_>, faults: &mut Faults) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let spot = &spot.index(index);
        let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
        let (value, effect) = (text(toleration, "value"), text(toleration, "effect"));
        if !key.is_empty() {
            faults.invalid_each(&spot.child("key"), key, names::qualified_name(key));
        } else if operator != "Exists" {
            let message = "operator must be Exists when `key` is empty, which means \"match all \
                 values and all keys\"";
            faults.invalid(&spot.child("operator"), operator, message);
        }
        if has(toleration, "tolerationSeconds") && effect != "NoExecute" {
            let message = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            faults.invalid(&spot.child("effect"), effect, message);
        }
        let at = &spot.child("operator");
        match operator {
            "Equal" | "" => {
                let found = names::label_value(value);
                if !found.is_empty() {
                    faults.invalid(at, value, &found.join(";"));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    let message = "value must be empty when `operator` is 'Exists'";
                    faults.invalid(at, value, message);
                }
            }
            "Lt" | "Gt" => {
                faults.unsupported(at, operator, &["Equal", "Exists", "Lt", "Gt"]);
            }
            other => faults.unsupported(at, other, &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            check_effect(effect, &spot.child("effect"), faults);
        }
    }
}

/// Finds the fault of a taint's effect.
pub(crate) fn check_effect(effect: &str, spot: &Spot<'_>, faults: &mut Faults) {
    faults.one_of(
        spot,
        effect,
        &["NoSchedule", "PreferNoSchedule", "NoExecute"],
    );
}

/// Finds the faults of how pods are spread.
pub(crate) fn check_spread(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let constraints = list(spec, "topologySpreadConstraints");
    for (index, constraint) in constraints.iter().enumerate() {
        let spot = &spot.index(index);
        let skew = number(constraint, "maxSkew");
        if skew <= 0 {
            faults.invalid(&spot.child("maxSkew"), skew, "must be greater than zero");
        }
        let (key, action) = (
            text(constraint, "topologyKey"),
            text(constraint, "whenUnsatisfiable"),
        );
        if key.is_empty() {
            faults.required(&spot.child("topologyKey"), "can not be empty");
        }
        if !matches!(action, "DoNotSchedule" | "ScheduleAnyway") {
            let spot = &spot.child("whenUnsatisfiable");
            faults.unsupported(spot, action, &["DoNotSchedule", "ScheduleAnyway"]);
        }
        let again = constraints[index + 1..].iter().any(|other| {
            text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action
        });
        if again {
            let spot = &spot.child("{topologyKey, whenUnsatisfiable}");
            faults.duplicate(spot, format!("{{{key}, {action}}}"));
        }
        check_domains(constraint, action, spot, faults);
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let value = get(constraint, policy);
            faults.maybe_one_of(&spot.child(policy), value, &["Honor", "Ignore"]);
        }
        check_label_keys(constraint, &["matchLabelKeys"], spot, faults);
        selector::check(
            get(constraint, "labelSelector"),
            &spot.child("labelSelector"),
            faults,
        );
    }
}

fn check_domains(constraint: &Value, action: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let Some(domains) = int(constraint, "minDomains") else {
        return;
    };
    let spot = &spot.child("minDomains");
    if domains <= 0 {
        faults.invalid(spot, domains, "must be greater than zero");
    }
    if action != "DoNotSchedule" {
        let message =
            format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        faults.invalid(spot, domains, &message);
    }
}
