//! CronJobs: a schedule and a template of jobs.

use super::{job, schedule};
use crate::Endpoint;
use crate::fault::{Faults, Spot};
use crate::fields::{fill, fill_empty, flag, get, has, int, map_slot, slot, text};
use crate::pod::warnings;
use crate::rules::{PLAIN, Rules};
use crate::selector;
use model::{Value, meta};

/// What is special about a CronJob.
pub(crate) static CRON_JOB: Rules = Rules {
    default: |object, _| default(slot(object, "spec")),
    check: |object, faults| {
        check(get(object, "spec"), None, faults);
        if meta::name(object).len() > 52 {
            let spot = &Spot::of("metadata.name");
            let message = "must be no more than 52 characters";
            faults.invalid(spot, meta::name(object), message);
        }
    },
    check_update: |new, old, endpoint, faults| {
        if endpoint == Endpoint::Main {
            check(get(new, "spec"), Some(get(old, "spec")), faults);
        }
    },
    warn: |new, old, out| warn(new, old, out),
    status: Some("{}"),
    generation: &["spec"],
    ..PLAIN
};

fn default(own: &mut Value) {
    job::default_spec(map_slot(slot(own, "jobTemplate"), "spec"));
    fill_empty(own, "concurrencyPolicy", "Allow");
    fill(own, "suspend", false);
    fill(own, "successfulJobsHistoryLimit", 3);
    fill(own, "failedJobsHistoryLimit", 1);
}

fn warn(new: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    let own = get(new, "spec");
    if old.is_none() {
        warnings::host_name(new, "Pod names and hostnames", out);
    }
    if old.is_none_or(|old| meta::generation(old) != meta::generation(new)) {
        let spot = &Spot::of("spec.jobTemplate.spec");
        job::warn_spec(get(get(own, "jobTemplate"), "spec"), spot, out);
    }
    if old.is_some() && text(own, "schedule").contains("TZ") {
        out.push(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                .into(),
        );
    }
}

fn check(own: &Value, old: Option<&Value>, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    match text(own, "schedule") {
        "" => faults.required(&spot.child("schedule"), ""),
        _ => check_schedule(own, old, &spot.child("schedule"), faults),
    }
    if let Some(seconds) = int(own, "startingDeadlineSeconds") {
        faults.non_negative(&spot.child("startingDeadlineSeconds"), seconds);
    }
    if old.is_none_or(|old| get(old, "timeZone") != get(own, "timeZone")) {
        check_zone(own, &spot.child("timeZone"), faults);
    }
    let policies = ["Allow", "Forbid", "Replace"];
    let at = &spot.child("concurrencyPolicy");
    faults.one_of(at, text(own, "concurrencyPolicy"), &policies);
    let template = get(get(own, "jobTemplate"), "spec");
    let at = &spot.child("jobTemplate.spec");
    job::check_spec(template, at, faults);
    if has(template, "selector") {
        let shown = selector::show(get(template, "selector"));
        let message = "`selector` will be auto-generated";
        faults.invalid_shown(&at.child("selector"), &shown, message);
    }
    if flag(template, "manualSelector") {
        faults.unsupported(&at.child("manualSelector"), true, &["nil", "false"]);
    }
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        if let Some(count) = int(own, field) {
            faults.non_negative(&spot.child(field), count);
        }
    }
}

fn check_schedule(own: &Value, old: Option<&Value>, spot: &Spot<'_>, faults: &mut Faults) {
    let given = text(own, "schedule");
    if let Some(fault) = schedule::fault(given) {
        faults.invalid(spot, given, &fault);
    }
    let allowed = old.is_some_and(|old| text(old, "schedule").contains("TZ"));
    let zoned = given.contains("TZ");
    if allowed && zoned && has(own, "timeZone") {
        let message = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        faults.invalid(spot, given, message);
    } else if !allowed && zoned {
        let message = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        faults.invalid(spot, given, message);
    }
}

// Whether a zone of the right form exists is not known here: the zone database is not part of us.
fn check_zone(own: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let Some(zone) = get(own, "timeZone").as_str() else {
        return;
    };
    if zone.is_empty() {
        let message = "timeZone must be nil or non-empty string";
        return faults.invalid(spot, zone, message);
    }
    let fits = |part: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_+".contains(&b);
        (1..=14).contains(&part.len())
            && part.bytes().all(plain)
            && !part.starts_with('-')
            && !matches!(part, "." | "..")
    };
    if !zone.split('/').all(fits) {
        let message = format!("unknown time zone {zone}");
        return faults.invalid(spot, zone, &message);
    }
    if zone.eq_ignore_ascii_case("Local") {
        let message = "timeZone must be an explicit time zone as defined in \
             https://www.iana.org/time-zones";
        faults.invalid(spot, zone, message);
    }
}
