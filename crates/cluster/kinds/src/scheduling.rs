//! PriorityClasses, RuntimeClasses, Leases, ControllerRevisions and claims for devices.

use crate::fault::{Faults, Spot};
use crate::fields::{
    fill, fill_empty, flag, get, has, int, items_mut, number, same, some_mut, text,
};
use crate::pod::schedule;
use crate::rules::{FIXED, Keeps, PLAIN, Recheck, Rules};
use crate::{Endpoint, metadata, resources};
use model::{Value, json, meta, names};

/// What is special about a PriorityClass.
pub(crate) static PRIORITY_CLASS: Rules = Rules {
    default: |object, _| fill(object, "preemptionPolicy", "PreemptLowerPriority"),
    check: check_priority,
    check_update: |new, old, _, faults| {
        if number(new, "value") != number(old, "value") {
            faults.forbidden(&Spot::of("value"), "may not be changed in an update.");
        }
        let (now, then) = (get(new, "preemptionPolicy"), get(old, "preemptionPolicy"));
        faults.immutable(&Spot::of("preemptionPolicy"), now, then);
    },
    generation: FIXED,
    ..PLAIN
};

fn check_priority(object: &Value, faults: &mut Faults) {
    let (name, value) = (meta::name(object), number(object, "value"));
    if name.starts_with("system-") {
        let wanted = match name {
            "system-node-critical" => Some(2_000_001_000),
            "system-cluster-critical" => Some(2_000_000_000),
            _ => None,
        };
        let why = match wanted {
            None => format!("{name} is not a known system priority class"),
            Some(wanted) if value != wanted => {
                format!("value of {name} PriorityClass must be {wanted}")
            }
            Some(_) if flag(object, "globalDefault") => {
                format!("globalDefault of {name} PriorityClass must be false")
            }
            Some(_) => String::new(),
        };
        if !why.is_empty() {
            let message = format!(
                "priority class names with 'system-' prefix are reserved for system use only. \
                 error: {why}"
            );
            faults.forbidden(&Spot::of("metadata.name"), &message);
        }
    } else if value > 1_000_000_000 {
        let message = "maximum allowed value of a user defined priority is 1000000000";
        faults.forbidden(&Spot::of("value"), message);
    }
    if let Some(policy) = get(object, "preemptionPolicy").as_str() {
        let at = &Spot::of("preemptionPolicy");
        faults.one_of(at, policy, &["PreemptLowerPriority", "Never"]);
    }
}

/// What is special about a RuntimeClass.
pub(crate) static RUNTIME_CLASS: Rules = Rules {
    default: |object, _| {
        if let Some(overhead) = some_mut(object, "overhead") {
            resources::round(overhead, "podFixed");
        }
    },
    check: check_runtime,
    check_update: |new, old, _, faults| {
        check_runtime(new, faults);
        if text(new, "handler") != text(old, "handler") {
            let handler = text(new, "handler");
            faults.invalid(&Spot::of("handler"), handler, "field is immutable");
        }
    },
    create_on_update: true,
    unconditional: false,
    recheck: Recheck::Around,
    ..PLAIN
};

fn check_runtime(object: &Value, faults: &mut Faults) {
    let spot = &Spot::of("handler");
    match text(object, "handler") {
        "" => faults.required(spot, ""),
        handler => faults.invalid_each(spot, handler, names::dns1123_label(handler)),
    }
    if has(object, "overhead") {
        let limits = json!({"limits": get(get(object, "overhead"), "podFixed")});
        let at = &Spot::of("overhead");
        let of = resources::Of::Container;
        resources::check_requirements(&limits, of, &[], at, faults);
    }
    let placed = get(object, "scheduling");
    let spot = &Spot::of("scheduling");
    let at = &spot.child("nodeSelector");
    metadata::check_labels(get(placed, "nodeSelector"), at, faults);
    let tolerations = crate::fields::list(placed, "tolerations");
    schedule::check_tolerations(tolerations, &spot.child("tolerations"), faults);
}

/// What is special about a Lease.
pub(crate) static LEASE: Rules = Rules {
    create: |object, _| drop_strategy(object),
    update: |new, _, _, _| drop_strategy(new),
    check: |object, faults| check_lease(get(object, "spec"), faults),
    check_update: |new, _, _, faults| check_lease(get(new, "spec"), faults),
    create_on_update: true,
    unconditional: false,
    ..PLAIN
};

// The feature behind these fields is off.
fn drop_strategy(object: &mut Value) {
    if let Some(own) = some_mut(object, "spec") {
        crate::fields::unset(own, "strategy");
        crate::fields::unset(own, "preferredHolder");
    }
}

fn check_lease(own: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    if let Some(seconds) = int(own, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        let at = &spot.child("leaseDurationSeconds");
        faults.invalid(at, seconds, "must be greater than 0");
    }
    if let Some(count) = int(own, "leaseTransitions").filter(|count| *count < 0) {
        let message = "must be greater than or equal to 0";
        faults.invalid(&spot.child("leaseTransitions"), count, message);
    }
}

/// What is special about a ControllerRevision.
pub(crate) static REVISION: Rules = Rules {
    check: |object, faults| {
        faults.non_negative(&Spot::of("revision"), number(object, "revision"));
        match get(object, "data") {
            Value::Object(_) => {}
            Value::Null => faults.required(&Spot::of("data"), "data is mandatory"),
            _ => faults.required(&Spot::of("data"), "data must be a valid JSON object"),
        }
    },
    check_update: |new, old, _, faults| {
        faults.non_negative(&Spot::of("revision"), number(new, "revision"));
        if !same(get(new, "data"), get(old, "data")) {
            let data = get(new, "data").clone();
            faults.invalid(&Spot::of("data"), data, "field is immutable");
        }
    },
    recheck: Recheck::Both,
    ..PLAIN
};

fn default_requests(own: &mut Value) {
    let Some(devices) = some_mut(own, "devices") else {
        return;
    };
    for request in items_mut(devices, "requests") {
        if let Some(exact) = some_mut(request, "exactly") {
            default_request(exact);
        }
        items_mut(request, "firstAvailable").for_each(default_request);
    }
}

fn default_request(request: &mut Value) {
    fill_empty(request, "allocationMode", "ExactCount");
    if text(request, "allocationMode") == "ExactCount" {
        fill_empty(request, "count", 1);
    }
}

/// What is special about a ResourceClaim.
pub(crate) static DEVICE_CLAIM: Rules = Rules {
    default: |object, _| {
        if let Some(own) = some_mut(object, "spec") {
            default_requests(own);
        }
    },
    check_update: |new, old, endpoint, faults| {
        if endpoint == Endpoint::Main && !same(get(new, "spec"), get(old, "spec")) {
            let own = get(new, "spec").clone();
            faults.invalid(&Spot::of("spec"), own, "field is immutable");
        }
    },
    status: Some("{}"),
    status_keeps: Keeps::All,
    ..PLAIN
};

/// What is special about a ResourceClaimTemplate.
pub(crate) static DEVICE_CLAIM_TEMPLATE: Rules = Rules {
    default: |object, _| {
        if let Some(own) = some_mut(object, "spec").and_then(|own| some_mut(own, "spec")) {
            default_requests(own);
        }
    },
    check_update: |new, old, _, faults: &mut Faults| {
        if !same(get(new, "spec"), get(old, "spec")) {
            let own = get(new, "spec").clone();
            faults.invalid(&Spot::of("spec"), own, "field is immutable");
        }
    },
    ..PLAIN
};

/// What is special about a DeviceClass.
pub(crate) static DEVICE_CLASS: Rules = Rules {
    generation: &["spec"],
    ..PLAIN
};
