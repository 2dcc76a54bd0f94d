//! Chores of the project: `cargo xtask <chore>`. One file or folder per chore.

mod bench;
mod demo;
mod generate;
mod real;
mod record;
mod run;
mod sandbox;
mod test;
mod tidy;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a chore returns; the text of an error is for the person who ran it.
pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Chores of the project
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Show what the embedded cluster does, in half a minute and without a cluster
    Demo,
    /// Everything that must be green before a commit: formatting, lints, layers, tests
    Test(test::Arguments),
    /// Check that crates keep to their layers and modules say what they are for
    Tidy,
    /// Measure our API server beside a real one (needs Go for the real one)
    Bench(bench::Arguments),
    /// Rebuild generated files from a real API server
    Generate(generate::Arguments),
    /// Run a real Kubernetes control plane beside ours
    #[command(subcommand)]
    Real(real::Command),
    /// Record the answers of a real API server to every case
    Record(record::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Demo => demo::run(),
        Chore::Test(arguments) => test::run(&arguments),
        Chore::Tidy => tidy::run(),
        Chore::Bench(arguments) => bench::run(&arguments),
        Chore::Generate(arguments) => generate::run(&arguments),
        Chore::Real(command) => real::run(command),
        Chore::Record(arguments) => record::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(next) = cause {
                eprintln!("  because: {next}");
                cause = next.source();
            }
            ExitCode::FAILURE
        }
    }
}

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}
