//! Checks services.

use super::{has_health_port, is_external, is_headless};
use crate::fault::{Faults, Spot};
use crate::fields::{get, has, list, number, same, text, texts};
use crate::pod::{container, probe};
use crate::{Endpoint, go, metadata, syntax};
use model::{FieldError, FieldErrorKind, Value, meta, names};

const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// Finds the faults of a service.
pub(super) fn check(service: &Value, old: Option<&Value>, faults: &mut Faults) {
    let spec = get(service, "spec");
    let before = old.map(|old| get(old, "spec"));
    let spot = &Spot::of("spec");
    check_hints(service, faults);
    let headless = is_headless(spec);
    let kind = text(spec, "type");
    let ports = list(spec, "ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        faults.required(&spot.child("ports"), "");
    }
    check_type(spec, headless, spot, faults);
    check_ports(spec, &spot.child("ports"), faults);
    metadata::check_labels(get(spec, "selector"), &spot.child("selector"), faults);
    check_affinity(spec, spot, faults);
    check_addresses(spec, before, faults);
    check_external_ips(spec, before, spot, faults);
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    faults.one_of(&spot.child("type"), kind, &types);
    check_node_ports(spec, &spot.child("ports"), faults);
    check_ranges(service, old, spot, faults);
    let field = "allocateLoadBalancerNodePorts";
    if has(spec, field) && kind != "LoadBalancer" {
        let message = "may only be used when `type` is 'LoadBalancer'";
        faults.forbidden(&spot.child(field), message);
    }
    if kind == "LoadBalancer" && !has(spec, field) {
        faults.required(&Spot::of(field), "");
    }
    check_class(spec, None, spot, faults);
    check_traffic(spec, spot, faults);
}

fn check_hints(service: &Value, faults: &mut Faults) {
    let (old_key, key) = (
        "service.kubernetes.io/topology-aware-hints",
        "service.kubernetes.io/topology-mode",
    );
    let (hints, mode) = (
        meta::annotation(service, old_key),
        meta::annotation(service, key),
    );
    if let (Some(hints), Some(mode)) = (hints, mode)
        && hints != mode
    {
        let at = Spot::of("metadata.annotations");
        let message = format!("must match annotations[{old_key}] when both are specified");
        faults.invalid(&at.key(key), mode, &message);
    }
}

fn check_type(spec: &Value, headless: bool, spot: &Spot<'_>, faults: &mut Faults) {
    match text(spec, "type") {
        kind @ ("LoadBalancer" | "NodePort") if headless => {
            let at = &spot.child("clusterIPs");
            let message = format!("may not be set to 'None' for {kind} services");
            faults.invalid(&at.index(0), "None", &message);
        }
        "ExternalName" => {
            let message = "may not be set for ExternalName services";
            for field in ["clusterIPs", "ipFamilies"] {
                if !list(spec, field).is_empty() {
                    faults.forbidden(&spot.child(field), message);
                }
            }
            if has(spec, "ipFamilyPolicy") {
                faults.forbidden(&spot.child("ipFamilyPolicy"), message);
            }
            let name = text(spec, "externalName");
            match name.strip_suffix('.').unwrap_or(name) {
                "" => faults.required(&spot.child("externalName"), ""),
                name => {
                    let found = names::dns1123_subdomain(name);
                    faults.invalid_each(&spot.child("externalName"), name, found);
                }
            }
        }
        _ => {}
    }
}

fn check_ports(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let ports = list(spec, "ports");
    let mut seen: Vec<&str> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let spot = &spot.index(index);
        let name = text(port, "name");
        if name.is_empty() && ports.len() > 1 {
            faults.required(&spot.child("name"), "");
        } else if !name.is_empty() {
            faults.invalid_each(&spot.child("name"), name, names::dns1123_label(name));
            if seen.contains(&name) {
                faults.duplicate(&spot.child("name"), name);
            } else {
                seen.push(name);
            }
        }
        probe::faults_of_number(number(port, "port"), &spot.child("port"), faults);
        container::check_protocol(text(port, "protocol"), &spot.child("protocol"), faults);
        probe::check_port(get(port, "targetPort"), &spot.child("targetPort"), faults);
        if let Some(protocol) = get(port, "appProtocol").as_str() {
            let found = names::qualified_name(protocol);
            faults.invalid_each(&spot.child("appProtocol"), protocol, found);
        }
    }
}

fn check_affinity(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let affinity = text(spec, "sessionAffinity");
    let at = &spot.child("sessionAffinity");
    faults.one_of(at, affinity, &["ClientIP", "None"]);
    let at = &spot.child("sessionAffinityConfig");
    match affinity {
        "ClientIP" => {
            let config = get(spec, "sessionAffinityConfig");
            let seconds = number(get(config, "clientIP"), "timeoutSeconds");
            if config.is_null() {
                faults.required(at, "when session affinity type is ClientIP");
            } else if !(1..=86_400).contains(&seconds) {
                let at = &at.child("clientIP.timeoutSeconds");
                let message = "must be greater than 0 and less than 86400";
                faults.invalid(at, seconds, message);
            }
        }
        "None" if has(spec, "sessionAffinityConfig") => {
            let message = "must not be set when session affinity is None";
            faults.forbidden(at, message);
        }
        _ => {}
    }
}

/// Finds the faults of the addresses and address families of a service.
pub(super) fn check_addresses(spec: &Value, before: Option<&Value>, faults: &mut Faults) {
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let spot = Spot::of("spec");
    let at = &spot.child("clusterIPs");
    let (own, all) = (text(spec, "clusterIP"), get(spec, "clusterIPs"));
    let ips: Vec<&str> = texts(spec, "clusterIPs").collect();
    if own.is_empty() {
        if !ips.is_empty() {
            let message = "must be empty when `clusterIP` is not specified";
            faults.invalid(at, all.clone(), message);
        }
    } else if ips.is_empty() {
        faults.required(at, "");
    } else if ips[0] != own {
        faults.invalid(at, all.clone(), "first value must match `clusterIP`");
    }
    check_families(spec, &spot, faults);
    let known: Vec<&str> = before
        .map(|before| texts(before, "clusterIPs").collect())
        .unwrap_or_default();
    let start = faults.len();
    for (index, ip) in ips.iter().enumerate() {
        if index == 0 && *ip == "None" {
            if ips.len() > 1 {
                let message = "'None' must be the first and only value";
                faults.invalid(at, all.clone(), message);
            }
            continue;
        }
        syntax::check_ip(ip, &known, &at.index(index), faults);
    }
    let broken = faults.len() > start;
    if ips.len() > 2 {
        faults.invalid(at, all.clone(), "may only hold up to 2 values");
    }
    if broken {
        return;
    }
    if ips.len() > 1
        && ips
            .iter()
            .all(|ip| syntax::is_ipv6(ip) == syntax::is_ipv6(ips[0]))
    {
        let message = "may specify no more than one IP for each IP family";
        faults.invalid(at, all.clone(), message);
    }
    if is_headless(spec) {
        return;
    }
    for (index, (ip, family)) in ips.iter().zip(texts(spec, "ipFamilies")).enumerate() {
        let real = if syntax::is_ipv6(ip) { "IPv6" } else { "IPv4" };
        if matches!(family, "IPv4" | "IPv6") && real != family {
            let message =
                format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            faults.invalid(&at.index(index), *ip, &message);
        }
    }
}

fn check_families(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("ipFamilies");
    let mut seen: Vec<&str> = Vec::new();
    for (index, family) in texts(spec, "ipFamilies").enumerate() {
        if !matches!(family, "IPv4" | "IPv6") {
            faults.unsupported(&at.index(index), family, &["IPv4", "IPv6"]);
        }
        if seen.contains(&family) {
            faults.duplicate(&at.index(index), family);
        }
        seen.push(family);
    }
    faults.maybe_one_of(
        &spot.child("ipFamilyPolicy"),
        get(spec, "ipFamilyPolicy"),
        &["PreferDualStack", "RequireDualStack", "SingleStack"],
    );
}

fn check_external_ips(spec: &Value, before: Option<&Value>, spot: &Spot<'_>, faults: &mut Faults) {
    let known: Vec<&str> = before
        .map(|before| texts(before, "externalIPs").collect())
        .unwrap_or_default();
    for (index, ip) in texts(spec, "externalIPs").enumerate() {
        let at = &spot.child("externalIPs");
        let at = &at.index(index);
        let start = faults.len();
        syntax::check_ip(ip, &known, at, faults);
        if faults.len() == start {
            syntax::check_endpoint_ip(ip, at, faults);
        }
    }
}

fn check_node_ports(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let ports = list(spec, "ports");
    for (index, port) in ports.iter().enumerate() {
        if text(spec, "type") == "ClusterIP" && number(port, "nodePort") != 0 {
            let spot = &spot.index(index);
            let message = "may not be used when `type` is 'ClusterIP'";
            faults.forbidden(&spot.child("nodePort"), message);
        }
    }
    let node = |port: &Value| (text(port, "protocol").to_owned(), number(port, "nodePort"));
    for (index, port) in ports.iter().enumerate() {
        let own = node(port);
        if own.1 != 0 && ports[..index].iter().any(|other| node(other) == own) {
            let spot = &spot.index(index);
            faults.duplicate(&spot.child("nodePort"), own.1);
        }
    }
    let door = |port: &Value| (text(port, "protocol").to_owned(), number(port, "port"));
    for (index, port) in ports.iter().enumerate() {
        let own = door(port);
        if ports[..index].iter().any(|other| door(other) == own) {
            let key = model::json!({"protocol": own.0, "port": own.1});
            faults.push(FieldError {
                kind: FieldErrorKind::Duplicate,
                field: spot.index(index).path().to_string(),
                detail: None,
                value: Some(go::show("ServicePort", &key)),
            });
        }
    }
}

fn check_ranges(service: &Value, old: Option<&Value>, spot: &Spot<'_>, faults: &mut Faults) {
    let spec = get(service, "spec");
    let balanced = text(spec, "type") == "LoadBalancer";
    let message = "may only be used when `type` is 'LoadBalancer'";
    if !list(spec, "loadBalancerSourceRanges").is_empty() {
        let at = &spot.child("LoadBalancerSourceRanges");
        if !balanced {
            faults.forbidden(at, message);
        }
        let known: Vec<&str> = old
            .map(|old| {
                texts(get(old, "spec"), "loadBalancerSourceRanges")
                    .map(str::trim)
                    .collect()
            })
            .unwrap_or_default();
        for (index, range) in texts(spec, "loadBalancerSourceRanges").enumerate() {
            syntax::check_cidr(range.trim(), &known, &at.index(index), faults);
        }
    } else if let Some(ranges) = meta::annotation(service, RANGES) {
        let at = Spot::of("metadata.annotations");
        let at = &at.key(RANGES);
        if !balanced {
            faults.forbidden(at, message);
        }
        let unchanged = old.is_some_and(|old| meta::annotation(old, RANGES) == Some(ranges));
        if !unchanged && !ranges.trim().is_empty() {
            for range in ranges.trim().split(',') {
                syntax::check_cidr(range.trim(), &[], at, faults);
            }
        }
    }
}

fn check_class(spec: &Value, before: Option<&Value>, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("loadBalancerClass");
    let class = get(spec, "loadBalancerClass");
    let balanced = text(spec, "type") == "LoadBalancer";
    if let Some(before) = before.filter(|before| text(before, "type") == "LoadBalancer")
        && balanced
        && !same(class, get(before, "loadBalancerClass"))
    {
        faults.invalid(at, class.clone(), "may not change once set");
    }
    match class.as_str() {
        Some(name) if balanced => faults.invalid_each(at, name, names::qualified_name(name)),
        Some(_) => faults.forbidden(at, "may only be used when `type` is 'LoadBalancer'"),
        None => {}
    }
}

fn check_traffic(spec: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("externalTrafficPolicy");
    let policy = text(spec, "externalTrafficPolicy");
    if is_external(spec) {
        faults.one_of(at, policy, &["Cluster", "Local"]);
    } else if !policy.is_empty() {
        let message = "may only be set for externally-accessible services";
        faults.invalid(at, policy, message);
    }
    let at = &spot.child("healthCheckNodePort");
    match (has_health_port(spec), number(spec, "healthCheckNodePort")) {
        (false, 0) => {}
        (false, port) => {
            let message = "may only be set when `type` is 'LoadBalancer' and \
                 `externalTrafficPolicy` is 'Local'";
            faults.invalid(at, port, message);
        }
        (true, 0) => faults.required(at, ""),
        (true, port) => probe::faults_of_number(port, at, faults),
    }
    let at = &spot.child("internalTrafficPolicy");
    let inside = get(spec, "internalTrafficPolicy");
    let routed = matches!(
        text(spec, "type"),
        "NodePort" | "LoadBalancer" | "ClusterIP"
    );
    if inside.is_null() && routed {
        faults.required(at, "");
    }
    faults.maybe_one_of(at, inside, &["Cluster", "Local"]);
    faults.maybe_one_of(
        &spot.child("trafficDistribution"),
        get(spec, "trafficDistribution"),
        &["PreferClose", "PreferSameZone", "PreferSameNode"],
    );
}

/// Finds the faults of an update.
pub(super) fn check_update(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    let (spec, before) = (get(new, "spec"), get(old, "spec"));
    if endpoint == Endpoint::Status {
        return check_status(new, old, faults);
    }
    let spot = &Spot::of("spec");
    let named = [spec, before]
        .iter()
        .any(|s| text(s, "type") == "ExternalName");
    if !named {
        keep_addresses(spec, before, spot, faults);
        keep_families(spec, before, spot, faults);
    }
    check_class(spec, Some(before), spot, faults);
    let field = "healthCheckNodePort";
    if has_health_port(before)
        && has_health_port(spec)
        && number(spec, field) != number(before, field)
    {
        faults.forbidden(&spot.child(field), "field is immutable");
    }
    check(new, Some(old), faults);
}

fn keep_addresses(spec: &Value, before: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if is_headless(spec) && is_headless(before) {
        return;
    }
    let at = &spot.child("clusterIPs");
    let (ips, known): (Vec<&str>, Vec<&str>) = (
        texts(spec, "clusterIPs").collect(),
        texts(before, "clusterIPs").collect(),
    );
    let shown = get(spec, "clusterIPs");
    if ips.len() == known.len() {
        for (index, (ip, old)) in ips.iter().zip(&known).enumerate() {
            if ip != old {
                faults.invalid(&at.index(index), shown.clone(), "may not change once set");
            }
        }
        return;
    }
    if ips.is_empty() {
        let message = "primary clusterIP can not be unset";
        return faults.invalid(&at.index(0), shown.clone(), message);
    }
    if !known.is_empty() && ips[0] != known[0] {
        faults.invalid(&at.index(0), shown.clone(), "may not change once set");
    }
    if ips.len() < known.len() && ips.len() == 1 && text(spec, "ipFamilyPolicy") != "SingleStack" {
        let policy = get(spec, "ipFamilyPolicy").clone();
        let message = "must be set to 'SingleStack' when releasing the secondary clusterIP";
        faults.invalid(&spot.child("ipFamilyPolicy"), policy, message);
    }
}

fn keep_families(spec: &Value, before: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if is_headless(spec) || is_headless(before) {
        return;
    }
    let at = &spot.child("ipFamilies");
    let (now, then): (Vec<&str>, Vec<&str>) = (
        texts(spec, "ipFamilies").collect(),
        texts(before, "ipFamilies").collect(),
    );
    if now.len() == then.len() {
        for _ in now.iter().zip(&then).filter(|(a, b)| a != b) {
            let shown = get(spec, "ipFamilies").clone();
            faults.invalid(&at.index(0), shown, "may not change once set");
        }
        return;
    }
    let moved = now.first().zip(then.first()).is_some_and(|(a, b)| a != b);
    if moved {
        let shown = get(spec, "clusterIPs").clone();
        faults.invalid(&at.index(0), shown, "may not change once set");
    }
    if now.len() < then.len() && now.len() == 1 && text(spec, "ipFamilyPolicy") != "SingleStack" {
        let policy = get(spec, "ipFamilyPolicy").clone();
        let message = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        faults.invalid(&spot.child("ipFamilyPolicy"), policy, message);
    }
}

fn check_status(new: &Value, old: &Value, faults: &mut Faults) {
    let at = &Spot::of("status.loadBalancer.ingress");
    let entries = list(get(get(new, "status"), "loadBalancer"), "ingress");
    if text(get(new, "spec"), "type") != "LoadBalancer" && !entries.is_empty() {
        let message = "may only be used when `spec.type` is 'LoadBalancer'";
        return faults.forbidden(at, message);
    }
    let known: Vec<&str> = list(get(get(old, "status"), "loadBalancer"), "ingress")
        .iter()
        .map(|entry| text(entry, "ip"))
        .collect();
    for (index, entry) in entries.iter().enumerate() {
        let at = &at.index(index);
        let ip = text(entry, "ip");
        if !ip.is_empty() {
            syntax::check_ip(ip, &known, &at.child("ip"), faults);
        }
        let mode = &at.child("ipMode");
        match get(entry, "ipMode").as_str() {
            None if !ip.is_empty() => faults.required(mode, "must be specified when `ip` is set"),
            Some(_) if ip.is_empty() => {
                faults.forbidden(mode, "may not be specified when `ip` is not set");
            }
            Some(other) if !matches!(other, "VIP" | "Proxy") => {
                faults.unsupported(mode, other, &["Proxy", "VIP"]);
            }
            _ => {}
        }
        check_host(text(entry, "hostname"), &at.child("hostname"), faults);
    }
}

/// Finds the faults of a host name in a load balancer's status.
pub(crate) fn check_host(host: &str, spot: &Spot<'_>, faults: &mut Faults) {
    if host.is_empty() {
        return;
    }
    faults.invalid_each(spot, host, names::dns1123_subdomain(host));
    if syntax::sloppy_ip(host).is_some() {
        faults.invalid(spot, host, "must be a DNS name, not an IP address");
    }
}
