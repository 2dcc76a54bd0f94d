use super::*;
use expect_test::{Expect, expect};
use model::json;

fn policy() -> Rbac {
    let role = |name: &str, rules| json!({"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
    let bind = |name: &str| {
        json!({"kind": "ClusterRoleBinding", "metadata": {"name": name}, "subjects": [{"kind": "User", "name": name}],
            "roleRef": {"kind": "ClusterRole", "name": name}})
    };
    Rbac::from_objects(&[
        role(
            "legacy",
            json!([{"apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "verbs": ["impersonate"]},
            {"apiGroups": [AUTHN], "resources": ["userextras/scopes", "uids"], "verbs": ["impersonate"]}]),
        ),
        role(
            "narrow",
            json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["impersonate-on:user-info:list"]},
            {"apiGroups": [AUTHN], "resources": ["users"], "resourceNames": ["bob"], "verbs": ["impersonate:user-info"]}]),
        ),
        bind("legacy"),
        bind("narrow"),
    ])
}

fn check_as(requester: &str, headers: &[(&str, &str)], expected: Expect) {
    let mut requester = User {
        name: requester.into(),
        ..User::default()
    };
    if requester.name == "admin" {
        requester.groups.push(MASTERS.into());
    }
    let request = Attributes::resource(&requester, "list", "", "v1", "pods");
    let answer = match wanted(headers.iter().copied()) {
        Ok(None) => "nobody".into(),
        Ok(Some(user)) => match allow(&policy(), &request, &user) {
            Ok(u) => format!("{} {:?} {:?} {:?}", u.name, u.uid, u.groups, u.extra),
            Err(e) => e.message,
        },
        Err(e) => format!("{} {}", e.code, e.message),
    };
    expected.assert_eq(&answer);
}

#[test]
fn a_master_may_act_as_anybody() {
    check_as("admin", &[("Accept", "x")], expect!["nobody"]);
    check_as(
        "admin",
        &[
            ("Impersonate-User", "bob"),
            ("Impersonate-Group", "dev"),
            ("Impersonate-Extra-Foo%2Fbar", "baz"),
        ],
        expect![[r#"bob "" ["dev", "system:authenticated"] {"foo/bar": ["baz"]}"#]],
    );
    check_as(
        "admin",
        &[
            ("impersonate-user", "system:serviceaccount:ns:sa"),
            ("impersonate-uid", "3"),
        ],
        expect![[
            r#"system:serviceaccount:ns:sa "3" ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"] {}"#
        ]],
    );
    check_as(
        "admin",
        &[("impersonate-user", "system:anonymous")],
        expect![[r#"system:anonymous "" ["system:unauthenticated"] {}"#]],
    );
    check_as(
        "admin",
        &[("impersonate-user", "system:node:n1")],
        expect![[r#"system:node:n1 "" ["system:nodes", "system:authenticated"] {}"#]],
    );
}

#[test]
fn the_name_is_compulsory() {
    check_as(
        "admin",
        &[("Impersonate-Group", "x")],
        expect![[
            r#"400 requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"x"}, Extra:map[string][]string(nil)} without impersonating a user name"#
        ]],
    );
    check_as(
        "admin",
        &[("Impersonate-Extra-foo", "bar"), ("Impersonate-Uid", "3")],
        expect![[
            r#"400 requested &user.DefaultInfo{Name:"", UID:"3", Groups:[]string(nil), Extra:map[string][]string{"foo":[]string{"bar"}}} without impersonating a user name"#
        ]],
    );
}

#[test]
fn refusals_name_the_first_mode_tried() {
    check_as(
        "nobody",
        &[("Impersonate-User", "bob")],
        expect![[
            r#"pods is forbidden: User "nobody" cannot impersonate-on:user-info:list resource "pods" in API group "" at the cluster scope"#
        ]],
    );
    check_as(
        "nobody",
        &[("Impersonate-User", "system:serviceaccount:ns:sa")],
        expect![[
            r#"pods is forbidden: User "nobody" cannot impersonate-on:serviceaccount:list resource "pods" in API group "" at the cluster scope"#
        ]],
    );
    check_as(
        "nobody",
        &[("Impersonate-User", "system:node:n1")],
        expect![[
            r#"pods is forbidden: User "nobody" cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" at the cluster scope"#
        ]],
    );
    check_as(
        "narrow",
        &[("Impersonate-User", "amy")],
        expect![[
            r#"users.authentication.k8s.io "amy" is forbidden: User "narrow" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope"#
        ]],
    );
}

#[test]
fn the_plain_verb_and_the_constrained_one_both_do() {
    check_as(
        "narrow",
        &[("Impersonate-User", "bob")],
        expect![[r#"bob "" ["system:authenticated"] {}"#]],
    );
    check_as(
        "legacy",
        &[
            ("Impersonate-User", "amy"),
            ("Impersonate-Group", "system:masters"),
            ("Impersonate-Extra-Scopes", "a"),
        ],
        expect![[r#"amy "" ["system:masters", "system:authenticated"] {"scopes": ["a"]}"#]],
    );
    check_as(
        "narrow",
        &[
            ("Impersonate-User", "bob"),
            ("Impersonate-Group", "system:masters"),
        ],
        expect![[
            r#"groups.authentication.k8s.io "system:masters" is forbidden: User "narrow" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed"#
        ]],
    );
}
