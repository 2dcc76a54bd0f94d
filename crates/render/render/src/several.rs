//! The sources of one application together: their order, and objects that are rendered twice.

use crate::Rendered;
use model::{Evidence, Finding, Fix, Manifest, Place, Remedy, ResourceKey, Severity, Value};
use std::collections::BTreeMap;

/// The manifests of all sources in their order. Of an object that is rendered more than once the
/// last one counts; each such object is a warning that names every place.
pub fn combine(
    rendered: impl IntoIterator<Item = Rendered>,
    namespace: &str,
) -> (Vec<Manifest>, Vec<Finding>) {
    let mut manifests = Vec::new();
    let mut warnings = Vec::new();
    for one in rendered {
        manifests.extend(one.manifests);
        warnings.extend(one.warnings);
    }
    let mut by_key: BTreeMap<ResourceKey, Vec<usize>> = BTreeMap::new();
    for (index, manifest) in manifests.iter().enumerate() {
        if let Some(key) = key_of(&manifest.object, namespace) {
            by_key.entry(key).or_default().push(index);
        }
    }
    let mut lost = Vec::new();
    for (key, places) in by_key.into_iter().filter(|(_, places)| places.len() > 1) {
        warnings.push(repeated(&key, &places, &manifests));
        lost.extend(places[..places.len() - 1].iter().copied());
    }
    lost.sort_unstable();
    let mut index = 0;
    manifests.retain(|_| {
        index += 1;
        lost.binary_search(&(index - 1)).is_err()
    });
    (manifests, warnings)
}

/// Group, kind, namespace and name; objects without a namespace are taken to be in the given one,
/// those that are named by the server have no key.
fn key_of(object: &Value, namespace: &str) -> Option<ResourceKey> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let version = text("/apiVersion")?;
    Some(ResourceKey {
        group: version
            .split_once('/')
            .map_or("", |(group, _)| group)
            .into(),
        kind: text("/kind")?.into(),
        namespace: text("/metadata/namespace").unwrap_or(namespace).into(),
        name: text("/metadata/name")
            .filter(|name| !name.is_empty())?
            .into(),
    })
}

fn repeated(key: &ResourceKey, places: &[usize], manifests: &[Manifest]) -> Finding {
    let shown = |index: &usize| {
        let origin = &manifests[*index].origin;
        format!("{}:{}", origin.file, origin.line)
    };
    let evidence = places.iter().map(|index| {
        let origin = &manifests[*index].origin;
        Evidence {
            source: origin.file.clone(),
            says: format!(
                "document {} is {} `{}`",
                origin.document + 1,
                key.kind,
                key.name
            ),
            place: Some(Place {
                file: origin.file.clone(),
                line: origin.line,
                ..Place::default()
            }),
        }
    });
    let all: Vec<String> = places.iter().map(shown).collect();
    let last = all.last().cloned().unwrap_or_default();
    Finding {
        severity: Severity::Warning,
        subject: Some(key.clone()),
        culprit: all.join(" and "),
        evidence: evidence.collect(),
        fix: vec![Fix {
            title: format!("remove all but one of them; now {last} counts"),
            how: Remedy::Advice(format!("keep {last}, remove the others")),
            destructive: false,
        }],
        ..Finding::new(
            "G14",
            "duplicate-resource",
            format!(
                "Resource {}/{}/{}/{} appeared {} times among application resources.",
                key.group,
                key.kind,
                key.namespace,
                key.name,
                places.len()
            ),
        )
    }
}
