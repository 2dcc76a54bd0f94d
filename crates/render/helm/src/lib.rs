//! Charts and values in, manifests out: what `helm template` prints, byte for byte.
//!
//! ```text
//! SourceTree | .tgz ── load ──▶ Chart ─┐
//! -f, --set … ─────── values::merge ───┴─▶ render ──▶ Rendered { manifests, hooks, marks }
//! ```
//!
//! Helm 3 and Helm 4 differ in places; a [`Flavour`] says whose habits count.

pub mod chart;
mod decode;
mod error;
mod gopath;
pub mod load;
pub mod values;

pub use chart::Chart;
pub use error::{HelmError, Missing, TemplateFault};
pub use load::{load, load_archive, load_directory};

/// Whose habits count where Helm's versions differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flavour {
    /// Helm 3.17, which Argo CD ships.
    #[default]
    V3,
    /// Helm 4.2.
    V4,
}
