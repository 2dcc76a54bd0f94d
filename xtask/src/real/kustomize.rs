//! The part `kustomize` of `cargo xtask real`: our builder beside the real program.

use crate::Outcome;
use conformance::kustomize::{Case, compare, load, random};
use realkube::Tool;

/// How many kustomizations are made up for the comparison.
const MADE_UP: u64 = 100;

/// Compares the cases and some made up kustomizations; `record` keeps what the real program says.
pub(crate) fn run(record: bool) -> Outcome {
    let program = realkube::find(Tool::Kustomize, &crate::root().join("tools"))?.join("kustomize");
    let folder = std::env::temp_dir().join(format!("kustomize-{}", std::process::id()));
    let cases = load()?;
    let made_up: Vec<Case> = (0..MADE_UP).map(random).collect();
    println!("kustomize");
    let mut differ = 0;
    for (what, cases, record) in [("cases", &cases, record), ("made up", &made_up, false)] {
        let report = compare(cases, &program, &folder, record)?;
        print!("{}", report.text());
        println!(
            "  {what:8} {:4} of {:4} agree, {} of them refused by both",
            report.compared - report.wrong.len(),
            report.compared,
            report.refused
        );
        differ += report.wrong.len();
    }
    println!();
    let _ = std::fs::remove_dir_all(&folder);
    if differ == 0 {
        Ok(())
    } else {
        Err(format!("{differ} kustomizations differ from the real program").into())
    }
}
