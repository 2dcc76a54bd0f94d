//! Picks the renderer for a source and keeps the origin of every object.
//!
//! A render is a function of the files, the source's parameters and the context; it records which
//! files it looked at. The one exception is a plugin, which runs somebody's command.
//!
//! ```text
//! Source + SourceTree + Context ── overrides ── detect ──▶ directory | kustomize | helm | plugin
//!                                                     └──▶ Rendered { manifests, source_type, reads }
//! ```

mod context;
mod error;
mod fields;
mod source;
mod write;

pub use context::{Context, Reference, Settings};
pub use error::RenderError;
pub use fields::FieldError;
pub use source::{
    Directory, FileParameter, Helm, HelmParameter, Jsonnet, JsonnetVar, Kustomize, KustomizePatch,
    KustomizeReplica, KustomizeTarget, Plugin, PluginParameter, Source, SourceType,
};

use model::{Finding, Manifest};

/// What a render gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The objects, in the order in which they were rendered; lists are taken apart.
    pub manifests: Vec<Manifest>,
    /// Which renderer made them.
    pub source_type: SourceType,
    /// Every path of the tree that was looked at, existing or not, sorted.
    pub reads: Vec<String>,
    /// What is not wrong enough to stop, as an object that is rendered twice.
    pub warnings: Vec<Finding>,
}
