//! `.argocd-source.yaml` and `.argocd-source-<app>.yaml`: parameters that stand beside the files.

use crate::error::RenderError;
use crate::source::Source;
use crate::text::{self, place_of};
use model::{Map, SourceTree, Value};

/// The source with the overrides of its directory merged in. What says where the files are cannot
/// be overridden.
pub(crate) fn apply(
    tree: &SourceTree,
    directory: &str,
    source: &Source,
    app: &str,
) -> Result<Source, RenderError> {
    let mut merged = source.clone();
    let mut names = vec![".argocd-source.yaml".to_owned()];
    if !app.is_empty() && !app.contains('/') {
        names.push(format!(".argocd-source-{app}.yaml"));
    }
    for name in names {
        let path = text::join(directory, &name);
        if tree.kind(&path)?.is_none() {
            continue;
        }
        merged = one(tree, &path, &merged)?;
    }
    Ok(merged)
}

fn one(tree: &SourceTree, path: &str, source: &Source) -> Result<Source, RenderError> {
    let content = text::read(tree, path)?;
    let documents = yaml::parse_manifests(&content);
    let located = match documents.into_iter().next() {
        None => return Ok(source.clone()),
        Some(Ok(located)) => located,
        Some(Err(fault)) => return Err(text::syntax(path, &content, &fault)),
    };
    let mut value = source.to_value();
    merge(&mut value, &located.value);
    let read = Source::read(&value, "source").map_err(|faults| {
        let pointer = faults.first().map(|fault| {
            let pointer = fault.pointer();
            pointer.strip_prefix("/source").unwrap_or("").to_owned()
        });
        let spot = located.marks.spot(&content, &pointer.unwrap_or_default());
        RenderError::Source {
            faults,
            place: Some(place_of(path, &content, spot)),
        }
    })?;
    Ok(Source {
        repo_url: source.repo_url.clone(),
        path: source.path.clone(),
        chart: source.chart.clone(),
        target_revision: source.target_revision.clone(),
        ..read
    })
}

// A merge patch: null removes, objects merge, everything else replaces.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        if !patch.is_null() {
            *target = patch.clone();
        }
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
