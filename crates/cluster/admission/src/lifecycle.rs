//! Objects live in namespaces that exist and are not being deleted.

use crate::{Cluster, Operation, Review};
use model::{ApiError, Cause, GroupVersionResource, meta};

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Refuses deletes of the immortal namespaces, and writes into missing or terminating ones.
pub fn check(review: &Review<'_>, cluster: &dyn Cluster) -> Result<(), ApiError> {
    let about_namespace = review.gvk.group.is_empty() && review.gvk.kind == "Namespace";
    if about_namespace {
        let doomed = review.operation == Operation::Delete && IMMORTAL.contains(&review.name);
        return if doomed {
            Err(review.forbidden("this namespace may not be deleted"))
        } else {
            Ok(())
        };
    }
    let free = review.namespace.is_empty()
        || matches!(review.operation, Operation::Delete | Operation::Connect)
        || review.is_any("authorization.k8s.io", "localsubjectaccessreviews");
    if free {
        return Ok(());
    }
    let Some(namespace) = cluster.get("", "namespaces", "", review.namespace) else {
        let gvr = GroupVersionResource::new("", "v1", "namespaces");
        return Err(ApiError::not_found(&gvr, review.namespace));
    };
    let terminating = meta::text_at(&namespace, "/status/phase") == "Terminating";
    if review.operation != Operation::Create || !terminating {
        return Ok(());
    }
    let mut error = review.forbidden(&format!(
        "unable to create new content in namespace {} because it is being terminated",
        review.namespace
    ));
    error.causes.push(Cause {
        reason: "NamespaceTerminating".into(),
        message: format!("namespace {} is being terminated", review.namespace),
        field: "metadata.namespace".into(),
    });
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fake, Request};
    use expect_test::{Expect, expect};
    use model::json;

    fn check_request(request: &Request, expected: Expect) {
        let cluster = Fake::default().with(
            "namespaces",
            &[
                json!({"metadata": {"name": "dev"}, "status": {"phase": "Active"}}),
                json!({"metadata": {"name": "raw"}, "status": {"phase": "Terminating"}}),
            ],
        );
        let answer = match check(&request.review(), &cluster) {
            Ok(()) => "fine".into(),
            Err(e) => format!(
                "{} {} {:?}",
                e.code,
                e.message,
                e.causes.first().map(|c| &c.reason)
            ),
        };
        expected.assert_eq(&answer);
    }

    #[test]
    fn writes_need_a_living_namespace() {
        let cm = |ns: &str| {
            Request::create(
                "configmaps",
                ns,
                json!({"kind": "ConfigMap", "metadata": {"name": "late"}}),
            )
        };
        check_request(&cm("dev"), expect!["fine"]);
        check_request(&cm(""), expect!["fine"]);
        check_request(
            &cm("nope"),
            expect![[r#"404 namespaces "nope" not found None"#]],
        );
        check_request(
            &cm("raw"),
            expect![[
                r#"403 configmaps "late" is forbidden: unable to create new content in namespace raw because it is being terminated Some("NamespaceTerminating")"#
            ]],
        );
        check_request(
            &Request {
                operation: Operation::Update,
                ..cm("raw")
            },
            expect!["fine"],
        );
        check_request(
            &Request {
                operation: Operation::Update,
                ..cm("nope")
            },
            expect![[r#"404 namespaces "nope" not found None"#]],
        );
        check_request(
            &Request {
                operation: Operation::Delete,
                ..cm("nope")
            },
            expect!["fine"],
        );
    }

    #[test]
    fn three_namespaces_are_immortal() {
        let delete = |name: &str| Request {
            operation: Operation::Delete,
            ..Request::create(
                "namespaces",
                name,
                json!({"kind": "Namespace", "metadata": {"name": name}}),
            )
        };
        check_request(
            &delete("kube-system"),
            expect![[
                r#"403 namespaces "kube-system" is forbidden: this namespace may not be deleted None"#
            ]],
        );
        check_request(&delete("kube-node-lease"), expect!["fine"]);
    }
}
