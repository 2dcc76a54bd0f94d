//! `cargo xtask bench`: our API server beside a real one, in one run, as ratios.

use crate::Outcome;
use crate::run::{cargo, step};
use crate::sandbox::{Profile, Sandbox};
use realkube::{ControlPlane, Options};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// More arguments for `tiphys-bench compare`, after `--`
    #[arg(last = true)]
    rest: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    step(
        "building the bench",
        cargo().args(["build", "--release", "--package", "bench", "--quiet"]),
    )?;
    let sandbox = Sandbox::start(Profile::Release)?;
    let real = ControlPlane::start(&Options {
        modules: Some(crate::root().join("tools")),
        ..Options::default()
    })?;
    let ids: Vec<String> = real.ids().iter().map(u32::to_string).collect();
    let mut compare = cargo();
    compare
        .args([
            "run",
            "--release",
            "--quiet",
            "--package",
            "bench",
            "--",
            "compare",
            "--real",
        ])
        .arg(&real.kubeconfig)
        .args(["--real-pids", &ids.join(","), "--sandbox"])
        .arg(&sandbox.kubeconfig)
        .args(["--sandbox-pids", &sandbox.pid().to_string()])
        .args(&arguments.rest);
    step("both servers", &mut compare)
}
