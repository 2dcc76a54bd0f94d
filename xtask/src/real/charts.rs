//! `cargo xtask real helm-template`: the corpus of charts, by the real helm and by us.

use crate::Outcome;
use conformance::charts::{Case, cases};
use helm::Flavour;
use realkube::Tool;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Keep what the real programs print as what is expected
    #[arg(long)]
    record: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let tools = crate::root().join("tools");
    let v3 = realkube::find(Tool::Helm3, &tools)?.join("helm");
    let v4 = realkube::find(Tool::Helm4, &tools)?.join("helm");
    let cases = cases()?;
    let mut wrong = Vec::new();
    for case in &cases {
        let (real3, real4) = (case.run(&v3)?, case.run(&v4)?);
        if arguments.record {
            case.record(&real3, &real4)?;
        }
        compare(case, Flavour::V3, &real3, &mut wrong);
        compare(case, Flavour::V4, &real4, &mut wrong);
    }
    let all = cases.len() * 2;
    println!(
        "helm-template: {} of {all} runs equal, byte for byte",
        all - wrong.len()
    );
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("these differ: {}", wrong.join(", ")).into())
}

fn compare(case: &Case, flavour: Flavour, real: &str, wrong: &mut Vec<String>) {
    if case.ours(flavour) != real {
        wrong.push(format!("{} {flavour:?}", case.title()));
    }
}
