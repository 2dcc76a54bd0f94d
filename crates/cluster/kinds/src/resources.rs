//! Amounts of resources: which names there are, how they are rounded, and what may be asked for.

use crate::fault::{Faults, Spot};
use crate::fields::{entries, get, list, text};
use model::{FieldError, Quantity, Value, names};

/// Rounds the amounts of a map up to thousandths, as the API keeps them.
pub(crate) fn round(owner: &mut Value, field: &str) {
    let Some(map) = owner.get_mut(field).and_then(Value::as_object_mut) else {
        return;
    };
    for amount in map.values_mut() {
        let Some(exact) = Quantity::from_json(amount) else {
            continue;
        };
        let rounded = Quantity::milli(exact.milli_value());
        if exact.milli_value() != i64::MAX && rounded != exact {
            *amount = rounded.to_string().into();
        }
    }
}

/// Rounds the limits and requests of a container, pod or claim.
pub(crate) fn round_requirements(owner: &mut Value) {
    if let Some(requirements) = crate::fields::some_mut(owner, "resources") {
        round(requirements, "limits");
        round(requirements, "requests");
    }
}

/// The amount under a name, zero when there is none.
pub(crate) fn amount(map: &Value, name: &str) -> Quantity {
    map.get(name)
        .and_then(Quantity::from_json)
        .unwrap_or(Quantity::ZERO)
}

/// Whether a name is `hugepages-…`.
pub(crate) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether a name belongs to Kubernetes itself.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether more may be requested than is limited.
pub(crate) fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

const CONTAINER: [&str; 3] = ["cpu", "ephemeral-storage", "memory"];

const QUOTA: [&str; 19] = [
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

fn is_standard(name: &str) -> bool {
    name == "storage" || is_standard_quota(name)
}

/// Whether a name without a slash can be limited by a quota.
pub(crate) fn is_standard_quota(name: &str) -> bool {
    QUOTA.contains(&name) || is_huge_page(name) || name.starts_with("requests.hugepages-")
}

/// Whether amounts of this resource are whole numbers.
fn is_integer(name: &str) -> bool {
    is_extended(name)
        || matches!(
            name,
            "pods"
                | "services"
                | "replicationcontrollers"
                | "resourcequotas"
                | "secrets"
                | "configmaps"
                | "persistentvolumeclaims"
                | "services.nodeports"
                | "services.loadbalancers"
        )
}

/// Whether a name follows the rules for resources that others bring.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

fn segments(name: &str) -> usize {
    name.split('/').count()
}

fn check_name(name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let found = names::qualified_name(name);
    if !found.is_empty() {
        return faults.invalid_each(spot, name, found);
    }
    if segments(name) == 1 && !is_standard(name) {
        let message = "must be a standard resource type or fully qualified";
        faults.invalid(spot, name, message);
    }
}

/// Finds what is wrong with the name of a resource of containers.
pub(crate) fn check_container_name(name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    check_name(name, spot, faults);
    if segments(name) == 1 {
        if !CONTAINER.contains(&name) && !is_huge_page(name) {
            faults.invalid(spot, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        faults.invalid(spot, name, "doesn't follow extended resource name standard");
    }
}

/// Finds what is wrong with the name of a resource in a limit range.
pub(crate) fn check_limit_name(kind: &str, name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    if matches!(kind, "Pod" | "Container") {
        check_container_name(name, spot, faults);
    } else {
        check_name(name, spot, faults);
    }
}

/// Finds what is wrong with the name of a resource in a quota.
pub(crate) fn check_quota_name(name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    check_name(name, spot, faults);
    if segments(name) == 1 && !is_standard_quota(name) {
        faults.invalid(spot, name, "must be a standard resource for quota");
    }
}

fn check_pod_name(name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let before = faults.len();
    check_name(name, spot, faults);
    let supported = matches!(name, "cpu" | "memory") || is_huge_page(name);
    if faults.len() == before && !supported {
        faults.unsupported(spot, name, &["cpu", "hugepages-", "memory"]);
    }
}

/// Finds what is wrong with an amount of a resource.
pub(crate) fn check_amount(name: &str, amount: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let Some(quantity) = Quantity::from_json(amount) else {
        return;
    };
    if quantity.is_negative() {
        let message = "must be greater than or equal to 0";
        faults.invalid(spot, quantity.to_string(), message);
    }
    if is_integer(name) && quantity.milli_value() % 1000 != 0 {
        faults.invalid(spot, quantity.to_string(), "must be an integer");
    }
}

/// Whose requirements are checked: it decides which names are allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// A container's.
    Container,
    /// A pod's.
    Pod,
}

/// Finds the faults of limits, requests and claims.
pub(crate) fn check_requirements(
    requirements: &Value,
    of: Of,
    claims: &[&str],
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let check = match of {
        Of::Container => check_container_name,
        Of::Pod => check_pod_name,
    };
    let (limits, requests) = (spot.child("limits"), spot.child("requests"));
    let (mut huge, mut basic) = (false, false);
    for (name, value) in entries(requirements, "limits") {
        let spot = &limits.key(name);
        check(name, spot, faults);
        check_amount(name, value, spot, faults);
        check_huge_page(name, value, spot, faults);
        huge |= is_huge_page(name);
        basic |= matches!(name.as_str(), "cpu" | "memory");
    }
    let given = get(requirements, "limits");
    for (name, value) in entries(requirements, "requests") {
        let spot = &requests.key(name);
        check(name, spot, faults);
        check_amount(name, value, spot, faults);
        check_against_limit(name, value, given, &requests, &limits, faults);
        check_huge_page(name, value, spot, faults);
        huge |= is_huge_page(name);
        basic |= matches!(name.as_str(), "cpu" | "memory");
    }
    if huge && !basic {
        faults.forbidden(spot, "HugePages require cpu or memory");
    }
    check_claims(requirements, claims, &spot.child("claims"), faults);
}

fn check_against_limit(
    name: &str,
    request: &Value,
    limits: &Value,
    requests_spot: &Spot<'_>,
    limits_spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let Some(request) = Quantity::from_json(request) else {
        return;
    };
    match limits.get(name).and_then(Quantity::from_json) {
        Some(limit) if request != limit && !may_overcommit(name) => {
            let message = format!("must be equal to {name} limit of {limit}");
            faults.invalid(requests_spot, request.to_string(), &message);
        }
        Some(limit) if request > limit => {
            let message = format!("must be less than or equal to {name} limit of {limit}");
            faults.invalid(requests_spot, request.to_string(), &message);
        }
        None if !may_overcommit(name) => {
            let message = "Limit must be set for non overcommitable resources";
            faults.required(limits_spot, message);
        }
        _ => {}
    }
}

fn check_huge_page(name: &str, value: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let Some(size) = name.strip_prefix("hugepages-").and_then(Quantity::parse) else {
        return;
    };
    let Some(quantity) = Quantity::from_json(value) else {
        return;
    };
    let whole = size.milli_value() % 1000 == 0 && size.value() > 0;
    if !whole || quantity.value() % size.value() != 0 {
        let message = format!("{quantity} is not positive integer multiple of {name}");
        faults.invalid(spot, quantity.to_string(), &message);
    }
}

fn check_claims(requirements: &Value, known: &[&str], spot: &Spot<'_>, faults: &mut Faults) {
    let mut seen: Vec<String> = Vec::new();
    for (index, claim) in list(requirements, "claims").iter().enumerate() {
        let spot = &spot.index(index);
        let (name, request) = (text(claim, "name"), text(claim, "request"));
        if name.is_empty() {
            faults.required(spot, "");
            continue;
        }
        let key = if request.is_empty() {
            name.to_owned()
        } else {
            format!("{name}/{request}")
        };
        if !seen.iter().any(|s| s == name) && !request.is_empty() {
            let found = names::dns1123_label(request);
            faults.invalid_each(&spot.child("request"), request, found);
        }
        let whole = format!("{name}/");
        if seen.iter().any(|s| s == name) {
            faults.duplicate(spot, name);
        } else if seen.contains(&key) {
            faults.duplicate(spot, key.as_str());
        } else if request.is_empty() && seen.iter().any(|s| s.starts_with(&whole)) {
            faults.duplicate(spot, name);
        }
        seen.push(key);
        if !known.contains(&name) {
            let mut fault = FieldError::not_found(&spot.path(), &name.into());
            let mut detail = "must be one of the names in pod.spec.resourceClaims".to_owned();
            if known.is_empty() {
                detail.push_str(" which is empty");
            } else {
                let mut sorted = known.to_vec();
                sorted.sort_unstable();
                detail.push_str(": ");
                detail.push_str(&sorted.join(", "));
            }
            fault.detail = Some(detail);
            faults.push(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn check(requirements: &Value) -> Vec<String> {
        let mut faults = Faults::default();
        let spot = Spot::of("r");
        check_requirements(requirements, Of::Container, &[], &spot, &mut faults);
        faults.into_list().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn requests_stay_below_limits() {
        assert!(check(&json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}})).is_empty());
        assert_eq!(
            check(&json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
            [r#"r.requests: Invalid value: "2": must be less than or equal to cpu limit of 1"#]
        );
        assert_eq!(
            check(&json!({"requests": {"example.com/gpu": "1"}})),
            ["r.limits: Required value: Limit must be set for non overcommitable resources"]
        );
    }

    #[test]
    fn names_must_be_known_or_qualified() {
        assert_eq!(
            check(&json!({"limits": {"gpu": "1"}})),
            [
                r#"r.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified"#,
                r#"r.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers"#
            ]
        );
    }

    #[test]
    fn amounts_round_up_to_thousandths() {
        let mut value = json!({"limits": {"cpu": "100u", "memory": "1Gi"}});
        round(&mut value, "limits");
        assert_eq!(value, json!({"limits": {"cpu": "1m", "memory": "1Gi"}}));
    }
}
