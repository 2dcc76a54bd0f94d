//! Our own server, started as its users start it.

use conformance::Target;
use realkube::{ADMIN_TOKEN, USER_TOKEN};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const START_MAX: Duration = Duration::from_secs(20);

/// A running sandbox; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sandbox {
    child: Child,
    folder: PathBuf,
    /// A kubeconfig with the token of the administrator, as that of a real control plane.
    pub(crate) kubeconfig: PathBuf,
    pub(crate) target: Target,
}

impl Sandbox {
    /// Starts `tiphys sandbox start` and waits until it says where it is.
    pub(crate) fn start(program: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let folder =
            std::env::temp_dir().join(format!("tiphys-sandbox-test-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let own = folder.join("own");
        let mut child = Command::new(program)
            .args([
                "sandbox",
                "start",
                "-o",
                "json",
                "--loglevel",
                "warn",
                "--kubeconfig",
            ])
            .arg(&own)
            .args(["--token", &format!("{ADMIN_TOKEN}=admin,system:masters")])
            .args(["--token", &format!("{USER_TOKEN}=somebody")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take();
        let mut sandbox = Self {
            child,
            kubeconfig: folder.join("kubeconfig"),
            folder,
            target: Target::default(),
        };
        let said = first_line(output)?;
        let said: Value = serde_json::from_str(&said)?;
        let url = said["url"].as_str().ok_or("the sandbox names no address")?;
        let authority = authority(&fs::read_to_string(&own)?)?;
        fs::write(&sandbox.kubeconfig, kubeconfig(url, &authority))?;
        sandbox.target = Target {
            url: url.to_owned(),
            ca_pem: String::from_utf8(decode(&authority).ok_or("no base64")?)?,
            admin_token: ADMIN_TOKEN.into(),
            user_token: USER_TOKEN.into(),
            ..Target::default()
        };
        Ok(sandbox)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn first_line(
    output: Option<std::process::ChildStdout>,
) -> Result<String, Box<dyn std::error::Error>> {
    let output = output.ok_or("the sandbox has no output")?;
    let (send, receive) = mpsc::channel();
    // The rest is read on, so that the sandbox never waits for us.
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    let said = receive.recv_timeout(START_MAX);
    said.map_err(|_| "the sandbox did not start in time".into())
}

// The kubeconfig is ours: the line is there, and in this form.
fn authority(kubeconfig: &str) -> Result<String, Box<dyn std::error::Error>> {
    let line = kubeconfig
        .lines()
        .find_map(|line| line.trim().strip_prefix("certificate-authority-data:"))
        .ok_or("the kubeconfig names no authority")?;
    Ok(line.trim().trim_matches('"').to_owned())
}

fn kubeconfig(url: &str, authority: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
         clusters:\n- name: here\n  cluster:\n    server: {url}\n    certificate-authority-data: {authority}\n\
         contexts:\n- name: here\n  context:\n    cluster: here\n    user: admin\n\
         users:\n- name: admin\n  user:\n    token: {ADMIN_TOKEN}\n"
    )
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut word, mut bits) = (0u32, 0);
    for letter in text.bytes().take_while(|b| *b != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        word = (word << 6) | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        assert_eq!(decode("YWI="), Some(b"ab".to_vec()));
        assert_eq!(decode("LS0tLS1CRUdJTiA="), Some(b"-----BEGIN ".to_vec()));
        assert_eq!(decode("a b"), None);
    }

    #[test]
    fn the_authority_is_found() {
        let text = "clusters:\n- cluster:\n    certificate-authority-data: YWI=\n";
        assert_eq!(authority(text).unwrap(), "YWI=");
        assert!(authority("").is_err());
    }
}
