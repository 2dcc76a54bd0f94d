//! `tiphys render`: what will be applied, without applying it.

use crate::Output;
use crate::error::CliError;
use crate::view::manifest::Origins;
use crate::view::{self, Paint};
use files::DirectoryTree;
use model::{Finding, Place, SourceTree, TreeError};
use render::{Application, Context, Reference, RenderError, Rendered, Source};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Print what will be applied
///
/// Renders a directory of this machine, or the sources of an Application, and prints the manifests. Nothing is
/// written and no cluster is asked. What is wrong is shown with the place in the file.
#[derive(Debug, clap::Args)]
pub(crate) struct RenderArgs {
    /// Directory to render: a chart, a kustomization, or files of manifests
    #[arg(value_name = "PATH", required_unless_present = "file")]
    path: Option<PathBuf>,
    /// File with the Application to render
    #[arg(
        short = 'f',
        long = "file",
        value_name = "FILE",
        conflicts_with = "path"
    )]
    file: Option<PathBuf>,
    /// Render this revision instead of the Application's
    #[arg(long, value_name = "REV")]
    revision: Option<String>,
    /// Take the files of every Git source from this directory instead of fetching them
    #[arg(long, value_name = "DIR", requires = "file")]
    local: Option<PathBuf>,
    /// Say where each object comes from
    #[arg(long)]
    origins: bool,
    /// Name of the application, for PATH
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    app_name: Option<String>,
    /// Namespace the objects go to, for PATH
    #[arg(long, value_name = "NAMESPACE", conflicts_with = "file")]
    namespace: Option<String>,
    /// Version of the cluster
    #[arg(long, value_name = "VERSION", default_value = "1.36.4")]
    kube_version: String,
    /// API the cluster serves, as group/version or group/version/Kind; may be given more than once
    #[arg(long, value_name = "API")]
    api_versions: Vec<String>,
    /// plugin.yaml of a config management plugin; may be given more than once
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,
}

pub(crate) fn run(args: &RenderArgs, output: Output) -> Result<(), CliError> {
    let mut job = match (&args.file, &args.path) {
        (Some(file), _) => application(args, file)?,
        (None, Some(path)) => directory(args, path)?,
        (None, None) => return Err(CliError::Usage("a PATH or -f FILE is required".into())),
    };
    let plugins = args.plugin.iter().map(|file| plugin(file));
    job.context.plugins = plugins.collect::<Result<_, _>>()?;
    job.context.kube_version = args.kube_version.trim_start_matches('v').to_owned();
    job.context.api_versions.clone_from(&args.api_versions);
    let (manifests, warnings) = render_all(&job)?;
    show_warnings(&warnings);
    let origins = if args.origins {
        Origins::Show
    } else {
        Origins::Hide
    };
    match output {
        Output::Text | Output::Yaml => print!("{}", view::manifest::yaml(&manifests, origins)),
        Output::Json => println!("{}", view::manifest::data(&manifests, origins)),
        Output::Name => print!("{}", view::manifest::names(&manifests, origins)),
    }
    Ok(())
}

// Sources with their files, and what all of them share.
struct Job {
    context: Context,
    sources: Vec<(Source, SourceTree, String)>,
}

fn render_all(job: &Job) -> Result<(Vec<model::Manifest>, Vec<Finding>), CliError> {
    let mut all: Vec<Rendered> = Vec::new();
    for (source, tree, revision) in &job.sources {
        if source.only_reference() {
            continue;
        }
        let context = Context {
            revision: revision.clone(),
            ..job.context.clone()
        };
        let rendered = render::render(tree, source, &context);
        all.push(rendered.map_err(|error| CliError::from(error.finding()))?);
    }
    Ok(render::combine(all, &job.context.namespace))
}

fn show_warnings(warnings: &[Finding]) {
    let paint = Paint::of_stderr();
    for warning in warnings {
        eprint!("{}", view::finding::text(warning, paint));
    }
}

// A directory of this machine; its repository is the nearest directory above that has a `.git`.
fn directory(args: &RenderArgs, path: &Path) -> Result<Job, CliError> {
    if args.revision.is_some() {
        return Err(CliError::Usage(
            "--revision needs an Application: a PATH is rendered as it is".into(),
        ));
    }
    let full = path.canonicalize().map_err(|_| missing(path))?;
    if !full.is_dir() {
        return Err(RenderError::Path {
            path: path.display().to_string(),
            problem: "app path is not a directory",
            nearest: Vec::new(),
        }
        .finding()
        .into());
    }
    let root = full
        .ancestors()
        .find(|above| above.join(".git").exists())
        .unwrap_or(&full)
        .to_path_buf();
    let below = full.strip_prefix(&root).unwrap_or(Path::new(""));
    let name = full
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("app");
    let source = Source {
        repo_url: root.display().to_string(),
        path: slashes(below),
        ..Source::default()
    };
    Ok(Job {
        context: Context {
            app_name: args.app_name.clone().unwrap_or_else(|| name.to_owned()),
            namespace: args.namespace.clone().unwrap_or_default(),
            project: "default".into(),
            ..Context::default()
        },
        sources: vec![(source, open(&root)?, String::new())],
    })
}

fn slashes(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

fn missing(path: &Path) -> CliError {
    RenderError::Path {
        path: path.display().to_string(),
        problem: "app path does not exist",
        nearest: Vec::new(),
    }
    .finding()
    .into()
}

fn open(root: &Path) -> Result<SourceTree, CliError> {
    let tree = DirectoryTree::open(root);
    tree.map(SourceTree::new)
        .map_err(|error| RenderError::Tree(error).finding().into())
}

fn read(file: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(file).map_err(|source| CliError::Read {
        path: file.display().to_string(),
        source,
    })
}

// The one document of a file.
fn document(file: &Path, text: &str) -> Result<yaml::Located, CliError> {
    let shown = file.display().to_string();
    let mut found = None;
    for part in yaml::parse_manifests(text) {
        let part = part.map_err(|fault| {
            let place = Place::in_text(&shown, text, fault.line.max(1), fault.column.max(1));
            CliError::from(
                RenderError::Syntax {
                    place,
                    problem: fault.message.clone(),
                    other: None,
                    hint: String::new(),
                }
                .finding(),
            )
        })?;
        if part.value.is_null() {
            continue;
        }
        if found.is_some() {
            return Err(CliError::Usage(format!(
                "`{shown}` holds more than one document"
            )));
        }
        found = Some(part);
    }
    found.ok_or_else(|| CliError::Usage(format!("`{shown}` is empty")))
}

fn application(args: &RenderArgs, file: &Path) -> Result<Job, CliError> {
    let text = read(file)?;
    let located = document(file, &text)?;
    let application = Application::read(&located.value).map_err(|faults| {
        let pointer = faults
            .first()
            .map(|fault| fault.pointer())
            .unwrap_or_default();
        let spot = located.marks.spot(&text, &pointer);
        let shown = file.display().to_string();
        let place = Some(Place::in_text(shown, &text, spot.line, spot.column));
        CliError::from(RenderError::Source { faults, place }.finding())
    })?;
    let mut context = Context {
        app_name: application.name.clone(),
        namespace: application.destination_namespace.clone(),
        project: application.project.clone(),
        ..Context::default()
    };
    let mut sources = Vec::new();
    let mut refs = BTreeMap::new();
    for (index, source) in application.sources.iter().enumerate() {
        let mut source = source.clone();
        if let Some(revision) = args.revision.as_ref().filter(|_| index == 0) {
            source.target_revision.clone_from(revision);
        }
        let (tree, revision) = fetch(args, file, &source)?;
        if !source.reference.is_empty() {
            let reference = Reference {
                tree: tree.clone(),
                repo_url: source.repo_url.clone(),
                revision: revision.clone(),
            };
            refs.insert(source.reference.clone(), reference);
        }
        sources.push((source, tree, revision));
    }
    context.refs = refs;
    Ok(Job { context, sources })
}

// The files of a source: a directory of this machine.
fn fetch(
    args: &RenderArgs,
    file: &Path,
    source: &Source,
) -> Result<(SourceTree, String), CliError> {
    if let Some(local) = &args.local {
        return Ok((open(local)?, source.target_revision.clone()));
    }
    let url = source.repo_url.as_str();
    let local = match url.strip_prefix("file://") {
        Some(path) => PathBuf::from(path),
        None if url.contains("://") || url.contains('@') => {
            let error = TreeError::Unreadable {
                path: url.to_owned(),
                why: "it is not on this machine: name a checkout of it with --local DIR".into(),
            };
            return Err(RenderError::Tree(error).finding().into());
        }
        None => file.parent().unwrap_or(Path::new("")).join(url),
    };
    Ok((open(&local)?, source.target_revision.clone()))
}

fn plugin(file: &Path) -> Result<plugin::Plugin, CliError> {
    let text = read(file)?;
    let located = document(file, &text)?;
    plugin::Plugin::read(&located.value).map_err(|fault| {
        let spot = located.marks.spot(&text, &fault.pointer);
        let shown = file.display().to_string();
        let error = RenderError::NotAManifest {
            place: Place::in_text(shown, &text, spot.line, spot.column),
            document: 0,
            problem: fault.to_string(),
            hint: String::new(),
        };
        error.finding().into()
    })
}
