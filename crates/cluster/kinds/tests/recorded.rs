//! Answers of a real API server, recorded: the same input must give the same object, or the same
//! faults in the same order.
//!
//! A line of `creates.jsonl` is one create, a line of `updates.jsonl` one PUT; what admission
//! plugins add (tolerations, priorities, protection finalizers, taints) is left out of the
//! comparison, as is what Go writes for fields that nobody set.

use kinds::{Endpoint, Fresh};
use model::{FieldError, GroupVersion, GroupVersionKind, Timestamp, User, Value, json, meta};

const CREATES: &str = include_str!("recorded/creates.jsonl");
const CONVERSIONS: &str = include_str!("recorded/conversions.jsonl");
const UPDATES: &str = include_str!("recorded/updates.jsonl");

fn gvk(case: &Value) -> GroupVersionKind {
    let version = GroupVersion::parse(case["apiVersion"].as_str().expect("as recorded"))
        .expect("as recorded");
    GroupVersionKind::new(
        version.group,
        version.version,
        case["kind"].as_str().expect("as recorded"),
    )
}

fn admin() -> User {
    User {
        name: "admin".into(),
        uid: "admin-uid".into(),
        groups: vec!["system:masters".into(), "system:authenticated".into()],
        ..User::default()
    }
}

fn causes(faults: &[FieldError]) -> Value {
    let list: Vec<Value> = faults
        .iter()
        .map(|fault| json!([fault.field, fault.reason(), fault.body()]))
        .collect();
    list.into()
}

// Removes nulls, empty texts, lists and maps, all the way down.
fn squeeze(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(squeeze);
            map.retain(|_, v| !is_blank(v));
        }
        Value::Array(list) => list.iter_mut().for_each(squeeze),
        _ => {}
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn forget_admission(object: &mut Value, kind: &str) {
    let remove = |object: &mut Value, pointer: &str, field: &str| {
        if let Some(Value::Object(map)) = object.pointer_mut(pointer) {
            map.remove(field);
        }
    };
    match kind {
        "Pod" => {
            for field in ["tolerations", "priority", "preemptionPolicy"] {
                remove(object, "/spec", field);
            }
        }
        "Node" => {
            remove(object, "/spec", "taints");
            remove(object, "/status", "daemonEndpoints");
            remove(object, "/status", "nodeInfo");
        }
        "PersistentVolumeClaim" | "PersistentVolume" | "VolumeAttributesClass" => {
            remove(object, "/metadata", "finalizers");
        }
        _ => {}
    }
}

fn shown(mut object: Value, kind: &str) -> String {
    forget_admission(&mut object, kind);
    squeeze(&mut object);
    object.to_string()
}

fn allocate(service: &mut Value, like: &Value) {
    for field in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
        if let Some(value) = like["spec"].get(field) {
            service["spec"][field] = value.clone();
        }
    }
    let ports = like["spec"]["ports"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for (index, port) in ports.iter().enumerate() {
        if let Some(node) = port.get("nodePort") {
            service["spec"]["ports"][index]["nodePort"] = node.clone();
        }
    }
}

fn created(case: &Value) -> Result<Value, Vec<FieldError>> {
    let gvk = gvk(case);
    let output = &case["output"];
    let namespace = case["namespace"].as_str().expect("as recorded");
    let mut object = case["input"].clone();
    // Refused objects had a uid, too: recordings of their faults say `some-uid` instead of it.
    let uid = if output.is_null() {
        "some-uid"
    } else {
        meta::uid(output)
    };
    let now = meta::creation_timestamp(output).unwrap_or(Timestamp::from_seconds(0));
    kinds::default(&gvk, &mut object);
    meta::set_text(&mut object, "uid", uid);
    meta::set_text(&mut object, "namespace", namespace);
    meta::set_text(&mut object, "creationTimestamp", &now.rfc3339());
    let user = admin();
    if gvk.kind == "Service" {
        kinds::service::settle(&mut object, None, &["IPv4"])?;
        if output.is_null() {
            let like = json!({"spec": {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"]}});
            if !kinds::service::needs(&object, None).cluster_ips.is_empty() {
                allocate(&mut object, &like);
            }
        } else {
            allocate(&mut object, output);
        }
    }
    let fresh = Fresh {
        uid,
        now,
        user: Some(&user),
    };
    kinds::prepare_create(&gvk, &mut object, &fresh);
    let mut faults = kinds::validate_metadata(&gvk, !namespace.is_empty(), &object);
    faults.extend(kinds::validate_create(&gvk, &object));
    if faults.is_empty() {
        Ok(object)
    } else {
        Err(faults)
    }
}

fn warned(case: &Value, new: &Value, old: Option<&Value>) -> (Value, Value) {
    let wanted = case.get("warnings").cloned().unwrap_or(json!([]));
    let ignored = |text: &str| text.contains("is deprecated in v1.");
    let wanted: Vec<&str> = wanted
        .as_array()
        .expect("as recorded")
        .iter()
        .map(|text| text.as_str().expect("as recorded"))
        .filter(|text| !ignored(text))
        .collect();
    let given = kinds::warnings(&gvk(case), new, old);
    (json!(wanted), json!(given))
}

#[derive(Default)]
struct Report {
    differences: Vec<String>,
    count: usize,
}

impl Report {
    fn expect(&mut self, case: &Value, what: &str, wanted: &str, given: &str) {
        self.count += 1;
        if wanted != given {
            let input = case.get("input").unwrap_or(&case["new"]);
            self.differences.push(format!(
                "{} {what}\n  input  {input}\n  wanted {wanted}\n  given  {given}",
                case["kind"]
            ));
        }
    }

    fn finish(self) {
        assert!(self.count > 0, "no case was compared");
        assert!(
            self.differences.is_empty(),
            "{} of {} differ:\n{}",
            self.differences.len(),
            self.count,
            self.differences.join("\n")
        );
    }
}

#[test]
fn creates_answer_as_the_real_server_does() {
    let mut report = Report::default();
    for line in CREATES.lines() {
        let case: Value = line.parse().expect("as recorded");
        let kind = case["kind"].as_str().expect("as recorded");
        match created(&case) {
            Ok(object) if case["code"] == 201 => {
                let wanted = shown(case["output"].clone(), kind);
                report.expect(&case, "object", &wanted, &shown(object.clone(), kind));
                let (wanted, given) = warned(&case, &object, None);
                report.expect(&case, "warnings", &wanted.to_string(), &given.to_string());
            }
            Ok(_) => report.expect(&case, "faults", &case["causes"].to_string(), "accepted"),
            Err(faults) => {
                let given = causes(&faults).to_string();
                let wanted = if case["code"] == 201 {
                    "accepted".to_owned()
                } else {
                    case["causes"].to_string()
                };
                report.expect(&case, "faults", &wanted, &given);
            }
        }
    }
    report.finish();
}

fn endpoint(case: &Value) -> Endpoint {
    match case["endpoint"].as_str().expect("as recorded") {
        "status" => Endpoint::Status,
        "ephemeralcontainers" => Endpoint::Ephemeral,
        "resize" => Endpoint::Resize,
        "finalize" => Endpoint::Finalize,
        "approval" => Endpoint::Approval,
        _ => Endpoint::Main,
    }
}

fn updated(case: &Value) -> Result<Value, Vec<FieldError>> {
    let gvk = gvk(case);
    let (old, endpoint) = (&case["old"], endpoint(case));
    let mut new = case["new"].clone();
    kinds::default(&gvk, &mut new);
    if gvk.kind == "Service" && endpoint == Endpoint::Main {
        kinds::service::settle(&mut new, Some(old), &["IPv4"])?;
        if !case["output"].is_null() {
            allocate(&mut new, &case["output"]);
        }
    }
    let user = admin();
    let fresh = Fresh {
        uid: meta::uid(old),
        now: Timestamp::from_seconds(0),
        user: Some(&user),
    };
    kinds::prepare_update(&gvk, &mut new, old, endpoint, &fresh);
    let mut faults = kinds::validate_metadata_update(&new, old);
    faults.extend(kinds::validate_update(&gvk, &new, old, endpoint));
    if faults.is_empty() {
        Ok(new)
    } else {
        Err(faults)
    }
}

#[test]
fn updates_answer_as_the_real_server_does() {
    let mut report = Report::default();
    for line in UPDATES.lines() {
        let case: Value = line.parse().expect("as recorded");
        let kind = case["kind"].as_str().expect("as recorded");
        let forget = |mut object: Value| {
            if let Some(Value::Object(map)) = object.pointer_mut("/metadata") {
                map.remove("resourceVersion");
            }
            shown(object, kind)
        };
        match updated(&case) {
            Ok(object) if case["code"] == 200 => {
                let wanted = forget(case["output"].clone());
                report.expect(&case, "object", &wanted, &forget(object.clone()));
                let (wanted, given) = warned(&case, &object, Some(&case["old"]));
                report.expect(&case, "warnings", &wanted.to_string(), &given.to_string());
            }
            Ok(_) => report.expect(&case, "faults", &case["causes"].to_string(), "accepted"),
            Err(faults) => {
                let given = causes(&faults).to_string();
                let wanted = if case["code"] == 200 {
                    "accepted".to_owned()
                } else {
                    case["causes"].to_string()
                };
                report.expect(&case, "faults", &wanted, &given);
            }
        }
    }
    report.finish();
}

#[test]
fn versions_convert_as_the_real_server_converts_them() {
    let mut report = Report::default();
    for line in CONVERSIONS.lines() {
        let case: Value = line.parse().expect("as recorded");
        let side = |key: &str| {
            let version =
                GroupVersion::parse(case[key].as_str().expect("as recorded")).expect("as recorded");
            let kind = case["kind"].as_str().expect("as recorded");
            GroupVersionKind::new(version.group, version.version, kind)
        };
        let mut object = case["input"].clone();
        kinds::convert(&mut object, &side("from"), &side("to"));
        let wanted = shown(case["output"].clone(), "");
        report.expect(&case, "converted", &wanted, &shown(object, ""));
    }
    report.finish();
}
