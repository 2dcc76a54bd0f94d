//! Whether a Job is to end, and how.

use super::account::Account;
use super::{policy, restarts};
use crate::object::{self, count, flag, number};
use crate::view::View;
use model::{Value, meta};

/// How a Job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) failed: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Verdict {
    fn new(failed: bool, reason: &str, message: impl Into<String>) -> Self {
        Self {
            failed,
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// How a Job ends, if it is to end.
pub(super) fn of(
    view: &View<'_>,
    job: &Value,
    pods: &[Value],
    account: &Account,
) -> Option<Verdict> {
    // What was said once stays.
    for (kind, failed) in [("FailureTarget", true), ("SuccessCriteriaMet", false)] {
        if let Some(said) = object::condition(job, kind).filter(|c| c["status"] == "True") {
            let text = |at: &str| meta::text_at(said, at);
            return Some(Verdict::new(failed, text("/reason"), text("/message")));
        }
    }
    failure(view, job, pods, account).or_else(|| success(job, account))
}

fn failure(view: &View<'_>, job: &Value, pods: &[Value], account: &Account) -> Option<Verdict> {
    if let Some(message) = pods.iter().find_map(|p| policy::fails_job(job, p)) {
        return Some(Verdict::new(true, "PodFailurePolicy", message));
    }
    let limit = number(job, "/spec/backoffLimit").unwrap_or(6);
    let exceeded = account.failed() > limit || is_past_limit_in_place(job, pods, account, limit);
    if exceeded {
        let message = "Job has reached the specified backoff limit";
        return Some(Verdict::new(true, "BackoffLimitExceeded", message));
    }
    let deadline = number(job, "/spec/activeDeadlineSeconds");
    let overdue = deadline
        .zip(account.started)
        .is_some_and(|(deadline, started)| view.now >= started.plus_seconds(deadline));
    if overdue && !flag(job, "/spec/suspend") {
        let message = "Job was active longer than specified deadline";
        return Some(Verdict::new(true, "DeadlineExceeded", message));
    }
    failed_indexes(job, account)
}

// Containers that are started again in their Pod count, too.
fn is_past_limit_in_place(job: &Value, pods: &[Value], account: &Account, limit: i64) -> bool {
    if meta::text_at(job, "/spec/template/spec/restartPolicy") != "OnFailure" {
        return false;
    }
    let sum: i64 = account.active.iter().map(|i| restarts(&pods[*i])).sum();
    if limit == 0 { sum > 0 } else { sum >= limit }
}

fn failed_indexes(job: &Value, account: &Account) -> Option<Verdict> {
    let failed = account.failed_indexes.len() as i64;
    let most = number(job, "/spec/maxFailedIndexes");
    if most.is_some_and(|most| failed > most) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(Verdict::new(true, "MaxFailedIndexesExceeded", message));
    }
    let all = count(job, "/spec/completions");
    if failed > 0 && failed + account.done_indexes.len() as i64 >= all {
        return Some(Verdict::new(
            true,
            "FailedIndexes",
            "Job has failed indexes",
        ));
    }
    None
}

fn success(job: &Value, account: &Account) -> Option<Verdict> {
    if let Some(message) = success_policy(job, account) {
        return Some(Verdict::new(false, "SuccessPolicy", message));
    }
    let succeeded = account.succeeded();
    let reached = match number(job, "/spec/completions") {
        Some(all) => succeeded >= all,
        None => succeeded > 0 && account.active.is_empty(),
    };
    let message = "Reached expected number of succeeded pods";
    reached.then(|| Verdict::new(false, "CompletionsReached", message))
}

fn success_policy(job: &Value, account: &Account) -> Option<String> {
    let rules = meta::entries(job, "/spec/successPolicy/rules");
    for (i, rule) in rules.enumerate() {
        let named = meta::text_at(rule, "/succeededIndexes");
        let wanted = super::indexes::parse(named);
        let done = if named.is_empty() {
            account.done_indexes.len()
        } else {
            account.done_indexes.intersection(&wanted).count()
        };
        let enough = match number(rule, "/succeededCount") {
            Some(enough) => done as i64 >= enough,
            None => done == wanted.len(),
        };
        if enough {
            return Some(format!("Matched rules at index {i}"));
        }
    }
    None
}
