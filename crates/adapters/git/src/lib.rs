//! Repositories: which commit a name means, and the files of a commit.
//!
//! ```text
//! Source + Credentials ── resolve ──▶ Revision ── tree ──▶ GitTree (a model::Tree)
//! ```
//! A [`Repositories`] keeps one store of objects per repository in a directory. It asks servers for
//! their names, fetches only what a wanted commit needs, and reads files straight from the objects:
//! nothing is checked out. Many users of one repository share one conversation with its server.
//! Everything here blocks; whoever has an event loop calls it from a thread for blocking work.

mod commit;
mod credentials;
mod error;
mod flight;
mod history;
mod lfs;
mod local;
mod nearest;
mod objects;
mod refs;
mod repositories;
mod signature;
mod store;
mod submodule;
mod tree;
mod url;
mod wire;

pub use commit::CommitInfo;
pub use credentials::{
    Access, Credential, Credentials, KnownHosts, RepositorySettings, Secret, Template,
};
pub use error::{GitError, PathChange, Retry, Stage, Step};
pub use flight::Freshness;
pub use lfs::LfsPointer;
pub use refs::Refs;
pub use repositories::{Counts, Options, Repositories, Revision, Source};
pub use signature::{KeyError, Keys, Verdict};
pub use submodule::TreeOptions;
pub use tree::GitTree;
pub use url::{RepoUrl, Scheme, normalize};

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The name of an object: forty hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(gix_hash::ObjectId);

impl Oid {
    pub(crate) fn id(self) -> gix_hash::ObjectId {
        self.0
    }
}

impl From<gix_hash::ObjectId> for Oid {
    fn from(id: gix_hash::ObjectId) -> Self {
        Self(id)
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The text is not the name of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name of an object has forty hexadecimal digits")]
pub struct NotAnOid;

impl FromStr for Oid {
    type Err = NotAnOid;

    fn from_str(text: &str) -> Result<Self, NotAnOid> {
        gix_hash::ObjectId::from_hex(text.as_bytes())
            .map(Self)
            .map_err(|_| NotAnOid)
    }
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Looking a host up, and connecting to it.
    pub connect: Duration,
    /// Between two bytes of an answer.
    pub idle: Duration,
    /// A whole conversation.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
        }
    }
}

/// How large things may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What a server may send in one conversation.
    pub pack_bytes_max: u64,
    /// One object while it is unpacked.
    pub object_bytes_max: u64,
    /// One file that is read.
    pub file_bytes_max: u64,
    /// All stores of the cache together; the least recently used go first.
    pub cache_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pack_bytes_max: 4 << 30,
            object_bytes_max: 512 << 20,
            file_bytes_max: 50 << 20,
            cache_bytes_max: 20 << 30,
        }
    }
}
