//! `cargo xtask record`: asks a real API server every case, runs every session against one, and
//! keeps what they answered.

use crate::Outcome;
use crate::real::{plane, sessions, workloads};
use conformance::session;
use scenarios::suite;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only these parts: `cases`, `kubectl`, `helm3`, `helm4`, `scenarios`
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    only: Vec<String>,
    /// Only scenarios whose names begin so
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    scenario: Vec<String>,
    /// Play scenarios on the cluster of `cargo xtask real up` instead of a fresh one
    #[arg(long)]
    up: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let wanted = |part: &str| arguments.only.is_empty() || arguments.only.iter().any(|p| p == part);
    if wanted("cases") {
        let fixtures = conformance::record(&plane::Pair::start()?.target())?;
        let folder = conformance::folder().join("fixtures");
        conformance::fixture::write_all(&folder, &fixtures)?;
        println!("{} recordings in {}", fixtures.len(), folder.display());
    }
    if wanted("scenarios") {
        let cases = workloads::cases(&arguments.scenario)?;
        let outcomes = if arguments.up {
            workloads::play_at(&crate::real::folder(), cases)?
        } else {
            workloads::play(cases)?
        };
        workloads::keep(&outcomes)?;
        println!("{}", suite::Report::of(&outcomes));
    }
    for name in sessions::NAMES.into_iter().filter(|name| wanted(name)) {
        let plane = plane::basic()?;
        let (session, outcomes) = sessions::run(name, &plane.kubeconfig, None)?;
        let path = session::expected_file(&session);
        std::fs::write(&path, session::write_expected(&outcomes))?;
        println!("{} steps in {}", outcomes.len(), path.display());
        for (step, outcome) in session.steps.iter().zip(&outcomes) {
            if step.exit != outcome.exit && step.stop_s.is_none() {
                let complaint = outcome.stderr.first().map_or("", String::as_str);
                println!("  {} exits with {}: {complaint}", step.name, outcome.exit);
            }
        }
    }
    Ok(())
}
