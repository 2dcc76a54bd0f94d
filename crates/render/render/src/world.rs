//! What a render reaches for beyond the files of its source: other repositories, remote files, charts.

use crate::context::Context;
use crate::helmed;
use kustomize::{ChartRequest, Remote};
use model::SourceTree;
use std::fmt;
use std::sync::Arc;

/// The way to what is remote. A render that needs none of it never asks.
pub trait World: fmt::Debug + Send + Sync {
    /// The files of a repository at a revision.
    fn repository(&self, remote: &Remote) -> Result<SourceTree, String>;

    /// The bytes of a remote file; `None` when the address is none of a file.
    fn file(&self, url: &str) -> Result<Option<Arc<[u8]>>, String>;

    /// The archive of a chart: from a repository of charts, by name and version.
    fn chart(&self, repository: &str, name: &str, version: &str) -> Result<Arc<[u8]>, String>;
}

/// A world with nothing remote in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl World for Alone {
    fn repository(&self, remote: &Remote) -> Result<SourceTree, String> {
        Err(format!("`{}` cannot be fetched from here", remote.raw))
    }

    fn file(&self, _: &str) -> Result<Option<Arc<[u8]>>, String> {
        Ok(None)
    }

    fn chart(&self, repository: &str, name: &str, _: &str) -> Result<Arc<[u8]>, String> {
        Err(format!(
            "chart `{name}` of `{repository}` cannot be fetched from here"
        ))
    }
}

/// The world as Kustomize asks it.
pub(crate) struct ForKustomize<'a>(pub(crate) &'a Context);

impl kustomize::World for ForKustomize<'_> {
    fn repository(&self, remote: &Remote) -> Result<SourceTree, String> {
        self.0.world().repository(remote)
    }

    fn file(&self, url: &str) -> Result<Option<Arc<[u8]>>, String> {
        self.0.world().file(url)
    }

    fn chart_values(&self, tree: &SourceTree, request: &ChartRequest) -> Result<String, String> {
        helmed::default_values(self.0, tree, request)
    }

    fn chart(&self, tree: &SourceTree, request: &ChartRequest) -> Result<String, String> {
        helmed::inflate(self.0, tree, request)
    }
}
