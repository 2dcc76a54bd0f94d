//! `tiphys sandbox`: the embedded Kubernetes from the command line.

use crate::Output;
use crate::error::CliError;
use clap::{Args, Subcommand, ValueEnum};
use embedded::{Clock, Cluster, Options, Server, StartError, Workloads};
use model::{User, json};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;

/// The embedded Kubernetes
#[derive(Debug, Subcommand)]
pub(crate) enum Sandbox {
    /// Serve the Kubernetes API from this process until it is stopped
    ///
    /// Ready in a fraction of a second. Prints where its kubeconfig is; use it with kubectl, helm
    /// or any other client:
    ///
    ///     tiphys sandbox start --kubeconfig ./sandbox.kubeconfig &
    ///     kubectl --kubeconfig ./sandbox.kubeconfig get namespaces
    #[command(verbatim_doc_comment)]
    Start(StartArgs),
}

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Keep the cluster in this directory; without it, it lives in memory
    ///
    /// Every acknowledged write survives a crash of the process or the machine.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Write the administrator's kubeconfig here
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Let in whoever brings this bearer token: TOKEN=USER[,GROUP...]; may be given several times
    #[arg(long, value_name = "TOKEN=USER[,GROUP...]", value_parser = token)]
    token: Vec<(String, User)>,
    /// Run the cluster's time this many times as fast: Jobs, roll-outs and back-offs hurry
    #[arg(long, value_name = "FACTOR", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    speed: u32,
    /// Whether Pods are made, placed and run; without them it is an API server alone
    #[arg(long, value_name = "on|off", default_value = "on", value_enum)]
    workloads: Switch,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// Controllers, a scheduler and a scripted kubelet run.
    On,
    /// Objects are kept, nothing acts on them.
    Off,
}

fn token(text: &str) -> Result<(String, User), String> {
    let (token, who) = text
        .split_once('=')
        .ok_or("expected TOKEN=USER[,GROUP...]")?;
    let mut parts = who.split(',').map(str::to_owned);
    let name = parts
        .next()
        .filter(|n| !n.is_empty())
        .ok_or("a user name must follow the `=`")?;
    if token.is_empty() {
        return Err("the token before the `=` is empty".into());
    }
    Ok((
        token.to_owned(),
        User {
            name,
            groups: parts.collect(),
            ..User::default()
        },
    ))
}

/// The stack of each thread. Documents may nest a few hundred levels deep, and without
/// optimisation a level takes several kilobytes; what is never touched costs nothing.
const STACK_BYTES: usize = 32 << 20;

/// Runs a sandbox command.
pub(crate) fn run(command: Sandbox, output: Output) -> Result<(), CliError> {
    let Sandbox::Start(args) = command;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()
        .map_err(CliError::Runtime)?;
    runtime.block_on(start(args, output))
}

async fn start(args: StartArgs, output: Output) -> Result<(), CliError> {
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(|source| StartError::Listen {
            address: args.listen,
            source,
        })?;
    let address = listener.local_addr().unwrap_or(args.listen);
    let options = Options {
        data: args.data.clone(),
        address: address.to_string(),
        tokens: args.token,
        clock: match args.speed {
            1 => Clock::Real,
            factor => Clock::Scaled(factor),
        },
        workloads: match args.workloads {
            Switch::On => Workloads::On,
            Switch::Off => Workloads::Off,
        },
        ..Options::default()
    };
    let cluster = Cluster::open(&options)?;
    let server = Server::new(cluster, listener)?;
    let path = args
        .kubeconfig
        .unwrap_or_else(|| default_kubeconfig(args.data.as_deref(), address.port()));
    write_private(&path, &server.kubeconfig()?)?;
    announce(output, &server, &path);
    embedded::serve(server, stopped()).await;
    tracing::info!("the sandbox stopped");
    Ok(())
}

fn default_kubeconfig(data: Option<&Path>, port: u16) -> PathBuf {
    match data {
        Some(directory) => directory.join("kubeconfig"),
        None => std::env::temp_dir().join(format!("tiphys-sandbox-{port}.kubeconfig")),
    }
}

// A kubeconfig lets its reader in: only its owner may read it.
fn write_private(path: &Path, text: &str) -> Result<(), CliError> {
    let write = || -> std::io::Result<()> {
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent)?;
        }
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let mut file = options.open(path)?;
        #[cfg(unix)]
        {
            // The file may have been there before, open to others.
            use std::os::unix::fs::PermissionsExt as _;
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        file.write_all(text.as_bytes())
    };
    write().map_err(|source| CliError::Write {
        path: path.display().to_string(),
        source,
    })
}

fn announce(output: Output, server: &Server, kubeconfig: &Path) {
    let (url, shown) = (server.url(), kubeconfig.display());
    match output {
        Output::Text | Output::Yaml | Output::Name => {
            println!("sandbox ready at {url}");
            println!("kubeconfig: {shown}");
            println!("try: kubectl --kubeconfig {shown} get namespaces");
        }
        Output::Json => {
            let facts = json!({
                "url": url,
                "kubeconfig": shown.to_string(),
                "ca": server.ca(),
                "pid": std::process::id(),
            });
            println!("{facts}");
        }
    }
    // Whoever waits for these lines in a pipe must see them now.
    let _ = std::io::stdout().flush();
}

async fn stopped() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = interrupt.await;
}
