//! Says which addresses and node ports a service needs, and which it gives back.

use super::{carry_allocated, has_cluster_ip, has_health_port, has_node_ports, is_headless};
use crate::fault::{Faults, Spot};
use crate::fields::{
    carry, flag, get, is_empty, list, map_slot, number, same, set, slot, text, texts, unset,
};
use crate::syntax;
use model::{FieldError, Value, json};

/// An address to claim for a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedIp {
    /// Its place in `spec.clusterIPs`.
    pub index: usize,
    /// `IPv4` or `IPv6`.
    pub family: String,
    /// The address asked for; any will do when there is none.
    pub address: Option<String>,
}

/// A node port to claim for a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePort {
    /// Its place in `spec.ports`.
    pub index: usize,
    /// `TCP`, `UDP` or `SCTP`: the same number may serve one of each.
    pub protocol: String,
    /// The number asked for; any will do when there is none.
    pub port: Option<i64>,
}

/// What must be claimed before a service can be stored, and what can be released after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Addresses to claim and write to `clusterIPs` (the first one to `clusterIP` as well).
    pub cluster_ips: Vec<WantedIp>,
    /// Node ports to claim and write to `ports[].nodePort`.
    pub node_ports: Vec<NodePort>,
    /// Whether to claim `healthCheckNodePort`, and the number asked for.
    pub health_check: Option<Option<i64>>,
    /// Addresses the old service had and the new one has not.
    pub released_ips: Vec<String>,
    /// Node ports the old service had and the new one has not.
    pub released_ports: Vec<i64>,
}

fn family_of(ip: &str) -> &'static str {
    if syntax::is_ipv6(ip) { "IPv6" } else { "IPv4" }
}

/// Brings the address fields of a service in order before anything is claimed: carries over what
/// the client left out, keeps `clusterIP` and `clusterIPs` in step, and fills `ipFamilies` and
/// `ipFamilyPolicy`. `families` are those of the cluster, the default one first.
pub fn settle(
    service: &mut Value,
    old: Option<&Value>,
    families: &[&str],
) -> Result<(), Vec<FieldError>> {
    let before = old.map(|old| get(old, "spec"));
    let spec = map_slot(service, "spec");
    if let Some(before) = before {
        carry_allocated(spec, before);
    }
    pair_up(spec, before);
    if !has_cluster_ip(spec) {
        return Ok(());
    }
    let mut faults = Faults::default();
    let field = "ipFamilyPolicy";
    if is_empty(get(spec, field)) {
        match before.filter(|before| !is_empty(get(before, field))) {
            Some(before) => carry(spec, before, field),
            None if bare(spec) => set(spec, field, "RequireDualStack"),
            None => set(spec, field, "SingleStack"),
        }
    }
    super::check::check_addresses(spec, before, &mut faults);
    if faults.len() > 0 {
        return Err(faults.into_list());
    }
    if let Some(before) = before {
        narrow(spec, before, &mut faults);
    }
    adopt_families(spec, families, &mut faults);
    if faults.len() > 0 {
        return Err(faults.into_list());
    }
    fill_families(spec, families, &mut faults);
    let found = faults.into_list();
    if found.is_empty() { Ok(()) } else { Err(found) }
}

fn bare(spec: &Value) -> bool {
    text(spec, "clusterIP") == "None" && is_empty(get(spec, "selector"))
}

fn pair_up(spec: &mut Value, before: Option<&Value>) {
    let own = text(spec, "clusterIP").to_owned();
    let Some(before) = before else {
        if !own.is_empty() && list(spec, "clusterIPs").is_empty() {
            set(spec, "clusterIPs", json!([own]));
        }
        return;
    };
    let known = text(before, "clusterIP");
    let both = |spec: &Value| same(get(spec, "clusterIPs"), get(before, "clusterIPs"));
    if !list(before, "clusterIPs").is_empty() && list(spec, "clusterIPs").is_empty() && known == own
    {
        carry(spec, before, "clusterIPs");
    }
    if known == own || !both(spec) {
        return;
    }
    if own.is_empty() {
        unset(spec, "clusterIPs");
    } else {
        set(spec, "clusterIPs", json!([own]));
    }
}

// A service that becomes single-stack gives up its second address and family by itself.
fn narrow(spec: &mut Value, before: &Value, faults: &mut Faults) {
    let policy = text(spec, "ipFamilyPolicy").to_owned();
    let at = &Spot::of("spec.ipFamilyPolicy");
    for (field, what) in [
        ("clusterIPs", "secondary cluster IP"),
        ("ipFamilies", "secondary IP family"),
    ] {
        let (now, then) = (list(spec, field).len(), list(before, field).len());
        if policy == "SingleStack" {
            if now > 1
                && same(get(spec, field), get(before, field))
                && let Some(items) = slot(spec, field).as_array_mut()
            {
                items.truncate(1);
            }
        } else if now == 1 && then == 2 && same(&get(spec, field)[0], &get(before, field)[0]) {
            let message = format!("must be 'SingleStack' to release the {what}");
            faults.invalid(at, policy.as_str(), &message);
        }
    }
}

fn adopt_families(spec: &mut Value, families: &[&str], faults: &mut Faults) {
    let policy = text(spec, "ipFamilyPolicy");
    let at = &Spot::of("spec.ipFamilyPolicy");
    if policy == "SingleStack" {
        for (field, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
            if list(spec, field).len() == 2 {
                let message = format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are \
                     specified"
                );
                faults.invalid(at, policy, &message);
            }
        }
    }
    let ips = get(spec, "clusterIPs").clone();
    let known = list(spec, "ipFamilies").len();
    for (index, ip) in texts(spec, "clusterIPs")
        .map(str::to_owned)
        .enumerate()
        .collect::<Vec<_>>()
    {
        if ip == "None" {
            break;
        }
        let family = family_of(&ip);
        if index < known {
            continue;
        }
        if families.contains(&family) {
            push_family(spec, family);
        } else {
            let at = Spot::of("spec.clusterIPs");
            let message = format!("{family} is not configured on this cluster");
            faults.invalid(&at.index(index), ips.clone(), &message);
        }
    }
}

fn push_family(spec: &mut Value, family: &str) {
    let families = slot(spec, "ipFamilies");
    match families.as_array_mut() {
        Some(list) => list.push(family.into()),
        None => *families = json!([family]),
    }
}

fn other(family: &str) -> &'static str {
    if family == "IPv4" { "IPv6" } else { "IPv4" }
}

fn fill_families(spec: &mut Value, families: &[&str], faults: &mut Faults) {
    let policy = text(spec, "ipFamilyPolicy").to_owned();
    let primary = families.first().copied().unwrap_or("IPv4");
    if bare(spec) {
        if list(spec, "ipFamilies").is_empty() {
            push_family(spec, primary);
        }
        if list(spec, "ipFamilies").len() < 2 && policy != "SingleStack" {
            let first = texts(spec, "ipFamilies")
                .next()
                .unwrap_or(primary)
                .to_owned();
            push_family(spec, other(&first));
        }
        return;
    }
    if policy == "RequireDualStack" && families.len() < 2 {
        let message = "this cluster is not configured for dual-stack services";
        faults.invalid(&Spot::of("spec.ipFamilyPolicy"), policy.as_str(), message);
    }
    for (index, family) in texts(spec, "ipFamilies").enumerate() {
        if !families.contains(&family) {
            let at = Spot::of("spec.ipFamilies");
            faults.invalid(&at.index(index), family, "not configured on this cluster");
        }
    }
    if faults.len() > 0 {
        return;
    }
    if list(spec, "ipFamilies").is_empty() {
        push_family(spec, primary);
    }
    if policy != "SingleStack" && list(spec, "ipFamilies").len() == 1 && families.len() == 2 {
        let first = texts(spec, "ipFamilies")
            .next()
            .unwrap_or(primary)
            .to_owned();
        push_family(spec, other(&first));
    }
}

/// Says what a settled service needs beyond what its old version had.
pub fn needs(service: &Value, old: Option<&Value>) -> Needs {
    let spec = get(service, "spec");
    let before = old.map(|old| get(old, "spec"));
    let mut needs = Needs::default();
    let held: Vec<&str> = before
        .filter(|before| has_cluster_ip(before) && !is_headless(before))
        .map(|before| texts(before, "clusterIPs").collect())
        .unwrap_or_default();
    let mut kept: Vec<&str> = Vec::new();
    if has_cluster_ip(spec) && !is_headless(spec) {
        let given: Vec<&str> = texts(spec, "clusterIPs").collect();
        for (index, family) in texts(spec, "ipFamilies").enumerate() {
            match given.get(index) {
                Some(ip) if held.contains(ip) => kept.push(ip),
                asked => needs.cluster_ips.push(WantedIp {
                    index,
                    family: family.into(),
                    address: asked.map(|ip| (*ip).to_owned()),
                }),
            }
        }
    }
    needs.released_ips = held
        .iter()
        .filter(|ip| !kept.contains(ip))
        .map(|ip| (*ip).to_owned())
        .collect();
    need_ports(spec, before, &mut needs);
    needs
}

fn need_ports(spec: &Value, before: Option<&Value>, needs: &mut Needs) {
    let key = |port: &Value| (text(port, "protocol").to_owned(), number(port, "nodePort"));
    let held: Vec<(String, i64)> = before
        .filter(|before| has_node_ports(before))
        .map(|before| list(before, "ports").iter().map(key).collect())
        .unwrap_or_default();
    let mut kept: Vec<i64> = Vec::new();
    let opens = has_node_ports(spec)
        && (text(spec, "type") == "NodePort"
            || get(spec, "allocateLoadBalancerNodePorts").is_null()
            || flag(spec, "allocateLoadBalancerNodePorts"));
    for (index, port) in list(spec, "ports").iter().enumerate() {
        let (protocol, number) = key(port);
        if !has_node_ports(spec) || (number == 0 && !opens) {
            continue;
        }
        if number != 0 && held.contains(&(protocol.clone(), number)) {
            kept.push(number);
            continue;
        }
        needs.node_ports.push(NodePort {
            index,
            protocol,
            port: (number != 0).then_some(number),
        });
    }
    let health = |spec: &Value| number(spec, "healthCheckNodePort");
    let health_held = before.filter(|b| has_health_port(b)).map_or(0, health);
    if has_health_port(spec) && (health(spec) == 0 || health(spec) != health_held) {
        needs.health_check = Some(Some(health(spec)).filter(|port| *port != 0));
    }
    needs.released_ports = held
        .into_iter()
        .map(|(_, number)| number)
        .filter(|number| *number != 0 && !kept.contains(number))
        .collect();
    if health_held != 0 && !(has_health_port(spec) && health(spec) == health_held) {
        needs.released_ports.push(health_held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(spec: Value) -> Value {
        let mut service = json!({"spec": spec});
        settle(&mut service, None, &["IPv4"]).unwrap();
        service
    }

    #[test]
    fn a_plain_service_needs_one_address() {
        let service = settled(json!({"type": "ClusterIP", "ports": [{"port": 80}]}));
        assert_eq!(service["spec"]["ipFamilies"], json!(["IPv4"]));
        assert_eq!(service["spec"]["ipFamilyPolicy"], "SingleStack");
        let needs = needs(&service, None);
        assert_eq!(
            needs.cluster_ips,
            [WantedIp {
                index: 0,
                family: "IPv4".into(),
                address: None
            }]
        );
        assert!(needs.node_ports.is_empty() && needs.health_check.is_none());
    }

    #[test]
    fn a_headless_service_without_selector_speaks_both_families() {
        let service = settled(json!({"type": "ClusterIP", "clusterIP": "None"}));
        assert_eq!(service["spec"]["clusterIPs"], json!(["None"]));
        assert_eq!(service["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
        assert_eq!(service["spec"]["ipFamilyPolicy"], "RequireDualStack");
        assert_eq!(needs(&service, None), Needs::default());
    }

    #[test]
    fn an_update_keeps_what_it_leaves_out() {
        let old = json!({"spec": {
            "type": "NodePort", "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}],
        }});
        let mut new = json!({"spec": {
            "type": "NodePort", "ports": [{"port": 81, "protocol": "TCP"}],
        }});
        settle(&mut new, Some(&old), &["IPv4"]).unwrap();
        assert_eq!(new["spec"]["clusterIP"], "10.0.0.5");
        assert_eq!(new["spec"]["ports"][0]["nodePort"], 30080);
        assert_eq!(needs(&new, Some(&old)), Needs::default());
    }

    #[test]
    fn a_named_service_gives_its_address_back() {
        let old = json!({"spec": {
            "type": "ClusterIP", "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        }});
        let new = json!({"spec": {"type": "ExternalName", "externalName": "a.b"}});
        assert_eq!(needs(&new, Some(&old)).released_ips, ["10.0.0.5"]);
    }
}
