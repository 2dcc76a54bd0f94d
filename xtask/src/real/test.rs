//! `cargo xtask real test`: the recordings and the sessions against a server.
//!
//! Without a server it starts a real one, which proves that two real servers agree in everything
//! that is compared; with one, as the sandbox, it proves that server.

use super::{plane, sessions};
use crate::Outcome;
use conformance::{Target, session};
use realkube::{ADMIN_TOKEN, USER_TOKEN};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Address of the server to test (`https://host:port`); a fresh real one when not given
    #[arg(long, requires = "ca", requires = "kubeconfig")]
    url: Option<String>,
    /// File with the certificate of its authority
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Kubeconfig of its administrator
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Token of a member of `system:masters` called `admin`
    #[arg(long, default_value = ADMIN_TOKEN)]
    token: String,
    /// Token of `somebody`, who may do nothing
    #[arg(long, default_value = USER_TOKEN)]
    user_token: String,
    /// Only these parts: `replay`, `kubectl`, `helm3`, `helm4`
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    only: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let wanted = |part: &str| arguments.only.is_empty() || arguments.only.iter().any(|p| p == part);
    let given = given(arguments)?;
    let (fixtures, allowed) = conformance::committed()?;
    // What we allow ourselves is not allowed to a real server.
    let allowed = if given.is_some() { allowed } else { Vec::new() };
    let mut summary = Vec::new();
    let mut good = true;
    if wanted("replay") {
        let report = match &given {
            Some((target, _)) => conformance::replay(target, &fixtures, &allowed)?,
            None => conformance::replay(&plane::Pair::start()?.target(), &fixtures, &allowed)?,
        };
        println!("{report}");
        good &= report.is_good();
        summary.push(("replay".to_owned(), report));
    }
    for name in sessions::NAMES.into_iter().filter(|name| wanted(name)) {
        let (session, got) = match &given {
            Some((_, kubeconfig)) => sessions::run(name, kubeconfig)?,
            None => sessions::run(name, &plane::basic()?.kubeconfig)?,
        };
        let expected = session::expected(&session)?;
        let report = session::compare(&session, &expected, &got, &allowed);
        println!("{report}");
        good &= report.is_good();
        summary.push((name.to_owned(), report));
    }
    println!("\nsummary");
    for (name, report) in &summary {
        let fine = report
            .verdicts
            .iter()
            .filter(|v| v.wrong.is_empty())
            .count();
        let allowed: usize = report.verdicts.iter().map(|v| v.allowed).sum();
        let (all, stale) = (report.verdicts.len(), report.stale.len());
        println!("  {name:8} {fine:4} of {all:4} agree, {allowed} allowed, {stale} stale");
    }
    if good {
        Ok(())
    } else {
        Err("the server differs from a real one".into())
    }
}

type Given = Option<(Target, PathBuf)>;

fn given(arguments: &Arguments) -> Result<Given, Box<dyn std::error::Error>> {
    let (Some(url), Some(ca), Some(kubeconfig)) =
        (&arguments.url, &arguments.ca, &arguments.kubeconfig)
    else {
        return Ok(None);
    };
    let target = Target {
        url: url.clone(),
        ca_pem: std::fs::read_to_string(ca)?,
        admin_token: arguments.token.clone(),
        user_token: arguments.user_token.clone(),
        ..Target::default()
    };
    Ok(Some((target, kubeconfig.clone())))
}
