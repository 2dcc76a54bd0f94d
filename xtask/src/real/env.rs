//! `cargo xtask real env`.

use crate::Outcome;
use std::fs;

pub(crate) fn run() -> Outcome {
    let folder = super::folder();
    let Ok(programs) = fs::read_to_string(folder.join("programs")) else {
        return Err("nothing runs: start it with `cargo xtask real up`".into());
    };
    println!(
        "export KUBECONFIG='{}'",
        folder.join("kubeconfig").display()
    );
    println!("export PATH='{programs}':\"$PATH\"");
    Ok(())
}
