//! Checks probes and lifecycle hooks.

use crate::fault::{Faults, Spot};
use crate::fields::{get, has, int, list, number, text};
use crate::syntax;
use model::Value;

/// Which probe is checked: each has one rule of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Probe {
    Liveness,
    Readiness,
    Startup,
}

/// Finds the faults of a container's three probes.
pub(crate) fn check_probes(
    container: &Value,
    grace: Option<i64>,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    for (field, probe) in [
        ("livenessProbe", Probe::Liveness),
        ("readinessProbe", Probe::Readiness),
        ("startupProbe", Probe::Startup),
    ] {
        if has(container, field) {
            let spot = &spot.child(field);
            check_probe(get(container, field), probe, grace, spot, faults);
        }
    }
}

fn check_probe(
    value: &Value,
    probe: Probe,
    grace: Option<i64>,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let handlers = ["exec", "httpGet", "tcpSocket", "grpc"];
    check_handler(value, &handlers, grace, spot, faults);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        faults.non_negative(&spot.child(field), number(value, field));
    }
    let own = int(value, "terminationGracePeriodSeconds");
    if let Some(seconds) = own.filter(|seconds| *seconds <= 0) {
        let spot = &spot.child("terminationGracePeriodSeconds");
        faults.invalid(spot, seconds, "must be greater than 0");
    }
    match (probe, own) {
        (Probe::Readiness, Some(seconds)) => {
            let spot = &spot.child("terminationGracePeriodSeconds");
            faults.invalid(spot, seconds, "must not be set for readinessProbes");
        }
        (Probe::Liveness | Probe::Startup, _) if number(value, "successThreshold") != 1 => {
            let threshold = number(value, "successThreshold");
            faults.invalid(&spot.child("successThreshold"), threshold, "must be 1");
        }
        _ => {}
    }
}

/// Finds the faults of a container's lifecycle hooks.
pub(crate) fn check_lifecycle(
    lifecycle: &Value,
    grace: Option<i64>,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let handlers = ["exec", "httpGet", "tcpSocket", "sleep"];
    for hook in ["postStart", "preStop"] {
        if has(lifecycle, hook) {
            let spot = &spot.child(hook);
            check_handler(get(lifecycle, hook), &handlers, grace, spot, faults);
        }
    }
}

fn check_handler(
    owner: &Value,
    handlers: &[&str],
    grace: Option<i64>,
    spot: &Spot<'_>,
    faults: &mut Faults,
) {
    let mut seen = false;
    for handler in handlers.iter().filter(|h| has(owner, h)) {
        let spot = &spot.child(handler);
        if seen {
            faults.forbidden(spot, "may not specify more than 1 handler type");
            continue;
        }
        seen = true;
        let action = get(owner, handler);
        match *handler {
            "exec" if list(action, "command").is_empty() => {
                faults.required(&spot.child("command"), "");
            }
            "httpGet" => check_http(action, spot, faults),
            "tcpSocket" => check_port(get(action, "port"), &spot.child("port"), faults),
            "grpc" => {
                let port = number(action, "port");
                faults_of_number(port, &spot.child("port"), faults);
            }
            "sleep" => check_sleep(number(action, "seconds"), grace, spot, faults),
            _ => {}
        }
    }
    if !seen {
        faults.required(spot, "must specify a handler type");
    }
}

fn check_http(action: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if text(action, "path").is_empty() {
        faults.required(&spot.child("path"), "");
    }
    check_port(get(action, "port"), &spot.child("port"), faults);
    let scheme = text(action, "scheme");
    if !matches!(scheme, "HTTP" | "HTTPS") {
        faults.unsupported(&spot.child("scheme"), scheme, &["HTTP", "HTTPS"]);
    }
    for header in list(action, "httpHeaders") {
        let name = text(header, "name");
        let found = syntax::header_name(name);
        faults.invalid_each(&spot.child("httpHeaders"), name, found);
    }
}

fn check_sleep(seconds: i64, grace: Option<i64>, spot: &Spot<'_>, faults: &mut Faults) {
    if let Some(grace) = grace.filter(|grace| !(0..=*grace).contains(&seconds)) {
        let message =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        faults.invalid(spot, seconds, &message);
    }
}

/// Finds the faults of a port given by number or by name.
pub(crate) fn check_port(port: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    match port.as_str() {
        Some(name) => faults.invalid_each(spot, name, syntax::port_name(name)),
        None => faults_of_number(port.as_i64().unwrap_or(0), spot, faults),
    }
}

/// Finds the faults of a port number.
pub(crate) fn faults_of_number(port: i64, spot: &Spot<'_>, faults: &mut Faults) {
    for fault in syntax::port_number(port) {
        faults.invalid(spot, port, &fault);
    }
}
