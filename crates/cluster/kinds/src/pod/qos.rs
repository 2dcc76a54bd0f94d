//! Says how well a pod is treated when its node runs short.

use crate::fields::{entries, get, is_empty, list};
use model::{Quantity, Value};

const COUNTED: [&str; 2] = ["cpu", "memory"];

/// The quality of service class of a pod: `Guaranteed` when every container has equal limits and
/// requests for processor and memory, `BestEffort` when none has any, else `Burstable`.
pub(crate) fn class(spec: &Value) -> &'static str {
    let own = get(spec, "resources");
    let owners: Vec<&Value> = if own.is_null() {
        ["containers", "initContainers"]
            .iter()
            .flat_map(|field| list(spec, field))
            .map(|container| get(container, "resources"))
            .collect()
    } else {
        vec![own]
    };
    let mut requests = [Quantity::ZERO; 2];
    let mut limits = [Quantity::ZERO; 2];
    let mut guaranteed = true;
    for owner in owners {
        add(&mut requests, owner, "requests");
        add(&mut limits, owner, "limits");
        let whole_pod = !own.is_null() && is_empty(get(owner, "limits"));
        let full = COUNTED
            .iter()
            .all(|name| !crate::resources::amount(get(owner, "limits"), name).is_zero());
        guaranteed &= full || whole_pod;
    }
    let none = |sums: &[Quantity; 2]| sums.iter().all(|sum| sum.is_zero());
    if none(&requests) && none(&limits) {
        return "BestEffort";
    }
    if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

fn add(sums: &mut [Quantity; 2], owner: &Value, field: &str) {
    for (name, amount) in entries(owner, field) {
        let place = COUNTED.iter().position(|counted| counted == name);
        if let (Some(place), Some(amount)) = (place, Quantity::from_json(amount)) {
            sums[place] = sums[place].plus(amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn check(resources: &Value) -> &'static str {
        class(&json!({"containers": [{"name": "c", "resources": resources}]}))
    }

    #[test]
    fn classes_follow_limits_and_requests() {
        assert_eq!(check(&json!({})), "BestEffort");
        assert_eq!(check(&json!({"requests": {"cpu": "1"}})), "Burstable");
        let both = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(
            check(&json!({"requests": both, "limits": both})),
            "Guaranteed"
        );
        assert_eq!(check(&json!({"limits": {"cpu": "1"}})), "Burstable");
    }
}
