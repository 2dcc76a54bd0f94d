//! The ways to a server: one [`Operation`] per exchange, with its limits of time and size.
//!
//! ```text
//! Operation ── session ──▶ Refs, packs
//!               │ http (connect, tls) · ssh (a child process) · daemon (connect)
//! ```
//! Whatever fails first below the protocol is kept in the operation as a typed [`GitError`]; what
//! the protocol layer makes of it afterwards is not looked at.

pub(crate) mod connect;
pub(crate) mod http;
pub(crate) mod session;
mod smart;
mod ssh;
pub(crate) mod tls;

use crate::credentials::Access;
use crate::url::RepoUrl;
use crate::{GitError, Limits, Stage, Step, Timeouts};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One exchange with a server: where, with what, since when, and what failed first.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) url: RepoUrl,
    pub(crate) access: Access,
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: Limits,
    /// Where private files of this exchange may be put.
    pub(crate) scratch: std::path::PathBuf,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failure: Option<GitError>,
    moved_to: Option<String>,
    bytes: u64,
    requests: u64,
}

impl Operation {
    pub(crate) fn new(
        url: RepoUrl,
        access: Access,
        timeouts: Timeouts,
        limits: Limits,
        scratch: std::path::PathBuf,
    ) -> Arc<Self> {
        Arc::new(Self {
            url,
            access,
            timeouts,
            limits,
            scratch,
            started: Instant::now(),
            state: Mutex::default(),
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the first failure and gives an error for whoever stands in between.
    pub(crate) fn fail(&self, error: GitError) -> io::Error {
        let text = error.to_string();
        self.state().failure.get_or_insert(error);
        io::Error::other(text)
    }

    /// The failure that was kept.
    pub(crate) fn failure(&self) -> Option<GitError> {
        self.state().failure.clone()
    }

    /// Notes where the host says the repository is now.
    pub(crate) fn moved(&self, to: &str) {
        self.state().moved_to = Some(to.to_owned());
    }

    /// Where the host says the repository is now.
    pub(crate) fn moved_to(&self) -> Option<String> {
        self.state().moved_to.clone()
    }

    /// Notes one request.
    pub(crate) fn count_request(&self) {
        self.state().requests += 1;
    }

    /// Notes bytes that came; more than the limit is a failure.
    pub(crate) fn count_bytes(&self, more: usize) -> io::Result<()> {
        let mut state = self.state();
        state.bytes += more as u64;
        let too_many = state.bytes > self.limits.pack_bytes_max;
        drop(state);
        if too_many {
            return Err(self.fail(GitError::TooLarge {
                url: self.url.to_string(),
                what: "what the server sends".into(),
                max: self.limits.pack_bytes_max,
            }));
        }
        Ok(())
    }

    /// How long the next step may take: its own limit, or what is left of the whole.
    pub(crate) fn patience(&self, limit: Duration) -> io::Result<Duration> {
        let left = self.timeouts.total.saturating_sub(self.started.elapsed());
        if left.is_zero() {
            return Err(self.timed_out(Step::Whole));
        }
        Ok(limit.min(left))
    }

    /// Keeps a timeout: of the step, or of the whole when its time is over too.
    pub(crate) fn timed_out(&self, step: Step) -> io::Error {
        let whole = self.started.elapsed() >= self.timeouts.total;
        let (step, limit) = match step {
            _ if whole => (Step::Whole, self.timeouts.total),
            Step::Resolve | Step::Connect => (step, self.timeouts.connect),
            Step::Answer => (step, self.timeouts.idle),
            Step::Whole => (step, self.timeouts.total),
        };
        self.fail(GitError::Timeout {
            url: self.url.to_string(),
            step,
            limit,
        })
    }

    pub(crate) fn unreachable(&self, host: &str, stage: Stage, says: impl ToString) -> GitError {
        GitError::Unreachable {
            url: self.url.to_string(),
            host: host.to_owned(),
            stage,
            says: says.to_string(),
        }
    }

    pub(crate) fn refused(&self, says: impl Into<String>) -> GitError {
        GitError::Auth {
            url: self.url.to_string(),
            credential: self.access.credential.name.clone(),
            says: says.into(),
            last_worked: None,
        }
    }

    pub(crate) fn gone(&self, says: impl Into<String>) -> GitError {
        GitError::Gone {
            url: self.url.to_string(),
            moved_to: None,
            credential: self.access.credential.name.clone(),
            says: says.into(),
        }
    }

    pub(crate) fn not_git(&self, says: impl Into<String>) -> GitError {
        GitError::NotARepository {
            url: self.url.to_string(),
            says: says.into(),
        }
    }
}
