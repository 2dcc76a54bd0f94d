//! Who asks.

use std::collections::BTreeMap;

/// An authenticated requester, as RBAC and admission see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// User name, as in `system:serviceaccount:ns:name`.
    pub name: String,
    /// Opaque id.
    pub uid: String,
    /// Groups, `system:authenticated` among them.
    pub groups: Vec<String>,
    /// Further facts the authenticator knows.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The requester without credentials.
    pub fn anonymous() -> Self {
        Self {
            name: "system:anonymous".into(),
            groups: vec!["system:unauthenticated".into()],
            ..Self::default()
        }
    }
}
