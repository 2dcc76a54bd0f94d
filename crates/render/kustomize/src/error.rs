//! Why a kustomization cannot be built, and what to write instead.

use model::finding::{Evidence, Fix, Moment, Place, Remedy};
use model::{Finding, TreeError};
use std::fmt;
use std::sync::Arc;

/// Where in which file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The file, relative to the root of its tree.
    pub file: String,
    /// Line from 1; 0 when only the file is known.
    pub line: usize,
    /// Column from 1; 0 when only the line is known.
    pub column: usize,
    /// The text of the file, for an excerpt.
    pub text: Arc<str>,
}

impl Spot {
    pub(crate) fn new(file: &str, line: usize) -> Self {
        Self {
            file: file.to_owned(),
            line,
            ..Self::default()
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => f.write_str(&self.file),
            (line, 0) => write!(f, "{}:{line}", self.file),
            (line, column) => write!(f, "{}:{line}:{column}", self.file),
        }
    }
}

/// Why there are no manifests.
#[derive(Clone, Debug, PartialEq)]
pub enum KustomizeError {
    /// A directory has no kustomization file.
    NoKustomization {
        /// Who asked for the directory; nobody when it is the one to build.
        at: Option<Spot>,
        /// The directory.
        directory: String,
        /// A directory near it that has one.
        nearest: Option<String>,
    },
    /// A directory has more than one kustomization file.
    ManyKustomizations {
        /// The directory.
        directory: String,
        /// Their names.
        names: Vec<String>,
    },
    /// A kustomization file, or another file of settings, is not right.
    Settings {
        /// Where.
        at: Spot,
        /// What is wrong.
        message: String,
        /// What was perhaps meant.
        nearest: Option<String>,
    },
    /// A file is no YAML.
    Yaml {
        /// Where.
        at: Spot,
        /// What is wrong.
        message: String,
    },
    /// A document is no Kubernetes object.
    NotAnObject {
        /// Where.
        at: Spot,
        /// What it lacks.
        message: String,
    },
    /// A file or directory that is named is not there.
    Missing {
        /// Who named it.
        at: Spot,
        /// As it was written.
        path: String,
        /// Why it could not be read.
        why: String,
        /// A path near it that is there.
        nearest: Option<String>,
    },
    /// A path leads where it must not.
    Forbidden {
        /// Who named it.
        at: Spot,
        /// As it was written.
        path: String,
        /// Which rule forbids it.
        why: String,
    },
    /// Bases lead back to themselves.
    Cycle {
        /// Who closes the circle.
        at: Spot,
        /// The directory that was visited before.
        directory: String,
    },
    /// Two resources have one name.
    Duplicate {
        /// The name.
        id: String,
        /// Where the first stands.
        first: Spot,
        /// Where the second stands.
        second: Spot,
    },
    /// A patch, replacement, replica count or variable fits no resource, or too many.
    NoTarget {
        /// Who looks for it.
        at: Spot,
        /// What looks for it, as in `patch`.
        what: String,
        /// What it looks for.
        wanted: String,
        /// What is wrong.
        why: String,
        /// Resources that are near.
        nearest: Vec<String>,
    },
    /// Something remote could not be reached.
    Remote {
        /// Who named it.
        at: Spot,
        /// The address.
        address: String,
        /// Why not.
        why: String,
    },
    /// A chart could not be inflated.
    Helm {
        /// Who asked for it.
        at: Spot,
        /// The chart.
        chart: String,
        /// Why not.
        why: String,
    },
    /// The real program can do it and we do not.
    Unsupported {
        /// Who asks for it.
        at: Spot,
        /// What it is.
        what: String,
    },
    /// A step of the build failed.
    Step {
        /// Who asks for the step.
        at: Spot,
        /// The step, as in `replacements`.
        step: String,
        /// What went wrong.
        message: String,
    },
}

impl fmt::Display for KustomizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.at() {
            write!(f, "{at}: ")?;
        }
        f.write_str(&self.message())?;
        if let Some(near) = self.nearest() {
            write!(f, "; did you mean `{near}`?")?;
        }
        Ok(())
    }
}

impl std::error::Error for KustomizeError {}

impl KustomizeError {
    /// The place of the fault.
    pub fn at(&self) -> Option<&Spot> {
        match self {
            Self::NoKustomization { at, .. } => at.as_ref(),
            Self::ManyKustomizations { .. } => None,
            Self::Settings { at, .. }
            | Self::Yaml { at, .. }
            | Self::NotAnObject { at, .. }
            | Self::Missing { at, .. }
            | Self::Forbidden { at, .. }
            | Self::Cycle { at, .. }
            | Self::NoTarget { at, .. }
            | Self::Remote { at, .. }
            | Self::Helm { at, .. }
            | Self::Unsupported { at, .. }
            | Self::Step { at, .. } => Some(at),
            Self::Duplicate { second, .. } => Some(second),
        }
    }

    pub(crate) fn at_mut(&mut self) -> Option<&mut Spot> {
        match self {
            Self::NoKustomization { at, .. } => at.as_mut(),
            Self::ManyKustomizations { .. } => None,
            Self::Settings { at, .. }
            | Self::Yaml { at, .. }
            | Self::NotAnObject { at, .. }
            | Self::Missing { at, .. }
            | Self::Forbidden { at, .. }
            | Self::Cycle { at, .. }
            | Self::NoTarget { at, .. }
            | Self::Remote { at, .. }
            | Self::Helm { at, .. }
            | Self::Unsupported { at, .. }
            | Self::Step { at, .. } => Some(at),
            Self::Duplicate { second, .. } => Some(second),
        }
    }

    /// What was perhaps meant.
    pub fn nearest(&self) -> Option<&str> {
        match self {
            Self::NoKustomization { nearest, .. }
            | Self::Settings { nearest, .. }
            | Self::Missing { nearest, .. } => nearest.as_deref(),
            Self::NoTarget { nearest, .. } => nearest.first().map(String::as_str),
            _ => None,
        }
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> String {
        match self {
            Self::NoKustomization { directory, .. } => format!(
                "there is no kustomization.yaml, kustomization.yml or Kustomization in `{}`",
                shown(directory)
            ),
            Self::ManyKustomizations { directory, names } => {
                format!(
                    "`{}` has more than one kustomization file: {}",
                    shown(directory),
                    names.join(", ")
                )
            }
            Self::Settings { message, .. }
            | Self::Yaml { message, .. }
            | Self::NotAnObject { message, .. } => message.clone(),
            Self::Missing { path, why, .. } => format!("`{path}` cannot be read: {why}"),
            Self::Forbidden { path, why, .. } => format!("`{path}` may not be used: {why}"),
            Self::Cycle { directory, .. } => {
                format!(
                    "cycle: `{}` contains a directory that is being built",
                    shown(directory)
                )
            }
            Self::Duplicate { id, first, .. } => {
                format!(
                    "{id} is there twice, first in {first}: may not add resource with an already registered id"
                )
            }
            Self::NoTarget {
                what, wanted, why, ..
            } => format!("{what}: {why}: {wanted}"),
            Self::Remote { address, why, .. } => format!("`{address}` could not be fetched: {why}"),
            Self::Helm { chart, why, .. } => {
                format!("the chart `{chart}` could not be inflated: {why}")
            }
            Self::Unsupported { what, .. } => format!("{what} is not supported"),
            Self::Step { step, message, .. } => format!("{step}: {message}"),
        }
    }

    fn code(&self) -> (&'static str, &'static str) {
        match self {
            Self::Yaml { .. } => ("G09", "yaml-syntax"),
            Self::NotAnObject { .. } => ("G10", "not-a-manifest"),
            Self::Duplicate { .. } => ("G14", "duplicate-resource"),
            _ => ("G08", "kustomize-build"),
        }
    }

    /// The entry of the catalogue that it is an instance of.
    pub fn finding(&self) -> Finding {
        let (code, slug) = self.code();
        let mut finding = Finding::new(code, slug, self.to_string());
        finding.moment = Moment::Before;
        if let Some(at) = self.at() {
            finding.culprit = at.to_string();
            finding.evidence.push(Evidence {
                source: at.file.clone(),
                says: self.message(),
                place: Some(place(at)),
            });
        }
        if let Self::Duplicate { first, .. } = self {
            finding.evidence.push(Evidence {
                source: first.file.clone(),
                says: "the first one".into(),
                place: Some(place(first)),
            });
        }
        if let Self::NoTarget { nearest, .. } = self
            && nearest.len() > 1
        {
            finding.evidence.push(Evidence {
                source: "resources".into(),
                says: format!("near: {}", nearest.join("; ")),
                place: None,
            });
        }
        finding.fix.push(self.fix());
        finding
    }

    fn fix(&self) -> Fix {
        let file = self.at().map(|at| at.file.clone()).unwrap_or_default();
        let how = match (self, self.nearest()) {
            (_, Some(nearest)) => Remedy::Git {
                file,
                patch: format!("write `{nearest}`"),
            },
            (Self::Duplicate { id, .. }, _) => Remedy::Git {
                file,
                patch: format!("remove one of the two {id}"),
            },
            (Self::NoKustomization { directory, .. }, _) => Remedy::Git {
                file: format!("{directory}/kustomization.yaml"),
                patch: "add a kustomization.yaml that lists the resources".into(),
            },
            (Self::Unsupported { .. }, _) => Remedy::Advice(
                "use a built-in transformer or generator instead, or a config management plugin"
                    .into(),
            ),
            _ => Remedy::Advice("correct the file at the place that is shown".into()),
        };
        Fix {
            title: "correct the kustomization".into(),
            how,
            destructive: false,
        }
    }
}

fn shown(directory: &str) -> &str {
    if directory.is_empty() { "." } else { directory }
}

fn place(at: &Spot) -> Place {
    if at.text.is_empty() || at.line == 0 {
        return Place {
            file: at.file.clone(),
            line: at.line,
            column: at.column,
            ..Place::default()
        };
    }
    Place::in_text(at.file.clone(), &at.text, at.line, at.column)
}

/// What a tree says, without the path that the message has already.
pub(crate) fn tree_words(error: &TreeError) -> String {
    match error {
        TreeError::NotFound { .. } => "it does not exist".into(),
        TreeError::NotAFile { .. } => "it is not a file".into(),
        TreeError::NotADirectory { .. } => "it is not a directory".into(),
        other => other.to_string(),
    }
}
