//! Checks pod specs, in pods and in templates.

use super::container::{self, Around};
use super::{schedule, security, volume};
use crate::fault::{Faults, Spot};
use crate::fields::{entries, flag, get, has, int, is_empty, list, number, text, texts};
use crate::resources::{self, Of};
use crate::{metadata, syntax};
use model::{Quantity, Value, names};

/// Finds the faults of a pod spec. `pod` is the name of the pod, `None` for a template.
pub(crate) fn check(spec: &Value, pod: Option<&str>, spot: &Spot<'_>, faults: &mut Faults) {
    let grace = int(spec, "terminationGracePeriodSeconds");
    if grace.is_none() {
        faults.required(&spot.child("terminationGracePeriodSeconds"), "");
    }
    let around = Around {
        spec,
        volumes: volume::check_volumes(spec, pod, &spot.child("volumes"), faults),
        claims: list(spec, "resourceClaims")
            .iter()
            .map(|claim| text(claim, "name"))
            .filter(|name| !name.is_empty())
            .collect(),
        grace,
        host_users: get(spec, "hostUsers").as_bool() != Some(false),
    };
    check_claims(spec, &spot.child("resourceClaims"), faults);
    container::check_all(&around, &spot.child("containers"), faults);
    container::check_init(&around, &spot.child("initContainers"), faults);
    container::check_ephemeral(&around, &spot.child("ephemeralContainers"), faults);
    check_resources(spec, &around.claims, &spot.child("resources"), faults);
    check_host_network(spec, pod.is_some(), spot, faults);
    let at = &spot.child("restartPolicy");
    let policies = ["Always", "OnFailure", "Never"];
    faults.one_of(at, text(spec, "restartPolicy"), &policies);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    faults.one_of(&spot.child("dnsPolicy"), text(spec, "dnsPolicy"), &policies);
    metadata::check_labels(
        get(spec, "nodeSelector"),
        &spot.child("nodeSelector"),
        faults,
    );
    security::check_pod(spec, &spot.child("securityContext"), faults);
    schedule::check_affinity(spec, &spot.child("affinity"), faults);
    check_dns(spec, &spot.child("dnsConfig"), faults);
    check_gates(spec, spot, faults);
    let at = &spot.child("topologySpreadConstraints");
    schedule::check_spread(spec, at, faults);
    check_host_users(spec, spot, faults);
    check_host_name(spec, spot, faults);
    check_names(spec, spot, faults);
    let tolerations = list(spec, "tolerations");
    schedule::check_tolerations(tolerations, &spot.child("tolerations"), faults);
    check_aliases(spec, &spot.child("hostAliases"), faults);
    check_rest(spec, spot, faults);
    check_file_keys(spec, spot, faults);
}

fn check_claims(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, claim) in list(spec, "resourceClaims").iter().enumerate() {
        let spot = &spot.index(index);
        match text(claim, "name") {
            "" => faults.required(&spot.child("name"), ""),
            name if seen.contains(&name) => faults.duplicate(&spot.child("name"), name),
            name => {
                faults.invalid_each(&spot.child("name"), name, names::dns1123_label(name));
                seen.push(name);
            }
        }
        let (by_name, by_template) = (
            has(claim, "resourceClaimName"),
            has(claim, "resourceClaimTemplateName"),
        );
        let message = match (by_name, by_template) {
            (true, true) => {
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            }
            (false, false) => {
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            }
            _ => "",
        };
        if !message.is_empty() {
            let shown = crate::go::show("PodResourceClaim", claim);
            faults.invalid_shown(spot, &shown, message);
        }
        for field in ["resourceClaimName", "resourceClaimTemplateName"] {
            if let Some(name) = get(claim, field).as_str() {
                let found = names::dns1123_subdomain(name);
                faults.invalid_each(&spot.child(field), name, found);
            }
        }
    }
}

fn check_resources(spec: &Value, claims: &[&str], spot: &Spot<'_>, faults: &mut Faults) {
    let own = get(spec, "resources");
    if own.is_null() {
        return;
    }
    if text(get(spec, "os"), "name") == "windows" {
        return faults.forbidden(spot, "may not be set for a windows pod");
    }
    if has(own, "claims") {
        let message = "claims may not be set for Resources at pod-level";
        faults.forbidden(&spot.child("claims"), message);
    }
    resources::check_requirements(own, Of::Pod, claims, spot, faults);
    for (name, total) in super::defaults::aggregate(spec, "requests") {
        let asked = get(own, "requests")
            .get(&name)
            .and_then(Quantity::from_json);
        if let Some(asked) = asked.filter(|a| Quantity::parse(&total).is_some_and(|t| t > *a)) {
            let message =
                format!("must be greater than or equal to aggregate container requests of {total}");
            let at = &spot.child("requests");
            faults.invalid(&at.key(&name), asked.to_string(), &message);
        }
    }
    for (index, container) in list(spec, "containers").iter().enumerate() {
        for (name, limit) in entries(get(container, "resources"), "limits") {
            let whole = get(own, "limits").get(name).and_then(Quantity::from_json);
            let (Some(limit), Some(whole)) = (Quantity::from_json(limit), whole) else {
                continue;
            };
            if limit > whole {
                let at = &spot.child("containers");
                let at = &at.index(index);
                let at = &at.key(name);
                let message = format!("must be less than or equal to pod limits of {whole}");
                faults.invalid(&at.child("limits"), limit.to_string(), &message);
            }
        }
    }
}

fn check_host_network(spec: &Value, is_pod: bool, spot: &Spot<'_>, faults: &mut Faults) {
    if !flag(spec, "hostNetwork") {
        return;
    }
    for (at, container) in list(spec, "containers").iter().enumerate() {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let (host, own) = (number(port, "hostPort"), number(port, "containerPort"));
            if (is_pod || host != 0) && host != own {
                let spot = &spot.child("containers");
                let spot = &spot.index(at);
                let spot = &spot.child("ports");
                let spot = &spot.index(index);
                let message = "must match `containerPort` when `hostNetwork` is true";
                faults.invalid(&spot.child("hostPort"), host, message);
            }
        }
    }
}

fn check_dns(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let config = get(spec, "dnsConfig");
    if text(spec, "dnsPolicy") == "None" {
        if config.is_null() {
            return faults.required(spot, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        if list(config, "nameservers").is_empty() {
            return faults.required(
                &spot.child("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            );
        }
    }
    let at = &spot.child("nameservers");
    if list(config, "nameservers").len() > 3 {
        let message = "must not have more than 3 nameservers";
        faults.invalid(at, get(config, "nameservers").clone(), message);
    }
    for (index, server) in texts(config, "nameservers").enumerate() {
        syntax::check_ip(server, &[], &at.index(index), faults);
    }
    let at = &spot.child("searches");
    let searches: Vec<&str> = texts(config, "searches").collect();
    if searches.len() > 32 {
        let message = "must not have more than 32 search paths";
        faults.invalid(at, get(config, "searches").clone(), message);
    }
    if searches.join(" ").len() > 2048 {
        let message =
            "must not have more than 2048 characters (including spaces) in the search list";
        faults.invalid(at, get(config, "searches").clone(), message);
    }
    for (index, search) in searches.iter().enumerate() {
        if *search != "." {
            let search = search.strip_suffix('.').unwrap_or(search);
            faults.invalid_each(&at.index(index), search, syntax::search_path(search));
        }
    }
    for (index, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            let at = &spot.child("options");
            faults.required(&at.index(index), "must not be empty");
        }
    }
}

fn check_gates(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for (index, gate) in list(spec, "readinessGates").iter().enumerate() {
        let at = &spot.child("readinessGates");
        let at = &at.index(index);
        let kind = text(gate, "conditionType");
        faults.invalid_each(
            &at.child("conditionType"),
            kind,
            names::qualified_name(kind),
        );
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let at = &spot.child("schedulingGates");
        let at = &at.index(index);
        let name = text(gate, "name");
        faults.invalid_each(at, name, names::qualified_name(name));
        if seen.contains(&name) {
            faults.duplicate(at, name);
        }
        seen.push(name);
    }
}

fn check_host_users(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if get(spec, "hostUsers").as_bool() != Some(false) {
        return;
    }
    for (field, shown) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if flag(spec, field) {
            faults.forbidden(&spot.child(shown), "when `hostUsers` is false");
        }
    }
    each_container(spec, spot, |container, spot| {
        if !list(container, "volumeDevices").is_empty() {
            faults.forbidden(&spot.child("volumeDevices"), "when `hostUsers` is false");
        }
    });
}

/// Visits all containers: init ones first, then the main ones, then the ephemeral ones.
pub(crate) fn each_container<'a>(
    spec: &'a Value,
    spot: &Spot<'_>,
    mut visit: impl FnMut(&'a Value, &Spot<'_>),
) {
    for field in ["initContainers", "containers", "ephemeralContainers"] {
        for (index, container) in list(spec, field).iter().enumerate() {
            let at = &spot.child(field);
            visit(container, &at.index(index));
        }
    }
}

fn check_host_name(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let Some(name) = get(spec, "hostnameOverride").as_str() else {
        return;
    };
    let spot = &spot.child("hostnameOverride");
    if flag(spec, "setHostnameAsFQDN") {
        faults.forbidden(spot, "may not be specified when setHostnameAsFQDN is true");
    }
    if flag(spec, "hostNetwork") {
        faults.forbidden(spot, "may not be specified when hostNetwork is true");
    }
    if name.len() > 64 {
        faults.too_long(spot, 64);
    }
    faults.invalid_each(spot, name, names::dns1123_subdomain(name));
}

fn check_names(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for field in ["serviceAccountName", "nodeName"] {
        let name = text(spec, field);
        if !name.is_empty() {
            let found = names::dns1123_subdomain(name);
            faults.invalid_each(&spot.child(field), name, found);
        }
    }
    if let Some(seconds) = int(spec, "activeDeadlineSeconds") {
        let max = i64::from(i32::MAX);
        if !(1..=max).contains(&seconds) {
            let at = &spot.child("activeDeadlineSeconds");
            faults.invalid(at, seconds, &syntax::range(1, max));
        }
    }
    for field in ["hostname", "subdomain"] {
        let name = text(spec, field);
        if !name.is_empty() {
            faults.invalid_each(&spot.child(field), name, names::dns1123_label(name));
        }
    }
}

fn check_aliases(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let spot = &spot.index(index);
        syntax::check_ip(text(alias, "ip"), &[], &spot.child("ip"), faults);
        for (index, name) in texts(alias, "hostnames").enumerate() {
            let at = &spot.child("hostnames");
            faults.invalid_each(&at.index(index), name, names::dns1123_subdomain(name));
        }
    }
}

fn check_rest(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let class = text(spec, "priorityClassName");
    if !class.is_empty() {
        let found = names::dns1123_subdomain(class);
        faults.invalid_each(&spot.child("priorityClassName"), class, found);
    }
    if let Some(class) = get(spec, "runtimeClassName").as_str() {
        let found = names::dns1123_subdomain(class);
        faults.invalid_each(&spot.child("runtimeClassName"), class, found);
    }
    check_preemption(spec, spot, faults);
    if has(spec, "overhead") {
        let limits = model::json!({"limits": get(spec, "overhead")});
        let at = &spot.child("overhead");
        resources::check_requirements(&limits, Of::Container, &[], at, faults);
    }
    check_os(spec, spot, faults);
}

/// Finds the fault of a preemption policy.
pub(crate) fn check_preemption(owner: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if let Some(policy) = get(owner, "preemptionPolicy").as_str() {
        let at = &spot.child("preemptionPolicy");
        faults.one_of(at, policy, &["PreemptLowerPriority", "Never"]);
    }
}

fn check_os(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let os = get(spec, "os");
    if os.is_null() {
        return;
    }
    let at = &spot.child("os");
    match text(os, "name") {
        "" => faults.required(&at.child("name"), ""),
        "linux" => check_linux(spec, spot, faults),
        "windows" => check_windows(spec, spot, faults),
        other => faults.unsupported(at, other, &["linux", "windows"]),
    }
}

fn check_linux(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let message = "windows options cannot be set for a linux pod";
    if has(get(spec, "securityContext"), "windowsOptions") {
        faults.forbidden(&spot.child("securityContext.windowsOptions"), message);
    }
    each_container(spec, spot, |container, spot| {
        if has(get(container, "securityContext"), "windowsOptions") {
            faults.forbidden(&spot.child("securityContext.windowsOptions"), message);
        }
    });
}

fn check_windows(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let message = "cannot be set for a windows pod";
    let context = get(spec, "securityContext");
    let at = &spot.child("securityContext");
    for (own, field) in [
        (false, "appArmorProfile"),
        (false, "seLinuxOptions"),
        (true, "hostUsers"),
        (true, "hostPID"),
        (true, "hostIPC"),
        (false, "seccompProfile"),
        (false, "fsGroup"),
        (false, "fsGroupChangePolicy"),
        (false, "sysctls"),
        (true, "shareProcessNamespace"),
        (false, "runAsUser"),
        (false, "runAsGroup"),
        (false, "supplementalGroups"),
        (false, "supplementalGroupsPolicy"),
        (false, "seLinuxChangePolicy"),
    ] {
        let plain = matches!(field, "hostPID" | "hostIPC" | "sysctls");
        let value = get(if own { spec } else { context }, field);
        let set = if plain {
            !is_empty(value)
        } else {
            !value.is_null()
        };
        if set {
            faults.forbidden(&(if own { spot } else { at }).child(field), message);
        }
    }
    each_container(spec, spot, |container, spot| {
        let spot = &spot.child("securityContext");
        for field in [
            "appArmorProfile",
            "seLinuxOptions",
            "seccompProfile",
            "capabilities",
            "readOnlyRootFilesystem",
            "privileged",
            "allowPrivilegeEscalation",
            "procMount",
            "runAsUser",
            "runAsGroup",
        ] {
            if has(get(container, "securityContext"), field) {
                faults.forbidden(&spot.child(field), message);
            }
        }
    });
}

fn check_file_keys(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    each_container(spec, spot, |container, spot| {
        for (index, variable) in list(container, "env").iter().enumerate() {
            let key = get(get(variable, "valueFrom"), "fileKeyRef");
            if key.is_null() {
                continue;
            }
            let at = &spot.child("env");
            let at = &at.index(index);
            let at = &at.child("valueFrom.fileKeyRef.volumeName");
            let name = text(key, "volumeName");
            match list(spec, "volumes")
                .iter()
                .find(|v| text(v, "name") == name)
            {
                None => faults.not_found(at, name),
                Some(volume) if !has(volume, "emptyDir") => {
                    faults.invalid(at, name, "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    });
}

/// Finds the faults of a pod template.
pub(crate) fn check_template(template: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let meta = get(template, "metadata");
    let spec = get(template, "spec");
    metadata::check_labels(get(meta, "labels"), &spot.child("labels"), faults);
    let at = &spot.child("annotations");
    metadata::check_annotations(get(meta, "annotations"), at, faults);
    super::annotations::check(template, at, faults);
    check(spec, None, &spot.child("spec"), faults);
    super::annotations::check_against_fields(template, &spot.child("spec"), faults);
    if !list(spec, "ephemeralContainers").is_empty() {
        let message = "ephemeral containers not allowed in pod template";
        faults.forbidden(&spot.child("spec.ephemeralContainers"), message);
    }
}
