//! YAML as Kubernetes' own tools read and write it.
//!
//! `kubectl`, Helm and the API server all use Go's `sigs.k8s.io/yaml`: YAML 1.1 words (`yes` is
//! true, `0644` is 420), keys turned into strings, and an emitter with its own taste in quotes.
//! [`parse`] and [`parse_all`] give the JSON value those tools would see; [`to_string`] prints a
//! value byte for byte as they do. [`parse_manifests`] reads files of manifests and keeps the place
//! of every field.
//!
//! ```text
//! text ── granit events ── load + resolve ──▶ Value ── emit ──▶ text
//! ```

mod emit;
mod fast;
mod fault;
mod load;
mod located;
mod marks;
mod resolve;
mod sort;
mod timestamp;

pub use emit::to_string;
pub use load::{DEPTH_MAX, Document, SIZE_MAX, parse, parse_all, parse_document};
pub use located::{Located, parse_manifests};
pub use marks::{Marks, Spot, spot_at};
pub use model::Value;
/// The order in which Go's emitters print the keys of a map.
pub use sort::compare as compare_keys;

use std::fmt;

/// Which part of the reader found a fault; Go counts lines differently in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Characters to tokens.
    Scan,
    /// Tokens to structure.
    Parse,
    /// Anchors, tags and limits; the message has no line.
    Compose,
    /// YAML to JSON; the message does not speak of YAML.
    Convert,
}

/// Why a text is no YAML we read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// Which part of the reader found it.
    pub stage: Stage,
    /// Line as people count, from 1; 0 when the fault has no place.
    pub line: usize,
    /// Column as people count, from 1; 0 when the fault has no place.
    pub column: usize,
    /// What is wrong, in the words of Go's parser where it has some.
    pub message: String,
    /// Where the same key stood before, when a key stands twice.
    pub first: Option<Spot>,
}

impl fmt::Display for YamlError {
    /// Prints what Go's reader says, which is one line short for faults of structure and silent
    /// about the first line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self.stage {
            Stage::Convert => return f.write_str(&self.message),
            Stage::Compose => 0,
            Stage::Scan if self.line == 1 => 0,
            Stage::Scan => self.line,
            Stage::Parse => self.line.saturating_sub(1),
        };
        if line == 0 {
            write!(f, "yaml: {}", self.message)
        } else {
            write!(f, "yaml: line {line}: {}", self.message)
        }
    }
}

impl std::error::Error for YamlError {}
