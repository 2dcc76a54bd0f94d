//! Starts programs and says which one failed.

use crate::{Outcome, root};
use std::process::Command;
use std::time::Instant;

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs one step of a chore, with a line before and the time it took after.
pub(crate) fn step(what: &str, command: &mut Command) -> Outcome {
    println!("── {what}");
    let start = Instant::now();
    let status = command.status().map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        format!("could not start `{program}` for {what}: {error}; is it installed and on the PATH?")
    })?;
    if !status.success() {
        return Err(format!("{what} failed ({status})").into());
    }
    println!("   {what}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}
