//! Controllers of pods: how many there should be, are, and are ready.

use crate::age::human_duration;
use crate::read::{Read, View, cells, containers, truth};
use crate::registry::BuiltIn;
use model::{GroupVersion, LabelSelector, Value, meta};

const REPLICAS: &str = "Name:name|Desired:i|Current:i|Ready:i|Age|Containers+|Images+|Selector+";

pub(crate) const KINDS: &[BuiltIn] = &[
    BuiltIn {
        group: "",
        kind: "ReplicationController",
        columns: REPLICAS,
        cells: |v| replicas(v, v.labels("spec.selector")),
    },
    BuiltIn {
        group: "apps",
        kind: "ReplicaSet",
        columns: REPLICAS,
        cells: |v| replicas(v, v.selector("spec.selector")),
    },
    BuiltIn {
        group: "apps",
        kind: "Deployment",
        columns: "Name:name|Ready|Up-to-date|Available|Age|Containers+|Images+|Selector+",
        cells: deployment,
    },
    BuiltIn {
        group: "apps",
        kind: "StatefulSet",
        columns: "Name:name|Ready|Age|Containers+|Images+",
        cells: |v| {
            let (names, images) = containers(v, TEMPLATE);
            cells![v.name(), ready(v), v.age(), names, images]
        },
    },
    BuiltIn {
        group: "apps",
        kind: "DaemonSet",
        columns: "Name:name|Desired:i|Current:i|Ready:i|Up-to-date:i|Available:i|Node Selector|Age|\
                  Containers+|Images+|Selector+",
        cells: daemon_set,
    },
    BuiltIn {
        group: "apps",
        kind: "ControllerRevision",
        columns: "Name:name|Controller|Revision|Age",
        cells: |v| cells![v.name(), controller(v), v.int("revision"), v.age()],
    },
    BuiltIn {
        group: "batch",
        kind: "Job",
        columns: "Name:name|Status|Completions|Duration|Age|Containers+|Images+|Selector+",
        cells: job,
    },
    BuiltIn {
        group: "batch",
        kind: "CronJob",
        columns: "Name:name|Schedule|Timezone|Suspend:b|Active:i|Last Schedule|Age|\
                  Containers+|Images+|Selector+",
        cells: cron_job,
    },
];

const TEMPLATE: &str = "spec.template.spec.containers";

fn ready(v: &View) -> String {
    let (ready, desired) = (v.int("status.readyReplicas"), v.int("spec.replicas"));
    format!("{ready}/{desired}")
}

fn replicas(v: &View, selector: String) -> Vec<Value> {
    let (names, images) = containers(v, TEMPLATE);
    cells![
        v.name(),
        v.int("spec.replicas"),
        v.int("status.replicas"),
        v.int("status.readyReplicas"),
        v.age(),
        names,
        images,
        selector,
    ]
}

fn deployment(v: &View) -> Vec<Value> {
    let (names, images) = containers(v, TEMPLATE);
    let selector = LabelSelector::from_spec(v.at("spec.selector"))
        .map_or_else(|_| "<invalid>".into(), |s| s.to_string());
    cells![
        v.name(),
        ready(v),
        v.int("status.updatedReplicas"),
        v.int("status.availableReplicas"),
        v.age(),
        names,
        images,
        selector,
    ]
}

fn daemon_set(v: &View) -> Vec<Value> {
    let (names, images) = containers(v, TEMPLATE);
    cells![
        v.name(),
        v.int("status.desiredNumberScheduled"),
        v.int("status.currentNumberScheduled"),
        v.int("status.numberReady"),
        v.int("status.updatedNumberScheduled"),
        v.int("status.numberAvailable"),
        v.labels("spec.template.spec.nodeSelector"),
        v.age(),
        names,
        images,
        v.selector("spec.selector"),
    ]
}

fn controller(v: &View) -> String {
    let Some(owner) = meta::owner_references(v).find(|o| o.flag("controller")) else {
        return "<none>".into();
    };
    let group = GroupVersion::parse(owner.text("apiVersion"))
        .unwrap_or_default()
        .group;
    let kind = owner.text("kind").to_lowercase();
    let name = owner.text("name");
    match (kind.is_empty(), group.is_empty()) {
        (true, true) => name.into(),
        (_, true) => format!("{kind}/{name}"),
        (_, false) => format!("{kind}.{}/{name}", group.to_lowercase()),
    }
}

fn job(v: &View) -> Vec<Value> {
    let (names, images) = containers(v, TEMPLATE);
    let succeeded = v.int("status.succeeded");
    let completions = match (v.at("spec.completions"), v.int("spec.parallelism")) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallel @ 2..) => format!("{succeeded}/1 of {parallel}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let duration = v
        .time("status.startTime")
        .map_or_else(String::new, |start| {
            let end = v.time("status.completionTime").unwrap_or(v.now);
            human_duration(end.micros().saturating_sub(start.micros()))
        });
    cells![
        v.name(),
        job_status(v),
        completions,
        duration,
        v.age(),
        names,
        images,
        v.selector("spec.selector"),
    ]
}

fn job_status(v: &View) -> &'static str {
    let first_of = |conditions: &[&'static str]| conditions.iter().copied().find(|c| v.holds(c));
    first_of(&["Complete", "Failed"])
        .or(v.deleting().then_some("Terminating"))
        .or_else(|| first_of(&["Suspended", "FailureTarget", "SuccessCriteriaMet"]))
        .unwrap_or("Running")
}

fn cron_job(v: &View) -> Vec<Value> {
    let (names, images) = containers(v, "spec.jobTemplate.spec.template.spec.containers");
    let last = v.time("status.lastScheduleTime");
    cells![
        v.name(),
        v.text("spec.schedule"),
        v.opt("spec.timeZone").unwrap_or("<none>"),
        truth(v.at("spec.suspend")),
        v.count("status.active"),
        last.map_or_else(|| "<none>".into(), |last| v.since(Some(last))),
        v.age(),
        names,
        images,
        v.selector("spec.jobTemplate.spec.selector"),
    ]
}
