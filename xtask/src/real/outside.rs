//! What a real control plane needs beside itself: a node, a provisioner of volumes and metrics.
//!
//! The scripted kubelet is a program of its own; the provisioner and the metrics run in threads of
//! this process, or of a process in the background (`cargo xtask real outside`) after `up`.

use crate::Outcome;
use crate::run::{cargo, step};
use realkube::Metrics;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::Client;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How long a node may take to be ready.
const READY_MAX: Duration = Duration::from_secs(30);
/// The name of the node, as in the embedded cluster.
const NODE: &str = "sandbox";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where the files of the control plane are
    folder: PathBuf,
}

/// `cargo xtask real outside`: stays until it is killed.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let _metrics = assist(&arguments.folder)?;
    loop {
        std::thread::park();
    }
}

/// A node and its helpers; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Outside {
    node: Child,
    _metrics: Metrics,
}

impl Outside {
    /// Starts them for the control plane of a folder.
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        let mut command = node(folder)?;
        let metrics = assist(folder)?;
        let outside = Self {
            node: command.spawn()?,
            _metrics: metrics,
        };
        ready(&client(folder)?)?;
        Ok(outside)
    }
}

// Waits until the node takes Pods: a fresh one is tainted until it was seen to be ready.
fn ready(client: &Client) -> Result<()> {
    let until = Instant::now() + READY_MAX;
    let path = format!("/api/v1/nodes/{NODE}");
    while Instant::now() < until {
        let node = client.get(&path)?.json().unwrap_or_default();
        let mut conditions = node["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten();
        let is_ready = conditions.any(|c| c["type"] == "Ready" && c["status"] == "True");
        if is_ready && node["spec"]["taints"].is_null() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err("the node was not ready in time; its words are in node.log".into())
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

/// Starts them in the background; gives the ids of their processes.
pub(crate) fn detach(folder: &Path) -> Result<[u32; 2]> {
    let node = node(folder)?.spawn()?;
    let log = File::create(folder.join("outside.log"))?;
    let helpers = Command::new(std::env::current_exe()?)
        .args(["real", "outside"])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    Ok([node.id(), helpers.id()])
}

// The command of the scripted kubelet, built.
fn node(folder: &Path) -> Result<Command> {
    let mut build = cargo();
    step(
        "building the node",
        build.args(["build", "--package", "node", "--quiet"]),
    )?;
    let log = File::create(folder.join("node.log"))?;
    let mut command = Command::new(crate::sandbox::built("node"));
    command
        .arg(folder.join("kubeconfig"))
        .arg(NODE)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    Ok(command)
}

fn assist(folder: &Path) -> Result<Metrics> {
    let provisioner = client(folder)?;
    std::thread::spawn(move || realkube::provision(&provisioner));
    Ok(Metrics::start(client(folder)?)?)
}

/// A client of the control plane of a folder, as its administrator.
pub(crate) fn client(folder: &Path) -> Result<Client> {
    let text = std::fs::read_to_string(folder.join("kubeconfig"))?;
    let mut lines = text.lines();
    let url = lines.find_map(|line| line.trim().strip_prefix("server: "));
    let url = url.ok_or("the kubeconfig names no server")?;
    let ca = std::fs::read_to_string(folder.join("ca.crt"))?;
    Ok(Client::new(url, &ca, Some(realkube::ADMIN_TOKEN))?)
}
