//! Puts the embedded cluster together: the pure API server, a store, a clock, a socket.
//!
//! ```text
//! listener ── TLS ──▶ http ──▶ Cluster::call ──▶ apiserver::handle ──▶ commit ──▶ answer
//!                                   ▲                                    │
//!                             controllers ◀──────────── work ◀───────────┘
//! ```
//!
//! [`Cluster::call`] is the whole API without a socket; [`serve`] puts HTTPS in front of it.

mod answer;
mod clock;
mod cluster;
mod connection;
mod error;
mod identity;
mod kubelet;
mod logs;
mod run;
mod webhook;

pub use answer::Answer;
pub use clock::Clock;
pub use cluster::{Cluster, Options, Workloads};
pub use connection::{Server, serve};
pub use error::StartError;
pub use identity::Identity;
pub use workloads::NodeSize;
