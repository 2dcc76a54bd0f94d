//! Field ownership and patches: how a write changes an object, and who owns what afterwards.
//!
//! Objects come in as JSON values together with the schema of their kind, results go out as JSON
//! values. Nothing here knows about requests, storage or the time of day.
//!
//! ```text
//! live + applied configuration ── apply ──────────▶ object with managedFields, or conflicts
//! live + new object ───────────── track_update ───▶ object with managedFields
//! last applied + target + live ─ client_patch ─▶ the patch of a client-side apply
//! original + patch ── strategic | json_patch | merge_patch ──▶ patched object
//! ```
#![deny(clippy::wildcard_enum_match_arm)]

pub mod apply;
pub mod client;
mod compare;
mod element;
pub mod fieldset;
mod go;
pub mod json_patch;
mod kind;
mod managed;
pub mod merge_patch;
mod mix;
pub mod owners;
mod prune;
mod stored;
pub mod strategic;
#[cfg(test)]
mod testing;
mod typed;

pub use apply::{Applied, Apply, ApplyError, Conflict, apply};
pub use client::client_patch;
pub use element::Element;
pub use fieldset::{FieldSet, FieldSetError};
pub use json_patch::{JsonPatchError, json_patch};
pub use managed::Operation;
pub use merge_patch::merge_patch;
pub use owners::{Update, keep_timestamps, track_update};
pub use strategic::{PatchError, strategic};

/// How deep a value may be nested before it is treated as one piece; JSON readers refuse earlier.
const DEPTH_MAX: usize = 200;
