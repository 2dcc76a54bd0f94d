//! Starts programs so that none outlives us.
//!
//! A guard shell holds the reading end of a pipe whose writing end is ours. It is told the id of
//! each program we start; when the pipe closes, because we are done or because we died, it kills
//! them. Interrupts from the terminal therefore need no handler.

use crate::{RealError, io_error};
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a program may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(20);
const LOG_LINES: usize = 15;

// A program that outlives us must not keep what our caller left open: a lock, say, would stay held.
const LET_GO: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-\n";
const EXEC: &str = "exec \"$0\" \"$@\"\n";

const GUARD: &str = r#"trap '' INT TERM HUP
pids= folder=
while read -r word; do
  case "$word" in
    release) exit 0 ;;
    /*) folder=$word ;;
    *) pids="$pids $word" ;;
  esac
done
[ -z "$pids" ] || kill -9 $pids 2>/dev/null
[ -z "$folder" ] || { sleep 0.2; rm -rf "$folder"; }
exit 0
"#;

/// Kills what it was told of when the pipe to it closes.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
}

impl Guard {
    pub(crate) fn start() -> Result<Self, RealError> {
        let child = Command::new("sh")
            .args(["-c", &format!("{LET_GO}{GUARD}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(io_error("start `sh`"))?;
        Ok(Self { child })
    }

    fn tell(&mut self, word: &str) {
        if let Some(pipe) = self.child.stdin.as_mut() {
            // A guard that is gone guards nothing; the owner still stops what it started.
            let _ = writeln!(pipe, "{word}");
        }
    }

    /// Removes a folder, too, when the owner dies.
    pub(crate) fn remove(&mut self, folder: &Path) {
        self.tell(&folder.display().to_string());
    }

    /// Lets the programs live on after us.
    pub(crate) fn release(mut self) {
        self.tell("release");
        let _ = self.child.wait();
    }

    /// Ends the guard after everything it watches has ended.
    pub(crate) fn dismiss(&mut self) {
        self.tell("release");
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// One running program.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    child: Child,
    log: std::path::PathBuf,
}

impl Program {
    /// Starts a program of a folder with its output in `<work>/<name>.log`.
    pub(crate) fn start(
        (name, programs): (&'static str, &Path),
        arguments: &[String],
        work: &Path,
        guard: &mut Guard,
    ) -> Result<Self, RealError> {
        let log = work.join(format!("{name}.log"));
        let file = File::create(&log).map_err(io_error(format!("write `{}`", log.display())))?;
        let other = file.try_clone().map_err(io_error("copy a file handle"))?;
        let child = Command::new("sh")
            .args(["-c", &format!("{LET_GO}{EXEC}")])
            .arg(programs.join(name))
            .args(arguments)
            .current_dir(work)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(other)
            .process_group(0)
            .spawn()
            .map_err(io_error(format!("start `{name}`")))?;
        guard.tell(&child.id().to_string());
        Ok(Self { name, child, log })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks again and again until the program is ready, ends, or the time is over.
    pub(crate) fn wait_until(
        &mut self,
        until: Instant,
        mut ready: impl FnMut() -> bool,
    ) -> Result<(), RealError> {
        loop {
            if ready() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.not_ready(format!("ended with {status}")));
            }
            if Instant::now() >= until {
                return Err(self.not_ready("was not ready in time".into()));
            }
            sleep(TICK);
        }
    }

    fn not_ready(&self, why: String) -> RealError {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let log = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
        RealError::NotReady {
            program: self.name.to_owned(),
            why,
            log,
        }
    }

    /// Asks the program to end; kills it when it does not.
    pub(crate) fn stop(&mut self) {
        signal(self.id(), "TERM");
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(TICK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Kills the program at once.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// Ends a program that an earlier run left running, by its id. Does nothing when the process of
/// that id is something else by now: its command line must mention `mark`.
pub fn end(pid: u32, mark: &str) {
    let ours = || {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
    };
    if !ours() {
        return;
    }
    signal(pid, "TERM");
    let until = Instant::now() + FAREWELL;
    while ours() && Instant::now() < until {
        sleep(TICK);
    }
    if ours() {
        signal(pid, "KILL");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_kills_what_is_left_when_its_owner_is_gone() {
        let mut guard = Guard::start().unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        guard.tell(&child.id().to_string());
        drop(guard.child.stdin.take());
        let ended = child.wait().unwrap();
        assert!(!ended.success());
        guard.child.wait().unwrap();
    }

    #[test]
    fn a_stranger_with_the_same_id_is_left_alone() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        end(child.id(), "some-other-mark");
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
