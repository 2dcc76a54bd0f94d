//! Checks the policies of jobs: what failed pods mean, and when the job is done.

use super::{indexes, job_status};
use crate::fault::{Faults, Spot};
use crate::fields::{get, has, int, list, number, text};
use crate::go;
use model::{Value, names};

/// Finds the faults of what a job does when pods fail.
pub(super) fn check_failures(own: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let pod = get(get(own, "template"), "spec");
    let known: Vec<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|field| list(pod, field))
        .map(|container| text(container, "name"))
        .collect();
    let rules = list(get(own, "podFailurePolicy"), "rules");
    let spot = &spot.child("rules");
    if rules.len() > 20 {
        faults.too_many(spot, rules.len(), 20);
    }
    for (index, rule) in rules.iter().enumerate() {
        let spot = &spot.index(index);
        let at = &spot.child("action");
        match text(rule, "action") {
            "" => faults.required(
                at,
                "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]",
            ),
            "FailIndex" => {
                if !has(own, "backoffLimitPerIndex") {
                    let message = "requires the backoffLimitPerIndex to be set";
                    faults.invalid(at, "FailIndex", message);
                }
            }
            "Count" | "FailJob" | "Ignore" => {}
            other => {
                faults.unsupported(at, other, &["Count", "FailIndex", "FailJob", "Ignore"]);
            }
        }
        if has(rule, "onExitCodes") {
            let at = &spot.child("onExitCodes");
            check_exit_codes(get(rule, "onExitCodes"), &known, at, faults);
        }
        let patterns = list(rule, "onPodConditions");
        check_patterns(patterns, &spot.child("onPodConditions"), faults);
        let message = match (has(rule, "onExitCodes"), patterns.is_empty()) {
            (true, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, true) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        job_status::invalid_plain(spot, message, faults);
    }
}

fn check_patterns(patterns: &[Value], spot: &Spot<'_>, faults: &mut Faults) {
    if patterns.len() > 20 {
        faults.too_many(spot, patterns.len(), 20);
    }
    for (index, pattern) in patterns.iter().enumerate() {
        let spot = &spot.index(index);
        let kind = text(pattern, "type");
        faults.invalid_each(&spot.child("type"), kind, names::qualified_name(kind));
        let at = &spot.child("status");
        match text(pattern, "status") {
            "" => faults.required(at, "valid values: [\"False\" \"True\" \"Unknown\"]"),
            "False" | "True" | "Unknown" => {}
            other => faults.unsupported(at, other, &["False", "True", "Unknown"]),
        }
    }
}

fn check_exit_codes(codes: &Value, known: &[&str], spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("operator");
    let operator = text(codes, "operator");
    match operator {
        "" => faults.required(at, "valid values: [\"In\" \"NotIn\"]"),
        "In" | "NotIn" => {}
        other => faults.unsupported(at, other, &["In", "NotIn"]),
    }
    if let Some(name) = get(codes, "containerName").as_str()
        && !known.contains(&name)
    {
        let message = "must be one of the container or initContainer names in the pod template";
        faults.invalid(&spot.child("containerName"), name, message);
    }
    let at = &spot.child("values");
    let values: Vec<i64> = list(codes, "values")
        .iter()
        .filter_map(Value::as_i64)
        .collect();
    if values.is_empty() {
        faults.invalid(
            at,
            get(codes, "values").clone(),
            "at least one value is required",
        );
    } else if values.len() > 255 {
        faults.too_many(at, values.len(), 255);
    }
    for (index, value) in values.iter().enumerate() {
        if operator == "In" && *value == 0 {
            faults.invalid(&at.index(index), 0, "must not be 0 for the In operator");
        }
        if values[..index].contains(value) {
            faults.duplicate(&at.index(index), *value);
        }
    }
    if values.windows(2).any(|pair| pair[0] > pair[1]) {
        faults.invalid(at, get(codes, "values").clone(), "must be ordered");
    }
}

/// Finds the faults of when an indexed job counts as done.
pub(super) fn check_success(own: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let policy = get(own, "successPolicy");
    if text(own, "completionMode") != "Indexed" {
        let shown = go::show("SuccessPolicy", policy);
        return faults.invalid_shown(spot, &shown, "requires indexed completion mode");
    }
    let rules = list(policy, "rules");
    let spot = &spot.child("rules");
    if rules.is_empty() {
        let message = "at least one rules must be specified when the successPolicy is specified";
        faults.required(spot, message);
    }
    if rules.len() > 20 {
        faults.too_many(spot, rules.len(), 20);
    }
    let completions = number(own, "completions");
    for (index, rule) in rules.iter().enumerate() {
        check_success_rule(rule, completions, &spot.index(index), faults);
    }
}

fn check_success_rule(rule: &Value, completions: i64, spot: &Spot<'_>, faults: &mut Faults) {
    let (count, chosen) = (
        int(rule, "succeededCount"),
        get(rule, "succeededIndexes").as_str(),
    );
    if count.is_none() && chosen.is_none() {
        let message = "at least one of succeededCount or succeededIndexes must be specified";
        faults.required(spot, message);
    }
    let mut total = None;
    if let Some(chosen) = chosen {
        let at = &spot.child("succeededIndexes");
        if chosen.len() > 64 * 1024 {
            faults.too_long(at, 64 * 1024);
        }
        match indexes::count(chosen, completions) {
            Ok(found) => total = Some(found),
            Err(why) => {
                let message = format!("error parsing succeededIndexes: {why}");
                faults.invalid(at, chosen, &message);
                total = Some(0);
            }
        }
    }
    let Some(count) = count else {
        return;
    };
    let at = &spot.child("succeededCount");
    faults.non_negative(at, count);
    if count > completions {
        let message = format!(
            "must be less than or equal to {completions} (the number of specified completions)"
        );
        faults.invalid(at, count, &message);
    }
    if let Some(total) = total.filter(|total| count > *total) {
        let message = format!(
            "must be less than or equal to {total} (the number of indexes in the specified \
             succeededIndexes field)"
        );
        faults.invalid(at, count, &message);
    }
}
