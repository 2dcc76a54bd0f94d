//! Repositories behind ssh: OpenSSH's client as a child process, strict about hosts.
//!
//! The key is a private file for as long as the connection lives. The child is ended when time is
//! up. What it complains about goes to standard error and is the only word we get, so this module
//! alone looks at text to tell one failure from another.

use super::Operation;
use super::connect::{self, kept};
use crate::credentials::KnownHosts;
use crate::{GitError, Stage, Step};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much of what ssh complains about is kept.
const COMPLAINT_BYTES_MAX: usize = 16 * 1024;
/// How many pieces of what the server sends may wait to be read.
const PIECES_MAX: usize = 16;
/// How long the child may take to end once its output did.
const GOODBYE: Duration = Duration::from_secs(5);

/// A running `git-upload-pack` at the other end.
pub(crate) struct Remote {
    child: Mutex<Child>,
    complaint: Arc<Mutex<Vec<u8>>>,
    operation: Arc<Operation>,
    // Whether anything came from the other side.
    heard: std::sync::atomic::AtomicBool,
    _files: Private,
}

/// What the other side says.
pub(crate) struct FromRemote {
    remote: Arc<Remote>,
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    at: usize,
}

/// What we say.
pub(crate) struct ToRemote {
    _remote: Arc<Remote>,
    stdin: ChildStdin,
}

// A directory that only we may read, gone when dropped.
struct Private(PathBuf);

impl Drop for Private {
    fn drop(&mut self) {
        // What cannot be removed now is removed when the cache is opened next.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Starts `git-upload-pack` on the host.
pub(crate) fn start(operation: &Arc<Operation>) -> Result<(FromRemote, ToRemote), GitError> {
    let files = private(operation)?;
    let mut child = command(operation, &files.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| not_started(operation, &e))?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(operation.unreachable(&operation.url.host, Stage::Ssh, "ssh has no pipes"));
    };
    let complaint = Arc::new(Mutex::new(Vec::new()));
    listen(stderr, Arc::clone(&complaint));
    let remote = Arc::new(Remote {
        child: Mutex::new(child),
        complaint,
        operation: Arc::clone(operation),
        heard: false.into(),
        _files: files,
    });
    let from = FromRemote {
        remote: Arc::clone(&remote),
        pieces: pieces(stdout),
        piece: Vec::new(),
        at: 0,
    };
    Ok((
        from,
        ToRemote {
            _remote: remote,
            stdin,
        },
    ))
}

fn not_started(operation: &Operation, error: &io::Error) -> GitError {
    let says = match error.kind() {
        io::ErrorKind::NotFound => {
            "the program `ssh` is not installed here (package openssh-client)".to_owned()
        }
        _ => format!("ssh could not be started: {error}"),
    };
    operation.unreachable(&operation.url.host, Stage::Ssh, says)
}

fn private(operation: &Operation) -> Result<Private, GitError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = operation
        .scratch
        .join(format!("ssh-{}-{number}", std::process::id()));
    let failed = |error: io::Error| cache_error(&path, &error);
    let _ = fs::remove_dir_all(&path);
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&path)
        .map_err(failed)?;
    let files = Private(path.clone());
    let access = &operation.access;
    if !access.credential.ssh_key.is_empty() {
        let mut key = access.credential.ssh_key.reveal().replace("\r\n", "\n");
        // OpenSSH refuses a key whose last line has no end.
        if !key.ends_with('\n') {
            key.push('\n');
        }
        write(&path.join("key"), &key).map_err(failed)?;
    }
    if let KnownHosts::Lines(lines) = &access.known_hosts {
        write(&path.join("known_hosts"), lines).map_err(failed)?;
    }
    Ok(files)
}

fn cache_error(path: &Path, error: &io::Error) -> GitError {
    GitError::Cache {
        path: path.display().to_string(),
        says: error.to_string(),
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}

fn command(operation: &Operation, files: &Path) -> Command {
    let url = &operation.url;
    let access = &operation.access;
    let patience = operation.timeouts.connect.as_secs().max(1);
    let mut command = Command::new("ssh");
    command
        .env("LC_ALL", "C")
        .env("GIT_PROTOCOL", "version=2")
        .env_remove("DISPLAY")
        .env_remove("SSH_ASKPASS");
    let mut option = |text: String| {
        command.arg("-o").arg(text);
    };
    option("BatchMode=yes".into());
    option(format!("ConnectTimeout={patience}"));
    option(format!(
        "ServerAliveInterval={}",
        operation.timeouts.idle.as_secs().max(1)
    ));
    option("ServerAliveCountMax=1".into());
    option("SendEnv=GIT_PROTOCOL".into());
    option(format!(
        "StrictHostKeyChecking={}",
        if access.insecure { "no" } else { "yes" }
    ));
    option("UpdateHostKeys=no".into());
    if access.insecure {
        option("UserKnownHostsFile=/dev/null".into());
        option("GlobalKnownHostsFile=/dev/null".into());
    } else if matches!(access.known_hosts, KnownHosts::Lines(_)) {
        option(format!(
            "UserKnownHostsFile=\"{}\"",
            files.join("known_hosts").display()
        ));
        option("GlobalKnownHostsFile=/dev/null".into());
    }
    if !access.credential.ssh_key.is_empty() {
        option("IdentitiesOnly=yes".into());
        option("IdentityAgent=none".into());
        command
            .arg("-F")
            .arg("/dev/null")
            .arg("-i")
            .arg(files.join("key"));
    }
    if let Some(port) = url.port {
        command.arg("-p").arg(port.to_string());
    }
    let user = url.user.clone().or_else(|| {
        let name = &access.credential.username;
        (!name.is_empty() && !name.starts_with('-')).then(|| name.clone())
    });
    if let Some(user) = user {
        command.arg("-l").arg(user);
    }
    command.arg("--").arg(&url.host);
    command.arg(format!("git-upload-pack {}", quoted(&url.path)));
    command
}

// For the shell at the other end. `~user` must stay outside of the quotes.
fn quoted(path: &str) -> String {
    let (home, rest) = if path.starts_with('~') {
        path.split_at(path.find('/').unwrap_or(path.len()))
    } else {
        ("", path)
    };
    let plain = home
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "~-_.".contains(c));
    if !plain {
        return format!("'{}'", path.replace('\'', "'\\''"));
    }
    format!("{home}'{}'", rest.replace('\'', "'\\''"))
}

fn listen(mut stderr: impl Read + Send + 'static, complaint: Arc<Mutex<Vec<u8>>>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count) = stderr.read(&mut buffer) {
            if count == 0 {
                break;
            }
            let mut kept = complaint.lock().unwrap_or_else(PoisonError::into_inner);
            let room = COMPLAINT_BYTES_MAX.saturating_sub(kept.len());
            kept.extend_from_slice(&buffer[..count.min(room)]);
        }
    });
}

fn pieces(mut stdout: impl Read + Send + 'static) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::sync_channel(PIECES_MAX);
    std::thread::spawn(move || {
        loop {
            let mut piece = vec![0; 64 * 1024];
            let read = stdout.read(&mut piece).map(|count| {
                piece.truncate(count);
                piece
            });
            let last = read.as_ref().map_or(true, Vec::is_empty);
            if sender.send(read).is_err() || last {
                break;
            }
        }
    });
    receiver
}

impl Read for FromRemote {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            self.next()?;
        }
        let count = buffer.len().min(self.piece.len() - self.at);
        buffer[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

impl FromRemote {
    fn next(&mut self) -> io::Result<()> {
        let operation = &self.remote.operation;
        let patience =
            match operation.patience(operation.timeouts.idle.max(operation.timeouts.connect)) {
                Ok(patience) => patience,
                Err(error) => {
                    self.remote.end();
                    return Err(error);
                }
            };
        self.at = 0;
        self.piece = match self.pieces.recv_timeout(patience) {
            Ok(Ok(piece)) => piece,
            Ok(Err(error)) => return Err(error),
            Err(RecvTimeoutError::Timeout) => {
                let error = operation.timed_out(Step::Answer);
                self.remote.end();
                return Err(error);
            }
            Err(RecvTimeoutError::Disconnected) => Vec::new(),
        };
        if self.piece.is_empty() {
            self.remote.over();
        } else {
            self.remote.heard.store(true, Ordering::Relaxed);
            operation.count_bytes(self.piece.len())?;
        }
        Ok(())
    }
}

impl Write for ToRemote {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stdin.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdin.flush()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.end();
    }
}

impl Remote {
    fn child(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        let mut child = self.child();
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }

    // The output ended: why, if it ended before anything was said?
    fn over(&self) {
        let status = self.wait();
        if self.heard.load(Ordering::Relaxed) && status == Some(0) {
            return;
        }
        let bytes = self
            .complaint
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let complaint = String::from_utf8_lossy(&bytes).into_owned();
        self.operation
            .fail(diagnose(&self.operation, status, &complaint));
    }

    fn wait(&self) -> Option<i32> {
        let until = Instant::now() + GOODBYE;
        while Instant::now() < until {
            if let Ok(Some(status)) = self.child().try_wait() {
                // The thread that listens may still be reading the last words.
                std::thread::sleep(Duration::from_millis(5));
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.end();
        None
    }
}

/// The status with which ssh itself fails, as opposed to what it runs.
const SSH_FAILED: i32 = 255;

fn diagnose(operation: &Arc<Operation>, status: Option<i32>, complaint: &str) -> GitError {
    let url = &operation.url;
    let last = last_words(complaint);
    if status != Some(SSH_FAILED) {
        // We were let in; what we asked for was not there.
        return operation.gone(last);
    }
    let has = |words: &str| complaint.contains(words);
    let changed = has("REMOTE HOST IDENTIFICATION HAS CHANGED");
    if changed || has("Host key verification failed") || has("host key is known for") {
        return GitError::HostKey {
            url: url.to_string(),
            host: known_name(operation),
            changed,
            offers: offers(operation),
        };
    }
    if has("Permission denied") || has("Too many authentication failures") || has("Load key") {
        return operation.refused(last);
    }
    // Which stage was it? The connection is tried once more, without ssh.
    match connect::tcp(operation, &url.host, url.port_or_default()) {
        Err(error) => error,
        Ok(_) if has("timed out") => {
            operation.timed_out(Step::Connect);
            kept(operation)
        }
        Ok(_) => operation.unreachable(&url.host, Stage::Ssh, last),
    }
}

fn last_words(complaint: &str) -> String {
    let lines: Vec<&str> = complaint
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("Warning: Permanently added"))
        .collect();
    let fatal = lines
        .iter()
        .find(|line| line.starts_with("fatal:") || line.starts_with("ERROR"));
    fatal
        .or(lines.last())
        .map_or_else(|| "it said nothing".to_owned(), |line| (*line).to_owned())
}

// How `known_hosts` writes the host: with brackets when the port is not ssh's own.
fn known_name(operation: &Operation) -> String {
    match operation.url.port {
        Some(port) if port != 22 => format!("[{}]:{port}", operation.url.host),
        Some(_) | None => operation.url.host.clone(),
    }
}

// The lines a person could add to `known_hosts`, after comparing.
fn offers(operation: &Operation) -> Vec<String> {
    let scan = Command::new("ssh-keyscan")
        .env("LC_ALL", "C")
        .args([
            "-T",
            &operation.timeouts.connect.as_secs().clamp(1, 5).to_string(),
        ])
        .args(["-p", &operation.url.port_or_default().to_string()])
        .arg("--")
        .arg(&operation.url.host)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(scan) = scan else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&scan.stdout).into_owned();
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    // The strongest and shortest first.
    lines.sort_by_key(|line| !line.contains("ssh-ed25519"));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_the_shell_at_the_other_end() {
        assert_eq!(quoted("/srv/a b.git"), "'/srv/a b.git'");
        assert_eq!(quoted("/x'; rm -rf /'"), "'/x'\\''; rm -rf /'\\'''");
        assert_eq!(quoted("~me/app"), "~me'/app'");
        assert_eq!(quoted("~$(x)/app"), "'~$(x)/app'");
    }

    #[test]
    fn the_last_words_say_why() {
        let said = "Warning: Permanently added 'h' to the list\nfatal: '/x' does not appear to be a git repository\nmore\n";
        assert_eq!(
            last_words(said),
            "fatal: '/x' does not appear to be a git repository"
        );
        assert_eq!(last_words(""), "it said nothing");
    }
}
