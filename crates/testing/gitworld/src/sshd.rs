//! A real `sshd`, with keys of its own.

use crate::{Folder, Outcome, free_port, run, wait_for};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Where the program is, where it is installed.
const PROGRAM: &str = "/usr/sbin/sshd";

/// A running ssh server.
#[derive(Debug)]
pub struct SshServer {
    child: Child,
    port: u16,
    folder: Folder,
}

impl SshServer {
    /// Starts a server that knows one client key.
    pub fn start() -> Outcome<Self> {
        if !Path::new(PROGRAM).exists() {
            return Err(format!(
                "`{PROGRAM}` is needed here and is not installed (package openssh-server)"
            ));
        }
        let folder = Folder::new()?;
        let path = folder.path();
        for name in ["host", "client", "stranger"] {
            run(
                "ssh-keygen",
                &["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name],
                path,
            )?;
        }
        fs::copy(path.join("client.pub"), path.join("authorized")).map_err(|e| e.to_string())?;
        // The place where sshd changes into; only root can and must make it.
        let _ = fs::create_dir_all("/run/sshd");
        let port = free_port()?;
        let here = path.display();
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {here}/host\nAuthorizedKeysFile {here}/authorized\n\
             StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nPermitRootLogin yes\nAcceptEnv GIT_PROTOCOL\n"
        );
        fs::write(path.join("config"), config).map_err(|e| e.to_string())?;
        let mut child = Command::new(PROGRAM)
            .arg("-D")
            .arg("-f")
            .arg(path.join("config"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("`{PROGRAM}` cannot be started: {e}"))?;
        wait_for(port, &mut child, "sshd")?;
        Ok(Self {
            child,
            port,
            folder,
        })
    }

    /// The address of a repository.
    pub fn url(&self, path: &Path) -> Outcome<String> {
        let user = run("id", &["-un"], self.folder.path())?;
        Ok(format!(
            "ssh://{}@127.0.0.1:{}{}",
            user.trim(),
            self.port,
            path.display()
        ))
    }

    /// A private key: `client` is known to the server, `stranger` is not.
    pub fn key(&self, name: &str) -> Outcome<String> {
        fs::read_to_string(self.folder.path().join(name)).map_err(|e| e.to_string())
    }

    /// The line for `known_hosts`, with the key of the server or of another.
    pub fn known_hosts(&self, whose: &str) -> Outcome<String> {
        let key = self.key(&format!("{whose}.pub"))?;
        let words: Vec<&str> = key.split_whitespace().take(2).collect();
        Ok(format!("[127.0.0.1]:{} {}\n", self.port, words.join(" ")))
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
