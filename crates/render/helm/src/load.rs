//! Directories and archives to [`Chart`]s.
//!
//! ```text
//! SourceTree ── directory + ignore ──┐
//!                                    ├─▶ [(path, bytes)] ── files + metadata ──▶ Chart
//! .tgz bytes ── gzip + tar ──────────┘
//! ```

mod archive;
mod directory;
mod files;
mod ignore;
mod metadata;
mod tar;

pub use archive::{CHART_SIZE_MAX, FILE_SIZE_MAX};

use crate::{Chart, Flavour, HelmError};
use model::SourceTree;

/// How many files a chart may have, those of its subcharts included.
pub const FILES_MAX: usize = 50_000;
/// How deep charts may lie inside charts.
pub const CHART_DEPTH_MAX: usize = 64;

/// A file that was found, before anybody knows what it is.
pub(crate) type Found = (String, std::sync::Arc<[u8]>);

/// Loads the chart in a directory of a tree.
pub fn load_directory(tree: &SourceTree, path: &str, flavour: Flavour) -> Result<Chart, HelmError> {
    let chart_yaml = directory::join(path, "Chart.yaml");
    if flavour == Flavour::V4 && !matches!(tree.kind(&chart_yaml), Ok(Some(_))) {
        return Err(HelmError::Chart {
            message: format!(
                "unable to detect chart at {chart_yaml}: open {chart_yaml}: no such file or directory"
            ),
            file: chart_yaml,
            line: 0,
        });
    }
    let found = directory::walk(tree, path)?;
    files::assemble(found, path, flavour, 0)
}

/// Loads a chart from the bytes of a `.tgz`; `name` is the file it came from.
pub fn load_archive(bytes: &[u8], name: &str, flavour: Flavour) -> Result<Chart, HelmError> {
    archive::load(bytes, name, flavour, 0)
}

/// Files by their path inside a chart.
pub type ChartFiles = Vec<(String, std::sync::Arc<[u8]>)>;

/// The files of a `.tgz` by their path inside the chart, checked as Helm checks them.
pub fn archive_files(bytes: &[u8], flavour: Flavour) -> Result<ChartFiles, HelmError> {
    archive::unpack(bytes, flavour)
        .map(|unpacked| unpacked.files)
        .map_err(HelmError::chart)
}

/// Loads a chart from what stands at a path: a directory, or an archive.
pub fn load(tree: &SourceTree, path: &str, flavour: Flavour) -> Result<Chart, HelmError> {
    match tree.kind(path) {
        Ok(Some(model::tree::EntryKind::File)) => {
            let bytes = tree
                .read(path)
                .map_err(|e| HelmError::chart(e.to_string()))?;
            archive::check_kind(&bytes, path)?;
            load_archive(&bytes, path, flavour)
        }
        _ => load_directory(tree, path, flavour),
    }
}
