use super::*;
use crate::testing::{Fake, Request};
use expect_test::{Expect, expect};

const NOW: Timestamp = Timestamp::from_seconds(1000);

fn quota(name: &str, hard: &Value, used: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "quo"}, "spec": {"hard": hard}, "status": {"hard": hard, "used": used}})
}

fn cluster() -> Fake {
    let hard = json!({
        "pods": "1", "requests.cpu": "1", "limits.memory": "1Gi", "services": "1", "services.nodeports": "1",
        "count/configmaps": "2", "configmaps": "3", "persistentvolumeclaims": "1", "requests.storage": "1Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "1Gi", "count/deployments.apps": "0",
    });
    let used: Value = hard
        .as_object()
        .unwrap()
        .keys()
        .map(|k| (k.clone(), json!("0")))
        .collect();
    Fake::default().with("resourcequotas", &[quota("q", &hard, &used)])
}

fn check(cluster: &Fake, request: &Request, expected: Expect) {
    let answer = match charge(&request.review(), cluster, NOW) {
        Ok(updates) if updates.is_empty() => "free".into(),
        Ok(updates) => {
            let changed = |u: &QuotaUpdate| {
                let used = u.status["used"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .filter(|(_, v)| *v != "0");
                let used: Vec<String> = used
                    .map(|(k, v)| format!("{k}={}", v.as_str().unwrap()))
                    .collect();
                format!("{}: {}", u.name, used.join(","))
            };
            updates.iter().map(changed).collect::<Vec<_>>().join("\n")
        }
        Err(e) => e.message,
    };
    expected.assert_eq(&answer);
}

fn pod(requests: &Value, limits: &Value) -> Request {
    Request::pod(
        "quo",
        json!({"containers": [{"name": "c", "resources": {"requests": requests, "limits": limits}}]}),
    )
}

#[test]
fn pods_must_say_what_is_counted() {
    check(
        &cluster(),
        &Request::pod(
            "quo",
            json!({"initContainers": [{"name": "i"}], "containers": [{"name": "c"}, {"name": "b", "resources": {"requests": {"cpu": "1"}}}]}),
        ),
        expect![[
            r#"pods "p" is forbidden: failed quota: q: must specify limits.memory for: b,c,i; requests.cpu for: c,i"#
        ]],
    );
}

#[test]
fn pods_are_charged_until_it_is_too_much() {
    check(
        &cluster(),
        &pod(
            &json!({"cpu": "200m"}),
            &json!({"memory": "100Mi", "cpu": "2"}),
        ),
        expect!["q: limits.memory=100Mi,pods=1,requests.cpu=200m"],
    );
    check(
        &cluster(),
        &pod(&json!({"cpu": "2"}), &json!({"memory": "2Gi", "cpu": "2"})),
        expect![[
            r#"pods "p" is forbidden: exceeded quota: q, requested: limits.memory=2Gi,requests.cpu=2, used: limits.memory=0,requests.cpu=0, limited: limits.memory=1Gi,requests.cpu=1"#
        ]],
    );
    let dry = Request {
        dry_run: true,
        ..pod(&json!({"cpu": "200m"}), &json!({"memory": "100Mi"}))
    };
    check(&cluster(), &dry, expect!["free"]);
}

#[test]
fn other_objects_are_counted_by_kind_and_by_name() {
    let named = |kind: &str| json!({"kind": kind, "metadata": {"name": "x"}});
    check(
        &cluster(),
        &Request::create("configmaps", "quo", named("ConfigMap")),
        expect!["q: configmaps=1,count/configmaps=1"],
    );
    check(
        &cluster(),
        &Request::create("secrets", "quo", named("Secret")),
        expect!["free"],
    );
    check(
        &cluster(),
        &Request::create("apps/v1/deployments", "quo", named("Deployment")),
        expect![[
            r#"deployments.apps "x" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0"#
        ]],
    );
    check(
        &Fake::default().with(
            "resourcequotas",
            &[quota(
                "q",
                &json!({"count/secrets": "0"}),
                &json!({"count/secrets": "0"}),
            )],
        ),
        &Request::create("secrets", "quo", named("Secret")),
        expect![[
            r#"secrets "x" is forbidden: exceeded quota: q, requested: count/secrets=1, used: count/secrets=0, limited: count/secrets=0"#
        ]],
    );
    check(
        &Fake::default().with(
            "resourcequotas",
            &[quota("q", &json!({"count/secrets": "0"}), &json!({}))],
        ),
        &Request::create("secrets", "quo", named("Secret")),
        expect![[
            r#"secrets "x" is forbidden: status unknown for quota: q, resources: count/secrets"#
        ]],
    );
}

#[test]
fn claims_count_by_class() {
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "x"}, "spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "3Gi"}}}});
    check(
        &cluster(),
        &Request::create("persistentvolumeclaims", "quo", claim),
        expect![[
            r#"persistentvolumeclaims "x" is forbidden: exceeded quota: q, requested: gold.storageclass.storage.k8s.io/requests.storage=3Gi,requests.storage=3Gi, used: gold.storageclass.storage.k8s.io/requests.storage=0,requests.storage=0, limited: gold.storageclass.storage.k8s.io/requests.storage=1Gi,requests.storage=1Gi"#
        ]],
    );
}

#[test]
fn updates_are_charged_the_difference() {
    let service = |kind: &str, ports: usize| json!({"kind": "Service", "metadata": {"name": "x", "resourceVersion": "1"}, "spec": {"type": kind, "ports": vec![json!({"port": 1}); ports]}});
    let from_to = |old: Value, new: Value| Request::update("services", "quo", new, old);
    check(
        &cluster(),
        &from_to(service("ClusterIP", 1), service("ClusterIP", 2)),
        expect!["free"],
    );
    check(
        &cluster(),
        &from_to(service("ClusterIP", 1), service("NodePort", 1)),
        expect!["q: services.nodeports=1"],
    );
    check(
        &cluster(),
        &from_to(service("ClusterIP", 1), service("LoadBalancer", 2)),
        expect![[
            r#"services "x" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1"#
        ]],
    );
}

#[test]
fn scopes_choose_the_pods() {
    let scoped = |scope: &str| {
        let mut quota = quota("s", &json!({"pods": "0"}), &json!({"pods": "0"}));
        quota["spec"]["scopes"] = json!([scope]);
        Fake::default().with("resourcequotas", &[quota])
    };
    let none = pod(&json!({}), &json!({}));
    check(
        &scoped("BestEffort"),
        &none,
        expect![[
            r#"pods "p" is forbidden: exceeded quota: s, requested: pods=1, used: pods=0, limited: pods=0"#
        ]],
    );
    check(&scoped("NotBestEffort"), &none, expect!["free"]);
    check(&scoped("Terminating"), &none, expect!["free"]);
    check(&scoped("PriorityClass"), &none, expect!["free"]);
    check(
        &scoped("BestEffort"),
        &Request::create("configmaps", "quo", json!({"metadata": {"name": "x"}})),
        expect!["free"],
    );
    let mut by_class = quota("c", &json!({"pods": "0"}), &json!({"pods": "0"}));
    by_class["spec"]["scopeSelector"] = json!({"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]});
    let by_class = Fake::default().with("resourcequotas", &[by_class]);
    check(
        &by_class,
        &Request::pod("quo", json!({"priorityClassName": "high"})),
        expect![[
            r#"pods "p" is forbidden: exceeded quota: c, requested: pods=1, used: pods=0, limited: pods=0"#
        ]],
    );
    check(
        &by_class,
        &Request::pod("quo", json!({"priorityClassName": "low"})),
        expect!["free"],
    );
}

#[test]
fn counting_from_scratch() {
    let pod = |name: &str, phase: &str| json!({"metadata": {"name": name, "namespace": "quo"}, "spec": {"containers": [{"resources": {"requests": {"cpu": "300m", "memory": "64Mi"}}}]}, "status": {"phase": phase}});
    let cluster = Fake::default()
        .with(
            "pods",
            &[
                pod("a", "Running"),
                pod("b", "Pending"),
                pod("c", "Succeeded"),
            ],
        )
        .with(
            "configmaps",
            &[
                json!({"metadata": {"name": "x", "namespace": "quo"}}),
                json!({"metadata": {"name": "y", "namespace": "other"}}),
            ],
        )
        .with(
            "batch/jobs",
            &[json!({"metadata": {"name": "j", "namespace": "quo"}})],
        );
    let quota = json!({"metadata": {"name": "q", "namespace": "quo"}, "spec": {"hard": {
        "pods": "9", "count/pods": "9", "requests.cpu": "2", "memory": "1Gi", "configmaps": "1", "count/jobs.batch": "4", "services": "2", "nonsense": "1",
    }}});
    expect![[r#"{"hard":{"configmaps":"1","count/jobs.batch":"4","count/pods":"9","memory":"1Gi","nonsense":"1","pods":"9","requests.cpu":"2","services":"2"},"used":{"configmaps":"1","count/jobs.batch":"1","count/pods":"3","memory":"128Mi","pods":"2","requests.cpu":"600m","services":"0"}}"#]]
        .assert_eq(&recompute(&quota, &cluster, NOW).to_string());
}
