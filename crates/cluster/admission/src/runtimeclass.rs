//! RuntimeClasses: a pod that names one takes its overhead and its place.

use crate::{Cluster, Operation, Review, seen};
use model::{ApiError, Value, json, meta};
use std::sync::Arc;

fn class(review: &Review<'_>, cluster: &dyn Cluster) -> Result<Option<Arc<Value>>, ApiError> {
    let name = review
        .object
        .and_then(|pod| pod.pointer("/spec/runtimeClassName")?.as_str());
    let Some(name) = name else {
        return Ok(None);
    };
    let found = cluster.get("node.k8s.io", "runtimeclasses", "", name);
    let missing = || review.forbidden(&format!("pod rejected: RuntimeClass {name:?} not found"));
    found.ok_or_else(missing).map(Some)
}

/// Takes over overhead, node selector and tolerations of the pod's RuntimeClass.
pub fn mutate(review: &Review<'_>, pod: &mut Value, cluster: &dyn Cluster) -> Result<(), ApiError> {
    if !review.is("", "pods") || review.operation != Operation::Create {
        return Ok(());
    }
    let Some(class) = class(&seen(review, pod), cluster)? else {
        return Ok(());
    };
    if let Some(overhead) = class.pointer("/overhead/podFixed") {
        let held = pod.pointer("/spec/overhead").and_then(Value::as_object);
        let differs =
            held.is_some_and(|h| !h.is_empty()) && pod.pointer("/spec/overhead") != Some(overhead);
        if differs {
            let why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
            return Err(seen(review, pod).forbidden(why));
        }
        if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("overhead".into(), overhead.clone());
        }
    }
    place(review, pod, &class)
}

fn place(review: &Review<'_>, pod: &mut Value, class: &Value) -> Result<(), ApiError> {
    let wanted = class
        .pointer("/scheduling/nodeSelector")
        .and_then(Value::as_object);
    for (key, value) in wanted.into_iter().flatten() {
        let held = pod.pointer("/spec/nodeSelector").and_then(|s| s.get(key));
        if let Some(held) = held.filter(|held| *held != value) {
            let text = |v: &Value| v.as_str().unwrap_or("").to_owned();
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                text(value),
                text(held)
            );
            return Err(seen(review, pod).forbidden(&why));
        }
    }
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    if let Some(wanted) = wanted {
        let slot = spec.entry("nodeSelector").or_insert_with(|| json!({}));
        if slot.is_null() {
            *slot = json!({});
        }
        if let Some(selector) = slot.as_object_mut() {
            selector.extend(wanted.iter().map(|(k, v)| (k.clone(), v.clone())));
        }
    }
    let more: Vec<Value> = meta::entries(class, "/scheduling/tolerations")
        .cloned()
        .collect();
    if !more.is_empty() {
        let slot = spec.entry("tolerations").or_insert_with(|| json!([]));
        if slot.is_null() {
            *slot = json!([]);
        }
        if let Some(list) = slot.as_array_mut() {
            for toleration in more {
                if !list.contains(&toleration) {
                    list.push(toleration);
                }
            }
        }
    }
    Ok(())
}

/// Refuses an overhead that is not the RuntimeClass's.
pub fn validate(review: &Review<'_>, cluster: &dyn Cluster) -> Result<(), ApiError> {
    let pod = review.object.filter(|_| review.is("", "pods"));
    let (Some(pod), Operation::Create) = (pod, review.operation) else {
        return Ok(());
    };
    let class = class(review, cluster)?;
    let wanted = class.as_ref().and_then(|c| c.pointer("/overhead/podFixed"));
    let held = pod.pointer("/spec/overhead").filter(|o| !o.is_null());
    let why = match (wanted, held) {
        (Some(wanted), held) if held != Some(wanted) => {
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        }
        (None, Some(_)) => {
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        }
        _ => return Ok(()),
    };
    Err(review.forbidden(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fake, Request};
    use expect_test::{Expect, expect};

    fn check(spec: Value, expected: Expect) {
        let cluster = Fake::default().with(
            "node.k8s.io/runtimeclasses",
            &[json!({
                "metadata": {"name": "kata"}, "overhead": {"podFixed": {"cpu": "10m"}},
                "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm"}]},
            })],
        );
        let mut request = Request::pod("dev", spec);
        let mut pod = request.object.clone();
        let done = mutate(&request.review(), &mut pod, &cluster);
        request.object = pod;
        let answer = match done.and_then(|()| validate(&request.review(), &cluster)) {
            Ok(()) => request.object["spec"].to_string(),
            Err(e) => e.message,
        };
        expected.assert_eq(&answer);
    }

    #[test]
    fn the_class_decides_overhead_and_place() {
        check(
            json!({"runtimeClassName": "kata"}),
            expect![[
                r#"{"nodeSelector":{"vm":"yes"},"overhead":{"cpu":"10m"},"runtimeClassName":"kata","tolerations":[{"key":"vm"}]}"#
            ]],
        );
        check(
            json!({"runtimeClassName": "x"}),
            expect![[r#"pods "p" is forbidden: pod rejected: RuntimeClass "x" not found"#]],
        );
        check(
            json!({"runtimeClassName": "kata", "nodeSelector": {"vm": "no"}}),
            expect![[
                r#"pods "p" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no"#
            ]],
        );
        check(
            json!({"runtimeClassName": "kata", "overhead": {"cpu": "1"}}),
            expect![[
                r#"pods "p" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"#
            ]],
        );
        check(
            json!({"overhead": {"cpu": "1"}}),
            expect![[
                r#"pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"#
            ]],
        );
    }
}
