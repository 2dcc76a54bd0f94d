//! Events, which two groups serve under different field names.

use crate::fault::{Faults, Spot};
use crate::fields::{fill, get, has, is_empty, number, same, set, text, unset};
use crate::go;
use crate::rules::{PLAIN, Recheck, Rules};
use model::{Value, json, meta, names};

/// What is special about an Event of the core group.
pub(crate) static EVENT: Rules = Rules {
    check: |object, faults| check_old(object, "reportingComponent", faults),
    check_update: |new, _, _, faults| check_old(new, "reportingComponent", faults),
    select,
    create_on_update: true,
    recheck: Recheck::Not,
    ..PLAIN
};

/// What is special about an Event of its own group.
pub(crate) static NEW_EVENT: Rules = Rules {
    check: |object, faults| {
        let event = as_core(object);
        check_old(&event, "reportingController", faults);
        check_new(&event, faults);
    },
    check_update: |new, old, _, faults| {
        let (new, old) = (as_core(new), as_core(old));
        check_old(&new, "reportingController", faults);
        check_kept(&new, &old, faults);
    },
    select: |object| select(&as_core(object)),
    create_on_update: true,
    ..PLAIN
};

/// The fields of the core group and of the other group that mean the same.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn as_core(object: &Value) -> Value {
    let mut copy = object.clone();
    to_core(&mut copy);
    copy
}

fn rename(object: &mut Value, from: &str, to: &str) {
    if let Some(map) = object.as_object_mut()
        && let Some(value) = map.remove(from)
    {
        map.insert(to.to_owned(), value);
    }
}

/// Changes an event of its own group into one of the core group.
pub(crate) fn to_core(object: &mut Value) {
    for (core, new) in NAMES {
        rename(object, new, core);
    }
    fill(object, "involvedObject", json!({}));
    fill(object, "reportingComponent", "");
    fill(object, "reportingInstance", "");
}

/// Changes an event of the core group into one of its own group.
pub(crate) fn to_new(object: &mut Value) {
    for (core, new) in NAMES {
        rename(object, core, new);
    }
    for field in ["reportingController", "reportingInstance"] {
        if text(object, field).is_empty() {
            unset(object, field);
        }
    }
    if is_empty(get(object, "regarding")) {
        set(object, "regarding", json!({}));
    }
}

fn select(object: &Value) -> Vec<(&'static str, String)> {
    let about = get(object, "involvedObject");
    let reporter = text(object, "reportingComponent");
    let source = match text(get(object, "source"), "component") {
        "" => reporter,
        source => source,
    };
    vec![
        ("involvedObject.kind", text(about, "kind").into()),
        ("involvedObject.namespace", text(about, "namespace").into()),
        ("involvedObject.name", text(about, "name").into()),
        ("involvedObject.uid", text(about, "uid").into()),
        (
            "involvedObject.apiVersion",
            text(about, "apiVersion").into(),
        ),
        (
            "involvedObject.resourceVersion",
            text(about, "resourceVersion").into(),
        ),
        ("involvedObject.fieldPath", text(about, "fieldPath").into()),
        ("reason", text(object, "reason").into()),
        ("reportingComponent", reporter.into()),
        ("source", source.into()),
        ("type", text(object, "type").into()),
    ]
}

fn check_old(event: &Value, reporter: &str, faults: &mut Faults) {
    let (own, about) = (
        meta::namespace(event),
        text(get(event, "involvedObject"), "namespace"),
    );
    let timed = has(event, "eventTime");
    let fits = match (timed, about) {
        (false, "") => matches!(own, "" | "default"),
        (false, about) => about == own,
        (true, "") => matches!(own, "default" | "kube-system"),
        (true, _) => true,
    };
    if !fits {
        let spot = &Spot::of("involvedObject.namespace");
        faults.invalid(spot, about, "does not match event.namespace");
    }
    if timed {
        check_timed(event, reporter, faults);
    }
    let spot = &Spot::of("namespace");
    faults.invalid_each(spot, own, names::dns1123_subdomain(own));
}

fn check_timed(event: &Value, reporter: &str, faults: &mut Faults) {
    let controller = text(event, "reportingComponent");
    if controller.is_empty() {
        faults.required(&Spot::of(reporter), "");
    }
    let found = names::qualified_name(controller);
    faults.invalid_each(&Spot::of(reporter), controller, found);
    for (field, needed, max) in [
        ("reportingInstance", true, 128),
        ("action", true, 128),
        ("reason", true, 128),
        ("message", false, 1024),
    ] {
        let value = text(event, field);
        if needed && value.is_empty() {
            faults.required(&Spot::of(field), "");
        }
        if value.len() > max {
            let message = format!("can have at most {max} characters");
            faults.invalid(&Spot::of(field), "", &message);
        }
    }
}

fn check_series(event: &Value, faults: &mut Faults) {
    let series = get(event, "series");
    if series.is_null() {
        return;
    }
    if number(series, "count") < 2 {
        faults.invalid(&Spot::of("series.count"), "", "should be at least 2");
    }
    if !has(series, "lastObservedTime") {
        faults.required(&Spot::of("series.lastObservedTime"), "");
    }
}

fn check_new(event: &Value, faults: &mut Faults) {
    check_series(event, faults);
    if !has(event, "eventTime") {
        faults.required(&Spot::of("eventTime"), "");
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        let message = format!("has invalid value: {kind}");
        faults.invalid(&Spot::of("type"), "", &message);
    }
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        if !is_empty(get(event, field)) {
            faults.invalid(&Spot::of(field), "", "needs to be unset");
        }
    }
}

fn check_kept(new: &Value, old: &Value, faults: &mut Faults) {
    if !same(get(new, "series"), get(old, "series")) {
        check_series(new, faults);
    }
    for (field, shown) in [
        ("involvedObject", "involvedObject"),
        ("reason", "reason"),
        ("message", "message"),
        ("source", "source"),
        ("firstTimestamp", "firstTimestamp"),
        ("lastTimestamp", "lastTimestamp"),
        ("count", "count"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        let (now, then) = (get(new, field), get(old, field));
        let moved = if now.is_string() || then.is_string() {
            now.as_str().unwrap_or("") != then.as_str().unwrap_or("")
        } else {
            !same(now, then)
        };
        if !moved {
            continue;
        }
        let kind = match field {
            "involvedObject" | "related" => "ObjectReference",
            "source" => "EventSource",
            _ => "",
        };
        let spot = &Spot::of(shown);
        if kind.is_empty() || now.is_null() {
            faults.invalid(spot, now.clone(), "field is immutable");
        } else {
            faults.invalid_shown(spot, &go::show(kind, now), "field is immutable");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_keep_their_meaning_in_both_groups() {
        let core = json!({
            "involvedObject": {"kind": "Pod", "name": "x"}, "message": "hello", "reason": "R",
            "source": {"component": "c"}, "firstTimestamp": null, "lastTimestamp": null,
            "eventTime": null, "reportingComponent": "", "reportingInstance": "",
        });
        let mut event = core.clone();
        to_new(&mut event);
        assert_eq!(event["regarding"], json!({"kind": "Pod", "name": "x"}));
        assert_eq!(event["note"], "hello");
        assert_eq!(event["deprecatedSource"], json!({"component": "c"}));
        to_core(&mut event);
        assert_eq!(event, core);
    }
}
