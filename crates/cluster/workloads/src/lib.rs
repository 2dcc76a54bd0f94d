//! The controllers of a cluster with workloads: what becomes of Deployments, Jobs, Services, claims
//! and all that hangs below them, and where Pods go.
//!
//! ```text
//! change ── Desk::observe ──▶ Index (facts), Items that are due
//! Item ── Desk::step ──▶ Acts ──▶ apiserver::handle ──▶ changes ──▶ …
//! ```
//!
//! Every controller is a pure function of the stored objects and the time: it looks at one
//! [`Item`] and returns the requests a real controller would send. What a change concerns is found
//! through the [`Index`], so that the cost of a change does not depend on how much else there is.
//! Nothing here needs to survive a restart: [`Desk::open`] derives everything from the store.

mod act;
mod desk;
mod event;
mod index;
mod item;
mod kinds;
mod object;
mod view;

pub use act::{Act, Refusal, Then, delete_now, patch};
pub use desk::Desk;
pub use index::{Index, NodeFacts, PodFacts};
pub use item::{Item, Kind};
pub use kinds::node::{NodeSize, node_requests};
pub use object::replacing;
pub use view::View;

/// Writes an event of a kubelet about a Pod, or counts one that is known.
pub use event::pod_event;
