//! Real Git servers on this machine, and repositories to put behind them.
//!
//! ```text
//! Repo (made with git) ── HttpServer (git http-backend) · SshServer (sshd) · Daemon (git daemon)
//! ```
//! Whatever is started here listens on loopback only and ends with the value that stands for it.

mod cgi;
mod daemon;
mod http;
mod proxy;
mod repo;
mod sshd;
mod tls;

pub use daemon::Daemon;
pub use http::{Auth, HttpServer, ServerOptions};
pub use proxy::Proxy;
pub use repo::{Folder, Repo};
pub use sshd::SshServer;
pub use tls::{Authority, Identity};

/// What went wrong, in words.
pub type Outcome<T = ()> = Result<T, String>;

/// Runs a program and gives what it prints; what it complains about becomes the error.
pub fn run(program: &str, arguments: &[&str], directory: &std::path::Path) -> Outcome<String> {
    let output = repo::command(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .map_err(|e| format!("`{program}` is needed here and cannot be started: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} {}: {said}", arguments.join(" ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> Outcome<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    listener
        .local_addr()
        .map(|a| a.port())
        .map_err(|e| e.to_string())
}

/// Waits until something listens on a port and the program that should is still there.
pub(crate) fn wait_for(port: u16, child: &mut std::process::Child, what: &str) -> Outcome {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while std::time::Instant::now() < until {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(());
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("{what} ended at once with {status}"));
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Err(format!("{what} does not listen on port {port}"))
}
