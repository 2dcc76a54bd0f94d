//! `tiphys helm template`: what `helm template` prints, without Helm.

use crate::error::CliError;
use clap::{Args, Subcommand};
use helm::command::{Outcome, Template, World};
use helm::{Capabilities, Chart, Flavour, HelmError, Rendered};
use model::SourceTree;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

mod cluster;
mod fetch;
mod host;

/// Which program may render what we refuse; empty means that nobody may.
const EXEC_SETTING: &str = "TIPHYS_HELM_EXEC";
/// How much work a chart may make of one command.
const STEPS_MAX: u64 = 20_000_000_000;
/// Whose habits count: `v3` or `v4`.
const FLAVOUR_SETTING: &str = "TIPHYS_HELM_FLAVOUR";

/// What Helm does, without Helm
#[derive(Debug, Subcommand)]
pub(crate) enum Helm {
    /// Render a chart and print the same bytes as `helm template`
    ///
    /// Takes Helm's flags as they are: -f, --set, --set-string, --set-json, --set-file,
    /// --set-literal, -n, --kube-version, -a/--api-versions, --include-crds, --skip-tests,
    /// --no-hooks, -s/--show-only, --is-upgrade, --name-template, --release-name, --output-dir,
    /// --repo, --version, --username, --password, --ca-file, --cert-file, --key-file,
    /// --insecure-skip-tls-verify, --pass-credentials, --plain-http, --validate, --kubeconfig,
    /// --kube-context, --skip-schema-validation, --debug.
    ///
    /// TIPHYS_HELM_FLAVOUR=v4 prints as Helm 4 does; the default is Helm 3, which Argo CD ships.
    /// TIPHYS_HELM_EXEC=/path/to/helm lets that program render what Tiphys refuses.
    #[command(verbatim_doc_comment, disable_help_flag = true)]
    Template(TemplateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TemplateArgs {
    /// [NAME] CHART and Helm's flags
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "[NAME] CHART [FLAGS]"
    )]
    arguments: Vec<String>,
}

pub(crate) fn run(command: Helm) -> Result<(), CliError> {
    let Helm::Template(TemplateArgs { arguments }) = command;
    let flavour = match std::env::var(FLAVOUR_SETTING).as_deref() {
        Ok("v4") => Flavour::V4,
        _ => Flavour::V3,
    };
    let template = helm::command::parse(&arguments).map_err(CliError::Helm)?;
    let mut here = Here {
        flavour,
        ..Here::default()
    };
    match helm::command::run(&template, flavour, &mut here) {
        Ok(outcome) => show(&outcome),
        Err(refused) => exec(&arguments, &refused),
    }
}

/// What `helm template` prints for these arguments; `files` are values that stand in no folder.
pub(crate) fn template(
    arguments: &[String],
    files: std::collections::BTreeMap<String, Vec<u8>>,
) -> Result<String, String> {
    let template = helm::command::parse(arguments)?;
    let mut here = Here {
        flavour: Flavour::V3,
        files,
    };
    let outcome =
        helm::command::run(&template, Flavour::V3, &mut here).map_err(|error| error.to_string())?;
    if outcome.code == 0 {
        Ok(outcome.stdout)
    } else {
        Err(outcome.stderr)
    }
}

/// The default values of the chart that these arguments name.
pub(crate) fn default_values(arguments: &[String]) -> Result<String, String> {
    let template = helm::command::parse(arguments)?;
    let name = template.arguments.last().cloned().unwrap_or_default();
    let mut here = Here::default();
    let chart = here
        .chart(&name, &template)
        .map_err(|error| error.to_string())?;
    Ok(yaml::to_string(&model::Value::Object(chart.values)))
}

/// The bytes of a remote file.
pub(crate) fn fetch_file(url: &str) -> Result<Vec<u8>, String> {
    fetch::file(url)
}

fn show(outcome: &Outcome) -> Result<(), CliError> {
    let fault = |source| CliError::Write {
        path: "standard output".into(),
        source,
    };
    std::io::stdout()
        .write_all(outcome.stdout.as_bytes())
        .map_err(fault)?;
    eprint!("{}", outcome.stderr);
    if outcome.code == 0 {
        Ok(())
    } else {
        Err(CliError::Silent)
    }
}

// The way out for what we refuse, when somebody opened it.
fn exec(arguments: &[String], refused: &HelmError) -> Result<(), CliError> {
    let program = std::env::var(EXEC_SETTING).unwrap_or_default();
    if program.is_empty() {
        let hint = format!("{refused}\n\nset {EXEC_SETTING} to a helm program to let it do this");
        return Err(CliError::Helm(hint));
    }
    let status = std::process::Command::new(&program)
        .arg("template")
        .args(arguments)
        .status()
        .map_err(|error| CliError::Helm(format!("could not start `{program}`: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(CliError::Silent)
    }
}

// This machine.
#[derive(Default)]
struct Here {
    flavour: Flavour,
    // Files that are not on disk.
    files: std::collections::BTreeMap<String, Vec<u8>>,
}

impl World for Here {
    fn chart(&mut self, name: &str, template: &Template) -> Result<Chart, HelmError> {
        let fault = |message: String| HelmError::Chart {
            message,
            file: name.to_owned(),
            line: 0,
        };
        let trimmed = name.trim();
        if Path::new(trimmed).exists() {
            let tree = SourceTree::new(host::HostTree::new(trimmed));
            let chart = if Path::new(trimmed).is_dir() {
                helm::load_directory(&tree, "", self.flavour)
            } else {
                host::archive(trimmed, self.flavour)
            };
            return chart.and_then(|chart| fetch::complete(chart, trimmed, template, self.flavour));
        }
        if trimmed.starts_with('.') || Path::new(trimmed).is_absolute() {
            return Err(fault(format!("path {trimmed:?} not found")));
        }
        fetch::chart(trimmed, template, self.flavour)
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        if let Some(bytes) = self.files.get(path) {
            return Ok(bytes.clone());
        }
        if path.trim() == "-" {
            let mut bytes = Vec::new();
            let read = std::io::stdin().read_to_end(&mut bytes);
            return read.map(|_| bytes).map_err(|error| error.to_string());
        }
        if path.starts_with("http://") || path.starts_with("https://") {
            return fetch::file(path);
        }
        std::fs::read(path).map_err(|error| host::say("open", path, &error))
    }

    fn context(&mut self, template: &Template) -> Result<gotemplate::Context, String> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let seconds = i64::try_from(now.as_secs()).unwrap_or_default();
        let random = ring::rand::SystemRandom::new();
        let entropy = Box::new(move |bytes: &mut [u8]| {
            use ring::rand::SecureRandom as _;
            random.fill(bytes).expect("the system gives random bytes");
        });
        let mut context = gotemplate::Context::new((seconds, now.subsec_nanos()), entropy);
        // Whoever types a command can stop it; charts that make many keys take long.
        context.limits.steps = STEPS_MAX;
        if template.validate {
            context.host = Box::new(cluster::Cluster::connect(&template.cluster)?);
        }
        Ok(context)
    }

    fn capabilities(&mut self, template: &Template) -> Result<Capabilities, String> {
        cluster::Cluster::connect(&template.cluster)?.capabilities(self.flavour)
    }

    fn validate(&mut self, template: &Template, rendered: &Rendered) -> Result<(), String> {
        let namespace = if template.namespace.is_empty() {
            "default"
        } else {
            &template.namespace
        };
        cluster::Cluster::connect(&template.cluster)?.validate(rendered, namespace)
    }

    fn write(&mut self, path: &str, text: &str, first: bool) -> Result<(), String> {
        let fault = |error: std::io::Error| host::say("open", path, &error);
        if let Some(directory) = Path::new(path).parent() {
            std::fs::create_dir_all(directory).map_err(fault)?;
        }
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .write(true)
            .append(!first)
            .truncate(first)
            .open(path)
            .map_err(fault)?;
        file.write_all(text.as_bytes()).map_err(fault)
    }

    fn now(&self) -> i64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(now.as_secs()).unwrap_or_default()
    }
}
