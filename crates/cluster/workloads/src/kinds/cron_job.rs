//! CronJobs: a Job whenever the schedule says so.

mod schedule;

use crate::act::{CONTROLLERS, Reaction, Refusal, create, delete_all, patch};
use crate::event::{Grade, Note, about};
use crate::object::{self, CRON_JOB, JOB, flag, is_condition_true, number, time};
use crate::view::{CRON_JOBS, JOBS, View};
use model::{Timestamp, Value, json, meta};
use schedule::Schedule;

const COMPONENT: &str = "cronjob-controller";
/// More missed times than this are a fault.
const MISSED_MAX: usize = 100;

/// Looks at one CronJob.
pub(super) fn step(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(cron) = view.get(CRON_JOBS, namespace, name) else {
        return reaction;
    };
    if meta::deletion_timestamp(&cron).is_some() {
        return reaction;
    }
    let jobs = view.controlled(meta::uid(&cron), JOBS);
    let mut status = cron.get("status").cloned().unwrap_or_else(|| json!({}));
    tidy(view, &cron, &jobs, &mut status, &mut reaction);
    if !flag(&cron, "/spec/suspend") {
        run(view, &cron, &jobs, &mut status, &mut reaction);
    }
    let before = cron.get("status").cloned().unwrap_or_else(|| json!({}));
    if status != before {
        let body = json!({"status": object::replacing(Some(&before), status)});
        reaction.push(patch(CONTROLLERS, CRON_JOB.status(namespace, name), &body));
    }
    reaction
}

/// Hears that a Job could not be made.
pub(super) fn refused(view: &View<'_>, namespace: &str, name: &str, why: &Refusal) -> Reaction {
    let mut reaction = Reaction::default();
    if why.reason == "AlreadyExists" || why.is_namespace_going() {
        return reaction;
    }
    if let Some(cron) = view.get(CRON_JOBS, namespace, name) {
        let message = format!("Error creating job: {}", why.message);
        tell(
            view,
            &cron,
            Grade::Warning,
            "FailedCreate",
            &message,
            &mut reaction,
        );
    }
    reaction
}

fn tell(
    view: &View<'_>,
    cron: &Value,
    grade: Grade,
    reason: &str,
    message: &str,
    reaction: &mut Reaction,
) {
    let note = Note {
        component: COMPONENT,
        grade,
        reason,
        message,
    };
    reaction.push(about(view, &CRON_JOB, cron, note));
}

fn is_over(job: &Value) -> bool {
    is_condition_true(job, "Complete") || is_condition_true(job, "Failed")
}

// Takes note of what finished, and removes old Jobs.
fn tidy(
    view: &View<'_>,
    cron: &Value,
    jobs: &[Value],
    status: &mut Value,
    reaction: &mut Reaction,
) {
    let listed: Vec<String> = meta::entries(cron, "/status/active")
        .map(|r| meta::text_at(r, "/uid").to_owned())
        .collect();
    for job in jobs.iter().filter(|j| is_over(j)) {
        if !listed.iter().any(|uid| uid == meta::uid(job)) {
            continue;
        }
        let word = if is_condition_true(job, "Complete") {
            "Complete"
        } else {
            "Failed"
        };
        let message = format!("Saw completed job: {}, condition: {word}", meta::name(job));
        tell(
            view,
            cron,
            Grade::Normal,
            "SawCompletedJob",
            &message,
            reaction,
        );
        if word == "Complete" {
            let at = meta::text_at(job, "/status/completionTime");
            let newest = meta::text_at(status, "/lastSuccessfulTime") < at;
            if newest {
                status["lastSuccessfulTime"] = at.into();
            }
        }
    }
    for uid in &listed {
        if !jobs.iter().any(|j| meta::uid(j) == uid) {
            let lost = meta::entries(cron, "/status/active").find(|r| r["uid"] == uid.as_str());
            let name = lost.map_or("", |r| meta::text_at(r, "/name"));
            let message = format!("Active job went missing: {name}");
            tell(view, cron, Grade::Normal, "MissingJob", &message, reaction);
        }
    }
    let active: Vec<Value> = jobs.iter().filter(|j| !is_over(j)).map(reference).collect();
    set_active(status, active);
    for (kind, field) in [
        ("Complete", "successfulJobsHistoryLimit"),
        ("Failed", "failedJobsHistoryLimit"),
    ] {
        let default = if kind == "Complete" { 3 } else { 1 };
        let limit = number(cron, &format!("/spec/{field}")).unwrap_or(default);
        let mut old: Vec<&Value> = jobs.iter().filter(|j| is_condition_true(j, kind)).collect();
        old.sort_by_key(|j| (time(j, "/status/startTime"), meta::name(j).to_owned()));
        let surplus = (old.len() as i64 - limit).max(0) as usize;
        for job in old.into_iter().take(surplus) {
            remove(view, cron, job, reaction);
        }
    }
}

fn remove(view: &View<'_>, cron: &Value, job: &Value, reaction: &mut Reaction) {
    let path = JOB.path(meta::namespace(job), meta::name(job));
    reaction.push(delete_all(CONTROLLERS, path, meta::uid(job)));
    let message = format!("Deleted job {}", meta::name(job));
    tell(
        view,
        cron,
        Grade::Normal,
        "SuccessfulDelete",
        &message,
        reaction,
    );
}

fn reference(job: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "namespace": meta::namespace(job),
        "name": meta::name(job), "uid": meta::uid(job),
        "resourceVersion": meta::resource_version(job),
    })
}

// A reference stays as it was noted, even when the Job's version moved.
fn set_active(status: &mut Value, active: Vec<Value>) {
    let before: Vec<Value> = meta::entries(status, "/active").cloned().collect();
    let kept = active.into_iter().map(|new| {
        let old = before.iter().find(|b| b["uid"] == new["uid"]).cloned();
        old.unwrap_or(new)
    });
    let active: Vec<Value> = kept.collect();
    if let Some(map) = status.as_object_mut() {
        if active.is_empty() {
            map.remove("active");
        } else {
            map.insert("active".into(), active.into());
        }
    }
}

fn run(view: &View<'_>, cron: &Value, jobs: &[Value], status: &mut Value, reaction: &mut Reaction) {
    let zone = meta::text_at(cron, "/spec/timeZone");
    let text = meta::text_at(cron, "/spec/schedule");
    let schedule = match Schedule::parse(text, zone) {
        Ok(schedule) => schedule,
        Err(why) => {
            let message = format!("unparseable schedule: {text} : {why}");
            tell(
                view,
                cron,
                Grade::Warning,
                "UnparseableSchedule",
                &message,
                reaction,
            );
            return;
        }
    };
    let created = meta::creation_timestamp(cron).unwrap_or(view.now);
    let deadline = number(cron, "/spec/startingDeadlineSeconds");
    let mut earliest = time(cron, "/status/lastScheduleTime").unwrap_or(created);
    if let Some(deadline) = deadline {
        earliest = earliest.max(view.now.plus_seconds(-deadline));
    }
    let (due, missed) = last_due(&schedule, earliest, view.now);
    if let Some(next) = schedule.after(view.now) {
        reaction.look_at(next);
    }
    let Some(due) = due else {
        return;
    };
    if missed > MISSED_MAX {
        let message = format!(
            "too many missed start times: {missed}. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        );
        tell(
            view,
            cron,
            Grade::Warning,
            "TooManyMissedTimes",
            &message,
            reaction,
        );
    }
    let active: Vec<&Value> = jobs.iter().filter(|j| !is_over(j)).collect();
    let name = format!("{}-{}", meta::name(cron), due.seconds() / 60);
    if jobs.iter().any(|j| meta::name(j) == name) {
        status["lastScheduleTime"] = due.rfc3339().into();
        return;
    }
    match meta::text_at(cron, "/spec/concurrencyPolicy") {
        "Forbid" if !active.is_empty() => {
            let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
            tell(
                view,
                cron,
                Grade::Normal,
                "JobAlreadyActive",
                message,
                reaction,
            );
            return;
        }
        "Replace" => {
            for job in active {
                remove(view, cron, job, reaction);
            }
        }
        _ => {}
    }
    start(view, cron, &name, due, reaction);
    status["lastScheduleTime"] = due.rfc3339().into();
}

// The newest time that has come since, and how many have.
fn last_due(schedule: &Schedule, since: Timestamp, now: Timestamp) -> (Option<Timestamp>, usize) {
    let (mut last, mut count, mut at) = (None, 0, since);
    while let Some(next) = schedule.after(at).filter(|n| *n <= now) {
        last = Some(next);
        count += 1;
        at = next;
        if count > 10 * MISSED_MAX {
            // After a long sleep only the newest time matters.
            at = at.max(now.plus_seconds(-86_400));
        }
    }
    (last, count)
}

fn start(view: &View<'_>, cron: &Value, name: &str, due: Timestamp, reaction: &mut Reaction) {
    let template = cron
        .pointer("/spec/jobTemplate")
        .cloned()
        .unwrap_or_default();
    let mut metadata = json!({
        "name": name, "ownerReferences": [CRON_JOB.controller_ref(cron)],
        "annotations": template.pointer("/metadata/annotations").cloned().unwrap_or_else(|| json!({})),
        "labels": template.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({})),
    });
    metadata["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"] =
        due.rfc3339().into();
    let body = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
        "spec": template.get("spec"),
    });
    let note = Note {
        component: COMPONENT,
        grade: Grade::Normal,
        reason: "SuccessfulCreate",
        message: &format!("Created job {name}"),
    };
    let told = about(view, &CRON_JOB, cron, note);
    let path = JOB.collection(meta::namespace(cron));
    reaction.push(create(CONTROLLERS, path, &body).tell(0).and_then(told));
}
