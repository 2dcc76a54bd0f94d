//! Same request as a real API server, same answer.
//!
//! `cases/*.http` are requests in the order they are sent. [`record`] sends them to a real server
//! and keeps each answer in `fixtures/`; [`replay`] sends them to any server and compares.
//! [`normal`] says what is not compared: names, numbers and times that no two servers share.
//! `differences.txt` lists what may differ, and why.
//!
//! ```text
//! cases/*.http ── record ──▶ fixtures/*.json ── replay ──▶ Report
//!                    │                             │
//!                 a real server               any server
//! ```

pub mod case;
pub mod charts;
pub mod differences;
pub mod fixture;
mod hooks;
pub mod kustomize;
pub mod normal;
mod replay;
pub mod session;
mod target;
mod trim;

pub use replay::{Report, Verdict, committed, record, replay};
pub use target::Target;

use std::path::{Path, PathBuf};

/// Why a run could not be finished. What a server answers is never an error.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file cannot be read or written.
    #[error("could not use `{path}`")]
    File {
        /// Which one.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A case or fixture does not make sense.
    #[error("`{place}`: {fault}")]
    Fault {
        /// Which one.
        place: String,
        /// What is wrong with it.
        fault: String,
    },
    /// The server did not answer at all.
    #[error(transparent)]
    Http(#[from] testkit::HttpError),
}

/// The folder of this crate, where cases, fixtures and the list of differences are.
pub fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn fault(place: &str, fault: impl Into<String>) -> RunError {
    RunError::Fault {
        place: place.to_owned(),
        fault: fault.into(),
    }
}

pub(crate) fn read(path: &Path) -> Result<String, RunError> {
    std::fs::read_to_string(path).map_err(|source| RunError::File {
        path: path.display().to_string(),
        source,
    })
}

/// The files of a folder with an extension, sorted by name.
pub(crate) fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, RunError> {
    let wrong = |source| RunError::File {
        path: folder.display().to_string(),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> RunError {
    let path = path.display().to_string();
    move |source| RunError::File { path, source }
}
