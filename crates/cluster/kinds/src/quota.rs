//! LimitRanges and ResourceQuotas.

use crate::fault::{Faults, Spot};
use crate::fields::{
    entries, fill, get, has, is_empty, items_mut, list, map_slot, slot, text, texts, unset,
};
use crate::rules::{PLAIN, Recheck, Rules};
use crate::{Endpoint, Fresh, resources};
use model::{Quantity, Value, meta, names};

/// What is special about a LimitRange.
pub(crate) static LIMIT_RANGE: Rules = Rules {
    default: |object, _| {
        for item in items_mut(slot(object, "spec"), "limits") {
            default_limit(item);
        }
    },
    create: |object, fresh: &Fresh<'_>| {
        if meta::name(object).is_empty() {
            meta::set_text(object, "name", fresh.uid);
        }
    },
    check: check_limits,
    check_update: |new, _, _, faults| check_limits(new, faults),
    create_on_update: true,
    recheck: Recheck::AsNew,
    ..PLAIN
};

const AMOUNTS: [&str; 5] = [
    "max",
    "min",
    "default",
    "defaultRequest",
    "maxLimitRequestRatio",
];

fn default_limit(item: &mut Value) {
    for field in AMOUNTS {
        resources::round(item, field);
    }
    if text(item, "type") != "Container" {
        return;
    }
    for (from, to) in [
        ("max", "default"),
        ("default", "defaultRequest"),
        ("min", "defaultRequest"),
    ] {
        let amounts = get(item, from).as_object().cloned().unwrap_or_default();
        let target = map_slot(item, to);
        for (name, amount) in amounts {
            fill(target, &name, amount);
        }
    }
    for field in ["default", "defaultRequest"] {
        if is_empty(get(item, field)) {
            unset(item, field);
        }
    }
}

fn check_limits(object: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec.limits");
    let limits = list(get(object, "spec"), "limits");
    for (index, limit) in limits.iter().enumerate() {
        let spot = &spot.index(index);
        let kind = text(limit, "type");
        let at = &spot.child("type");
        let found = names::qualified_name(kind);
        if found.is_empty() && !kind.contains('/') {
            if !matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim") {
                let message = "must be a standard limit type or fully qualified";
                faults.invalid(at, kind, message);
            }
        } else {
            faults.invalid_each(at, kind, found);
        }
        if limits[..index]
            .iter()
            .any(|other| text(other, "type") == kind)
        {
            faults.duplicate(at, kind);
        }
        check_limit(limit, kind, spot, faults);
    }
}

fn check_limit(limit: &Value, kind: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let mut names: Vec<&str> = Vec::new();
    for field in ["max", "min"] {
        check_names(limit, field, kind, spot, &mut names, faults);
    }
    for field in ["default", "defaultRequest"] {
        if kind != "Pod" {
            check_names(limit, field, kind, spot, &mut names, faults);
        } else if !is_empty(get(limit, field)) {
            let message = "may not be specified when `type` is 'Pod'";
            faults.forbidden(&spot.child(field), message);
        }
    }
    let sized = |field: &str| has(get(limit, field), "storage");
    if kind == "PersistentVolumeClaim" && !sized("min") && !sized("max") {
        let message = "either minimum or maximum storage value is required, but neither was \
             provided";
        faults.required(&spot.child("limits"), message);
    }
    check_names(
        limit,
        "maxLimitRequestRatio",
        kind,
        spot,
        &mut names,
        faults,
    );
    names.sort_unstable();
    names.dedup();
    for name in names {
        check_order(limit, kind, name, spot, faults);
    }
}

fn check_names<'a>(
    limit: &'a Value,
    field: &str,
    kind: &str,
    spot: &Spot<'_>,
    names: &mut Vec<&'a str>,
    faults: &mut Faults,
) {
    for (name, _) in entries(limit, field) {
        let at = &spot.child(field);
        resources::check_limit_name(kind, name, &at.key(name), faults);
        names.push(name);
    }
}

fn check_order(limit: &Value, kind: &str, name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let amount = |field: &str| {
        let hidden = kind == "Pod" && field.starts_with("default");
        let value = get(limit, field).get(name).filter(|_| !hidden)?;
        Quantity::from_json(value)
    };
    let (min, max) = (amount("min"), amount("max"));
    let (limited, asked) = (amount("default"), amount("defaultRequest"));
    let mut order = |field: &str, low: Option<Quantity>, high: Option<Quantity>, shown, words| {
        let (low_word, high_word): (&str, &str) = words;
        if let (Some(low), Some(high)) = (low, high)
            && low > high
        {
            let at = &spot.child(field);
            let value: Quantity = if shown { low } else { high };
            let message =
                format!("{low_word} value {low} is greater than {high_word} value {high}");
            faults.invalid(&at.key(name), value.to_string(), &message);
        }
    };
    order("min", min, max, true, ("min", "max"));
    order(
        "defaultRequest",
        min,
        asked,
        false,
        ("min", "default request"),
    );
    order(
        "defaultRequest",
        asked,
        max,
        true,
        ("default request", "max"),
    );
    order(
        "defaultRequest",
        asked,
        limited,
        true,
        ("default request", "default limit"),
    );
    order("default", min, limited, true, ("min", "default"));
    order("default", limited, max, false, ("default", "max"));
    let Some(ratio) = amount("maxLimitRequestRatio") else {
        return;
    };
    let at = spot.child("maxLimitRequestRatio");
    if ratio < Quantity::whole(1) {
        let message = format!("ratio {ratio} is less than 1");
        faults.invalid(&at.key(name), ratio.to_string(), &message);
    }
    if let (Some(min), Some(max)) = (min, max) {
        let most = max.milli_value() as f64 / min.milli_value() as f64;
        if ratio.milli_value() as f64 / 1000.0 > most {
            let message = format!("ratio {ratio} is greater than max/min = {most:.6}");
            faults.invalid(&at.key(name), ratio.to_string(), &message);
        }
    }
}

/// What is special about a ResourceQuota.
pub(crate) static RESOURCE_QUOTA: Rules = Rules {
    default: |object, _| {
        resources::round(slot(object, "spec"), "hard");
        if has(object, "status") {
            let status = map_slot(object, "status");
            resources::round(status, "hard");
            resources::round(status, "used");
        }
    },
    check: |object, faults| check_quota(get(object, "spec"), faults),
    check_update: |new, old, endpoint, faults| {
        if endpoint == Endpoint::Status {
            let spot = &Spot::of("status");
            for field in ["hard", "used"] {
                check_hard(get(new, "status"), field, &spot.child(field), faults);
            }
            return;
        }
        let (spec, before) = (get(new, "spec"), get(old, "spec"));
        check_quota(spec, faults);
        let sorted = |spec: &Value| {
            let mut scopes: Vec<String> = texts(spec, "scopes").map(str::to_owned).collect();
            scopes.sort_unstable();
            scopes.dedup();
            scopes
        };
        if sorted(spec) != sorted(before) {
            let scopes = get(spec, "scopes").clone();
            faults.invalid(&Spot::of("spec.scopes"), scopes, "field is immutable");
        }
    },
    status: Some("{}"),
    ..PLAIN
};

const SCOPES: [&str; 7] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

fn check_hard(owner: &Value, field: &str, spot: &Spot<'_>, faults: &mut Faults) {
    for (name, amount) in entries(owner, field) {
        let at = &spot.key(name);
        resources::check_quota_name(name, at, faults);
        resources::check_amount(name, amount, at, faults);
    }
}

fn fits_scope(scope: &str, name: &str) -> bool {
    let compute = matches!(
        name,
        "cpu" | "memory" | "limits.cpu" | "limits.memory" | "requests.cpu" | "requests.memory"
    );
    match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => name == "pods" || compute,
        "BestEffort" => name == "pods",
        "VolumeAttributesClass" => {
            matches!(name, "persistentvolumeclaims" | "requests.storage")
        }
        _ => true,
    }
}

fn check_quota(spec: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    check_hard(spec, "hard", &spot.child("hard"), faults);
    let at = &spot.child("scopes");
    let scopes: Vec<&str> = texts(spec, "scopes").collect();
    for scope in &scopes {
        if !SCOPES.contains(scope) {
            faults.invalid(at, get(spec, "scopes").clone(), "unsupported scope");
        }
        check_scope(spec, scope, get(spec, "scopes"), at, faults);
    }
    check_pairs(&scopes, get(spec, "scopes"), at, faults);
    let chosen = get(spec, "scopeSelector");
    if chosen.is_null() {
        return;
    }
    let at = &spot.child("scopeSelector.matchExpressions");
    let expressions = list(chosen, "matchExpressions");
    for expression in expressions {
        check_expression(spec, expression, at, faults);
    }
    let named: Vec<&str> = expressions.iter().map(|e| text(e, "scopeName")).collect();
    check_pairs(&named, get(spec, "scopes"), at, faults);
}

fn check_scope(spec: &Value, scope: &str, shown: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for (name, _) in entries(spec, "hard") {
        if resources::is_standard_quota(name) && !fits_scope(scope, name) {
            faults.invalid(spot, shown.clone(), "unsupported scope applied to resource");
        }
    }
}

fn check_pairs(scopes: &[&str], shown: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for (one, other) in [
        ("BestEffort", "NotBestEffort"),
        ("Terminating", "NotTerminating"),
    ] {
        if scopes.contains(&one) && scopes.contains(&other) {
            faults.invalid(spot, shown.clone(), "conflicting scopes");
        }
    }
}

fn check_expression(spec: &Value, expression: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (scope, operator) = (text(expression, "scopeName"), text(expression, "operator"));
    if !SCOPES.contains(&scope) {
        faults.invalid(&spot.child("scopeName"), scope, "unsupported scope");
    }
    check_scope(spec, scope, get(spec, "scopeSelector"), spot, faults);
    let at = &spot.child("operator");
    let plain =
        !matches!(scope, "PriorityClass" | "VolumeAttributesClass") && SCOPES.contains(&scope);
    if plain && operator != "Exists" {
        let message = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
             ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
             ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        faults.invalid(at, operator, message);
    }
    let values = list(expression, "values");
    let in_values = &spot.child("values");
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let message = "must be at least one value when `operator` is 'In' or 'NotIn' for scope \
                 selector";
            faults.required(in_values, message);
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let message = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope \
                 selector";
            faults.invalid(in_values, values.to_vec(), message);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => faults.invalid(at, other, "not a valid selector operator"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn container_limits_fill_each_other() {
        let mut item = json!({"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}});
        default_limit(&mut item);
        assert_eq!(
            item,
            json!({
                "type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"},
                "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Mi"},
            })
        );
    }
}
