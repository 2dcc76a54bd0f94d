//! The scenarios of workloads on real Kubernetes: all at the same time, each in a namespace of its own.

use super::outside::{self, Outside};
use super::plane;
use scenarios::over_https::Hub;
use scenarios::suite::{self, Outcome};
use scenarios::{Case, case, differences, run};
use std::path::Path;
use std::time::Instant;
use testkit::Client;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How many scenarios run side by side: they wait more than they work, but the fewer there are, the
/// less depends on who was slow.
const SIDE_BY_SIDE: usize = 28;

/// The scenarios whose names begin with one of the given; all without any.
pub(crate) fn cases(names: &[String]) -> Result<Vec<Case>> {
    let all = case::load(&scenarios::folder().join("cases"))?;
    let wanted =
        |case: &Case| names.is_empty() || names.iter().any(|n| case.id.starts_with(n.as_str()));
    Ok(all.into_iter().filter(wanted).collect())
}

/// Plays scenarios on a fresh real cluster.
pub(crate) fn play(cases: Vec<Case>) -> Result<Vec<Outcome>> {
    let plane = plane::with_workloads()?;
    let _outside = Outside::start(&plane.folder)?;
    Ok(play_on(plane.client()?, cases))
}

fn play_on(client: Client, cases: Vec<Case>) -> Vec<Outcome> {
    let start = Instant::now();
    let hub = Hub::start(client);
    let outcomes = suite::play(cases, SIDE_BY_SIDE, |case| {
        run(case, &mut hub.target(&case.namespace()))
    });
    println!(
        "   {} scenarios in {:.0} s",
        outcomes.len(),
        start.elapsed().as_secs_f64()
    );
    outcomes
}

/// Plays scenarios on a cluster that runs already.
pub(crate) fn play_at(folder: &Path, cases: Vec<Case>) -> Result<Vec<Outcome>> {
    Ok(play_on(outside::client(folder)?, cases))
}

/// Keeps what was seen.
pub(crate) fn keep(outcomes: &[Outcome]) -> Result<()> {
    for outcome in outcomes {
        if let Ok(played) = &outcome.played {
            let path = suite::recording_file(&outcome.case);
            std::fs::write(path, played.recording.to_string())?;
        }
    }
    Ok(())
}

/// Plays every scenario on a fresh real cluster: what it tells must be as expected, and as it was
/// recorded, but for what is a matter of timing.
pub(crate) fn check() -> Result<()> {
    let outcomes = play(cases(&[])?)?;
    let listed = std::fs::read_to_string(scenarios::folder().join("differences.txt"))?;
    let mut allowed = differences::parse(&listed)?;
    allowed.retain(|line| line.unsteady);
    let report = suite::Report::compared(&outcomes, &allowed);
    println!("workloads\n{report}\n");
    if report.is_good() {
        Ok(())
    } else {
        Err("real Kubernetes does not do what the scenarios say".into())
    }
}
