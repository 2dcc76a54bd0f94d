use super::*;
use expect_test::{Expect, expect};
use model::json;

fn role(kind: &str, namespace: &str, name: &str, rules: &Value) -> Value {
    json!({"kind": kind, "metadata": {"name": name, "namespace": namespace}, "rules": rules})
}

fn binding(kind: &str, namespace: &str, name: &str, to: (&str, &str), subjects: &Value) -> Value {
    json!({
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": to.0, "name": to.1},
        "subjects": subjects,
    })
}

fn policy() -> Rbac {
    Rbac::from_objects(&[
        role(
            "ClusterRole",
            "",
            "view",
            &json!([
                {"apiGroups": ["", "apps"], "resources": ["pods", "pods/log", "deployments"], "verbs": ["get", "list"]},
                {"apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["*"]},
            ]),
        ),
        role(
            "ClusterRole",
            "",
            "paths",
            &json!([{"nonResourceURLs": ["/version", "/healthz/*"], "verbs": ["get"]}]),
        ),
        role(
            "Role",
            "dev",
            "one-secret",
            &json!([
                {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["tls"], "verbs": ["get"]},
            ]),
        ),
        binding(
            "ClusterRoleBinding",
            "",
            "everybody",
            ("ClusterRole", "paths"),
            &json!([{"kind": "Group", "name": "system:authenticated"}]),
        ),
        binding(
            "RoleBinding",
            "dev",
            "viewers",
            ("ClusterRole", "view"),
            &json!([
                {"kind": "User", "name": "zoe"}, {"kind": "Group", "name": "devs"}, {"kind": "ServiceAccount", "name": "bot"},
            ]),
        ),
        binding(
            "RoleBinding",
            "dev",
            "tls",
            ("Role", "one-secret"),
            &json!([{"kind": "ServiceAccount", "name": "bot", "namespace": "ci"}]),
        ),
        binding(
            "ClusterRoleBinding",
            "",
            "dangling",
            ("ClusterRole", "gone"),
            &json!([{"kind": "User", "name": "lost"}]),
        ),
        binding(
            "RoleBinding",
            "dev",
            "dangling",
            ("Role", "gone"),
            &json!([{"kind": "User", "name": "lost"}]),
        ),
    ])
}

/// `user[,group…] verb group/resource[/sub] namespace name`, or `user verb /path`; `-` is empty.
fn ask(rbac: &Rbac, line: &str) -> String {
    let words: Vec<&str> = line
        .split_whitespace()
        .map(|w| if w == "-" { "" } else { w })
        .collect();
    let mut who = words[0].split(',');
    let user = User {
        name: who.next().unwrap().into(),
        groups: who.map(str::to_owned).collect(),
        ..User::default()
    };
    let a = if words.len() == 3 {
        Attributes::path(&user, words[1], words[2])
    } else {
        let mut parts = words[2].split('/');
        Attributes {
            namespace: words[3],
            name: words[4],
            ..Attributes::resource(
                &user,
                words[1],
                parts.next().unwrap(),
                "v1",
                parts.next().unwrap(),
            )
        }
    };
    let sub = words[2].splitn(3, '/').nth(2).unwrap_or("");
    let a = if a.is_resource {
        Attributes {
            subresource: sub,
            ..a
        }
    } else {
        a
    };
    match rbac.authorize(&a) {
        Decision::Allow(why) => format!("yes {why}"),
        Decision::NoOpinion(why) => format!("no  {why}"),
    }
}

fn check(rbac: &Rbac, questions: &str, expected: Expect) {
    let answers: Vec<String> = questions
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .map(|l| ask(rbac, l).trim_end().to_owned())
        .collect();
    expected.assert_eq(&answers.join("\n"));
}

#[test]
fn subjects_of_every_kind_are_found() {
    check(
        &policy(),
        "
        root,system:masters delete /nodes - x
        zoe get /pods dev p
        x,devs list apps/deployments dev -
        system:serviceaccount:dev:bot get /pods/log dev p
        system:serviceaccount:ci:bot get /secrets dev tls
        system:serviceaccount:ci:bot get /secrets dev other
        system:serviceaccount:ci:bot get /pods dev p
        zoe get /pods prod p
        zoe delete /pods dev p
        zoe get /pods/exec dev p
        zoe patch x.io/things/scale dev t
        x,system:authenticated get /healthz/etcd
        x,system:authenticated get /metrics
        lost get /pods dev p
        lost get /pods - p
        ",
        expect![[r#"
            yes
            yes RBAC: allowed by RoleBinding "viewers/dev" of ClusterRole "view" to User "zoe"
            yes RBAC: allowed by RoleBinding "viewers/dev" of ClusterRole "view" to Group "devs"
            yes RBAC: allowed by RoleBinding "viewers/dev" of ClusterRole "view" to ServiceAccount "bot/dev"
            yes RBAC: allowed by RoleBinding "tls/dev" of Role "one-secret" to ServiceAccount "bot/ci"
            no
            no
            no
            no
            no
            yes RBAC: allowed by RoleBinding "viewers/dev" of ClusterRole "view" to User "zoe"
            yes RBAC: allowed by ClusterRoleBinding "everybody" of ClusterRole "paths" to Group "system:authenticated"
            no
            no  RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "gone" not found]
            no  RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found"#]],
    );
}

#[test]
fn changes_are_taken_over_one_by_one() {
    let mut rbac = policy();
    let question = "zoe get /pods dev p\n amy get /pods dev p";
    rbac.upsert(&binding(
        "RoleBinding",
        "dev",
        "viewers",
        ("ClusterRole", "view"),
        &json!([{"kind": "User", "name": "amy"}]),
    ));
    check(
        &rbac,
        question,
        expect![[r#"
            no
            yes RBAC: allowed by RoleBinding "viewers/dev" of ClusterRole "view" to User "amy""#]],
    );
    rbac.remove("ClusterRole", "", "view");
    check(
        &rbac,
        question,
        expect![[r#"
            no
            no  RBAC: clusterrole.rbac.authorization.k8s.io "view" not found"#]],
    );
    rbac.remove("RoleBinding", "dev", "viewers");
    check(
        &rbac,
        question,
        expect![[r"
            no
            no"]],
    );
    assert!(!rbac.upsert(&json!({"kind": "Pod", "metadata": {"name": "x"}})));
}

#[test]
fn removing_the_last_object_of_a_namespace_forgets_it() {
    let mut rbac = Rbac::default();
    rbac.upsert(&role("Role", "dev", "r", &json!([])));
    rbac.remove("Role", "dev", "r");
    assert!(rbac.namespaces.is_empty());
}

/// 70 roles with 20 rules each and as many bindings: a decision stays far below a millisecond.
#[test]
fn a_decision_looks_only_at_the_users_own_bindings() {
    let rules: Vec<Value> = (0..20)
        .map(|i| json!({"apiGroups": [format!("g{i}")], "resources": ["a", "b", "c"], "verbs": ["get", "list", "watch"]}))
        .collect();
    let mut rbac = Rbac::default();
    for i in 0..70 {
        rbac.upsert(&role("ClusterRole", "", &format!("r{i}"), &json!(rules)));
        let subject = json!([{"kind": "User", "name": format!("system:controller-{i}")}]);
        rbac.upsert(&binding(
            "ClusterRoleBinding",
            "",
            &format!("b{i}"),
            ("ClusterRole", &format!("r{i}")),
            &subject,
        ));
    }
    let user = User {
        name: "system:controller-33".into(),
        groups: vec!["system:authenticated".into()],
        ..User::default()
    };
    let bindings: Vec<&str> = rbac
        .cluster
        .bindings_of(&user)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(bindings, ["b33"]);
    let a = Attributes::resource(&user, "delete", "g19", "v1", "c");
    let start = std::time::Instant::now();
    for _ in 0..1000 {
        assert!(!rbac.authorize(&a).is_allowed());
    }
    assert!(
        start.elapsed().as_millis() < 1000,
        "{:?} for 1000 decisions",
        start.elapsed()
    );
}
