//! Picks the renderer for a source and keeps the origin of every object.
//!
//! A render is a function of the files, the source's parameters and the context; it records which
//! files it looked at. The one exception is a plugin, which runs somebody's command.
//!
//! ```text
//! Source + SourceTree + Context ── overrides ── detect ──▶ directory | kustomize | helm | plugin
//!                                                     └──▶ Rendered { manifests, source_type, reads }
//! ```

mod application;
mod context;
mod detect;
mod directory;
mod env;
mod error;
mod fields;
mod helmed;
mod kustomized;
mod manifests;
mod overrides;
mod plugins;
mod several;
mod source;
mod text;
mod world;
mod write;

pub use application::Application;
pub use context::{Chance, Context, Reference, Settings};
pub use detect::{KUSTOMIZATION_FILES, detect};
pub use env::{build_environment, substitute};
pub use error::RenderError;
pub use fields::FieldError;
pub use several::combine;
pub use source::{
    Directory, FileParameter, Helm, HelmParameter, Jsonnet, JsonnetVar, Kustomize, KustomizePatch,
    KustomizeReplica, KustomizeTarget, Plugin, PluginParameter, Source, SourceType,
};

pub use world::{Alone, World};

use model::tree::{EntryKind, clean};
use model::{Finding, Manifest, SourceTree, TreeError};

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

/// Renders one source.
pub fn render(
    tree: &SourceTree,
    source: &Source,
    context: &Context,
) -> Result<Rendered, RenderError> {
    let directory = app_path(tree, &source.path)?;
    let source = overrides::apply(tree, &directory, source, &context.app_name)?;
    let source_type = detect(tree, &directory, &source, context)?;
    let mut warnings = Vec::new();
    let manifests = match source_type {
        SourceType::Directory => {
            let (manifests, skipped) = directory::render(tree, &directory, &source, context)?;
            warnings = skipped;
            manifests
        }
        SourceType::Plugin => plugins::render(tree, &directory, &source, context)?,
        SourceType::Kustomize => {
            let (manifests, said) = kustomized::render(tree, &directory, &source, context)?;
            warnings = said;
            manifests
        }
        SourceType::Helm => {
            let (manifests, said) = helmed::render(tree, &directory, &source, context)?;
            warnings = said;
            manifests
        }
    };
    Ok(Rendered {
        manifests,
        source_type,
        reads: tree.reads(),
        warnings,
    })
}

// The clean path of the source's directory, which must be there.
fn app_path(tree: &SourceTree, path: &str) -> Result<String, RenderError> {
    let refuse = |problem, nearest| RenderError::Path {
        path: path.to_owned(),
        problem,
        nearest,
    };
    if path.starts_with('/') {
        return Err(refuse("app path is absolute", Vec::new()));
    }
    let Some(directory) = clean("", path) else {
        return Err(refuse("app path outside root", Vec::new()));
    };
    match tree.kind(&directory) {
        Ok(Some(EntryKind::Directory)) => Ok(directory),
        Ok(Some(EntryKind::File | EntryKind::Link)) => {
            Err(refuse("app path is not a directory", Vec::new()))
        }
        Ok(Some(EntryKind::Submodule)) => Err(TreeError::Submodule { path: directory }.into()),
        Ok(None) => Err(refuse("app path does not exist", near(tree, &directory))),
        Err(error) => Err(error.into()),
    }
}

// Directories that are called almost as the missing one, beside the last part that exists.
fn near(tree: &SourceTree, missing: &str) -> Vec<String> {
    let mut parent = missing;
    loop {
        let (up, _) = parent.rsplit_once('/').unwrap_or(("", parent));
        if tree.kind(up).ok().flatten() == Some(EntryKind::Directory) {
            let rest = missing[up.len()..].trim_start_matches('/');
            let wrong = rest.split('/').next().unwrap_or(rest);
            let entries = tree.list(up).unwrap_or_default();
            let names = entries
                .iter()
                .filter(|entry| entry.kind == EntryKind::Directory)
                .map(|entry| entry.name.as_str());
            let found = fields::nearest(wrong, names);
            return found.map(|name| text::join(up, name)).into_iter().collect();
        }
        if up.is_empty() {
            return Vec::new();
        }
        parent = up;
    }
}

#[cfg(test)]
mod tests;
