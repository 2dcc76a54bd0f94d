//! Puts load on a Kubernetes API server and says how it bears it.
//!
//! Takes kubeconfigs, gives Markdown tables. Everything is counted and timed out, and only servers on this
//! machine are touched: one writes a lot here.
//!
//! ```text
//! kubeconfig ── target ──▶ client ──▶ load, watchers, memory ──▶ report
//! ```

mod client;
mod deployments;
mod error;
mod kustomize;
mod load;
mod memory;
mod report;
mod sample;
mod target;
mod watchers;

use clap::{Args, Parser, Subcommand};
use error::BenchError;
use report::Table;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use target::Target;

/// Measure Kubernetes API servers on this machine
#[derive(Debug, Parser)]
#[command(name = "tiphys-bench", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Give up after this many seconds
    #[arg(long, global = true, default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..=7200))]
    timeout_s: u64,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create, read and patch ConfigMaps of 1 KiB, one at a time and 32 at a time
    Load {
        #[command(flatten)]
        server: ServerArgs,
        #[command(flatten)]
        load: LoadArgs,
    },
    /// Let many watchers follow one namespace and measure how late they hear of a write
    Watchers {
        #[command(flatten)]
        server: ServerArgs,
        #[command(flatten)]
        watch: WatchArgs,
    },
    /// Create many ConfigMaps and read from `/proc` what the server's processes grew by
    Memory {
        #[command(flatten)]
        server: ServerArgs,
        #[command(flatten)]
        memory: MemoryArgs,
        /// Processes of the server, as `12,34`
        #[arg(long, value_delimiter = ',', required = true)]
        pids: Vec<u32>,
    },
    /// Build overlays with the real kustomize, with our program and with our library
    Kustomize {
        #[command(flatten)]
        kustomize: kustomize::KustomizeArgs,
    },
    /// Let Deployments of two replicas come to rest in an embedded cluster in this process
    Deployments {
        /// How many; several sizes show how the cost grows
        #[arg(long, value_delimiter = ',', default_values_t = [500, 5000])]
        count: Vec<u32>,
    },
    /// Run the same against two servers and print both with the ratio
    Compare {
        /// Kubeconfig of the real control plane
        #[arg(long)]
        real: PathBuf,
        /// Kubeconfig of the sandbox
        #[arg(long)]
        sandbox: PathBuf,
        /// Processes of the real control plane; without them memory is not compared
        #[arg(long, value_delimiter = ',')]
        real_pids: Vec<u32>,
        /// Processes of the sandbox
        #[arg(long, value_delimiter = ',')]
        sandbox_pids: Vec<u32>,
        #[command(flatten)]
        load: LoadArgs,
        #[command(flatten)]
        watch: WatchArgs,
        #[command(flatten)]
        memory: MemoryArgs,
    },
}

/// Which server.
#[derive(Debug, Args)]
struct ServerArgs {
    /// Kubeconfig with one cluster and one user
    #[arg(long, required_unless_present = "server")]
    kubeconfig: Option<PathBuf>,
    /// Address, as `https://127.0.0.1:6443`
    #[arg(long, conflicts_with = "kubeconfig")]
    server: Option<String>,
    /// Bearer token
    #[arg(long, requires = "server")]
    token: Option<String>,
    /// File with the certificate authority
    #[arg(long, requires = "server")]
    ca: Option<PathBuf>,
}

impl ServerArgs {
    fn target(&self) -> Result<Target, BenchError> {
        match (&self.kubeconfig, &self.server) {
            (Some(path), _) => Target::from_kubeconfig(path),
            (None, Some(server)) => {
                Target::from_parts(server, self.token.as_deref(), self.ca.as_deref())
            }
            (None, None) => Err(BenchError::config("there is neither kubeconfig nor server")),
        }
    }
}

/// How much load.
#[derive(Clone, Debug, Args)]
struct LoadArgs {
    /// Requests per verb and concurrency
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    requests: u32,
    /// How many requests are under way at once, as `1,32`
    #[arg(long, value_delimiter = ',', default_values_t = [1, 32], value_parser = clap::value_parser!(u32).range(1..=1024))]
    concurrency: Vec<u32>,
}

/// How many watchers.
#[derive(Clone, Debug, Args)]
struct WatchArgs {
    /// Watchers, each on a connection of its own
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    watchers: u32,
    /// Writes that they hear of
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    events: u32,
}

/// How many objects.
#[derive(Clone, Debug, Args)]
struct MemoryArgs {
    /// ConfigMaps of 1 KiB
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    objects: u32,
    /// Fill them with text, which compresses, instead of random letters
    #[arg(long)]
    text: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(table) => {
            print!("{}", table.markdown());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {}", error::chain(&error));
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(cli: Cli) -> Result<Table, BenchError> {
    let limit = Duration::from_secs(cli.timeout_s);
    tokio::time::timeout(limit, perform(cli.command))
        .await
        .map_err(|_| BenchError::Timeout {
            seconds: limit.as_secs(),
        })?
}

async fn perform(command: Command) -> Result<Table, BenchError> {
    match command {
        Command::Kustomize { kustomize } => kustomize::run(&kustomize),
        Command::Load { server, load } => {
            let rows = load::run(&server.target()?, &load).await?;
            Ok(Table::single(rows))
        }
        Command::Deployments { count } => Ok(Table::single(deployments::run(&count).await?)),
        Command::Watchers { server, watch } => {
            let rows = watchers::run(&server.target()?, &watch).await?;
            Ok(Table::single(rows))
        }
        Command::Memory {
            server,
            memory,
            pids,
        } => {
            let rows = memory::run(&server.target()?, &memory, &pids).await?;
            Ok(Table::single(rows))
        }
        Command::Compare {
            real,
            sandbox,
            real_pids,
            sandbox_pids,
            load,
            watch,
            memory,
        } => {
            let measure = async |path: &PathBuf, pids: &[u32]| {
                let target = Target::from_kubeconfig(path)?;
                let mut rows = load::run(&target, &load).await?;
                rows.extend(watchers::run(&target, &watch).await?);
                if !pids.is_empty() {
                    rows.extend(memory::run(&target, &memory, pids).await?);
                }
                Ok::<_, BenchError>(rows)
            };
            let real = measure(&real, &real_pids).await?;
            let sandbox = measure(&sandbox, &sandbox_pids).await?;
            Ok(Table::pair(real, sandbox))
        }
    }
}
