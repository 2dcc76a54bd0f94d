//! Checks what a controller reports of a job.

use super::indexes;
use crate::fault::{Faults, Spot};
use crate::fields::{flag, get, has, int, list, number, same, text};
use model::{FieldError, FieldErrorKind, Timestamp, Value};

/// Adds a fault that shows no value.
pub(super) fn invalid_plain(spot: &Spot<'_>, message: &str, faults: &mut Faults) {
    faults.push(FieldError {
        kind: FieldErrorKind::Invalid,
        field: spot.path().to_string(),
        detail: Some(message.to_owned()),
        value: None,
    });
}

fn is(job: &Value, kind: &str) -> bool {
    list(get(job, "status"), "conditions")
        .iter()
        .any(|c| text(c, "type") == kind && text(c, "status") == "True")
}

fn finished(job: &Value) -> bool {
    is(job, "Complete") || is(job, "Failed")
}

/// Finds the faults of a status update.
pub(super) fn check(new: &Value, old: &Value, faults: &mut Faults) {
    let spot = &Spot::of("status");
    let (status, before) = (get(new, "status"), get(old, "status"));
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        faults.non_negative(&spot.child(field), number(status, field));
    }
    let moved = |field: &str| !same(get(status, field), get(before, field));
    let turned = |kind: &str| is(new, kind) != is(old, kind);
    check_ends(new, &turned, spot, faults);
    check_times(new, old, &moved, spot, faults);
    check_reasons(new, &turned, moved("failedIndexes"), spot, faults);
    check_start(new, old, &moved, spot, faults);
    check_counts(new, old, &moved, spot, faults);
    check_indexes(new, &moved, spot, faults);
    let conditions = &spot.child("conditions");
    if is(new, "SuccessCriteriaMet") && is(new, "Failed") {
        let message = "cannot set SuccessCriteriaMet=True and Failed=true conditions";
        invalid_plain(conditions, message, faults);
    }
    if is(new, "SuccessCriteriaMet") && is(new, "FailureTarget") {
        let message = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
        invalid_plain(conditions, message, faults);
    }
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if is(old, kind) && !is(new, kind) {
            let message = format!("cannot disable the terminal {kind}=True condition");
            invalid_plain(conditions, &message, faults);
        }
    }
    check_decreases(new, old, spot, faults);
    if is(old, "SuccessCriteriaMet") && !is(new, "SuccessCriteriaMet") {
        let message = "cannot disable the SuccessCriteriaMet=True condition";
        invalid_plain(conditions, message, faults);
    }
    if is(old, "Complete") && !is(old, "SuccessCriteriaMet") && is(new, "SuccessCriteriaMet") {
        let message =
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        invalid_plain(conditions, message, faults);
    }
}

fn check_ends(new: &Value, turned: &dyn Fn(&str) -> bool, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("conditions");
    if (turned("Complete") || turned("Failed")) && is(new, "Complete") && is(new, "Failed") {
        invalid_plain(
            at,
            "cannot set Complete=True and Failed=true conditions",
            faults,
        );
    }
    let target = turned("Complete") || turned("FailureTarget");
    if target && is(new, "Complete") && is(new, "FailureTarget") {
        let message = "cannot set Complete=True and FailureTarget=true conditions";
        invalid_plain(at, message, faults);
    }
}

fn check_reasons(
    new: &Value,
    turned: &dyn Fn(&str) -> bool,
    indexes_moved: bool,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let at = &spot.child("conditions");
    if (turned("Failed") || indexes_moved) && is(new, "Failed") && !is(new, "FailureTarget") {
        let message = "cannot set Failed=True condition without the FailureTarget=true condition";
        invalid_plain(at, message, faults);
    }
    let met = turned("Complete") || turned("SuccessCriteriaMet");
    if met && is(new, "Complete") && !is(new, "SuccessCriteriaMet") {
        let message =
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        invalid_plain(at, message, faults);
    }
}

fn check_times(
    new: &Value,
    old: &Value,
    moved: &dyn Fn(&str) -> bool,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let status = get(new, "status");
    let complete_turned = is(new, "Complete") != is(old, "Complete");
    let at = &spot.child("completionTime");
    let ended = get(status, "completionTime");
    if complete_turned || moved("completionTime") {
        if !ended.is_null() && !is(new, "Complete") {
            let message = "cannot set completionTime when there is no Complete=True condition";
            faults.invalid(at, ended.clone(), message);
        }
        if ended.is_null() && is(new, "Complete") {
            faults.required(at, "completionTime is required for Complete jobs");
        }
    }
    let (start, end) = (
        Timestamp::parse(text(status, "startTime")),
        Timestamp::parse(text(status, "completionTime")),
    );
    if (moved("startTime") || moved("completionTime"))
        && start.is_some()
        && end < start
        && end.is_some()
    {
        faults.invalid(at, ended.clone(), "must be equal to or after `startTime`");
    }
}

fn check_start(
    new: &Value,
    old: &Value,
    moved: &dyn Fn(&str) -> bool,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let start = Timestamp::parse(text(get(new, "status"), "startTime"));
    let idle = flag(get(new, "spec"), "suspend") && int(get(new, "spec"), "completions") == Some(0);
    let finish_turned = finished(new) != finished(old);
    if (finish_turned || moved("startTime")) && !idle && finished(new) && start.is_none() {
        let at = &spot.child("startTime");
        faults.required(at, "startTime is required for finished job");
    }
}

fn check_counts(
    new: &Value,
    old: &Value,
    moved: &dyn Fn(&str) -> bool,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let status = get(new, "status");
    let turned = finished(new) != finished(old);
    for field in ["active", "terminating"] {
        let count = number(status, field);
        if (turned || moved(field)) && count > 0 && finished(new) {
            let message = format!("{field}>0 is invalid for finished job");
            faults.invalid(&spot.child(field), count, &message);
        }
    }
    let (ready, active) = (number(status, "ready"), number(status, "active"));
    if (moved("ready") || moved("active")) && has(status, "ready") && ready > active {
        let message = "cannot set more ready pods than active";
        faults.invalid(&spot.child("ready"), ready, message);
    }
}

fn check_indexes(new: &Value, moved: &dyn Fn(&str) -> bool, spot: &Spot<'_>, faults: &mut Faults) {
    let (own, status) = (get(new, "spec"), get(new, "status"));
    let done = text(status, "completedIndexes");
    if !moved("completedIndexes") || done.is_empty() {
        return;
    }
    let at = &spot.child("completedIndexes");
    if let Some(completions) = int(own, "completions")
        && let Err(why) = indexes::count(done, completions)
    {
        let message = format!("error parsing completedIndexes: {why}");
        faults.invalid(at, done, &message);
    }
    if text(own, "completionMode") != "Indexed" {
        let message = "cannot set non-empty completedIndexes when non-indexed completion mode";
        faults.invalid(at, done, message);
    }
}

fn check_decreases(new: &Value, old: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (own, status, before) = (get(new, "spec"), get(new, "status"), get(old, "status"));
    let elastic = text(own, "completionMode") == "Indexed"
        && get(own, "completions") == get(own, "parallelism");
    for (field, may) in [("failed", false), ("succeeded", elastic)] {
        let count = number(status, field);
        if !may && count < number(before, field) {
            let message = format!("cannot decrease the {field} counter");
            faults.invalid(&spot.child(field), count, &message);
        }
    }
    let (ended, ended_before) = (get(status, "completionTime"), get(before, "completionTime"));
    if !ended.is_null() && !ended_before.is_null() && ended != ended_before {
        let at = &spot.child("completionTime");
        faults.invalid(at, ended.clone(), "field is immutable");
    }
    let (start, start_before) = (get(status, "startTime"), get(before, "startTime"));
    let resumed = is(old, "Suspended")
        && list(status, "conditions")
            .iter()
            .any(|c| text(c, "type") == "Suspended" && text(c, "status") == "False");
    if !start_before.is_null() && start != start_before && !flag(own, "suspend") && !resumed {
        let message = "field is immutable for unsuspended job once set";
        faults.invalid(&spot.child("startTime"), start.clone(), message);
    }
}
