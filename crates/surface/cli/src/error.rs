//! What went wrong, for people.

use std::error::Error;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The sandbox could not be started.
    #[error("the sandbox could not be started")]
    Start(#[from] embedded::StartError),
    /// A file could not be written.
    #[error("could not write `{path}`")]
    Write {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// What Helm would say.
    #[error("{0}")]
    Helm(String),
    /// Why a kustomization was not built.
    #[error("{0}")]
    Kustomize(String),
    /// Everything was said already.
    #[error("failed")]
    Silent,
    /// The runtime could not be set up.
    #[error("could not start the program's threads")]
    Runtime(#[source] std::io::Error),
}

impl CliError {
    /// Prints the error and each of its causes once.
    pub(crate) fn report(&self) {
        match self {
            Self::Helm(message) | Self::Kustomize(message) => return eprintln!("Error: {message}"),
            Self::Silent => return,
            _ => eprintln!("error: {self}"),
        }
        let mut cause = self.source();
        while let Some(error) = cause {
            eprintln!("  because: {error}");
            cause = error.source();
        }
    }
}
