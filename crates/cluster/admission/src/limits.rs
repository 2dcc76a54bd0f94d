//! LimitRanges: default requests and limits of containers, and bounds on pods and claims.

use crate::resources::{self, Amounts, Part};
use crate::{Cluster, Operation, Review};
use model::{ApiError, Map, Quantity, Value, json, meta};
use std::sync::Arc;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

fn ranges(review: &Review<'_>, cluster: &dyn Cluster) -> Vec<Arc<Value>> {
    let created = review.operation == Operation::Create;
    let pod = review.is("", "pods") && created;
    let resize = review.is_any("", "pods")
        && review.subresource == "resize"
        && review.operation == Operation::Update;
    let claim = review.is("", "persistentvolumeclaims");
    let deleted = review
        .old
        .is_some_and(|old| meta::deletion_timestamp(old).is_some());
    if deleted || !(pod || resize || claim) {
        return Vec::new();
    }
    cluster.list("", "limitranges", Some(review.namespace))
}

fn limits<'a>(range: &'a Value, kind: &'static str) -> impl Iterator<Item = &'a Value> {
    meta::entries(range, "/spec/limits")
        .filter(move |l| l.get("type").and_then(Value::as_str) == Some(kind))
}

/// Fills in the defaults of the namespace's LimitRanges, and notes them in an annotation.
pub fn mutate(review: &Review<'_>, pod: &mut Value, cluster: &dyn Cluster) {
    if !review.is_any("", "pods") {
        return;
    }
    for range in ranges(review, cluster) {
        let mut requests = Map::new();
        let mut caps = Map::new();
        for limit in limits(&range, "Container") {
            let fields = [("defaultRequest", &mut requests), ("default", &mut caps)];
            for (field, into) in fields {
                let map = limit.get(field).and_then(Value::as_object);
                into.extend(
                    map.into_iter()
                        .flatten()
                        .map(|(k, v)| (k.clone(), v.clone())),
                );
            }
        }
        let mut notes = Vec::new();
        for (list, word) in [
            ("containers", "container"),
            ("initContainers", "init container"),
        ] {
            let items = pod.get_mut("spec").and_then(|s| s.get_mut(list));
            let items = items.and_then(Value::as_array_mut);
            for container in items.into_iter().flatten() {
                fill(
                    container, "requests", "request", &requests, word, &mut notes,
                );
                fill(container, "limits", "limit", &caps, word, &mut notes);
            }
        }
        if !notes.is_empty() {
            let note = format!("LimitRanger plugin set: {}", notes.join("; "));
            let metadata = meta::metadata_mut(pod);
            let slot = metadata.entry("annotations").or_insert_with(|| json!({}));
            if slot.is_null() {
                *slot = json!({});
            }
            if let Some(annotations) = slot.as_object_mut() {
                annotations.insert(ANNOTATION.into(), json!(note));
            }
        }
    }
}

fn fill(
    container: &mut Value,
    field: &str,
    word: &str,
    defaults: &Map<String, Value>,
    prefix: &str,
    notes: &mut Vec<String>,
) {
    if defaults.is_empty() {
        return;
    }
    let name = container.get("name").and_then(Value::as_str).unwrap_or("");
    let name = name.to_owned();
    let Some(body) = container.as_object_mut() else {
        return;
    };
    let Some(part) = object_in(body, "resources").and_then(|r| object_in(r, field)) else {
        return;
    };
    let mut set = Vec::new();
    for (resource, amount) in defaults {
        if !part.contains_key(resource) {
            part.insert(resource.clone(), amount.clone());
            set.push(resource.as_str());
        }
    }
    if !set.is_empty() {
        notes.push(format!("{} {word} for {prefix} {name}", set.join(", ")));
    }
}

fn object_in<'a>(
    map: &'a mut Map<String, Value>,
    field: &str,
) -> Option<&'a mut Map<String, Value>> {
    let slot = map.entry(field).or_insert_with(|| json!({}));
    if slot.is_null() {
        *slot = json!({});
    }
    slot.as_object_mut()
}

/// Refuses pods and claims outside the bounds of a LimitRange; all faults of the first range that
/// has any are told together.
pub fn validate(review: &Review<'_>, cluster: &dyn Cluster) -> Result<(), ApiError> {
    let Some(object) = review.object else {
        return Ok(());
    };
    for range in ranges(review, cluster) {
        let mut faults = Vec::new();
        if review.gvr.resource == "pods" {
            check_pod(&range, object, &mut faults);
        } else {
            check_claim(&range, object, &mut faults);
        }
        let mut seen: Vec<String> = Vec::new();
        for fault in faults {
            if !seen.contains(&fault) {
                seen.push(fault);
            }
        }
        match seen.as_slice() {
            [] => {}
            [one] => return Err(review.forbidden(one)),
            many => return Err(review.forbidden(&format!("[{}]", many.join(", ")))),
        }
    }
    Ok(())
}

struct Bounds<'a> {
    kind: &'static str,
    requests: &'a Amounts,
    limits: &'a Amounts,
}

fn check_pod(range: &Value, pod: &Value, faults: &mut Vec<String>) {
    for limit in meta::entries(range, "/spec/limits") {
        match limit.get("type").and_then(Value::as_str) {
            Some("Container") => {
                let containers = meta::entries(pod, "/spec/containers");
                for container in containers.chain(meta::entries(pod, "/spec/initContainers")) {
                    let requests = resources::of_container(container, Part::Requests);
                    let limits = resources::of_container(container, Part::Limits);
                    let bounds = Bounds {
                        kind: "Container",
                        requests: &requests,
                        limits: &limits,
                    };
                    bounds.check(limit, faults);
                }
            }
            Some("Pod") => {
                let requests = resources::of_pod(pod, Part::Requests);
                let limits = resources::of_pod(pod, Part::Limits);
                let bounds = Bounds {
                    kind: "Pod",
                    requests: &requests,
                    limits: &limits,
                };
                bounds.check(limit, faults);
            }
            _ => {}
        }
    }
}

fn check_claim(range: &Value, claim: &Value, faults: &mut Vec<String>) {
    let requests = resources::read(claim.pointer("/spec/resources/requests"));
    let none = Amounts::new();
    let bounds = Bounds {
        kind: "PersistentVolumeClaim",
        requests: &requests,
        limits: &none,
    };
    for limit in limits(range, "PersistentVolumeClaim") {
        for (name, bound) in resources::read(limit.get("min")) {
            faults.extend(bounds.min(&name, bound));
        }
        for (name, bound) in resources::read(limit.get("max")) {
            faults.extend(bounds.max_request(&name, bound));
        }
    }
}

impl Bounds<'_> {
    fn check(&self, limit: &Value, faults: &mut Vec<String>) {
        for (name, bound) in resources::read(limit.get("min")) {
            faults.extend(self.min(&name, bound));
        }
        for (name, bound) in resources::read(limit.get("max")) {
            faults.extend(self.max(&name, bound));
        }
        for (name, bound) in resources::read(limit.get("maxLimitRequestRatio")) {
            faults.extend(self.ratio(&name, bound));
        }
    }

    fn min(&self, name: &str, bound: Quantity) -> Option<String> {
        let opening = format!("minimum {name} usage per {} is {bound}", self.kind);
        let Some(request) = self.requests.get(name) else {
            return Some(format!("{opening}.  No request is specified"));
        };
        if *request < bound {
            return Some(format!("{opening}, but request is {request}"));
        }
        let limit = self.limits.get(name).filter(|limit| **limit < bound)?;
        Some(format!("{opening}, but limit is {limit}"))
    }

    fn max(&self, name: &str, bound: Quantity) -> Option<String> {
        let opening = format!("maximum {name} usage per {} is {bound}", self.kind);
        let Some(limit) = self.limits.get(name) else {
            return Some(format!("{opening}.  No limit is specified"));
        };
        if *limit > bound {
            return Some(format!("{opening}, but limit is {limit}"));
        }
        let request = self
            .requests
            .get(name)
            .filter(|request| **request > bound)?;
        Some(format!("{opening}, but request is {request}"))
    }

    fn max_request(&self, name: &str, bound: Quantity) -> Option<String> {
        let opening = format!("maximum {name} usage per {} is {bound}", self.kind);
        let Some(request) = self.requests.get(name) else {
            return Some(format!("{opening}.  No request is specified"));
        };
        (*request > bound).then(|| format!("{opening}, but request is {request}"))
    }

    fn ratio(&self, name: &str, bound: Quantity) -> Option<String> {
        let opening = format!(
            "{name} max limit to request ratio per {} is {bound}",
            self.kind
        );
        let held = |amounts: &Amounts| amounts.get(name).copied().filter(|q| !q.is_zero());
        let Some(request) = held(self.requests) else {
            return Some(format!(
                "{opening}, but no request is specified or request is 0"
            ));
        };
        let Some(limit) = held(self.limits) else {
            return Some(format!(
                "{opening}, but no limit is specified or limit is 0"
            ));
        };
        let ratio = precise(limit) / precise(request);
        (ratio > precise(bound)).then(|| format!("{opening}, but provided ratio is {ratio:.6}"))
    }
}

fn precise(amount: Quantity) -> f64 {
    match amount.milli_value() {
        i64::MAX => amount.value() as f64,
        milli => milli as f64 / 1000.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fake, Request};
    use expect_test::{Expect, expect};

    fn cluster() -> Fake {
        Fake::default().with("limitranges", &[json!({"metadata": {"name": "l", "namespace": "lim"}, "spec": {"limits": [
            {"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m", "memory": "64Mi"},
             "min": {"cpu": "50m"}, "max": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "5"}},
            {"type": "Pod", "max": {"cpu": "2", "memory": "1Gi"}},
            {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}},
        ]}})])
    }

    fn check(mut request: Request, expected: Expect) {
        let mut object = request.object.clone();
        mutate(&request.review(), &mut object, &cluster());
        request.object = object;
        let note = meta::annotation(&request.object, ANNOTATION)
            .unwrap_or("-")
            .to_owned();
        let answer = match validate(&request.review(), &cluster()) {
            Ok(()) => "fine".into(),
            Err(e) => e.message,
        };
        expected.assert_eq(&format!("{note}\n{answer}"));
    }

    #[test]
    fn defaults_are_set_and_noted() {
        check(
            Request::pod(
                "lim",
                json!({
                    "initContainers": [{"name": "i"}],
                    "containers": [
                        {"name": "c", "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}, "requests": {"cpu": "200m", "memory": "128Mi"}}},
                        {"name": "d", "resources": {"limits": {"memory": "1"}, "requests": {"memory": "1"}}},
                    ],
                }),
            ),
            expect![[r"
                LimitRanger plugin set: cpu request for container d; cpu limit for container d; cpu, memory request for init container i; cpu limit for init container i
                fine"]],
        );
    }

    #[test]
    fn all_faults_are_told_together() {
        check(
            Request::pod(
                "lim",
                json!({
                    "initContainers": [{"name": "i"}],
                    "containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "10m"}}}, {"name": "d"}],
                }),
            ),
            expect![[r#"
                LimitRanger plugin set: memory request for container c; cpu, memory request for container d; cpu limit for container d; cpu, memory request for init container i; cpu limit for init container i
                pods "p" is forbidden: [minimum cpu usage per Container is 50m, but request is 10m, maximum cpu usage per Container is 1, but limit is 2, cpu max limit to request ratio per Container is 5, but provided ratio is 200.000000, maximum cpu usage per Pod is 2, but limit is 2500m, maximum memory usage per Pod is 1Gi.  No limit is specified]"#]],
        );
    }

    #[test]
    fn claims_have_a_smallest_and_a_largest_size() {
        let claim = |size: &str| {
            Request::create(
                "persistentvolumeclaims",
                "lim",
                json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "p"}, "spec": {"resources": {"requests": {"storage": size}}}}),
            )
        };
        check(
            claim("3Gi"),
            expect![[r#"
            -
            persistentvolumeclaims "p" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"#]],
        );
        check(
            claim("3Mi"),
            expect![[r#"
            -
            persistentvolumeclaims "p" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 3Mi"#]],
        );
        check(
            claim("1500Mi"),
            expect![[r"
            -
            fine"]],
        );
    }

    #[test]
    fn other_namespaces_and_pod_updates_are_free() {
        let wild = json!({"containers": [{"name": "c", "resources": {"limits": {"cpu": "20"}}}]});
        check(
            Request::pod("other", wild.clone()),
            expect![[r"
            -
            fine"]],
        );
        let update = Request {
            operation: Operation::Update,
            ..Request::pod("lim", wild)
        };
        check(
            update,
            expect![[r"
            -
            fine"]],
        );
    }
}
