//! Charts that `Chart.yaml` names and `charts/` does not have: where they come from, and how they
//! are put in place without touching the repository.

use crate::chart::{Chart, Dependency};
use crate::{Flavour, HelmError, load_archive, load_directory};
use model::SourceTree;
use std::sync::Arc;

/// A chart that has to be brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// An exact version where a lock file pins it, a range otherwise.
    pub version: String,
    /// Where it comes from.
    pub from: From,
}

/// Where a dependency comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// A directory of the same repository.
    Directory(String),
    /// A chart repository, by its address.
    Repository(String),
    /// An OCI registry, by its address.
    Registry(String),
    /// A registered repository, by the name behind `@` or `alias:`.
    Alias(String),
}

/// What has to be brought before a chart can be rendered; its lock file pins versions.
pub fn wanted(chart: &Chart) -> Result<Vec<Wanted>, HelmError> {
    let missing = chart.missing_dependencies();
    missing.into_iter().map(|want| one(chart, want)).collect()
}

fn one(chart: &Chart, want: &Dependency) -> Result<Wanted, HelmError> {
    let locked = chart.lock.iter().flat_map(|lock| &lock.dependencies);
    let mut locked = locked.filter(|locked| locked.name == want.name);
    let pinned = locked.next().unwrap_or(want);
    let repository = if pinned.repository.is_empty() {
        &want.repository
    } else {
        &pinned.repository
    };
    let from = if let Some(path) = repository.strip_prefix("file://") {
        let base = chart.root.clone();
        let path = model::tree::clean(&base, path).ok_or_else(|| HelmError::Chart {
            message: format!("directory {path} not found"),
            file: chart.place_of("Chart.yaml"),
            line: 0,
        })?;
        From::Directory(path)
    } else if repository.starts_with("oci://") {
        From::Registry(repository.clone())
    } else if let Some(alias) = repository
        .strip_prefix('@')
        .or(repository.strip_prefix("alias:"))
    {
        From::Alias(alias.to_owned())
    } else if repository.is_empty() {
        return Err(HelmError::Chart {
            message: format!(
                "dependency `{}` has no repository: write one, or put the chart in charts/",
                want.name
            ),
            file: chart.place_of("Chart.yaml"),
            line: 0,
        });
    } else {
        From::Repository(repository.clone())
    };
    Ok(Wanted {
        name: want.name.clone(),
        version: pinned.version.clone(),
        from,
    })
}

/// A chart with its dependencies in place: from the tree, or from fetched archives by name.
pub fn complete(
    chart: Chart,
    tree: &SourceTree,
    fetched: &[(Wanted, Arc<[u8]>)],
    flavour: Flavour,
) -> Result<Chart, HelmError> {
    let mut chart = chart;
    for want in wanted(&chart)? {
        let found = match &want.from {
            From::Directory(path) => load_directory(tree, path, flavour)?,
            _ => match fetched.iter().find(|(known, _)| *known == want) {
                Some((_, bytes)) => {
                    let name =
                        chart.place_of(&format!("charts/{}-{}.tgz", want.name, want.version));
                    load_archive(bytes, &name, flavour)?
                }
                None => continue,
            },
        };
        chart.dependencies.push(Arc::new(found));
    }
    chart.dependencies.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(chart)
}
