//! A scripted kubelet: what becomes of a Pod on a node, by rule, by annotation or by its own script.
//!
//! ```text
//! Pod + World + Life + now ── step ──▶ acts (status, events, deletion), when to look again
//! ```
//!
//! [`step`] has no clock, no IO and no randomness: a caller observes a Pod, performs the acts it is
//! given and calls again when the Pod changed or `wake_at` has come. [`Life`] holds what a kubelet
//! knows of a Pod beyond its object; after a restart [`Life::resume`] rebuilds it from the Pod's status.

mod act;
mod behaviour;
mod environment;
mod image;
mod life;
mod log;
mod mounts;
mod probe;
mod program;
mod run;
#[allow(dead_code)]
mod shell;
mod spec;
mod start;
mod status;
mod step;
mod stop;
#[cfg(test)]
mod tests;
mod turn;
mod world;

pub use act::{Act, COMPONENT, Event, EventType, Reaction};
pub use behaviour::ANNOTATION_PREFIX;
pub use life::Life;
pub use log::{LogChunk, LogCursor, LogOptions};
pub use step::step;
pub use world::{Addresses, World};
