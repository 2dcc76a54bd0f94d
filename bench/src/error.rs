//! Why a measurement could not be made.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// What we were told does not make sense.
    #[error("{why}")]
    Config { why: String },
    /// A file could not be read.
    #[error("could not read `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The server did not answer, or hung up half way.
    #[error("could not {what} `{server}`")]
    Network {
        what: &'static str,
        server: String,
        source: io::Error,
    },
    /// The server said no.
    #[error("`{request}` was answered with {status}: {body}")]
    Refused {
        request: String,
        status: u16,
        body: String,
    },
    /// It took too long.
    #[error("not done after {seconds} s")]
    Timeout { seconds: u64 },
    /// Some watchers did not hear of a write.
    #[error("after 30 s {missing} of {watchers} watchers had not heard of write {event}")]
    Unheard {
        missing: u64,
        watchers: u64,
        event: u32,
    },
}

impl BenchError {
    pub(crate) fn config(why: impl Into<String>) -> Self {
        Self::Config { why: why.into() }
    }
}

/// An error and what it came from, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
