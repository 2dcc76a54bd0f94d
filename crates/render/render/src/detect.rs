//! Which tool renders a source.

use crate::context::{Context, Settings};
use crate::error::RenderError;
use crate::fields::FieldError;
use crate::source::{Source, SourceType};
use model::SourceTree;
use model::tree::EntryKind;

/// The names a kustomization file may have.
pub const KUSTOMIZATION_FILES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Says which tool renders a source: the one whose parameters are set, a plugin that finds what it
/// looks for, or what the files in the directory say. A tool that is switched off is a directory.
pub fn detect(
    tree: &SourceTree,
    directory: &str,
    source: &Source,
    context: &Context,
) -> Result<SourceType, RenderError> {
    let explicit = source.explicit();
    let found = match explicit[..] {
        [one] => one,
        [] => discover(tree, directory, context)?,
        _ => return Err(several(&explicit)),
    };
    Ok(if enabled(found, &context.settings) {
        found
    } else {
        SourceType::Directory
    })
}

fn enabled(found: SourceType, settings: &Settings) -> bool {
    match found {
        SourceType::Helm => settings.helm,
        SourceType::Kustomize => settings.kustomize,
        SourceType::Directory | SourceType::Plugin => true,
    }
}

fn several(explicit: &[SourceType]) -> RenderError {
    let words: Vec<&str> = explicit.iter().map(|found| found.word()).collect();
    RenderError::Source {
        faults: vec![FieldError {
            field: "spec.source".into(),
            problem: format!(
                "has the parameters of more than one tool: multiple application sources defined: {}",
                words.join(",")
            ),
        }],
        place: None,
    }
}

fn discover(
    tree: &SourceTree,
    directory: &str,
    context: &Context,
) -> Result<SourceType, RenderError> {
    for candidate in &context.plugins {
        if crate::plugins::matches(candidate, tree, directory, context)? {
            return Ok(SourceType::Plugin);
        }
    }
    let mut found = SourceType::Directory;
    for entry in tree.list(directory)? {
        if entry.kind == EntryKind::Directory {
            continue;
        }
        if KUSTOMIZATION_FILES.contains(&entry.name.as_str()) {
            return Ok(SourceType::Kustomize);
        }
        if entry.name.ends_with("Chart.yaml") {
            found = SourceType::Helm;
        }
    }
    Ok(found)
}
