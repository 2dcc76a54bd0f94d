//! Our Git against real servers on this machine: `git http-backend`, `sshd`, `git daemon`.

use crate::Outcome;
use crate::run::{cargo, step};

pub(crate) fn run() -> Outcome {
    let mut scenarios = cargo();
    scenarios.args(["run", "--quiet", "--package", "gitworld"]);
    step("git", &mut scenarios)
}
