//! CertificateSigningRequests.

use crate::fault::{Faults, Spot};
use crate::fields::{
    carry, fill, get, has, int, items_mut, list, map_slot, set, text, texts, unset,
};
use crate::rules::{Name, PLAIN, Recheck, Rules};
use crate::{Endpoint, Fresh};
use model::{Value, names};

/// What is special about a CertificateSigningRequest.
pub(crate) static SIGNING_REQUEST: Rules = Rules {
    create: sign_for,
    update: update_request,
    check: check_request,
    check_update: check_request_update,
    select: |object| {
        let signer = text(get(object, "spec"), "signerName");
        vec![("spec.signerName", signer.into())]
    },
    name: Name::Own(|_, _| Vec::new()),
    status: Some("{}"),
    recheck: Recheck::Around,
    ..PLAIN
};

// Who asks is written down, whatever the request says.
fn sign_for(object: &mut Value, fresh: &Fresh<'_>) {
    let own = map_slot(object, "spec");
    for field in ["username", "uid", "groups", "extra"] {
        unset(own, field);
    }
    let Some(user) = fresh.user else {
        return;
    };
    set(own, "username", user.name.as_str());
    if !user.uid.is_empty() {
        set(own, "uid", user.uid.as_str());
    }
    if !user.groups.is_empty() {
        set(own, "groups", user.groups.clone());
    }
    for (key, values) in &user.extra {
        set(map_slot(own, "extra"), key, values.clone());
    }
}

fn update_request(new: &mut Value, old: &Value, endpoint: Endpoint, fresh: &Fresh<'_>) {
    carry(new, old, "spec");
    match endpoint {
        Endpoint::Main => carry(new, old, "status"),
        Endpoint::Approval => {
            let conditions = get(get(new, "status"), "conditions").clone();
            carry(new, old, "status");
            if !conditions.is_null() {
                set(map_slot(new, "status"), "conditions", conditions);
            }
            stamp(new, old, fresh);
        }
        Endpoint::Status => {
            keep_verdicts(new, old);
            stamp(new, old, fresh);
        }
        _ => {}
    }
}

fn keep_verdicts(new: &mut Value, old: &Value) {
    for condition in items_mut(map_slot(new, "status"), "conditions") {
        let kind = text(condition, "type");
        if !matches!(kind, "Approved" | "Denied") {
            continue;
        }
        let before = list(get(old, "status"), "conditions")
            .iter()
            .find(|c| text(c, "type") == kind);
        if let Some(before) = before {
            *condition = before.clone();
        }
    }
}

fn stamp(new: &mut Value, old: &Value, fresh: &Fresh<'_>) {
    for condition in items_mut(map_slot(new, "status"), "conditions") {
        fill(condition, "lastUpdateTime", fresh.now.rfc3339());
        let before = list(get(old, "status"), "conditions").iter().find(|c| {
            text(c, "type") == text(condition, "type")
                && text(c, "status") == text(condition, "status")
        });
        match before.filter(|before| has(before, "lastTransitionTime")) {
            Some(before) if !has(condition, "lastTransitionTime") => {
                let at = get(before, "lastTransitionTime").clone();
                set(condition, "lastTransitionTime", at);
            }
            _ => fill(condition, "lastTransitionTime", fresh.now.rfc3339()),
        }
    }
}

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

fn check_request(object: &Value, faults: &mut Faults) {
    let own = get(object, "spec");
    let spot = &Spot::of("spec");
    if text(own, "request").is_empty() {
        let message = "PEM block type must be CERTIFICATE REQUEST";
        faults.invalid(&spot.child("request"), get(own, "request").clone(), message);
    }
    let usages: Vec<&str> = texts(own, "usages").collect();
    let at = &spot.child("usages");
    if usages.is_empty() {
        faults.required(at, "");
    }
    for (index, usage) in usages.iter().enumerate() {
        if !USAGES.contains(usage) {
            faults.unsupported(&at.index(index), *usage, &USAGES);
        }
    }
    for (index, usage) in usages.iter().enumerate() {
        if usages[..index].contains(usage) {
            faults.duplicate(&at.index(index), *usage);
        }
    }
    check_signer(text(own, "signerName"), &spot.child("signerName"), faults);
    if let Some(seconds) = int(own, "expirationSeconds").filter(|seconds| *seconds < 600) {
        let message = "may not specify a duration less than 600 seconds (10 minutes)";
        faults.invalid(&spot.child("expirationSeconds"), seconds, message);
    }
    check_verdicts(object, faults);
}

fn check_signer(name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    if name == "kubernetes.io/legacy-unknown" {
        let message = "the legacy signerName is not allowed via this API version";
        return faults.invalid(spot, name, message);
    }
    if name.is_empty() {
        return faults.required(spot, "");
    }
    let Some((domain, path)) = name.split_once('/').filter(|(_, p)| !p.contains('/')) else {
        let message = "must be a fully qualified domain and path of the form \
             'example.com/signer-name'";
        return faults.invalid(spot, name, message);
    };
    for fault in names::dns1123_subdomain(domain) {
        let message = format!(
            "validating label {}: {fault}",
            model::field::go_quote(domain)
        );
        faults.invalid(spot, domain, &message);
    }
    if domain.split('.').count() < 2 {
        let message = "should be a domain with at least two segments separated by dots";
        faults.invalid(spot, domain, message);
    }
    faults.invalid_each(spot, path, names::dns1123_subdomain(path));
}

fn check_verdicts(object: &Value, faults: &mut Faults) {
    let spot = &Spot::of("status.conditions");
    let conditions = list(get(object, "status"), "conditions");
    for (index, condition) in conditions.iter().enumerate() {
        let at = &spot.index(index);
        let kind = text(condition, "type");
        if kind.is_empty() {
            faults.required(&at.child("type"), "");
        }
        let allowed: &[&str] = if matches!(kind, "Approved" | "Denied" | "Failed") {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        faults.one_of(&at.child("status"), text(condition, "status"), allowed);
        let other = match kind {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        let before = &conditions[..index];
        if before
            .iter()
            .any(|c| text(c, "type") == other && !other.is_empty())
        {
            let message = "Approved and Denied conditions are mutually exclusive";
            faults.invalid(spot, kind, message);
        }
        if before.iter().any(|c| text(c, "type") == kind) {
            faults.duplicate(&at.child("type"), kind);
        }
    }
}

fn check_request_update(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    check_request(new, faults);
    let spot = &Spot::of("status");
    let count = |object: &Value, kind: &str| {
        list(get(object, "status"), "conditions")
            .iter()
            .filter(|c| text(c, "type") == kind)
            .count()
    };
    let at = &spot.child("conditions");
    for kind in ["Approved", "Denied", "Failed"] {
        if count(new, kind) < count(old, kind) {
            let message = format!("updates may not remove a condition of type \"{kind}\"");
            faults.forbidden(at, &message);
        }
    }
    for kind in ["Approved", "Denied"] {
        if endpoint != Endpoint::Approval && count(new, kind) > count(old, kind) {
            let message = format!("updates may not add a condition of type \"{kind}\"");
            faults.forbidden(at, &message);
        }
    }
    let certificate = |object: &Value| text(get(object, "status"), "certificate").to_owned();
    if certificate(new) != certificate(old) {
        let at = &spot.child("certificate");
        if endpoint != Endpoint::Status {
            faults.forbidden(at, "updates may not set certificate content");
        } else if !certificate(old).is_empty() {
            faults.forbidden(at, "updates may not modify existing certificate content");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::same;
    use model::{Timestamp, User, json};

    #[test]
    fn requests_are_signed_for_by_who_asks() {
        let user = User {
            name: "eve".into(),
            groups: vec!["g".into()],
            ..User::default()
        };
        let fresh = Fresh {
            uid: "u",
            now: Timestamp::from_seconds(0),
            user: Some(&user),
        };
        let mut object = json!({"spec": {"username": "admin", "uid": "1"}});
        sign_for(&mut object, &fresh);
        assert!(same(
            &object,
            &json!({"spec": {"username": "eve", "groups": ["g"]}})
        ));
    }
}
