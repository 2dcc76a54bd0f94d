//! `cargo xtask test`: everything that must be green before a commit, with Rust alone.

use crate::Outcome;
use crate::run::{cargo, step};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Leave out formatting and lints, for a quick look at the tests
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if !arguments.quick {
        step("formatting", cargo().args(["fmt", "--all", "--check"]))?;
        step(
            "lints",
            cargo().args([
                "clippy",
                "--workspace",
                "--all-targets",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ]),
        )?;
    }
    println!("── tidiness");
    crate::tidy::run()?;
    // The end-to-end tests start the program itself.
    step("the program", cargo().args(["build", "--package", "cli"]))?;
    step("tests", cargo().args(["test", "--workspace", "--quiet"]))
}
