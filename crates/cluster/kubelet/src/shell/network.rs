//! Who answers at a host and port of the cluster.

use crate::spec::number;
use crate::world::World;
use model::{Value, meta};

/// Where a script wants to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) host: String,
    /// Nothing when only the name is of interest.
    pub(crate) port: Option<u16>,
}

/// What comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// There is no such name.
    Unknown,
    /// Nobody listens.
    Refused(String),
    /// Somebody answers.
    Open(String),
}

/// Top-level domains by which a name of two parts is told from `service.namespace`.
const OUTSIDE: [&str; 14] = [
    "com", "org", "net", "io", "dev", "app", "de", "eu", "uk", "co", "ai", "cloud", "info", "local",
];

/// Whether a Pod of the namespace reaches a host. A Service answers exactly when it has a ready
/// endpoint for the port; hosts outside the cluster always answer.
pub(crate) fn reach(world: &dyn World, namespace: &str, ports: &[u16], ask: &Question) -> Reach {
    let host = ask.host.trim_end_matches('.');
    if host == "localhost" || host.starts_with("127.") {
        let open = ask.port.is_none_or(|port| ports.contains(&port));
        let address = "127.0.0.1".to_owned();
        return if open {
            Reach::Open(address)
        } else {
            Reach::Refused(address)
        };
    }
    if host.parse::<std::net::IpAddr>().is_ok() {
        return by_address(world, host, ask.port);
    }
    let inside = host.strip_suffix(".cluster.local").unwrap_or(host);
    let parts: Vec<&str> = inside.split('.').collect();
    match parts.as_slice() {
        [service] => service_reach(world, namespace, service, ask.port),
        [service, space] | [service, space, "svc"] => {
            match service_reach(world, space, service, ask.port) {
                Reach::Unknown => {}
                found => return found,
            }
            if parts.len() == 2 {
                // A Pod of a headless Service, or a host elsewhere.
                let found = pod_reach(world, namespace, space, service, ask.port);
                if found == Reach::Unknown && OUTSIDE.contains(space) {
                    return Reach::Open(outside(host));
                }
                return found;
            }
            Reach::Unknown
        }
        [pod, service, space, "svc"] => pod_reach(world, space, service, pod, ask.port),
        [pod, service, space] if world.exists("", "services", space, service) => {
            pod_reach(world, space, service, pod, ask.port)
        }
        _ if host.ends_with(".cluster.local") || host.ends_with(".svc") => Reach::Unknown,
        _ => Reach::Open(outside(host)),
    }
}

// An address of the documentation range, the same for the same name.
fn outside(host: &str) -> String {
    format!("203.0.113.{}", crate::spec::hash(host, 0) % 254 + 1)
}

fn service_reach(world: &dyn World, namespace: &str, name: &str, port: Option<u16>) -> Reach {
    let Some(service) = world.object("", "services", namespace, name) else {
        return Reach::Unknown;
    };
    if meta::text_at(&service, "/spec/type") == "ExternalName" {
        return Reach::Open(outside(meta::text_at(&service, "/spec/externalName")));
    }
    service_answers(world, &service, port)
}

fn service_answers(world: &dyn World, service: &Value, port: Option<u16>) -> Reach {
    let (namespace, name) = (meta::namespace(service), meta::name(service));
    let address = meta::text_at(service, "/spec/clusterIP").to_owned();
    // The API server answers always, whoever stands behind it.
    if (namespace, name) == ("default", "kubernetes") {
        return Reach::Open(address);
    }
    let slices = slices(world, namespace, name);
    if address == "None" || address.is_empty() {
        let Some(first) = slices.iter().flat_map(ready).next() else {
            return Reach::Unknown;
        };
        let open = slices.iter().any(|slice| has_port(slice, port, None));
        return if open {
            Reach::Open(first)
        } else {
            Reach::Refused(first)
        };
    }
    let Some(wanted) = port else {
        return Reach::Open(address);
    };
    let declared =
        meta::entries(service, "/spec/ports").find(|p| number(p, "/port", 0) == i64::from(wanted));
    let open = declared.is_some_and(|declared| {
        let label = meta::text_at(declared, "/name");
        slices
            .iter()
            .any(|slice| has_port(slice, None, Some(label)) && ready(slice).next().is_some())
    });
    if open {
        Reach::Open(address)
    } else {
        Reach::Refused(address)
    }
}

fn slices(world: &dyn World, namespace: &str, service: &str) -> Vec<Value> {
    let all = world.objects("discovery.k8s.io", "endpointslices", namespace);
    all.into_iter()
        .filter(|slice| meta::label(slice, "kubernetes.io/service-name") == Some(service))
        .collect()
}

fn is_ready(endpoint: &Value) -> bool {
    endpoint
        .pointer("/conditions/ready")
        .and_then(Value::as_bool)
        != Some(false)
}

fn ready(slice: &Value) -> impl Iterator<Item = String> {
    meta::entries(slice, "/endpoints")
        .filter(|e| is_ready(e))
        .flat_map(|e| meta::entries(e, "/addresses"))
        .filter_map(Value::as_str)
        .map(str::to_owned)
}

fn has_port(slice: &Value, port: Option<u16>, label: Option<&str>) -> bool {
    let mut ports = meta::entries(slice, "/ports").peekable();
    if ports.peek().is_none() {
        return label.is_none();
    }
    ports.any(|p| {
        let same = port.is_none_or(|port| number(p, "/port", 0) == i64::from(port));
        same && label.is_none_or(|label| meta::text_at(p, "/name") == label)
    })
}

fn pod_reach(
    world: &dyn World,
    namespace: &str,
    service: &str,
    pod: &str,
    port: Option<u16>,
) -> Reach {
    for slice in slices(world, namespace, service) {
        let found = meta::entries(&slice, "/endpoints").find(|e| {
            meta::text_at(e, "/hostname") == pod || meta::text_at(e, "/targetRef/name") == pod
        });
        let Some(endpoint) = found.filter(|e| is_ready(e)) else {
            continue;
        };
        let address = meta::entries(endpoint, "/addresses").find_map(Value::as_str);
        let address = address.unwrap_or("").to_owned();
        return if has_port(&slice, port, None) {
            Reach::Open(address)
        } else {
            Reach::Refused(address)
        };
    }
    Reach::Unknown
}

fn by_address(world: &dyn World, address: &str, port: Option<u16>) -> Reach {
    let services = world.objects("", "services", "");
    let service = services
        .iter()
        .find(|s| meta::text_at(s, "/spec/clusterIP") == address);
    if let Some(service) = service {
        return service_answers(world, service, port);
    }
    let slices = world.objects("discovery.k8s.io", "endpointslices", "");
    let open = slices
        .iter()
        .any(|slice| ready(slice).any(|a| a == address) && has_port(slice, port, None));
    if open {
        Reach::Open(address.to_owned())
    } else {
        Reach::Refused(address.to_owned())
    }
}
