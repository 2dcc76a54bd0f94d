//! Addresses and ports that Services are given.

use model::{FieldError, Path, Value, json, meta};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

const RANGE: (Ipv4Addr, u32) = (Ipv4Addr::new(10, 0, 0, 0), 256);
const NODE_PORTS: std::ops::RangeInclusive<u16> = 30_000..=32_767;

// Every node port once, from a random one on, in strides so that neighbours are rarely close.
fn node_ports(random: u64) -> impl Iterator<Item = u16> {
    let span = u64::from(*NODE_PORTS.end() - NODE_PORTS.start() + 1);
    (0..span).map(move |n| NODE_PORTS.start() + ((random % span + n * 7919) % span) as u16)
}

/// What is in use.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    addresses: BTreeSet<String>,
    ports: BTreeSet<u16>,
}

fn addresses_of(service: &Value) -> impl Iterator<Item = &str> {
    let listed = meta::entries(service, "/spec/clusterIPs").filter_map(Value::as_str);
    listed.filter(|ip| !matches!(*ip, "" | "None"))
}

fn ports_of(service: &Value) -> impl Iterator<Item = u16> {
    let ports = meta::entries(service, "/spec/ports").filter_map(|p| p.get("nodePort"));
    let health = service.pointer("/spec/healthCheckNodePort");
    ports
        .chain(health)
        .filter_map(Value::as_u64)
        .filter_map(|p| u16::try_from(p).ok())
}

impl Addresses {
    /// Follows a change of a Service.
    pub(crate) fn learn(&mut self, old: Option<&Value>, new: Option<&Value>) {
        if let Some(service) = old {
            for ip in addresses_of(service) {
                self.addresses.remove(ip);
            }
            for port in ports_of(service) {
                self.ports.remove(&port);
            }
        }
        if let Some(service) = new {
            self.addresses
                .extend(addresses_of(service).map(str::to_owned));
            self.ports.extend(ports_of(service));
        }
    }

    /// Fills in the addresses and ports a Service is to get, or says why it cannot have them.
    pub(crate) fn allocate(
        &self,
        service: &mut Value,
        old: Option<&Value>,
        random: u64,
    ) -> Vec<FieldError> {
        let kind = meta::text_at(service, "/spec/type").to_owned();
        let mut errors = Vec::new();
        if kind == "ExternalName" {
            return errors;
        }
        errors.extend(self.allocate_address(service, old, random));
        if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
            let wants =
                service.pointer("/spec/allocateLoadBalancerNodePorts") != Some(&json!(false));
            errors.extend(self.allocate_ports(service, old, random, kind == "NodePort" || wants));
        }
        self.allocate_health_port(service, old, random);
        errors
    }

    fn allocate_address(
        &self,
        service: &mut Value,
        old: Option<&Value>,
        random: u64,
    ) -> Option<FieldError> {
        let wanted = meta::text_at(service, "/spec/clusterIP").to_owned();
        let before = old.map_or("", |o| meta::text_at(o, "/spec/clusterIP"));
        let spec = service.get_mut("spec")?.as_object_mut()?;
        let families = |spec: &mut model::Map<String, Value>| {
            spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
            spec.entry("ipFamilyPolicy")
                .or_insert_with(|| json!("SingleStack"));
        };
        match wanted.as_str() {
            "None" => {
                spec.insert("clusterIPs".into(), json!(["None"]));
                families(spec);
                None
            }
            "" => {
                let ip = if before.is_empty() {
                    self.free_address(random)
                } else {
                    before.to_owned()
                };
                spec.insert("clusterIPs".into(), json!([ip]));
                spec.insert("clusterIP".into(), json!(ip));
                families(spec);
                None
            }
            _ if wanted == before => {
                families(spec);
                None
            }
            _ => {
                spec.insert("clusterIPs".into(), json!([wanted]));
                families(spec);
                let path = Path::new("spec.clusterIPs");
                let shown = format!("[{wanted:?}]");
                let fault = |why: &str| Some(FieldError::invalid_shown(&path, shown.clone(), why));
                let Ok(ip) = wanted.parse::<Ipv4Addr>() else {
                    return fault("failed to allocate IP: must be a valid IPv4 address");
                };
                let offset = u32::from(ip).wrapping_sub(u32::from(RANGE.0));
                if offset == 0 || offset >= RANGE.1 - 1 {
                    let why = format!(
                        "failed to allocate IP {wanted}: the provided IP ({wanted}) is not in the \
                         valid range. The range of valid IPs is {}/24",
                        RANGE.0
                    );
                    return fault(&why);
                }
                if self.addresses.contains(&wanted) {
                    let why =
                        format!("failed to allocate IP {wanted}: provided IP is already allocated");
                    return fault(&why);
                }
                None
            }
        }
    }

    // Addresses are handed out from the upper part of the range, as the real allocator does, so
    // that the lower part stays free for those who ask for one by name.
    fn free_address(&self, random: u64) -> String {
        let (base, size) = (u32::from(RANGE.0), RANGE.1);
        let (low, high) = (size / 16, size - 1);
        let span = high - low;
        let start = (random % u64::from(span)) as u32;
        let tries = (0..span).map(|i| low + (start + i) % span).chain(1..low);
        for offset in tries {
            let ip = Ipv4Addr::from(base + offset).to_string();
            if !self.addresses.contains(&ip) {
                return ip;
            }
        }
        String::new()
    }

    // A load balancer that keeps to local endpoints asks each node for its health.
    fn allocate_health_port(&self, service: &mut Value, old: Option<&Value>, random: u64) {
        let local = meta::text_at(service, "/spec/type") == "LoadBalancer"
            && meta::text_at(service, "/spec/externalTrafficPolicy") == "Local";
        let asked = service
            .pointer("/spec/healthCheckNodePort")
            .and_then(Value::as_u64);
        if !local || asked.is_some_and(|p| p > 0) {
            return;
        }
        let before = old
            .and_then(|o| o.pointer("/spec/healthCheckNodePort"))
            .cloned();
        let own: BTreeSet<u16> = ports_of(service).collect();
        let taken = |p: &u16| self.ports.contains(p) || own.contains(p);
        let fresh = || {
            node_ports(random.rotate_left(17))
                .find(|p| !taken(p))
                .map(|p| json!(p))
        };
        if let Some(port) = before.or_else(fresh) {
            service["spec"]["healthCheckNodePort"] = port;
        }
    }

    fn allocate_ports(
        &self,
        service: &mut Value,
        old: Option<&Value>,
        random: u64,
        assign: bool,
    ) -> Vec<FieldError> {
        let before: BTreeSet<u16> = old.into_iter().flat_map(ports_of).collect();
        let mut taken = self.ports.clone();
        let mut errors = Vec::new();
        let Some(ports) = service
            .pointer_mut("/spec/ports")
            .and_then(Value::as_array_mut)
        else {
            return errors;
        };
        for (i, port) in ports.iter_mut().enumerate() {
            let asked = port
                .get("nodePort")
                .and_then(Value::as_u64)
                .filter(|p| *p > 0);
            match asked.and_then(|p| u16::try_from(p).ok()) {
                Some(p) if before.contains(&p) => {}
                Some(p) if !NODE_PORTS.contains(&p) => errors.push(FieldError::invalid(
                    &Path::new("spec.ports").index(i).child("nodePort"),
                    &json!(p),
                    "provided port is not in the valid range. The range of valid ports is 30000-32767",
                )),
                Some(p) if taken.contains(&p) => errors.push(FieldError::invalid(
                    &Path::new("spec.ports").index(i).child("nodePort"),
                    &json!(p),
                    "provided port is already allocated",
                )),
                Some(p) => {
                    taken.insert(p);
                }
                None if assign => {
                    let free = node_ports(random).find(|p| !taken.contains(p));
                    if let Some(p) = free {
                        taken.insert(p);
                        port["nodePort"] = json!(p);
                    }
                }
                None => {}
            }
        }
        errors
    }
}
