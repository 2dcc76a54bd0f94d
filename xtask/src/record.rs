//! `cargo xtask record`: asks a real API server every case and keeps its answers.

use crate::Outcome;
use crate::real::plane;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Record twice, on two fresh servers, and fail when they disagree
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let fixtures = {
        let planes = plane::Pair::start()?;
        conformance::record(&planes.target())?
    };
    let folder = conformance::folder().join("fixtures");
    conformance::fixture::write_all(&folder, &fixtures)?;
    println!("{} recordings in {}", fixtures.len(), folder.display());
    if arguments.check {
        let planes = plane::Pair::start()?;
        let report = conformance::replay(&planes.target(), &fixtures, &[])?;
        println!("{report}");
        if !report.is_good() {
            return Err("two real servers disagree: the normal form misses something".into());
        }
    }
    Ok(())
}
