//! `cargo xtask real show`: what workloads do, from kubectl, on real Kubernetes and on the sandbox.
//! Both must say the same, but for ages and for how often one had to wait.

use super::outside::Outside;
use super::plane;
use crate::Outcome;
use crate::sandbox::{Profile, Sandbox};
use realkube::Tool;
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = include_str!("show.sh");

pub(crate) fn run() -> Outcome {
    let plane = plane::with_workloads()?;
    let outside = Outside::start(&plane.folder)?;
    let real = on("real Kubernetes", &plane.kubeconfig)?;
    drop(outside);
    drop(plane);
    let sandbox = Sandbox::with_workloads(Profile::Debug)?;
    let ours = on("the sandbox", &sandbox.kubeconfig)?;
    if real == ours {
        println!("\nboth say the same: {} lines", real.len());
        return Ok(());
    }
    for (real, ours) in real.iter().zip(&ours).filter(|(a, b)| a != b) {
        println!("real: {real}\nours: {ours}");
    }
    Err("the sandbox shows other things than real Kubernetes".into())
}

// What the script says, in comparable lines.
fn on(name: &str, kubeconfig: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let programs = realkube::find(Tool::Kube, &crate::root().join("tools"))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-c", SCRIPT])
        .env("KUBECONFIG", kubeconfig)
        .env("PATH", format!("{}:{path}", programs.display()))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    println!("\n== {name} ==\n{text}");
    if !output.status.success() {
        return Err(format!("the script ended with {}", output.status).into());
    }
    let lines = text.lines().filter(|line| !line.starts_with("Waiting for"));
    Ok(lines.map(without_age).collect())
}

fn without_age(line: &str) -> String {
    match line.rsplit_once(' ') {
        Some((rest, age)) if is_age(age) => format!("{} <age>", rest.trim_end()),
        _ => line.to_owned(),
    }
}

fn is_age(word: &str) -> bool {
    let number = word.trim_end_matches('s');
    number.len() < word.len() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}
