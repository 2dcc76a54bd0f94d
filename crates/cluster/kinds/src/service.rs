//! Services: types, ports and addresses.
//!
//! Addresses and node ports are handed out by the caller, who keeps the pools. It asks in this
//! order, on create and on update alike, before anything else is prepared or checked:
//!
//! ```text
//! settle (families, carried over addresses) ─▶ needs (what to claim and release) ─▶ prepare, validate
//! ```

mod addresses;
mod check;

pub use addresses::{Needs, NodePort, WantedIp, needs, settle};
pub(crate) use check::check_host;

use crate::fault::Spot;
use crate::fields::{
    carry, fill, fill_empty, get, has, is_empty, items_mut, list, map_slot, number, same, set,
    slot, text, texts, unset,
};
use crate::pod::warnings::address;
use crate::rules::{Name, PLAIN, Rules};
use crate::{Endpoint, Fresh};
use model::{Map, Value, json};

/// What is special about a Service.
pub(crate) static SERVICE: Rules = Rules {
    default: |object, _| default(object),
    update,
    check: |object, faults| check::check(object, None, faults),
    check_update: check::check_update,
    warn: |new, _, out| warn(new, out),
    select: |object| {
        let spec = get(object, "spec");
        vec![
            ("spec.clusterIP", text(spec, "clusterIP").into()),
            ("spec.type", text(spec, "type").into()),
        ]
    },
    name: Name::Label,
    status: Some(r#"{"loadBalancer":{}}"#),
    create_on_update: true,
    ..PLAIN
};

/// Whether traffic from outside the cluster reaches a service.
fn is_external(spec: &Value) -> bool {
    match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !list(spec, "externalIPs").is_empty(),
        _ => false,
    }
}

/// Whether a service has a port for health checks.
fn has_health_port(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// Whether a service opens ports on nodes.
fn has_node_ports(spec: &Value) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

/// Whether a service has addresses of the cluster, or says that it wants none.
fn has_cluster_ip(spec: &Value) -> bool {
    text(spec, "type") != "ExternalName"
}

fn is_headless(spec: &Value) -> bool {
    let mut ips = texts(spec, "clusterIPs");
    ips.next() == Some("None") && ips.next().is_none()
}

fn default(object: &mut Value) {
    let spec = map_slot(object, "spec");
    fill_empty(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => unset(spec, "sessionAffinityConfig"),
        "ClientIP" => {
            let config = get(get(spec, "sessionAffinityConfig"), "clientIP");
            if !has(config, "timeoutSeconds") {
                let config = json!({"clientIP": {"timeoutSeconds": 10800}});
                set(spec, "sessionAffinityConfig", config);
            }
        }
        _ => {}
    }
    fill_empty(spec, "type", "ClusterIP");
    for port in items_mut(spec, "ports") {
        fill_empty(port, "protocol", "TCP");
        if is_empty(get(port, "targetPort")) {
            let own = number(port, "port");
            set(port, "targetPort", own);
        }
    }
    if is_external(spec) {
        fill_empty(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(
        text(spec, "type"),
        "NodePort" | "LoadBalancer" | "ClusterIP"
    ) {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if text(spec, "type") == "ExternalName" {
        unset(spec, "internalTrafficPolicy");
    }
    let balanced = text(spec, "type") == "LoadBalancer";
    if balanced {
        fill(spec, "allocateLoadBalancerNodePorts", true);
    }
    let status = slot(object, "status");
    if let Some(balancer) = crate::fields::some_mut(status, "loadBalancer").filter(|_| balanced) {
        for entry in items_mut(balancer, "ingress") {
            if !text(entry, "ip").is_empty() {
                fill(entry, "ipMode", "VIP");
            }
        }
    }
    if status.is_null() {
        unset(object, "status");
    }
}

fn update(new: &mut Value, old: &Value, endpoint: Endpoint, _: &Fresh<'_>) {
    if endpoint != Endpoint::Main {
        return;
    }
    let before = get(old, "spec");
    let spec = map_slot(new, "spec");
    drop_old_type(spec, before);
    if text(spec, "type") != "LoadBalancer" {
        set(map_slot(new, "status"), "loadBalancer", Map::new());
    }
}

// What only the old type had goes with it, unless the update changed it on purpose.
fn drop_old_type(spec: &mut Value, before: &Value) {
    if has_cluster_ip(before) && !has_cluster_ip(spec) {
        let unchanged = same(get(spec, "clusterIP"), get(before, "clusterIP"))
            && same(get(spec, "clusterIPs"), get(before, "clusterIPs"));
        if unchanged {
            unset(spec, "clusterIP");
            unset(spec, "clusterIPs");
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if same(get(spec, field), get(before, field)) {
                unset(spec, field);
            }
        }
    }
    let known: Vec<i64> = list(before, "ports")
        .iter()
        .map(|p| number(p, "nodePort"))
        .collect();
    let ours = list(spec, "ports")
        .iter()
        .map(|p| number(p, "nodePort"))
        .all(|port| port == 0 || known.contains(&port));
    if has_node_ports(before) && !has_node_ports(spec) && ours {
        for port in items_mut(spec, "ports") {
            unset(port, "nodePort");
        }
    }
    let field = "healthCheckNodePort";
    if has_health_port(before)
        && !has_health_port(spec)
        && number(spec, field) == number(before, field)
    {
        unset(spec, field);
    }
    if text(before, "type") == "LoadBalancer" && text(spec, "type") != "LoadBalancer" {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(get(spec, field), get(before, field)) {
                unset(spec, field);
            }
        }
    }
    let field = "externalTrafficPolicy";
    if is_external(before) && !is_external(spec) && text(spec, field) == text(before, field) {
        unset(spec, field);
    }
}

fn warn(new: &Value, out: &mut Vec<String>) {
    let spec = get(new, "spec");
    let spot = &Spot::of("spec");
    let hints = "service.kubernetes.io/topology-aware-hints";
    if model::meta::annotation(new, hints).is_some() {
        out.push(format!(
            "annotation {hints} is deprecated, please use service.kubernetes.io/topology-mode \
             instead"
        ));
    }
    let headless = text(spec, "type") == "ClusterIP" && text(spec, "clusterIP") == "None";
    if !headless {
        for (index, ip) in texts(spec, "clusterIPs").enumerate() {
            let at = &spot.child("clusterIPs");
            address(ip, &at.index(index), out);
        }
    }
    let outside = !list(spec, "externalIPs").is_empty();
    if headless {
        if !text(spec, "loadBalancerIP").is_empty() {
            out.push("spec.loadBalancerIP is ignored for headless services".into());
        }
        if outside {
            out.push("spec.externalIPs is ignored for headless services".into());
        }
        if text(spec, "sessionAffinity") != "None" {
            out.push("spec.SessionAffinity is ignored for headless services".into());
        }
    }
    for (index, ip) in texts(spec, "externalIPs").enumerate() {
        let at = &spot.child("externalIPs");
        address(ip, &at.index(index), out);
    }
    let named = text(spec, "type") == "ExternalName";
    if outside && !headless && !named {
        out.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
                .into(),
        );
    }
    let balancer = text(spec, "loadBalancerIP");
    if !balancer.is_empty() {
        address(balancer, &spot.child("loadBalancerIP"), out);
    }
    if named && outside {
        out.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".into());
    }
    if !named && !text(spec, "externalName").is_empty() {
        out.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".into());
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        out.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
                .into(),
        );
    }
}

/// Copies what a client left out but the old service had been given.
fn carry_allocated(spec: &mut Value, before: &Value) {
    if has_cluster_ip(before) && has_cluster_ip(spec) {
        if text(spec, "clusterIP").is_empty() {
            carry(spec, before, "clusterIP");
        }
        if list(spec, "clusterIPs").is_empty() && !list(before, "clusterIPs").is_empty() {
            carry(spec, before, "clusterIPs");
        }
    }
    if has_node_ports(before) && has_node_ports(spec) {
        let asked: Vec<i64> = list(spec, "ports")
            .iter()
            .map(|p| number(p, "nodePort"))
            .collect();
        for port in items_mut(spec, "ports") {
            if number(port, "nodePort") != 0 {
                continue;
            }
            let known = list(before, "ports")
                .iter()
                .rfind(|p| text(p, "name") == text(port, "name"))
                .map_or(0, |p| number(p, "nodePort"));
            if known != 0 && !asked.contains(&known) {
                set(port, "nodePort", known);
            }
        }
    }
    let field = "healthCheckNodePort";
    if has_health_port(before) && has_health_port(spec) && number(spec, field) == 0 {
        carry(spec, before, field);
    }
}
