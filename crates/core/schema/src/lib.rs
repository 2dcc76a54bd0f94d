//! Structural schemas: what an object of a kind may hold, and what is filled in for it.
//!
//! Built-in kinds and custom resources share one form, a graph of [`Node`]s in a [`Schemas`] arena
//! (a graph, since some types contain themselves). Merging, defaulting, pruning and validation all
//! walk it with a [`Cursor`].

mod node;
mod openapi;

pub use node::{Cursor, Edge, ListType, Node, NodeId, Schemas, Type};
