//! Checks where containers mount volumes and which raw devices they use.

use crate::fault::{Faults, Spot};
use crate::fields::{flag, get, has, list, text};
use crate::syntax;
use model::Value;

/// Finds the faults of where a container mounts volumes.
pub(crate) fn check_mounts(
    container: &Value,
    volumes: &[&Value],
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let devices = list(container, "volumeDevices");
    let mut points: Vec<&str> = Vec::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let at = &spot.index(index);
        let (name, path) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            faults.required(&at.child("name"), "");
        }
        if !volumes.iter().any(|v| text(v, "name") == name) {
            faults.not_found(&at.child("name"), name);
        }
        if path.is_empty() {
            faults.required(&at.child("mountPath"), "");
        }
        if points.contains(&path) {
            faults.invalid(&at.child("mountPath"), path, "must be unique");
        }
        points.push(path);
        if devices.iter().any(|d| text(d, "name") == name) {
            let message = "must not already exist in volumeDevices";
            faults.invalid(&at.child("name"), name, message);
        }
        if devices.iter().any(|d| text(d, "devicePath") == path) {
            let message = "must not already exist as a path in volumeDevices";
            faults.invalid(&at.child("mountPath"), path, message);
        }
        check_sub_paths(mount, at, spot, faults);
        check_propagation(mount, container, spot, faults);
        check_recursion(mount, &spot.child("recursiveReadOnly"), faults);
    }
}

fn check_sub_paths(mount: &Value, at: &Spot<'_>, mounts: &Spot<'_>, faults: &mut Faults) {
    let (sub, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
    if !sub.is_empty() {
        syntax::check_descending_path(sub, &mounts.child("subPath"), faults);
    }
    if !expression.is_empty() {
        if !sub.is_empty() {
            let message = "subPathExpr and subPath are mutually exclusive";
            faults.invalid(&at.child("subPathExpr"), expression, message);
        }
        syntax::check_descending_path(expression, &mounts.child("subPathExpr"), faults);
    }
}

fn check_propagation(mount: &Value, container: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let spot = &spot.child("mountPropagation");
    let mode = get(mount, "mountPropagation");
    faults.maybe_one_of(spot, mode, &["Bidirectional", "HostToContainer", "None"]);
    let privileged = flag(get(container, "securityContext"), "privileged");
    if mode.as_str() == Some("Bidirectional") && !privileged {
        let message = "Bidirectional mount propagation is available only to privileged containers";
        faults.forbidden(spot, message);
    }
}

fn check_recursion(mount: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    match get(mount, "recursiveReadOnly").as_str() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !flag(mount, "readOnly") {
                faults.forbidden(spot, "may only be specified when readOnly is true");
            }
            if !matches!(text(mount, "mountPropagation"), "" | "None") {
                let message =
                    "may only be specified when mountPropagation is None or not specified";
                faults.forbidden(spot, message);
            }
        }
        Some(other) => {
            faults.unsupported(spot, other, &["Disabled", "Enabled", "IfPossible"]);
        }
    }
}

/// Finds the faults of the raw devices a container uses.
pub(crate) fn check_devices(
    container: &Value,
    volumes: &[&Value],
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let mounts = list(container, "volumeMounts");
    let (mut paths, mut used): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (index, device) in list(container, "volumeDevices").iter().enumerate() {
        let spot = &spot.index(index);
        let (name, path) = (text(device, "name"), text(device, "devicePath"));
        let (at_name, at_path) = (&spot.child("name"), &spot.child("devicePath"));
        if name.is_empty() {
            faults.required(at_name, "");
        }
        if used.contains(&name) {
            faults.invalid(at_name, name, "must be unique");
        }
        match volumes.iter().find(|v| text(v, "name") == name) {
            Some(volume) if !has(volume, "persistentVolumeClaim") && !has(volume, "ephemeral") => {
                let message = "can only use volume source type of PersistentVolumeClaim or \
                     Ephemeral for block mode";
                faults.invalid(at_name, name, message);
            }
            Some(_) => {}
            None => faults.not_found(at_name, name),
        }
        if path.is_empty() {
            faults.required(at_path, "");
        }
        if paths.contains(&path) {
            faults.invalid(at_path, path, "must be unique");
        }
        if path.split('/').any(|part| part == "..") {
            faults.invalid(at_path, path, "can not contain backsteps ('..')");
        } else {
            paths.push(path);
        }
        if mounts.iter().any(|m| text(m, "name") == name) {
            faults.invalid(at_name, name, "must not already exist in volumeMounts");
        }
        if mounts.iter().any(|m| text(m, "mountPath") == path) {
            let message = "must not already exist as a path in volumeMounts";
            faults.invalid(at_path, path, message);
        }
        if !name.is_empty() {
            used.push(name);
        }
    }
}
