//! Checks the annotations of pods that mean something to Kubernetes.

use crate::fault::{Faults, Spot};
use crate::fields::{entries, get, list, text};
use crate::syntax;
use model::Value;

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const MIRROR: &str = "kubernetes.io/config.mirror";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Finds the faults in the annotations of a pod or template.
pub(crate) fn check(pod: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (annotations, spec) = (get(get(pod, "metadata"), "annotations"), get(pod, "spec"));
    if annotations.is_null() {
        return;
    }
    if let Some(mirror) = get(annotations, MIRROR).as_str()
        && text(spec, "nodeName").is_empty()
    {
        let message = "must set spec.nodeName if mirror pod annotation is set";
        faults.invalid(&spot.key(MIRROR), mirror, message);
    }
    if let Some(cost) = get(annotations, DELETION_COST).as_str()
        && !is_cost(cost)
    {
        faults.invalid(&spot.key(DELETION_COST), cost, "must be a 32bit integer");
    }
    let seccomp = entries(get(pod, "metadata"), "annotations")
        .filter(|(key, _)| *key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER));
    for (key, value) in seccomp {
        check_seccomp(value.as_str().unwrap_or(""), &spot.child(key), faults);
    }
    for (key, value) in entries(get(pod, "metadata"), "annotations") {
        if let Some(container) = key.strip_prefix(APP_ARMOR) {
            check_app_armor(spec, container, value, &spot.key(key), faults);
        }
    }
}

// The first character must be a digit or a minus: `+1` and `01` are refused, `0` is not.
fn is_cost(text: &str) -> bool {
    let padded = text.len() > 1 && text.starts_with('0');
    !text.starts_with('+') && !padded && text.parse::<i32>().is_ok()
}

fn check_seccomp(profile: &str, spot: &Spot<'_>, faults: &mut Faults) {
    if matches!(profile, "runtime/default" | "docker/default" | "unconfined") {
        return;
    }
    match profile.strip_prefix("localhost/") {
        Some(path) => syntax::check_descending_path(path, spot, faults),
        None => faults.invalid(spot, profile, "must be a valid seccomp profile"),
    }
}

fn check_app_armor(
    spec: &Value,
    container: &str,
    profile: &Value,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let known = ["initContainers", "containers", "ephemeralContainers"]
        .iter()
        .flat_map(|field| list(spec, field))
        .any(|c| text(c, "name") == container);
    if !known {
        faults.invalid(spot, container, "container not found");
    }
    let profile = profile.as_str().unwrap_or("");
    let fits = matches!(profile, "" | "runtime/default" | "unconfined")
        || profile.starts_with("localhost/");
    if !fits {
        let quoted = model::field::go_quote(profile);
        let message = format!("invalid AppArmor profile name: {quoted}");
        faults.invalid(spot, profile, &message);
    }
}

/// Finds annotations that contradict the fields that replaced them.
pub(crate) fn check_against_fields(pod: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (annotations, spec) = (get(get(pod, "metadata"), "annotations"), get(pod, "spec"));
    if annotations.is_null() {
        return;
    }
    let context = get(spec, "securityContext");
    if let Some(annotation) = get(annotations, SECCOMP_POD).as_str() {
        let at = &spot.child("securityContext.seccompProfile");
        match_seccomp(annotation, get(context, "seccompProfile"), at, faults);
    }
    super::spec::each_container(spec, spot, |container, spot| {
        let key = format!("{SECCOMP_CONTAINER}{}", text(container, "name"));
        if let Some(annotation) = get(annotations, &key).as_str() {
            let profile = get(get(container, "securityContext"), "seccompProfile");
            let at = &spot.child("securityContext.seccompProfile");
            match_seccomp(annotation, profile, at, faults);
        }
    });
    super::spec::each_container(spec, spot, |container, spot| {
        let own = get(get(container, "securityContext"), "appArmorProfile");
        let profile = if own.is_null() {
            get(context, "appArmorProfile")
        } else {
            own
        };
        let key = format!("{APP_ARMOR}{}", text(container, "name"));
        if let Some(annotation) = get(annotations, &key).as_str() {
            let at = &spot.child("securityContext.appArmorProfile");
            match_app_armor(annotation, profile, at, faults);
        }
    });
}

fn match_seccomp(annotation: &str, profile: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let message = "seccomp type in annotation and field must match";
    match text(profile, "type") {
        "Unconfined" if annotation != "unconfined" => {
            faults.forbidden(&spot.child("type"), message);
        }
        "RuntimeDefault" if !matches!(annotation, "runtime/default" | "docker/default") => {
            faults.forbidden(&spot.child("type"), message);
        }
        "Localhost" => match annotation.strip_prefix("localhost/") {
            None => faults.forbidden(&spot.child("type"), message),
            Some(path) if path != text(profile, "localhostProfile") => {
                let message = "seccomp profile in annotation and field must match";
                faults.forbidden(&spot.child("localhostProfile"), message);
            }
            Some(_) => {}
        },
        _ => {}
    }
}

fn match_app_armor(annotation: &str, profile: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let message = "apparmor type in annotation and field must match";
    match text(profile, "type") {
        "Unconfined" if annotation != "unconfined" => {
            faults.forbidden(&spot.child("type"), message);
        }
        "RuntimeDefault" if annotation != "runtime/default" => {
            faults.forbidden(&spot.child("type"), message);
        }
        "Localhost" => match annotation.strip_prefix("localhost/") {
            None => faults.forbidden(&spot.child("type"), message),
            Some(path) if path != text(profile, "localhostProfile") => {
                let message = "apparmor profile in annotation and field must match";
                faults.forbidden(&spot.child("localhostProfile"), message);
            }
            Some(_) => {}
        },
        _ => {}
    }
}

/// Finds annotations that an update must not touch.
pub(crate) fn check_update(new: &Value, old: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (after, before) = (get(new, "metadata"), get(old, "metadata"));
    for (key, value) in entries(before, "annotations") {
        if get(get(after, "annotations"), key) == value {
            continue;
        }
        if key.starts_with(APP_ARMOR) {
            let message = "may not remove or update AppArmor annotations";
            faults.forbidden(&spot.key(key), message);
        }
        if key == MIRROR {
            let message = "may not remove or update mirror pod annotation";
            faults.forbidden(&spot.key(key), message);
        }
    }
    for (key, _) in entries(after, "annotations") {
        if get(before, "annotations").get(key).is_some() {
            continue;
        }
        if key.starts_with(APP_ARMOR) {
            faults.forbidden(&spot.key(key), "may not add AppArmor annotations");
        }
        if key == MIRROR {
            faults.forbidden(&spot.key(key), "may not add mirror pod annotation");
        }
    }
    check(new, spot, faults);
}
