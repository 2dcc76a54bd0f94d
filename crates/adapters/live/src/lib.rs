//! Clusters through the kube client: what is there, and the hands of a sync.
//!
//! Takes what the engine decided and performs it; decides nothing itself.
//!
//! ```text
//! kubeconfig ── connect ──▶ Cluster ── find, tracked ──▶ live objects
//! Operation ── drive ──▶ requests and watches ──▶ Events ──▶ step … until it is over
//! ```

mod api;
mod apply;
mod discovery;
mod drive;
mod objects;

pub use api::Cluster;
pub use apply::change;
pub use drive::{Progress, drive};

use std::path::PathBuf;

/// Why a cluster could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// There is no kubeconfig, or it cannot be read.
    #[error("could not read the kubeconfig{}", of(path.as_ref()))]
    Kubeconfig {
        /// Which one; `None` for the usual places.
        path: Option<PathBuf>,
        /// Why.
        source: kube::config::KubeconfigError,
    },
    /// The server did not answer, or refused.
    #[error("could not {what}: {}", said(source))]
    Api {
        /// What was tried.
        what: String,
        /// What came back.
        source: Box<kube::Error>,
    },
    /// The cluster does not know a kind.
    #[error(
        "the server could not find the requested resource: make sure the \"{kind}\" CRD is installed on the destination cluster"
    )]
    UnknownKind {
        /// The kind, as in `example.com/v1, Kind=Widget`.
        kind: String,
    },
}

fn of(path: Option<&PathBuf>) -> String {
    path.map(|path| format!(" `{}`", path.display()))
        .unwrap_or_default()
}

/// What a server says in its own words, where it says something.
fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

impl LiveError {
    pub(crate) fn api(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        |source| Self::Api {
            what,
            source: Box::new(source),
        }
    }

    /// The HTTP status of a refusal; 0 when there was none.
    pub fn code(&self) -> u16 {
        match self {
            Self::Api { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => status.code,
                _ => 0,
            },
            Self::Kubeconfig { .. } | Self::UnknownKind { .. } => 0,
        }
    }

    /// What the server said, without what we tried.
    pub fn message(&self) -> String {
        match self {
            Self::Api { source, .. } => said(source),
            Self::Kubeconfig { .. } | Self::UnknownKind { .. } => self.to_string(),
        }
    }
}
