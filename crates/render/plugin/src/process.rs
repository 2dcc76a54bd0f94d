//! One command: started as written, watched, and ended with everything it started.

use crate::config::Step;
use crate::error::Failure;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How much of standard error is kept.
const STDERR_KEPT: usize = 8 * 1024;
/// How many variables of our own environment a command sees.
const PASSED_ON: [&str; 4] = ["PATH", "LANG", "TZ", "SSL_CERT_FILE"];
/// How long the pipes of a command that has ended may stay open in the hands of others.
const LINGER: Duration = Duration::from_secs(2);

/// What a command may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) time: Duration,
    pub(crate) output: usize,
}

/// Runs a command in a directory and gives what it printed.
pub(crate) fn run(
    step: &Step,
    directory: &Path,
    root: &Path,
    environment: &[(String, String)],
    limits: Limits,
) -> Result<Vec<u8>, Failure> {
    let shown = shown(step);
    let mut child = start(step, directory, root, environment)?;
    let output = collect(child.stdout.take(), Keep::Start(limits.output));
    let errors = collect(child.stderr.take(), Keep::End(STDERR_KEPT));
    let group = Group::of(&child);
    let deadline = Instant::now() + limits.time;
    let status = wait(&mut child, &output, deadline);
    // Whatever it left behind ends with it.
    group.end();
    let _ = child.wait();
    let stderr = tail(&errors);
    match status {
        Ended::Late => Err(Failure::Timeout {
            command: shown,
            limit: limits.time,
            stderr,
        }),
        Ended::TooMuch => Err(Failure::Output(format!(
            "`{shown}` printed more than {} bytes",
            limits.output
        ))),
        Ended::Yes(status) if !status.success() => Err(Failure::Exit {
            command: shown,
            status: status.to_string(),
            stderr,
        }),
        Ended::Yes(_) => rest(&output, limits.output),
        Ended::Lost(why) => Err(Failure::Output(why)),
    }
}

// All that it printed, now that nobody holds the pipe any more.
fn rest(output: &Pipe, max: usize) -> Result<Vec<u8>, Failure> {
    output
        .done
        .recv_timeout(LINGER)
        .map(|read| read.bytes)
        .map_err(|_| {
            Failure::Output(format!(
                "it printed more than {max} bytes, or never closed its output"
            ))
        })
}

fn shown(step: &Step) -> String {
    let mut words = step.command.clone();
    words.extend(step.args.iter().cloned());
    let mut text = words.join(" ");
    if text.len() > 200 {
        let cut = (0..=200).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(cut.unwrap_or(0));
        text.push_str(" ...");
    }
    text
}

fn start(
    step: &Step,
    directory: &Path,
    root: &Path,
    environment: &[(String, String)],
) -> Result<Child, Failure> {
    let Some((program, first)) = step.command.split_first() else {
        return Err(Failure::Config("it has no command".into()));
    };
    let mut command = Command::new(program);
    command
        .args(first)
        .args(&step.args)
        .current_dir(directory)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in PASSED_ON {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env("HOME", root.join("home"))
        .env("TMPDIR", root.join("home"));
    for (name, value) in environment {
        // What the system cannot carry is left out rather than refused.
        if !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0') {
            command.env(name, value);
        }
    }
    own_group(&mut command);
    command.spawn().map_err(|why| Failure::Start {
        program: program.clone(),
        why: why.to_string(),
    })
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn own_group(_: &mut Command) {}

enum Ended {
    Yes(ExitStatus),
    Late,
    TooMuch,
    Lost(String),
}

// Waits for the end of the process. Its pipe ends with it as a rule; what keeps it open longer is not
// waited for.
fn wait(child: &mut Child, output: &Pipe, deadline: Instant) -> Ended {
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(_)) if output.overflow.try_recv().is_ok() => return Ended::TooMuch,
            Ok(Some(status)) => return Ended::Yes(status),
            Ok(None) => {}
            Err(why) => return Ended::Lost(format!("the command was lost: {why}")),
        }
        if output.overflow.try_recv().is_ok() {
            return Ended::TooMuch;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ended::Late;
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

#[derive(Clone, Copy)]
enum Keep {
    // The first bytes; more is too much.
    Start(usize),
    // The last bytes.
    End(usize),
}

struct Pipe {
    done: Receiver<Gathered>,
    overflow: Receiver<()>,
}

struct Gathered {
    bytes: Vec<u8>,
}

fn collect(pipe: Option<impl Read + Send + 'static>, keep: Keep) -> Pipe {
    let (send, done) = mpsc::channel();
    let (send_overflow, overflow) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                bytes.extend_from_slice(&buffer[..count]);
                match keep {
                    Keep::Start(max) if bytes.len() > max => {
                        let _ = send_overflow.send(());
                        return;
                    }
                    Keep::End(max) if bytes.len() > 2 * max => {
                        bytes.drain(..bytes.len() - max);
                    }
                    Keep::Start(_) | Keep::End(_) => {}
                }
            }
            let _ = send.send(Gathered { bytes });
        });
    }
    Pipe { done, overflow }
}

fn tail(errors: &Pipe) -> String {
    let bytes = match errors.done.recv_timeout(LINGER) {
        Ok(read) => read.bytes,
        Err(_) => return String::new(),
    };
    let start = bytes.len().saturating_sub(STDERR_KEPT);
    let text = String::from_utf8_lossy(&bytes[start..]).into_owned();
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let last = lines.len().saturating_sub(20);
    lines[last..].join("\n")
}

// The process and everything it started.
struct Group {
    id: u32,
}

impl Group {
    fn of(child: &Child) -> Self {
        Self { id: child.id() }
    }

    // The group outlives its first process, so its number cannot belong to anybody else.
    #[cfg(unix)]
    fn end(&self) {
        if let Some(id) = i32::try_from(self.id)
            .ok()
            .and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }

    #[cfg(not(unix))]
    fn end(&self) {
        let _ = self.id;
    }
}
