//! Devices and the claims to them.

use crate::read::{Read, View, cells};
use crate::registry::BuiltIn;
use model::Value;

const GROUP: &str = "resource.k8s.io";

pub(crate) const KINDS: &[BuiltIn] = &[
    BuiltIn {
        group: GROUP,
        kind: "DeviceClass",
        columns: "Name:name|Age",
        cells: |v| cells![v.name(), v.age()],
    },
    BuiltIn {
        group: GROUP,
        kind: "ResourceClaimTemplate",
        columns: "Name:name|Age",
        cells: |v| cells![v.name(), v.age()],
    },
    BuiltIn {
        group: GROUP,
        kind: "ResourceClaim",
        columns: "Name:name|State|Age",
        cells: |v| cells![v.name(), state(v), v.age()],
    },
    BuiltIn {
        group: GROUP,
        kind: "ResourceSlice",
        columns: "Name:name|Node|Driver|Pool|Age",
        cells: |v| {
            let (node, driver) = (v.text("spec.nodeName"), v.text("spec.driver"));
            cells![v.name(), node, driver, v.text("spec.pool.name"), v.age()]
        },
    },
    BuiltIn {
        group: GROUP,
        kind: "DeviceTaintRule",
        columns: "Name:name|Key|Value|Effect|TimeAdded|Age",
        cells: taint_rule,
    },
    BuiltIn {
        group: GROUP,
        kind: "ResourcePoolStatusRequest",
        columns: "Name:name|Driver|Total|Available|Allocated|Unavailable|Errors|Pools:i|Status|\
                  Completed",
        cells: pool_status,
    },
];

fn state(v: &View) -> &'static str {
    let allocated = v.at("status.allocation").is_some();
    let reserved = !v.list("status.reservedFor").is_empty();
    match (v.deleting(), allocated, reserved) {
        (false, false, _) => "pending",
        (false, true, false) => "allocated",
        (false, true, true) => "allocated,reserved",
        (true, false, _) => "deleted",
        (true, true, false) => "deleted,allocated",
        (true, true, true) => "deleted,allocated,reserved",
    }
}

fn taint_rule(v: &View) -> Vec<Value> {
    let added = v.time("spec.taint.timeAdded");
    cells![
        v.name(),
        v.text("spec.taint.key"),
        v.text("spec.taint.value"),
        v.text("spec.taint.effect"),
        added.map_or_else(String::new, |added| v.since(Some(added))),
        v.age(),
    ]
}

fn pool_status(v: &View) -> Vec<Value> {
    let ended =
        |c: &&Value| matches!(c.text("type"), "Complete" | "Failed") && c.text("status") == "True";
    let end = v.list("status.conditions").iter().find(ended);
    let outcome = end.map_or("Pending", |c| c.text("type"));
    let pools = v.list("status.pools");
    let wanted = v.int("status.poolCount");
    let status = if outcome == "Complete" && wanted > pools.len() as i64 {
        format!("Complete ({}/{wanted} pools)", pools.len())
    } else {
        outcome.to_owned()
    };
    let counted = v.at("status").is_some() && outcome != "Failed";
    let show = |number: i64| {
        if counted {
            number.to_string()
        } else {
            "-".into()
        }
    };
    let sum = |field: &str| {
        let numbers = pools.iter().map(|p| p.int(field));
        show(numbers.fold(0, i64::saturating_add))
    };
    let faulty = pools.iter().filter(|p| p.at("validationError").is_some());
    let completed = end.filter(|_| outcome == "Complete");
    cells![
        v.name(),
        v.text("spec.driver"),
        sum("totalDevices"),
        sum("availableDevices"),
        sum("allocatedDevices"),
        sum("unavailableDevices"),
        show(faulty.count() as i64),
        wanted,
        status,
        completed.map_or("<none>".into(), |c| v.since(c.time("lastTransitionTime"))),
    ]
}
