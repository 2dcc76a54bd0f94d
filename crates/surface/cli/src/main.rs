//! The `tiphys` command: parses what was typed, asks the right part of the program, shows the answer.

mod commands;
mod error;
mod view;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use error::CliError;
use std::process::ExitCode;

/// Objects are trees of small pieces that one thread makes and another drops: the system's
/// allocator spends a fifth of the API server's time on that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Steers Kubernetes from Git, and says why when it cannot
///
/// Tiphys is a GitOps engine that speaks Argo CD's dialect and brings its own embedded Kubernetes.
/// Start with `tiphys sandbox start`: it needs no cluster, no Docker and no network.
#[derive(Debug, Parser)]
#[command(name = "tiphys", version = VERSION, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    /// What to log: error, warn, info, debug or trace; RUST_LOG gives finer control
    #[arg(long, global = true, value_enum, default_value = "info")]
    loglevel: LogLevel,
    /// How results are printed
    #[arg(
        short = 'o',
        long = "output",
        global = true,
        value_enum,
        default_value = "text"
    )]
    output: Output,
    #[command(subcommand)]
    command: Command,
}

/// The version with the commit it was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("TIPHYS_COMMIT"), ")");

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// For programs: one JSON value per line.
    Json,
    /// Manifests; of commands that print manifests.
    Yaml,
    /// Names of objects only; of commands that print manifests.
    Name,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The embedded Kubernetes
    #[command(subcommand)]
    Sandbox(commands::sandbox::Sandbox),
    Render(Box<commands::render::RenderArgs>),
    /// What Helm does, without Helm
    #[command(subcommand)]
    Helm(commands::helm::Helm),
    /// What Kustomize does, without Kustomize
    #[command(subcommand)]
    Kustomize(commands::kustomize::Kustomize),
    /// Print a completion script for a shell
    ///
    /// For bash: `source <(tiphys completion bash)`.
    Completion {
        /// The shell to complete in
        shell: clap_complete::Shell,
    },
    /// Print the version of this program
    Version,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log(cli.loglevel);
    let output = cli.output;
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.report(output);
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<(), CliError> {
    match cli.command {
        Command::Sandbox(command) => commands::sandbox::run(command, cli.output),
        Command::Render(args) => commands::render::run(&args, cli.output),
        Command::Helm(command) => commands::helm::run(command),
        Command::Kustomize(command) => commands::kustomize::run(command),
        Command::Completion { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "tiphys", &mut std::io::stdout());
            Ok(())
        }
        Command::Version => {
            match cli.output {
                Output::Text | Output::Yaml | Output::Name => println!("tiphys {VERSION}"),
                Output::Json => println!(
                    "{}",
                    model::json!({"version": env!("CARGO_PKG_VERSION"), "commit": env!("TIPHYS_COMMIT")})
                ),
            }
            Ok(())
        }
    }
}

fn start_log(level: LogLevel) {
    use tracing_subscriber::EnvFilter;
    let word = match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(word));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}
