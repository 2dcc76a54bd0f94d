//! A ServiceAccount asks for a token.
//!
//! Takes the body posted to `serviceaccounts/<name>/token` and the account; gives the claims to be
//! signed and the answer, which [`Minted::answer`] completes with the signed token.

use crate::serviceaccount::{Named, TokenSpec, claims_for};
use model::{
    ApiError, FieldError, GroupVersion, GroupVersionKind, GroupVersionResource, Path, Timestamp,
    Value, json, meta,
};

const DEFAULT_SECONDS: i64 = 3600;
const SECONDS_MIN: i64 = 600;
const SECONDS_MAX: i64 = 1 << 32;
/// What the volume that is mounted into every pod asks for. Such tokens live for a year, since old
/// clients never read them again; `warnafter` tells when they should have.
const MOUNTED_SECONDS: i64 = 3607;
const YEAR_SECONDS: i64 = 365 * 24 * 3600;

/// A token about to be signed.
#[derive(Clone, Debug, PartialEq)]
pub struct Minted {
    /// The claims to sign.
    pub claims: Value,
    body: Value,
}

impl Minted {
    /// The answer, with the signed token.
    pub fn answer(mut self, token: &str) -> Value {
        self.body["status"]["token"] = json!(token);
        self.body
    }
}

/// Who signs, for whom, and when.
#[derive(Clone, Copy, Debug)]
pub struct Mint<'a> {
    /// The issuer, which is also the audience when none is asked for.
    pub issuer: &'a str,
    /// A fresh uuid for the token.
    pub id: &'a str,
    /// Now.
    pub now: Timestamp,
}

/// Reads the request and makes the claims. `find` gives an object by resource, namespace and name.
pub fn token_request(
    body: &Value,
    account: &Value,
    mint: Mint<'_>,
    find: &dyn Fn(&str, &str, &str) -> Option<Value>,
) -> Result<Minted, ApiError> {
    let (name, namespace) = (meta::name(account), meta::namespace(account));
    let asked = body
        .pointer("/spec/expirationSeconds")
        .and_then(Value::as_i64);
    let seconds = asked.unwrap_or(DEFAULT_SECONDS);
    check(body, name, namespace, seconds)?;
    let given = meta::entries(body, "/spec/audiences").filter_map(Value::as_str);
    let mut audiences: Vec<String> = given.map(str::to_owned).collect();
    if audiences.is_empty() {
        audiences.push(mint.issuer.into());
    }
    let mut spec = TokenSpec {
        issuer: mint.issuer.into(),
        audiences: audiences.clone(),
        namespace: namespace.into(),
        account: Named::of(account),
        id: mint.id.into(),
        lifetime_seconds: seconds,
        ..TokenSpec::default()
    };
    let bound = body
        .pointer("/spec/boundObjectRef")
        .filter(|b| !b.is_null());
    if let Some(bound) = bound {
        bind(&mut spec, bound, account, find)?;
    }
    let own = audiences == [mint.issuer];
    if spec.pod.is_some() && seconds == MOUNTED_SECONDS && own {
        spec.lifetime_seconds = YEAR_SECONDS;
        spec.warn_after_seconds = Some(MOUNTED_SECONDS);
    }
    let answer = json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": meta::uid(account),
            "creationTimestamp": mint.now.rfc3339(),
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": bound,
        },
        "status": {"expirationTimestamp": mint.now.plus_seconds(seconds).rfc3339()},
    });
    Ok(Minted {
        claims: claims_for(&spec, mint.now),
        body: answer,
    })
}

fn check(body: &Value, name: &str, namespace: &str, seconds: i64) -> Result<(), ApiError> {
    let gvk = GroupVersionKind::new("authentication.k8s.io", "v1", "TokenRequest");
    let said = meta::namespace(body);
    if !said.is_empty() && said != namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let said = meta::name(body);
    if !said.is_empty() && said != name {
        let why = "must match the service account name if specified";
        let fault = FieldError::invalid(&Path::new("metadata.name"), &json!(said), why);
        return Err(ApiError::invalid(&gvk, name, &[fault]));
    }
    let why = match seconds {
        ..SECONDS_MIN => "may not specify a duration less than 10 minutes",
        SECONDS_MIN..=SECONDS_MAX => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let path = Path::new("spec.expirationSeconds");
    let fault = FieldError::invalid(&path, &json!(seconds), why);
    Err(ApiError::invalid(&gvk, said, &[fault]))
}

/// Ties the token to a Pod, Secret or Node, so that it ends with it.
fn bind(
    spec: &mut TokenSpec,
    bound: &Value,
    account: &Value,
    find: &dyn Fn(&str, &str, &str) -> Option<Value>,
) -> Result<(), ApiError> {
    let (version, kind) = (
        meta::text_at(bound, "/apiVersion"),
        meta::text_at(bound, "/kind"),
    );
    let resource = match (version, kind) {
        ("v1", "Pod") => "pods",
        ("v1", "Secret") => "secrets",
        ("v1", "Node") => "nodes",
        _ => {
            let gv = GroupVersion::parse(version).unwrap_or_default();
            return Err(ApiError::bad_request(format!(
                "cannot bind token to object of type {}/{}, Kind={kind}",
                gv.group, gv.version
            )));
        }
    };
    let namespace = if resource == "nodes" {
        ""
    } else {
        meta::namespace(account)
    };
    let name = meta::text_at(bound, "/name");
    let gvr = GroupVersionResource::new("", "v1", resource);
    let object = find(resource, namespace, name);
    let object = object.ok_or_else(|| ApiError::not_found(&gvr, name))?;
    let runs_as = meta::text_at(&object, "/spec/serviceAccountName");
    if resource == "pods" && runs_as != meta::name(account) {
        return Err(ApiError::bad_request(format!(
            "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
            meta::name(account)
        )));
    }
    let uid = meta::text_at(bound, "/uid");
    if !uid.is_empty() && uid != meta::uid(&object) {
        // A real API server names the kind where other conflicts name the resource.
        let gvr = GroupVersionResource::new("", "v1", kind);
        return Err(ApiError::conflict(
            &gvr,
            name,
            &format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
            ),
        ));
    }
    let named = Some(Named::of(&object));
    match resource {
        "secrets" => spec.secret = named,
        "nodes" => spec.node = named,
        _ => {
            spec.pod = named;
            let node = meta::text_at(&object, "/spec/nodeName");
            if !node.is_empty() {
                let found = find("nodes", "", node);
                let unknown = Named {
                    name: node.into(),
                    uid: String::new(),
                };
                spec.node = Some(found.as_ref().map_or(unknown, Named::of));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn find(resource: &str, namespace: &str, name: &str) -> Option<Value> {
        match (resource, namespace, name) {
            ("pods", "dev", "p1") => Some(
                json!({"metadata": {"name": "p1", "uid": "u2"}, "spec": {"serviceAccountName": "default", "nodeName": "n1"}}),
            ),
            ("pods", "dev", "p2") => Some(
                json!({"metadata": {"name": "p2", "uid": "u3"}, "spec": {"serviceAccountName": "other"}}),
            ),
            ("secrets", "dev", "s") => Some(json!({"metadata": {"name": "s", "uid": "u4"}})),
            ("nodes", "", "n1") => Some(json!({"metadata": {"name": "n1", "uid": "u5"}})),
            _ => None,
        }
    }

    fn ask(body: &Value) -> Result<Minted, ApiError> {
        let account = json!({"metadata": {"name": "default", "namespace": "dev", "uid": "u1"}});
        let mint = Mint {
            issuer: "https://iss",
            id: "j",
            now: Timestamp::from_seconds(0),
        };
        token_request(body, &account, mint, &find)
    }

    fn check_claims(spec: Value, expected: Expect) {
        let answer = match ask(&json!({"spec": spec})) {
            Ok(minted) => {
                let claims = minted.claims.clone();
                format!(
                    "{} exp={} {}",
                    claims["aud"], claims["exp"], claims["kubernetes.io"]
                )
            }
            Err(e) => format!("{} {}", e.code, e.message),
        };
        expected.assert_eq(&answer);
    }

    #[test]
    fn the_answer_repeats_what_was_granted() {
        let answer = ask(&json!({"spec": {"expirationSeconds": 600}}))
            .unwrap()
            .answer("a.b.c");
        expect![[r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{"creationTimestamp":"1970-01-01T00:00:00Z","name":"default","namespace":"dev","uid":"u1"},"spec":{"audiences":["https://iss"],"boundObjectRef":null,"expirationSeconds":600},"status":{"expirationTimestamp":"1970-01-01T00:10:00Z","token":"a.b.c"}}"#]].assert_eq(&answer.to_string());
    }

    #[test]
    fn tokens_are_bound_to_objects() {
        check_claims(
            json!({"audiences": ["a", "b"]}),
            expect![[
                r#"["a","b"] exp=3600 {"namespace":"dev","serviceaccount":{"name":"default","uid":"u1"}}"#
            ]],
        );
        check_claims(
            json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p1"}}),
            expect![[
                r#"["https://iss"] exp=3600 {"namespace":"dev","node":{"name":"n1","uid":"u5"},"pod":{"name":"p1","uid":"u2"},"serviceaccount":{"name":"default","uid":"u1"}}"#
            ]],
        );
        check_claims(
            json!({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": "u4"}}),
            expect![[
                r#"["https://iss"] exp=3600 {"namespace":"dev","secret":{"name":"s","uid":"u4"},"serviceaccount":{"name":"default","uid":"u1"}}"#
            ]],
        );
        check_claims(
            json!({"expirationSeconds": 3607, "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p1"}}),
            expect![[
                r#"["https://iss"] exp=31536000 {"namespace":"dev","node":{"name":"n1","uid":"u5"},"pod":{"name":"p1","uid":"u2"},"serviceaccount":{"name":"default","uid":"u1"},"warnafter":3607}"#
            ]],
        );
    }

    #[test]
    fn refusals_have_a_real_servers_words() {
        let bound = |kind: &str, api: &str, name: &str, uid: &str| json!({"boundObjectRef": {"kind": kind, "apiVersion": api, "name": name, "uid": uid}});
        check_claims(
            json!({"expirationSeconds": 599}),
            expect![[
                r#"422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"#
            ]],
        );
        check_claims(
            json!({"expirationSeconds": 5_000_000_000_i64}),
            expect![[
                r#"422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5000000000: may not specify a duration larger than 2^32 seconds"#
            ]],
        );
        check_claims(
            bound("Pod", "v1", "nope", ""),
            expect![[r#"404 pods "nope" not found"#]],
        );
        check_claims(
            bound("Pod", "v1", "p1", "x"),
            expect![[
                r#"409 Operation cannot be fulfilled on Pod "p1": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated"#
            ]],
        );
        check_claims(
            bound("Pod", "v1", "p2", ""),
            expect![[
                r#"400 cannot bind token for serviceaccount "default" to pod running with different serviceaccount name."#
            ]],
        );
        check_claims(
            bound("ConfigMap", "v1", "x", ""),
            expect!["400 cannot bind token to object of type /v1, Kind=ConfigMap"],
        );
        check_claims(
            bound("Deployment", "apps/v1", "x", ""),
            expect!["400 cannot bind token to object of type apps/v1, Kind=Deployment"],
        );
        let named = |metadata: Value| ask(&json!({"metadata": metadata})).unwrap_err().message;
        assert_eq!(
            named(json!({"name": "other"})),
            r#"TokenRequest.authentication.k8s.io "default" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified"#
        );
        assert_eq!(
            named(json!({"namespace": "other"})),
            "the namespace of the provided object does not match the namespace sent on the request"
        );
    }
}
