//! Checks updates of pods: almost nothing of a running pod can be changed.

use super::{annotations, schedule};
use crate::Endpoint;
use crate::fault::{Faults, Spot};
use crate::fields::{carry, get, int, items_mut, list, number, same, set, text};
use crate::{go, syntax};
use model::{Value, names};

const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,\
     `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
     `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Finds the faults of an update of a pod.
pub(super) fn check(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    let at = &Spot::of("metadata.annotations");
    match endpoint {
        Endpoint::Status => {
            annotations::check_update(new, old, at, faults);
            check_status(new, old, faults);
        }
        Endpoint::Ephemeral => {
            super::check_all(new, faults);
            annotations::check_update(new, old, at, faults);
            check_ephemeral(new, old, faults);
        }
        Endpoint::Resize => super::check_all(new, faults),
        _ => {
            super::check_all(new, faults);
            annotations::check_update(new, old, at, faults);
            check_spec(get(new, "spec"), get(old, "spec"), faults);
        }
    }
}

fn check_spec(new: &Value, old: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    for field in ["containers", "initContainers"] {
        if !check_containers(new, old, field, &spot.child(field), faults) {
            return;
        }
    }
    if !check_deadline(new, old, &spot.child("activeDeadlineSeconds"), faults) {
        return;
    }
    check_tolerations(new, old, &spot.child("tolerations"), faults);
    check_gates(new, old, &spot.child("schedulingGates"), faults);
    if same(new, old) {
        return;
    }
    let allowed = with_allowed(new, old);
    if !same(&allowed, old) {
        let message = format!(
            "pod updates may not change fields other than {UPDATABLE}\n{}",
            go::diff("PodSpec", old, &allowed)
        );
        faults.forbidden(spot, &message);
    }
}

fn check_containers(
    new: &Value,
    old: &Value,
    field: &str,
    spot: &Spot<'_>,
    faults: &mut Faults,
) -> bool {
    let containers = list(new, field);
    if containers.len() != list(old, field).len() {
        faults.forbidden(spot, "pod updates may not add or remove containers");
        return false;
    }
    for (index, container) in containers.iter().enumerate() {
        let spot = &spot.index(index);
        if text(container, "image").is_empty() {
            faults.required(&spot.child("image"), "");
        }
        super::container::check_image_padding(container, spot, faults);
    }
    true
}

fn check_deadline(new: &Value, old: &Value, spot: &Spot<'_>, faults: &mut Faults) -> bool {
    let field = "activeDeadlineSeconds";
    let max = i64::from(i32::MAX);
    match (int(new, field), int(old, field)) {
        (Some(now), _) if !(0..=max).contains(&now) => {
            faults.invalid(spot, now, &syntax::range(0, max));
            false
        }
        (Some(now), Some(before)) if before < now => {
            let message = "must be less than or equal to previous value";
            faults.invalid(spot, now, message);
            false
        }
        (None, Some(_)) => {
            let message = "must not update from a positive integer to nil value";
            faults.invalid(spot, Value::Null, message);
            true
        }
        _ => true,
    }
}

fn check_tolerations(new: &Value, old: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let now = list(new, "tolerations");
    for before in list(old, "tolerations") {
        let kept = now.iter().any(|toleration| {
            ["key", "operator", "value", "effect"]
                .iter()
                .all(|field| text(toleration, field) == text(before, field))
        });
        if !kept {
            let message = "existing toleration can not be modified except its tolerationSeconds";
            return faults.forbidden(spot, message);
        }
    }
    schedule::check_tolerations(now, spot, faults);
}

fn check_gates(new: &Value, old: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for (index, gate) in list(new, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        let known = list(old, "schedulingGates")
            .iter()
            .any(|g| text(g, "name") == name);
        if !known {
            let spot = &spot.index(index);
            let message =
                format!("only deletion is allowed, but found new scheduling gate '{name}'");
            faults.forbidden(&spot.child("name"), &message);
        }
    }
}

// The new spec with everything put back that may change: what still differs is forbidden.
fn with_allowed(new: &Value, old: &Value) -> Value {
    let mut spec = new.clone();
    for field in ["containers", "initContainers"] {
        for (index, container) in items_mut(&mut spec, field).enumerate() {
            if let Some(before) = list(old, field).get(index) {
                carry(container, before, "image");
            }
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        carry(&mut spec, old, field);
    }
    let grace = "terminationGracePeriodSeconds";
    if number(old, grace) < 0 && number(&spec, grace) == 1 {
        carry(&mut spec, old, grace);
    }
    if !list(old, "schedulingGates").is_empty() {
        carry(&mut spec, old, "nodeSelector");
        let node = get(get(old, "affinity"), "nodeAffinity").clone();
        if get(&spec, "affinity").is_object() {
            let affinity = crate::fields::map_slot(&mut spec, "affinity");
            if node.is_null() {
                crate::fields::unset(affinity, "nodeAffinity");
            } else {
                set(affinity, "nodeAffinity", node);
            }
        } else if !node.is_null() {
            set(&mut spec, "affinity", model::json!({"nodeAffinity": node}));
        }
    }
    spec
}

fn check_ephemeral(new: &Value, old: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec.ephemeralContainers");
    let now = list(get(new, "spec"), "ephemeralContainers");
    for before in list(get(old, "spec"), "ephemeralContainers") {
        let name = text(before, "name");
        let quoted = model::field::go_quote(name);
        match now.iter().find(|c| text(c, "name") == name) {
            None => {
                let message =
                    format!("existing ephemeral containers {quoted} may not be removed\n");
                faults.forbidden(spot, &message);
            }
            Some(after) if !same(after, before) => {
                let message = format!(
                    "existing ephemeral containers {quoted} may not be changed\n{}",
                    go::diff("EphemeralContainer", before, after)
                );
                faults.forbidden(spot, &message);
            }
            Some(_) => {}
        }
    }
}

fn check_status(new: &Value, old: &Value, faults: &mut Faults) {
    let spot = &Spot::of("status");
    let (status, before) = (get(new, "status"), get(old, "status"));
    for (index, condition) in list(status, "conditions").iter().enumerate() {
        let at = &spot.child("conditions");
        let at = &at.index(index);
        let seen = number(condition, "observedGeneration");
        if seen < 0 {
            let at = &at.child("observedGeneration");
            faults.invalid(at, seen, "must be a non-negative integer");
        }
        let kind = text(condition, "type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            faults.invalid_each(&at.child("Type"), kind, names::qualified_name(kind));
        }
    }
    let nominated = text(status, "nominatedNodeName");
    if nominated != text(before, "nominatedNodeName") && !nominated.is_empty() {
        let at = &spot.child("nominatedNodeName");
        faults.invalid_each(at, nominated, names::dns1123_subdomain(nominated));
        if !text(get(old, "spec"), "nodeName").is_empty() {
            let message = "may not be set on pods that are already bound to a node";
            faults.forbidden(at, message);
        }
    }
    let seen = number(status, "observedGeneration");
    if seen < 0 {
        let at = &spot.child("observedGeneration");
        faults.invalid(at, seen, "must be a non-negative integer");
    }
    let (class, class_before) = (text(status, "qosClass"), text(before, "qosClass"));
    if class != class_before {
        faults.invalid(&spot.child("qosClass"), class, "field is immutable");
    }
    check_addresses(status, before, spot, faults);
}

fn check_addresses(status: &Value, before: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for field in ["podIPs", "hostIPs"] {
        let known: Vec<&str> = list(before, field)
            .iter()
            .map(|ip| text(ip, "ip"))
            .collect();
        let spot = &spot.child(field);
        if field == "hostIPs" {
            let first = list(status, field).first().map(|ip| text(ip, "ip"));
            if let Some(first) = first.filter(|first| *first != text(status, "hostIP")) {
                let at = &spot.index(0);
                faults.invalid(&at.child("ip"), first, "must be equal to `hostIP`");
            }
        }
        for (index, ip) in list(status, field).iter().enumerate() {
            syntax::check_ip(text(ip, "ip"), &known, &spot.index(index), faults);
        }
    }
}
