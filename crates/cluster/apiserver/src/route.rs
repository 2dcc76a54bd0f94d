//! Reads a path: which resource, which object, which verb.

use crate::request::{Method, Request};
use wire::Query;

/// What a path below `/api` or `/apis` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    /// What follows the subresource, as a proxied path.
    pub(crate) rest: String,
    /// The deprecated `/watch/` form of the path.
    pub(crate) watch_path: bool,
}

/// Splits a resource path. `None` for paths that name no resource (discovery, health, ...).
pub(crate) fn target(path: &str) -> Option<Target> {
    let mut parts = path
        .trim_matches('/')
        .split('/')
        .map(|part| wire::unescape_path(part).unwrap_or_else(|| part.to_owned()));
    let mut target = Target::default();
    match parts.next()?.as_str() {
        "api" => {}
        "apis" => target.group = parts.next().filter(|g| !g.is_empty())?,
        _ => return None,
    }
    target.version = parts.next().filter(|v| !v.is_empty())?;
    let mut rest: Vec<String> = parts.collect();
    if rest.first().is_some_and(|p| p == "watch") {
        target.watch_path = true;
        rest.remove(0);
    }
    if rest.first().is_none_or(String::is_empty) {
        return None;
    }
    // `/namespaces/x/pods` is in a namespace; `/namespaces/x` and its own subresources are not.
    let own = |s: &String| matches!(s.as_str(), "status" | "finalize");
    if rest[0] == "namespaces" && rest.len() > 2 && !(rest.len() == 3 && own(&rest[2])) {
        target.namespace.clone_from(&rest[1]);
        rest.drain(..2);
    } else if rest[0] == "namespaces" && rest.len() >= 2 {
        target.namespace.clone_from(&rest[1]);
    }
    let mut rest = rest.into_iter();
    target.resource = rest.next()?;
    target.name = rest.next().unwrap_or_default();
    target.subresource = rest.next().unwrap_or_default();
    target.rest = rest.collect::<Vec<_>>().join("/");
    Some(target)
}

/// The verb that authorization asks about.
pub(crate) fn verb(request: &Request, target: &Target, query: &Query) -> &'static str {
    let one = !target.name.is_empty();
    match request.method {
        Method::Get | Method::Head if !one || target.watch_path => {
            if target.watch_path || query.flag("watch").unwrap_or(false) {
                "watch"
            } else {
                "list"
            }
        }
        Method::Get | Method::Head => "get",
        Method::Post => "create",
        Method::Put => "update",
        Method::Patch => "patch",
        Method::Delete if one => "delete",
        Method::Delete => "deletecollection",
        Method::Other => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, wanted: &str) {
        let shown = target(path).map_or("none".to_owned(), |t| {
            format!(
                "g={} v={} ns={} r={} n={} s={}",
                t.group, t.version, t.namespace, t.resource, t.name, t.subresource
            )
        });
        assert_eq!(shown, wanted, "{path}");
    }

    #[test]
    fn paths_name_resources() {
        check("/api/v1/pods", "g= v=v1 ns= r=pods n= s=");
        check(
            "/api/v1/namespaces/a/pods/p/log",
            "g= v=v1 ns=a r=pods n=p s=log",
        );
        check("/api/v1/namespaces/a", "g= v=v1 ns=a r=namespaces n=a s=");
        check(
            "/api/v1/namespaces/a/finalize",
            "g= v=v1 ns=a r=namespaces n=a s=finalize",
        );
        check(
            "/apis/apps/v1/namespaces/a/deployments",
            "g=apps v=v1 ns=a r=deployments n= s=",
        );
        check("/apis/apps/v1", "none");
        check("/version", "none");
    }
}
