//! JSON as Go's `encoding/json` and Kubernetes' strict decoder read and write it.
//!
//! Kubernetes clients show the server's decoding errors word for word, and the decoder's habits
//! (what counts as an integer, what a broken byte becomes, which characters are escaped) reach
//! stored objects. [`Reader`] walks text token by token and fails with Go's messages,
//! [`parse`] builds a whole [`Value`] and lists keys that stand twice, [`write`](mod@write) prints values
//! as Go prints them.
//!
//! ```text
//! bytes ── Reader ──▶ tokens ── parse ──▶ Value + duplicates ── write ──▶ bytes
//! ```

pub mod number;
mod parse;
mod path;
mod reader;
pub mod write;

pub use model::{Map, Value};
pub use parse::{Parsed, STRICT_ERRORS_MAX, parse};
pub use path::{Path, Step};
pub use reader::{DEPTH_MAX, Kind, Reader, SyntaxError};
