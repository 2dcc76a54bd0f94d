//! Nodes, namespaces, events, and the plain data of the core group.

use crate::read::{Read, View, cells, or_none};
use crate::registry::BuiltIn;
use model::{Quantity, Value, meta};
use std::collections::BTreeSet;

const EVENT: &str = "Last Seen|Type|Reason|Object|Subobject+|Source+|Message|First Seen+|Count+|\
                     Name:name+";

pub(crate) const KINDS: &[BuiltIn] = &[
    BuiltIn {
        group: "",
        kind: "ConfigMap",
        columns: "Name:name|Data|Age",
        cells: |v| cells![v.name(), v.count("data") + v.count("binaryData"), v.age()],
    },
    BuiltIn {
        group: "",
        kind: "Secret",
        columns: "Name:name|Type|Data|Age",
        cells: |v| cells![v.name(), v.text("type"), v.count("data"), v.age()],
    },
    BuiltIn {
        group: "",
        kind: "ServiceAccount",
        columns: "Name:name|Age",
        cells: |v| cells![v.name(), v.age()],
    },
    BuiltIn {
        group: "",
        kind: "Namespace",
        columns: "Name:name|Status|Age",
        cells: |v| cells![v.name(), v.text("status.phase"), v.age()],
    },
    BuiltIn {
        group: "",
        kind: "ResourceQuota",
        columns: "Name:name|Request|Limit|Age",
        cells: |v| {
            let (requests, limits) = quota(v);
            cells![v.name(), requests, limits, v.age()]
        },
    },
    BuiltIn {
        group: "",
        kind: "ComponentStatus",
        columns: "Name:name|Status|Message|Error",
        cells: component,
    },
    BuiltIn {
        group: "",
        kind: "Node",
        columns: "Name:name|Status|Roles|Age|Version|Internal-IP+|External-IP+|OS-Image+|\
                  Kernel-Version+|Container-Runtime+",
        cells: node,
    },
    BuiltIn {
        group: "",
        kind: "Event",
        columns: EVENT,
        cells: |v| event(v, &CORE_EVENT),
    },
    BuiltIn {
        group: "events.k8s.io",
        kind: "Event",
        columns: EVENT,
        cells: |v| event(v, &NEW_EVENT),
    },
];

fn quota(v: &View) -> (String, String) {
    let hard = v.at("status.hard").and_then(Value::as_object);
    let none = Value::Null;
    let used = v.at("status.used").unwrap_or(&none);
    let amount = |value: Option<&Value>| {
        let amount = value.and_then(Quantity::from_json);
        amount.unwrap_or(Quantity::ZERO)
    };
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (name, hard) in hard.into_iter().flatten() {
        let line = format!("{name}: {}/{}", amount(used.get(name)), amount(Some(hard)));
        if name.starts_with("limits.") {
            limits.push(line);
        } else {
            requests.push(line);
        }
    }
    (requests.join(", "), limits.join(", "))
}

fn component(v: &View) -> Vec<Value> {
    let healthy = v
        .list("conditions")
        .iter()
        .find(|c| c.text("type") == "Healthy");
    let (status, message, error) = match healthy {
        None => ("Unknown", "", ""),
        Some(c) if c.text("status") == "True" => ("Healthy", c.text("message"), c.text("error")),
        Some(c) => ("Unhealthy", c.text("message"), c.text("error")),
    };
    cells![v.name(), status, message, error]
}

fn node(v: &View) -> Vec<Value> {
    let mut status = match v
        .list("status.conditions")
        .iter()
        .rfind(|c| c.text("type") == "Ready")
    {
        Some(ready) if ready.text("status") == "True" => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if v.flag("spec.unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let mut kernel = v
        .filled("status.nodeInfo.kernelVersion", "<unknown>")
        .to_owned();
    let architecture = v.text("status.nodeInfo.architecture");
    if !architecture.is_empty() {
        kernel.push_str(&format!(" ({architecture})"));
    }
    cells![
        v.name(),
        status,
        roles(v),
        v.age(),
        v.text("status.nodeInfo.kubeletVersion"),
        address(v, "InternalIP"),
        address(v, "ExternalIP"),
        v.filled("status.nodeInfo.osImage", "<unknown>"),
        kernel,
        v.filled("status.nodeInfo.containerRuntimeVersion", "<unknown>"),
    ]
}

fn address<'a>(v: &'a View, ty: &str) -> &'a str {
    let mut addresses = v.list("status.addresses").iter();
    let found = addresses.find(|a| a.text("type") == ty);
    found.map_or("<none>", |a| a.text("address"))
}

fn roles(v: &View) -> String {
    let labels = meta::labels(v).into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => Some(role),
                None if key == "kubernetes.io/role" => value.as_str(),
                None => None,
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    or_none(roles.into_iter().collect::<Vec<_>>().join(","))
}

/// Where the two forms of an event keep the same facts.
struct EventFields {
    object: &'static str,
    message: &'static str,
    source: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
    controller: &'static str,
}

const CORE_EVENT: EventFields = EventFields {
    object: "involvedObject",
    message: "message",
    source: "source",
    first: "firstTimestamp",
    last: "lastTimestamp",
    count: "count",
    controller: "reportingComponent",
};

const NEW_EVENT: EventFields = EventFields {
    object: "regarding",
    message: "note",
    source: "deprecatedSource",
    first: "deprecatedFirstTimestamp",
    last: "deprecatedLastTimestamp",
    count: "deprecatedCount",
    controller: "reportingController",
};

fn event(v: &View, fields: &EventFields) -> Vec<Value> {
    let first = v.time(fields.first).or_else(|| v.time("eventTime"));
    let (last, count) = match v.at("series") {
        Some(series) => (series.time("lastObservedTime"), series.int("count")),
        None => (v.time(fields.last).or(first), v.int(fields.count).max(1)),
    };
    let none = Value::Null;
    let object = v.at(fields.object).unwrap_or(&none);
    let mut target = object.text("kind").to_lowercase();
    let name = object.text("name");
    if !name.is_empty() {
        target.push_str(&format!("/{name}"));
    }
    let source = v.at(fields.source).unwrap_or(&none);
    let mut reporter = source
        .filled("component", v.text(fields.controller))
        .to_owned();
    let instance = source.filled("host", v.text("reportingInstance"));
    if !instance.is_empty() {
        reporter.push_str(&format!(", {instance}"));
    }
    cells![
        v.since(last),
        v.text("type"),
        v.text("reason"),
        target,
        object.text("fieldPath"),
        reporter,
        v.text(fields.message).trim(),
        v.since(first),
        count,
        v.name(),
    ]
}
