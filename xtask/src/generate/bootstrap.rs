//! The objects a fresh API server makes by itself, without what differs from run to run.

use super::discovery::Listable;
use super::fetch;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};
use testkit::Client;

/// Made by the running server about itself, or about an address of this run.
const NOT_OURS: [&str; 4] = ["leases", "endpoints", "endpointslices", "events"];
/// Lists that are computed rather than stored.
const COMPUTED: [&str; 1] = ["componentstatuses"];
const DEFAULT_PORT: u16 = 6443;
const SETTLE_MAX: Duration = Duration::from_secs(20);

/// Every object of a fresh server, in the order of discovery.
pub(crate) fn read(
    client: &Client,
    resources: &[Listable],
) -> Result<Value, Box<dyn std::error::Error>> {
    let until = Instant::now() + SETTLE_MAX;
    let mut before = gather(client, resources)?;
    // The server goes on making objects for a moment after it says it is ready.
    loop {
        sleep(Duration::from_secs(3));
        let now = gather(client, resources)?;
        if now == before {
            return Ok(Value::Array(now));
        }
        if Instant::now() > until {
            return Err("the server does not settle".into());
        }
        before = now;
    }
}

fn gather(
    client: &Client,
    resources: &[Listable],
) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let mut seen = BTreeSet::new();
    let mut objects = Vec::new();
    for resource in resources {
        let name = resource.resource.as_str();
        let first = seen.insert((resource.group.clone(), name.to_owned()));
        if !first || NOT_OURS.contains(&name) || COMPUTED.contains(&name) {
            continue;
        }
        let mut list = fetch(client, &resource.path(), None)?;
        for object in list["items"].as_array_mut().into_iter().flatten() {
            let mut object = object.take();
            object["apiVersion"] = resource.api_version().into();
            object["kind"] = resource.kind.clone().into();
            clean(&mut object);
            objects.push(object);
        }
    }
    Ok(objects)
}

fn clean(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "managedFields",
        ] {
            metadata.remove(field);
        }
    }
    if let Some(status) = object.get_mut("status") {
        forget_times(status);
    }
    if object["kind"] == "Service" {
        // The port this run happened to get.
        object["spec"]["ports"][0]["targetPort"] = DEFAULT_PORT.into();
    }
    if object["kind"] == "ConfigMap"
        && let Some(data) = object["data"].as_object_mut()
    {
        forget_run(data);
    }
}

fn forget_times(status: &mut Value) {
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        if let Some(fields) = condition.as_object_mut() {
            fields.remove("lastTransitionTime");
        }
    }
}

// Certificates and dates of this run.
fn forget_run(data: &mut Map<String, Value>) {
    for (key, value) in data.iter_mut() {
        if key == "since"
            || value
                .as_str()
                .is_some_and(|v| v.contains("BEGIN CERTIFICATE"))
        {
            *value = "".into();
        }
    }
}
