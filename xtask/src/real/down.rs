//! `cargo xtask real down`.

use crate::Outcome;
use std::fs;

pub(crate) fn run() -> Outcome {
    let folder = super::folder();
    let ids = fs::read_to_string(super::ids_file()).unwrap_or_default();
    let mark = folder.display().to_string();
    // The last one started goes first: nothing loses its server while it still runs.
    for id in ids.lines().rev().filter_map(|line| line.parse().ok()) {
        realkube::end(id, &mark);
    }
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
