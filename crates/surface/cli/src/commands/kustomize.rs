//! `tiphys kustomize build`: what `kustomize build` prints, without Kustomize.

use crate::commands::helm;
use crate::error::CliError;
use clap::{Args, Subcommand};
use kustomize::{Build, ChartRequest, LoadRestrictor, Options, Remote, Reorder, World};
use model::tree::Node;
use model::{SourceTree, Tree, TreeError, Value};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What Kustomize does, without Kustomize
#[derive(Debug, Subcommand)]
pub(crate) enum Kustomize {
    /// Build a kustomization and print the same bytes as `kustomize build`
    ///
    /// Takes a directory or the address of one in a Git repository, and Kustomize's flags as they are:
    /// --load-restrictor, --reorder, --enable-helm, --helm-kube-version, --helm-api-versions,
    /// --enable-managedby-label, -o/--output. Flags of functions and plugins are taken and do nothing:
    /// what would need them is refused.
    #[command(verbatim_doc_comment, disable_help_flag = true)]
    Build(BuildArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// DIR or URL and Kustomize's flags
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "[DIR|URL] [FLAGS]"
    )]
    arguments: Vec<String>,
}

pub(crate) fn run(command: Kustomize) -> Result<(), CliError> {
    let Kustomize::Build(BuildArgs { arguments }) = command;
    let asked = Asked::read(&arguments).map_err(CliError::Kustomize)?;
    let built = build(&asked).map_err(CliError::Kustomize)?;
    for warning in &built.warnings {
        eprintln!("{warning}");
    }
    show(&built, asked.output.as_deref())
}

// What was typed.
#[derive(Debug, Default)]
struct Asked {
    target: Option<String>,
    options: Options,
    output: Option<PathBuf>,
}

impl Asked {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut asked = Self::default();
        asked.options.without_origins = true;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if !argument.starts_with('-') || argument == "-" {
                if asked.target.replace(argument.clone()).is_some() {
                    return Err("specify one path to kustomization.yaml".into());
                }
                continue;
            }
            let (flag, inline) = match argument.split_once('=') {
                Some((flag, value)) => (flag, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            asked.flag(flag, inline, &mut || rest.next().cloned())?;
        }
        Ok(asked)
    }

    fn flag(
        &mut self,
        flag: &str,
        inline: Option<String>,
        next: &mut dyn FnMut() -> Option<String>,
    ) -> Result<(), String> {
        let on = inline
            .as_deref()
            .is_none_or(|value| value != "false" && value != "0");
        let options = &mut self.options;
        match flag {
            "--enable-helm" => options.enable_helm = on,
            "--enable-managedby-label" => options.managed_by_label = on,
            "--enable-alpha-plugins"
            | "--enable-exec"
            | "--network"
            | "--as-current-user"
            | "--helm-debug" => {}
            _ => {
                let value = inline
                    .or_else(next)
                    .ok_or_else(|| format!("flag needs an argument: {flag}"))?;
                return self.value(flag, value);
            }
        }
        Ok(())
    }

    fn value(&mut self, flag: &str, value: String) -> Result<(), String> {
        let options = &mut self.options;
        match flag {
            "--load-restrictor" => {
                options.load_restrictor = match value.as_str() {
                    "" | "rootOnly" | "LoadRestrictionsRootOnly" => LoadRestrictor::RootOnly,
                    "none" | "LoadRestrictionsNone" => LoadRestrictor::None,
                    other => {
                        return Err(format!(
                            "illegal flag value --load-restrictor {other}; legal values: [LoadRestrictionsRootOnly LoadRestrictionsNone]"
                        ));
                    }
                };
            }
            "--reorder" => {
                options.reorder = match value.as_str() {
                    "legacy" => Reorder::Legacy,
                    "none" => Reorder::None,
                    other => {
                        return Err(format!(
                            "illegal flag value --reorder {other}; legal values: [legacy none]"
                        ));
                    }
                };
            }
            "--helm-kube-version" => options.helm_kube_version = value,
            "--helm-api-versions" => {
                options
                    .helm_api_versions
                    .extend(value.split(',').map(str::to_owned));
            }
            "-o" | "--output" => self.output = Some(value.into()),
            "-e" | "--env" | "--mount" | "--network-name" | "--helm-command" => {}
            other => return Err(format!("unknown flag: {other}")),
        }
        Ok(())
    }
}

fn build(asked: &Asked) -> Result<Build, String> {
    let machine = Machine::default();
    let target = asked.target.as_deref().unwrap_or(".");
    if let Some(remote) = Remote::parse(target) {
        let tree = machine.repository(&remote)?;
        return kustomize::build(&tree, &remote.path, &asked.options, &machine)
            .map_err(|error| error.to_string());
    }
    let full = Path::new(target)
        .canonicalize()
        .map_err(|why| format!("must build at directory: '{target}': {why}"))?;
    let directory = full
        .to_str()
        .ok_or("the path is not UTF-8")?
        .trim_start_matches('/')
        .to_owned();
    let options = Options {
        absolute_paths: true,
        ..asked.options.clone()
    };
    let disk = files::DirectoryTree::open("/").map_err(|error| error.to_string())?;
    let tree = SourceTree::new(WholeDisk(disk));
    kustomize::build(&tree, &directory, &options, &machine).map_err(|error| error.to_string())
}

fn show(built: &Build, output: Option<&Path>) -> Result<(), CliError> {
    let fault = |path: &Path| {
        let path = path.display().to_string();
        move |source| CliError::Write { path, source }
    };
    match output {
        None => std::io::stdout()
            .write_all(built.to_yaml().as_bytes())
            .map_err(fault(Path::new("standard output"))),
        Some(path) if path.is_dir() => {
            for (name, text) in separate(built) {
                let file = path.join(name);
                std::fs::write(&file, text).map_err(fault(&file))?;
            }
            Ok(())
        }
        Some(path) => std::fs::write(path, built.to_yaml()).map_err(fault(path)),
    }
}

// A file for every object, named after it; the namespace is in front when there are several.
fn separate(built: &Build) -> Vec<(String, String)> {
    let text = |object: &Value, pointer: &str| {
        let found = object.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or("").to_owned()
    };
    let namespace = |object: &Value| {
        if kustomize::is_cluster_scoped(&text(object, "/apiVersion"), &text(object, "/kind")) {
            return None;
        }
        let own = text(object, "/metadata/namespace");
        Some(if own.is_empty() {
            "default".to_owned()
        } else {
            own
        })
    };
    let mut namespaces: Vec<String> = built.objects().filter_map(namespace).collect();
    namespaces.sort();
    namespaces.dedup();
    let name = |object: &Value| {
        let version = text(object, "/apiVersion").replace('/', "_");
        let name = format!(
            "{version}_{}_{}.yaml",
            text(object, "/kind"),
            text(object, "/metadata/name")
        );
        match namespace(object).filter(|_| namespaces.len() > 1) {
            Some(namespace) => format!("{namespace}_{name}").to_lowercase(),
            None => name.to_lowercase(),
        }
    };
    let files = built
        .objects()
        .map(|object| (name(object), kustomize::to_yaml(object)));
    files.collect()
}

// All of this machine's files; links that start at the root are followed.
#[derive(Debug)]
struct WholeDisk(files::DirectoryTree);

impl Tree for WholeDisk {
    fn node(&self, path: &str) -> Result<Option<Node>, TreeError> {
        let node = self.0.node(path)?;
        Ok(node.map(|node| match node {
            Node::Link(target) if target.starts_with('/') => {
                let depth = path.split('/').count() - 1;
                Node::Link(format!(
                    "{}{}",
                    "../".repeat(depth),
                    target.trim_start_matches('/')
                ))
            }
            other => other,
        }))
    }
}

// What is remote, reached from this machine.
#[derive(Default)]
struct Machine {
    repositories: OnceCell<git::Repositories>,
}

impl Machine {
    fn store(&self) -> Result<&git::Repositories, String> {
        if let Some(store) = self.repositories.get() {
            return Ok(store);
        }
        let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home =
            home.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
        let root = home
            .unwrap_or_else(std::env::temp_dir)
            .join("tiphys")
            .join("git");
        let store = git::Repositories::open(root, git::Options::default())
            .map_err(|error| error.to_string())?;
        Ok(self.repositories.get_or_init(|| store))
    }
}

impl World for Machine {
    fn repository(&self, remote: &Remote) -> Result<SourceTree, String> {
        let store = self.store()?;
        let credentials = git::Credentials::default();
        let source = git::Source::new(&remote.repository, &remote.revision);
        let revision = store.resolve(&source, &credentials, git::Freshness::Now);
        let revision = revision.map_err(|error| error.to_string())?;
        let tree = store
            .tree(&revision, &credentials)
            .map_err(|error| error.to_string())?;
        Ok(SourceTree::new(tree))
    }

    fn file(&self, url: &str) -> Result<Option<Arc<[u8]>>, String> {
        let is_repository = Remote::parse(url).is_some();
        let path = url.split(['?', '#']).next().unwrap_or(url);
        let named = [".yaml", ".yml", ".json"]
            .iter()
            .any(|ending| path.ends_with(ending));
        if is_repository && !named {
            return Ok(None);
        }
        match helm::fetch_file(url) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(_) if is_repository => Ok(None),
            Err(why) => Err(why),
        }
    }

    fn chart_values(&self, tree: &SourceTree, request: &ChartRequest) -> Result<String, String> {
        if let Ok(bytes) = tree.read(&format!("{}/values.yaml", request.path)) {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        helm::default_values(&arguments(tree, request).0)
    }

    fn chart(&self, tree: &SourceTree, request: &ChartRequest) -> Result<String, String> {
        let (arguments, files) = arguments(tree, request);
        helm::template(&arguments, files)
    }
}

// The command line of `helm template` that Kustomize would run.
fn arguments(
    tree: &SourceTree,
    request: &ChartRequest,
) -> (Vec<String>, BTreeMap<String, Vec<u8>>) {
    let mut list = Vec::new();
    let mut add = |words: &[&str]| list.extend(words.iter().map(|word| (*word).to_owned()));
    if request.release.is_empty() {
        add(&["--generate-name"]);
    } else {
        add(&[&request.release]);
    }
    let here = matches!(tree.kind(&request.path), Ok(Some(_)));
    match request
        .repository
        .strip_suffix('/')
        .unwrap_or(&request.repository)
    {
        _ if here => add(&[&format!("/{}", request.path)]),
        oci if oci.starts_with("oci://") => add(&[&format!("{oci}/{}", request.name)]),
        repository => add(&[&request.name, "--repo", repository]),
    }
    let mut files = BTreeMap::new();
    for (flag, value) in [
        ("--version", if here { "" } else { &request.version }),
        ("--namespace", &request.namespace),
        ("--name-template", &request.name_template),
        ("--kube-version", &request.kube_version),
    ] {
        if !value.is_empty() {
            add(&[flag, value]);
        }
    }
    for (number, values) in request.values.iter().enumerate() {
        if let Some(text) = values {
            let name = format!("kustomize-values-{number}.yaml");
            add(&["-f", &name]);
            files.insert(name, text.clone().into_bytes());
        }
    }
    for version in &request.api_versions {
        add(&["--api-versions", version]);
    }
    for (asked, flag) in [
        (request.include_crds, "--include-crds"),
        (request.skip_tests, "--skip-tests"),
        (request.skip_hooks, "--no-hooks"),
        (request.devel && !here, "--devel"),
    ] {
        if asked {
            add(&[flag]);
        }
    }
    (list, files)
}
