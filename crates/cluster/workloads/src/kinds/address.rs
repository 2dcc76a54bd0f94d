//! Addresses from outside: Services of type LoadBalancer, and Ingresses.
//!
//! Each gets one of 198.18.0.0/15, unless it is annotated
//! `sandbox.tiphys.dev/address: pending`; then it waits, as where nobody hands out addresses.

use crate::act::{CONTROLLERS, Reaction, patch};
use crate::event::{Grade, Note, about};
use crate::object::{INGRESS, SERVICE, Type, digest};
use crate::view::{INGRESSES, SERVICES, View};
use model::{Value, json, meta};

const ANNOTATION: &str = "sandbox.tiphys.dev/address";
const COMPONENT: &str = "service-controller";

/// Looks at one Service.
pub(super) fn service(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(service) = view.get(SERVICES, namespace, name) else {
        return reaction;
    };
    let wants = meta::text_at(&service, "/spec/type") == "LoadBalancer"
        && service.pointer("/spec/loadBalancerClass").is_none()
        && meta::deletion_timestamp(&service).is_none();
    let has = meta::entries(&service, "/status/loadBalancer/ingress")
        .next()
        .is_some();
    if wants && !has && !is_pending(&service) {
        let tell = |reason: &str, message: &str| {
            let note = Note {
                component: COMPONENT,
                grade: Grade::Normal,
                reason,
                message,
            };
            about(view, &SERVICE, &service, note)
        };
        reaction.push(tell("EnsuringLoadBalancer", "Ensuring load balancer"));
        let entry = json!({"ip": address(&service), "ipMode": "VIP"});
        reaction.push(assign(&SERVICE, &service, entry));
        reaction.push(tell("EnsuredLoadBalancer", "Ensured load balancer"));
    }
    if has && !wants && meta::deletion_timestamp(&service).is_none() {
        let path = SERVICE.status(namespace, name);
        let body = json!({"status": {"loadBalancer": {"ingress": null}}});
        reaction.push(patch(CONTROLLERS, path, &body));
    }
    reaction
}

/// Looks at one Ingress.
pub(super) fn ingress(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(ingress) = view.get(INGRESSES, namespace, name) else {
        return reaction;
    };
    let has = meta::entries(&ingress, "/status/loadBalancer/ingress")
        .next()
        .is_some();
    // An Ingress is served by the class it names; the sandbox serves classes that exist.
    let class = meta::text_at(&ingress, "/spec/ingressClassName");
    let served = view.exists("networking.k8s.io/ingressclasses", "", class);
    if !has && served && !is_pending(&ingress) && meta::deletion_timestamp(&ingress).is_none() {
        let entry = json!({"ip": address(&ingress)});
        reaction.push(assign(&INGRESS, &ingress, entry));
    }
    reaction
}

fn is_pending(object: &Value) -> bool {
    meta::annotation(object, ANNOTATION) == Some("pending")
}

fn assign(kind: &Type, object: &Value, entry: Value) -> crate::act::Act {
    let path = kind.status(meta::namespace(object), meta::name(object));
    let body = json!({"status": {"loadBalancer": {"ingress": [entry]}}});
    patch(CONTROLLERS, path, &body)
}

// The annotated address, or one of 198.18.0.0/15 that follows from the uid: the range is for tests.
fn address(object: &Value) -> String {
    let asked = meta::annotation(object, ANNOTATION).unwrap_or("");
    if asked.parse::<std::net::IpAddr>().is_ok() {
        return asked.to_owned();
    }
    let n = digest(&meta::uid(object).into());
    format!(
        "198.{}.{}.{}",
        18 + (n >> 16 & 1),
        n >> 8 & 0xff,
        (n & 0xff).clamp(1, 254)
    )
}
