//! What a kubelet can see of its cluster.

use model::{Value, meta};
use std::collections::{BTreeMap, BTreeSet};

/// The cluster as a kubelet sees it: Secrets, ConfigMaps, ServiceAccounts, claims and volumes,
/// Services with their EndpointSlices, its Node.
pub trait World {
    /// One object by group (`""` for core), plural resource, namespace (`""` for none) and name.
    fn object(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Value>;

    /// All objects of a resource in a namespace; in all namespaces for `""`.
    fn objects(&self, group: &str, resource: &str, namespace: &str) -> Vec<Value>;

    /// An address for a Pod that has none yet; no two living Pods get the same. [`Addresses`] gives them.
    fn pod_ip(&self, pod: &Value) -> String;

    /// Whether an object exists; for clusters that know it without reading the object.
    fn exists(&self, group: &str, resource: &str, namespace: &str, name: &str) -> bool {
        self.object(group, resource, namespace, name).is_some()
    }
}

/// Gives each Pod an address of its own out of 10.244.0.0/14.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    next: u32,
    by_uid: BTreeMap<String, u32>,
    taken: BTreeSet<u32>,
}

const FIRST: u32 = u32::from_be_bytes([10, 244, 0, 0]);
const COUNT: u32 = 1 << 18;

impl Addresses {
    /// The address of a Pod: the one in its status, the one it was given before, or the next free one.
    pub fn of(&mut self, pod: &Value) -> String {
        let uid = meta::text_at(pod, "/metadata/uid");
        let host = meta::text_at(pod, "/status/podIP")
            .parse::<std::net::Ipv4Addr>()
            .map(u32::from);
        if let Ok(address) = host {
            self.taken.insert(address);
            self.by_uid.insert(uid.to_owned(), address);
            return meta::text_at(pod, "/status/podIP").to_owned();
        }
        let address = *self
            .by_uid
            .entry(uid.to_owned())
            .or_insert_with(|| next_free(&mut self.next, &self.taken));
        self.taken.insert(address);
        std::net::Ipv4Addr::from(address).to_string()
    }

    /// Takes back the address of a Pod that is gone.
    pub fn release(&mut self, uid: &str) {
        if let Some(address) = self.by_uid.remove(uid) {
            self.taken.remove(&address);
        }
    }
}

// Addresses are used round and round, so that a new Pod seldom gets one that was just given up.
fn next_free(next: &mut u32, taken: &BTreeSet<u32>) -> u32 {
    for _ in 0..COUNT {
        *next = (*next + 1) % COUNT;
        let address = FIRST + *next;
        let last = address & 0xff;
        if last != 0 && last != 255 && !taken.contains(&address) {
            return address;
        }
    }
    FIRST + *next
}
