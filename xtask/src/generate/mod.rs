//! `cargo xtask generate`: writes what the project takes over from a real API server.
//!
//! Starts a fresh kube-apiserver and asks it for its version, its resources, the shapes of its
//! objects, the columns of its tables and the objects it makes by itself. Texts for people
//! (descriptions) are left out. The result is one compressed JSON file.

mod bootstrap;
mod columns;
mod discovery;
mod schemas;

use crate::Outcome;
use realkube::{ControlPlane, Options};
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{Client, Request};

/// Strongest level: the file is made once and read often.
const LEVEL: i32 = 22;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Also write the plain JSON there, to look at
    #[arg(long, value_name = "FILE")]
    plain: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = Options {
        modules: Some(crate::root().join("tools")),
        ..Options::default()
    };
    let plane = ControlPlane::start(&options)?;
    let client = plane.client()?;
    let groups = discovery::read(&client)?;
    let resources = discovery::listable(&groups);
    let catalogue = json!({
        "version": fetch(&client, "/version", None)?,
        "discovery": groups,
        "schemas": schemas::read(&client)?,
        "columns": columns::read(&client, &resources)?,
        "bootstrap": bootstrap::read(&client, &resources)?,
    });
    let text = catalogue.to_string();
    if let Some(path) = &arguments.plain {
        std::fs::write(path, &text)?;
    }
    let packed = zstd::bulk::compress(text.as_bytes(), LEVEL)?;
    let path = crate::root().join("crates/cluster/kinds/data/builtin.json.zst");
    std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
    std::fs::write(&path, &packed)?;
    println!(
        "{}: {} bytes, {} unpacked",
        path.display(),
        packed.len(),
        text.len()
    );
    Ok(())
}

/// Asks for a path and insists on a JSON answer.
pub(crate) fn fetch(
    client: &Client,
    path: &str,
    accept: Option<&str>,
) -> Result<Value, Box<dyn std::error::Error>> {
    let mut request = Request::new("GET", path);
    if let Some(accept) = accept {
        request = request.header("Accept", accept);
    }
    let answer = client.send(&request)?;
    if answer.status != 200 {
        return Err(format!("GET {path}: {} {}", answer.status, answer.text()).into());
    }
    Ok(serde_json::from_slice(&answer.body)?)
}
