//! Pods: long-running ones must be ready, others must end.

use super::{Health, HealthStatus, condition, degraded, healthy, progressing};
use crate::annotation::IGNORE_RESTART_POLICY;
use crate::hook::{Role, role};
use model::{Value, meta};

pub(super) fn health(live: &Value) -> Health {
    let long_running = is_long_running(live);
    if long_running && let Some(stuck) = stuck(live) {
        return degraded(stuck);
    }
    let message = meta::text_at(live, "/status/message");
    match meta::text_at(live, "/status/phase") {
        "Pending" => progressing(message),
        "Succeeded" => healthy(message),
        "Failed" => degraded(failure(live, message)),
        "Running" => running(live, long_running, message),
        _ => Health::new(HealthStatus::Unknown, message),
    }
}

fn is_long_running(live: &Value) -> bool {
    let policy = meta::text_at(live, "/spec/restartPolicy");
    let forced = meta::annotation(live, IGNORE_RESTART_POLICY) == Some("true");
    matches!(policy, "Always" | "") || (forced && role(live) == Role::Resource)
}

// The reasons of containers that wait for something that went wrong.
fn stuck(live: &Value) -> Option<String> {
    let went_wrong = |reason: &str| {
        reason.starts_with("Err") || reason.ends_with("Error") || reason.ends_with("BackOff")
    };
    let messages: Vec<&str> = meta::entries(live, "/status/containerStatuses")
        .filter(|c| went_wrong(meta::text_at(c, "/state/waiting/reason")))
        .map(|c| meta::text_at(c, "/state/waiting/message"))
        .collect();
    (!messages.is_empty()).then(|| messages.join(", "))
}

fn failure(live: &Value, message: &str) -> String {
    if !message.is_empty() {
        return message.to_owned();
    }
    let mut containers = meta::entries(live, "/status/initContainerStatuses")
        .chain(meta::entries(live, "/status/containerStatuses"));
    containers.find_map(ended).unwrap_or_default()
}

fn ended(container: &Value) -> Option<String> {
    let end = container.pointer("/state/terminated")?;
    let message = meta::text_at(end, "/message");
    if !message.is_empty() {
        return Some(message.to_owned());
    }
    if end["reason"] == "OOMKilled" {
        return Some("OOMKilled".into());
    }
    let code = end["exitCode"].as_i64().filter(|code| *code != 0)?;
    let name = meta::text_at(container, "/name");
    Some(format!("container \"{name}\" failed with exit code {code}"))
}

fn running(live: &Value, long_running: bool, message: &str) -> Health {
    if !long_running {
        return progressing(message);
    }
    if condition(live, "Ready").is_some_and(|c| c["status"] == "True") {
        return healthy(message);
    }
    let restarted = meta::entries(live, "/status/containerStatuses")
        .any(|c| c.pointer("/lastState/terminated").is_some());
    if restarted {
        degraded(message)
    } else {
        progressing(message)
    }
}

#[cfg(test)]
mod tests {
    use crate::annotation::{HOOK, IGNORE_RESTART_POLICY};
    use crate::health::testing::check;
    use model::{Value, json};

    fn pod(policy: &str, annotations: Value, status: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": annotations},
            "spec": {"restartPolicy": policy}, "status": status})
    }

    #[test]
    fn a_long_running_pod_must_be_ready() {
        let check =
            |status: Value, expected: &str| check(&pod("Always", json!({}), status), expected);
        check(
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
            "Healthy",
        );
        check(json!({"phase": "Running"}), "Progressing");
        check(
            json!({"phase": "Running", "containerStatuses": [{"lastState": {"terminated": {}}}]}),
            "Degraded",
        );
        check(
            json!({"phase": "Pending", "containerStatuses": [
                {"state": {"waiting": {"reason": "CreateContainerConfigError", "message": "secret \"db\" not found"}}},
                {"state": {"waiting": {"reason": "ContainerCreating"}}}]}),
            "Degraded: secret \"db\" not found",
        );
        check(json!({"phase": "Pending"}), "Progressing");
        check(json!({}), "Unknown");
    }

    #[test]
    fn a_pod_that_ends_progresses_until_it_does() {
        let check =
            |status: Value, expected: &str| check(&pod("Never", json!({}), status), expected);
        check(
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
            "Progressing",
        );
        check(json!({"phase": "Succeeded"}), "Healthy");
        check(
            json!({"phase": "Failed", "containerStatuses": [{"name": "m", "state": {"terminated": {"exitCode": 3}}}]}),
            "Degraded: container \"m\" failed with exit code 3",
        );
        check(
            json!({"phase": "Failed", "containerStatuses": [{"name": "m", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}),
            "Degraded: OOMKilled",
        );
    }

    #[test]
    fn the_restart_policy_can_be_ignored_but_not_on_hooks() {
        let ready =
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        check(
            &pod(
                "Never",
                json!({IGNORE_RESTART_POLICY: "true"}),
                ready.clone(),
            ),
            "Healthy",
        );
        check(
            &pod(
                "Never",
                json!({IGNORE_RESTART_POLICY: "true", HOOK: "PreSync"}),
                ready,
            ),
            "Progressing",
        );
    }
}
