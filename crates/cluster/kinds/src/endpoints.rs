//! Endpoints and EndpointSlices.

use crate::fault::{Faults, Spot};
use crate::fields::{fill, fill_empty, get, has, items_mut, list, number, same, text, texts};
use crate::pod::{container, probe, warnings};
use crate::rules::{PLAIN, Recheck, Rules};
use crate::syntax;
use model::{Value, names};

/// What is special about Endpoints.
pub(crate) static ENDPOINTS: Rules = Rules {
    default: |object, _| {
        for subset in items_mut(object, "subsets") {
            for port in items_mut(subset, "ports") {
                fill_empty(port, "protocol", "TCP");
            }
        }
    },
    check: check_endpoints,
    check_update: |new, old, _, faults| {
        if !same(get(new, "subsets"), get(old, "subsets")) {
            check_endpoints(new, faults);
        }
    },
    warn: |new, _, out| {
        for (index, subset) in list(new, "subsets").iter().enumerate() {
            let spot = &Spot::of("subsets");
            let spot = &spot.index(index);
            for field in ["addresses", "notReadyAddresses"] {
                for (index, entry) in list(subset, field).iter().enumerate() {
                    let at = &spot.child(field);
                    let at = &at.index(index);
                    warnings::address(text(entry, "ip"), &at.child("ip"), out);
                }
            }
        }
    },
    create_on_update: true,
    recheck: Recheck::Both,
    ..PLAIN
};

fn check_endpoints(object: &Value, faults: &mut Faults) {
    let spot = &Spot::of("subsets");
    for (index, subset) in list(object, "subsets").iter().enumerate() {
        let spot = &spot.index(index);
        let groups = ["addresses", "notReadyAddresses"];
        if groups.iter().all(|field| list(subset, field).is_empty()) {
            faults.required(spot, "must specify `addresses` or `notReadyAddresses`");
        }
        for field in groups {
            for (index, entry) in list(subset, field).iter().enumerate() {
                let at = &spot.child(field);
                check_address(entry, &at.index(index), faults);
            }
        }
        let ports = list(subset, "ports");
        for (index, port) in ports.iter().enumerate() {
            let at = &spot.child("ports");
            check_port(port, ports.len() > 1, &at.index(index), faults);
        }
    }
}

fn check_address(entry: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let ip = text(entry, "ip");
    syntax::check_ip(ip, &[], &spot.child("ip"), faults);
    let host = text(entry, "hostname");
    if !host.is_empty() {
        faults.invalid_each(&spot.child("hostname"), host, names::dns1123_label(host));
    }
    if let Some(node) = get(entry, "nodeName").as_str() {
        let found = names::dns1123_subdomain(node);
        faults.invalid_each(&spot.child("nodeName"), node, found);
    }
    syntax::check_endpoint_ip(ip, &spot.child("ip"), faults);
}

fn check_port(port: &Value, named: bool, spot: &Spot<'_>, faults: &mut Faults) {
    match text(port, "name") {
        "" if named => faults.required(&spot.child("name"), ""),
        "" => {}
        name => faults.invalid_each(&spot.child("name"), name, names::dns1123_label(name)),
    }
    probe::faults_of_number(number(port, "port"), &spot.child("port"), faults);
    container::check_protocol(text(port, "protocol"), &spot.child("protocol"), faults);
    check_app_protocol(port, spot, faults);
}

fn check_app_protocol(port: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    if let Some(protocol) = get(port, "appProtocol").as_str() {
        let found = names::qualified_name(protocol);
        faults.invalid_each(&spot.child("appProtocol"), protocol, found);
    }
}

/// What is special about an EndpointSlice.
pub(crate) static SLICE: Rules = Rules {
    default: |object, _| {
        for port in items_mut(object, "ports") {
            fill(port, "name", "");
            fill(port, "protocol", "TCP");
        }
    },
    check: |object, faults| check_slice(object, None, faults),
    check_update: |new, old, _, faults| {
        check_slice(new, Some(old), faults);
        let (now, then) = (get(new, "addressType"), get(old, "addressType"));
        faults.immutable(&Spot::of("addressType"), now, then);
    },
    warn: |new, _, out| {
        for (index, endpoint) in list(new, "endpoints").iter().enumerate() {
            for (at, ip) in texts(endpoint, "addresses").enumerate() {
                let spot = &Spot::of("endpoints");
                let spot = &spot.index(index);
                let spot = &spot.child("addresses");
                warnings::address(ip, &spot.index(at), out);
            }
        }
    },
    generation: &["addressType", "endpoints", "ports", "metadata.labels"],
    recheck: Recheck::AsNew,
    ..PLAIN
};

fn check_slice(object: &Value, old: Option<&Value>, faults: &mut Faults) {
    let types = ["FQDN", "IPv4", "IPv6"];
    let kind = text(object, "addressType");
    faults.one_of(&Spot::of("addressType"), kind, &types);
    let ports = list(object, "ports");
    let spot = &Spot::of("ports");
    if ports.len() > 20_000 {
        faults.too_many(spot, ports.len(), 20_000);
    } else {
        check_slice_ports(ports, spot, faults);
    }
    let unchanged = old.is_some_and(|old| same(get(old, "endpoints"), get(object, "endpoints")));
    if !unchanged {
        check_members(list(object, "endpoints"), kind, faults);
    }
}

fn check_slice_ports(ports: &[Value], spot: &Spot<'_>, faults: &mut Faults) {
    for (index, port) in ports.iter().enumerate() {
        let spot = &spot.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            faults.invalid_each(&spot.child("name"), name, names::dns1123_label(name));
        }
        if ports[..index]
            .iter()
            .any(|other| text(other, "name") == name)
        {
            faults.duplicate(&spot.child("name"), name);
        }
        container::check_protocol(text(port, "protocol"), &spot.child("protocol"), faults);
        check_app_protocol(port, spot, faults);
    }
}

fn check_members(endpoints: &[Value], kind: &str, faults: &mut Faults) {
    let spot = &Spot::of("endpoints");
    if endpoints.len() > 1000 {
        return faults.too_many(spot, endpoints.len(), 1000);
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let spot = &spot.index(index);
        let at = &spot.child("addresses");
        let count = list(endpoint, "addresses").len();
        if count == 0 {
            faults.required(at, "must contain at least 1 address");
        } else if count > 100 {
            faults.too_many(at, count, 100);
        }
        for (index, address) in texts(endpoint, "addresses").enumerate() {
            check_member(address, kind, at, &at.index(index), faults);
        }
        if let Some(node) = get(endpoint, "nodeName").as_str() {
            let found = names::dns1123_subdomain(node);
            faults.invalid_each(&spot.child("nodeName"), node, found);
        }
        if let Some(host) = get(endpoint, "hostname").as_str() {
            faults.invalid_each(&spot.child("hostname"), host, names::dns1123_label(host));
        }
        if has(endpoint, "hints") {
            check_hints(get(endpoint, "hints"), &spot.child("hints"), faults);
        }
    }
}

fn check_member(address: &str, kind: &str, all: &Spot<'_>, spot: &Spot<'_>, faults: &mut Faults) {
    let start = faults.len();
    match kind {
        "IPv4" => syntax::check_ip(address, &[], spot, faults),
        "IPv6" => syntax::check_canonical_ip(address, spot, faults),
        "FQDN" => return check_domain(address, spot, faults),
        _ => return,
    }
    if faults.len() > start {
        return;
    }
    if syntax::is_ipv6(address) != (kind == "IPv6") {
        faults.invalid(all, address, &format!("must be an {kind} address"));
    }
    syntax::check_endpoint_ip(address, spot, faults);
}

fn check_domain(name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let name = name.strip_suffix('.').unwrap_or(name);
    let found = names::dns1123_subdomain(name);
    if name.is_empty() {
        faults.required(spot, "");
    } else if !found.is_empty() {
        faults.invalid(spot, name, &found.join(","));
    } else if !name.contains('.') {
        let message = "should be a domain with at least two segments separated by dots";
        faults.invalid(spot, name, message);
    }
}

fn check_hints(hints: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for field in ["forZones", "forNodes"] {
        let at = &spot.child(field);
        let entries = list(hints, field);
        if entries.len() > 8 {
            return faults.too_many(at, entries.len(), 8);
        }
        for (index, entry) in entries.iter().enumerate() {
            let at = &at.index(index);
            let at = &at.child("name");
            let name = text(entry, "name");
            if entries[..index]
                .iter()
                .any(|other| text(other, "name") == name)
            {
                faults.duplicate(at, name);
            }
            let found = if field == "forZones" {
                names::label_value(name)
            } else {
                names::dns1123_subdomain(name)
            };
            faults.invalid_each(at, name, found);
        }
    }
}
