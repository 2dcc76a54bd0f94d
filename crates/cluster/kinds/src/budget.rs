//! PodDisruptionBudgets.

use crate::fault::{Faults, Spot};
use crate::fields::{get, has, number};
use crate::rules::{PLAIN, Recheck, Rules};
use crate::{Endpoint, selector, workload};
use model::Value;

/// What is special about a PodDisruptionBudget.
pub(crate) static BUDGET: Rules = Rules {
    check: |object, faults| check(get(object, "spec"), faults),
    check_update: |new, _, endpoint, faults| {
        if endpoint == Endpoint::Status {
            let spot = &Spot::of("status");
            for field in [
                "disruptionsAllowed",
                "currentHealthy",
                "desiredHealthy",
                "expectedPods",
            ] {
                let count = number(get(new, "status"), field);
                faults.non_negative(&spot.child(field), count);
            }
        } else {
            check(get(new, "spec"), faults);
        }
    },
    status: Some(
        r#"{"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0}"#,
    ),
    generation: &["spec"],
    unconditional: false,
    recheck: Recheck::Not,
    ..PLAIN
};

fn check(spec: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    if has(spec, "minAvailable") && has(spec, "maxUnavailable") {
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\
             \"UnhealthyPodEvictionPolicy\":{}}}",
            get(spec, "minAvailable"),
            selector::show(get(spec, "selector")),
            get(spec, "maxUnavailable"),
            get(spec, "unhealthyPodEvictionPolicy")
        );
        let message = "minAvailable and maxUnavailable cannot be both set";
        faults.invalid_shown(spot, &shown, message);
    }
    for field in ["minAvailable", "maxUnavailable"] {
        if has(spec, field) {
            let (share, at) = (get(spec, field), &spot.child(field));
            workload::check_share(share, at, faults);
            workload::check_share_max(share, at, faults);
        }
    }
    selector::check(get(spec, "selector"), &spot.child("selector"), faults);
    faults.maybe_one_of(
        &spot.child("unhealthyPodEvictionPolicy"),
        get(spec, "unhealthyPodEvictionPolicy"),
        &["AlwaysAllow", "IfHealthyBudget"],
    );
}
