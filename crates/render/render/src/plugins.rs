//! Config management plugins: which one, with which variables, and what it printed.

use crate::context::Context;
use crate::env;
use crate::error::RenderError;
use crate::fields::{FieldError, nearest};
use crate::manifests;
use crate::source::Source;
use crate::text;
use model::{Manifest, SourceTree};
use plugin::{Discover, Parameter, Run, parameter_variables};

/// Whether a plugin recognises a source that names none.
pub(crate) fn matches(
    candidate: &plugin::Plugin,
    tree: &SourceTree,
    directory: &str,
    context: &Context,
) -> Result<bool, RenderError> {
    let run = Run::new(directory, cluster_variables(context));
    candidate.matches(tree, &run).map_err(tool)
}

/// Renders a source with its plugin.
pub(crate) fn render(
    tree: &SourceTree,
    directory: &str,
    source: &Source,
    context: &Context,
) -> Result<Vec<Manifest>, RenderError> {
    let environment = variables(source, context);
    let run = Run::new(directory, environment);
    let chosen = choose(tree, &run, source, context)?;
    let output = chosen.generate(tree, &run).map_err(tool)?;
    let file = format!("<plugin {}>", chosen.full_name());
    let mut out = Vec::new();
    for document in yaml::parse_manifests(&output) {
        let located = document.map_err(|fault| text::syntax(&file, &output, &fault))?;
        manifests::take(&file, &output, located, &mut out)?;
    }
    Ok(out)
}

fn tool(error: plugin::PluginError) -> RenderError {
    RenderError::Tool(Box::new(error.finding()))
}

fn choose<'a>(
    tree: &SourceTree,
    run: &Run,
    source: &Source,
    context: &'a Context,
) -> Result<&'a plugin::Plugin, RenderError> {
    let name = source
        .plugin
        .as_ref()
        .map_or("", |plugin| plugin.name.as_str());
    for candidate in &context.plugins {
        let named = !name.is_empty() && candidate.full_name() == name;
        if !named && !name.is_empty() {
            continue;
        }
        let always = named && candidate.discover == Discover::Never;
        if always || candidate.matches(tree, run).map_err(tool)? {
            return Ok(candidate);
        }
        if named {
            return Err(unknown(format!(
                "`{name}` does not find what it looks for in this source"
            )));
        }
    }
    let names: Vec<String> = context
        .plugins
        .iter()
        .map(plugin::Plugin::full_name)
        .collect();
    Err(unknown(
        match (name, nearest(name, names.iter().map(String::as_str))) {
            ("", _) => "is not set, and no plugin recognises the source".into(),
            (_, Some(near)) => format!("`{name}` is no plugin: did you mean `{near}`?"),
            _ if names.is_empty() => format!("`{name}` is no plugin: there are none"),
            _ => format!("`{name}` is no plugin; there are {}", names.join(", ")),
        },
    ))
}

fn unknown(problem: String) -> RenderError {
    RenderError::Source {
        faults: vec![FieldError {
            field: "spec.source.plugin.name".into(),
            problem,
        }],
        place: None,
    }
}

fn cluster_variables(context: &Context) -> Vec<(String, String)> {
    vec![
        ("KUBE_VERSION".into(), context.kube_version.clone()),
        ("KUBE_API_VERSIONS".into(), context.api_versions.join(",")),
    ]
}

fn variables(source: &Source, context: &Context) -> Vec<(String, String)> {
    let build = env::build_environment(source, context);
    let mut out = build.clone();
    out.extend(cluster_variables(context));
    let Some(plugin) = &source.plugin else {
        return out;
    };
    for (name, value) in &plugin.env {
        out.push((format!("ARGOCD_ENV_{name}"), env::substitute(value, &build)));
    }
    let parameters: Vec<Parameter> = plugin
        .parameters
        .iter()
        .map(|parameter| Parameter {
            name: parameter.name.clone(),
            string: parameter.string.clone(),
            map: parameter.map.clone(),
            array: parameter.array.clone(),
        })
        .collect();
    out.extend(parameter_variables(&parameters));
    out
}
