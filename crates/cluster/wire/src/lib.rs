//! What stands in an HTTP request and answer of the Kubernetes API: media types, query
//! parameters, and bodies in JSON, YAML and protobuf.
//!
//! Pure functions from text to values and back. A refusal is an [`ApiError`](model::ApiError) with
//! the status and the words that a real API server uses.
//!
//! ```text
//! Accept ── accept ──▶ Media ─────────────┐
//! ?a=b   ── Query ──▶ ListOptions, …      ├──▶ write ──▶ bytes
//! body   ── interpret, parse_json ─────────┘
//! ```

pub mod accept;
pub mod body;
pub mod options;
pub mod query;
mod validate;

pub use accept::{Convert, Endpoint, Format, Media, accept, accept_error, is_pretty, write};
pub use body::{BodyFormat, Origin, PatchType, body_format, interpret, patch_type, summary};
pub use json::{Parsed, SyntaxError, parse as parse_json};
pub use options::{
    CreateOptions, DeleteOptions, FieldValidation, GetOptions, IncludeObject, ListOptions,
    PatchOptions, Preconditions, TableOptions, UpdateOptions,
};
pub use query::{Query, parse_int, parse_uint, unescape_path};
