//! Go's text/template with the functions that Helm charts use.
//!
//! [`Templates::parse`] reads files once, [`Templates::execute`] runs one of them as often as
//! wanted, with a [`Value`] for dot and a [`Context`] that says what it may use. Output, errors and
//! their places are Go's, byte for byte; maps are shared as Go shares them.
//!
//! ```text
//! text ── Templates::parse ──▶ Templates ┐
//! model::Value ── Value::from_json ──▶ dot ┼─ execute ──▶ Output (bytes, origins) or ExecError
//! entropy, time, limits, host ── Context ┘                Context (marks of chance and time)
//! ```

#![expect(
    clippy::unnecessary_wraps,
    reason = "all functions of templates have one signature"
)]
#![expect(
    clippy::float_cmp,
    reason = "Go compares floats exactly, and so must we"
)]
#![expect(
    clippy::many_single_char_names,
    reason = "formulas of keys and curves have them"
)]
#![expect(clippy::unnecessary_box_returns, reason = "errors are big and rare")]
#![expect(clippy::single_match_else, reason = "both arms read alike")]
#![expect(clippy::naive_bytecount, reason = "texts are short")]

mod builtin;
mod call;
mod compare;
mod context;
mod date;
mod error;
mod eval;
mod exec;
mod fmt;
mod function;
mod helm;
mod lex;
mod node;
mod number;
mod object;
mod output;
mod parse;
mod quote;
mod regexp;
mod sprig;
mod strconv;
mod templates;
mod text;
mod unicode;
mod value;
mod walk;

pub use context::{Context, Entropy, Host, Limits, Lookup, Mark, MissingKey, NoHost};
pub use date::Time;
pub use error::{Cause, ExecError, Limit, Location};
pub use function::{Edition, Type, function_names};
pub use object::{Answer, Method, Named, Struct};
pub use output::{Origin, Output};
pub use parse::{NESTING_MAX, ParseError};
pub use templates::Templates;
pub use text::Text;
pub use value::{Element, Entries, List, Map, Value};

const STACK_LEFT: usize = 256 * 1024;
const STACK_MORE: usize = 4 * 1024 * 1024;

// Runs with enough stack for one more level of whatever nests.
fn deep<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_LEFT, STACK_MORE, work)
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
