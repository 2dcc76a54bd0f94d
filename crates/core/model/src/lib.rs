//! The words every crate speaks: which object, which kind, when, who, and why not.
//!
//! Pure values without IO, clock or randomness. An object itself is a [`serde_json::Value`]; [`meta`]
//! reads the parts of it that every Kubernetes object has.

pub mod error;
pub mod field;
pub mod finding;
pub mod gvk;
pub mod manifest;
pub mod meta;
pub mod names;
pub mod quantity;
pub mod selector;
pub mod time;
pub mod tree;
pub mod user;

pub use error::{ApiError, Cause, Reason};
pub use field::{FieldError, FieldErrorKind, Path};
pub use finding::{Evidence, Finding, Fix, Moment, Place, Remedy, Severity};
pub use gvk::{GroupVersion, GroupVersionKind, GroupVersionResource, ResourceKey};
pub use manifest::{Manifest, Origin, Touch};
pub use quantity::Quantity;
pub use selector::{FieldSelector, LabelSelector};
pub use serde_json::{Map, Value, json};
pub use time::Timestamp;
pub use tree::{MemoryTree, SourceTree, Tree, TreeError};
pub use user::User;
