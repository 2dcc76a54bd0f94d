//! Why a chart could not be rendered, in Helm's words and with its place.

use std::fmt;

/// Why a chart could not be rendered.
#[derive(Clone, Debug, PartialEq)]
pub enum HelmError {
    /// The chart's own files are wrong: no `Chart.yaml`, a bad archive, a name that is none.
    Chart {
        /// What Helm says.
        message: String,
        /// The file at fault, from the root of the repository; empty when it is not known.
        file: String,
        /// The line at fault, from 1; 0 when it is not known.
        line: usize,
    },
    /// Charts that `Chart.yaml` names are not in `charts/`.
    Missing {
        /// What Helm says.
        message: String,
        /// The missing charts.
        missing: Vec<Missing>,
        /// The file that names them.
        file: String,
        /// Whether the chart has a lock file.
        locked: bool,
    },
    /// Values that cannot be read or do not fit the chart.
    Values {
        /// What Helm says.
        message: String,
        /// The file or flag they came from.
        file: String,
        /// The line at fault, from 1; 0 when it is not known.
        line: usize,
    },
    /// Values that a schema refuses.
    Schema {
        /// What Helm says.
        message: String,
    },
    /// The chart does not run on this version of Kubernetes.
    KubeVersion {
        /// What Helm says.
        message: String,
    },
    /// A template that cannot be parsed or run.
    Template(Box<TemplateFault>),
    /// A template whose output is no YAML.
    Output {
        /// What Helm says.
        message: String,
        /// The template, as in `web/templates/a.yaml`.
        template: String,
        /// The template's file in the repository.
        file: String,
        /// Line of the template behind the fault, from 1; 0 when it is not known.
        line: usize,
        /// Everything that was rendered, as `--debug` prints it.
        rendered: String,
    },
    /// Something Helm can do and we refuse.
    Refused {
        /// What, and what to do instead.
        message: String,
    },
}

/// A chart that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its name.
    pub name: String,
    /// The version or range wanted.
    pub version: String,
    /// Where it would come from.
    pub repository: String,
    /// Line of `Chart.yaml` that names it, from 1; 0 when it is not known.
    pub line: usize,
}

/// Where and why a template failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateFault {
    /// What Helm says.
    pub message: String,
    /// The template at fault, as in `web/templates/a.yaml`.
    pub template: String,
    /// Its file in the repository.
    pub file: String,
    /// Line from 1; 0 when it is not known.
    pub line: usize,
    /// Column from 1; 0 when it is not known.
    pub column: usize,
    /// The expression, as Go prints it.
    pub expression: String,
    /// The innermost reason.
    pub reason: String,
    /// The path below `.Values` that had no value, in the words of the chart at fault.
    pub missing: Option<String>,
    /// The same path as the root chart's values spell it.
    pub missing_from_root: Option<String>,
    /// Every values file that was searched, in order, the chart's own first.
    pub searched: Vec<String>,
    /// The template's text, for the excerpt.
    pub text: String,
}

impl HelmError {
    pub(crate) fn chart(message: impl Into<String>) -> Self {
        Self::Chart {
            message: message.into(),
            file: String::new(),
            line: 0,
        }
    }

    pub(crate) fn values(message: impl Into<String>, file: impl Into<String>, line: usize) -> Self {
        Self::Values {
            message: message.into(),
            file: file.into(),
            line,
        }
    }

    /// What Helm prints behind `Error: `.
    pub fn message(&self) -> &str {
        match self {
            Self::Chart { message, .. }
            | Self::Missing { message, .. }
            | Self::Values { message, .. }
            | Self::Schema { message }
            | Self::KubeVersion { message }
            | Self::Output { message, .. }
            | Self::Refused { message } => message,
            Self::Template(fault) => &fault.message,
        }
    }

    // The same fault behind other words in front.
    pub(crate) fn within(self, prefix: &str) -> Self {
        let mut error = self;
        let message = match &mut error {
            Self::Chart { message, .. }
            | Self::Missing { message, .. }
            | Self::Values { message, .. }
            | Self::Schema { message }
            | Self::KubeVersion { message }
            | Self::Output { message, .. }
            | Self::Refused { message } => message,
            Self::Template(fault) => &mut fault.message,
        };
        message.insert_str(0, prefix);
        error
    }
}

impl fmt::Display for HelmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for HelmError {}
