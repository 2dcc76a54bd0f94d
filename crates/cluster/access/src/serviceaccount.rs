//! ServiceAccounts as users: their names, groups and token claims.
//!
//! Builds the claims of a token and reads a user from claims whose signature was checked by the
//! caller; whether the account still exists is the caller's knowledge.

use crate::AUTHENTICATED;
use model::{Map, Timestamp, User, Value, json};
use std::collections::BTreeMap;

const PREFIX: &str = "system:serviceaccount:";
const GROUP: &str = "system:serviceaccounts";
const EXTRA: &str = "authentication.kubernetes.io/";

/// `system:serviceaccount:<namespace>:<name>`.
pub fn username(namespace: &str, name: &str) -> String {
    format!("{PREFIX}{namespace}:{name}")
}

/// The two groups of every account of a namespace.
pub fn groups(namespace: &str) -> Vec<String> {
    vec![GROUP.into(), format!("{GROUP}:{namespace}")]
}

/// Namespace and name when the text is the user name of a ServiceAccount.
pub fn split_username(username: &str) -> Option<(&str, &str)> {
    let (namespace, name) = username.strip_prefix(PREFIX)?.split_once(':')?;
    let valid = model::names::dns1123_label(namespace).is_empty()
        && model::names::dns1123_subdomain(name).is_empty();
    valid.then_some((namespace, name))
}

/// A named object with its uid, as token claims hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
}

impl Named {
    /// Reads name and uid from an object's metadata.
    pub fn of(object: &Value) -> Self {
        Self {
            name: model::meta::name(object).into(),
            uid: model::meta::uid(object).into(),
        }
    }

    fn to_value(&self) -> Value {
        if self.uid.is_empty() {
            json!({"name": self.name})
        } else {
            json!({"name": self.name, "uid": self.uid})
        }
    }

    fn read(value: Option<&Value>) -> Option<Self> {
        let text = |field| value?.get(field)?.as_str().map(str::to_owned);
        Some(Self {
            name: text("name")?,
            uid: text("uid").unwrap_or_default(),
        })
    }
}

/// What a token is to say.
#[derive(Clone, Debug, Default)]
pub struct TokenSpec {
    /// `iss`.
    pub issuer: String,
    /// `aud`.
    pub audiences: Vec<String>,
    /// Namespace of the account.
    pub namespace: String,
    /// The account.
    pub account: Named,
    /// The Pod the token is bound to.
    pub pod: Option<Named>,
    /// The Secret the token is bound to.
    pub secret: Option<Named>,
    /// The Node of the Pod, or the Node the token is bound to.
    pub node: Option<Named>,
    /// `jti`, a fresh uuid.
    pub id: String,
    /// How long the token lives.
    pub lifetime_seconds: i64,
    /// When a client should long have read a newer token, for tokens that live on regardless.
    pub warn_after_seconds: Option<i64>,
}

/// The claims of a new token.
pub fn claims_for(spec: &TokenSpec, now: Timestamp) -> Value {
    let mut private = Map::new();
    private.insert("namespace".into(), json!(spec.namespace));
    private.insert("serviceaccount".into(), spec.account.to_value());
    for (key, bound) in [
        ("pod", &spec.pod),
        ("secret", &spec.secret),
        ("node", &spec.node),
    ] {
        if let Some(object) = bound {
            private.insert(key.into(), object.to_value());
        }
    }
    if let Some(seconds) = spec.warn_after_seconds {
        let after = now.seconds().saturating_add(seconds);
        private.insert("warnafter".into(), json!(after));
    }
    json!({
        "iss": spec.issuer,
        "sub": username(&spec.namespace, &spec.account.name),
        "aud": spec.audiences,
        "iat": now.seconds(),
        "nbf": now.seconds(),
        "exp": now.seconds().saturating_add(spec.lifetime_seconds),
        "jti": spec.id,
        "kubernetes.io": private,
    })
}

/// What the claims of a valid token say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenUser {
    /// The account as a user, `system:authenticated` among its groups.
    pub user: User,
    /// Namespace of the account.
    pub namespace: String,
    /// The account; the caller checks that one with this uid exists.
    pub account: Named,
    /// The Pod the token is bound to; the caller checks that it exists.
    pub pod: Option<Named>,
    /// The Secret the token is bound to; the caller checks that it exists.
    pub secret: Option<Named>,
    /// Those audiences of the token that were asked for.
    pub audiences: Vec<String>,
}

/// Reads the user from verified claims; `issuer` and one of `audiences` must match.
pub fn read_claims(
    claims: &Value,
    issuer: &str,
    audiences: &[String],
    now: Timestamp,
) -> Result<TokenUser, String> {
    let text = |field: &str| claims.get(field).and_then(Value::as_str).unwrap_or("");
    if text("iss") != issuer {
        return Err("invalid bearer token".into());
    }
    check_times(claims, now)?;
    let held = audiences_of(claims);
    let shared: Vec<String> = held
        .iter()
        .filter(|a| audiences.contains(a))
        .cloned()
        .collect();
    if shared.is_empty() {
        return Err(format!(
            "token audiences {} is invalid for the target audiences {}",
            crate::rule::quoted_list(&held),
            crate::rule::quoted_list(audiences)
        ));
    }
    let private = claims.get("kubernetes.io");
    let part = |field: &str| Named::read(private.and_then(|p| p.get(field)));
    let namespace = private
        .and_then(|p| p.get("namespace"))
        .and_then(Value::as_str);
    let (Some(namespace), Some(account)) = (namespace, part("serviceaccount")) else {
        return Err("token is missing the ServiceAccount claims".into());
    };
    if text("sub") != username(namespace, &account.name) {
        return Err("sub claim does not match the ServiceAccount claims".into());
    }
    let (pod, secret, node) = (part("pod"), part("secret"), part("node"));
    let mut extra = BTreeMap::new();
    let mut note = |key: &str, value: String| {
        if !value.is_empty() {
            extra.insert(format!("{EXTRA}{key}"), vec![value]);
        }
    };
    if let Some(pod) = &pod {
        note("pod-name", pod.name.clone());
        note("pod-uid", pod.uid.clone());
    }
    if let Some(node) = &node {
        note("node-name", node.name.clone());
        note("node-uid", node.uid.clone());
    }
    if !text("jti").is_empty() {
        note("credential-id", format!("JTI={}", text("jti")));
    }
    let mut groups = groups(namespace);
    groups.push(AUTHENTICATED.into());
    Ok(TokenUser {
        user: User {
            name: username(namespace, &account.name),
            uid: account.uid.clone(),
            groups,
            extra,
        },
        namespace: namespace.into(),
        account,
        pod,
        secret,
        audiences: shared,
    })
}

/// The account as a user, whatever issuer and audience the claims name.
pub fn user_from_claims(claims: &Value, now: Timestamp) -> Result<User, String> {
    let issuer = claims.get("iss").and_then(Value::as_str).unwrap_or("");
    read_claims(claims, issuer, &audiences_of(claims), now).map(|token| token.user)
}

fn check_times(claims: &Value, now: Timestamp) -> Result<(), String> {
    let time = |field: &str| claims.get(field).and_then(Value::as_i64);
    let Some(expires) = time("exp") else {
        return Err("service account token has no expiration".into());
    };
    if now.seconds() >= expires {
        return Err("service account token has expired".into());
    }
    if time("nbf").is_some_and(|start| now.seconds() < start) {
        return Err("service account token is not valid yet".into());
    }
    Ok(())
}

fn audiences_of(claims: &Value) -> Vec<String> {
    match claims.get("aud") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => {
            let texts = many.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
