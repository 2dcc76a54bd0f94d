//! A chart as it was loaded: metadata, default values, templates, files and the charts inside it.

use model::{Map, Value};
use std::sync::Arc;

/// The `apiVersion` of charts of Helm 2's time.
pub const API_V1: &str = "v1";
/// The `apiVersion` of today's charts.
pub const API_V2: &str = "v2";

/// One file of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path inside the chart.
    pub name: String,
    /// Its bytes, without a byte order mark.
    pub data: Arc<[u8]>,
}

impl File {
    /// The content as text; what is no UTF-8 is replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.data)
    }
}

/// A chart and the charts inside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// What `Chart.yaml` says.
    pub metadata: Metadata,
    /// What `Chart.lock`, or `requirements.lock`, says.
    pub lock: Option<Lock>,
    /// Files below `templates/`, in the order they were found.
    pub templates: Vec<File>,
    /// The default values; every number is a float, as Helm reads them.
    pub values: Map<String, Value>,
    /// `values.schema.json`.
    pub schema: Option<Arc<[u8]>>,
    /// All other files.
    pub files: Vec<File>,
    /// The charts in `charts/`, by the name they lie under.
    pub dependencies: Vec<Arc<Chart>>,
    /// Where the chart stands in its repository; an archive's path ends in `:` and a directory.
    pub root: String,
    /// What Helm would warn about while loading.
    pub warnings: Vec<String>,
}

/// What `Chart.yaml` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// The chart's name.
    pub name: String,
    /// The project's page.
    pub home: String,
    /// Where its sources are.
    pub sources: Vec<String>,
    /// The chart's version.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// Who keeps it.
    pub maintainers: Vec<Maintainer>,
    /// The address of a picture.
    pub icon: String,
    /// `v1` or `v2`.
    pub api_version: String,
    /// Not used by Helm any more.
    pub condition: String,
    /// Not used by Helm any more.
    pub tags: String,
    /// The version of what the chart installs.
    pub app_version: String,
    /// Whether the chart should not be used any more.
    pub deprecated: bool,
    /// Free notes.
    pub annotations: Option<Map<String, Value>>,
    /// The range of Kubernetes versions it runs on.
    pub kube_version: String,
    /// The charts it needs; `None` when the field is absent.
    pub dependencies: Option<Vec<Dependency>>,
    /// `application`, `library` or empty.
    pub kind: String,
}

/// Somebody who keeps a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintainer {
    /// A name.
    pub name: String,
    /// An address for mail.
    pub email: String,
    /// An address for browsers.
    pub url: String,
}

/// A chart that another one needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependency {
    /// Its name.
    pub name: String,
    /// A version or a range of versions.
    pub version: String,
    /// Where it comes from.
    pub repository: String,
    /// Paths of values that switch it on, separated by commas.
    pub condition: String,
    /// Names in `tags` that switch it on.
    pub tags: Vec<String>,
    /// Whether it is on.
    pub enabled: bool,
    /// What of its values the parent takes over.
    pub import_values: Vec<Value>,
    /// The name it goes by.
    pub alias: String,
}

/// What a lock file pins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// When it was written.
    pub generated: String,
    /// A hash of the dependencies and their locked versions.
    pub digest: String,
    /// The pinned dependencies.
    pub dependencies: Vec<Dependency>,
}

impl Chart {
    /// The chart's name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Whether the chart only lends templates.
    pub fn is_library(&self) -> bool {
        self.metadata.kind.eq_ignore_ascii_case("library")
    }

    /// Where a file of this chart stands in the repository.
    pub fn place_of(&self, name: &str) -> String {
        match self.root.as_str() {
            "" => name.to_owned(),
            root if root.ends_with(':') => format!("{root}{name}"),
            root => format!("{root}/{name}"),
        }
    }

    /// The dependencies of `Chart.yaml` that are not in `charts/`.
    pub fn missing_dependencies(&self) -> Vec<&Dependency> {
        let wanted = self.metadata.dependencies.iter().flatten();
        wanted
            .filter(|want| {
                !self
                    .dependencies
                    .iter()
                    .any(|have| have.name() == want.name)
            })
            .collect()
    }

    /// What was warned about while this chart and those inside it were loaded.
    pub fn all_warnings(&self) -> Vec<String> {
        let inner = self.dependencies.iter().flat_map(|d| d.all_warnings());
        self.warnings.iter().cloned().chain(inner).collect()
    }
}
