//! What one version of an object says, as short texts: its life, conditions, phase, containers,
//! and, for its last version, the fields that count.

use crate::timeline::Change;
use serde_json::Value;

/// One thing that an object says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact {
    /// What it speaks of; an object says one thing at a time of each.
    pub(crate) facet: String,
    /// What it says.
    pub(crate) text: String,
}

fn fact(facet: impl Into<String>, text: impl Into<String>) -> Fact {
    Fact {
        facet: facet.into(),
        text: text.into(),
    }
}

/// What a version of an object says.
pub(crate) fn of(kind: &str, body: &Value, change: Change) -> Vec<Fact> {
    let mut facts = vec![fact("life", life(body, change))];
    if change == Change::Deleted {
        return facts;
    }
    let status = &body["status"];
    if let Some(phase) = status["phase"].as_str() {
        let said = with_reason(&format!("phase {phase}"), status);
        facts.push(fact("phase", said));
    }
    for condition in items(&status["conditions"]) {
        let name = text(condition, "type");
        let said = format!("{name}={}", text(condition, "status"));
        facts.push(fact(name, with_reason(&said, condition)));
    }
    if kind == "Pod" {
        for list in ["initContainerStatuses", "containerStatuses"] {
            items(&status[list]).for_each(|one| container(one, &mut facts));
        }
    }
    facts
}

fn life(body: &Value, change: Change) -> &'static str {
    if change == Change::Deleted {
        "gone"
    } else if body["metadata"]["deletionTimestamp"].is_null() {
        "created"
    } else {
        "terminating"
    }
}

fn container(status: &Value, facts: &mut Vec<Fact>) {
    let facet = format!("container {}", text(status, "name"));
    if let Some(said) = state(&status["state"]) {
        facts.push(fact(facet.clone(), format!("{facet} {said}")));
    }
    if let Some(said) = state(&status["lastState"]) {
        facts.push(fact(
            format!("{facet} last"),
            format!("{facet} last {said}"),
        ));
    }
    let ready = if status["ready"] == true {
        "ready"
    } else {
        "unready"
    };
    facts.push(fact(format!("{facet} ready"), format!("{facet} {ready}")));
    let restarts = status["restartCount"].as_u64().unwrap_or(0);
    facts.push(fact(
        format!("{facet} restarts"),
        format!("{facet} restarts {restarts}"),
    ));
}

fn state(state: &Value) -> Option<String> {
    if let Some(waiting) = state.get("waiting") {
        return Some(with_reason("waiting", waiting));
    }
    if state.get("running").is_some() {
        return Some("running".into());
    }
    let ended = state.get("terminated")?;
    let code = ended["exitCode"].as_i64().unwrap_or(0);
    let reason = reason(ended);
    let mut said = format!("terminated {reason} exit {code}");
    if let Some(signal) = ended["signal"].as_i64().filter(|s| *s != 0) {
        said.push_str(&format!(" signal {signal}"));
    }
    Some(with_message(said, ended))
}

fn with_reason(said: &str, from: &Value) -> String {
    let message = from["message"].as_str().unwrap_or("");
    if text(from, "reason").is_empty() && message.is_empty() {
        return said.to_owned();
    }
    with_message(format!("{said} {}", reason(from)), from)
}

fn reason(from: &Value) -> &str {
    match text(from, "reason") {
        "" => "-",
        given => given,
    }
}

fn with_message(mut said: String, from: &Value) -> String {
    let message = text(from, "message");
    if !message.is_empty() {
        said.push_str(&format!(" {}", Value::from(message)));
    }
    said
}

/// What an event says.
pub(crate) fn event(body: &Value) -> Fact {
    let about = &body["involvedObject"];
    let by = match text(&body["source"], "component") {
        "" => text(body, "reportingComponent"),
        given => given,
    };
    let subject = format!("{}/{}", text(about, "kind"), text(about, "name"));
    let said = format!(
        "{subject} {} {} {} by {by}",
        text(body, "type"),
        text(body, "reason"),
        Value::from(text(body, "message")),
    );
    fact(subject, said)
}

/// The fields of the last version of an object that count, as `.path = value`.
pub(crate) fn finally(kind: &str, body: &Value) -> Vec<Fact> {
    let mut found = Vec::new();
    let metadata = &body["metadata"];
    for field in ["labels", "annotations", "finalizers"] {
        fields(&format!(".metadata.{field}"), &metadata[field], &mut found);
    }
    for owner in items(&metadata["ownerReferences"]) {
        let shown = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
        let facet = format!(".metadata.owner {shown}");
        found.push(fact(facet.clone(), facet));
    }
    let more: &[&str] = match kind {
        "Pod" => &["nodeName", "priority"],
        "PersistentVolumeClaim" => &["volumeName", "storageClassName"],
        "PersistentVolume" => &["claimRef.name", "storageClassName"],
        "Deployment" | "ReplicaSet" | "StatefulSet" | "Job" => {
            &["replicas", "parallelism", "completions", "suspend"]
        }
        _ => &[],
    };
    for field in more {
        let pointer = format!("/spec/{}", field.replace('.', "/"));
        let value = body.pointer(&pointer).unwrap_or(&Value::Null);
        fields(&format!(".spec.{field}"), value, &mut found);
    }
    for field in ["status", "endpoints", "ports", "subsets", "revision"] {
        fields(&format!(".{field}"), &body[field], &mut found);
    }
    found
}

/// Fields whose values differ from run to run, or that are told otherwise.
const LEFT_OUT: &[&str] = &[
    "conditions",
    "containerStatuses",
    "initContainerStatuses",
    "phase",
    "reason",
    "message",
    "podIPs",
    "hostIP",
    "hostIPs",
    "uid",
    "resourceVersion",
    "startTime",
    "uncountedTerminatedPods",
    "kubectl.kubernetes.io/last-applied-configuration",
];

fn fields(path: &str, value: &Value, found: &mut Vec<Fact>) {
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (key, value) in map {
                let timed = key.ends_with("Time") || key.ends_with("time") || key.ends_with("At");
                if !timed && !LEFT_OUT.contains(&key.as_str()) {
                    fields(&format!("{path}{}", step(key)), value, found);
                }
            }
        }
        Value::Array(list) => {
            for (at, value) in list.iter().enumerate() {
                fields(&format!("{path}[{at}]"), value, found);
            }
        }
        scalar => found.push(fact(path, format!("{path} = {scalar}"))),
    }
}

fn step(key: &str) -> String {
    let plain = key.chars().all(|c| c.is_ascii_alphanumeric());
    if plain {
        format!(".{key}")
    } else {
        format!("[{}]", Value::from(key))
    }
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

pub(crate) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(kind: &str, body: &Value, wanted: &[&str]) {
        let facts = of(kind, body, Change::Modified);
        let texts: Vec<&str> = facts.iter().map(|f| f.text.as_str()).collect();
        assert_eq!(texts, wanted);
    }

    #[test]
    fn conditions_have_status_reason_and_message() {
        let body = json!({"status": {"conditions": [
            {"type": "Available", "status": "False", "reason": "Few", "message": "not \"enough\""},
            {"type": "Ready", "status": "True"},
        ]}});
        check(
            "Deployment",
            &body,
            &[
                "created",
                r#"Available=False Few "not \"enough\"""#,
                "Ready=True",
            ],
        );
    }

    #[test]
    fn containers_wait_run_and_end() {
        let body = json!({"metadata": {"deletionTimestamp": "x"}, "status": {
            "phase": "Failed", "reason": "Evicted", "message": "why",
            "containerStatuses": [{
                "name": "app", "ready": false, "restartCount": 2,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                "lastState": {"terminated": {"exitCode": 137, "signal": 9, "reason": "OOMKilled"}},
            }],
        }});
        check(
            "Pod",
            &body,
            &[
                "terminating",
                r#"phase Failed Evicted "why""#,
                r#"container app waiting CrashLoopBackOff "back-off""#,
                "container app last terminated OOMKilled exit 137 signal 9",
                "container app unready",
                "container app restarts 2",
            ],
        );
    }

    #[test]
    fn last_fields_are_paths_without_times() {
        let body = json!({
            "metadata": {"labels": {"app.kubernetes.io/name": "x"}},
            "status": {"replicas": 2, "lastScheduleTime": "t", "list": [{"a": true}]},
        });
        let texts: Vec<String> = finally("Deployment", &body)
            .into_iter()
            .map(|f| f.text)
            .collect();
        assert_eq!(
            texts,
            [
                r#".metadata.labels["app.kubernetes.io/name"] = "x""#,
                ".status.list[0].a = true",
                ".status.replicas = 2",
            ],
        );
    }
}
