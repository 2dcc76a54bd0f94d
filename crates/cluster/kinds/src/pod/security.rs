//! Checks security contexts of pods and containers.

use crate::fault::{Faults, Spot};
use crate::fields::{flag, get, has, int, list, text, texts};
use crate::syntax;
use model::Value;

const SYSCTL: &str = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

fn check_id(owner: &Value, field: &str, spot: &Spot<'_>, faults: &mut Faults) {
    if let Some(id) = int(owner, field) {
        for fault in syntax::user_number(id) {
            faults.invalid(&spot.child(field), id, &fault);
        }
    }
}

/// Finds the faults of a pod's security context.
pub(crate) fn check_pod(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let context = get(spec, "securityContext");
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        check_id(context, field, spot, faults);
    }
    for (index, group) in list(context, "supplementalGroups").iter().enumerate() {
        let id = group.as_i64().unwrap_or(0);
        for fault in syntax::user_number(id) {
            let spot = spot.child("supplementalGroups");
            faults.invalid(&spot.index(index), id, &fault);
        }
    }
    if flag(spec, "shareProcessNamespace") && flag(spec, "hostPID") {
        let message = "ShareProcessNamespace and HostPID cannot both be enabled";
        faults.invalid(&spot.child("shareProcessNamespace"), true, message);
    }
    check_sysctls(spec, &spot.child("sysctls"), faults);
    faults.maybe_one_of(
        &spot.child("fsGroupChangePolicy"),
        get(context, "fsGroupChangePolicy"),
        &["Always", "OnRootMismatch"],
    );
    check_seccomp(context, spot, faults);
    check_windows(
        get(context, "windowsOptions"),
        &spot.child("windowsOptions"),
        faults,
    );
    check_app_armor(context, spot, faults);
    faults.maybe_one_of(
        &spot.child("supplementalGroupsPolicy"),
        get(context, "supplementalGroupsPolicy"),
        &["Merge", "Strict"],
    );
    faults.maybe_one_of(
        &spot.child("seLinuxChangePolicy"),
        get(context, "seLinuxChangePolicy"),
        &["MountOption", "Recursive"],
    );
}

fn check_sysctls(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let mut seen: Vec<&str> = Vec::new();
    let sysctls = list(get(spec, "securityContext"), "sysctls");
    for (index, sysctl) in sysctls.iter().enumerate() {
        let spot = &spot.index(index);
        let spot = &spot.child("name");
        let name = text(sysctl, "name");
        if name.is_empty() {
            faults.required(spot, "");
        } else if name.len() > 253 || !fits_sysctl(name) {
            let message = format!("must have at most 253 characters and match regex {SYSCTL}");
            faults.invalid(spot, name, &message);
        } else if seen.contains(&name) {
            faults.duplicate(spot, name);
        }
        let dotted = name.replace('/', ".");
        let ipc = dotted.starts_with("kernel.shm")
            || dotted.starts_with("kernel.msg")
            || dotted.starts_with("fs.mqueue.")
            || dotted == "kernel.sem";
        if flag(spec, "hostNetwork") && dotted.starts_with("net.") {
            faults.invalid(
                spot,
                name,
                "may not be specified when 'hostNetwork' is true",
            );
        } else if flag(spec, "hostIPC") && ipc {
            faults.invalid(spot, name, "may not be specified when 'hostIPC' is true");
        }
        seen.push(name);
    }
}

fn fits_sysctl(name: &str) -> bool {
    name.split(['.', '/']).all(|part| {
        let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = part.as_bytes();
        bytes.first().is_some_and(plain)
            && bytes.last().is_some_and(plain)
            && bytes.iter().all(|b| plain(b) || matches!(b, b'-' | b'_'))
    })
}

fn check_seccomp(context: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if !has(context, "seccompProfile") {
        return;
    }
    let spot = &spot.child("seccompProfile");
    let profile = get(context, "seccompProfile");
    let kind = text(profile, "type");
    match kind {
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        "" => faults.required(
            &spot.child("type"),
            "type is required when seccompProfile is set",
        ),
        other => faults.unsupported(
            &spot.child("type"),
            other,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        ),
    }
    let at = &spot.child("localhostProfile");
    match get(profile, "localhostProfile").as_str() {
        None if kind == "Localhost" => {
            faults.required(at, "must be set when seccomp type is Localhost");
        }
        Some(path) if kind == "Localhost" => syntax::check_descending_path(path, at, faults),
        Some(path) => {
            let shown = format!(
                "{{\"Type\":{},\"LocalhostProfile\":{}}}",
                Value::from(kind),
                Value::from(path)
            );
            let message = "can only be set when seccomp type is Localhost";
            faults.invalid_shown(at, &shown, message);
        }
        None => {}
    }
}

fn check_app_armor(context: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if !has(context, "appArmorProfile") {
        return;
    }
    let spot = &spot.child("appArmorProfile");
    let profile = get(context, "appArmorProfile");
    let at = &spot.child("localhostProfile");
    let path = get(profile, "localhostProfile").as_str();
    match (text(profile, "type"), path) {
        ("Localhost", None) => {
            faults.required(at, "must be set when AppArmor type is Localhost");
        }
        ("Localhost", Some(path)) => {
            if path.trim() != path {
                faults.invalid(at, path, "must not be padded with whitespace");
            } else if path.is_empty() {
                faults.required(at, "must be set when AppArmor type is Localhost");
            }
            if path.len() > 4095 {
                faults.too_long(at, 4095);
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(path)) => {
            faults.invalid(at, path, "can only be set when AppArmor type is Localhost");
        }
        ("RuntimeDefault" | "Unconfined", None) => {}
        ("", _) => faults.required(
            &spot.child("type"),
            "type is required when appArmorProfile is set",
        ),
        (other, _) => faults.unsupported(
            &spot.child("type"),
            other,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        ),
    }
}

fn check_windows(options: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if let Some(name) = get(options, "gmsaCredentialSpecName").as_str() {
        let found = model::names::dns1123_subdomain(name);
        faults.invalid_each(&spot.child("gmsaCredentialSpecName"), name, found);
    }
    if let Some(spec) = get(options, "gmsaCredentialSpec").as_str() {
        let spot = &spot.child("gmsaCredentialSpec");
        if spec.is_empty() {
            faults.invalid(spot, "", "gmsaCredentialSpec cannot be an empty string");
        } else if spec.len() > 64 * 1024 {
            let message = "gmsaCredentialSpec size must be under 64 KiB";
            faults.invalid(spot, spec, message);
        }
    }
    if let Some(name) = get(options, "runAsUserName").as_str() {
        let spot = &spot.child("runAsUserName");
        if name.is_empty() {
            faults.invalid(spot, name, "runAsUserName cannot be an empty string");
        }
    }
}

/// Finds the faults of a container's security context.
pub(crate) fn check_container(
    container: &Value,
    host_users: bool,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let context = get(container, "securityContext");
    if context.is_null() {
        return;
    }
    check_id(context, "runAsUser", spot, faults);
    check_id(context, "runAsGroup", spot, faults);
    if let Some(mount) = get(context, "procMount").as_str() {
        let spot = &spot.child("procMount");
        if !matches!(mount, "Default" | "Unmasked") {
            faults.unsupported(spot, mount, &["Default", "Unmasked"]);
        }
        if host_users && mount == "Unmasked" {
            faults.invalid(spot, mount, "`hostUsers` must be false to use `Unmasked`");
        }
    }
    check_seccomp(context, spot, faults);
    check_escalation(context, spot, faults);
    check_windows(
        get(context, "windowsOptions"),
        &spot.child("windowsOptions"),
        faults,
    );
    check_app_armor(context, spot, faults);
}

fn check_escalation(context: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if get(context, "allowPrivilegeEscalation").as_bool() != Some(false) {
        return;
    }
    let shown = || crate::go::show("SecurityContext", context);
    if flag(context, "privileged") {
        let message = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        faults.invalid_shown(spot, &shown(), message);
    }
    if texts(get(context, "capabilities"), "add").any(|cap| cap == "CAP_SYS_ADMIN") {
        let message =
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        faults.invalid_shown(spot, &shown(), message);
    }
}
