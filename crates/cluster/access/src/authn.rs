//! From credentials to a user.
//!
//! Takes the `Authorization` header, a table of static tokens and the subject of a client
//! certificate the caller has verified; gives a [`User`] with `system:authenticated` among its
//! groups. Signatures of tokens and certificates are checked elsewhere.

use crate::AUTHENTICATED;
use model::{ApiError, Reason, User};
use std::collections::BTreeMap;

/// The token of an `Authorization: Bearer …` header; `None` for any other header.
pub fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    let token = token.trim_start();
    let token = token.split(' ').next().unwrap_or("");
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The 401 for credentials nobody knows.
pub fn unauthorized() -> ApiError {
    ApiError::new(401, Some(Reason::Unauthorized), "Unauthorized")
}

/// The user a client certificate names: common name and organizations.
///
/// `None` when there is no common name: such a certificate identifies nobody. `credential_id` is
/// the certificate's SHA-256 fingerprint in hexadecimal, empty when unknown.
pub fn certificate_user(
    common_name: &str,
    organizations: &[String],
    credential_id: &str,
) -> Option<User> {
    if common_name.is_empty() {
        return None;
    }
    let mut user = User {
        name: common_name.into(),
        groups: organizations.to_vec(),
        ..User::default()
    };
    if !credential_id.is_empty() {
        user.extra.insert(
            "authentication.kubernetes.io/credential-id".into(),
            vec![format!("X509SHA256={credential_id}")],
        );
    }
    Some(authenticated(user))
}

/// Adds `system:authenticated`, unless the groups already say whether the user is authenticated.
#[must_use]
pub fn authenticated(mut user: User) -> User {
    let said = |g: &String| g == AUTHENTICATED || g == crate::UNAUTHENTICATED;
    if !user.groups.iter().any(said) {
        user.groups.push(AUTHENTICATED.into());
    }
    user
}

/// Static tokens and the users they stand for.
#[derive(Clone, Default)]
pub struct Tokens {
    users: BTreeMap<String, User>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens")
            .field("users", &self.users.len())
            .finish()
    }
}

impl Tokens {
    /// Adds a token; `system:authenticated` is added to the user's groups.
    pub fn insert(&mut self, token: impl Into<String>, user: User) {
        self.users.insert(token.into(), authenticated(user));
    }

    /// The user a token stands for.
    pub fn user(&self, token: &str) -> Option<&User> {
        self.users.get(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_headers_are_read_leniently() {
        for (header, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc", Some("abc")),
            ("Bearer abc def", Some("abc")),
            ("Bearer ", None),
            ("Bearer", None),
            ("Basic abc", None),
            ("", None),
        ] {
            assert_eq!(bearer(header), token, "{header:?}");
        }
    }

    #[test]
    fn certificates_and_tokens_name_users() {
        let user = certificate_user("kubernetes-admin", &["system:masters".into()], "0a").unwrap();
        assert_eq!(user.groups, ["system:masters", "system:authenticated"]);
        assert_eq!(
            user.extra["authentication.kubernetes.io/credential-id"],
            ["X509SHA256=0a"]
        );
        assert_eq!(certificate_user("", &[], ""), None);

        let mut tokens = Tokens::default();
        tokens.insert(
            "t",
            User {
                name: "alice".into(),
                ..User::default()
            },
        );
        assert_eq!(tokens.user("t").unwrap().groups, ["system:authenticated"]);
        assert_eq!(tokens.user("x"), None);
        assert_eq!(format!("{tokens:?}"), "Tokens { users: 1 }");
    }
}
