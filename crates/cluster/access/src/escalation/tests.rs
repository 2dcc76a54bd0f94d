use super::*;
use expect_test::{Expect, expect};
use model::json;

fn policy() -> Rbac {
    Rbac::from_objects(&[
        json!({"kind": "ClusterRole", "metadata": {"name": "cluster-admin"}, "rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]}),
        json!({"kind": "ClusterRole", "metadata": {"name": "pods"}, "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]}),
        json!({"kind": "ClusterRole", "metadata": {"name": "binder"}, "rules": [
            {"apiGroups": [RBAC_GROUP], "resources": ["clusterroles"], "resourceNames": ["cluster-admin"], "verbs": ["bind"]},
            {"apiGroups": [RBAC_GROUP], "resources": ["roles"], "verbs": ["escalate"]}]}),
        bind("pods", "devs"),
        bind("binder", "binders"),
        bind("cluster-admin", "admins"),
        bind("gone", "lost"),
    ])
}

fn bind(role: &str, group: &str) -> Value {
    json!({"kind": "ClusterRoleBinding", "metadata": {"name": format!("{role}-{group}")},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role}, "subjects": [{"kind": "Group", "name": group}]})
}

fn check_write(group: &str, resource: &str, object: &Value, old: Option<&Value>, expected: Expect) {
    let user = User {
        name: "alice".into(),
        groups: vec![group.into()],
        ..User::default()
    };
    let namespace = if resource.starts_with("cluster") {
        ""
    } else {
        "dev"
    };
    let write = Write {
        user: &user,
        resource,
        namespace,
        name: "",
        object,
        old,
    };
    let answer = match check(&policy(), &write) {
        Ok(()) => "fine".into(),
        Err(e) => format!("{} {}", e.code, e.message),
    };
    expected.assert_eq(&answer);
}

#[test]
fn a_role_may_hold_only_what_its_writer_holds() {
    let role = json!({"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "delete"]}]});
    check_write(
        "devs",
        "roles",
        &role,
        None,
        expect![[r#"
        403 roles.rbac.authorization.k8s.io "r" is forbidden: user "alice" (groups=["devs"]) is attempting to grant RBAC permissions not currently held:
        {APIGroups:[""], Resources:["pods"], Verbs:["delete"]}"#]],
    );
    check_write(
        "lost",
        "clusterroles",
        &role,
        None,
        expect![[r#"
        403 clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "alice" (groups=["lost"]) is attempting to grant RBAC permissions not currently held:
        {APIGroups:[""], Resources:["pods"], Verbs:["get" "delete"]}; resolution errors: [clusterroles.rbac.authorization.k8s.io "gone" not found]"#]],
    );
    for group in ["admins", "binders", "system:masters"] {
        check_write(group, "roles", &role, None, expect!["fine"]);
    }
}

#[test]
fn touching_only_finalizers_is_no_grant() {
    let old = json!({"metadata": {"name": "r", "finalizers": ["a"]}, "rules": [{"apiGroups": [""], "resources": ["x"], "verbs": ["*"]}]});
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!([]);
    check_write("devs", "roles", &new, Some(&old), expect!["fine"]);
    new["metadata"]["labels"] = json!({"a": "b"});
    check_write(
        "devs",
        "roles",
        &new,
        Some(&old),
        expect![[r#"
        403 roles.rbac.authorization.k8s.io "r" is forbidden: user "alice" (groups=["devs"]) is attempting to grant RBAC permissions not currently held:
        {APIGroups:[""], Resources:["x"], Verbs:["*"]}"#]],
    );
}

#[test]
fn aggregation_needs_everything() {
    let role = json!({"metadata": {"name": "r"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}});
    check_write(
        "devs",
        "clusterroles",
        &role,
        None,
        expect![[
            r#"403 clusterroles.rbac.authorization.k8s.io "r" is forbidden: must have cluster-admin privileges to use the aggregationRule"#
        ]],
    );
    check_write("admins", "clusterroles", &role, None, expect!["fine"]);
}

#[test]
fn a_binding_needs_the_roles_permissions_or_the_bind_verb() {
    let to = |kind: &str, name: &str| json!({"metadata": {"name": "b"}, "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}});
    check_write(
        "devs",
        "rolebindings",
        &to("ClusterRole", "cluster-admin"),
        None,
        expect![[r#"
        403 rolebindings.rbac.authorization.k8s.io "b" is forbidden: user "alice" (groups=["devs"]) is attempting to grant RBAC permissions not currently held:
        {APIGroups:["*"], Resources:["*"], Verbs:["*"]}
        {NonResourceURLs:["*"], Verbs:["*"]}"#]],
    );
    check_write(
        "devs",
        "rolebindings",
        &to("Role", "gone"),
        None,
        expect![[r#"404 rolebindings.rbac.authorization.k8s.io "gone" not found"#]],
    );
    check_write(
        "devs",
        "clusterrolebindings",
        &to("ClusterRole", "pods"),
        None,
        expect!["fine"],
    );
    check_write(
        "binders",
        "clusterrolebindings",
        &to("ClusterRole", "cluster-admin"),
        None,
        expect!["fine"],
    );
    check_write("devs", "configmaps", &json!({}), None, expect!["fine"]);
}
