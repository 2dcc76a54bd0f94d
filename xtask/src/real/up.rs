//! `cargo xtask real up`.

use crate::Outcome;
use realkube::{ControlPlane, Options};
use std::fs;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Controllers to run, comma separated (`none` is none); without it all run, with the scheduler
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    controllers: Vec<String>,
    /// A flag for kube-apiserver, may be given again
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    apiserver_flag: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    super::down::run()?;
    let base = match arguments.controllers.as_slice() {
        [] => Options::with_workloads(),
        [one] if one == "none" => Options::default(),
        named => Options {
            controllers: named.to_vec(),
            ..Options::default()
        },
    };
    let options = Options {
        modules: Some(crate::root().join("tools")),
        folder: Some(super::folder()),
        apiserver_flags: arguments.apiserver_flag.clone(),
        ..base
    };
    let plane = ControlPlane::start(&options)?;
    let programs = plane.programs.display().to_string();
    fs::write(super::folder().join("programs"), programs)?;
    println!("{} is ready", plane.url);
    println!("export KUBECONFIG={}", plane.kubeconfig.display());
    let mut ids = plane.detach();
    keep(&ids)?;
    if arguments.controllers.is_empty() {
        ids.extend(super::outside::detach(&super::folder())?);
        keep(&ids)?;
    }
    Ok(())
}

fn keep(ids: &[u32]) -> Outcome {
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    Ok(fs::write(super::ids_file(), ids.join("\n"))?)
}
