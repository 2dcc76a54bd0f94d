//! `cargo xtask real show`: what workloads do, from kubectl, on real Kubernetes and on the sandbox.

use super::outside::Outside;
use super::plane;
use crate::Outcome;
use crate::sandbox::{Profile, Sandbox};
use realkube::Tool;
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = include_str!("show.sh");

pub(crate) fn run() -> Outcome {
    println!("== real Kubernetes ==");
    let plane = plane::with_workloads()?;
    let outside = Outside::start(&plane.folder)?;
    on(&plane.kubeconfig)?;
    drop(outside);
    drop(plane);
    println!("\n== the sandbox ==");
    let sandbox = Sandbox::start(Profile::Debug)?;
    on(&sandbox.kubeconfig)
}

fn on(kubeconfig: &Path) -> Outcome {
    let programs = realkube::find(Tool::Kube, &crate::root().join("tools"))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let status = Command::new("bash")
        .args(["-c", SCRIPT])
        .env("KUBECONFIG", kubeconfig)
        .env("PATH", format!("{}:{path}", programs.display()))
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("the script ended with {status}").into())
    }
}
