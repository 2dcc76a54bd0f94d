//! The scripted kubelet as a node of a real cluster.
//!
//! ```text
//! kube-apiserver ── watches ──▶ Agent ── kubelet::step ──▶ statuses, events, deletions
//! kubectl logs ──▶ kube-apiserver ── /containerLogs ──▶ server
//! ```
//!
//! [`Node::start`] registers a Node, keeps its Lease, runs the Pods bound to it and serves their logs
//! on loopback, until it is dropped.

mod agent;
mod api;
mod cache;
mod lives;
mod records;
mod server;
mod time;
mod watch;

use std::path::PathBuf;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Which cluster to join, and as what.
#[derive(Clone, Debug)]
pub struct Options {
    /// How to reach the cluster, as somebody who may do everything.
    pub kubeconfig: PathBuf,
    /// The Node's name.
    pub name: String,
    /// `status.capacity.cpu`.
    pub cpu: String,
    /// `status.capacity.memory`.
    pub memory: String,
    /// How many Pods fit.
    pub pods: u32,
    /// Further labels of the Node.
    pub labels: Vec<(String, String)>,
}

impl Options {
    /// A node of ordinary size.
    pub fn new(kubeconfig: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Self {
            kubeconfig: kubeconfig.into(),
            name: name.into(),
            cpu: "8".into(),
            memory: "32Gi".into(),
            pods: 110,
            labels: Vec::new(),
        }
    }
}

/// Why a node could not join its cluster.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig `{path}`")]
    Kubeconfig {
        /// Where it is.
        path: String,
        /// Why not.
        source: kube::config::KubeconfigError,
    },
    /// The API server refused or did not answer.
    #[error("cannot {what}")]
    Api {
        /// What was tried.
        what: String,
        /// Why not.
        source: Box<kube::Error>,
    },
    /// No server for logs.
    #[error("cannot {what}: {why}")]
    Server {
        /// What was tried.
        what: &'static str,
        /// Why not.
        why: String,
    },
}

/// A running node; it ends when this is dropped.
#[derive(Debug)]
pub struct Node {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    /// Joins a cluster and waits until the Node is registered and ready.
    pub fn start(options: Options) -> Result<Self, NodeError> {
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => {
                    let _ = ready.send(Err(server_error("start a runtime")(error)));
                    return;
                }
            };
            runtime.block_on(async move {
                match agent::Agent::join(&options).await {
                    Ok(agent) => {
                        let _ = ready.send(Ok(()));
                        tokio::select! {
                            () = agent.run() => {}
                            _ = stopped => {}
                        }
                    }
                    Err(error) => {
                        let _ = ready.send(Err(error));
                    }
                }
            });
        });
        match is_ready.recv() {
            Ok(Ok(())) => Ok(Self {
                stop: Some(stop),
                thread: Some(thread),
            }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(NodeError::Server {
                what: "start the node",
                why: "its thread ended".into(),
            }),
        }
    }

    /// Runs until the process ends; for a program of its own.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // A node that ended by itself has said why.
            let _ = thread.join();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) fn server_error<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> NodeError {
    move |error| NodeError::Server {
        what,
        why: error.to_string(),
    }
}
