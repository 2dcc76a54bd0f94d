//! Kustomizations, with what the Application asks for on top.

use crate::context::Context;
use crate::env;
use crate::error::RenderError;
use crate::fields::FieldError;
use crate::source::{Kustomize, KustomizePatch, KustomizeReplica, Source};
use crate::world::ForKustomize;
use kustomize::{EditPatch, Edits, LoadRestrictor, Options, Reorder};
use model::{Finding, Manifest, Severity, SourceTree};
use std::collections::BTreeMap;

/// Renders a kustomization; what the real program would say on standard error are warnings.
pub(crate) fn render(
    tree: &SourceTree,
    directory: &str,
    source: &Source,
    context: &Context,
) -> Result<(Vec<Manifest>, Vec<Finding>), RenderError> {
    let parameters = source.kustomize.clone().unwrap_or_default();
    let options = options(&parameters, source, context)?;
    let world = ForKustomize(context);
    let build = kustomize::build(tree, directory, &options, &world)
        .map_err(|error| RenderError::Tool(Box::new(error.finding())))?;
    let warnings = build.warnings.iter().map(|said| Finding {
        severity: Severity::Info,
        culprit: format!("kustomization in `{directory}`"),
        ..Finding::new("G08", "kustomize-build", said.trim())
    });
    Ok((build.manifests, warnings.collect()))
}

fn options(
    parameters: &Kustomize,
    source: &Source,
    context: &Context,
) -> Result<Options, RenderError> {
    let mut options = Options {
        edits: edits(parameters, source, context)?,
        ..Options::default()
    };
    build_options(&context.settings.kustomize_build_options, &mut options)?;
    if options.enable_helm {
        let or = |own: &str, other: &str| {
            if own.is_empty() {
                other.to_owned()
            } else {
                own.to_owned()
            }
        };
        options.helm_kube_version = or(&parameters.kube_version, &context.kube_version);
        options.helm_api_versions = if parameters.api_versions.is_empty() {
            context.api_versions.clone()
        } else {
            parameters.api_versions.clone()
        };
    }
    Ok(options)
}

// The flags of `kustomize.buildOptions`.
fn build_options(flags: &str, options: &mut Options) -> Result<(), RenderError> {
    let mut words = flags.split_whitespace();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let mut argument = || value.or_else(|| words.next()).unwrap_or("");
        match name {
            "--enable-helm" => options.enable_helm = value != Some("false"),
            "--enable-managedby-label" => options.managed_by_label = value != Some("false"),
            "--load-restrictor" | "--load_restrictor" => {
                options.load_restrictor = match argument() {
                    "LoadRestrictionsNone" => LoadRestrictor::None,
                    _ => LoadRestrictor::RootOnly,
                };
            }
            "--reorder" => {
                options.reorder = match argument() {
                    "legacy" => Reorder::Legacy,
                    "none" => Reorder::None,
                    _ => Reorder::Unspecified,
                };
            }
            "--helm-command" => {
                argument();
            }
            _ => {
                return Err(wrong(
                    "kustomize.buildOptions",
                    format!("`{word}` is not supported: plugins and functions do not run here"),
                ));
            }
        }
    }
    Ok(())
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

fn edits(parameters: &Kustomize, source: &Source, context: &Context) -> Result<Edits, RenderError> {
    let environment = env::build_environment(source, context);
    let fill = |text: &String| env::substitute(text, &environment);
    let filled = |map: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        map.iter()
            .map(|(key, value)| (key.clone(), fill(value)))
            .collect()
    };
    Ok(Edits {
        name_prefix: parameters.name_prefix.clone(),
        name_suffix: parameters.name_suffix.clone(),
        namespace: parameters.namespace.clone(),
        images: parameters.images.iter().map(fill).collect(),
        replicas: replicas(&parameters.replicas)?,
        common_labels: filled(&parameters.common_labels),
        force_common_labels: parameters.force_common_labels,
        label_without_selector: parameters.label_without_selector,
        label_include_templates: parameters.label_include_templates,
        common_annotations: if parameters.common_annotations_envsubst {
            filled(&parameters.common_annotations)
        } else {
            parameters.common_annotations.clone()
        },
        force_common_annotations: parameters.force_common_annotations,
        patches: parameters.patches.iter().map(patch).collect(),
        components: parameters.components.clone(),
        ignore_missing_components: parameters.ignore_missing_components,
    })
}

fn replicas(replicas: &[KustomizeReplica]) -> Result<Vec<(String, i64)>, RenderError> {
    let read = |(index, replica): (usize, &KustomizeReplica)| match replica.count.parse() {
        Ok(count) => Ok((replica.name.clone(), count)),
        Err(_) => Err(wrong(
            &format!("spec.source.kustomize.replicas[{index}].count"),
            format!("must be a number, not `{}`", replica.count),
        )),
    };
    replicas.iter().enumerate().map(read).collect()
}

fn patch(patch: &KustomizePatch) -> EditPatch {
    let target = patch.target.clone().unwrap_or_default();
    let option = |name: &str| patch.options.get(name).copied().unwrap_or(false);
    EditPatch {
        path: patch.path.clone(),
        patch: patch.patch.clone(),
        target: [
            target.group,
            target.version,
            target.kind,
            target.name,
            target.namespace,
        ],
        label_selector: target.label_selector,
        annotation_selector: target.annotation_selector,
        allow_name_change: option("allowNameChange"),
        allow_kind_change: option("allowKindChange"),
    }
}
