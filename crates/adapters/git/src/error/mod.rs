//! Why a repository could not give what was asked: one variant per thing a person would do
//! differently.
//!
//! Messages are for people; [`GitError::retry`] is for whoever schedules the next attempt, and
//! [`GitError::finding`] says what the catalogue of failure modes knows about it.

mod finding;

use std::fmt;
use std::time::Duration;

/// Why a repository could not give what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The address is none.
    #[error("`{url}` is not the address of a repository: {why}")]
    BadUrl {
        /// The address, without passwords.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The server answered and said no.
    #[error("`{url}` refused {}: {says}", credential_words(.credential))]
    Auth {
        /// The repository.
        url: String,
        /// Which credential was shown; empty when there was none.
        credential: String,
        /// What the host said.
        says: String,
        /// When this credential last worked, as RFC 3339.
        last_worked: Option<String>,
    },
    /// The server was not reached, or answered with a failure of its own.
    #[error("could not reach `{url}`: {stage}: {says}")]
    Unreachable {
        /// The repository.
        url: String,
        /// The host and port that were tried; a proxy when there is one.
        host: String,
        /// How far we came.
        stage: Stage,
        /// What went wrong there.
        says: String,
    },
    /// There is no such repository, or it is not visible to us.
    #[error("there is no repository at `{url}`{}: {says}", moved_words(.moved_to.as_deref()))]
    Gone {
        /// The repository.
        url: String,
        /// Where the host says it is now.
        moved_to: Option<String>,
        /// Which credential was shown; empty when there was none.
        credential: String,
        /// What the host said.
        says: String,
    },
    /// Something answers there, but it is not Git.
    #[error("`{url}` is not a Git repository: {says}")]
    NotARepository {
        /// The address.
        url: String,
        /// What was found instead.
        says: String,
    },
    /// The repository has no commit yet.
    #[error("`{url}` is empty: it has no commit yet")]
    Empty {
        /// The repository.
        url: String,
    },
    /// The repository is fine; the branch, tag, version or commit does not exist.
    #[error("`{url}` has no revision `{wanted}`{why}{}", nearest_words(.nearest))]
    NoSuchRevision {
        /// The repository.
        url: String,
        /// What was asked for.
        wanted: String,
        /// More about it, with a leading space or `: `; may be empty.
        why: String,
        /// Names that exist and are near, the nearest first.
        nearest: Vec<String>,
    },
    /// The revision is fine; nothing stands at the path.
    #[error("`{path}` does not exist in `{url}` at {commit}{}{}", change_words(.change.as_deref()), nearest_words(.nearest))]
    NoSuchPath {
        /// The repository.
        url: String,
        /// The commit that was read.
        commit: String,
        /// The path that was asked for.
        path: String,
        /// Paths that exist and are near, the nearest first.
        nearest: Vec<String>,
        /// The commit that removed or moved it, when history knows.
        change: Option<Box<PathChange>>,
    },
    /// A step took longer than it may.
    #[error("`{url}`: {step} took longer than {} s", .limit.as_secs_f32())]
    Timeout {
        /// The repository.
        url: String,
        /// What we waited for.
        step: Step,
        /// How long we waited.
        limit: Duration,
    },
    /// The ssh host does not prove to be who we know.
    #[error("`{url}`: {}", host_key_words(*.changed, .host))]
    HostKey {
        /// The repository.
        url: String,
        /// The host as `known_hosts` writes it.
        host: String,
        /// Whether another key is known for it.
        changed: bool,
        /// The lines for `known_hosts` that the host offers now.
        offers: Vec<String>,
    },
    /// More came than we take.
    #[error("`{url}`: {what} is larger than {max} bytes")]
    TooLarge {
        /// The repository.
        url: String,
        /// What is too large.
        what: String,
        /// The limit in bytes.
        max: u64,
    },
    /// The server broke off or said something that is not Git's protocol.
    #[error("`{url}` sent an answer that makes no sense: {says}")]
    Protocol {
        /// The repository.
        url: String,
        /// What was wrong.
        says: String,
    },
    /// Our copy of the repository is damaged; it is thrown away and fetched anew.
    #[error("the copy of `{url}` is damaged: {says}")]
    Corrupted {
        /// The repository.
        url: String,
        /// What was found.
        says: String,
    },
    /// The repository needs something that we do not do.
    #[error("`{url}`: {what}")]
    Unsupported {
        /// The repository.
        url: String,
        /// What it is.
        what: String,
    },
    /// Our own disk failed.
    #[error("the cache of repositories at `{path}` failed: {says}")]
    Cache {
        /// The file or directory.
        path: String,
        /// What the system said.
        says: String,
    },
}

/// How far a connection came before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The name of the host has no address.
    Dns,
    /// Nobody listens there, or the way is blocked.
    Tcp,
    /// The proxy did not let us through.
    Proxy,
    /// The secure connection did not come about.
    Tls,
    /// The ssh connection did not come about.
    Ssh,
    /// The server answered with a failure of its own.
    Http {
        /// The status it gave.
        status: u16,
    },
    /// The connection broke off.
    Stream,
}

/// What we waited for when time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The address of the host.
    Resolve,
    /// The connection.
    Connect,
    /// The next bytes of an answer.
    Answer,
    /// All of the operation.
    Whole,
}

/// When trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Soon: it was bad luck.
    Soon,
    /// Later: somebody else has to recover.
    Later,
    /// Only when something was changed: the address, the revision, a credential, the repository.
    AfterChange,
}

/// The commit that took a path away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// The commit.
    pub commit: String,
    /// Who made it.
    pub author: String,
    /// The first line of its message.
    pub title: String,
    /// When, as RFC 3339.
    pub when: String,
    /// Where the content went, when it moved.
    pub moved_to: Option<String>,
}

impl GitError {
    /// Says when trying again can help.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Timeout { .. } | Self::Protocol { .. } | Self::Corrupted { .. } => Retry::Soon,
            Self::Unreachable { stage, .. } => match stage {
                Stage::Stream => Retry::Soon,
                Stage::Dns | Stage::Tcp | Stage::Proxy | Stage::Ssh | Stage::Tls => Retry::Later,
                Stage::Http { status } if *status >= 500 || *status == 429 => Retry::Later,
                Stage::Http { .. } => Retry::AfterChange,
            },
            Self::Cache { .. } => Retry::Later,
            Self::BadUrl { .. }
            | Self::Auth { .. }
            | Self::Gone { .. }
            | Self::NotARepository { .. }
            | Self::Empty { .. }
            | Self::NoSuchRevision { .. }
            | Self::NoSuchPath { .. }
            | Self::HostKey { .. }
            | Self::TooLarge { .. }
            | Self::Unsupported { .. } => Retry::AfterChange,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns => f.write_str("dns"),
            Self::Tcp => f.write_str("tcp"),
            Self::Proxy => f.write_str("proxy"),
            Self::Tls => f.write_str("tls"),
            Self::Ssh => f.write_str("ssh"),
            Self::Http { status } => write!(f, "http {status}"),
            Self::Stream => f.write_str("connection lost"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "looking up the host",
            Self::Connect => "connecting",
            Self::Answer => "waiting for the next bytes",
            Self::Whole => "the whole operation",
        })
    }
}

fn credential_words(credential: &str) -> String {
    if credential.is_empty() {
        "us, without credentials".to_owned()
    } else {
        format!("the credential `{credential}`")
    }
}

fn moved_words(moved_to: Option<&str>) -> String {
    moved_to.map_or(String::new(), |to| format!(" (it is now at `{to}`)"))
}

fn nearest_words(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        names => format!("; near it: `{}`", names.join("`, `")),
    }
}

fn change_words(change: Option<&PathChange>) -> String {
    let Some(change) = change else {
        return String::new();
    };
    let short = change.commit.get(..8).unwrap_or(&change.commit);
    match &change.moved_to {
        Some(to) => format!(": commit {short} of {} moved it to `{to}`", change.author),
        None => format!(": commit {short} of {} removed it", change.author),
    }
}

fn host_key_words(changed: bool, host: &str) -> String {
    if changed {
        format!("the ssh host `{host}` has another key than the one we know")
    } else {
        format!("the ssh host `{host}` is not known")
    }
}
