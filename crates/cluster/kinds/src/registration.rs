//! APIServices.

use crate::fault::{Faults, Spot};
use crate::fields::{fill, flag, get, has, map_slot, number, set, some_mut, text};
use crate::rules::{Keeps, Name, PLAIN, Recheck, Rules};
use crate::{Endpoint, syntax};
use model::{Value, json, meta, names};

/// What is special about an APIService.
pub(crate) static API_SERVICE: Rules = Rules {
    default: |object, _| {
        let service = some_mut(object, "spec").and_then(|own| some_mut(own, "service"));
        if let Some(service) = service {
            fill(service, "port", 443);
        }
    },
    create: |object, fresh| {
        if !has(get(object, "spec"), "service") {
            let condition = json!([{
                "type": "Available",
                "status": "True",
                "lastTransitionTime": fresh.now.rfc3339(),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }]);
            set(map_slot(object, "status"), "conditions", condition);
        }
    },
    check: check_service,
    check_update: |new, _, endpoint, faults| {
        if endpoint == Endpoint::Main {
            check_service(new, faults);
        }
    },
    name: Name::Segment,
    status: Some("{}"),
    status_keeps: Keeps::All,
    unconditional: false,
    recheck: Recheck::Both,
    ..PLAIN
};

fn check_service(object: &Value, faults: &mut Faults) {
    let own = get(object, "spec");
    let spot = &Spot::of("spec");
    let (group, version) = (text(own, "group"), text(own, "version"));
    let wanted = format!("{version}.{group}");
    if meta::name(object) != wanted {
        let quoted = model::field::go_quote(&wanted);
        let message = format!("must be `spec.version+\".\"+spec.group`: {quoted}");
        faults.invalid(&Spot::of("metadata.name"), meta::name(object), &message);
    }
    if group.is_empty() {
        if version != "v1" {
            let message = "only v1 may have an empty group and it better be legacy kube";
            faults.required(&spot.child("group"), message);
        }
    } else {
        faults.invalid_each(&spot.child("group"), group, names::dns1123_subdomain(group));
    }
    faults.invalid_each(
        &spot.child("version"),
        version,
        names::dns1035_label(version),
    );
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let priority = number(own, field);
        if !(1..=most).contains(&priority) {
            let message = format!("must be positive and less than {most}");
            faults.invalid(&spot.child(field), priority, &message);
        }
    }
    let careless = flag(own, "insecureSkipTLSVerify");
    let at = &spot.child("insecureSkipTLSVerify");
    let bundle = text(own, "caBundle");
    if !has(own, "service") {
        if !bundle.is_empty() {
            let size = bundle.len() / 4 * 3 - bundle.bytes().filter(|b| *b == b'=').count();
            let message = "local APIServices may not have a caBundle";
            faults.invalid(&spot.child("caBundle"), format!("{size} bytes"), message);
        }
        if careless {
            let message = "local APIServices may not have insecureSkipTLSVerify";
            faults.invalid(at, true, message);
        }
        return;
    }
    let service = get(own, "service");
    for field in ["namespace", "name"] {
        if text(service, field).is_empty() {
            let at = &spot.child("service");
            faults.required(&at.child(field), "");
        }
    }
    let port = number(service, "port");
    let found = syntax::port_number(port);
    if !found.is_empty() {
        let message = format!("port is not valid: {}", found.join(", "));
        faults.invalid(&spot.child("service.port"), port, &message);
    }
    if careless && !bundle.is_empty() {
        faults.invalid(at, true, "may not be true if caBundle is present");
    }
}
