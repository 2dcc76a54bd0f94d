//! `tiphys app`: one application against one cluster.

mod sync;

use crate::Output;
use crate::error::CliError;
use clap::Subcommand;

/// One application: sync it with a cluster
#[derive(Debug, Subcommand)]
pub(crate) enum App {
    Sync(Box<sync::SyncArgs>),
}

/// Runs an app command.
pub(crate) fn run(command: App, output: Output) -> Result<(), CliError> {
    match command {
        App::Sync(args) => sync::run(&args, output),
    }
}
