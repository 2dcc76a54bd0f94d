//! Services and what traffic passes on its way to them.

use crate::read::{Read, View, cells, or_none, shortened};
use crate::registry::BuiltIn;
use model::{Value, meta};
use std::collections::BTreeSet;

pub(crate) const KINDS: &[BuiltIn] = &[
    BuiltIn {
        group: "",
        kind: "Service",
        columns: "Name:name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector+",
        cells: service,
    },
    BuiltIn {
        group: "",
        kind: "Endpoints",
        columns: "Name:name|Endpoints|Age",
        cells: |v| cells![v.name(), endpoints(v), v.age()],
    },
    BuiltIn {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        columns: "Name:name|AddressType|Ports|Endpoints|Age",
        cells: endpoint_slice,
    },
    BuiltIn {
        group: "networking.k8s.io",
        kind: "Ingress",
        columns: "Name:name|Class|Hosts|Address|Ports|Age",
        cells: ingress,
    },
    BuiltIn {
        group: "networking.k8s.io",
        kind: "IngressClass",
        columns: "Name:name|Controller|Parameters|Age",
        cells: ingress_class,
    },
    BuiltIn {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        columns: "Name:name|Pod-Selector|Age",
        cells: |v| cells![v.name(), pod_selector(v), v.age()],
    },
    BuiltIn {
        group: "networking.k8s.io",
        kind: "IPAddress",
        columns: "Name:name|ParentRef",
        cells: |v| cells![v.name(), parent(v), v.age()],
    },
    BuiltIn {
        group: "networking.k8s.io",
        kind: "ServiceCIDR",
        columns: "Name:name|CIDRs|Age",
        cells: |v| cells![v.name(), v.texts("spec.cidrs").join(","), v.age()],
    },
];

fn service(v: &View) -> Vec<Value> {
    let first = v.list("spec.clusterIPs").first().and_then(Value::as_str);
    let cluster_ip = first.unwrap_or_else(|| v.filled("spec.clusterIP", "<none>"));
    cells![
        v.name(),
        v.text("spec.type"),
        cluster_ip,
        external_ip(v),
        ports(v),
        v.age(),
        v.labels("spec.selector"),
    ]
}

fn external_ip(v: &View) -> String {
    let external = v.texts("spec.externalIPs").join(",");
    match v.text("spec.type") {
        "ClusterIP" | "NodePort" => or_none(external),
        "LoadBalancer" => {
            let balancer = load_balancer(v);
            match (balancer.is_empty(), external.is_empty()) {
                (true, true) => "<pending>".into(),
                (true, false) => external,
                (false, true) => balancer,
                (false, false) => format!("{balancer},{external}"),
            }
        }
        "ExternalName" => v.text("spec.externalName").into(),
        _ => "<unknown>".into(),
    }
}

/// Addresses a load balancer gave, sorted, each once.
fn load_balancer(v: &View) -> String {
    let points = v.list("status.loadBalancer.ingress").iter();
    let addresses: BTreeSet<&str> = points
        .map(|p| p.filled("ip", p.text("hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

fn ports(v: &View) -> String {
    let ports = v.list("spec.ports").iter().map(|p| {
        let (port, node) = (p.int("port"), p.int("nodePort"));
        let node = if node > 0 {
            format!(":{node}")
        } else {
            String::new()
        };
        format!("{port}{node}/{}", p.text("protocol"))
    });
    or_none(ports.collect::<Vec<_>>().join(","))
}

fn endpoints(v: &View) -> String {
    let subsets = v.list("subsets");
    if subsets.is_empty() {
        return "<none>".into();
    }
    let mut found = Vec::new();
    for subset in subsets {
        let addresses = subset.list("addresses").iter().map(|a| a.text("ip"));
        let ports = subset.list("ports");
        if ports.is_empty() {
            found.extend(addresses.clone().map(str::to_owned));
        }
        for port in ports.iter().map(|p| p.int("port")) {
            found.extend(addresses.clone().map(|ip| host_port(ip, port)));
        }
    }
    shortened(&found, 3, ",")
}

fn host_port(host: &str, port: i64) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

fn endpoint_slice(v: &View) -> Vec<Value> {
    let ports: Vec<String> = v
        .list("ports")
        .iter()
        .map(|p| match p.at("port") {
            Some(number) => number.to_string(),
            None => p.opt("name").unwrap_or("*").into(),
        })
        .collect();
    let endpoints = v.list("endpoints").iter();
    let addresses: Vec<&str> = endpoints.flat_map(|e| e.texts("addresses")).collect();
    cells![
        v.name(),
        v.text("addressType"),
        or_unset(shortened(&ports, 3, ",")),
        or_unset(shortened(&addresses, 3, ",")),
        v.age(),
    ]
}

fn or_unset(text: String) -> String {
    if text.is_empty() {
        "<unset>".into()
    } else {
        text
    }
}

fn ingress(v: &View) -> Vec<Value> {
    let tls = !v.list("spec.tls").is_empty();
    cells![
        v.name(),
        v.opt("spec.ingressClassName").unwrap_or("<none>"),
        hosts(v.list("spec.rules")),
        load_balancer(v),
        if tls { "80, 443" } else { "80" },
        v.age(),
    ]
}

/// Three hosts at most; what is left over is counted in rules, with or without a host.
fn hosts(rules: &[Value]) -> String {
    let hosted = |rule: &&Value| !rule.text("host").is_empty();
    let shown: Vec<&str> = rules
        .iter()
        .filter(hosted)
        .take(3)
        .map(|r| r.text("host"))
        .collect();
    if shown.is_empty() {
        return "*".into();
    }
    let mut text = shown.join(",");
    let third = rules.iter().enumerate().filter(|(_, r)| hosted(r)).nth(2);
    if third.is_some_and(|(at, _)| at + 1 < rules.len()) {
        text.push_str(&format!(" + {} more...", rules.len() - 3));
    }
    text
}

fn ingress_class(v: &View) -> Vec<Value> {
    let default = meta::annotation(v, "ingressclass.kubernetes.io/is-default-class");
    let parameters = v.at("spec.parameters").map_or("<none>".into(), |p| {
        let group = p.opt("apiGroup").map_or(String::new(), |g| format!(".{g}"));
        format!("{}{group}/{}", p.text("kind"), p.text("name"))
    });
    cells![
        with_default_mark(v.name(), default == Some("true")),
        v.text("spec.controller"),
        parameters,
        v.age(),
    ]
}

/// The name, followed by ` (default)` when it is the default of its kind.
pub(crate) fn with_default_mark(name: &str, default: bool) -> String {
    let mark = if default { " (default)" } else { "" };
    format!("{name}{mark}")
}

/// An absent pod selector selects every pod.
fn pod_selector(v: &View) -> String {
    match v.at("spec.podSelector") {
        Some(_) => v.selector("spec.podSelector"),
        None => "<none>".into(),
    }
}

fn parent(v: &View) -> String {
    let Some(parent) = v.at("spec.parentRef") else {
        return "<none>".into();
    };
    let mut text = parent.text("resource").to_lowercase();
    let (group, namespace) = (parent.text("group"), parent.text("namespace"));
    if !group.is_empty() {
        text.push_str(&format!(".{}", group.to_lowercase()));
    }
    if !namespace.is_empty() {
        text.push_str(&format!("/{namespace}"));
    }
    format!("{text}/{}", parent.text("name"))
}
