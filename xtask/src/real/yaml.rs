//! The part `yaml` of `cargo xtask real`: files of manifests, read by us and by Kubernetes' own reader.

use crate::Outcome;
use crate::run::{cargo, step};
use std::fs::File;
use std::process::{Command, Stdio};

/// How many texts are made, and from which seed: those that differ are listed for this one.
const CORPUS: [&str; 2] = ["1500", "7"];

/// Makes the texts, asks the Go program what it makes of them, and compares.
pub(crate) fn run() -> Outcome {
    let folder = std::env::temp_dir().join(format!("yaml-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = compare(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn compare(folder: &std::path::Path) -> Outcome {
    let (texts, answers) = (folder.join("texts"), folder.join("answers"));
    let mut corpus = cargo();
    corpus
        .args([
            "run",
            "--quiet",
            "--package",
            "yaml",
            "--example",
            "corpus",
            "--",
        ])
        .args(CORPUS)
        .stdout(File::create(&texts)?);
    step("yaml: texts", &mut corpus)?;
    let mut oracle = Command::new("go");
    oracle
        .args(["run", "."])
        .current_dir(crate::root().join("tools").join("yaml"))
        .stdin(Stdio::from(File::open(&texts)?))
        .stdout(File::create(&answers)?);
    step("yaml: what Kubernetes' reader says", &mut oracle)?;
    let mut test = cargo();
    test.args([
        "test",
        "--quiet",
        "--package",
        "yaml",
        "--test",
        "manifests",
    ])
    .env("TIPHYS_YAML_CASES", &answers);
    step("yaml: what ours says", &mut test)
}
