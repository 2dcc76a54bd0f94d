//! `cargo xtask real test`: recordings and sessions of a real server against the sandbox.
//!
//! With `--real` a fresh real server takes the sandbox's place: two real servers must agree in
//! everything that is compared, or the comparison itself is wrong.

use super::{git, kustomize, plane, sessions, show, template, workloads, yaml};
use crate::Outcome;
use crate::sandbox::{Profile, Sandbox};
use conformance::differences::Allowed;
use conformance::{Report, session};
use std::path::{Path, PathBuf};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Compare a second real server instead of the sandbox, to check the comparison itself
    #[arg(long)]
    real: bool,
    /// Run the kubectl session with this program, on a real server and on the sandbox, and compare
    #[arg(long, value_name = "PROGRAM")]
    kubectl: Option<PathBuf>,
    /// Keep what the real kustomize prints for the cases as their recordings
    #[arg(long)]
    record: bool,
    /// Only these parts: `replay`, `kubectl`, `helm3`, `helm4`, `workloads`, `kustomize`, `git`, `yaml`,
    /// `template`, `helm-template`, `charts`
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    only: Vec<String>,
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if let Some(kubectl) = &arguments.kubectl {
        return live(kubectl);
    }
    // Charts need no server.
    if arguments.only.is_empty() || arguments.only.iter().any(|part| part == "helm-template") {
        super::charts::run(&super::charts::Arguments::default())?;
    }
    let (fixtures, allowed) = conformance::committed()?;
    // What we allow ourselves is not allowed to a real server.
    let allowed = if arguments.real { Vec::new() } else { allowed };
    let wanted = |part: &str| arguments.only.is_empty() || arguments.only.iter().any(|p| p == part);
    if wanted("template") {
        template::run()?;
    }
    if wanted("kustomize") {
        kustomize::run(arguments.record)?;
    }
    if wanted("yaml") {
        yaml::run()?;
    }
    if wanted("git") {
        git::run()?;
    }
    let mut reports = Vec::new();
    for part in ["replay"].into_iter().chain(sessions::NAMES) {
        if !wanted(part) {
            continue;
        }
        // Each part has a server of its own.
        let report = match (part, arguments.real) {
            ("replay", true) => {
                conformance::replay(&plane::Pair::start()?.target(), &fixtures, &allowed)?
            }
            ("replay", false) => {
                let sandbox = Sandbox::start(Profile::Debug)?;
                conformance::replay(&sandbox.target, &fixtures, &allowed)?
            }
            (name, true) => compare(name, &plane::basic()?.kubeconfig, &allowed)?,
            (name, false) => compare(name, &Sandbox::start(Profile::Debug)?.kubeconfig, &allowed)?,
        };
        println!("{part}\n{report}\n");
        reports.push((part, report));
    }
    if wanted("workloads") {
        workloads::check()?;
    }
    if wanted("show") {
        show::run()?;
    }
    summarise(&reports)
}

// Another kubectl says other things: what it says of a real server is what is expected.
fn live(kubectl: &Path) -> Outcome {
    let real = plane::basic()?;
    let (session, expected) = sessions::run("kubectl", &real.kubeconfig, Some(kubectl))?;
    drop(real);
    let sandbox = Sandbox::start(Profile::Debug)?;
    let (_, got) = sessions::run("kubectl", &sandbox.kubeconfig, Some(kubectl))?;
    let report = session::compare(&session, &expected, &got, &[]);
    println!("{report}\n");
    summarise(&[("kubectl", report)])
}

fn compare(name: &str, kubeconfig: &Path, allowed: &[Allowed]) -> Result<Report> {
    let (session, got) = sessions::run(name, kubeconfig, None)?;
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
