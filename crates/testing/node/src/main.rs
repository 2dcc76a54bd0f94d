//! `node KUBECONFIG [NAME]`: joins a cluster as a node and stays until it is killed.

use node::{Node, Options};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(kubeconfig) = arguments.next() else {
        eprintln!("usage: node KUBECONFIG [NAME]");
        return ExitCode::from(2);
    };
    let name = arguments.next().unwrap_or_else(|| "node-1".to_owned());
    match Node::start(Options::new(kubeconfig, name)) {
        Ok(node) => {
            node.wait();
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            let mut cause = std::error::Error::source(&error);
            while let Some(error) = cause {
                eprintln!("  because: {error}");
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}
