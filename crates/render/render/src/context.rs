//! What a render depends on besides the files and the source's own parameters.

use crate::world::{Alone, World};
use model::SourceTree;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The application, the cluster and the settings a render happens for.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The application's instance name: `name`, or `namespace_name` outside the control plane's
    /// namespace.
    pub app_name: String,
    /// The destination's namespace.
    pub namespace: String,
    /// The application's project.
    pub project: String,
    /// What the source's revision stands for: a commit or a chart version.
    pub revision: String,
    /// The cluster's version, as in `1.36.4`.
    pub kube_version: String,
    /// The cluster's APIs, as in `apps/v1` and `apps/v1/Deployment`, sorted.
    pub api_versions: Vec<String>,
    /// The files of sources with a `ref`, by that name.
    pub refs: BTreeMap<String, Reference>,
    /// The plugins there are.
    pub plugins: Vec<plugin::Plugin>,
    /// What the administrator decided.
    pub settings: Settings,
    /// The way to what is remote; without it nothing is.
    pub world: Option<Arc<dyn World>>,
    /// The time in seconds and nanoseconds since 1970, for charts that ask.
    pub now: (i64, u32),
    /// Where random bytes come from, for charts that ask.
    pub chance: Chance,
}

/// Where random bytes come from; by default they are the same in every render.
#[derive(Clone, Default)]
pub struct Chance(Option<Arc<dyn Fn(&mut [u8]) + Send + Sync>>);

impl Chance {
    /// Random bytes from a source of the caller's.
    pub fn from(source: impl Fn(&mut [u8]) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(source)))
    }

    pub(crate) fn entropy(&self) -> gotemplate::Entropy {
        match &self.0 {
            Some(source) => {
                let source = Arc::clone(source);
                Box::new(move |bytes| source(bytes))
            }
            None => {
                let mut state = 0x9e37_79b9_7f4a_7c15_u64;
                Box::new(move |bytes| {
                    for byte in bytes {
                        state ^= state << 13;
                        state ^= state >> 7;
                        state ^= state << 17;
                        *byte = (state >> 24) as u8;
                    }
                })
            }
        }
    }
}

impl fmt::Debug for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Chance(given)"
        } else {
            "Chance(fixed)"
        })
    }
}

impl Context {
    pub(crate) fn world(&self) -> &dyn World {
        self.world.as_deref().unwrap_or(&Alone)
    }
}

/// The files of a source with a `ref`.
#[derive(Clone, Debug)]
pub struct Reference {
    /// All files of the repository, whatever the source's `path`.
    pub tree: SourceTree,
    /// The repository.
    pub repo_url: String,
    /// The revision the files are of.
    pub revision: String,
}

/// What the administrator decided for all applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `kustomize.enable`.
    pub kustomize: bool,
    /// `helm.enable`.
    pub helm: bool,
    /// `jsonnet.enable`.
    pub jsonnet: bool,
    /// `kustomize.buildOptions`.
    pub kustomize_build_options: String,
    /// `helm.valuesFileSchemes`: which remote value files are fetched; empty means none.
    pub value_file_schemes: Vec<String>,
    /// How many bytes the manifest files of a directory may have together.
    pub combined_size_max: u64,
    /// Links that lead out of the repository are left alone instead of refused.
    pub allow_out_of_bounds_symlinks: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            kustomize: true,
            helm: true,
            jsonnet: true,
            kustomize_build_options: String::new(),
            value_file_schemes: vec!["https".into(), "http".into()],
            combined_size_max: 10 * 1024 * 1024,
            allow_out_of_bounds_symlinks: false,
        }
    }
}
