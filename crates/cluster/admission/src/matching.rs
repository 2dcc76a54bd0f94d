//! Which requests a webhook or policy is about.
//!
//! Takes the rules and selectors of a webhook, a policy or a binding and a [`Review`]; gives the
//! resource and kind as which the request matches, which differ from the request's own when a rule
//! names another version of the same resource.

use crate::{Cluster, Host, Operation, Review};
use model::{
    ApiError, GroupVersionKind, GroupVersionResource, LabelSelector, Map, Value, json, meta,
};

/// As what a request matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The resource the rule names.
    pub gvr: GroupVersionResource,
    /// Its kind.
    pub gvk: GroupVersionKind,
}

/// Whether webhooks and policies never see the request, lest they lock out their own repair.
pub fn is_exempt(review: &Review<'_>) -> bool {
    review.gvk.group == "admissionregistration.k8s.io"
        && matches!(
            review.gvk.kind.as_str(),
            "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
        )
}

/// Matches the rules in `field` of `holder`; `policy` is the default of its `matchPolicy`.
pub fn by_rules(
    review: &Review<'_>,
    holder: &Value,
    field: &str,
    default_policy: &str,
    host: &dyn Host,
) -> Option<Match> {
    let rules = || {
        holder
            .get(field)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let own = Match {
        gvr: review.gvr.clone(),
        gvk: review.gvk.clone(),
    };
    if rules().any(|rule| rule_matches(rule, review, &own.gvr)) {
        return Some(own);
    }
    let policy = holder.get("matchPolicy").and_then(Value::as_str);
    if policy.unwrap_or(default_policy) != "Equivalent" {
        return None;
    }
    // Other versions are asked for only where a rule names the resource at all.
    if !rules().any(|rule| rule_names(rule, review, &review.gvr.resource)) {
        return None;
    }
    let others = host.equivalents(review.gvr, review.subresource);
    rules().find_map(|rule| {
        let mut others = others.iter().filter(|(gvr, _)| gvr != review.gvr);
        let (gvr, gvk) = others.find(|(gvr, _)| rule_matches(rule, review, gvr))?;
        Some(Match {
            gvr: gvr.clone(),
            gvk: gvk.clone(),
        })
    })
}

fn texts<'a>(rule: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    let items = rule.get(field).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str)
}

fn rule_matches(rule: &Value, review: &Review<'_>, gvr: &GroupVersionResource) -> bool {
    rule_names(rule, review, &gvr.resource)
        && one_of(rule, "apiGroups", &gvr.group)
        && one_of(rule, "apiVersions", &gvr.version)
        && in_scope(rule, review, gvr)
        && texts(rule, "resourceNames")
            .next()
            .is_none_or(|_| texts(rule, "resourceNames").any(|name| name == review.name))
}

fn one_of(rule: &Value, field: &str, wanted: &str) -> bool {
    texts(rule, field).any(|t| t == "*" || t == wanted)
}

/// Whether operation and resource are the rule's, in whatever group and version.
fn rule_names(rule: &Value, review: &Review<'_>, named: &str) -> bool {
    one_of(rule, "operations", review.operation.as_str())
        && texts(rule, "resources").any(|pattern| {
            let (resource, sub) = pattern.split_once('/').unwrap_or((pattern, ""));
            (resource == "*" || resource == named) && (sub == "*" || sub == review.subresource)
        })
}

fn in_scope(rule: &Value, review: &Review<'_>, gvr: &GroupVersionResource) -> bool {
    let namespaces = gvr.group.is_empty() && gvr.version == "v1" && gvr.resource == "namespaces";
    let clustered = namespaces || review.namespace.is_empty();
    match rule.get("scope").and_then(Value::as_str) {
        None | Some("*") => true,
        Some("Namespaced") => !clustered,
        Some("Cluster") => clustered,
        Some(_) => false,
    }
}

/// Whether `namespaceSelector` and `objectSelector` of `holder` choose the request.
///
/// An unreadable selector or missing namespace is an error the caller reports only when the rules
/// match too.
pub fn by_selectors(
    review: &Review<'_>,
    holder: &Value,
    cluster: &dyn Cluster,
) -> Result<bool, ApiError> {
    let namespace = by_namespace(review, holder.get("namespaceSelector"), cluster);
    if namespace == Ok(false) {
        return Ok(false);
    }
    let object = by_object(review, holder.get("objectSelector"));
    if object == Ok(false) {
        return Ok(false);
    }
    namespace.and(object)
}

fn parse(spec: Option<&Value>) -> Result<LabelSelector, ApiError> {
    // An absent selector chooses everything here, unlike in workloads.
    let empty = json!({});
    let spec = spec.filter(|s| !s.is_null()).unwrap_or(&empty);
    LabelSelector::from_spec(Some(spec)).map_err(ApiError::internal)
}

fn by_namespace(
    review: &Review<'_>,
    spec: Option<&Value>,
    cluster: &dyn Cluster,
) -> Result<bool, ApiError> {
    let about_namespace = review.gvr.resource == "namespaces";
    if review.namespace.is_empty() && !about_namespace {
        return Ok(true);
    }
    let selector = parse(spec)?;
    if selector.is_everything() {
        return Ok(true);
    }
    let written = matches!(review.operation, Operation::Create | Operation::Update);
    if about_namespace && review.subresource.is_empty() && written {
        return Ok(review.object.is_some_and(|o| selector.matches_object(o)));
    }
    let Some(namespace) = cluster.get("", "namespaces", "", review.namespace) else {
        let gvr = GroupVersionResource::new("", "v1", "namespaces");
        return Err(ApiError::not_found(&gvr, review.namespace));
    };
    Ok(selector.matches_object(&namespace))
}

fn by_object(review: &Review<'_>, spec: Option<&Value>) -> Result<bool, ApiError> {
    let selector = parse(spec)?;
    if selector.is_everything() {
        return Ok(true);
    }
    let objects = [review.object, review.old];
    Ok(objects
        .into_iter()
        .flatten()
        .any(|o| selector.matches_object(o)))
}

/// What expressions see of the request.
pub fn variables<'a>(
    review: &Review<'_>,
    matched: &Match,
    object: &'a Value,
    old: &'a Value,
) -> Vec<(&'static str, std::borrow::Cow<'a, Value>)> {
    use std::borrow::Cow;
    vec![
        ("object", Cow::Borrowed(object)),
        ("oldObject", Cow::Borrowed(old)),
        ("request", Cow::Owned(request(review, matched))),
    ]
}

fn gvk_value(gvk: &GroupVersionKind) -> Value {
    json!({"group": gvk.group, "version": gvk.version, "kind": gvk.kind})
}

fn gvr_value(gvr: &GroupVersionResource) -> Value {
    json!({"group": gvr.group, "version": gvr.version, "resource": gvr.resource})
}

/// The request as webhooks and expressions see it, without the objects.
pub fn request(review: &Review<'_>, matched: &Match) -> Value {
    let user = review.user;
    let mut info = Map::new();
    for (key, text) in [("username", &user.name), ("uid", &user.uid)] {
        if !text.is_empty() {
            info.insert(key.into(), json!(text));
        }
    }
    if !user.groups.is_empty() {
        info.insert("groups".into(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        info.insert("extra".into(), json!(user.extra));
    }
    let mut request = json!({
        "kind": gvk_value(&matched.gvk),
        "resource": gvr_value(&matched.gvr),
        "requestKind": gvk_value(review.gvk),
        "requestResource": gvr_value(review.gvr),
        "operation": review.operation.as_str(),
        "userInfo": info,
        "dryRun": review.dry_run,
        "options": review.options,
    });
    let body = request.as_object_mut().expect("made an object above");
    for (key, text) in [
        ("subResource", review.subresource),
        ("requestSubResource", review.subresource),
        ("name", review.name),
        ("namespace", review.namespace),
    ] {
        if !text.is_empty() {
            body.insert(key.into(), json!(text));
        }
    }
    request
}

/// The answer of a list of `matchConditions`.
pub enum Conditions {
    /// All hold.
    Met,
    /// One does not, or one failed and failures are ignored.
    Unmet,
    /// One failed, and failures count.
    Failed(String),
}

/// Evaluates `matchConditions`: any false one excludes the request, whatever the others do.
pub fn conditions(
    holder: &Value,
    ignore_failures: bool,
    variables: &[(&str, &Value)],
    host: &dyn Host,
) -> Conditions {
    let mut failures: Vec<String> = Vec::new();
    for condition in meta::entries(holder, "/matchConditions") {
        let expression = meta::text_at(condition, "/expression");
        match host.evaluate(expression, variables) {
            Ok(Value::Bool(false)) => return Conditions::Unmet,
            Ok(_) => {}
            Err(why) => {
                let text = format!("expression '{expression}' resulted in error: {why}");
                if !failures.contains(&text) {
                    failures.push(text);
                }
            }
        }
    }
    match failures.len() {
        0 => Conditions::Met,
        _ if ignore_failures => Conditions::Unmet,
        1 => Conditions::Failed(failures.swap_remove(0)),
        _ => Conditions::Failed(format!("[{}]", failures.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fake, Request, Servant};

    fn matched(rule: &Value, request: &Request) -> Option<String> {
        let holder = json!({"rules": [rule]});
        let found = by_rules(&request.review(), &holder, "rules", "Equivalent", &Servant)?;
        Some(format!("{}/{}", found.gvk.version, found.gvr.resource))
    }

    #[test]
    fn rules_name_operation_group_version_resource_and_scope() {
        let base = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]});
        let with = |field: &str, value: Value| {
            let mut rule = base.clone();
            rule[field] = value;
            rule
        };
        let request = Request::create(
            "configmaps",
            "dev",
            json!({"kind": "ConfigMap", "metadata": {"name": "a"}}),
        );
        for (rule, answer) in [
            (base.clone(), true),
            (with("operations", json!(["*"])), true),
            (with("operations", json!(["UPDATE"])), false),
            (with("apiGroups", json!(["apps"])), false),
            (with("apiGroups", json!(["*"])), true),
            (with("apiVersions", json!(["v2"])), false),
            (with("resources", json!(["*"])), true),
            (with("resources", json!(["*/*"])), true),
            (with("resources", json!(["configmaps/status"])), false),
            (with("scope", json!("Namespaced")), true),
            (with("scope", json!("Cluster")), false),
            (with("resourceNames", json!(["a", "b"])), true),
            (with("resourceNames", json!(["b"])), false),
        ] {
            assert_eq!(matched(&rule, &request).is_some(), answer, "{rule}");
        }
        let status = Request {
            subresource: "status".into(),
            ..Request::create("configmaps", "dev", json!({}))
        };
        assert!(matched(&base, &status).is_none());
        assert!(matched(&with("resources", json!(["configmaps/*"])), &status).is_some());
        let namespace = Request::create("namespaces", "dev", json!({"kind": "Namespace"}));
        let rule = json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "scope": "Cluster"});
        assert!(matched(&rule, &namespace).is_some());
    }

    #[test]
    fn a_rule_for_another_version_matches_as_that_version() {
        let rule = json!({"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["horizontalpodautoscalers"]});
        let request = Request::create(
            "autoscaling/v2/horizontalpodautoscalers",
            "dev",
            json!({"kind": "HorizontalPodAutoscaler"}),
        );
        assert_eq!(
            matched(&rule, &request).unwrap(),
            "v1/horizontalpodautoscalers"
        );
        let exact = json!({"rules": [rule], "matchPolicy": "Exact"});
        assert_eq!(
            by_rules(&request.review(), &exact, "rules", "Equivalent", &Servant),
            None
        );
    }

    #[test]
    fn selectors_look_at_namespace_and_object() {
        let cluster = Fake::default().with(
            "namespaces",
            &[json!({"metadata": {"name": "dev", "labels": {"env": "dev"}}})],
        );
        let request = |ns: &str| {
            Request::create(
                "configmaps",
                ns,
                json!({"metadata": {"name": "a", "labels": {"app": "x"}}}),
            )
        };
        let ask = |holder: Value, ns: &str| {
            by_selectors(&request(ns).review(), &holder, &cluster).map_err(|e| e.message)
        };
        let env = |v: &str| json!({"namespaceSelector": {"matchLabels": {"env": v}}});
        assert_eq!(ask(json!({}), "dev"), Ok(true));
        assert_eq!(ask(env("dev"), "dev"), Ok(true));
        assert_eq!(ask(env("prod"), "dev"), Ok(false));
        assert_eq!(ask(env("prod"), ""), Ok(true));
        assert_eq!(
            ask(env("dev"), "gone"),
            Err("namespaces \"gone\" not found".into())
        );
        assert_eq!(
            ask(
                json!({"objectSelector": {"matchLabels": {"app": "x"}}}),
                "dev"
            ),
            Ok(true)
        );
        assert_eq!(
            ask(
                json!({"objectSelector": {"matchLabels": {"app": "y"}}}),
                "dev"
            ),
            Ok(false)
        );
    }
}
