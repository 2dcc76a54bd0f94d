//! Deployments, StatefulSets, DaemonSets and ReplicaSets: has the roll-out arrived?

use super::{Health, condition, degraded, healthy, is_stale, number, progressing, suspended};
use model::{Value, meta};

pub(super) fn deployment(live: &Value) -> Health {
    if live.pointer("/spec/paused") == Some(&Value::Bool(true)) {
        return suspended("Deployment is paused");
    }
    if is_stale(live) {
        return progressing(
            "Waiting for rollout to finish: observed deployment generation less than desired generation",
        );
    }
    if condition(live, "Progressing").is_some_and(|c| c["reason"] == "ProgressDeadlineExceeded") {
        let name = meta::name(live);
        return degraded(format!(
            "Deployment \"{name}\" exceeded its progress deadline"
        ));
    }
    let wanted = live.pointer("/spec/replicas").and_then(Value::as_i64);
    let updated = number(live, "/status/updatedReplicas");
    let all = number(live, "/status/replicas");
    let available = number(live, "/status/availableReplicas");
    if let Some(wanted) = wanted.filter(|wanted| updated < *wanted) {
        return progressing(format!(
            "Waiting for rollout to finish: {updated} out of {wanted} new replicas have been updated..."
        ));
    }
    if all > updated {
        let old = all - updated;
        return progressing(format!(
            "Waiting for rollout to finish: {old} old replicas are pending termination..."
        ));
    }
    if available < updated {
        return progressing(format!(
            "Waiting for rollout to finish: {available} of {updated} updated replicas are available..."
        ));
    }
    healthy("")
}

pub(super) fn stateful_set(live: &Value) -> Health {
    if number(live, "/status/observedGeneration") == 0 || is_stale(live) {
        return progressing("Waiting for statefulset spec update to be observed...");
    }
    let wanted = live.pointer("/spec/replicas").and_then(Value::as_i64);
    let ready = number(live, "/status/readyReplicas");
    if let Some(wanted) = wanted.filter(|wanted| ready < *wanted) {
        let missing = wanted - ready;
        return progressing(format!("Waiting for {missing} pods to be ready..."));
    }
    let updated = number(live, "/status/updatedReplicas");
    let strategy = meta::text_at(live, "/spec/updateStrategy/type");
    let rolling = live.pointer("/spec/updateStrategy/rollingUpdate");
    if strategy == "RollingUpdate"
        && let Some(rolling) = rolling.filter(|r| r.is_object())
    {
        let partition = rolling.get("partition").and_then(Value::as_i64);
        if let (Some(wanted), Some(partition)) = (wanted, partition)
            && updated < wanted - partition
        {
            let due = wanted - partition;
            return progressing(format!(
                "Waiting for partitioned roll out to finish: {updated} out of {due} new pods have been updated..."
            ));
        }
        return healthy(format!(
            "partitioned roll out complete: {updated} new pods have been updated..."
        ));
    }
    if strategy == "OnDelete" {
        return healthy(format!("statefulset has {ready} ready pods"));
    }
    let revision = meta::text_at(live, "/status/updateRevision");
    let current = meta::text_at(live, "/status/currentRevision");
    if revision != current {
        return progressing(format!(
            "waiting for statefulset rolling update to complete {updated} pods at revision {revision}..."
        ));
    }
    let pods = number(live, "/status/currentReplicas");
    healthy(format!(
        "statefulset rolling update complete {pods} pods at revision {current}..."
    ))
}

pub(super) fn daemon_set(live: &Value) -> Health {
    if is_stale(live) {
        return progressing(
            "Waiting for rollout to finish: observed daemon set generation less than desired generation",
        );
    }
    let name = meta::name(live);
    let updated = number(live, "/status/updatedNumberScheduled");
    let desired = number(live, "/status/desiredNumberScheduled");
    let available = number(live, "/status/numberAvailable");
    if meta::text_at(live, "/spec/updateStrategy/type") == "OnDelete" {
        return healthy(format!(
            "daemon set {updated} out of {desired} new pods have been updated"
        ));
    }
    if updated < desired {
        return progressing(format!(
            "Waiting for daemon set \"{name}\" rollout to finish: {updated} out of {desired} new pods have been updated..."
        ));
    }
    if available < desired {
        return progressing(format!(
            "Waiting for daemon set \"{name}\" rollout to finish: {available} of {desired} updated pods are available..."
        ));
    }
    healthy("")
}

pub(super) fn replica_set(live: &Value) -> Health {
    if is_stale(live) {
        return progressing(
            "Waiting for rollout to finish: observed replica set generation less than desired generation",
        );
    }
    if let Some(failure) = condition(live, "ReplicaFailure").filter(|c| c["status"] == "True") {
        return degraded(meta::text_at(failure, "/message"));
    }
    let available = number(live, "/status/availableReplicas");
    let wanted = live.pointer("/spec/replicas").and_then(Value::as_i64);
    if let Some(wanted) = wanted.filter(|wanted| available < *wanted) {
        return progressing(format!(
            "Waiting for rollout to finish: {available} out of {wanted} new replicas are available..."
        ));
    }
    healthy("")
}

#[cfg(test)]
mod tests {
    use crate::health::testing::check;
    use model::{Value, json};

    fn of(kind: &str, generation: i64, spec: Value, status: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "generation": generation},
            "spec": spec, "status": status})
    }

    #[test]
    fn a_deployment_tells_how_far_it_is() {
        let check = |spec: Value, status: Value, expected: &str| {
            check(&of("Deployment", 2, spec, status), expected);
        };
        check(
            json!({"paused": true}),
            json!({}),
            "Suspended: Deployment is paused",
        );
        check(
            json!({"replicas": 3}),
            json!({"observedGeneration": 1}),
            "Progressing: Waiting for rollout to finish: observed deployment generation less than desired generation",
        );
        check(
            json!({"replicas": 3}),
            json!({"observedGeneration": 2, "conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]}),
            "Degraded: Deployment \"web\" exceeded its progress deadline",
        );
        check(
            json!({"replicas": 3}),
            json!({"observedGeneration": 2, "updatedReplicas": 1}),
            "Progressing: Waiting for rollout to finish: 1 out of 3 new replicas have been updated...",
        );
        check(
            json!({"replicas": 3}),
            json!({"observedGeneration": 2, "updatedReplicas": 3, "replicas": 5}),
            "Progressing: Waiting for rollout to finish: 2 old replicas are pending termination...",
        );
        check(
            json!({"replicas": 3}),
            json!({"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 2}),
            "Progressing: Waiting for rollout to finish: 2 of 3 updated replicas are available...",
        );
        check(
            json!({"replicas": 3}),
            json!({"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 3}),
            "Healthy",
        );
    }

    #[test]
    fn a_stateful_set_tells_how_far_it_is() {
        let check = |spec: Value, status: Value, expected: &str| {
            check(&of("StatefulSet", 1, spec, status), expected);
        };
        check(
            json!({}),
            json!({}),
            "Progressing: Waiting for statefulset spec update to be observed...",
        );
        check(
            json!({"replicas": 3}),
            json!({"observedGeneration": 1, "readyReplicas": 1}),
            "Progressing: Waiting for 2 pods to be ready...",
        );
        let partitioned = json!({"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}});
        check(
            partitioned.clone(),
            json!({"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 1}),
            "Progressing: Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...",
        );
        check(
            partitioned,
            json!({"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 2}),
            "Healthy: partitioned roll out complete: 2 new pods have been updated...",
        );
        check(
            json!({"replicas": 1, "updateStrategy": {"type": "OnDelete"}}),
            json!({"observedGeneration": 1, "readyReplicas": 1}),
            "Healthy: statefulset has 1 ready pods",
        );
        check(
            json!({"replicas": 1}),
            json!({"observedGeneration": 1, "readyReplicas": 1, "updateRevision": "b", "currentRevision": "a"}),
            "Progressing: waiting for statefulset rolling update to complete 0 pods at revision b...",
        );
        check(
            json!({"replicas": 1}),
            json!({"observedGeneration": 1, "readyReplicas": 1, "currentReplicas": 1, "updateRevision": "a", "currentRevision": "a"}),
            "Healthy: statefulset rolling update complete 1 pods at revision a...",
        );
    }

    #[test]
    fn daemon_and_replica_sets_tell_how_far_they_are() {
        check(
            &of(
                "DaemonSet",
                1,
                json!({}),
                json!({"observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 1}),
            ),
            "Progressing: Waiting for daemon set \"web\" rollout to finish: 1 out of 2 new pods have been updated...",
        );
        check(
            &of(
                "DaemonSet",
                1,
                json!({}),
                json!({"observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 1}),
            ),
            "Progressing: Waiting for daemon set \"web\" rollout to finish: 1 of 2 updated pods are available...",
        );
        check(
            &of(
                "ReplicaSet",
                1,
                json!({"replicas": 2}),
                json!({"observedGeneration": 1, "conditions": [{"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}]}),
            ),
            "Degraded: exceeded quota",
        );
        check(
            &of(
                "ReplicaSet",
                1,
                json!({"replicas": 2}),
                json!({"observedGeneration": 1, "availableReplicas": 1}),
            ),
            "Progressing: Waiting for rollout to finish: 1 out of 2 new replicas are available...",
        );
    }
}
