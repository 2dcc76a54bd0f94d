//! Checks the containers of a pod.

use super::{env, mount, probe, security, volume};
use crate::fault::{Faults, Spot};
use crate::fields::{get, has, list, number, text};
use crate::resources::{self, Of};
use crate::syntax;
use model::{Value, names};

/// What containers need to know of their pod.
pub(crate) struct Around<'a> {
    /// The pod's spec.
    pub(crate) spec: &'a Value,
    /// The volumes that can be mounted.
    pub(crate) volumes: Vec<&'a Value>,
    /// The names of the pod's resource claims.
    pub(crate) claims: Vec<&'a str>,
    /// How long the pod may take to end.
    pub(crate) grace: Option<i64>,
    /// Whether users in the pod are users of the host.
    pub(crate) host_users: bool,
}

/// Finds the faults of the main containers.
pub(crate) fn check_all(pod: &Around<'_>, spot: &Spot<'_>, faults: &mut Faults) {
    let containers = list(pod.spec, "containers");
    if containers.is_empty() {
        return faults.required(spot, "");
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let spot = &spot.index(index);
        check_common(container, pod, spot, faults);
        let name = text(container, "name");
        if seen.contains(&name) {
            faults.duplicate(&spot.child("name"), name);
        } else {
            seen.push(name);
        }
        check_hooks(container, pod, spot, faults);
        check_restarts(container, spot, faults);
    }
    check_host_ports(containers, spot, faults);
}

fn check_hooks(container: &Value, pod: &Around<'_>, spot: &Spot<'_>, faults: &mut Faults) {
    if has(container, "lifecycle") {
        let lifecycle = get(container, "lifecycle");
        probe::check_lifecycle(lifecycle, pod.grace, &spot.child("lifecycle"), faults);
    }
    probe::check_probes(container, pod.grace, spot, faults);
}

fn check_restarts(container: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("restartPolicy");
    let rules = list(container, "restartPolicyRules");
    match get(container, "restartPolicy").as_str() {
        None if rules.is_empty() => return,
        None => faults.required(at, "must specify restartPolicy when restart rules are used"),
        Some("Always" | "Never" | "OnFailure") => {}
        Some(other) => faults.unsupported(at, other, &["Always", "Never", "OnFailure"]),
    }
    let at = &spot.child("restartPolicyRules");
    if rules.len() > 20 {
        faults.too_many(at, rules.len(), 20);
    }
    for (index, rule) in rules.iter().enumerate() {
        let at = &at.index(index);
        let action = text(rule, "action");
        if !matches!(action, "Restart" | "RestartAllContainers") {
            let at = &at.child("action");
            faults.unsupported(at, action, &["Restart", "RestartAllContainers"]);
        }
        let codes = get(rule, "exitCodes");
        let at = &at.child("exitCodes");
        if codes.is_null() {
            faults.required(at, "must be specified");
            continue;
        }
        let operator = text(codes, "operator");
        if !matches!(operator, "In" | "NotIn") {
            faults.unsupported(&at.child("operator"), operator, &["In", "NotIn"]);
        }
        let values = list(codes, "values").len();
        if values > 255 {
            faults.too_many(&at.child("values"), values, 255);
        }
    }
}

/// Finds the faults of the init containers.
pub(crate) fn check_init(pod: &Around<'_>, spot: &Spot<'_>, faults: &mut Faults) {
    let mut seen: Vec<&str> = list(pod.spec, "containers")
        .iter()
        .map(|c| text(c, "name"))
        .collect();
    for (index, container) in list(pod.spec, "initContainers").iter().enumerate() {
        let at = &spot.index(index);
        check_common(container, pod, at, faults);
        check_restarts(container, at, faults);
        let name = text(container, "name");
        if seen.contains(&name) {
            faults.duplicate(&at.child("name"), name);
        } else if !name.is_empty() {
            seen.push(name);
        }
        check_host_ports(std::slice::from_ref(container), spot, faults);
        let sidecar = text(container, "restartPolicy") == "Always";
        if sidecar {
            check_hooks(container, pod, at, faults);
        } else {
            refuse_hooks(container, at, faults);
        }
        for (index, policy) in list(container, "resizePolicy").iter().enumerate() {
            if !sidecar && text(policy, "restartPolicy") == "RestartContainer" {
                let at = &at.child("resizePolicy");
                let at = &at.index(index);
                let message =
                    "must not be set to 'RestartContainer' for non-sidecar initContainers";
                faults.invalid(&at.child("restartPolicy"), "RestartContainer", message);
            }
        }
    }
}

fn refuse_hooks(container: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for field in [
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ] {
        if has(container, field) {
            let message = "may not be set for init containers without restartPolicy=Always";
            faults.forbidden(&spot.child(field), message);
        }
    }
}

/// Finds the faults of the ephemeral containers.
pub(crate) fn check_ephemeral(pod: &Around<'_>, spot: &Spot<'_>, faults: &mut Faults) {
    let others: Vec<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|field| list(pod.spec, field))
        .map(|c| text(c, "name"))
        .collect();
    let mut seen = others.clone();
    for (index, container) in list(pod.spec, "ephemeralContainers").iter().enumerate() {
        let spot = &spot.index(index);
        check_common(container, pod, spot, faults);
        check_image_padding(container, spot, faults);
        let name = text(container, "name");
        if seen.contains(&name) {
            faults.duplicate(&spot.child("name"), name);
        } else {
            seen.push(name);
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !others.contains(&target) {
            faults.not_found(&spot.child("targetContainerName"), target);
        }
        let message = "cannot be set for an Ephemeral Container";
        for field in [
            "ports",
            "resources",
            "resizePolicy",
            "restartPolicy",
            "restartPolicyRules",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            if !crate::fields::is_empty(get(container, field)) {
                faults.forbidden(&spot.child(field), message);
            }
        }
        for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !text(mount, field).is_empty() {
                    let at = &spot.child("volumeMounts");
                    let at = &at.index(index);
                    faults.forbidden(&at.child(field), message);
                }
            }
        }
    }
}

/// Finds the fault of blanks around an image, which only pods are checked for.
pub(crate) fn check_image_padding(container: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let image = text(container, "image");
    if image.trim().len() != image.len() {
        let message = "must not have leading or trailing whitespace";
        faults.invalid(&spot.child("image"), image, message);
    }
}

fn check_common(container: &Value, pod: &Around<'_>, spot: &Spot<'_>, faults: &mut Faults) {
    match text(container, "name") {
        "" => faults.required(&spot.child("name"), ""),
        name => faults.invalid_each(&spot.child("name"), name, names::dns1123_label(name)),
    }
    if text(container, "image").is_empty() {
        faults.required(&spot.child("image"), "");
    }
    faults.one_of(
        &spot.child("terminationMessagePolicy"),
        text(container, "terminationMessagePolicy"),
        &["File", "FallbackToLogsOnError"],
    );
    check_ports(container, &spot.child("ports"), faults);
    env::check_env(container, &spot.child("env"), faults);
    env::check_env_from(container, &spot.child("envFrom"), faults);
    let volumes = &pod.volumes;
    mount::check_mounts(container, volumes, &spot.child("volumeMounts"), faults);
    mount::check_devices(container, volumes, &spot.child("volumeDevices"), faults);
    volume::check_pull_policy(container, "imagePullPolicy", spot, faults);
    resources::check_requirements(
        get(container, "resources"),
        Of::Container,
        &pod.claims,
        &spot.child("resources"),
        faults,
    );
    check_resize(container, pod.spec, &spot.child("resizePolicy"), faults);
    let at = &spot.child("securityContext");
    security::check_container(container, pod.host_users, at, faults);
}

fn check_ports(container: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let spot = &spot.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            let found = syntax::port_name(name);
            if !found.is_empty() {
                faults.invalid_each(&spot.child("name"), name, found);
            } else if seen.contains(&name) {
                faults.duplicate(&spot.child("name"), name);
            } else {
                seen.push(name);
            }
        }
        match number(port, "containerPort") {
            0 => faults.required(&spot.child("containerPort"), ""),
            own => probe::faults_of_number(own, &spot.child("containerPort"), faults),
        }
        let host = number(port, "hostPort");
        if host != 0 {
            probe::faults_of_number(host, &spot.child("hostPort"), faults);
        }
        check_protocol(text(port, "protocol"), &spot.child("protocol"), faults);
    }
}

/// Finds the fault of a transport protocol.
pub(crate) fn check_protocol(protocol: &str, spot: &Spot<'_>, faults: &mut Faults) {
    faults.one_of(spot, protocol, &["SCTP", "TCP", "UDP"]);
}

fn check_host_ports(containers: &[Value], spot: &Spot<'_>, faults: &mut Faults) {
    let mut seen: Vec<String> = Vec::new();
    for (at, container) in containers.iter().enumerate() {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let host = number(port, "hostPort");
            if host == 0 {
                continue;
            }
            let key = format!("{}/{}/{host}", text(port, "protocol"), text(port, "hostIP"));
            if seen.contains(&key) {
                let spot = &spot.index(at);
                let spot = &spot.child("ports");
                let spot = &spot.index(index);
                faults.duplicate(&spot.child("hostPort"), key);
            } else {
                seen.push(key);
            }
        }
    }
}

fn check_resize(container: &Value, spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, policy) in list(container, "resizePolicy").iter().enumerate() {
        let (resource, restart) = (text(policy, "resourceName"), text(policy, "restartPolicy"));
        if seen.contains(&resource) {
            faults.duplicate(&spot.index(index), resource);
        }
        seen.push(resource);
        faults.one_of(spot, resource, &["cpu", "memory"]);
        faults.one_of(spot, restart, &["NotRequired", "RestartContainer"]);
        if text(spec, "restartPolicy") == "Never" && restart != "NotRequired" {
            let message = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            faults.invalid(spot, restart, message);
        }
    }
}
