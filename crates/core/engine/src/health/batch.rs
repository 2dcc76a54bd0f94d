//! Jobs and CronJobs.

use super::{Health, condition, degraded, healthy, progressing, suspended};
use model::{Timestamp, Value, meta};

pub(super) fn job(live: &Value) -> Health {
    let failed = condition(live, "Failed");
    let complete = condition(live, "Complete");
    let paused = condition(live, "Suspended");
    if failed.is_none() && complete.is_none() && paused.is_none() {
        return progressing("");
    }
    if let Some(failed) = failed {
        return degraded(meta::text_at(failed, "/message"));
    }
    let message =
        |c: Option<&Value>| c.map_or(String::new(), |c| meta::text_at(c, "/message").to_owned());
    if paused.is_some_and(|c| c["status"] == "True") {
        return suspended(message(paused));
    }
    // A Job that was resumed keeps its condition, and Argo CD takes it for done.
    healthy(message(complete.or(paused)))
}

pub(super) fn cron_job(live: &Value) -> Health {
    if live.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return healthy("CronJob is Suspended");
    }
    let Some(status) = live.get("status").filter(|s| s.is_object()) else {
        return progressing("");
    };
    let time = |field: &str| Timestamp::parse(meta::text_at(status, field));
    let (Some(scheduled), Some(succeeded)) =
        (time("/lastScheduleTime"), time("/lastSuccessfulTime"))
    else {
        return healthy("");
    };
    let running = meta::entries(status, "/active").next().is_some();
    if !running && succeeded < scheduled {
        return degraded("the last run did not succeed");
    }
    healthy("")
}

#[cfg(test)]
mod tests {
    use crate::health::testing::check;
    use model::{Value, json};

    fn job(conditions: Value) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "status": {"conditions": conditions}})
    }

    #[test]
    fn a_job_is_judged_by_its_conditions() {
        check(&job(json!([])), "Progressing");
        check(
            &job(json!([{"type": "Complete", "status": "True"}])),
            "Healthy",
        );
        check(
            &job(
                json!([{"type": "Failed", "status": "True", "message": "Job has reached the specified backoff limit"}]),
            ),
            "Degraded: Job has reached the specified backoff limit",
        );
        check(
            &job(json!([{"type": "Suspended", "status": "True", "message": "Job suspended"}])),
            "Suspended: Job suspended",
        );
        check(
            &job(json!([{"type": "Suspended", "status": "False", "message": "Job resumed"}])),
            "Healthy: Job resumed",
        );
    }

    #[test]
    fn a_cron_job_is_judged_by_its_last_run() {
        let check = |spec: Value, status: Value, expected: &str| {
            let mut object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": spec});
            if !status.is_null() {
                object["status"] = status;
            }
            check(&object, expected);
        };
        check(
            json!({"suspend": true}),
            json!(null),
            "Healthy: CronJob is Suspended",
        );
        check(json!({}), json!(null), "Progressing");
        check(json!({}), json!({}), "Healthy");
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z");
        check(json!({}), json!({"lastScheduleTime": late}), "Healthy");
        check(
            json!({}),
            json!({"lastScheduleTime": late, "lastSuccessfulTime": early, "active": [{}]}),
            "Healthy",
        );
        check(
            json!({}),
            json!({"lastScheduleTime": late, "lastSuccessfulTime": early}),
            "Degraded: the last run did not succeed",
        );
        check(
            json!({}),
            json!({"lastScheduleTime": early, "lastSuccessfulTime": late}),
            "Healthy",
        );
    }
}
