//! The refusal of a request that no rule allows.

use crate::rbac::Attributes;
use model::field::go_quote;
use model::{ApiError, GroupVersionResource, Reason};

/// The 403 a real API server answers, with the authorizer's reason behind the sentence.
pub fn forbidden(a: &Attributes<'_>, reason: &str) -> ApiError {
    let mut why = sentence(a).replace('&', "&amp;");
    why = why.replace('<', "&lt;").replace('>', "&gt;");
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    if !a.is_resource {
        let mut error = ApiError::new(403, Some(Reason::Forbidden), format!("forbidden: {why}"));
        error.with_details = true;
        return error;
    }
    let gvr = GroupVersionResource::new(a.group, a.version, a.resource);
    ApiError::forbidden(&gvr, a.name, &why)
}

fn sentence(a: &Attributes<'_>) -> String {
    let user = go_quote(&a.user.name);
    if !a.is_resource {
        return format!("User {user} cannot {} path {}", a.verb, go_quote(a.path));
    }
    let resource = if a.subresource.is_empty() {
        go_quote(a.resource)
    } else {
        go_quote(&format!("{}/{}", a.resource, a.subresource))
    };
    let place = if a.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {}", go_quote(a.namespace))
    };
    format!(
        "User {user} cannot {} resource {resource} in API group {} {place}",
        a.verb,
        go_quote(a.group)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use model::User;

    fn check(fields: impl for<'a> Fn(&'a User) -> Attributes<'a>, reason: &str, expected: Expect) {
        let user = User {
            name: "nobody".into(),
            ..User::default()
        };
        let status = forbidden(&fields(&user), reason).to_status();
        expected.assert_eq(&format!(
            "{}\n{}",
            status["message"].as_str().unwrap(),
            status["details"]
        ));
    }

    #[test]
    fn a_collection_in_a_namespace() {
        check(
            |user| Attributes {
                namespace: "raw",
                ..Attributes::resource(user, "list", "", "v1", "configmaps")
            },
            "",
            expect![[r#"
                configmaps is forbidden: User "nobody" cannot list resource "configmaps" in API group "" in the namespace "raw"
                {"kind":"configmaps"}"#]],
        );
    }

    #[test]
    fn a_named_subresource_with_a_reason() {
        check(
            |user| Attributes {
                namespace: "a",
                name: "d",
                subresource: "scale",
                ..Attributes::resource(user, "patch", "apps", "v1", "deployments")
            },
            "RBAC: x",
            expect![[r#"
                deployments.apps "d" is forbidden: User "nobody" cannot patch resource "deployments/scale" in API group "apps" in the namespace "a": RBAC: x
                {"group":"apps","kind":"deployments","name":"d"}"#]],
        );
    }

    #[test]
    fn the_whole_cluster() {
        check(
            |user| Attributes::resource(user, "watch", "", "v1", "pods"),
            "",
            expect![[r#"
                pods is forbidden: User "nobody" cannot watch resource "pods" in API group "" at the cluster scope
                {"kind":"pods"}"#]],
        );
    }

    #[test]
    fn a_path() {
        check(
            |user| Attributes::path(user, "get", "/<metrics>"),
            "",
            expect![[r#"
                forbidden: User "nobody" cannot get path "/&lt;metrics&gt;"
                {}"#]],
        );
    }
}
