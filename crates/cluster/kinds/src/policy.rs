//! Admission policies and their bindings. Their expressions are checked where they are compiled.

use crate::Endpoint;
use crate::fault::{Faults, Spot};
use crate::fields::{fill, get, has, items_mut, list, map_slot, some_mut, text, texts};
use crate::rules::{Keeps, PLAIN, Recheck, Rules, segment};
use crate::{selector, webhook};
use model::{GroupVersion, Map, Value, names};

/// What is special about a ValidatingAdmissionPolicy.
pub(crate) static VALIDATING: Rules = Rules {
    default: |object, _| default_policy(object),
    check: |object, faults| check(get(object, "spec"), true, faults),
    check_update: |new, _, endpoint, faults| {
        if endpoint == Endpoint::Main {
            check(get(new, "spec"), true, faults);
        }
    },
    status: Some("{}"),
    status_keeps: Keeps::All,
    generation: &["spec"],
    unconditional: false,
    recheck: Recheck::AsNew,
    ..PLAIN
};

/// What is special about a MutatingAdmissionPolicy.
pub(crate) static MUTATING: Rules = Rules {
    default: |object, _| default_policy(object),
    check: |object, faults| check(get(object, "spec"), false, faults),
    check_update: |new, _, _, faults| check(get(new, "spec"), false, faults),
    generation: &["spec"],
    unconditional: false,
    recheck: Recheck::AsNew,
    ..PLAIN
};

/// What is special about a ValidatingAdmissionPolicyBinding.
pub(crate) static VALIDATING_BINDING: Rules = Rules {
    default: |object, _| default_binding(object),
    check: |object, faults| check_binding(get(object, "spec"), true, faults),
    check_update: |new, _, _, faults| check_binding(get(new, "spec"), true, faults),
    generation: &["spec"],
    unconditional: false,
    recheck: Recheck::AsNew,
    ..PLAIN
};

/// What is special about a MutatingAdmissionPolicyBinding.
pub(crate) static MUTATING_BINDING: Rules = Rules {
    default: |object, _| default_binding(object),
    check: |object, faults| check_binding(get(object, "spec"), false, faults),
    check_update: |new, _, _, faults| check_binding(get(new, "spec"), false, faults),
    generation: &["spec"],
    unconditional: false,
    recheck: Recheck::AsNew,
    ..PLAIN
};

fn default_policy(object: &mut Value) {
    let spec = map_slot(object, "spec");
    fill(spec, "failurePolicy", "Fail");
    if let Some(matched) = some_mut(spec, "matchConstraints") {
        default_match(matched);
    }
}

fn default_binding(object: &mut Value) {
    let matched = some_mut(object, "spec").and_then(|spec| some_mut(spec, "matchResources"));
    if let Some(matched) = matched {
        default_match(matched);
    }
}

fn default_match(matched: &mut Value) {
    fill(matched, "matchPolicy", "Equivalent");
    fill(matched, "namespaceSelector", Map::new());
    fill(matched, "objectSelector", Map::new());
    for field in ["resourceRules", "excludeResourceRules"] {
        for rule in items_mut(matched, field) {
            fill(rule, "scope", "*");
        }
    }
}

fn check(spec: &Value, validating: bool, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    let at = &spot.child("failurePolicy");
    faults.one_of(at, text(spec, "failurePolicy"), &["Fail", "Ignore"]);
    if has(spec, "paramKind") {
        check_kind(get(spec, "paramKind"), &spot.child("paramKind"), faults);
    }
    let at = &spot.child("matchConstraints");
    if has(spec, "matchConstraints") {
        let matched = get(spec, "matchConstraints");
        check_match(matched, at, faults);
        if list(matched, "resourceRules").is_empty() {
            faults.required(&at.child("resourceRules"), "");
        }
    } else {
        faults.required(at, "");
    }
    webhook::check_conditions(spec, &spot.child("matchConditions"), faults);
    for (index, variable) in list(spec, "variables").iter().enumerate() {
        let at = &spot.child("variables");
        let at = &at.index(index);
        for field in ["name", "expression"] {
            if text(variable, field).trim().is_empty() {
                faults.required(&at.child(field), &format!("{field} is not specified"));
            }
        }
    }
    if validating {
        check_validations(spec, spot, faults);
    } else if list(spec, "mutations").is_empty() {
        let message = "mutations must contain at least one item";
        faults.required(&spot.child("mutations"), message);
    }
}

fn check_validations(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (checks, notes) = (list(spec, "validations"), list(spec, "auditAnnotations"));
    if checks.is_empty() && notes.is_empty() {
        let message = "validations or auditAnnotations must contain at least one item";
        faults.required(&spot.child("validations"), message);
        faults.required(&spot.child("auditAnnotations"), message);
    }
    for (index, check) in checks.iter().enumerate() {
        let at = &spot.child("validations");
        let at = &at.index(index);
        if text(check, "expression").trim().is_empty() {
            faults.required(&at.child("expression"), "expression is not specified");
        }
        for field in ["messageExpression", "message"] {
            let value = text(check, field);
            if !value.is_empty() && value.trim().is_empty() {
                faults.invalid(&at.child(field), value, "must be non-empty if specified");
            } else if field == "message" && value.trim().contains('\n') {
                faults.invalid(&at.child(field), value, "must not contain line breaks");
            }
        }
        faults.maybe_one_of(
            &at.child("reason"),
            get(check, "reason"),
            &["Forbidden", "Invalid", "RequestEntityTooLarge"],
        );
    }
}

fn check_kind(kind: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("apiVersion");
    let version = text(kind, "apiVersion");
    match GroupVersion::parse(version) {
        _ if version.is_empty() => faults.required(at, ""),
        None => {
            let message = format!("unexpected GroupVersion string: {version}");
            faults.invalid(at, version, &message);
        }
        Some(parsed) => {
            let found = names::dns1123_subdomain(&parsed.group);
            if !parsed.group.is_empty() && !found.is_empty() {
                faults.invalid(at, parsed.group.as_str(), &found.join(","));
            }
            let found = names::dns1035_label(&parsed.version);
            if parsed.version.is_empty() {
                faults.invalid(at, version, "version must be specified");
            } else if !found.is_empty() {
                faults.invalid(at, parsed.version.as_str(), &found.join(","));
            }
        }
    }
    let at = &spot.child("kind");
    let name = text(kind, "kind");
    let found = names::dns1035_label(&name.to_lowercase());
    if name.is_empty() {
        faults.required(at, "");
    } else if !found.is_empty() {
        let message = format!(
            "may have mixed case, but should otherwise match: {}",
            found.join(",")
        );
        faults.invalid(at, name, &message);
    }
}

fn check_match(matched: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("matchPolicy");
    faults.one_of(at, text(matched, "matchPolicy"), &["Equivalent", "Exact"]);
    for field in ["namespaceSelector", "objectSelector"] {
        let at = &spot.child(field);
        if has(matched, field) {
            selector::check(get(matched, field), at, faults);
        } else {
            faults.required(at, "");
        }
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in list(matched, field).iter().enumerate() {
            let at = &spot.child(field);
            let at = &at.index(index);
            let named: Vec<&str> = texts(rule, "resourceNames").collect();
            for (index, name) in named.iter().enumerate() {
                let at = &at.child("resourceNames");
                faults.invalid_each(&at.index(index), name, segment(name, false));
                if named[..index].contains(name) {
                    faults.duplicate(&at.index(index), *name);
                }
            }
            webhook::check_rule(rule, at, faults);
        }
    }
}

fn check_binding(spec: &Value, validating: bool, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    let at = &spot.child("policyName");
    match text(spec, "policyName") {
        "" => faults.required(at, ""),
        name => faults.invalid_each(at, name, names::dns1123_subdomain(name)),
    }
    if has(spec, "paramRef") {
        check_reference(get(spec, "paramRef"), &spot.child("paramRef"), faults);
    }
    if has(spec, "matchResources") {
        let at = &spot.child("matchResources");
        check_match(get(spec, "matchResources"), at, faults);
    }
    if validating {
        check_actions(spec, &spot.child("validationActions"), faults);
    }
}

fn check_reference(reference: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (name, chosen) = (text(reference, "name"), has(reference, "selector"));
    let message = "name and selector are mutually exclusive";
    if !name.is_empty() {
        faults.invalid_each(&spot.child("name"), name, segment(name, false));
        if chosen {
            faults.forbidden(&spot.child("name"), message);
            faults.forbidden(&spot.child("selector"), message);
        }
    } else if chosen {
        selector::check(get(reference, "selector"), &spot.child("selector"), faults);
    } else {
        faults.required(spot, "one of name or selector must be specified");
    }
    let at = &spot.child("parameterNotFoundAction");
    match text(reference, "parameterNotFoundAction") {
        "" => faults.required(at, ""),
        "Deny" | "Allow" => {}
        other => faults.unsupported(at, other, &["Deny", "Allow"]),
    }
}

fn check_actions(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let actions: Vec<&str> = texts(spec, "validationActions").collect();
    for (index, action) in actions.iter().enumerate() {
        if !matches!(*action, "Deny" | "Warn" | "Audit") {
            faults.unsupported(&spot.index(index), *action, &["Audit", "Deny", "Warn"]);
        }
        if actions[..index].contains(action) {
            faults.duplicate(&spot.index(index), *action);
        }
    }
    if actions.contains(&"Deny") && actions.contains(&"Warn") {
        let message = "must not contain both Deny and Warn (repeating the same validation failure \
             information in the API response and headers serves no purpose)";
        faults.invalid(spot, get(spec, "validationActions").clone(), message);
    }
    if actions.is_empty() {
        faults.required(spot, "at least one validation action is required");
    }
}
