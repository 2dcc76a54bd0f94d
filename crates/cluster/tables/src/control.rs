//! The control plane's own objects: priorities, leases, flows, API services, storage versions.

use crate::read::{Read, View, cells, shortened};
use crate::registry::BuiltIn;
use model::Value;

pub(crate) const KINDS: &[BuiltIn] = &[
    BuiltIn {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        columns: "Name:name|Value:i|Global-Default:b|Age|PreemptionPolicy",
        cells: |v| {
            let (value, default) = (v.int("value"), v.flag("globalDefault"));
            cells![
                v.name(),
                value,
                default,
                v.age(),
                v.text("preemptionPolicy")
            ]
        },
    },
    BuiltIn {
        group: "scheduling.k8s.io",
        kind: "Workload",
        columns: "Name:name|Age",
        cells: |v| cells![v.name(), v.age()],
    },
    BuiltIn {
        group: "scheduling.k8s.io",
        kind: "PodGroup",
        columns: "Name:name|Policy|Workload|Status|Age",
        cells: pod_group,
    },
    BuiltIn {
        group: "coordination.k8s.io",
        kind: "Lease",
        columns: "Name:name|Holder|Age",
        cells: |v| cells![v.name(), v.text("spec.holderIdentity"), v.age()],
    },
    BuiltIn {
        group: "coordination.k8s.io",
        kind: "LeaseCandidate",
        columns: "Name:name|LeaseName|BinaryVersion|EmulationVersion|Age",
        cells: |v| {
            cells![
                v.name(),
                v.text("spec.leaseName"),
                v.text("spec.binaryVersion"),
                v.text("spec.emulationVersion"),
                v.age(),
            ]
        },
    },
    BuiltIn {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        columns: "Name:name|Handler|Age",
        cells: |v| cells![v.name(), v.text("handler"), v.age()],
    },
    BuiltIn {
        group: "flowcontrol.apiserver.k8s.io",
        kind: "FlowSchema",
        columns: "Name:name|PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL",
        cells: |v| {
            cells![
                v.name(),
                v.text("spec.priorityLevelConfiguration.name"),
                v.int("spec.matchingPrecedence"),
                v.opt("spec.distinguisherMethod.type").unwrap_or("<none>"),
                v.age(),
                v.condition("Dangling").map_or("?", |c| c.text("status")),
            ]
        },
    },
    BuiltIn {
        group: "flowcontrol.apiserver.k8s.io",
        kind: "PriorityLevelConfiguration",
        columns: "Name:name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age",
        cells: priority_level,
    },
    BuiltIn {
        group: "apiregistration.k8s.io",
        kind: "APIService",
        columns: "Name:name|Service|Available|Age",
        cells: api_service,
    },
    BuiltIn {
        group: "internal.apiserver.k8s.io",
        kind: "StorageVersion",
        columns: "Name:name|CommonEncodingVersion|StorageVersions|Age",
        cells: storage_version,
    },
    BuiltIn {
        group: "storagemigration.k8s.io",
        kind: "StorageVersionMigration",
        columns: "Name|Resource|Status",
        cells: migration,
    },
];

fn pod_group(v: &View) -> Vec<Value> {
    let gang = v.at("spec.schedulingPolicy.gang").is_some();
    let scheduled = v.condition("PodGroupScheduled").map(|c| c.text("status"));
    let status = match (v.condition("DisruptionTarget"), scheduled) {
        (Some(disruption), _) => disruption.text("reason"),
        (None, Some("True")) => "Scheduled",
        (None, Some(_)) => "Unschedulable",
        (None, None) => "Pending",
    };
    let template = v.at("spec.podGroupTemplateRef");
    cells![
        v.name(),
        if gang { "Gang" } else { "Basic" },
        template.map_or("<none>", |t| t.text("workload.workloadName")),
        status,
        v.age(),
    ]
}

fn priority_level(v: &View) -> Vec<Value> {
    let part = |path: &str, number: &str| match v.at(path) {
        Some(part) => Value::from(part.int(number)),
        None => Value::from("<none>"),
    };
    let queuing = "spec.limited.limitResponse.queuing";
    cells![
        v.name(),
        v.text("spec.type"),
        part("spec.limited", "nominalConcurrencyShares"),
        part(queuing, "queues"),
        part(queuing, "handSize"),
        part(queuing, "queueLengthLimit"),
        v.age(),
    ]
}

fn api_service(v: &View) -> Vec<Value> {
    let service = v.at("spec.service").map_or("Local".into(), |s| {
        format!("{}/{}", s.text("namespace"), s.text("name"))
    });
    let available = v.condition("Available").map_or("Unknown".into(), |c| {
        match (c.text("status"), c.text("reason")) {
            (status @ "True", _) | (status, "") => status.to_owned(),
            (status, reason) => format!("{status} ({reason})"),
        }
    });
    cells![v.name(), service, available, v.age()]
}

fn storage_version(v: &View) -> Vec<Value> {
    let versions: Vec<String> = v
        .list("status.storageVersions")
        .iter()
        .map(|s| format!("{}={}", s.text("apiServerID"), s.text("encodingVersion")))
        .collect();
    let versions = match versions.as_slice() {
        [] => "<unset>".into(),
        some => shortened(some, 3, ","),
    };
    let common = v.opt("status.commonEncodingVersion").unwrap_or("<unset>");
    cells![v.name(), common, versions, v.age()]
}

fn migration(v: &View) -> Vec<Value> {
    let states = ["Running", "Failed", "Succeeded"];
    let reached = v
        .list("status.conditions")
        .iter()
        .rev()
        .find(|c| c.text("status") == "True" && states.contains(&c.text("type")));
    let (resource, group) = (
        v.text("spec.resource.resource"),
        v.text("spec.resource.group"),
    );
    let resource = match group {
        "" => resource.to_owned(),
        group => format!("{resource}.{group}"),
    };
    cells![
        v.name(),
        resource,
        reached.map_or("Unknown", |c| c.text("type"))
    ]
}
