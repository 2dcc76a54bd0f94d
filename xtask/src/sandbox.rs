//! Our own program, started as users start it.

use crate::root;
use crate::run::{cargo, step};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running sandbox; stops when dropped.
pub(crate) struct Sandbox {
    child: Child,
    /// `https://host:port`.
    pub(crate) url: String,
    /// The certificate of its authority, PEM.
    pub(crate) ca_pem: String,
    /// Its administrator's kubeconfig.
    pub(crate) kubeconfig: PathBuf,
    folder: PathBuf,
}

/// How the program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Debug,
    Release,
}

impl Sandbox {
    /// Builds the program and starts a sandbox in memory, with the tokens tests use.
    pub(crate) fn start(profile: Profile) -> Result<Self, Box<dyn std::error::Error>> {
        let mut build = cargo();
        build.args(["build", "--package", "cli", "--quiet"]);
        if profile == Profile::Release {
            build.arg("--release");
        }
        step("building tiphys", &mut build)?;
        let folder = std::env::temp_dir().join(format!("tiphys-xtask-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let kubeconfig = folder.join("sandbox.kubeconfig");
        let mut child = Command::new(program(profile))
            .args([
                "sandbox",
                "start",
                "--output",
                "json",
                "--loglevel",
                "warn",
                "--kubeconfig",
            ])
            .arg(&kubeconfig)
            .args([
                "--token",
                &format!("{}=admin,system:masters", realkube::ADMIN_TOKEN),
            ])
            .args(["--token", &format!("{}=somebody", realkube::USER_TOKEN)])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("the sandbox has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line)
            .map_err(|_| format!("the sandbox did not start; it said: {line:?}"))?;
        let url = said["url"].as_str().unwrap_or("").to_owned();
        let ca_pem = said["ca"].as_str().unwrap_or("").to_owned();
        Ok(Self {
            child,
            url,
            ca_pem,
            kubeconfig,
            folder,
        })
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn program(profile: Profile) -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = match profile {
        Profile::Debug => "debug",
        Profile::Release => "release",
    };
    target.join(folder).join("tiphys")
}
