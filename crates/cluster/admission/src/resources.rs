//! Sums over the resource requests and limits of pods.

use model::{Quantity, Value, meta};
use std::collections::BTreeMap;

/// Amounts by resource name.
pub type Amounts = BTreeMap<String, Quantity>;

/// Reads a map of quantities; what is no quantity is left out.
pub fn read(value: Option<&Value>) -> Amounts {
    let map = value.and_then(Value::as_object).into_iter().flatten();
    map.filter_map(|(name, amount)| Some((name.clone(), Quantity::from_json(amount)?)))
        .collect()
}

/// Adds the second amounts to the first.
pub fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        sum.entry(name.clone())
            .and_modify(|s| *s = s.plus(*amount))
            .or_insert(*amount);
    }
}

fn raise(floor: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        match floor.get(name) {
            Some(held) if held >= amount => {}
            _ => {
                floor.insert(name.clone(), *amount);
            }
        }
    }
}

/// Which half of `resources` is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `requests`
    Requests,
    /// `limits`
    Limits,
}

impl Part {
    fn field(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Limits => "limits",
        }
    }
}

/// The requests or limits of one container.
pub fn of_container(container: &Value, part: Part) -> Amounts {
    read(container.get("resources").and_then(|r| r.get(part.field())))
}

/// What a whole pod requests or is limited to: containers together, init containers one by one
/// unless they keep running, cpu and memory overridden at pod level.
pub fn of_pod(pod: &Value, part: Part) -> Amounts {
    let mut sum = Amounts::new();
    for container in meta::entries(pod, "/spec/containers") {
        add(&mut sum, &of_container(container, part));
    }
    let mut sidecars = Amounts::new();
    let mut peak = Amounts::new();
    for container in meta::entries(pod, "/spec/initContainers") {
        let own = of_container(container, part);
        let sidecar = container.get("restartPolicy").and_then(Value::as_str) == Some("Always");
        if sidecar {
            add(&mut sum, &own);
            add(&mut sidecars, &own);
            raise(&mut peak, &sidecars);
        } else {
            let mut together = own;
            add(&mut together, &sidecars);
            raise(&mut peak, &together);
        }
    }
    raise(&mut sum, &peak);
    let level = pod
        .pointer("/spec/resources")
        .and_then(|r| r.get(part.field()));
    for (name, amount) in read(level) {
        if matches!(name.as_str(), "cpu" | "memory") {
            sum.insert(name, amount);
        }
    }
    sum
}

/// The same with the overhead of the pod's runtime, which counts on limits only where one is set.
pub fn of_pod_with_overhead(pod: &Value, part: Part) -> Amounts {
    let mut sum = of_pod(pod, part);
    for (name, amount) in read(pod.pointer("/spec/overhead")) {
        match (sum.get(&name).copied(), part) {
            (Some(held), Part::Limits) if held.is_zero() => {}
            (Some(held), _) => {
                sum.insert(name, held.plus(amount));
            }
            (None, Part::Requests) => {
                sum.insert(name, amount);
            }
            (None, Part::Limits) => {}
        }
    }
    sum
}

/// `a=1,b=2`, as quota refusals print amounts.
pub fn show(amounts: &Amounts) -> String {
    let parts: Vec<String> = amounts.iter().map(|(n, q)| format!("{n}={q}")).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn init_containers_count_by_peak_and_sidecars_by_sum() {
        let c = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let side = json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}});
        let pod = json!({"spec": {"containers": [c("200m"), c("300m")], "initContainers": [side, c("1"), c("50m")], "overhead": {"cpu": "10m", "memory": "1Mi"}}});
        assert_eq!(show(&of_pod(&pod, Part::Requests)), "cpu=1100m");
        assert_eq!(
            show(&of_pod_with_overhead(&pod, Part::Requests)),
            "cpu=1110m,memory=1Mi"
        );
        assert_eq!(show(&of_pod_with_overhead(&pod, Part::Limits)), "");
        let pod = json!({"spec": {"containers": [c("200m")], "resources": {"requests": {"cpu": "2", "x/y": "1"}}}});
        assert_eq!(show(&of_pod(&pod, Part::Requests)), "cpu=2");
    }
}
