//! The plain facts of kinds: what PUT may do, what apply ignores, what selectors can ask for.

use kinds::Endpoint;
use model::{GroupVersion, GroupVersionKind, json};

fn kind(text: &str) -> GroupVersionKind {
    let (version, kind) = text.rsplit_once(' ').expect("a version and a kind");
    let version = GroupVersion::parse(version).expect("a version");
    GroupVersionKind::new(version.group, version.version, kind)
}

#[test]
fn only_some_kinds_are_created_by_put() {
    for (name, creates, unconditional) in [
        ("v1 ConfigMap", false, true),
        ("v1 Service", true, true),
        ("v1 Event", true, true),
        ("coordination.k8s.io/v1 Lease", true, false),
        ("rbac.authorization.k8s.io/v1 Role", true, true),
        ("policy/v1 PodDisruptionBudget", false, false),
        ("apps/v1 Deployment", false, true),
    ] {
        let gvk = kind(name);
        assert_eq!(kinds::allows_create_on_update(&gvk), creates, "{name}");
        assert_eq!(kinds::unconditional_update(&gvk), unconditional, "{name}");
    }
}

#[test]
fn apply_ignores_what_an_endpoint_cannot_change() {
    let shown = |name: &str, endpoint: Endpoint| {
        let fields: Vec<String> = kinds::reset_fields(&kind(name), endpoint)
            .iter()
            .map(|path| path.join("."))
            .collect();
        fields.join(" ")
    };
    for (name, endpoint, wanted) in [
        ("apps/v1 Deployment", Endpoint::Main, "status"),
        (
            "apps/v1 Deployment",
            Endpoint::Status,
            "spec metadata.labels",
        ),
        ("apps/v1 ReplicaSet", Endpoint::Status, "spec"),
        (
            "v1 Pod",
            Endpoint::Status,
            "spec metadata.deletionTimestamp metadata.ownerReferences",
        ),
        ("v1 ConfigMap", Endpoint::Main, ""),
        (
            "certificates.k8s.io/v1 CertificateSigningRequest",
            Endpoint::Approval,
            "spec status.certificate",
        ),
        ("example.com/v1 Thing", Endpoint::Main, ""),
    ] {
        assert_eq!(shown(name, endpoint), wanted, "{name} {endpoint:?}");
    }
}

#[test]
fn fields_can_be_selected_by_their_old_names() {
    let pod = json!({
        "spec": {"nodeName": "n", "restartPolicy": "Always"},
        "status": {"phase": "Running", "podIPs": [{"ip": "10.1.1.1"}]},
    });
    let fields = kinds::selectable_fields(&kind("v1 Pod"), &pod);
    for (field, value) in [
        ("spec.nodeName", "n"),
        ("status.phase", "Running"),
        ("status.podIP", "10.1.1.1"),
        ("spec.hostNetwork", "false"),
    ] {
        assert!(fields.contains(&(field, value.to_owned())), "{field}");
    }
    let event = json!({"regarding": {"kind": "Pod", "name": "x"}, "reportingController": "c"});
    let fields = kinds::selectable_fields(&kind("events.k8s.io/v1 Event"), &event);
    assert!(fields.contains(&("involvedObject.name", "x".to_owned())));
    assert!(fields.contains(&("source", "c".to_owned())));
}

#[test]
fn workloads_can_be_scaled_and_pods_end_gracefully() {
    assert!(kinds::scale(&kind("apps/v1 Deployment")).is_some_and(|s| !s.selector_is_map));
    assert!(kinds::scale(&kind("v1 ReplicationController")).is_some_and(|s| s.selector_is_map));
    assert_eq!(kinds::scale(&kind("apps/v1 DaemonSet")), None);
    let grace = |pod| kinds::default_grace_seconds(&kind("v1 Pod"), &pod);
    assert_eq!(grace(json!({"spec": {}})), Some(0));
    assert_eq!(
        grace(json!({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 7}})),
        Some(7)
    );
    assert_eq!(
        grace(json!({"spec": {"nodeName": "n"}, "status": {"phase": "Failed"}})),
        Some(0)
    );
    let config = kinds::default_grace_seconds(&kind("v1 ConfigMap"), &json!({}));
    assert_eq!(config, None);
}

#[test]
fn broken_input_is_refused_and_never_panics() {
    let shapes = [
        json!(null),
        json!([]),
        json!({"metadata": 1, "spec": "x", "status": []}),
        json!({"spec": {"template": [], "containers": [null, 1, {}], "ports": {"a": 1}}}),
        json!({"data": [1], "webhooks": [null], "rules": {"a": 1}, "subsets": [[]]}),
    ];
    let user = model::User::anonymous();
    let fresh = kinds::Fresh {
        uid: "u",
        now: model::Timestamp::from_seconds(0),
        user: Some(&user),
    };
    for name in [
        "v1 Pod",
        "v1 Service",
        "v1 Secret",
        "v1 ConfigMap",
        "v1 Node",
        "v1 Namespace",
        "v1 PersistentVolumeClaim",
        "v1 PersistentVolume",
        "v1 Endpoints",
        "v1 Event",
        "v1 LimitRange",
        "v1 ResourceQuota",
        "v1 ReplicationController",
        "apps/v1 Deployment",
        "apps/v1 StatefulSet",
        "apps/v1 DaemonSet",
        "batch/v1 Job",
        "batch/v1 CronJob",
        "autoscaling/v1 HorizontalPodAutoscaler",
        "autoscaling/v2 HorizontalPodAutoscaler",
        "networking.k8s.io/v1 Ingress",
        "networking.k8s.io/v1 NetworkPolicy",
        "rbac.authorization.k8s.io/v1 ClusterRoleBinding",
        "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
        "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
        "certificates.k8s.io/v1 CertificateSigningRequest",
        "events.k8s.io/v1 Event",
        "example.com/v1 Thing",
    ] {
        let gvk = kind(name);
        for shape in &shapes {
            let mut object = shape.clone();
            kinds::default(&gvk, &mut object);
            kinds::prepare_create(&gvk, &mut object, &fresh);
            let faults = kinds::validate_metadata(&gvk, true, &object);
            assert!(!faults.is_empty(), "{name} {shape}");
            kinds::validate_create(&gvk, &object);
            kinds::warnings(&gvk, &object, Some(shape));
            for endpoint in [Endpoint::Main, Endpoint::Status, Endpoint::Ephemeral] {
                let mut new = shape.clone();
                kinds::prepare_update(&gvk, &mut new, &object, endpoint, &fresh);
                kinds::validate_update(&gvk, &new, shape, endpoint);
                kinds::validate_metadata_update(&new, shape);
            }
            kinds::selectable_fields(&gvk, shape);
        }
    }
}
