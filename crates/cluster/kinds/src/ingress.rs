//! Ingresses and IngressClasses.

use crate::Endpoint;
use crate::fault::{Faults, Spot};
use crate::fields::{fill, get, has, list, number, some_mut, text, texts};
use crate::pod::probe;
use crate::rules::{PLAIN, Recheck, Rules, segment};
use crate::{service, syntax};
use model::{Value, meta, names};

/// What is special about an Ingress.
pub(crate) static INGRESS: Rules = Rules {
    check: |object, faults| {
        check_ingress(get(object, "spec"), None, faults);
        let class = get(get(object, "spec"), "ingressClassName").as_str();
        let noted = meta::annotation(object, "kubernetes.io/ingress.class");
        if let (Some(class), Some(noted)) = (class, noted)
            && class != noted
        {
            let spot = &Spot::of("annotations.kubernetes.io/ingress.class");
            let message = "must match `ingressClassName` when both are specified";
            faults.invalid(spot, noted, message);
        }
    },
    check_update: |new, old, endpoint, faults| {
        if endpoint == Endpoint::Status {
            check_ingress_status(new, old, faults);
        } else {
            check_ingress(get(new, "spec"), Some(get(old, "spec")), faults);
        }
    },
    warn: |new, old, out| {
        let noted = meta::annotation(new, "kubernetes.io/ingress.class").is_some();
        if noted && old.is_none() {
            out.push(
                "annotation \"kubernetes.io/ingress.class\" is deprecated, please use \
                 'spec.ingressClassName' instead"
                    .into(),
            );
        }
    },
    status: Some(r#"{"loadBalancer":{}}"#),
    generation: &["spec"],
    recheck: Recheck::Both,
    ..PLAIN
};

fn check_ingress(spec: &Value, old: Option<&Value>, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    let rules = list(spec, "rules");
    if rules.is_empty() && !has(spec, "defaultBackend") {
        let message = "either `defaultBackend` or `rules` must be specified";
        faults.invalid(spot, get(spec, "rules").clone(), message);
    }
    if has(spec, "defaultBackend") {
        let at = &spot.child("defaultBackend");
        check_backend(get(spec, "defaultBackend"), at, faults);
    }
    for (index, rule) in rules.iter().enumerate() {
        let at = &spot.child("rules");
        check_rule(rule, &at.index(index), faults);
    }
    let secret_fits = |name: &str| name.is_empty() || names::dns1123_subdomain(name).is_empty();
    let lenient = old.is_some_and(|old| {
        !list(old, "tls")
            .iter()
            .all(|tls| secret_fits(text(tls, "secretName")))
    });
    for (index, tls) in list(spec, "tls").iter().enumerate() {
        let at = &spot.child("tls");
        let at = &at.index(index);
        for (index, host) in texts(tls, "hosts").enumerate() {
            let at = &at.child("hosts");
            faults.invalid_each(&at.index(index), host, host_faults(host));
        }
        let name = text(tls, "secretName");
        if !lenient && !name.is_empty() {
            let found = names::dns1123_subdomain(name);
            faults.invalid_each(&at.child("secretName"), name, found);
        }
    }
    if let Some(class) = get(spec, "ingressClassName").as_str() {
        let found = names::dns1123_subdomain(class);
        faults.invalid_each(&spot.child("ingressClassName"), class, found);
    }
}

fn host_faults(host: &str) -> Vec<String> {
    if host.contains('*') {
        syntax::wildcard_subdomain(host)
    } else {
        names::dns1123_subdomain(host)
    }
}

fn check_rule(rule: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let host = text(rule, "host");
    if !host.is_empty() {
        let at = &spot.child("host");
        if syntax::sloppy_ip(host).is_some() {
            faults.invalid(at, host, "must be a DNS name, not an IP address");
        }
        faults.invalid_each(at, host, host_faults(host));
    }
    if !has(rule, "http") {
        return;
    }
    let at = &spot.child("http.paths");
    let paths = list(get(rule, "http"), "paths");
    if paths.is_empty() {
        faults.required(at, "");
    }
    for (index, path) in paths.iter().enumerate() {
        check_path(path, &at.index(index), faults);
    }
}

fn check_path(path: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let Some(kind) = get(path, "pathType").as_str() else {
        return faults.required(&spot.child("pathType"), "pathType must be specified");
    };
    let (value, at) = (text(path, "path"), &spot.child("path"));
    match kind {
        "Exact" | "Prefix" => {
            if !value.starts_with('/') {
                faults.invalid(at, value, "must be an absolute path");
            }
            for bad in ["//", "/./", "/../", "%2f", "%2F"] {
                if value.contains(bad) {
                    faults.invalid(at, value, &format!("must not contain '{bad}'"));
                }
            }
            for bad in ["/..", "/."] {
                if value.ends_with(bad) {
                    faults.invalid(at, value, &format!("cannot end with '{bad}'"));
                }
            }
        }
        "ImplementationSpecific" => {
            if !value.is_empty() && !value.starts_with('/') {
                faults.invalid(at, value, "must be an absolute path");
            }
        }
        other => faults.unsupported(
            &spot.child("pathType"),
            other,
            &["Exact", "ImplementationSpecific", "Prefix"],
        ),
    }
    check_backend(get(path, "backend"), &spot.child("backend"), faults);
}

fn check_backend(backend: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    match (has(backend, "resource"), has(backend, "service")) {
        (true, true) => {
            faults.invalid(spot, "", "cannot set both resource and service backends");
        }
        (true, false) => {
            let reference = get(backend, "resource");
            check_reference(reference, &spot.child("resource"), faults);
        }
        (false, true) => check_service(get(backend, "service"), spot, faults),
        (false, false) => {
            faults.invalid(spot, "", "resource or service backend is required");
        }
    }
}

fn check_service(target: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("service.name");
    match text(target, "name") {
        "" => faults.required(at, ""),
        name => faults.invalid_each(at, name, names::dns1123_label(name)),
    }
    let port = get(target, "port");
    match (text(port, "name"), number(port, "number")) {
        ("", 0) => faults.required(spot, "port name or number is required"),
        ("", number) => {
            probe::faults_of_number(number, &spot.child("service.port.number"), faults);
        }
        (name, 0) => {
            let at = &spot.child("service.port.name");
            faults.invalid_each(at, name, syntax::port_name(name));
        }
        _ => faults.invalid(spot, "", "cannot set both port name & port number"),
    }
}

fn check_reference(reference: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if let Some(group) = get(reference, "apiGroup").as_str() {
        let found = names::dns1123_subdomain(group);
        faults.invalid_each(&spot.child("apiGroup"), group, found);
    }
    for field in ["kind", "name"] {
        match text(reference, field) {
            "" => faults.required(&spot.child(field), ""),
            value => faults.invalid_each(&spot.child(field), value, segment(value, false)),
        }
    }
}

fn check_ingress_status(new: &Value, old: &Value, faults: &mut Faults) {
    let entries =
        |object: &Value| list(get(get(object, "status"), "loadBalancer"), "ingress").to_vec();
    let before = entries(old);
    let known: Vec<&str> = before.iter().map(|entry| text(entry, "ip")).collect();
    let spot = &Spot::of("status.loadBalancer.ingress");
    for (index, entry) in entries(new).iter().enumerate() {
        let at = &spot.index(index);
        let ip = text(entry, "ip");
        if !ip.is_empty() {
            syntax::check_ip(ip, &known, &at.child("ip"), faults);
        }
        service::check_host(text(entry, "hostname"), &at.child("hostname"), faults);
    }
}

/// What is special about an IngressClass.
pub(crate) static INGRESS_CLASS: Rules = Rules {
    default: |object, _| {
        let parameters = some_mut(object, "spec").and_then(|own| some_mut(own, "parameters"));
        if let Some(parameters) = parameters {
            fill(parameters, "scope", "Cluster");
        }
    },
    check: |object, faults| check_class(get(object, "spec"), faults),
    check_update: |new, old, _, faults| {
        let (spec, before) = (get(new, "spec"), get(old, "spec"));
        if text(spec, "controller") != text(before, "controller") {
            let controller = text(spec, "controller");
            let spot = &Spot::of("spec.controller");
            faults.invalid(spot, controller, "field is immutable");
        }
        check_class(spec, faults);
    },
    generation: &["spec"],
    recheck: Recheck::Both,
    ..PLAIN
};

fn check_class(spec: &Value, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    let controller = text(spec, "controller");
    if controller.len() > 250 {
        faults.too_long(&spot.child("controller"), 250);
    }
    syntax::check_domain_path(controller, &spot.child("controller"), faults);
    let parameters = get(spec, "parameters");
    if parameters.is_null() {
        return;
    }
    let at = &spot.child("parameters");
    check_reference(parameters, at, faults);
    let namespace = get(parameters, "namespace").as_str();
    let in_namespace = &at.child("namespace");
    match get(parameters, "scope").as_str() {
        None => faults.required(&at.child("scope"), ""),
        Some("Namespace") => match namespace {
            None => faults.required(in_namespace, "`parameters.scope` is set to 'Namespace'"),
            Some(name) => faults.invalid_each(in_namespace, name, names::dns1123_label(name)),
        },
        Some("Cluster") => {
            if namespace.is_some() {
                faults.forbidden(in_namespace, "`parameters.scope` is set to 'Cluster'");
            }
        }
        Some(other) => {
            faults.unsupported(&at.child("scope"), other, &["Cluster", "Namespace"]);
        }
    }
}
