//! Plays every scenario on the embedded cluster and compares with what real Kubernetes showed.
//!
//! `cargo test -p scenarios --test embedded -- deployment-` plays those whose names begin so;
//! `--keep FOLDER` writes what was seen there.

use scenarios::in_process::InProcess;
use scenarios::suite::{self, Report};
use scenarios::{case, differences, folder, run};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut wanted, mut keep) = (Vec::new(), None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--keep" => keep = arguments.next(),
            flag if flag.starts_with('-') => {}
            name => wanted.push(name.to_owned()),
        }
    }
    match play(&wanted, keep.as_deref()) {
        Ok(report) => {
            println!("{report}");
            ExitCode::from(u8::from(!report.is_good()))
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn play(wanted: &[String], keep: Option<&str>) -> Result<Report, Box<dyn std::error::Error>> {
    let start = Instant::now();
    let mut cases = case::load(&folder().join("cases"))?;
    cases.retain(|c| wanted.is_empty() || wanted.iter().any(|w| c.id.starts_with(w.as_str())));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let outcomes = suite::play(cases, threads, |case| {
        run(case, &mut InProcess::start(&case.namespace())?)
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "scenarios on the embedded cluster: {} in {seconds:.1} s",
        outcomes.len()
    );
    if let Some(keep) = keep {
        for outcome in &outcomes {
            if let Ok(played) = &outcome.played {
                let path = std::path::Path::new(keep).join(format!("{}.txt", outcome.case.id));
                std::fs::write(path, played.recording.to_string())?;
            }
        }
    }
    let listed = std::fs::read_to_string(folder().join("differences.txt"))?;
    let mut allowed = differences::parse(&listed)?;
    if !wanted.is_empty() {
        allowed.retain(|line| outcomes.iter().any(|o| line.speaks_of(&o.case.id)));
    }
    Ok(Report::compared(&outcomes, &allowed))
}
