//! The kinds that are questions: who am I, may I, may they, whose token is this.
//!
//! Each function takes the posted body, as decoded, and gives it back with its `status`; metadata
//! such as `managedFields` is the caller's. Nothing is stored.

use crate::rbac::{Attributes, Decision, Rbac};
use model::{
    ApiError, FieldError, GroupVersionKind, Map, Path, Timestamp, User, Value, json, meta,
};

const AUTHZ: &str = "authorization.k8s.io";

/// The user as `userInfo` shows it: empty parts are left out.
pub fn user_info(user: &User) -> Value {
    let mut info = Map::new();
    if !user.name.is_empty() {
        info.insert("username".into(), json!(user.name));
    }
    if !user.uid.is_empty() {
        info.insert("uid".into(), json!(user.uid));
    }
    if !user.groups.is_empty() {
        info.insert("groups".into(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        info.insert("extra".into(), json!(user.extra));
    }
    Value::Object(info)
}

/// Answers a SelfSubjectReview.
pub fn self_subject_review(user: &User, now: Timestamp) -> Value {
    json!({
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": now.rfc3339()},
        "status": {"userInfo": user_info(user)},
    })
}

/// Answers a SelfSubjectAccessReview.
pub fn self_subject_access_review(
    body: &Value,
    user: &User,
    rbac: &Rbac,
) -> Result<Value, ApiError> {
    refuse(check_spec(body))?;
    Ok(answer(body, "SelfSubjectAccessReview", user, rbac))
}

/// Answers a SubjectAccessReview.
pub fn subject_access_review(body: &Value, rbac: &Rbac) -> Result<Value, ApiError> {
    let mut faults = check_spec(body);
    faults.extend(check_subject(body));
    refuse(faults)?;
    Ok(answer(body, "SubjectAccessReview", &subject(body), rbac))
}

/// Answers a LocalSubjectAccessReview posted to a namespace.
pub fn local_subject_access_review(
    body: &Value,
    namespace: &str,
    rbac: &Rbac,
) -> Result<Value, ApiError> {
    let mut faults = check_spec(body);
    faults.extend(check_subject(body));
    let spec = Path::new("spec");
    if let Some(asked) = body
        .pointer("/spec/nonResourceAttributes")
        .filter(|v| !v.is_null())
    {
        faults = vec![FieldError::invalid_shown(
            &spec.child("nonResourceAttributes"),
            shown_path(asked),
            "disallowed on this kind of request",
        )];
    } else if body
        .pointer("/spec/resourceAttributes")
        .is_some_and(|v| !v.is_null())
    {
        let asked = meta::text_at(body, "/spec/resourceAttributes/namespace");
        if asked != namespace {
            faults.push(FieldError::invalid(
                &Path::new("spec.resourceAttributes.namespace"),
                &json!(asked),
                "must match metadata.namespace",
            ));
        }
    }
    refuse(faults)?;
    let mut review = answer(body, "LocalSubjectAccessReview", &subject(body), rbac);
    meta::set_text(&mut review, "namespace", namespace);
    Ok(review)
}

/// Answers a SelfSubjectRulesReview.
pub fn self_subject_rules_review(
    body: &Value,
    user: &User,
    rbac: &Rbac,
) -> Result<Value, ApiError> {
    let namespace = meta::text_at(body, "/spec/namespace");
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let (rules, error) = rbac.rules_of(user, namespace);
    let resources: Vec<Value> = rules.iter().filter_map(|r| r.resource_rule()).collect();
    let paths: Vec<Value> = rules.iter().filter_map(|r| r.path_rule()).collect();
    let mut status = json!({
        "resourceRules": resources,
        "nonResourceRules": paths,
        "incomplete": false,
    });
    if !error.is_empty() {
        status["evaluationError"] = json!(error);
    }
    Ok(json!({
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": status,
    }))
}

/// Answers a TokenReview. `lookup` is given the token and the audiences asked for (empty: the API
/// server's own) and answers the user and the audiences that hold, or why there is none.
pub fn token_review(
    body: &Value,
    lookup: impl FnOnce(&str, &[String]) -> Result<(User, Vec<String>), String>,
) -> Result<Value, ApiError> {
    let token = meta::text_at(body, "/spec/token");
    if token.is_empty() {
        let why = "token is required for TokenReview in authentication";
        return Err(ApiError::bad_request(why));
    }
    let audiences = meta::entries(body, "/spec/audiences").filter_map(Value::as_str);
    let audiences: Vec<String> = audiences.map(str::to_owned).collect();
    let status = match lookup(token, &audiences) {
        Ok((user, audiences)) => json!({
            "authenticated": true,
            "user": user_info(&user),
            "audiences": audiences,
        }),
        Err(error) => json!({"user": {}, "error": error}),
    };
    Ok(with_status(
        body,
        "authentication.k8s.io/v1",
        "TokenReview",
        status,
    ))
}

fn with_status(body: &Value, api_version: &str, kind: &str, status: Value) -> Value {
    let part = |field| body.get(field).cloned().unwrap_or_else(|| json!({}));
    json!({
        "kind": kind,
        "apiVersion": api_version,
        "metadata": part("metadata"),
        "spec": part("spec"),
        "status": status,
    })
}

fn answer(body: &Value, kind: &str, user: &User, rbac: &Rbac) -> Value {
    let decision = rbac.authorize(&asked(body, user));
    let mut status = json!({"allowed": matches!(decision, Decision::Allow(_))});
    if !decision.reason().is_empty() {
        status["reason"] = json!(decision.reason());
    }
    with_status(body, "authorization.k8s.io/v1", kind, status)
}

fn asked<'a>(body: &'a Value, user: &'a User) -> Attributes<'a> {
    let text = |pointer: &'static str| meta::text_at(body, pointer);
    if body
        .pointer("/spec/nonResourceAttributes")
        .is_some_and(|v| !v.is_null())
    {
        return Attributes::path(
            user,
            text("/spec/nonResourceAttributes/verb"),
            text("/spec/nonResourceAttributes/path"),
        );
    }
    Attributes {
        subresource: text("/spec/resourceAttributes/subresource"),
        namespace: text("/spec/resourceAttributes/namespace"),
        name: text("/spec/resourceAttributes/name"),
        ..Attributes::resource(
            user,
            text("/spec/resourceAttributes/verb"),
            text("/spec/resourceAttributes/group"),
            text("/spec/resourceAttributes/version"),
            text("/spec/resourceAttributes/resource"),
        )
    }
}

fn subject(body: &Value) -> User {
    let texts = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = body.pointer("/spec/extra").and_then(Value::as_object);
    User {
        name: meta::text_at(body, "/spec/user").into(),
        uid: meta::text_at(body, "/spec/uid").into(),
        groups: body.pointer("/spec/groups").map(texts).unwrap_or_default(),
        extra: extra
            .into_iter()
            .flatten()
            .map(|(key, values)| (key.clone(), texts(values)))
            .collect(),
    }
}

fn shown_path(asked: &Value) -> String {
    let text = |field| asked.get(field).and_then(Value::as_str).unwrap_or("");
    json!({"Path": text("path"), "Verb": text("verb")}).to_string()
}

fn check_spec(body: &Value) -> Vec<FieldError> {
    let spec = Path::new("spec");
    let part = |pointer| body.pointer(pointer).filter(|v: &&Value| !v.is_null());
    let resource = part("/spec/resourceAttributes");
    let path = part("/spec/nonResourceAttributes");
    match (resource, path) {
        (Some(_), Some(path)) => vec![FieldError::invalid_shown(
            &spec.child("nonResourceAttributes"),
            shown_path(path),
            "cannot be specified in combination with resourceAttributes",
        )],
        (None, None) => vec![FieldError::invalid(
            &spec.child("resourceAttributes"),
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )],
        _ => Vec::new(),
    }
}

fn check_subject(body: &Value) -> Vec<FieldError> {
    let named = !meta::text_at(body, "/spec/user").is_empty()
        || meta::entries(body, "/spec/groups").next().is_some();
    if named {
        return Vec::new();
    }
    let path = Path::new("spec.user");
    let why = "at least one of user or group must be specified";
    vec![FieldError::invalid(&path, &json!(""), why)]
}

fn refuse(faults: Vec<FieldError>) -> Result<(), ApiError> {
    if faults.is_empty() {
        return Ok(());
    }
    // A real API server leaves the kind out of these refusals.
    Err(ApiError::invalid(
        &GroupVersionKind::new(AUTHZ, "", ""),
        "",
        &faults,
    ))
}

#[cfg(test)]
mod tests;
