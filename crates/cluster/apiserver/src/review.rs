//! Kinds that are only asked: who am I, may I, whose token is this.

use crate::decode;
use crate::handle::{Call, Handled, Outcome, account_of_token, method_not_allowed};
use crate::reply::Reply;
use crate::write;
use kinds::Endpoint;
use model::{GroupVersionKind, Value};

/// Whether a kind is answered and never stored.
pub(crate) fn is_review(gvk: &GroupVersionKind) -> bool {
    matches!(
        gvk.group.as_str(),
        "authentication.k8s.io" | "authorization.k8s.io"
    )
}

/// Answers a review.
pub(crate) fn serve(call: &mut Call<'_>, verb: &str) -> Handled {
    if verb != "create" || !call.target.name.is_empty() {
        return Err(method_not_allowed().into());
    }
    wire::CreateOptions::for_create(call.query)?;
    let gvk = call.resource.gvk.clone();
    let body = decode::object(call)?;
    let rbac = &call.state.rbac;
    let mut answer: Value = match gvk.kind.as_str() {
        "SelfSubjectReview" => access::review::self_subject_review(call.user, call.now),
        "SelfSubjectAccessReview" => {
            access::review::self_subject_access_review(&owned(call, body), call.user, rbac)?
        }
        "SubjectAccessReview" => access::review::subject_access_review(&owned(call, body), rbac)?,
        "LocalSubjectAccessReview" => {
            let namespace = &call.target.namespace;
            access::review::local_subject_access_review(&owned(call, body), namespace, rbac)?
        }
        "SelfSubjectRulesReview" => {
            access::review::self_subject_rules_review(&owned(call, body), call.user, rbac)?
        }
        _ => token_review(call, &owned(call, body))?,
    };
    if let Some(map) = answer.as_object_mut() {
        map.insert("apiVersion".into(), gvk.api_version().into());
        map.insert("kind".into(), gvk.kind.clone().into());
    }
    Ok(Outcome::reply(Reply::Full(crate::read::one(
        call, 201, &answer,
    ))))
}

// Access reviews are written like any object, so they carry the writer's managed fields.
fn owned(call: &Call<'_>, body: Value) -> Value {
    write::track(call, None, body, Endpoint::Main)
}

fn token_review(call: &Call<'_>, body: &Value) -> Result<Value, model::ApiError> {
    access::review::token_review(body, |token, audiences| {
        match call.state.settings.tokens.user(token) {
            Some(user) => Ok((user.clone(), audiences.to_vec())),
            None => account_of_token(call.state, token, audiences, call.now),
        }
    })
}
