//! `cargo xtask real`: a real control plane, started, named and stopped from the shell.

mod charts;
mod down;
mod env;
mod git;
mod kustomize;
pub(crate) mod outside;
pub(crate) mod plane;
pub(crate) mod sessions;
pub(crate) mod show;
mod template;
mod test;
mod up;
pub(crate) mod workloads;
mod yaml;

use crate::Outcome;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Start etcd, kube-apiserver, controllers, scheduler and a scripted node in the background
    Up(up::Arguments),
    /// Stop what `up` started and remove its files
    Down,
    /// Print shell lines that point kubectl at it: `eval "$(cargo xtask real env)"`
    Env,
    /// What `up` leaves running beside the control plane: volumes and metrics
    #[command(hide = true)]
    Outside(outside::Arguments),
    /// Compare charts of the corpus with the real helm, v3 and v4, byte for byte
    HelmTemplate(charts::Arguments),
    /// Show from kubectl what workloads do, on real Kubernetes and on the sandbox
    Show,
    /// Compare the sandbox with a real server: recordings, kubectl and helm sessions (the default)
    Test(test::Arguments),
}

pub(crate) fn run(command: Option<Command>) -> Outcome {
    match command.unwrap_or_else(|| Command::Test(test::Arguments::default())) {
        Command::Up(arguments) => up::run(&arguments),
        Command::Down => down::run(),
        Command::Env => env::run(),
        Command::Show => show::run(),
        Command::Outside(arguments) => outside::run(&arguments),
        Command::HelmTemplate(arguments) => charts::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
    }
}

/// Where the files of the control plane in the background are.
pub(crate) fn folder() -> PathBuf {
    crate::root().join("target").join("real")
}

/// The ids of its programs, one a line.
pub(crate) fn ids_file() -> PathBuf {
    folder().join("pids")
}
