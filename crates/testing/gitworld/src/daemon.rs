//! `git daemon`, for addresses that begin with `git://`.

use crate::{Outcome, free_port, repo, run, wait_for};
use std::path::Path;
use std::process::{Child, Stdio};

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    port: u16,
}

impl Daemon {
    /// Serves the repositories below a directory.
    pub fn start(root: &Path) -> Outcome<Self> {
        // The program itself: `git daemon` would leave it behind when it is ended.
        let programs = run("git", &["--exec-path"], root)?;
        let program = Path::new(programs.trim()).join("git-daemon");
        if !program.exists() {
            return Err(format!(
                "`git daemon` is needed here and is not installed ({})",
                program.display()
            ));
        }
        let port = free_port()?;
        let mut child = repo::command(&program.display().to_string())
            .args(["--export-all", "--listen=127.0.0.1", "--reuseaddr"])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", root.display()))
            .arg(root)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("`git daemon` cannot be started: {e}"))?;
        wait_for(port, &mut child, "git daemon")?;
        Ok(Self { child, port })
    }

    /// The address of a repository.
    pub fn url(&self, path: &str) -> String {
        format!("git://127.0.0.1:{}/{path}", self.port)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
