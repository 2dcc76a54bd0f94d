//! Why the store could not be opened, read or written, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why the store on disk failed. Cheap to clone: everyone who waits gets to know.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the store open.
    #[error(
        "the store in `{}` is in use by another process; stop that process or choose another directory",
        directory.display()
    )]
    Locked {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// The file is something else.
    #[error(
        "`{}` is not a store; move it out of the way or choose another directory", path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version of this program.
    #[error(
        "the store `{}` has format {found} and this program reads up to {known}; use the newer program or choose another directory",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u64,
        /// The newest format we read.
        known: u64,
    },
    /// The file is ours and damaged.
    #[error(
        "the store `{}` is damaged ({what}); restore it from a copy, or move it away to start empty",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// The operating system said no.
    #[error("could not {what} `{}`", path.display())]
    Io {
        /// What we tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// Reading failed.
    #[error("could not read the store `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the database said.
        source: Arc<redb::Error>,
    },
    /// Writing failed; from here on nothing is kept, and the store must be opened anew.
    #[error("could not write the store `{}`; check that the disk has space", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the database said.
        source: Arc<redb::Error>,
    },
    /// The store was closed before the change was written.
    #[error("the store was closed")]
    Closed,
}

impl StoreError {
    pub(crate) fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            what,
            path: path.to_owned(),
            source: Arc::new(source),
        }
    }

    pub(crate) fn corrupt(path: &Path, what: impl Into<String>) -> Self {
        Self::Corrupt {
            path: path.to_owned(),
            what: what.into(),
        }
    }

    pub(crate) fn write(path: &Path, source: redb::Error) -> Self {
        Self::Write {
            path: path.to_owned(),
            source: Arc::new(source),
        }
    }

    /// Sorts what the database says about a file that we try to use.
    pub(crate) fn read(path: &Path, source: redb::Error) -> Self {
        match source {
            redb::Error::DatabaseAlreadyOpen => Self::Locked {
                directory: path.parent().unwrap_or(path).to_owned(),
            },
            redb::Error::Io(source) if source.kind() == io::ErrorKind::InvalidData => {
                Self::Foreign {
                    path: path.to_owned(),
                }
            }
            redb::Error::Corrupted(what) => Self::corrupt(path, what),
            redb::Error::TableDoesNotExist(_)
            | redb::Error::TableTypeMismatch { .. }
            | redb::Error::UpgradeRequired(_) => Self::Foreign {
                path: path.to_owned(),
            },
            source => Self::Read {
                path: path.to_owned(),
                source: Arc::new(source),
            },
        }
    }
}
