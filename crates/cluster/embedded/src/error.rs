//! Why a cluster could not be started.

use std::net::SocketAddr;

/// Why a cluster could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory could not be opened.
    #[error("could not open the cluster's data")]
    Store(#[from] store::StoreError),
    /// Keys or certificates could not be made or read.
    #[error("could not set up the cluster's certificates: {0}")]
    Identity(String),
    /// The address is taken or not ours.
    #[error(
        "could not listen on {address}; choose another with --listen, or port 0 for any free one"
    )]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}
