//! FlowSchemas and PriorityLevelConfigurations.

use crate::Endpoint;
use crate::fault::{Faults, Spot};
use crate::fields::{fill, fill_empty, get, has, list, map_slot, number, some_mut, text};
use crate::rules::{Keeps, PLAIN, Recheck, Rules};
use model::{Value, meta, names};

/// What is special about a FlowSchema.
pub(crate) static FLOW_SCHEMA: Rules = Rules {
    default: |object, _| fill_empty(map_slot(object, "spec"), "matchingPrecedence", 1000),
    check: check_flow,
    check_update: |new, _, endpoint, faults| {
        if endpoint == Endpoint::Main {
            check_flow(new, faults);
        }
    },
    status: Some("{}"),
    status_keeps: Keeps::All,
    generation: &["spec"],
    recheck: Recheck::AsNew,
    ..PLAIN
};

fn check_flow(object: &Value, faults: &mut Faults) {
    let own = get(object, "spec");
    let spot = &Spot::of("spec");
    let precedence = number(own, "matchingPrecedence");
    let at = &spot.child("matchingPrecedence");
    if precedence <= 0 {
        faults.invalid(at, precedence, "must be a positive value");
    }
    if precedence > 10_000 {
        faults.invalid(at, precedence, "must not be greater than 10000");
    }
    if precedence == 1 && meta::name(object) != "exempt" {
        let message = "only the schema named 'exempt' may have matchingPrecedence 1";
        faults.invalid(at, precedence, message);
    }
    let at = &spot.child("priorityLevelConfiguration.name");
    match text(get(own, "priorityLevelConfiguration"), "name") {
        "" => faults.required(at, "must reference a priority level"),
        name => faults.invalid_each(at, name, names::dns1123_subdomain(name)),
    }
    for (index, rule) in list(own, "rules").iter().enumerate() {
        let at = &spot.child("rules");
        let at = &at.index(index);
        if list(rule, "subjects").is_empty() {
            let message = "subjects must contain at least one value";
            faults.required(&at.child("subjects"), message);
        }
        if list(rule, "resourceRules").is_empty() && list(rule, "nonResourceRules").is_empty() {
            let message = "at least one of resourceRules and nonResourceRules has to be non-empty";
            faults.required(at, message);
        }
    }
}

/// What is special about a PriorityLevelConfiguration.
pub(crate) static PRIORITY_LEVEL: Rules = Rules {
    default: |object, _| default_level(map_slot(object, "spec")),
    check: check_level,
    check_update: |new, _, endpoint, faults| {
        if endpoint == Endpoint::Main {
            check_level(new, faults);
        }
    },
    status: Some("{}"),
    status_keeps: Keeps::All,
    generation: &["spec"],
    recheck: Recheck::AsNew,
    ..PLAIN
};

fn default_level(own: &mut Value) {
    if let Some(exempt) = some_mut(own, "exempt") {
        fill(exempt, "nominalConcurrencyShares", 0);
        fill(exempt, "lendablePercent", 0);
    }
    let Some(limited) = some_mut(own, "limited") else {
        return;
    };
    fill(limited, "nominalConcurrencyShares", 30);
    fill(limited, "lendablePercent", 0);
    let queuing = some_mut(limited, "limitResponse").and_then(|r| some_mut(r, "queuing"));
    if let Some(queuing) = queuing {
        fill_empty(queuing, "handSize", 8);
        fill_empty(queuing, "queues", 64);
        fill_empty(queuing, "queueLengthLimit", 50);
    }
}

fn check_level(object: &Value, faults: &mut Faults) {
    let own = get(object, "spec");
    let spot = &Spot::of("spec");
    let kind = text(own, "type");
    let at = &spot.child("type");
    if (meta::name(object) == "exempt") != (kind == "Exempt") {
        faults.invalid(
            at,
            kind,
            "must be 'Exempt' if and only if `name` is 'exempt'",
        );
    }
    match kind {
        "Exempt" if has(own, "limited") => {
            let message = "must be nil if the type is not Limited";
            faults.forbidden(&spot.child("limited"), message);
        }
        "Limited" => {
            if has(own, "exempt") {
                let message = "must be nil if the type is Limited";
                faults.forbidden(&spot.child("exempt"), message);
            }
            if !has(own, "limited") {
                let message = "must not be empty when type is Limited";
                faults.required(&spot.child("limited"), message);
            }
        }
        "Exempt" => {}
        "" => faults.required(at, ""),
        other => faults.unsupported(at, other, &["Exempt", "Limited"]),
    }
}
