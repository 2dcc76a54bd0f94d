//! NetworkPolicies, IPAddresses and ServiceCIDRs.

use crate::Endpoint;
use crate::fault::{Faults, Spot};
use crate::fields::{fill, get, has, int, is_empty, items_mut, list, same, set, slot, text, texts};
use crate::pod::probe;
use crate::rules::{Keeps, Name, PLAIN, Recheck, Rules, segment};
use crate::{selector, syntax};
use model::{Value, json, meta};

/// What is special about a NetworkPolicy.
pub(crate) static NETWORK_POLICY: Rules = Rules {
    default: |object, _| default_policy(slot(object, "spec")),
    check: |object, faults| check_policy(get(object, "spec"), &[], faults),
    check_update: |new, old, _, faults| {
        let before = get(old, "spec");
        let mut known: Vec<&str> = Vec::new();
        for (side, peers) in [("ingress", "from"), ("egress", "to")] {
            for peer in list(before, side).iter().flat_map(|rule| list(rule, peers)) {
                let block = get(peer, "ipBlock");
                known.push(text(block, "cidr"));
                known.extend(texts(block, "except"));
            }
        }
        check_policy(get(new, "spec"), &known, faults);
    },
    generation: &["spec"],
    ..PLAIN
};

fn default_policy(spec: &mut Value) {
    for side in ["ingress", "egress"] {
        for rule in items_mut(spec, side) {
            for port in items_mut(rule, "ports") {
                fill(port, "protocol", "TCP");
            }
        }
    }
    if is_empty(get(spec, "policyTypes")) {
        let types = if list(spec, "egress").is_empty() {
            json!(["Ingress"])
        } else {
            json!(["Ingress", "Egress"])
        };
        set(spec, "policyTypes", types);
    }
}

fn check_policy(spec: &Value, known: &[&str], faults: &mut Faults) {
    let spot = &Spot::of("spec");
    selector::check(get(spec, "podSelector"), &spot.child("podSelector"), faults);
    for (side, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in list(spec, side).iter().enumerate() {
            let at = &spot.child(side);
            let at = &at.index(index);
            for (index, port) in list(rule, "ports").iter().enumerate() {
                let at = &at.child("ports");
                check_port(port, &at.index(index), faults);
            }
            for (index, peer) in list(rule, peers).iter().enumerate() {
                let at = &at.child(peers);
                check_peer(peer, known, &at.index(index), faults);
            }
        }
    }
    let at = &spot.child("policyTypes");
    if list(spec, "policyTypes").len() > 2 {
        let message = "may not specify more than two policyTypes";
        return faults.invalid(at, get(spec, "policyTypes").clone(), message);
    }
    for (index, kind) in texts(spec, "policyTypes").enumerate() {
        if !matches!(kind, "Ingress" | "Egress") {
            faults.unsupported(&at.index(index), kind, &["Ingress", "Egress"]);
        }
    }
}

fn check_port(port: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    faults.maybe_one_of(
        &spot.child("protocol"),
        get(port, "protocol"),
        &["TCP", "UDP", "SCTP"],
    );
    let at = &spot.child("endPort");
    let end = int(port, "endPort");
    match get(port, "port") {
        Value::Null => {
            if let Some(end) = end {
                let message = "may not be specified when `port` is not specified";
                faults.invalid(at, end, message);
            }
        }
        Value::String(name) => {
            if let Some(end) = end {
                let message = "may not be specified when `port` is non-numeric";
                faults.invalid(at, end, message);
            }
            faults.invalid_each(&spot.child("port"), name, syntax::port_name(name));
        }
        number => {
            let start = number.as_i64().unwrap_or(0);
            probe::faults_of_number(start, &spot.child("port"), faults);
            if let Some(end) = end {
                if end < start {
                    let message = "must be greater than or equal to `port`";
                    faults.invalid(at, start, message);
                }
                probe::faults_of_number(end, at, faults);
            }
        }
    }
}

fn check_peer(peer: &Value, known: &[&str], spot: &Spot<'_>, faults: &mut Faults) {
    let mut count = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if has(peer, field) {
            count += 1;
            selector::check(get(peer, field), &spot.child(field), faults);
        }
    }
    if has(peer, "ipBlock") {
        count += 1;
        let block = get(peer, "ipBlock");
        check_block(block, known, &spot.child("ipBlock"), faults);
    }
    if count == 0 {
        faults.required(spot, "must specify a peer");
    } else if count > 1 && has(peer, "ipBlock") {
        faults.forbidden(spot, "may not specify both ipBlock and another peer");
    }
}

fn check_block(block: &Value, known: &[&str], spot: &Spot<'_>, faults: &mut Faults) {
    let range = text(block, "cidr");
    if range.is_empty() {
        return faults.required(&spot.child("cidr"), "");
    }
    syntax::check_cidr(range, known, &spot.child("cidr"), faults);
    let Some(network) = syntax::Network::parse(range) else {
        return;
    };
    for (index, except) in texts(block, "except").enumerate() {
        let at = &spot.child("except");
        let at = &at.index(index);
        syntax::check_cidr(except, known, at, faults);
        let Some(hole) = syntax::Network::parse(except) else {
            continue;
        };
        if !network.contains(hole.base) || network.bits >= hole.bits {
            faults.invalid(at, except, "must be a strict subset of `cidr`");
        }
    }
}

/// What is special about an IPAddress.
pub(crate) static IP_ADDRESS: Rules = Rules {
    check: |object, faults| {
        let parent = get(get(object, "spec"), "parentRef");
        let spot = &Spot::of("spec.parentRef");
        if parent.is_null() {
            return faults.required(spot, "");
        }
        for field in ["resource", "name"] {
            match text(parent, field) {
                "" => faults.required(&spot.child(field), ""),
                value => {
                    faults.invalid_each(&spot.child(field), value, segment(value, false));
                }
            }
        }
    },
    check_update: |new, old, _, faults| {
        let parent = |object: &Value| get(get(object, "spec"), "parentRef").clone();
        if !same(&parent(new), &parent(old)) {
            let spot = &Spot::of("spec.parentRef");
            faults.invalid(spot, parent(new), "field is immutable");
        }
    },
    name: Name::Own(|name, _| {
        let mut faults = Faults::default();
        syntax::check_canonical_ip(name, &Spot::of(""), &mut faults);
        faults
            .into_list()
            .into_iter()
            .filter_map(|fault| fault.detail)
            .collect()
    }),
    select: |object| {
        let family = if syntax::is_ipv6(meta::name(object)) {
            "IPv6"
        } else {
            "IPv4"
        };
        vec![("ipaddress.family", family.into())]
    },
    recheck: Recheck::Around,
    ..PLAIN
};

/// What is special about a ServiceCIDR.
pub(crate) static SERVICE_CIDR: Rules = Rules {
    check: |object, faults| {
        let spot = &Spot::of("spec.cidrs");
        let spec = get(object, "spec");
        if list(spec, "cidrs").is_empty() {
            return faults.required(spot, "at least one CIDR required");
        }
        for (index, range) in texts(spec, "cidrs").enumerate() {
            syntax::check_cidr(range, &[], &spot.index(index), faults);
        }
    },
    check_update: |new, old, endpoint, faults| {
        let (now, then) = (
            get(get(new, "spec"), "cidrs"),
            get(get(old, "spec"), "cidrs"),
        );
        if endpoint == Endpoint::Main && !same(now, then) {
            faults.invalid(&Spot::of("spec.cidrs"), now.clone(), "field is immutable");
        }
    },
    status: Some("{}"),
    status_keeps: Keeps::All,
    ..PLAIN
};
