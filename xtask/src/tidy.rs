//! `cargo xtask tidy`: what a machine can hold about the house: who may use whom, and that every
//! module says what it is for.

use crate::{Outcome, root};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Which of our crates each layer may use. A crate that is not listed is a question: put it in.
const LAYERS: &[(&str, &[&str])] = &[
    // core: pure
    ("model", &[]),
    ("json", &["model"]),
    ("yaml", &["model", "json"]),
    ("schema", &["model"]),
    ("expression", &["model", "schema"]),
    ("merge", &["model", "schema"]),
    ("engine", &["model", "json"]),
    ("version", &[]),
    ("pattern", &[]),
    // render: files in, manifests out
    ("gotemplate", &["model", "yaml", "json", "version"]),
    (
        "helm",
        &["model", "yaml", "json", "gotemplate", "version", "pattern"],
    ),
    (
        "kustomize",
        &["model", "yaml", "json", "schema", "merge", "kinds", "helm"],
    ),
    ("jsonnet", &["model"]),
    ("plugin", &["model", "pattern"]),
    (
        "render",
        &[
            "model",
            "yaml",
            "json",
            "pattern",
            "gotemplate",
            "helm",
            "kustomize",
            "jsonnet",
            "plugin",
        ],
    ),
    // adapters: the hands
    ("files", &["model"]),
    ("live", &["model", "engine", "merge", "kinds"]),
    ("git", &["model", "version"]),
    ("charts", &["model", "version", "yaml"]),
    // cluster: Kubernetes, which has never heard of the engine
    ("kinds", &["model", "schema"]),
    ("gotypes", &["model", "json"]),
    ("wire", &["model", "json", "yaml", "gotypes"]),
    ("access", &["model"]),
    ("admission", &["model"]),
    ("tables", &["model"]),
    ("pki", &["model"]),
    ("store", &["model"]),
    (
        "apiserver",
        &[
            "model",
            "json",
            "yaml",
            "schema",
            "expression",
            "merge",
            "kinds",
            "gotypes",
            "wire",
            "access",
            "admission",
            "tables",
            "pki",
            "store",
        ],
    ),
    ("workloads", &["model", "apiserver", "store"]),
    ("kubelet", &["model"]),
    (
        "embedded",
        &[
            "model",
            "access",
            "admission",
            "apiserver",
            "workloads",
            "kubelet",
            "pki",
            "store",
        ],
    ),
    // surface
    (
        "cli",
        &[
            "model",
            "yaml",
            "embedded",
            "render",
            "plugin",
            "helm",
            "kustomize",
            "files",
            "git",
            "charts",
        ],
    ),
];

/// What pure crates never use: they have no IO, no clock, no threads and no randomness.
const PURE: &[&str] = &[
    "model",
    "json",
    "yaml",
    "schema",
    "expression",
    "merge",
    "engine",
    "version",
    "pattern",
    "gotemplate",
    "helm",
    "kustomize",
    "jsonnet",
    "render",
    "kinds",
    "gotypes",
    "wire",
    "access",
    "admission",
    "tables",
    "apiserver",
    "workloads",
];
const IMPURE: &[&str] = &[
    "tokio", "hyper", "rand", "futures", "tracing", "redb", "rustls",
];

pub(crate) fn run() -> Outcome {
    let mut faults = layers()?;
    modules(&root().join("crates"), &mut faults)?;
    modules(&root().join("xtask"), &mut faults)?;
    modules(&root().join("bench"), &mut faults)?;
    if faults.is_empty() {
        println!("   tidy: {} crates keep to their layers", LAYERS.len());
        return Ok(());
    }
    for fault in &faults {
        eprintln!("{fault}");
    }
    Err(format!("{} things are not in their place", faults.len()).into())
}

fn layers() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root())
        .output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let layers: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    let ours: Vec<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut faults = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().unwrap_or("");
        let path = package["manifest_path"].as_str().unwrap_or("");
        let layered = path.contains("/crates/") && !path.contains("/crates/testing/");
        let Some(allowed) = layers.get(name) else {
            if layered {
                faults.push(format!("{path}: `{name}` has no row in xtask/src/tidy.rs"));
            }
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or("");
            if !dependency["kind"].is_null() {
                continue;
            }
            if ours.contains(&used) && !allowed.contains(&used) {
                faults.push(format!("{path}: `{name}` may not use `{used}`"));
            }
            if PURE.contains(&name) && IMPURE.contains(&used) {
                faults.push(format!("{path}: `{name}` is pure and may not use `{used}`"));
            }
        }
    }
    Ok(faults)
}

// Every module opens with a sentence about what it is for.
fn modules(folder: &Path, faults: &mut Vec<String>) -> Outcome {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                modules(&path, faults)?;
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path)?;
            let tests = path.file_stem().is_some_and(|s| s == "tests");
            if !tests && !text.starts_with("//!") {
                faults.push(format!(
                    "{}: does not say what it is for (`//!`)",
                    path.display()
                ));
            }
        }
    }
    Ok(())
}
