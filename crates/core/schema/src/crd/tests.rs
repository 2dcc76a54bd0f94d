//! Answers recorded from kube-apiserver v1.36.4 to small changes of one sound CRD.
//!
//! `cases.txt` holds them: each `=` line sets one place of the CRD, the lines below are the causes.

use super::*;
use model::json;

const PROPERTY: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/";
const ROOT: &str = "/spec/versions/0/schema/openAPIV3Schema";

fn base() -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"a": {"type": "string"}},
    }}});
    let version = json!({
        "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "bads.b.example.com"},
        "spec": {
            "group": "b.example.com",
            "scope": "Namespaced",
            "names": {"plural": "bads", "kind": "Bad"},
            "versions": [version],
        },
    })
}

fn set(crd: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/");
    match crd.pointer_mut(parent).unwrap() {
        Value::Object(fields) => {
            fields.insert(key, value);
        }
        Value::Array(entries) => entries[key.parse::<usize>().unwrap()] = value,
        other => panic!("{pointer} is below {other}"),
    }
}

fn faults(changes: &[(String, Value)]) -> String {
    let mut crd = base();
    for (pointer, value) in changes {
        set(&mut crd, pointer, value.clone());
    }
    default_crd(&mut crd);
    crd["status"] = initial_status(&crd);
    let faults = check_crd(&crd, &|_, _| Vec::new());
    if faults.is_empty() {
        return "(accepted)".into();
    }
    let line = |f: &model::FieldError| {
        let line = format!("{} | {} | {}", f.reason(), f.field, f.body());
        line.replace('\n', "\\n")
    };
    faults.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn crds_are_refused_as_recorded() {
    let mut changes: Vec<(String, Value)> = Vec::new();
    let mut expected: Vec<String> = Vec::new();
    let mut count = 0;
    for line in include_str!("cases.txt").lines().chain(["="]) {
        if let Some(cause) = line.strip_prefix("  ") {
            expected.push(cause.to_owned());
            continue;
        }
        if !expected.is_empty() {
            assert_eq!(faults(&changes), expected.join("\n"), "{changes:?}");
            changes.clear();
            expected.clear();
            count += 1;
        }
        if let Some((pointer, value)) = line.get(2..).and_then(|l| l.split_once(' ')) {
            let pointer = pointer.replace("PROPERTY/", PROPERTY).replace("ROOT", ROOT);
            changes.push((pointer, value.parse().unwrap()));
        }
    }
    assert!(count > 70, "only {count} cases were read");
}

#[test]
fn what_names_the_kind_cannot_change() {
    let ready = |change: (&str, Value), established: bool| {
        let mut crd = base();
        default_crd(&mut crd);
        crd["status"] = initial_status(&crd);
        if established {
            crd["status"]["conditions"] = json!([{"type": "Established", "status": "True"}]);
        }
        set(&mut crd, change.0, change.1);
        crd
    };
    let nothing = || ("/kind", json!("CustomResourceDefinition"));
    let check = |change: (&str, Value), established: bool| -> Vec<String> {
        let (old, new) = (ready(nothing(), established), ready(change, established));
        let faults = check_crd_update(&new, &old, &|_, _| Vec::new());
        faults.iter().map(ToString::to_string).collect()
    };
    assert_eq!(check(nothing(), true), [""; 0]);
    assert_eq!(check(("/spec/scope", json!("Cluster")), false), [""; 0]);
    assert_eq!(
        check(("/spec/scope", json!("Cluster")), true),
        [r#"spec.scope: Invalid value: "Cluster": field is immutable"#]
    );
    assert_eq!(
        check(("/spec/names/kind", json!("Worse")), true),
        [r#"spec.names.kind: Invalid value: "Worse": field is immutable"#]
    );
    assert_eq!(
        check(("/spec/names/plural", json!("worses")), false),
        [r#"spec.names.plural: Invalid value: "worses": field is immutable"#]
    );
    assert_eq!(
        check(("/status/storedVersions", json!(["v0", "v1"])), true),
        [
            "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was \
          previously a storage version, and must remain in spec.versions until a storage \
          migration ensures no data remains persisted in v0 and removes v0 from \
          status.storedVersions"
        ]
    );
}
