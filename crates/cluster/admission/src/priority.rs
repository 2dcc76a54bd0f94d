//! PriorityClasses become numbers on pods.

use crate::{Cluster, Operation, Review};
use model::{ApiError, Value, json, meta};
use std::sync::Arc;

const GROUP: &str = "scheduling.k8s.io";

/// Resolves `priorityClassName` to `priority` and `preemptionPolicy`; keeps them on updates.
pub fn mutate(review: &Review<'_>, pod: &mut Value, cluster: &dyn Cluster) -> Result<(), ApiError> {
    if !review.is("", "pods") {
        return Ok(());
    }
    if review.operation == Operation::Update {
        keep(pod, review.old);
        return Ok(());
    }
    let review = &crate::seen(review, pod);
    let name = meta::text_at(pod, "/spec/priorityClassName").to_owned();
    let class = if name.is_empty() {
        default_class(cluster)
    } else {
        let found = cluster.get(GROUP, "priorityclasses", "", &name);
        let missing = || review.forbidden(&format!("no PriorityClass with name {name} was found"));
        Some(found.ok_or_else(missing)?)
    };
    let value = class.as_ref().and_then(|c| c.get("value")?.as_i64());
    let value = value.unwrap_or(0);
    let policy = match &class {
        None => Some("PreemptLowerPriority".to_owned()),
        Some(class) => class
            .get("preemptionPolicy")
            .and_then(Value::as_str)
            .map(str::to_owned),
    };
    let given = pod.pointer("/spec/priority").and_then(Value::as_i64);
    if let Some(given) = given.filter(|g| *g != value) {
        return Err(review.forbidden(&format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority \
             admission controller computed {value} from the given PriorityClass name"
        )));
    }
    let given = meta::text_at(pod, "/spec/preemptionPolicy");
    if let Some(policy) = policy
        .as_deref()
        .filter(|p| !given.is_empty() && *p != given)
    {
        return Err(review.forbidden(&format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; \
             priority admission controller computed {policy} from the given PriorityClass name"
        )));
    }
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    if let Some(class) = &class {
        spec.insert("priorityClassName".into(), json!(meta::name(class)));
    }
    spec.insert("priority".into(), json!(value));
    if let Some(policy) = policy {
        spec.insert("preemptionPolicy".into(), json!(policy));
    }
    Ok(())
}

fn keep(pod: &mut Value, old: Option<&Value>) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for field in ["priority", "preemptionPolicy"] {
        let held = old.and_then(|o| o.get("spec")?.get(field));
        if let Some(value) = held.filter(|v| !v.is_null())
            && spec.get(field).is_none_or(Value::is_null)
        {
            spec.insert(field.into(), value.clone());
        }
    }
}

fn default_class(cluster: &dyn Cluster) -> Option<Arc<Value>> {
    let classes = cluster.list(GROUP, "priorityclasses", None);
    let defaults = classes.into_iter().filter(|c| is_default(c));
    defaults.min_by_key(|c| c.get("value").and_then(Value::as_i64).unwrap_or(0))
}

fn is_default(class: &Value) -> bool {
    class.get("globalDefault").and_then(Value::as_bool) == Some(true)
}

/// Refuses a second default PriorityClass.
pub fn validate(review: &Review<'_>, cluster: &dyn Cluster) -> Result<(), ApiError> {
    let Some(class) = review
        .object
        .filter(|_| review.is(GROUP, "priorityclasses"))
    else {
        return Ok(());
    };
    if !is_default(class) {
        return Ok(());
    }
    let Some(other) = default_class(cluster) else {
        return Ok(());
    };
    let name = meta::name(&other);
    if review.operation == Operation::Update && name == meta::name(class) {
        return Ok(());
    }
    Err(review.forbidden(&format!(
        "PriorityClass {name} is already marked as default. Only one default can exist"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fake, Request};
    use expect_test::{Expect, expect};

    fn cluster() -> Fake {
        Fake::default().with(
            "scheduling.k8s.io/priorityclasses",
            &[json!({"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"})],
        )
    }

    fn check(cluster: &Fake, spec: Value, expected: Expect) {
        let request = Request::pod("dev", spec);
        let mut pod = request.object.clone();
        let answer = match mutate(&request.review(), &mut pod, cluster) {
            Ok(()) => pod["spec"].to_string(),
            Err(e) => e.message,
        };
        expected.assert_eq(&answer);
    }

    #[test]
    fn the_class_decides_the_number() {
        check(
            &cluster(),
            json!({}),
            expect![[r#"{"preemptionPolicy":"PreemptLowerPriority","priority":0}"#]],
        );
        check(
            &cluster(),
            json!({"priorityClassName": "high"}),
            expect![[r#"{"preemptionPolicy":"Never","priority":1000,"priorityClassName":"high"}"#]],
        );
        check(
            &cluster(),
            json!({"priorityClassName": "x"}),
            expect![[r#"pods "p" is forbidden: no PriorityClass with name x was found"#]],
        );
        check(
            &cluster(),
            json!({"priority": 5}),
            expect![[
                r#"pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name"#
            ]],
        );
        check(
            &cluster(),
            json!({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"}),
            expect![[
                r#"pods "p" is forbidden: the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never from the given PriorityClass name"#
            ]],
        );
    }

    #[test]
    fn a_default_class_serves_everybody_and_stands_alone() {
        let default = json!({"kind": "PriorityClass", "metadata": {"name": "low"}, "value": 7, "globalDefault": true});
        let cluster = cluster().with("scheduling.k8s.io/priorityclasses", &[default]);
        check(
            &cluster,
            json!({}),
            expect![[r#"{"priority":7,"priorityClassName":"low"}"#]],
        );
        let second =
            json!({"kind": "PriorityClass", "metadata": {"name": "two"}, "globalDefault": true});
        let request = Request::create("scheduling.k8s.io/v1/priorityclasses", "", second);
        assert_eq!(
            validate(&request.review(), &cluster).unwrap_err().message,
            "priorityclasses.scheduling.k8s.io \"two\" is forbidden: PriorityClass low is already marked as default. Only one default can exist"
        );
    }

    #[test]
    fn updates_keep_the_number() {
        let old = json!({"metadata": {"name": "p"}, "spec": {"priority": 3, "preemptionPolicy": "Never"}});
        let request = Request::update(
            "pods",
            "dev",
            json!({"metadata": {"name": "p"}, "spec": {}}),
            old.clone(),
        );
        let mut pod = request.object.clone();
        mutate(&request.review(), &mut pod, &cluster()).unwrap();
        assert_eq!(pod, old);
    }
}
