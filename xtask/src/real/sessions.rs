//! The sessions of real clients: which there are, and with which programs they run.

use conformance::session::{self, Clients, Outcome, Session};
use realkube::Tool;
use std::path::Path;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Every client that has a session.
pub(crate) const NAMES: [&str; 3] = ["kubectl", "helm3", "helm4"];

/// Runs the session of a client against the cluster of a kubeconfig; `kubectl` may be another than
/// the one that is built with the real programs.
pub(crate) fn run(
    name: &str,
    kubeconfig: &Path,
    kubectl: Option<&Path>,
) -> Result<(Session, Vec<Outcome>)> {
    let tools = crate::root().join("tools");
    let helm = if name == "helm4" {
        Tool::Helm4
    } else {
        Tool::Helm3
    };
    let clients = Clients {
        kubectl: match kubectl {
            Some(given) => given.to_owned(),
            None => realkube::find(Tool::Kube, &tools)?.join("kubectl"),
        },
        helm: realkube::find(helm, &tools)?.join("helm"),
        kubeconfig: kubeconfig.to_owned(),
    };
    let session = session::load(name)?;
    let outcomes = session::run(&session, &clients)?;
    Ok((session, outcomes))
}
