//! What went wrong, for people.

use crate::Output;
use crate::view;
use model::Finding;
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
    /// A file could not be read.
    #[error("could not read `{path}`")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// What was typed does not go together.
    #[error("{0}")]
    Usage(String),
    /// The catalogue has an entry for it.
    #[error("{}", .0.summary)]
    Finding(Box<Finding>),
}

impl From<Finding> for CliError {
    fn from(finding: Finding) -> Self {
        Self::Finding(Box::new(finding))
    }
}

impl CliError {
    /// Prints the error and each of its causes once; a finding in full, as data when data is wanted.
    pub(crate) fn report(&self, output: Output) {
        if let Self::Finding(finding) = self {
            match output {
                Output::Json => println!("{}", view::finding::json(finding)),
                Output::Text | Output::Yaml | Output::Name => {
                    eprint!("{}", view::finding::text(finding, view::Paint::of_stderr()));
                }
            }
            return;
        }
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
