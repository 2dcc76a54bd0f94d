//! A real Kubernetes control plane beside ours, for tests, recordings and benchmarks.
//!
//! [`tools`] finds the real programs in a cache or builds them with Go; [`ControlPlane::start`]
//! runs etcd, kube-apiserver and, when asked, kube-controller-manager on free loopback ports in a
//! folder of their own, and stops them when it is dropped, and also when this process dies.
//!
//! ```text
//! tools/*/go.mod ── tools::find ──▶ programs ── ControlPlane::start ──▶ url, kubeconfig, tokens
//! ```

mod certificates;
mod metrics;
mod plane;
mod process;
mod tools;
mod volumes;

pub use metrics::Metrics;
pub use plane::{ADMIN_TOKEN, ControlPlane, Options, START_MAX, USER_TOKEN};
pub use process::end;
pub use tools::{Tool, ToolError, find};
pub use volumes::{PROVISIONER, provision};

/// Why there is no control plane.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// A program is missing and could not be built.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A file could not be written or a process not started.
    #[error("could not {what}")]
    Io {
        /// What we tried.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A certificate could not be made.
    #[error("could not make a certificate: {0}")]
    Certificate(String),
    /// A program ended or was not ready in time; its last words are in the message.
    #[error("`{program}` {why}; the end of its log:\n{log}")]
    NotReady {
        /// Which program.
        program: String,
        /// What happened.
        why: String,
        /// The last lines of its log.
        log: String,
    },
}

pub(crate) fn io_error(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> RealError {
    let what = what.into();
    move |source| RealError::Io { what, source }
}
