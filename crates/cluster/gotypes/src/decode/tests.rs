use super::*;
use model::json;

fn gvk(api_version: &str, kind: &str) -> GroupVersionKind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    GroupVersionKind::new(group, version, kind)
}

fn check_both(api_version: &str, kind: &str, body: Value, wanted: &Value, faults: &[&str]) {
    let gvk = gvk(api_version, kind);
    let decoded = decode_json(&gvk, body.to_string().as_bytes()).unwrap();
    assert_eq!(&decoded.value, wanted);
    assert_eq!(decoded.strict, faults);
    let mut tree = body;
    assert_eq!(decode(&gvk, &mut tree).unwrap(), faults);
    assert_eq!(&tree, wanted);
}

fn refusal(api_version: &str, kind: &str, body: &str) -> String {
    decode_json(&gvk(api_version, kind), body.as_bytes())
        .unwrap_err()
        .to_string()
}

#[test]
fn zero_values_come_and_go() {
    check_both(
        "v1",
        "Service",
        json!({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "a", "labels": {}, "generation": 0, "creationTimestamp": null},
            "spec": {"ports": [{"port": 80}], "clusterIP": "", "externalIPs": []}}),
        &json!({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "a"},
            "spec": {"ports": [{"port": 80, "targetPort": 0}]}, "status": {"loadBalancer": {}}}),
        &[],
    );
}

#[test]
fn unknown_fields_are_dropped_and_told() {
    check_both(
        "v1",
        "Pod",
        json!({"spec": {"bogus": 1, "containers": [{"name": "c", "imagee": "x"}]}, "metadata": {"labels": {"a": null}}}),
        &json!({"metadata": {"labels": {"a": ""}}, "spec": {"containers": [{"name": "c", "resources": {}}]}, "status": {}}),
        &[
            "unknown field \"spec.bogus\"",
            "unknown field \"spec.containers[0].imagee\"",
        ],
    );
}

#[test]
fn strict_errors_stand_in_document_order() {
    let body = br#"{"spec":{"zz":1,"replicas":1,"replicas":2,"aa":1,"template":{"spec":{"containers":[{"image":"x","imagee":"y"}]}}}}"#;
    let decoded = decode_json(&gvk("apps/v1", "Deployment"), body).unwrap();
    assert_eq!(
        decoded.strict,
        [
            "unknown field \"spec.zz\"",
            "duplicate field \"spec.replicas\"",
            "unknown field \"spec.aa\"",
            "unknown field \"spec.template.spec.containers[0].imagee\""
        ]
    );
    assert_eq!(decoded.value["spec"]["replicas"], 2);
}

#[test]
fn a_struct_given_twice_is_merged() {
    let body = br#"{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"labels":{"y":"2"}}}"#;
    let decoded = decode_json(&gvk("v1", "ConfigMap"), body).unwrap();
    assert_eq!(
        decoded.value["metadata"],
        json!({"name": "a", "labels": {"x": "1", "y": "2"}})
    );
    assert_eq!(decoded.strict, ["duplicate field \"metadata\""]);
}

#[test]
fn wrong_types_are_refused_in_go_words() {
    for (api_version, kind, body, wanted) in [
        (
            "apps/v1",
            "Deployment",
            r#"{"spec":{"replicas":"two"}}"#,
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "apps/v1",
            "Deployment",
            r#"{"spec":{"replicas":1.5}}"#,
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "v1",
            "ConfigMap",
            r#"{"data":{"a":1}}"#,
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            "v1",
            "ConfigMap",
            r#"{"binaryData":{"a":"!"}}"#,
            "illegal base64 data at input byte 0",
        ),
        (
            "v1",
            "Pod",
            r#"{"spec":{"containers":{}}}"#,
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            "v1",
            "Pod",
            r#"{"spec":{"volumes":[{"hostPath":{"path":1}}]}}"#,
            "json: cannot unmarshal number into Go struct field HostPathVolumeSource.spec.volumes.VolumeSource.hostPath.path of type string",
        ),
        (
            "v1",
            "Pod",
            r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}"#,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "v1",
            "Service",
            r#"{"spec":{"ports":[{"targetPort":1.5}]}}"#,
            "json: cannot unmarshal number 1.5 into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            "v1",
            "Pod",
            r#"{"metadata":{"creationTimestamp":5}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            "v1",
            "Pod",
            "[]",
            "json: cannot unmarshal array into Go value of type v1.Pod",
        ),
        ("v1", "Pod", r#"{"spec":{"#, "unexpected end of JSON input"),
        (
            "v1",
            "Pod",
            r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}"#,
            "unexpected end of JSON input",
        ),
    ] {
        assert_eq!(refusal(api_version, kind, body), wanted, "{body}");
    }
}

#[test]
fn schemas_inside_schemas_are_read_leniently() {
    let body = json!({"spec": {"group": "g", "names": {"plural": "p", "kind": "K"}, "scope": "Namespaced", "versions": [{"name": "v1",
        "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "bogus": 1, "default": {"a": 1},
        "properties": {"a": {"type": "array", "items": {"Type": "string", "bogus": 1}}, "b": {"additionalProperties": true}}}}}]}});
    let mut tree = body.clone();
    let gvk = gvk("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let strict = decode(&gvk, &mut tree).unwrap();
    let path = "spec.versions[0].schema.openAPIV3Schema.bogus";
    assert_eq!(strict, [format!("unknown field \"{path}\"")]);
    let schema = &tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    assert_eq!(
        schema,
        &json!({"a": {"type": "array", "items": {"type": "string"}}, "b": {"additionalProperties": true}})
    );
    let decoded = decode_json(&gvk, body.to_string().as_bytes()).unwrap();
    assert_eq!(decoded.value, tree);
}

#[test]
fn metadata_alone_can_be_decoded() {
    let mut meta = json!({"name": "a", "bogus": 1, "generation": 0, "labels": {"x": "y"}});
    assert_eq!(
        decode_object_meta(&mut meta).unwrap(),
        ["unknown field \"metadata.bogus\""]
    );
    assert_eq!(meta, json!({"name": "a", "labels": {"x": "y"}}));
    assert_eq!(
        decode_object_meta(&mut json!({"name": 5}))
            .unwrap_err()
            .to_string(),
        "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"
    );
}

#[test]
fn other_kinds_are_left_alone() {
    let mut value = json!({"spec": {"a": null}});
    assert!(
        decode(&gvk("e.com/v1", "Widget"), &mut value)
            .unwrap()
            .is_empty()
    );
    assert_eq!(value, json!({"spec": {"a": null}}));
}

#[test]
fn the_deepest_body_fits_the_stack() {
    let crd = gvk("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let schema = |levels: usize| {
        let inner = format!("{}{{}}{}", "{\"items\":".repeat(levels), "}".repeat(levels));
        format!(r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{inner}}}}}]}}}}"#)
    };
    let decoded = decode_json(&crd, schema(json::DEPTH_MAX - 6).as_bytes()).unwrap();
    let mut tree = decoded.value.clone();
    decode(&crd, &mut tree).unwrap();
    assert_eq!(tree, decoded.value);
    assert_eq!(
        refusal(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &schema(json::DEPTH_MAX)
        ),
        "invalid character '{' exceeded max depth"
    );
}
