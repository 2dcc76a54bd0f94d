//! `cargo xtask real test`: the recordings and the sessions against a server.
//!
//! A fresh real one proves that two real servers agree in everything that is compared; the
//! sandbox (`--sandbox target/release/tiphys`) is then proved by the same comparison.

use super::sandbox::Sandbox;
use super::{plane, sessions};
use crate::Outcome;
use conformance::differences::Allowed;
use conformance::{Report, session};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Test this `tiphys` program; a real server when not given
    #[arg(long, value_name = "PROGRAM")]
    sandbox: Option<PathBuf>,
    /// Only these parts: `replay`, `kubectl`, `helm3`, `helm4`
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    only: Vec<String>,
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let (fixtures, allowed) = conformance::committed()?;
    let program = arguments.sandbox.as_deref();
    // What we allow ourselves is not allowed to a real server.
    let allowed = if program.is_some() {
        allowed
    } else {
        Vec::new()
    };
    let mut reports = Vec::new();
    for part in ["replay"].into_iter().chain(sessions::NAMES) {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|p| p == part) {
            continue;
        }
        // Each part has a server of its own.
        let report = match (part, program) {
            ("replay", None) => {
                conformance::replay(&plane::Pair::start()?.target(), &fixtures, &allowed)?
            }
            ("replay", Some(program)) => {
                conformance::replay(&Sandbox::start(program)?.target, &fixtures, &allowed)?
            }
            (name, None) => compare(name, &plane::basic()?.kubeconfig, &allowed)?,
            (name, Some(program)) => compare(name, &Sandbox::start(program)?.kubeconfig, &allowed)?,
        };
        println!("{part}\n{report}\n");
        reports.push((part, report));
    }
    summarise(&reports)
}

fn compare(name: &str, kubeconfig: &Path, allowed: &[Allowed]) -> Result<Report> {
    let (session, got) = sessions::run(name, kubeconfig)?;
    let expected = session::expected(&session)?;
    Ok(session::compare(&session, &expected, &got, allowed))
}

fn summarise(reports: &[(&str, Report)]) -> Outcome {
    println!("summary");
    for (name, report) in reports {
        let fine = report
            .verdicts
            .iter()
            .filter(|v| v.wrong.is_empty())
            .count();
        let allowed: usize = report.verdicts.iter().map(|v| v.allowed).sum();
        let (all, stale) = (report.verdicts.len(), report.stale.len());
        println!("  {name:8} {fine:4} of {all:4} agree, {allowed} allowed, {stale} stale");
    }
    if reports.iter().all(|(_, report)| report.is_good()) {
        Ok(())
    } else {
        Err("the server differs from a real one".into())
    }
}
