//! The decisions of a sync, in the order in which they are taken.
//!
//! Pure: no IO, no clock, no randomness. It knows objects and annotations, and has never seen an
//! Application.
//!
//! ```text
//! live object ── health ──▶ Health
//! manifest ── hook ──▶ Role (plain, hook in phases, skipped, dropped)
//! pairs of desired and live ── plan ──▶ Plan: tasks in the order of their slots
//! Operation + Event + now ── sync::step ──▶ Operation + Actions
//! ```

#![deny(clippy::wildcard_enum_match_arm)]

pub mod annotation;
pub mod health;
pub mod hook;
pub mod plan;
pub mod sync;
pub mod track;

pub use health::{Health, HealthStatus};
pub use hook::{DeletePolicies, Phase, Role};
pub use plan::{Pair, Plan, Rules, Slot, Task, plan};
