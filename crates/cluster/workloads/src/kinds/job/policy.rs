//! What a Job's failure policy says of a failed Pod.

use crate::object::number;
use model::{Value, meta};

/// The first rule that a failed Pod matches: action, its number, what it matched.
pub(super) fn matched(job: &Value, pod: &Value) -> Option<(String, String)> {
    let rules = meta::entries(job, "/spec/podFailurePolicy/rules");
    for (i, rule) in rules.enumerate() {
        let action = meta::text_at(rule, "/action");
        let what = rule
            .get("onExitCodes")
            .and_then(|codes| exit_code(codes, pod))
            .or_else(|| condition(rule, pod));
        if let Some(what) = what {
            return Some((
                action.to_owned(),
                format!("{what} matching {action} rule at index {i}"),
            ));
        }
    }
    None
}

fn exit_code(codes: &Value, pod: &Value) -> Option<String> {
    let only = meta::text_at(codes, "/containerName");
    let listed: Vec<i64> = meta::entries(codes, "/values")
        .filter_map(Value::as_i64)
        .collect();
    let inside = meta::text_at(codes, "/operator") == "In";
    let all = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let statuses = all.iter().flat_map(|at| meta::entries(pod, at));
    for status in statuses {
        let name = meta::text_at(status, "/name");
        let code = number(status, "/state/terminated/exitCode").unwrap_or(0);
        if (only.is_empty() || only == name) && code != 0 && listed.contains(&code) == inside {
            let (namespace, pod) = (meta::namespace(pod), meta::name(pod));
            return Some(format!(
                "Container {name} for pod {namespace}/{pod} failed with exit code {code}"
            ));
        }
    }
    None
}

fn condition(rule: &Value, pod: &Value) -> Option<String> {
    for wanted in meta::entries(rule, "/onPodConditions") {
        let kind = meta::text_at(wanted, "/type");
        let status = match meta::text_at(wanted, "/status") {
            "" => "True",
            status => status,
        };
        let has = crate::object::condition(pod, kind);
        if has.is_some_and(|c| c["status"] == status) {
            let (namespace, pod) = (meta::namespace(pod), meta::name(pod));
            return Some(format!("Pod {namespace}/{pod} has condition {kind}"));
        }
    }
    None
}

/// Why a failed Pod fails the whole Job.
pub(super) fn fails_job(job: &Value, pod: &Value) -> Option<String> {
    let over = meta::text_at(pod, "/status/phase") == "Failed";
    let (action, message) = matched(job, pod).filter(|_| over)?;
    (action == "FailJob").then_some(message)
}

/// Whether a failed Pod does not count.
pub(super) fn is_ignored(job: &Value, pod: &Value) -> bool {
    matched(job, pod).is_some_and(|(action, _)| action == "Ignore")
}

/// Whether a failed Pod fails its number at once.
pub(super) fn fails_index(job: &Value, pod: &Value) -> bool {
    matched(job, pod).is_some_and(|(action, _)| action == "FailIndex")
}
