//! Checks the environment of containers and what may be read from a pod's own fields.

use crate::fault::{Faults, Spot};
use crate::fields::{get, has, list, text};
use crate::rules::Name;
use crate::syntax;
use model::{Quantity, Value, names};

const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// The fields that a volume may show.
const VOLUME_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Who asks for a field of the pod.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// An environment variable.
    Variable,
    /// A file of a volume.
    Volume,
}

/// Finds the faults of a container's variables.
pub(crate) fn check_env(container: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for (index, variable) in list(container, "env").iter().enumerate() {
        let spot = &spot.index(index);
        match text(variable, "name") {
            "" => faults.required(&spot.child("name"), ""),
            name => faults.invalid_each(&spot.child("name"), name, syntax::env_name(name)),
        }
        if has(variable, "valueFrom") {
            check_source(variable, &spot.child("valueFrom"), faults);
        }
    }
}

fn check_source(variable: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let from = get(variable, "valueFrom");
    let mut sources = 0;
    let mut present = |key: &str| {
        sources += i32::from(has(from, key));
        has(from, key)
    };
    if present("fieldRef") {
        let spot = &spot.child("fieldRef");
        check_field(get(from, "fieldRef"), Reader::Variable, spot, faults);
    }
    if present("resourceFieldRef") {
        let spot = &spot.child("resourceFieldRef");
        check_resource(
            get(from, "resourceFieldRef"),
            Reader::Variable,
            spot,
            faults,
        );
    }
    for key in ["configMapKeyRef", "secretKeyRef"] {
        if present(key) {
            check_key(get(from, key), &spot.child(key), faults);
        }
    }
    if present("fileKeyRef") {
        check_file(get(from, "fileKeyRef"), &spot.child("fileKeyRef"), faults);
    }
    if sources == 0 {
        let message = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
             `secretKeyRef` or `fileKeyRef`";
        faults.invalid(spot, "", message);
    } else if !text(variable, "value").is_empty() {
        faults.invalid(spot, "", "may not be specified when `value` is not empty");
    } else if sources > 1 {
        let message = "may not have more than one field specified at a time";
        faults.invalid(spot, "", message);
    }
}

fn check_key(selector: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let name = text(selector, "name");
    faults.invalid_each(&spot.child("name"), name, names::dns1123_subdomain(name));
    match text(selector, "key") {
        "" => faults.required(&spot.child("key"), ""),
        key => faults.invalid_each(&spot.child("key"), key, syntax::config_key(key)),
    }
}

fn check_file(selector: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    match text(selector, "key") {
        "" => faults.required(&spot.child("key"), ""),
        key => faults.invalid_each(&spot.child("key"), key, syntax::env_name(key)),
    }
    match text(selector, "volumeName") {
        "" => faults.required(&spot.child("volumeName"), ""),
        name => {
            faults.invalid_each(&spot.child("volumeName"), name, names::dns1123_label(name));
        }
    }
    match text(selector, "path") {
        "" => faults.required(&spot.child("path"), ""),
        path => syntax::check_no_backsteps(path, &spot.child("path"), faults),
    }
}

/// Finds the faults of a reference to a field of the pod.
pub(crate) fn check_field(selector: &Value, by: Reader, spot: &Spot<'_>, faults: &mut Faults) {
    let (version, path) = (text(selector, "apiVersion"), text(selector, "fieldPath"));
    if version.is_empty() {
        return faults.required(&spot.child("apiVersion"), "");
    }
    if path.is_empty() {
        return faults.required(&spot.child("fieldPath"), "");
    }
    if version != "v1" {
        let why = format!("error converting fieldPath: unsupported pod version: {version}");
        return faults.invalid(&spot.child("fieldPath"), path, &why);
    }
    let subscript = path
        .strip_suffix("']")
        .and_then(|rest| rest.split_once("['"));
    if let Some(why) = unknown_field(path, subscript) {
        let why = format!("error converting fieldPath: field label {why}: {path}");
        return faults.invalid(&spot.child("fieldPath"), path, &why);
    }
    match subscript {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            faults.invalid_each(spot, &key, names::qualified_name(&key));
        }
        Some((_, key)) => faults.invalid_each(spot, key, names::qualified_name(key)),
        None => {
            let allowed: &[&str] = match by {
                Reader::Variable => &FIELDS,
                Reader::Volume => &VOLUME_FIELDS,
            };
            if !allowed.contains(&path) {
                faults.unsupported(&spot.child("fieldPath"), path, allowed);
            }
        }
    }
}

fn unknown_field(path: &str, subscript: Option<(&str, &str)>) -> Option<&'static str> {
    match subscript {
        Some(("metadata.annotations" | "metadata.labels", _)) => None,
        Some(_) => Some("does not support subscript"),
        None => {
            let known = FIELDS.contains(&path)
                || VOLUME_FIELDS.contains(&path)
                || matches!(
                    path,
                    "spec.host" | "spec.restartPolicy" | "spec.schedulerName" | "status.phase"
                );
            (!known).then_some("not supported")
        }
    }
}

/// Finds the faults of a reference to an amount of a container.
pub(crate) fn check_resource(selector: &Value, by: Reader, spot: &Spot<'_>, faults: &mut Faults) {
    let resource = text(selector, "resource");
    let huge = ["limits.hugepages-", "requests.hugepages-"]
        .iter()
        .any(|prefix| resource.starts_with(prefix));
    if by == Reader::Volume && text(selector, "containerName").is_empty() {
        faults.required(&spot.child("containerName"), "");
    } else if resource.is_empty() {
        faults.required(&spot.child("resource"), "");
    } else if !RESOURCES.contains(&resource) && !huge {
        faults.unsupported(&spot.child("resource"), resource, &RESOURCES);
    }
    check_divisor(resource, get(selector, "divisor"), huge, spot, faults);
}

fn check_divisor(resource: &str, divisor: &Value, huge: bool, spot: &Spot<'_>, f: &mut Faults) {
    let Some(divisor) = Quantity::from_json(divisor).filter(|d| !d.is_zero()) else {
        return;
    };
    let shown = divisor.to_string();
    let unit = shown.strip_prefix('1').unwrap_or("?");
    let sizes = [
        "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let what = match resource.split_once('.').map(|(_, name)| name) {
        Some("cpu") => {
            if !matches!(unit, "" | "m") {
                let message = "only divisor's values 1m and 1 are supported with the cpu resource";
                f.invalid(&spot.child("divisor"), resource, message);
            }
            return;
        }
        Some("memory") => "memory",
        Some("ephemeral-storage") => "local ephemeral storage",
        _ if huge => "hugepages",
        _ => return,
    };
    if !sizes.contains(&unit) {
        let message = format!(
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are \
             supported with the {what} resource"
        );
        f.invalid(&spot.child("divisor"), resource, &message);
    }
}

/// Finds the faults of whole ConfigMaps and Secrets taken as variables.
pub(crate) fn check_env_from(container: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for (index, source) in list(container, "envFrom").iter().enumerate() {
        let at = &spot.index(index);
        let prefix = text(source, "prefix");
        if !prefix.is_empty() {
            faults.invalid_each(&at.child("prefix"), prefix, syntax::env_name(prefix));
        }
        let mut sources = 0;
        for key in ["configMapRef", "secretRef"] {
            if !has(source, key) {
                continue;
            }
            sources += 1;
            let at = &at.child(key);
            match text(get(source, key), "name") {
                "" => faults.required(&at.child("name"), ""),
                name => {
                    let found = Name::Subdomain.faults(name, true);
                    faults.invalid_each(&at.child("name"), name, found);
                }
            }
        }
        if sources == 0 {
            faults.invalid(
                spot,
                "",
                "must specify one of: `configMapRef` or `secretRef`",
            );
        } else if sources > 1 {
            let message = "may not have more than one field specified at a time";
            faults.invalid(spot, "", message);
        }
    }
}
