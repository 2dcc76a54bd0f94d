//! Our own program, started as users start it.

use crate::root;
use crate::run::{cargo, step};
use conformance::Target;
use realkube::{ADMIN_TOKEN, USER_TOKEN};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

const START_MAX: Duration = Duration::from_secs(20);

/// A running sandbox; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sandbox {
    child: Child,
    folder: PathBuf,
    /// A kubeconfig with the administrator's token, as that of a real control plane.
    pub(crate) kubeconfig: PathBuf,
    /// How to reach it.
    pub(crate) target: Target,
}

/// How the program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Debug,
    Release,
}

impl Sandbox {
    /// Builds the program and starts a sandbox in memory, with the tokens tests use: an API server
    /// alone, as the real ones that recordings are made of.
    pub(crate) fn start(profile: Profile) -> Result<Self, Box<dyn std::error::Error>> {
        Self::with(profile, &["--workloads", "off"])
    }

    /// The same with controllers, scheduler and kubelet.
    pub(crate) fn with_workloads(profile: Profile) -> Result<Self, Box<dyn std::error::Error>> {
        Self::with(profile, &[])
    }

    fn with(profile: Profile, more: &[&str]) -> Result<Self, Box<dyn std::error::Error>> {
        let mut build = cargo();
        build.args(["build", "--package", "cli", "--quiet"]);
        if profile == Profile::Release {
            build.arg("--release");
        }
        step("building tiphys", &mut build)?;
        let folder = temporary();
        fs::create_dir_all(&folder)?;
        let mut child = Command::new(program(profile))
            .args(["sandbox", "start", "--output", "json", "--loglevel", "warn"])
            .arg("--kubeconfig")
            .arg(folder.join("own"))
            .args(["--token", &format!("{ADMIN_TOKEN}=admin,system:masters")])
            .args(["--token", &format!("{USER_TOKEN}=somebody")])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take();
        let mut sandbox = Self {
            child,
            kubeconfig: folder.join("kubeconfig"),
            target: Target::default(),
            folder,
        };
        let said: Value = serde_json::from_str(&first_line(output)?)?;
        let text = |field: &str| said[field].as_str().unwrap_or("").to_owned();
        sandbox.target = Target {
            url: text("url"),
            ca_pem: text("ca"),
            admin_token: ADMIN_TOKEN.into(),
            user_token: USER_TOKEN.into(),
            ..Target::default()
        };
        let authority = sandbox.folder.join("ca.pem");
        fs::write(&authority, text("ca"))?;
        let shown = kubeconfig(&text("url"), &authority.display().to_string());
        fs::write(&sandbox.kubeconfig, shown)?;
        Ok(sandbox)
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The kubeconfig that the program wrote itself.
    pub(crate) fn own_kubeconfig(&self) -> PathBuf {
        self.folder.join("own")
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn temporary() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tiphys-xtask-{}-{count}", std::process::id()))
}

pub(crate) fn program(profile: Profile) -> PathBuf {
    let folder = match profile {
        Profile::Debug => "debug",
        Profile::Release => "release",
    };
    target().join(folder).join("tiphys")
}

/// Where cargo puts a program it builds for tests.
pub(crate) fn built(name: &str) -> PathBuf {
    target().join("debug").join(name)
}

fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| root().join("target"), PathBuf::from)
}

fn first_line(output: Option<ChildStdout>) -> Result<String, Box<dyn std::error::Error>> {
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

fn kubeconfig(url: &str, authority: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
         clusters:\n- name: here\n  cluster:\n    server: {url}\n    certificate-authority: {authority}\n\
         contexts:\n- name: here\n  context:\n    cluster: here\n    user: admin\n\
         users:\n- name: admin\n  user:\n    token: {ADMIN_TOKEN}\n"
    )
}
