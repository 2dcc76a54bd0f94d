//! Services: which Pods stand behind them, as EndpointSlices and as Endpoints.

use crate::act::{CONTROLLERS, Reaction, create, delete, patch, put};
use crate::index::PodFacts;
use crate::object::{self, ENDPOINTS as ENDPOINTS_TYPE, SERVICE, SLICE, flag};
use crate::view::{ENDPOINTS, PODS, SERVICES, SLICES, View};
use model::{Map, Value, json, meta};
use std::collections::BTreeMap;

/// A slice holds no more.
const SLICE_MAX: usize = 100;
const TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";
const HEADLESS: &str = "service.kubernetes.io/headless";
const MANAGED: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslice-controller.k8s.io";

/// One Pod behind a Service.
struct Endpoint<'a> {
    pod: &'a PodFacts,
    ready: bool,
    serving: bool,
    hostname: String,
    ports: Vec<Value>,
}

/// Looks at one Service.
pub(super) fn step(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(service) = view.get(SERVICES, namespace, name) else {
        // What is left of it goes with it; Endpoints have no owner.
        if let Some(left) = view.get(ENDPOINTS, namespace, name)
            && meta::label(&left, "endpoints.kubernetes.io/managed-by")
                == Some("endpoint-controller")
        {
            let path = ENDPOINTS_TYPE.path(namespace, name);
            reaction.push(delete(CONTROLLERS, path, meta::uid(&left)));
        }
        return reaction;
    };
    let selector = service.pointer("/spec/selector").and_then(Value::as_object);
    let Some(selector) = selector.filter(|s| !s.is_empty()) else {
        return reaction;
    };
    if meta::text_at(&service, "/spec/type") == "ExternalName"
        || meta::deletion_timestamp(&service).is_some()
    {
        return reaction;
    }
    let found = endpoints(view, &service, selector);
    slices(view, &service, &found, &mut reaction);
    legacy(view, &service, &found, &mut reaction);
    reaction
}

fn endpoints<'a>(
    view: &View<'a>,
    service: &Value,
    selector: &Map<String, Value>,
) -> Vec<Endpoint<'a>> {
    let publish = flag(service, "/spec/publishNotReadyAddresses");
    let named = meta::entries(service, "/spec/ports").any(|p| p["targetPort"].is_string());
    let headless = service.pointer("/spec/clusterIP") == Some(&json!("None"));
    let pods = view.index.pods_with(meta::namespace(service), selector);
    let mut found = Vec::new();
    for pod in pods
        .into_iter()
        .filter(|p| !p.address.is_empty() && !p.is_over())
    {
        let serving = pod.ready.is_some();
        let whole = (named || headless)
            .then(|| view.get(PODS, &pod.namespace, &pod.name))
            .flatten();
        let Some(ports) = ports(service, whole.as_ref()) else {
            continue;
        };
        let subdomain = whole
            .as_ref()
            .map_or("", |p| meta::text_at(p, "/spec/subdomain"));
        let hostname = whole
            .as_ref()
            .map_or("", |p| meta::text_at(p, "/spec/hostname"));
        found.push(Endpoint {
            pod,
            ready: publish || (serving && !pod.deleting),
            serving,
            hostname: if subdomain == meta::name(service) {
                hostname.into()
            } else {
                String::new()
            },
            ports,
        });
    }
    found
}

// The ports of a Service on a Pod; `None` when a named one is not there.
fn ports(service: &Value, pod: Option<&Value>) -> Option<Vec<Value>> {
    let mut found = Vec::new();
    for port in meta::entries(service, "/spec/ports") {
        let protocol = port
            .get("protocol")
            .and_then(Value::as_str)
            .unwrap_or("TCP");
        let target = match port.get("targetPort") {
            Some(Value::String(name)) => {
                let containers = pod
                    .into_iter()
                    .flat_map(|p| meta::entries(p, "/spec/containers"));
                let mut all = containers.flat_map(|c| meta::entries(c, "/ports"));
                let fits = |p: &&Value| {
                    p["name"] == name.as_str()
                        && p.get("protocol").and_then(Value::as_str).unwrap_or("TCP") == protocol
                };
                match all.find(fits) {
                    Some(port) => port["containerPort"].clone(),
                    None => continue,
                }
            }
            Some(Value::Number(n)) if n.as_i64() != Some(0) => Value::Number(n.clone()),
            _ => port["port"].clone(),
        };
        let mut entry = json!({"name": port.get("name").cloned().unwrap_or_else(|| "".into()), "port": target, "protocol": protocol});
        if let Some(app) = port.get("appProtocol") {
            entry["appProtocol"] = app.clone();
        }
        found.push(entry);
    }
    let wanted = meta::entries(service, "/spec/ports").next().is_some();
    (!wanted || !found.is_empty()).then_some(found)
}

fn labels(service: &Value) -> Map<String, Value> {
    let mut labels = meta::labels(service).cloned().unwrap_or_default();
    labels.remove(HEADLESS);
    if service.pointer("/spec/clusterIP") == Some(&json!("None")) {
        labels.insert(HEADLESS.into(), "".into());
    }
    labels
}

fn reference(pod: &PodFacts) -> Value {
    json!({"kind": "Pod", "namespace": &*pod.namespace, "name": &*pod.name, "uid": &*pod.uid})
}

fn slices(view: &View<'_>, service: &Value, found: &[Endpoint<'_>], reaction: &mut Reaction) {
    let mut groups: BTreeMap<String, Vec<&Endpoint<'_>>> = BTreeMap::new();
    for endpoint in found {
        let key = Value::from(endpoint.ports.clone()).to_string();
        groups.entry(key).or_default().push(endpoint);
    }
    let mut wanted: Vec<(Value, Vec<Value>)> = Vec::new();
    for group in groups.values() {
        for chunk in group.chunks(SLICE_MAX) {
            let ports = &chunk[0].ports;
            let ports = if ports.is_empty() {
                Value::Null
            } else {
                ports.clone().into()
            };
            wanted.push((ports, chunk.iter().map(|e| entry(e)).collect()));
        }
    }
    if wanted.is_empty() {
        wanted.push((Value::Null, Vec::new()));
    }
    let mut existing = view.controlled(meta::uid(service), SLICES);
    existing.retain(|s| meta::label(s, MANAGED) == Some(MANAGER));
    // Slices keep their ports: what fits is used again.
    for (ports, endpoints) in wanted {
        let same = existing
            .iter()
            .position(|s| s.get("ports").unwrap_or(&Value::Null) == &ports)
            .or_else(|| (!existing.is_empty()).then_some(0));
        match same {
            Some(i) => update_slice(
                view,
                service,
                &existing.remove(i),
                ports,
                endpoints,
                reaction,
            ),
            None => create_slice(view, service, ports, endpoints, reaction),
        }
    }
    for slice in existing {
        let path = SLICE.path(meta::namespace(&slice), meta::name(&slice));
        reaction.push(delete(CONTROLLERS, path, meta::uid(&slice)));
    }
}

fn entry(endpoint: &Endpoint<'_>) -> Value {
    let pod = endpoint.pod;
    let mut entry = json!({
        "addresses": [&*pod.address],
        "conditions": {
            "ready": endpoint.ready, "serving": endpoint.serving, "terminating": pod.deleting,
        },
        "targetRef": reference(pod),
    });
    if let Some(node) = &pod.node {
        entry["nodeName"] = (&**node).into();
    }
    if !endpoint.hostname.is_empty() {
        entry["hostname"] = endpoint.hostname.as_str().into();
    }
    entry
}

fn slice_labels(service: &Value) -> Map<String, Value> {
    let mut labels = labels(service);
    labels.insert(MANAGED.into(), MANAGER.into());
    labels.insert(
        "kubernetes.io/service-name".into(),
        meta::name(service).into(),
    );
    labels
}

fn create_slice(
    view: &View<'_>,
    service: &Value,
    ports: Value,
    endpoints: Vec<Value>,
    reaction: &mut Reaction,
) {
    let endpoints = if endpoints.is_empty() {
        Value::Null
    } else {
        endpoints.into()
    };
    let body = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "generateName": format!("{}-", meta::name(service)), "labels": slice_labels(service),
            "annotations": {TRIGGER: view.now.rfc3339()},
            "ownerReferences": [SERVICE.controller_ref(service)],
        },
        "addressType": family(service), "endpoints": endpoints, "ports": ports,
    });
    let path = SLICE.collection(meta::namespace(service));
    reaction.push(create(CONTROLLERS, path, &body));
}

fn family(service: &Value) -> Value {
    let first = meta::entries(service, "/spec/ipFamilies").next().cloned();
    first.unwrap_or_else(|| "IPv4".into())
}

fn update_slice(
    view: &View<'_>,
    service: &Value,
    slice: &Value,
    ports: Value,
    endpoints: Vec<Value>,
    reaction: &mut Reaction,
) {
    let labels = slice_labels(service);
    let is = |field: &str| slice.get(field).cloned().unwrap_or(Value::Null);
    let endpoints = if endpoints.is_empty() {
        Value::Null
    } else {
        endpoints.into()
    };
    if is("endpoints") == endpoints && is("ports") == ports && meta::labels(slice) == Some(&labels)
    {
        return;
    }
    let mut body = slice.clone();
    body["apiVersion"] = "discovery.k8s.io/v1".into();
    body["kind"] = "EndpointSlice".into();
    body["endpoints"] = endpoints;
    body["ports"] = ports;
    let metadata = meta::metadata_mut(&mut body);
    metadata.insert("labels".into(), labels.into());
    metadata.insert("annotations".into(), json!({TRIGGER: view.now.rfc3339()}));
    metadata.remove("resourceVersion");
    let path = SLICE.path(meta::namespace(service), meta::name(slice));
    reaction.push(put(CONTROLLERS, path, &body));
}

fn legacy(view: &View<'_>, service: &Value, found: &[Endpoint<'_>], reaction: &mut Reaction) {
    let mut groups: BTreeMap<String, (Vec<Value>, Vec<Value>, Vec<Value>)> = BTreeMap::new();
    let publish = flag(service, "/spec/publishNotReadyAddresses");
    for endpoint in found.iter().filter(|e| publish || !e.pod.deleting) {
        let mut address =
            json!({"ip": &*endpoint.pod.address, "targetRef": reference(endpoint.pod)});
        if let Some(node) = &endpoint.pod.node {
            address["nodeName"] = (&**node).into();
        }
        if !endpoint.hostname.is_empty() {
            address["hostname"] = endpoint.hostname.as_str().into();
        }
        let ports: Vec<Value> = endpoint.ports.iter().map(unnamed).collect();
        let key = Value::from(ports.clone()).to_string();
        let group = groups
            .entry(key)
            .or_insert_with(|| (ports, Vec::new(), Vec::new()));
        if endpoint.ready {
            &mut group.1
        } else {
            &mut group.2
        }
        .push(address);
    }
    let subsets: Vec<Value> = groups
        .into_values()
        .map(|(ports, ready, unready)| {
            let mut subset = Map::new();
            for (field, list) in [
                ("addresses", ready),
                ("notReadyAddresses", unready),
                ("ports", ports),
            ] {
                if !list.is_empty() {
                    subset.insert(field.into(), list.into());
                }
            }
            Value::Object(subset)
        })
        .collect();
    let subsets = if subsets.is_empty() {
        Value::Null
    } else {
        subsets.into()
    };
    let mut labels = labels(service);
    labels.insert(
        "endpoints.kubernetes.io/managed-by".into(),
        "endpoint-controller".into(),
    );
    let (namespace, name) = (meta::namespace(service), meta::name(service));
    let Some(old) = view.get(ENDPOINTS, namespace, name) else {
        let mut body = json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": name, "labels": labels, "annotations": {TRIGGER: view.now.rfc3339()}},
        });
        if !subsets.is_null() {
            body["subsets"] = subsets;
        }
        reaction.push(create(
            CONTROLLERS,
            ENDPOINTS_TYPE.collection(namespace),
            &body,
        ));
        return;
    };
    let same = old.get("subsets").unwrap_or(&Value::Null) == &subsets;
    if same && meta::labels(&old) == Some(&labels) {
        return;
    }
    let labels = object::replacing(old.pointer("/metadata/labels"), labels.into());
    let body = json!({
        "metadata": {"labels": labels, "annotations": {TRIGGER: view.now.rfc3339()}},
        "subsets": subsets,
    });
    reaction.push(patch(
        CONTROLLERS,
        ENDPOINTS_TYPE.path(namespace, name),
        &body,
    ));
}

// In Endpoints a port without a name has none at all.
fn unnamed(port: &Value) -> Value {
    let mut port = port.clone();
    if port["name"] == ""
        && let Some(map) = port.as_object_mut()
    {
        map.remove("name");
    }
    port
}
