//! StatefulSets: pods with names and volumes of their own.

use super::{
    SCALE, check_collisions, check_counts, check_forever, check_match, check_parts, check_selector,
    check_share, check_share_max, share_value,
};
use crate::fault::{Faults, Spot};
use crate::fields::{
    carry, fill, fill_empty, get, has, int, items_mut, list, map_slot, number, same, set, slot,
    some_mut, text, unset,
};
use crate::pod::{annotations, defaults, spec, warnings};
use crate::rules::{Name, PLAIN, Rules};
use crate::{Endpoint, claim, go, metadata, selector};
use model::{Value, json, meta, names};

/// What is special about a StatefulSet.
pub(crate) static STATEFUL_SET: Rules = Rules {
    default: |object, _| default(slot(object, "spec")),
    check: |object, faults| check(get(object, "spec"), true, faults),
    check_update,
    warn: |new, old, out| warn(new, old, out),
    name: Name::Label,
    status: Some(r#"{"availableReplicas":0,"replicas":0}"#),
    generation: &["spec"],
    scale: Some(SCALE),
    ..PLAIN
};

fn default(own: &mut Value) {
    defaults::template(map_slot(own, "template"));
    for template in items_mut(own, "volumeClaimTemplates") {
        fill(template, "apiVersion", "v1");
        fill(template, "kind", "PersistentVolumeClaim");
        claim::default(template);
    }
    fill_empty(own, "podManagementPolicy", "OrderedReady");
    let strategy = map_slot(own, "updateStrategy");
    if text(strategy, "type").is_empty() {
        set(strategy, "type", "RollingUpdate");
        map_slot(strategy, "rollingUpdate");
    }
    if text(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = some_mut(strategy, "rollingUpdate")
    {
        fill(rolling, "partition", 0);
        // The feature behind this field is off: what is given is dropped.
        unset(rolling, "maxUnavailable");
    }
    let retention = map_slot(own, "persistentVolumeClaimRetentionPolicy");
    fill_empty(retention, "whenDeleted", "Retain");
    fill_empty(retention, "whenScaled", "Retain");
    fill(own, "replicas", 1);
    fill(own, "revisionHistoryLimit", 10);
}

fn warn(new: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    let own = get(new, "spec");
    if old.is_none_or(|old| meta::generation(old) != meta::generation(new)) {
        let old = old.map(|old| get(get(old, "spec"), "template"));
        let spot = &Spot::of("spec.template");
        warnings::template(get(own, "template"), old, spot, out);
    }
    for (index, template) in list(own, "volumeClaimTemplates").iter().enumerate() {
        let spot = &Spot::of("spec.volumeClaimTemplates");
        let spot = &spot.index(index);
        if old.is_some() {
            warnings::claim_sizes(get(template, "spec"), &spot.child("Spec"), out);
        } else {
            warnings::claim_sizes(get(template, "spec"), spot, out);
        }
    }
    if number(own, "revisionHistoryLimit") < 0 {
        out.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a \
             value >= 0 is recommended"
                .into(),
        );
    }
}

fn check(own: &Value, is_new: bool, faults: &mut Faults) {
    let spot = &Spot::of("spec");
    check_policies(own, spot, faults);
    let retention = get(own, "persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        let policy = text(retention, field);
        if !matches!(policy, "Retain" | "Delete") {
            let at = &spot.child("persistentVolumeClaimRetentionPolicy");
            faults.unsupported(&at.child(field), policy, &["Retain", "Delete"]);
        }
    }
    if is_new {
        for (index, template) in list(own, "volumeClaimTemplates").iter().enumerate() {
            let at = &spot.child("volumeClaimTemplates");
            let at = &at.index(index);
            claim::check_spec(get(template, "spec"), &at.child("spec"), faults);
        }
    }
    check_counts(own, &["replicas", "minReadySeconds"], spot, faults);
    if let Some(start) = int(get(own, "ordinals"), "start") {
        faults.non_negative(&spot.child("ordinals.start"), start);
    }
    let service = text(own, "serviceName");
    if is_new && !service.is_empty() {
        let found = names::dns1123_label(service);
        faults.invalid_each(&spot.child("serviceName"), service, found);
    }
    check_selector(own, "statefulset", spot, faults);
    if selector::matches(get(own, "selector"), get(own, "template")).is_some() {
        check_template(own, spot, faults);
    } else {
        let shown = selector::show(get(own, "selector"));
        faults.invalid_shown(&spot.child("selector"), &shown, "");
    }
    check_forever(own, "StatefulSet", spot, faults);
}

fn check_policies(own: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("podManagementPolicy");
    match text(own, "podManagementPolicy") {
        "" => faults.required(at, ""),
        "OrderedReady" | "Parallel" => {}
        other => faults.invalid(at, other, "must be 'OrderedReady' or 'Parallel'"),
    }
    let strategy = get(own, "updateStrategy");
    let at = &spot.child("updateStrategy");
    let rolling = get(strategy, "rollingUpdate");
    match text(strategy, "type") {
        "" => faults.required(at, ""),
        "OnDelete" => {
            if !rolling.is_null() {
                let shown = go::show("RollingUpdateStatefulSetStrategy", rolling);
                let message = "only allowed for updateStrategy 'RollingUpdate'";
                faults.invalid_shown(&at.child("rollingUpdate"), &shown, message);
            }
        }
        "RollingUpdate" => {
            let at = &at.child("rollingUpdate");
            faults.non_negative(&at.child("partition"), number(rolling, "partition"));
            if has(rolling, "maxUnavailable") {
                let (share, at) = (get(rolling, "maxUnavailable"), &at.child("maxUnavailable"));
                check_share(share, at, faults);
                if share_value(share) == 0 {
                    faults.invalid(at, share.clone(), "cannot be 0");
                }
                check_share_max(share, at, faults);
            }
        }
        _ => {
            let shown = go::show("StatefulSetUpdateStrategy", strategy);
            let message = "must be 'RollingUpdate' or 'OnDelete'";
            faults.invalid_shown(at, &shown, message);
        }
    }
}

// The pod's host name and its claimed volumes come from the set, so the template is checked as if
// it had them.
fn check_template(own: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    check_match(own, spot, faults);
    let mut template = get(own, "template").clone();
    let claims: Vec<&str> = list(own, "volumeClaimTemplates")
        .iter()
        .map(meta::name)
        .collect();
    let pod = map_slot(&mut template, "spec");
    unset(pod, "hostname");
    unset(pod, "subdomain");
    if !claims.is_empty() {
        let mut volumes: Vec<Value> = claims
            .iter()
            .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
            .collect();
        let others = list(pod, "volumes")
            .iter()
            .filter(|volume| !claims.contains(&text(volume, "name")));
        volumes.extend(others.cloned());
        set(pod, "volumes", volumes);
    }
    let at = &spot.child("template");
    spec::check_template(&template, at, faults);
    let meta = get(&template, "metadata");
    metadata::check_labels(get(meta, "labels"), &at.child("labels"), faults);
    let notes = &at.child("annotations");
    metadata::check_annotations(get(meta, "annotations"), notes, faults);
    annotations::check(&template, notes, faults);
}

fn check_update(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    if endpoint == Endpoint::Status {
        return check_status(new, old, faults);
    }
    let (own, before) = (get(new, "spec"), get(old, "spec"));
    check(own, false, faults);
    let mut rest = own.clone();
    for field in [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ] {
        carry(&mut rest, before, field);
    }
    if !same(&rest, before) {
        let message = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
             'template', 'updateStrategy', 'revisionHistoryLimit', \
             'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        faults.forbidden(&Spot::of("spec"), message);
    }
}

fn check_status(new: &Value, old: &Value, faults: &mut Faults) {
    let (status, spot) = (get(new, "status"), &Spot::of("status"));
    let counts = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    check_counts(status, &counts, spot, faults);
    let parts = [
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ];
    check_parts(status, &parts, "status.readyReplicas", spot, faults);
    check_collisions(new, old, spot, faults);
}
