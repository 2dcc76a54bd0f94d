//! Charts, with what the Application asks for on top.

use crate::context::Context;
use crate::env;
use crate::error::RenderError;
use crate::fields::FieldError;
use crate::source::{Helm, Source};
use helm::argo::{self, Parameter, Parameters, Sources};
use helm::dependency::{self, From, Wanted};
use helm::{Chart, Flavour, HelmError, KubeVersion, Options, Prepared, Print};
use kustomize::ChartRequest;
use model::{Finding, Manifest, Severity, SourceTree};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Renders a chart that stands in a directory of a tree.
pub(crate) fn render(
    tree: &SourceTree,
    directory: &str,
    source: &Source,
    context: &Context,
) -> Result<(Vec<Manifest>, Vec<Finding>), RenderError> {
    let parameters = source.helm.clone().unwrap_or_default();
    let flavour = flavour(&parameters)?;
    let chart = complete(
        tree,
        helm::load(tree, directory, flavour).map_err(tool)?,
        context,
        flavour,
    )?;
    let (values, value_files) = values(tree, directory, &parameters, source, context, flavour)?;
    let options = Options {
        value_files,
        ..options(&parameters, context, flavour)?
    };
    let mut engine = gotemplate::Context::new(context.now, context.chance.entropy());
    let prepared = Prepared::new(chart, flavour);
    let rendered = prepared
        .render(&values, &options, &mut engine)
        .map_err(tool)?;
    let mut warnings: Vec<Finding> = rendered
        .warnings
        .iter()
        .map(|said| warning(directory, said))
        .collect();
    warnings.extend(helm::nondeterministic(&rendered.marks));
    let print = Print {
        skip_tests: parameters.skip_tests,
        ..Print::default()
    };
    let manifests = rendered.into_manifests(&print).map_err(tool)?;
    Ok((manifests, warnings))
}

fn tool(error: HelmError) -> RenderError {
    RenderError::Tool(Box::new(error.finding()))
}

fn warning(directory: &str, said: &str) -> Finding {
    Finding {
        severity: Severity::Info,
        culprit: format!("chart in `{directory}`"),
        ..Finding::new("G06", "helm-render", said.trim())
    }
}

fn wrong(field: &str, problem: String) -> RenderError {
    RenderError::Source {
        faults: vec![FieldError {
            field: field.into(),
            problem,
        }],
        place: None,
    }
}

fn flavour(parameters: &Helm) -> Result<Flavour, RenderError> {
    match parameters.version.as_str() {
        "" | "v3" => Ok(Flavour::V3),
        "v4" => Ok(Flavour::V4),
        other => Err(wrong(
            "spec.source.helm.version",
            format!("must be `v3` or `v4`, not `{other}`"),
        )),
    }
}

fn options(parameters: &Helm, context: &Context, flavour: Flavour) -> Result<Options, RenderError> {
    let or = |own: &str, other: &str| {
        if own.is_empty() {
            other.to_owned()
        } else {
            own.to_owned()
        }
    };
    let release = or(&parameters.release_name, release_of(&context.app_name));
    helm::check_release_name(&release, flavour).map_err(tool)?;
    let namespace = or(&parameters.namespace, &context.namespace);
    let mut options = Options::new(&release, &namespace, flavour);
    let version = or(&parameters.kube_version, &context.kube_version);
    if !version.is_empty() {
        let parsed = KubeVersion::parse(&version, flavour);
        options.capabilities.kube_version =
            parsed.map_err(|why| wrong("spec.source.helm.kubeVersion", why))?;
    }
    let apis = if parameters.api_versions.is_empty() {
        &context.api_versions
    } else {
        &parameters.api_versions
    };
    options
        .capabilities
        .api_versions
        .extend(apis.iter().cloned());
    options.include_crds = !parameters.skip_crds;
    options.skip_schema_validation = parameters.skip_schema_validation;
    Ok(options)
}

// The application's own name: its namespace, when it stands in front, is no part of it.
fn release_of(instance: &str) -> &str {
    instance.split_once('_').map_or(instance, |(_, name)| name)
}

fn values(
    tree: &SourceTree,
    directory: &str,
    parameters: &Helm,
    source: &Source,
    context: &Context,
    flavour: Flavour,
) -> Result<(model::Map<String, model::Value>, Vec<String>), RenderError> {
    let environment = env::build_environment(source, context);
    let filled = filled(parameters, &environment);
    let references: BTreeMap<String, SourceTree> = context
        .refs
        .iter()
        .map(|(name, reference)| (name.clone(), reference.tree.clone()))
        .collect();
    let paths = filled.file_parameters.iter().map(|(_, path)| path);
    check_references(filled.value_files.iter().chain(paths), context)?;
    let remote = remote(&filled, context);
    let sources = Sources {
        tree,
        chart: directory,
        references: &references,
        remote: &remote,
    };
    let (layers, names) = argo::layers(&filled, &sources, flavour).map_err(tool)?;
    let values = helm::values::merge(&layers, flavour).map_err(tool)?;
    Ok((values, names))
}

fn filled(parameters: &Helm, environment: &[(String, String)]) -> Parameters {
    // `$name/...` at the start of a file's name is another source, not a variable.
    let fill = |text: &String| env::substitute(text, environment);
    let fill_path = |path: &String| match path.strip_prefix('$') {
        Some(rest) if rest.contains('/') && !rest.starts_with('{') => {
            let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
            let known = environment.iter().any(|(variable, _)| variable == name);
            if known {
                fill(path)
            } else {
                format!("${name}/{}", env::substitute(below, environment))
            }
        }
        _ => fill(path),
    };
    Parameters {
        value_files: parameters.value_files.iter().map(fill_path).collect(),
        ignore_missing_value_files: parameters.ignore_missing_value_files,
        values: parameters.values.clone(),
        values_object: parameters.values_object.clone(),
        parameters: parameters
            .parameters
            .iter()
            .map(|parameter| Parameter {
                name: parameter.name.clone(),
                value: fill(&parameter.value),
                force_string: parameter.force_string,
            })
            .collect(),
        file_parameters: parameters
            .file_parameters
            .iter()
            .map(|file| (file.name.clone(), fill_path(&file.path)))
            .collect(),
    }
}

// A `$name` that no source has is told with the names there are.
fn check_references<'a>(
    files: impl Iterator<Item = &'a String>,
    context: &Context,
) -> Result<(), RenderError> {
    for file in files {
        let Some(rest) = file.strip_prefix('$') else {
            continue;
        };
        let name = rest.split('/').next().unwrap_or(rest);
        if context.refs.contains_key(name) {
            continue;
        }
        let problem = if context.refs.is_empty() {
            format!("source referenced \"${name}\", but no source has a 'ref' field defined")
        } else {
            let known: Vec<&str> = context.refs.keys().map(String::as_str).collect();
            format!(
                "source referenced \"${name}\", which is not one of the available sources ({})",
                known.join(", ")
            )
        };
        return Err(wrong(
            "spec.source.helm.valueFiles",
            format!("`{file}`: {problem}"),
        ));
    }
    Ok(())
}

fn remote(parameters: &Parameters, context: &Context) -> BTreeMap<String, Result<String, String>> {
    let mut found = BTreeMap::new();
    for file in &parameters.value_files {
        let Some((scheme, _)) = file.split_once("://") else {
            continue;
        };
        if !context
            .settings
            .value_file_schemes
            .iter()
            .any(|known| known == scheme)
        {
            continue;
        }
        let text = match context.world().file(file) {
            Ok(Some(bytes)) => {
                String::from_utf8(bytes.to_vec()).map_err(|_| format!("`{file}` is not UTF-8"))
            }
            Ok(None) => Err(format!("`{file}` could not be fetched")),
            Err(why) => Err(why),
        };
        found.insert(file.clone(), text);
    }
    found
}

// The chart with the charts it depends on, fetched where they are not in the repository.
fn complete(
    tree: &SourceTree,
    chart: Chart,
    context: &Context,
    flavour: Flavour,
) -> Result<Chart, RenderError> {
    let wanted = dependency::wanted(&chart).map_err(tool)?;
    if wanted.is_empty() {
        return Ok(chart);
    }
    let mut fetched: Vec<(Wanted, Arc<[u8]>)> = Vec::new();
    for want in wanted {
        let (From::Repository(address) | From::Registry(address) | From::Alias(address)) =
            &want.from
        else {
            continue;
        };
        let bytes = context
            .world()
            .chart(address, &want.name, &want.version)
            .map_err(|why| dependency_fault(&want, address, why))?;
        fetched.push((want, bytes));
    }
    dependency::complete(chart, tree, &fetched, flavour).map_err(tool)
}

fn dependency_fault(want: &Wanted, address: &str, why: String) -> RenderError {
    RenderError::Tool(Box::new(Finding {
        culprit: format!("dependency `{}` {} of {address}", want.name, want.version),
        fix: vec![model::Fix {
            title: "vendor it: commit the charts that this downloads".into(),
            how: model::Remedy::Command("helm dependency build".into()),
            destructive: false,
        }],
        ..Finding::new(
            "G07",
            "helm-dependency",
            format!(
                "chart dependency `{}` could not be brought: {why}",
                want.name
            ),
        )
    }))
}

/// A chart of `helmCharts` in a kustomization, as text.
pub(crate) fn inflate(
    context: &Context,
    tree: &SourceTree,
    request: &ChartRequest,
) -> Result<String, String> {
    let flavour = Flavour::V3;
    let chart = requested(context, tree, request, flavour)?;
    let chart = complete(tree, chart, context, flavour).map_err(|error| error.to_string())?;
    let own = chart_values_text(&chart);
    let mut layers = Vec::new();
    for (index, text) in request.values.iter().enumerate() {
        layers.push(helm::values::Layer::File {
            name: format!("values {index}"),
            text: text.clone().unwrap_or_else(|| own.clone()),
        });
    }
    let values = helm::values::merge(&layers, flavour).map_err(|error| error.to_string())?;
    let mut options = Options::new(&request.release, &request.namespace, flavour);
    if !request.kube_version.is_empty() {
        options.capabilities.kube_version = KubeVersion::parse(&request.kube_version, flavour)?;
    }
    options
        .capabilities
        .api_versions
        .extend(request.api_versions.iter().cloned());
    options.include_crds = request.include_crds;
    let mut engine = gotemplate::Context::new(context.now, context.chance.entropy());
    let rendered = Prepared::new(chart, flavour)
        .render(&values, &options, &mut engine)
        .map_err(|error| error.to_string())?;
    let print = Print {
        no_hooks: request.skip_hooks,
        skip_tests: request.skip_tests,
        ..Print::default()
    };
    rendered
        .print(&print, flavour)
        .map_err(|error| error.to_string())
}

/// The text of a chart's own values.
pub(crate) fn default_values(
    context: &Context,
    tree: &SourceTree,
    request: &ChartRequest,
) -> Result<String, String> {
    let file = crate::text::join(&request.path, "values.yaml");
    if let Ok(bytes) = tree.read(&file) {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let chart = requested(context, tree, request, Flavour::V3)?;
    Ok(chart_values_text(&chart))
}

fn chart_values_text(chart: &Chart) -> String {
    yaml::to_string(&model::Value::Object(chart.values.clone()))
}

fn requested(
    context: &Context,
    tree: &SourceTree,
    request: &ChartRequest,
    flavour: Flavour,
) -> Result<Chart, String> {
    let there = !request.path.is_empty() && matches!(tree.kind(&request.path), Ok(Some(_)));
    if there {
        return helm::load(tree, &request.path, flavour).map_err(|error| error.to_string());
    }
    if request.repository.is_empty() {
        return Err(format!(
            "chart `{}` is not in `{}`",
            request.name, request.path
        ));
    }
    let bytes = context
        .world()
        .chart(&request.repository, &request.name, &request.version)?;
    helm::load_archive(&bytes, &request.name, flavour).map_err(|error| error.to_string())
}
