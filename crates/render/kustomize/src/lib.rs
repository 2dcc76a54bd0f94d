//! A kustomization in, manifests out: what `kustomize build` prints, byte for byte.
//!
//! [`build`] is a pure function of a tree of files, options and a [`World`] through which remote
//! bases, remote files and charts are reached. Every manifest knows the file, document and line it
//! comes from, and which patch, generator or transformer touched which of its fields on the way.
//!
//! ```text
//! SourceTree ─ target ─▶ resources, generators, components, transformers ─▶ names, vars ─▶ Build
//!               ▲ │
//!               └─┘ bases, components
//! ```

mod affix;
mod config;
mod decode;
mod edits;
mod error;
mod fault;
mod fieldspec;
mod generate;
mod helm;
mod id;
mod images;
mod kustomization;
mod labels;
mod loader;
mod metadata;
mod nameref;
mod namespace;
mod nearest;
mod node;
mod patch;
mod plugin;
mod print;
mod read;
mod replacement;
mod replicas;
mod repo;
mod resmap;
mod resource;
mod scalar;
mod schema;
mod selector;
mod sort;
mod strategic;
mod target;
mod values;
mod vars;
mod work;
mod write;

pub use edits::{EditPatch, Edits};
pub use error::{KustomizeError, Spot};
pub use repo::Remote;

use model::{Manifest, SourceTree, Value};
use std::sync::Arc;

/// The version of the real program that we imitate; it stands in the managed-by label.
pub const VERSION: &str = "v5.8.1";

/// Which files a kustomization may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadRestrictor {
    /// Only files in or below its own directory.
    #[default]
    RootOnly,
    /// Every file of the tree.
    None,
}

/// The order of the output, where the kustomization does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reorder {
    /// Nothing was said: by kind.
    #[default]
    Unspecified,
    /// By kind, in the order of installation.
    Legacy,
    /// As they are listed.
    None,
}

/// The flags of `kustomize build`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--load-restrictor`.
    pub load_restrictor: LoadRestrictor,
    /// `--reorder`.
    pub reorder: Reorder,
    /// `--enable-helm`.
    pub enable_helm: bool,
    /// `--helm-kube-version`.
    pub helm_kube_version: String,
    /// `--helm-api-versions`.
    pub helm_api_versions: Vec<String>,
    /// `--enable-managedby-label`.
    pub managed_by_label: bool,
    /// Paths that start with `/` are paths of the tree, which then is a whole file system.
    pub absolute_paths: bool,
    /// What is changed in the kustomization that is built, before it is.
    pub edits: Edits,
    /// Keep no lines and touches of fields: faster, for those who only want the text.
    pub without_origins: bool,
}

/// A chart that a kustomization asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartRequest {
    /// Its name.
    pub name: String,
    /// The repository that has it; empty when it must be in the tree.
    pub repository: String,
    /// The version; empty is the newest.
    pub version: String,
    /// Whether versions under development count.
    pub devel: bool,
    /// Where in the tree the chart is kept, when it is.
    pub path: String,
    /// The release; empty when the name is to be made up.
    pub release: String,
    /// `--name-template`.
    pub name_template: String,
    /// The namespace of the release.
    pub namespace: String,
    /// Texts of values files, the last one wins; `None` stands for the chart's own.
    pub values: Vec<Option<String>>,
    /// `--include-crds`.
    pub include_crds: bool,
    /// `--skip-tests`.
    pub skip_tests: bool,
    /// `--no-hooks`.
    pub skip_hooks: bool,
    /// `--kube-version`.
    pub kube_version: String,
    /// `--api-versions`.
    pub api_versions: Vec<String>,
}

/// How remote things are reached.
pub trait World {
    /// The files of a repository at a revision.
    fn repository(&self, remote: &Remote) -> Result<SourceTree, String>;

    /// The bytes of a remote file; `None` when the address is none of a file, so that it may be one
    /// of a repository.
    fn file(&self, url: &str) -> Result<Option<Arc<[u8]>>, String>;

    /// The default values of a chart, as text.
    fn chart_values(&self, tree: &SourceTree, request: &ChartRequest) -> Result<String, String>;

    /// The manifests of a chart, as text.
    fn chart(&self, tree: &SourceTree, request: &ChartRequest) -> Result<String, String>;
}

/// A world with nothing remote in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWorld;

impl World for NoWorld {
    fn repository(&self, _: &Remote) -> Result<SourceTree, String> {
        Err("remote bases cannot be reached from here".into())
    }

    fn file(&self, _: &str) -> Result<Option<Arc<[u8]>>, String> {
        Ok(None)
    }

    fn chart_values(&self, _: &SourceTree, _: &ChartRequest) -> Result<String, String> {
        Err("charts cannot be inflated here".into())
    }

    fn chart(&self, _: &SourceTree, _: &ChartRequest) -> Result<String, String> {
        Err("charts cannot be inflated here".into())
    }
}

/// What a kustomization gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Build {
    /// The manifests in the order of the output.
    pub manifests: Vec<Manifest>,
    /// What the real program says on its standard error.
    pub warnings: Vec<String>,
}

impl Build {
    /// The text that `kustomize build` prints.
    pub fn to_yaml(&self) -> String {
        let texts = self
            .manifests
            .iter()
            .map(|manifest| yaml::to_string(&manifest.object));
        texts.collect::<Vec<_>>().join("---\n")
    }

    /// The objects alone.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.manifests.iter().map(|manifest| &manifest.object)
    }
}

/// The text of one object, as the output prints it.
pub fn to_yaml(object: &Value) -> String {
    yaml::to_string(object)
}

/// Whether a kind is known to have no namespace.
pub fn is_cluster_scoped(api_version: &str, kind: &str) -> bool {
    schema::Schemas::new().is_cluster_scoped(api_version, kind)
}

/// Builds the kustomization in a directory of a tree.
pub fn build(
    tree: &SourceTree,
    directory: &str,
    options: &Options,
    world: &dyn World,
) -> Result<Build, KustomizeError> {
    work::run(tree, directory, options, world)
}
