//! Structural schemas: what an object of a kind may hold, and what is filled in for it.
//!
//! Built-in kinds and custom resources share one form, a graph of [`Node`]s in a [`Schemas`] arena
//! (a graph, since some types contain themselves). Merging, defaulting and pruning walk it with a
//! [`Cursor`].
//!
//! ```text
//! custom resource ── prune ──▶ apply_defaults ──▶ validate ──▶ stored
//! ```

mod crd;
mod default;
mod node;
mod openapi;
mod pattern;
mod prune;
mod validate;

pub use crd::{
    RuleCheck, check_crd, check_crd_update, component_name, default_crd, field_path,
    initial_status, is_established, publish, publish_list,
};
pub use default::apply_defaults;
pub use node::{Cursor, Edge, ListType, Node, NodeId, Schemas, Type};
pub use pattern::compile_pattern;
pub use prune::prune;
pub use validate::{
    FormatCheck, RULES_NOT_CHECKED, Validator, blocks_rules, check_scale, format_check,
    parse_duration, rules_not_checked, show_float,
};

/// How deep values and schemas are followed; what lies deeper is left alone.
pub const DEPTH_MAX: usize = 200;
