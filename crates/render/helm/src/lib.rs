//! Charts and values in, manifests out: what `helm template` prints, byte for byte.
//!
//! ```text
//! SourceTree | .tgz ── load ──▶ Chart ── Prepared ─┐
//! -f, --set … ───────── values::merge ─────────────┴─▶ render ──▶ Rendered ─▶ text | manifests
//! ```
//!
//! Helm 3 and Helm 4 differ in places; a [`Flavour`] says whose habits count. Nothing is read or
//! asked here: files come as a tree or as bytes, the cluster, the time and chance come through the
//! context of the template engine.

pub mod argo;
mod cache;
pub mod capabilities;
pub mod chart;
pub mod command;
mod decode;
pub mod dependency;
mod document;
mod error;
mod fault;
mod files;
mod finding;
mod gopath;
pub mod load;
mod name;
mod order;
mod render;
mod rendered;
mod schema;
mod scope;
mod split;
mod tree;
pub mod values;

pub use cache::Cache;
pub use capabilities::{Capabilities, KubeVersion};
pub use chart::Chart;
pub use document::{Document, Hook};
pub use error::{HelmError, Missing, TemplateFault};
pub use finding::nondeterministic;
pub use load::{load, load_archive, load_directory};
pub use name::{check_release_name, name_from_template};
pub use render::{Options, Prepared, Release};
pub use rendered::{Crd, Print, Rendered, Written};

/// Whose habits count where Helm's versions differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flavour {
    /// Helm 3.17, which Argo CD ships.
    #[default]
    V3,
    /// Helm 4.2.
    V4,
}
