//! Fills what the API server fills into pod specs, wherever they are.

use super::image;
use crate::fields::{
    fill, fill_empty, flag, get, has, is_empty, items_mut, map_slot, number, set, slot, some_mut,
    text,
};
use crate::resources;
use model::{Map, Quantity, Value, json};

/// Annotations of a time when init containers were annotations; they are dropped.
const DROPPED: [&str; 4] = [
    "pod.alpha.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.beta.kubernetes.io/init-containers",
];

/// Fills a pod template.
pub(crate) fn template(template: &mut Value) {
    drop_annotations(template);
    spec(map_slot(template, "spec"));
}

/// Drops the annotations that init containers once were.
pub(crate) fn drop_annotations(object: &mut Value) {
    let Some(metadata) = some_mut(object, "metadata") else {
        return;
    };
    let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let before = annotations.len();
    for key in DROPPED {
        annotations.remove(key);
    }
    if before > 0 && annotations.is_empty() {
        crate::fields::unset(metadata, "annotations");
    }
}

/// Fills a pod spec as it is in pods and in templates alike.
pub(crate) fn spec(spec: &mut Value) {
    for volume in items_mut(spec, "volumes") {
        default_volume(volume);
    }
    for field in ["initContainers", "containers", "ephemeralContainers"] {
        for container in items_mut(spec, field) {
            default_container(container);
        }
    }
    resources::round(spec, "overhead");
    resources::round_requirements(spec);
    fill_empty(spec, "dnsPolicy", "ClusterFirst");
    fill_empty(spec, "restartPolicy", "Always");
    fill(spec, "securityContext", Map::new());
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill_empty(spec, "schedulerName", "default-scheduler");
    alias_account(spec);
}

// `serviceAccount` is the old name of `serviceAccountName`; both are always written.
fn alias_account(spec: &mut Value) {
    let name = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount"),
        name => name,
    };
    if !name.is_empty() {
        let name = name.to_owned();
        set(spec, "serviceAccount", name.as_str());
        set(spec, "serviceAccountName", name);
    }
}

fn default_container(container: &mut Value) {
    for port in items_mut(container, "ports") {
        fill_empty(port, "protocol", "TCP");
    }
    for variable in items_mut(container, "env") {
        if let Some(source) = some_mut(variable, "valueFrom") {
            default_field_ref(source);
            if let Some(file) = some_mut(source, "fileKeyRef") {
                fill(file, "optional", false);
            }
        }
    }
    resources::round_requirements(container);
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = some_mut(container, probe) {
            default_probe(probe);
        }
    }
    if let Some(lifecycle) = some_mut(container, "lifecycle") {
        for hook in ["postStart", "preStop"] {
            if let Some(http) = some_mut(lifecycle, hook).and_then(|h| some_mut(h, "httpGet")) {
                default_http(http);
            }
        }
    }
    if text(container, "imagePullPolicy").is_empty() {
        let policy = image::pull_policy(text(container, "image"));
        set(container, "imagePullPolicy", policy);
    }
    fill_empty(container, "terminationMessagePath", "/dev/termination-log");
    fill_empty(container, "terminationMessagePolicy", "File");
}

fn default_field_ref(owner: &mut Value) {
    if let Some(field) = some_mut(owner, "fieldRef") {
        fill_empty(field, "apiVersion", "v1");
    }
}

fn default_probe(probe: &mut Value) {
    if let Some(http) = some_mut(probe, "httpGet") {
        default_http(http);
    }
    if let Some(grpc) = some_mut(probe, "grpc") {
        fill(grpc, "service", "");
    }
    fill_empty(probe, "timeoutSeconds", 1);
    fill_empty(probe, "periodSeconds", 10);
    fill_empty(probe, "successThreshold", 1);
    fill_empty(probe, "failureThreshold", 3);
}

fn default_http(http: &mut Value) {
    fill_empty(http, "path", "/");
    fill_empty(http, "scheme", "HTTP");
}

fn default_volume(volume: &mut Value) {
    let sourceless = volume
        .as_object()
        .is_some_and(|map| map.iter().all(|(key, v)| key == "name" || v.is_null()));
    if sourceless {
        set(volume, "emptyDir", Map::new());
    }
    default_source(volume);
    for field in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = some_mut(volume, field) {
            fill(source, "defaultMode", 0o644);
        }
    }
    if let Some(downward) = some_mut(volume, "downwardAPI") {
        items_mut(downward, "items").for_each(default_field_ref);
    }
    if let Some(projected) = some_mut(volume, "projected") {
        items_mut(projected, "sources").for_each(default_projection);
    }
    if let Some(image) = some_mut(volume, "image") {
        let policy = image::pull_policy(text(image, "reference"));
        fill_empty(image, "pullPolicy", policy);
    }
    let claim = some_mut(volume, "ephemeral").and_then(|e| some_mut(e, "volumeClaimTemplate"));
    if let Some(claim) = claim {
        default_claim(map_slot(claim, "spec"));
    }
}

/// Fills the spec of a volume claim.
pub(crate) fn default_claim(spec: &mut Value) {
    resources::round_requirements(spec);
    fill(spec, "volumeMode", "Filesystem");
}

fn default_projection(source: &mut Value) {
    if let Some(token) = some_mut(source, "serviceAccountToken") {
        fill(token, "expirationSeconds", 3600);
    }
    if let Some(downward) = some_mut(source, "downwardAPI") {
        items_mut(downward, "items").for_each(default_field_ref);
    }
}

/// Fills the sources that pods' volumes and persistent volumes share.
pub(crate) fn default_source(owner: &mut Value) {
    if let Some(path) = some_mut(owner, "hostPath") {
        fill(path, "type", "");
    }
    if let Some(iscsi) = some_mut(owner, "iscsi") {
        fill_empty(iscsi, "iscsiInterface", "default");
    }
    if let Some(rbd) = some_mut(owner, "rbd") {
        fill_empty(rbd, "pool", "rbd");
        fill_empty(rbd, "user", "admin");
        fill_empty(rbd, "keyring", "/etc/ceph/keyring");
    }
    if let Some(disk) = some_mut(owner, "azureDisk") {
        fill(disk, "cachingMode", "ReadWrite");
        fill(disk, "fsType", "ext4");
        fill(disk, "readOnly", false);
        fill(disk, "kind", "Shared");
    }
    if let Some(scale) = some_mut(owner, "scaleIO") {
        fill_empty(scale, "storageMode", "ThinProvisioned");
        fill_empty(scale, "fsType", "xfs");
    }
}

/// Fills a pod: what templates do not get is added to its spec.
pub(crate) fn pod(pod: &mut Value) {
    drop_annotations(pod);
    let body = map_slot(pod, "spec");
    spec(body);
    for field in ["containers", "initContainers"] {
        items_mut(body, field).for_each(requests_from_limits);
    }
    default_pod_resources(body);
    fill(body, "enableServiceLinks", true);
    if flag(body, "hostNetwork") {
        for field in ["containers", "initContainers"] {
            items_mut(body, field).for_each(host_ports);
        }
    }
    if number(body, "terminationGracePeriodSeconds") < 0 {
        set(body, "terminationGracePeriodSeconds", 1);
    }
    if let Some(status) = some_mut(pod, "status") {
        default_status(status);
    }
}

fn requests_from_limits(container: &mut Value) {
    let Some(resources) = some_mut(container, "resources") else {
        return;
    };
    let Some(limits) = get(resources, "limits").as_object().cloned() else {
        return;
    };
    let requests = map_slot(resources, "requests");
    for (name, amount) in limits {
        fill(requests, &name, amount);
    }
    if is_empty(requests) {
        crate::fields::unset(resources, "requests");
    }
}

fn host_ports(container: &mut Value) {
    for port in items_mut(container, "ports") {
        if number(port, "hostPort") == 0 {
            let own = number(port, "containerPort");
            set(port, "hostPort", own);
        }
    }
}

fn default_status(status: &mut Value) {
    for field in ["containerStatuses", "initContainerStatuses"] {
        for container in items_mut(status, field) {
            resources::round(container, "allocatedResources");
        }
    }
    let ip = text(status, "podIP").to_owned();
    let first = get(status, "podIPs")
        .get(0)
        .map(|p| text(p, "ip").to_owned());
    match first {
        Some(first) if ip.is_empty() => set(status, "podIP", first),
        Some(first) if ip != first => set(status, "podIPs", json!([{"ip": ip}])),
        None if !ip.is_empty() => set(status, "podIPs", json!([{"ip": ip}])),
        _ => {}
    }
}

// Requests of a whole pod that has limits: what its containers ask for together, else the limit.
fn default_pod_resources(spec: &mut Value) {
    let given = get(spec, "resources");
    if given.is_null() {
        return;
    }
    if is_empty(get(given, "limits")) && is_empty(get(given, "requests")) {
        return;
    }
    let limits = aggregate(spec, "limits");
    let requests = aggregate(spec, "requests");
    let resources = slot(spec, "resources");
    let huge: Vec<_> = limits
        .into_iter()
        .filter(|(name, _)| resources::is_huge_page(name))
        .filter(|(name, _)| !has(get(resources, "requests"), name))
        .collect();
    for (name, amount) in huge {
        fill(map_slot(resources, "limits"), &name, amount);
    }
    let Some(own) = get(resources, "limits").as_object().cloned() else {
        return;
    };
    if own.is_empty() {
        return;
    }
    for (name, amount) in requests {
        if matches!(name.as_str(), "cpu" | "memory") {
            fill(map_slot(resources, "requests"), &name, amount);
        }
    }
    for (name, amount) in own {
        if matches!(name.as_str(), "cpu" | "memory") || resources::is_huge_page(&name) {
            fill(map_slot(resources, "requests"), &name, amount);
        }
    }
}

/// What the containers of a pod need at one time: the running ones together, or the largest init
/// container beside the sidecars started before it.
pub(crate) fn aggregate(spec: &Value, field: &str) -> Vec<(String, String)> {
    let mut running: Vec<(String, Quantity)> = Vec::new();
    let mut sidecars: Vec<(String, Quantity)> = Vec::new();
    let mut largest: Vec<(String, Quantity)> = Vec::new();
    for container in crate::fields::list(spec, "containers") {
        add(&mut running, container, field);
    }
    for container in crate::fields::list(spec, "initContainers") {
        let mut during = sidecars.clone();
        add(&mut during, container, field);
        if text(container, "restartPolicy") == "Always" {
            add(&mut running, container, field);
            sidecars.clone_from(&during);
        }
        raise(&mut largest, &during);
    }
    raise(&mut running, &largest);
    running
        .into_iter()
        .map(|(name, amount)| (name, amount.to_string()))
        .collect()
}

fn add(sum: &mut Vec<(String, Quantity)>, container: &Value, field: &str) {
    for (name, amount) in crate::fields::entries(get(container, "resources"), field) {
        let Some(amount) = Quantity::from_json(amount) else {
            continue;
        };
        match sum.iter_mut().find(|(n, _)| n == name) {
            Some((_, total)) => *total = total.plus(amount),
            None => sum.push((name.clone(), amount)),
        }
    }
}

fn raise(sum: &mut Vec<(String, Quantity)>, other: &[(String, Quantity)]) {
    for (name, amount) in other {
        match sum.iter_mut().find(|(n, _)| n == name) {
            Some((_, total)) => *total = (*total).max(*amount),
            None => sum.push((name.clone(), *amount)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimal_pod_gets_the_servers_defaults() {
        let mut object = json!({"spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]}});
        pod(&mut object);
        assert_eq!(
            object,
            json!({"spec": {
                "containers": [{
                    "name": "c", "image": "nginx:1.27", "imagePullPolicy": "IfNotPresent",
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }],
                "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {},
                "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
                "enableServiceLinks": true,
            }})
        );
    }

    #[test]
    fn pod_requests_follow_the_containers() {
        let mut object = json!({"spec": {
            "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
            "containers": [
                {"name": "a", "image": "x", "resources": {"requests": {"cpu": "100m"}}},
                {"name": "b", "image": "x", "resources": {"requests": {"cpu": "200m"}}},
            ],
        }});
        pod(&mut object);
        assert_eq!(
            object["spec"]["resources"]["requests"],
            json!({"cpu": "300m", "memory": "1Gi"})
        );
    }

    #[test]
    fn volumes_get_their_modes_and_an_empty_one_is_a_directory() {
        let mut volumes = json!({"volumes": [
            {"name": "a"},
            {"name": "b", "configMap": {"name": "c"}},
            {"name": "c", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"name": "d", "hostPath": {"path": "/"}},
        ]});
        items_mut(&mut volumes, "volumes").for_each(default_volume);
        assert_eq!(
            volumes["volumes"],
            json!([
                {"name": "a", "emptyDir": {}},
                {"name": "b", "configMap": {"name": "c", "defaultMode": 420}},
                {"name": "c", "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}},
                {"name": "d", "hostPath": {"path": "/", "type": ""}},
            ])
        );
    }
}
