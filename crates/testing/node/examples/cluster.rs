//! A real cluster with one scripted node, until its standard input ends: prints the kubeconfig.
//! `cargo run -p node --example cluster`

use std::io::Read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plane = realkube::ControlPlane::start(&realkube::Options {
        controllers: vec!["*".into()],
        ..Default::default()
    })?;
    let _node = node::Node::start(node::Options::new(&plane.kubeconfig, "node-1"))?;
    println!("{}", plane.kubeconfig.display());
    println!("{}", plane.programs.display());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
