//! How Go's typed API reads and writes an object.
//!
//! A Kubernetes API server decodes each body into a Go struct and prints the struct again. On the
//! way unknown fields disappear, zero values come and go by the rules of `omitempty`, quantities
//! and times take their canonical form, and wrong types are refused in Go's words. This crate does
//! the same with a table of Go's types:
//!
//! ```text
//! JSON bytes ── decode_json ─────┐
//! Value      ── decode ──────────┼──▶ Value as Go prints it + strict errors, or Go's message
//! protobuf   ── decode_protobuf ─┘
//! ```
//!
//! The table, `data/types.json.zst`, is printed by the Go program in `tools/gotypes`:
//!
//! ```text
//! cd tools/gotypes && go run . table | zstd -19 > ../../crates/cluster/gotypes/data/types.json.zst
//! ```

mod at;
mod base64;
mod decode;
mod order;
mod protobuf;
mod quantity;
mod source;
mod special;
mod stored;
mod table;
mod time;

pub use decode::{DecodeError, Decoded, decode, decode_json, decode_object_meta};
pub use order::to_json;
pub use protobuf::{decode_protobuf, unwrap_protobuf};
pub use stored::store;

use model::GroupVersionKind;

/// Whether the kind is one of those built into a Kubernetes API server.
pub fn knows(gvk: &GroupVersionKind) -> bool {
    table::table().kind(gvk).is_some()
}
