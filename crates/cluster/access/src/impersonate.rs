//! Acting as somebody else: the `Impersonate-*` headers.
//!
//! [`wanted`] reads whom the headers ask for; [`allow`] checks that the requester may, in the
//! modes a real API server tries: the constrained ones (`impersonate-on:<mode>:<verb>` plus
//! `impersonate:<mode>`) first, the plain `impersonate` verb last. The first refusal is the answer.

use crate::forbidden::forbidden;
use crate::rbac::{Attributes, Rbac};
use crate::serviceaccount;
use crate::{AUTHENTICATED, MASTERS, UNAUTHENTICATED};
use model::field::go_quote;
use model::{ApiError, User};
use std::collections::BTreeMap;

const MANY: usize = 4;
const NODE: &str = "system:node:";
const AUTHN: &str = "authentication.k8s.io";

/// The user the headers ask for, raw; `None` when nobody is impersonated.
pub fn wanted<'a>(
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Option<User>, ApiError> {
    let mut user = User::default();
    let mut any = false;
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        let Some(what) = name.strip_prefix("impersonate-") else {
            continue;
        };
        match what {
            "user" if user.name.is_empty() => user.name = value.into(),
            "uid" if user.uid.is_empty() => user.uid = value.into(),
            "group" => user.groups.push(value.into()),
            _ => {
                if let Some(key) = what.strip_prefix("extra-") {
                    user.extra
                        .entry(unescape(key))
                        .or_default()
                        .push(value.into());
                }
            }
        }
        any |= what == "group" || what.starts_with("extra-");
    }
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    if any || !user.uid.is_empty() {
        return Err(ApiError::bad_request(format!(
            "requested {} without impersonating a user name",
            go_user(&user)
        )));
    }
    Ok(None)
}

/// Percent-decoding; text that is not well encoded stays as it is.
fn unescape(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let hex = tail.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) => bytes.push(byte),
            None => return key.into(),
        }
        rest = &tail[2..];
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.into())
}

fn go_strings(values: &[String]) -> String {
    let quoted: Vec<String> = values.iter().map(|v| go_quote(v)).collect();
    format!("[]string{{{}}}", quoted.join(", "))
}

fn go_user(user: &User) -> String {
    let groups = if user.groups.is_empty() {
        "[]string(nil)".into()
    } else {
        go_strings(&user.groups)
    };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".into()
    } else {
        let pairs = user.extra.iter();
        let pairs = pairs.map(|(k, v)| format!("{}:{}", go_quote(k), go_strings(v)));
        format!(
            "map[string][]string{{{}}}",
            pairs.collect::<Vec<_>>().join(", ")
        )
    };
    format!(
        "&user.DefaultInfo{{Name:{}, UID:{}, Groups:{groups}, Extra:{extra}}}",
        go_quote(&user.name),
        go_quote(&user.uid)
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn verb(self) -> String {
        match self {
            Self::Legacy => "impersonate".into(),
            other => format!("impersonate:{}", other.name()),
        }
    }

    fn applies(self, wanted: &User, requester: &User) -> bool {
        let name_only =
            wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_name(&wanted.name);
        let account = serviceaccount::split_username(&wanted.name).is_some();
        match self {
            Self::AssociatedNode => name_only && node.is_some() && own_node(requester) == node,
            Self::ArbitraryNode => name_only && node.is_some(),
            Self::ServiceAccount => name_only && account,
            Self::UserInfo => node.is_none() && !account,
            Self::Legacy => true,
        }
    }
}

fn node_name(username: &str) -> Option<&str> {
    let name = username.strip_prefix(NODE)?;
    model::names::dns1123_subdomain(name)
        .is_empty()
        .then_some(name)
}

/// The node a requesting ServiceAccount's token says it runs on.
fn own_node(requester: &User) -> Option<&str> {
    serviceaccount::split_username(&requester.name)?;
    let names = requester
        .extra
        .get("authentication.kubernetes.io/node-name")?;
    match names.as_slice() {
        [name] => Some(name),
        _ => None,
    }
}

/// The user to go on with, when the requester of `request` may act as `wanted`.
pub fn allow(rbac: &Rbac, request: &Attributes<'_>, wanted: &User) -> Result<User, ApiError> {
    let modes = [
        Mode::AssociatedNode,
        Mode::ArbitraryNode,
        Mode::ServiceAccount,
        Mode::UserInfo,
        Mode::Legacy,
    ];
    let mut first = None;
    for mode in modes {
        if !mode.applies(wanted, request.user) {
            continue;
        }
        match check_mode(rbac, mode, request, wanted) {
            Ok(user) => return Ok(user),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| ApiError::internal_plain("all impersonation modes failed")))
}

fn check(rbac: &Rbac, a: &Attributes<'_>) -> Result<(), ApiError> {
    let decision = rbac.authorize(a);
    if decision.is_allowed() {
        return Ok(());
    }
    Err(forbidden(a, decision.reason()))
}

fn check_mode(
    rbac: &Rbac,
    mode: Mode,
    request: &Attributes<'_>,
    wanted: &User,
) -> Result<User, ApiError> {
    if mode != Mode::Legacy {
        let verb = format!("impersonate-on:{}:{}", mode.name(), request.verb);
        check(
            rbac,
            &Attributes {
                verb: &verb,
                ..*request
            },
        )?;
    }
    let verb = mode.verb();
    let group = if mode == Mode::Legacy { "" } else { AUTHN };
    let base = Attributes::resource(request.user, &verb, group, "v1", "users");
    let mut actual = wanted.clone();
    check_name(rbac, mode, base, &mut actual)?;
    if !wanted.uid.is_empty() {
        let uid = Attributes {
            group: AUTHN,
            resource: "uids",
            name: &wanted.uid,
            ..base
        };
        check(rbac, &uid)?;
    }
    check_groups(
        rbac,
        mode,
        Attributes {
            resource: "groups",
            ..base
        },
        &wanted.groups,
    )?;
    let extra = Attributes {
        group: AUTHN,
        resource: "userextras",
        ..base
    };
    check_extra(rbac, mode, extra, &wanted.extra)?;
    complete(&mut actual);
    Ok(actual)
}

fn check_name(
    rbac: &Rbac,
    mode: Mode,
    base: Attributes<'_>,
    actual: &mut User,
) -> Result<(), ApiError> {
    let username = actual.name.clone();
    let mut a = Attributes {
        name: &username,
        ..base
    };
    if mode != Mode::Legacy
        && let Some(node) = node_name(&username)
    {
        a.resource = "nodes";
        a.name = if mode == Mode::AssociatedNode {
            "*"
        } else {
            node
        };
        actual.groups = vec!["system:nodes".into()];
    }
    if let Some((namespace, name)) = serviceaccount::split_username(&username) {
        a.resource = "serviceaccounts";
        a.namespace = namespace;
        a.name = name;
        if actual.groups.is_empty() {
            actual.groups = serviceaccount::groups(namespace);
        }
    }
    check(rbac, &a)
}

fn check_groups(
    rbac: &Rbac,
    mode: Mode,
    base: Attributes<'_>,
    groups: &[String],
) -> Result<(), ApiError> {
    if mode != Mode::Legacy {
        if groups.iter().any(String::is_empty) {
            return Err(forbidden(
                &base,
                "impersonating the empty string group is not allowed",
            ));
        }
        if groups.iter().any(|g| g == MASTERS) {
            let a = Attributes {
                name: MASTERS,
                ..base
            };
            return Err(forbidden(
                &a,
                "impersonating the system:masters group is not allowed",
            ));
        }
        if groups.len() >= MANY && check(rbac, &Attributes { name: "*", ..base }).is_ok() {
            return Ok(());
        }
    }
    groups.iter().try_for_each(|group| {
        check(
            rbac,
            &Attributes {
                name: group,
                ..base
            },
        )
    })
}

fn check_extra(
    rbac: &Rbac,
    mode: Mode,
    base: Attributes<'_>,
    extra: &BTreeMap<String, Vec<String>>,
) -> Result<(), ApiError> {
    if mode != Mode::Legacy {
        for (key, values) in extra {
            let fault = if key.is_empty() {
                "impersonating the empty string key in extra is not allowed"
            } else if values.iter().any(String::is_empty) {
                "impersonating the empty string value in extra is not allowed"
            } else {
                continue;
            };
            return Err(forbidden(&base, fault));
        }
        let all = Attributes {
            subresource: "*",
            name: "*",
            ..base
        };
        let large = extra.values().map(Vec::len).sum::<usize>() >= MANY;
        if large && check(rbac, &all).is_ok() {
            return Ok(());
        }
    }
    for (key, values) in extra {
        for value in values {
            check(
                rbac,
                &Attributes {
                    subresource: key,
                    name: value,
                    ..base
                },
            )?;
        }
    }
    Ok(())
}

/// Adds the group that says whether the user is authenticated.
fn complete(user: &mut User) {
    let has = |user: &User, group: &str| user.groups.iter().any(|g| g == group);
    if user.name == "system:anonymous" {
        if !has(user, UNAUTHENTICATED) {
            user.groups.push(UNAUTHENTICATED.into());
        }
    } else if !has(user, UNAUTHENTICATED) && !has(user, AUTHENTICATED) {
        user.groups.push(AUTHENTICATED.into());
    }
}

#[cfg(test)]
mod tests;
