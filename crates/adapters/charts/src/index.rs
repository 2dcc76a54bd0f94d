//! `index.yaml` of a chart repository.

use crate::http::{self, Client};
use crate::url::{self, Url};
use crate::{ChartsError, INDEX_MAX, Repository, Resolved, pick, version_order};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a repository offers.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: BTreeMap<String, Vec<Entry>>,
}

/// One version of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) version: String,
    pub(crate) digest: String,
    pub(crate) urls: Vec<String>,
}

/// Fetches and reads a repository's index.
pub(crate) async fn fetch(client: &Client, repository: &Repository) -> Result<Index, ChartsError> {
    let address = Url::parse(&url::join(&repository.url, "index.yaml"))?;
    let authorization = http::basic(repository);
    let answer = client.get(&address, authorization, &[], INDEX_MAX).await?;
    http::expect_ok(&address, &answer)?;
    let text = String::from_utf8_lossy(&answer.body);
    Index::parse(&text).map_err(|why| http::malformed(&address, &why))
}

impl Index {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let value = yaml::parse(text).map_err(|error| error.to_string())?;
        if value
            .get("apiVersion")
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            return Err("no API version specified".into());
        }
        let mut index = Self::default();
        let charts = value.get("entries").and_then(Value::as_object);
        for (name, versions) in charts.into_iter().flatten() {
            let versions = versions.as_array().into_iter().flatten().filter_map(entry);
            index.entries.insert(name.clone(), versions.collect());
        }
        Ok(index)
    }

    /// The versions of a chart, the highest first.
    pub(crate) fn versions(
        &self,
        chart: &str,
        repository: &Repository,
    ) -> Result<Vec<Entry>, ChartsError> {
        let entries = self
            .entries
            .get(chart)
            .filter(|entries| !entries.is_empty());
        let entries = entries.ok_or_else(|| ChartsError::NoChart {
            chart: chart.to_owned(),
            repository: repository.url.clone(),
            nearest: self.nearest(chart),
        })?;
        let order = version_order(entries.iter().map(|entry| entry.version.clone()).collect());
        let of = |version: &String| {
            entries
                .iter()
                .find(|entry| entry.version == *version)
                .cloned()
        };
        Ok(order.iter().filter_map(of).collect())
    }

    /// Pins a version or range.
    pub(crate) fn resolve(
        &self,
        repository: &Repository,
        chart: &str,
        range: &str,
    ) -> Result<Resolved, ChartsError> {
        let entries = self.versions(chart, repository)?;
        let picked = pick(entries.iter().map(|entry| entry.version.as_str()), range)
            .ok()
            .flatten()
            .and_then(|version| entries.iter().find(|entry| entry.version == version));
        let entry = picked.ok_or_else(|| ChartsError::NoVersion {
            chart: chart.to_owned(),
            range: range.to_owned(),
            repository: repository.url.clone(),
            known: entries
                .iter()
                .take(5)
                .map(|entry| entry.version.clone())
                .collect(),
        })?;
        let address = entry.urls.first().ok_or_else(|| ChartsError::Malformed {
            url: repository.url.clone(),
            why: format!("chart \"{chart}\" has no downloadable URLs"),
        })?;
        Ok(Resolved {
            name: chart.to_owned(),
            version: entry.version.clone(),
            digest: prefixed(&entry.digest),
            url: url::join(&repository.url, address),
        })
    }

    // Names that begin alike or differ in few letters.
    fn nearest(&self, chart: &str) -> Vec<String> {
        let mut ranked: Vec<(usize, &String)> = self
            .entries
            .keys()
            .map(|name| (distance(name, chart), name))
            .filter(|(far, name)| {
                *far <= 3 || name.contains(chart) || chart.contains(name.as_str())
            })
            .collect();
        ranked.sort();
        ranked
            .into_iter()
            .take(3)
            .map(|(_, name)| name.clone())
            .collect()
    }
}

fn entry(value: &Value) -> Option<Entry> {
    let text = |key: &str| match value.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let version = text("version");
    version::Version::parse(&version).ok()?;
    let urls = value.get("urls").and_then(Value::as_array);
    let urls = urls.into_iter().flatten().filter_map(Value::as_str);
    Some(Entry {
        version,
        digest: text("digest"),
        urls: urls.map(str::to_owned).collect(),
    })
}

fn prefixed(digest: &str) -> String {
    if digest.is_empty() || digest.contains(':') {
        digest.to_owned()
    } else {
        format!("sha256:{digest}")
    }
}

// How many letters differ.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let next = row[j + 1];
            let change = diagonal + usize::from(x != *y);
            row[j + 1] = change.min(next + 1).min(row[j] + 1);
            diagonal = next;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "
apiVersion: v1
entries:
  web:
  - {name: web, version: 1.2.0, digest: abc, urls: [web-1.2.0.tgz]}
  - {name: web, version: 1.10.0, urls: ['https://other/web-1.10.0.tgz']}
  - {name: web, version: 2.0.0-rc.1, urls: [web-2.0.0-rc.1.tgz]}
  - {name: web, version: not-a-version, urls: [x]}
  empty: []
";

    fn check(chart: &str, range: &str, expected: &str) {
        let repository = Repository {
            url: "https://h/charts".into(),
            ..Repository::default()
        };
        let index = Index::parse(INDEX).expect("the index is well formed");
        let answer = match index.resolve(&repository, chart, range) {
            Ok(found) => format!("{} {} {}", found.version, found.url, found.digest),
            Err(error) => error.to_string(),
        };
        assert_eq!(answer.trim(), expected);
    }

    #[test]
    fn ranges_pick_the_highest_version() {
        check("web", "", "1.10.0 https://other/web-1.10.0.tgz");
        check(
            "web",
            "~1.2",
            "1.2.0 https://h/charts/web-1.2.0.tgz sha256:abc",
        );
        check(
            "web",
            ">=1.0.0-0",
            "2.0.0-rc.1 https://h/charts/web-2.0.0-rc.1.tgz",
        );
        check(
            "web",
            "2.0.0-rc.1",
            "2.0.0-rc.1 https://h/charts/web-2.0.0-rc.1.tgz",
        );
    }

    #[test]
    fn what_is_not_there_is_named() {
        check(
            "web",
            "^3",
            "chart \"web\" version \"^3\" not found in https://h/charts repository",
        );
        check(
            "wep",
            "",
            "chart \"wep\" not found in https://h/charts repository",
        );
        check(
            "empty",
            "",
            "chart \"empty\" not found in https://h/charts repository",
        );
        assert!(Index::parse("entries: {}").is_err());
    }

    #[test]
    fn names_close_by_are_offered() {
        let index = Index::parse(INDEX).expect("the index is well formed");
        assert_eq!(index.nearest("wep"), ["web"]);
    }
}
