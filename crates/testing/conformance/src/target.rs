//! A server to ask, and how to be somebody on it.

use std::collections::BTreeMap;

/// How to reach a server.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// `https://host:port`.
    pub url: String,
    /// The authority of its certificate, PEM.
    pub ca_pem: String,
    /// The token of `admin`, a member of `system:masters`.
    pub admin_token: String,
    /// The token of `somebody`, a user without groups or rights.
    pub user_token: String,
    /// The same server started in other ways, by variant name.
    pub variants: BTreeMap<String, Target>,
}
