//! What a render reaches for beyond this machine: Git repositories, charts and files behind addresses.

use crate::error::CliError;
use charts::{Charts, Repository};
use git::{Credentials, Freshness, Repositories, TreeOptions};
use model::{MemoryTree, SourceTree};
use render::Source;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio::runtime::Runtime;

/// How much the cache of charts may hold, in bytes.
const CHARTS_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// The way to everything remote; opened when it is needed.
#[derive(Debug)]
pub(crate) struct Remote {
    cache: PathBuf,
    git: OnceLock<Repositories>,
    runtime: Runtime,
}

impl Remote {
    /// Nothing is opened yet.
    pub(crate) fn new() -> Result<Self, CliError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(CliError::Runtime)?;
        Ok(Self {
            cache: cache_directory(),
            git: OnceLock::new(),
            runtime,
        })
    }

    fn git(&self) -> Result<&Repositories, git::GitError> {
        if let Some(git) = self.git.get() {
            return Ok(git);
        }
        let opened = Repositories::open(self.cache.join("git"), git::Options::default())?;
        Ok(self.git.get_or_init(|| opened))
    }

    /// The files of a Git source, and the commit they are of.
    pub(crate) fn checkout(
        &self,
        wanted: &git::Source,
        path: &str,
    ) -> Result<(SourceTree, String), CliError> {
        let fault = |error: git::GitError| CliError::from(error.finding());
        let credentials = Credentials::default();
        let git = self.git().map_err(fault)?;
        let revision = git
            .resolve(wanted, &credentials, Freshness::Now)
            .map_err(fault)?;
        let options = TreeOptions {
            submodules: true,
            path: path.to_owned(),
        };
        let tree = git
            .tree_with(&revision, &credentials, &options)
            .map_err(fault)?;
        Ok((SourceTree::new(tree), revision.commit.to_string()))
    }

    fn charts(&self) -> Charts {
        let cache = charts::Cache::open(self.cache.join("charts"), CHARTS_MAX);
        Charts::new(cache.ok().map(Arc::new))
    }

    /// The files of a chart, and its version.
    pub(crate) fn chart(&self, source: &Source) -> Result<(SourceTree, String), CliError> {
        let fault = |error: charts::ChartsError| CliError::from(error.finding());
        let repository = Repository {
            url: chart_address(&source.repo_url),
            ..Repository::default()
        };
        let charts = self.charts();
        let (bytes, version) = self
            .runtime
            .block_on(async {
                let resolved = charts
                    .resolve(&repository, &source.chart, &source.target_revision)
                    .await?;
                let bytes = charts.fetch(&repository, &resolved).await?;
                Ok((bytes, resolved.version))
            })
            .map_err(fault)?;
        let files = helm::load::archive_files(&bytes, helm::Flavour::V3)
            .map_err(|error| CliError::from(error.finding()))?;
        let mut tree = MemoryTree::new();
        for (path, data) in files {
            tree = tree.file(&path, &data);
        }
        Ok((SourceTree::new(tree), version))
    }
}

// A registry without a scheme is one of OCI.
fn chart_address(url: &str) -> String {
    if url.contains("://") {
        url.to_owned()
    } else {
        format!("oci://{url}")
    }
}

fn cache_directory() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(home)
        .unwrap_or_else(std::env::temp_dir)
        .join("tiphys")
}

impl render::World for Remote {
    fn repository(&self, remote: &kustomize::Remote) -> Result<SourceTree, String> {
        let wanted = git::Source::new(&remote.repository, &remote.revision);
        let answer = self.checkout(&wanted, &remote.path);
        answer
            .map(|(tree, _)| tree)
            .map_err(|error| error.to_string())
    }

    fn file(&self, url: &str) -> Result<Option<Arc<[u8]>>, String> {
        let web = url.starts_with("https://") || url.starts_with("http://");
        let repository =
            url.contains("?ref=") || url.contains(".git") || url.rmatches("//").count() > 1;
        if !web || repository {
            return Ok(None);
        }
        let place = Repository {
            url: url.to_owned(),
            ..Repository::default()
        };
        let charts = Charts::new(None);
        let bytes = self.runtime.block_on(charts.file(&place, url));
        bytes
            .map(|bytes| Some(bytes.into()))
            .map_err(|error| error.to_string())
    }

    fn chart(&self, repository: &str, name: &str, version: &str) -> Result<Arc<[u8]>, String> {
        let repository = Repository {
            url: chart_address(repository),
            ..Repository::default()
        };
        let charts = self.charts();
        let answer = self.runtime.block_on(async {
            let resolved = charts.resolve(&repository, name, version).await?;
            charts.fetch(&repository, &resolved).await
        });
        answer.map_err(|error: charts::ChartsError| error.to_string())
    }
}
