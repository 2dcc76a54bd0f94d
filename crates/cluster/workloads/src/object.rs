//! Reads and writes what the objects of controllers have in common: references, conditions, paths.

use model::{LabelSelector, Map, Timestamp, Value, json, meta};

/// A kind as references name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type {
    /// `apps/v1`.
    pub(crate) api_version: &'static str,
    /// `ReplicaSet`.
    pub(crate) kind: &'static str,
    /// `/apis/apps/v1`.
    pub(crate) root: &'static str,
    /// `replicasets`.
    pub(crate) plural: &'static str,
}

macro_rules! types {
    ($($name:ident $version:literal $kind:literal $root:literal $plural:literal)*) => {
        $(pub(crate) const $name: Type = Type {
            api_version: $version, kind: $kind, root: $root, plural: $plural,
        };)*
    };
}

types! {
    POD "v1" "Pod" "/api/v1" "pods"
    NODE "v1" "Node" "/api/v1" "nodes"
    SERVICE "v1" "Service" "/api/v1" "services"
    ENDPOINTS "v1" "Endpoints" "/api/v1" "endpoints"
    CLAIM "v1" "PersistentVolumeClaim" "/api/v1" "persistentvolumeclaims"
    VOLUME "v1" "PersistentVolume" "/api/v1" "persistentvolumes"
    REPLICATION_CONTROLLER "v1" "ReplicationController" "/api/v1" "replicationcontrollers"
    DEPLOYMENT "apps/v1" "Deployment" "/apis/apps/v1" "deployments"
    REPLICA_SET "apps/v1" "ReplicaSet" "/apis/apps/v1" "replicasets"
    STATEFUL_SET "apps/v1" "StatefulSet" "/apis/apps/v1" "statefulsets"
    DAEMON_SET "apps/v1" "DaemonSet" "/apis/apps/v1" "daemonsets"
    REVISION "apps/v1" "ControllerRevision" "/apis/apps/v1" "controllerrevisions"
    JOB "batch/v1" "Job" "/apis/batch/v1" "jobs"
    CRON_JOB "batch/v1" "CronJob" "/apis/batch/v1" "cronjobs"
    SLICE "discovery.k8s.io/v1" "EndpointSlice" "/apis/discovery.k8s.io/v1" "endpointslices"
    INGRESS "networking.k8s.io/v1" "Ingress" "/apis/networking.k8s.io/v1" "ingresses"
    AUTOSCALER "autoscaling/v2" "HorizontalPodAutoscaler" "/apis/autoscaling/v2" "horizontalpodautoscalers"
    BUDGET "policy/v1" "PodDisruptionBudget" "/apis/policy/v1" "poddisruptionbudgets"
    LEASE "coordination.k8s.io/v1" "Lease" "/apis/coordination.k8s.io/v1" "leases"
}

impl Type {
    /// The path of a collection.
    pub(crate) fn collection(&self, namespace: &str) -> String {
        if namespace.is_empty() {
            format!("{}/{}", self.root, self.plural)
        } else {
            format!("{}/namespaces/{namespace}/{}", self.root, self.plural)
        }
    }

    /// The path of an object.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }

    /// The path of an object's status.
    pub(crate) fn status(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}/status", self.collection(namespace))
    }

    /// The reference by which an object names its controller.
    pub(crate) fn controller_ref(&self, owner: &Value) -> Value {
        json!({
            "apiVersion": self.api_version, "kind": self.kind, "name": meta::name(owner),
            "uid": meta::uid(owner), "controller": true, "blockOwnerDeletion": true,
        })
    }
}

/// The reference to the controller of an object.
pub(crate) fn controller(object: &Value) -> Option<&Value> {
    meta::owner_references(object).find(|r| r["controller"] == true)
}

/// Whether an object's controller has this uid.
pub(crate) fn is_controlled_by(object: &Value, uid: &str) -> bool {
    controller(object).is_some_and(|r| r["uid"] == uid)
}

/// The whole number at a pointer.
pub(crate) fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

/// The whole number at a pointer, 0 when absent.
pub(crate) fn count(object: &Value, pointer: &str) -> i64 {
    number(object, pointer).unwrap_or(0)
}

/// The time at a pointer.
pub(crate) fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    Timestamp::parse(meta::text_at(object, pointer))
}

/// Whether the value at a pointer is `true`.
pub(crate) fn flag(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer) == Some(&Value::Bool(true))
}

/// The selector of a spec.
pub(crate) fn selector(object: &Value) -> LabelSelector {
    LabelSelector::from_spec(object.pointer("/spec/selector"))
        .unwrap_or_else(|_| LabelSelector::nothing())
}

/// One condition of an object's status.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    meta::entries(object, "/status/conditions").find(|c| c["type"] == kind)
}

/// One condition of a list.
pub(crate) fn condition_in<'a>(conditions: &'a [Value], kind: &str) -> Option<&'a Value> {
    conditions.iter().find(|c| c["type"] == kind)
}

/// Whether a condition of an object's status is `True`.
pub(crate) fn is_condition_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|c| c["status"] == "True")
}

/// The conditions of an object's status.
pub(crate) fn conditions(object: &Value) -> Vec<Value> {
    let list = object.pointer("/status/conditions");
    list.and_then(Value::as_array).cloned().unwrap_or_default()
}

/// A number or a percentage of `total`, rounded up or down.
pub(crate) fn scaled(value: Option<&Value>, total: i64, up: bool) -> i64 {
    match value {
        Some(Value::Number(n)) => n.as_i64().unwrap_or(0),
        Some(Value::String(text)) => {
            let Some(percent) = text.strip_suffix('%').and_then(|t| t.parse::<i64>().ok()) else {
                return text.parse().unwrap_or(0);
            };
            let product = percent.saturating_mul(total);
            if up {
                product.div_euclid(100) + i64::from(product.rem_euclid(100) > 0)
            } else {
                product.div_euclid(100)
            }
        }
        _ => 0,
    }
}

/// A Pod out of a template, for a controller to create.
pub(crate) fn pod_of_template(template: &Value, owner: Value) -> Value {
    let mut metadata = Map::new();
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template.pointer(&format!("/metadata/{field}")) {
            metadata.insert(field.into(), value.clone());
        }
    }
    metadata.insert("ownerReferences".into(), json!([owner]));
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": template.get("spec").cloned().unwrap_or_default(),
    })
}

/// A number that follows from a value's text.
pub(crate) fn digest(value: &Value) -> u64 {
    struct Fnv(u64);
    impl std::io::Write for Fnv {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            for byte in bytes {
                self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut sum = Fnv(0xcbf2_9ce4_8422_2325);
    use std::io::Write as _;
    let _ = write!(sum, "{value}");
    sum.0
}

/// A hash as Kubernetes writes it into names and labels: decimal digits in letters that spell no
/// words.
pub(crate) fn safe_hash(value: &Value, collisions: i64) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let wide = digest(value) ^ (collisions as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let narrow = (wide ^ (wide >> 32)) as u32;
    let digits = narrow.to_string();
    let letter = |b: u8| ALPHABET[b as usize % ALPHABET.len()] as char;
    digits.bytes().map(letter).collect()
}

/// A merge patch that turns one map into another: what is gone is null.
pub fn replacing(old: Option<&Value>, mut new: Value) -> Value {
    let before = old.and_then(Value::as_object);
    if let Some(map) = new.as_object_mut() {
        for (key, value) in before.into_iter().flatten() {
            match map.get(key) {
                // What stays the same need not be sent.
                Some(same) if same == value => {
                    map.remove(key);
                }
                Some(_) => {}
                None => {
                    map.insert(key.clone(), Value::Null);
                }
            }
        }
    }
    new
}

/// A merge patch that turns one value into another, at any depth.
pub(crate) fn replacing_deep(old: Option<&Value>, new: Value) -> Value {
    let (Some(before), Value::Object(mut map)) = (old.and_then(Value::as_object), new.clone())
    else {
        return new;
    };
    for (key, value) in before {
        match map.remove(key) {
            Some(same) if same == *value => {}
            Some(other) => {
                map.insert(key.clone(), replacing_deep(Some(value), other));
            }
            None => {
                map.insert(key.clone(), Value::Null);
            }
        }
    }
    Value::Object(map)
}

/// The earlier of two times that may not be there.
pub(crate) fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_as_asked() {
        let value = json!("25%");
        assert_eq!(scaled(Some(&value), 10, true), 3);
        assert_eq!(scaled(Some(&value), 10, false), 2);
        assert_eq!(scaled(Some(&json!(4)), 10, false), 4);
        assert_eq!(scaled(None, 10, true), 0);
    }

    #[test]
    fn hashes_have_the_shape_of_real_ones() {
        let hash = safe_hash(&json!({"a": 1}), 0);
        assert!((6..=10).contains(&hash.len()), "{hash}");
        assert_ne!(hash, safe_hash(&json!({"a": 1}), 1));
        assert!(
            hash.chars()
                .all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c))
        );
    }
}
