//! Why a source could not be rendered, and the finding that says it.

use crate::fields::FieldError;
use model::{Evidence, Finding, Fix, Place, Remedy, TreeError};
use std::fmt;

/// Why a source could not be rendered.
#[derive(Clone, Debug, PartialEq)]
pub enum RenderError {
    /// The source's own parameters are wrong.
    Source {
        /// What is wrong with which field.
        faults: Vec<FieldError>,
        /// Where they stand, when that is a file.
        place: Option<Place>,
    },
    /// The source's path does not lead to a directory of the tree.
    Path {
        /// The path as written.
        path: String,
        /// What is wrong, in Argo CD's words.
        problem: &'static str,
        /// Directories that exist and are called almost the same.
        nearest: Vec<String>,
    },
    /// A file or directory could not be read.
    Tree(TreeError),
    /// A text is not YAML, JSON or Jsonnet.
    Syntax {
        /// Where.
        place: Place,
        /// What is wrong.
        problem: String,
        /// Where the other half of the problem stands, as the first of two equal keys.
        other: Option<Place>,
        /// What to write instead, when that is known.
        hint: String,
    },
    /// A document is no manifest.
    NotAManifest {
        /// Where.
        place: Place,
        /// Which document of the file, from 0.
        document: usize,
        /// What is missing or too much.
        problem: String,
        /// What to write instead.
        hint: String,
    },
    /// More than we are willing to read or wait for.
    Limit {
        /// What was too much, as a sentence.
        problem: String,
        /// Which setting allows more.
        setting: String,
    },
    /// A pattern of the source is none.
    Pattern {
        /// Which field.
        field: String,
        /// The pattern.
        pattern: String,
        /// What is wrong.
        problem: String,
    },
    /// A tool says itself what is wrong.
    Tool(Box<Finding>),
}

impl From<TreeError> for RenderError {
    fn from(error: TreeError) -> Self {
        Self::Tree(error)
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source { faults, .. } => {
                let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
                f.write_str(&shown.join("; "))
            }
            Self::Path { path, problem, .. } => write!(f, "{path}: {problem}"),
            Self::Tree(error) => write!(f, "{error}"),
            Self::Syntax { place, problem, .. } | Self::NotAManifest { place, problem, .. } => {
                write!(f, "{}:{}: {problem}", place.file, place.line)
            }
            Self::Limit { problem, .. } => f.write_str(problem),
            Self::Pattern {
                field,
                pattern,
                problem,
            } => write!(f, "{field}: `{pattern}` is no pattern: {problem}"),
            Self::Tool(finding) => f.write_str(&finding.summary),
        }
    }
}

impl std::error::Error for RenderError {}

impl RenderError {
    /// The catalogue's entry for it.
    pub fn finding(&self) -> Finding {
        match self {
            Self::Source { faults, place } => source(self, faults, place.clone()),
            Self::Path { path, nearest, .. } => path_finding(self, path, nearest),
            Self::Tree(error) => tree(error),
            Self::Syntax {
                place,
                problem,
                other,
                hint,
            } => syntax(self, place, problem, other.clone(), hint),
            Self::NotAManifest {
                place,
                document,
                problem,
                hint,
            } => not_a_manifest(self, place, *document, problem, hint),
            Self::Limit { setting, .. } => Finding {
                fix: advice(setting),
                prevent: "keep what is not a manifest out of the source's path".into(),
                ..Finding::new("G11", "generation-timeout", self.to_string())
            },
            Self::Pattern { field, pattern, .. } => Finding {
                culprit: format!("{field} `{pattern}`"),
                fix: advice("close every `{` and `[`, and write `\\` before those that are meant"),
                ..Finding::new("G10", "not-a-manifest", self.to_string())
            },
            Self::Tool(finding) => (**finding).clone(),
        }
    }
}

fn advice(text: &str) -> Vec<Fix> {
    if text.is_empty() {
        return Vec::new();
    }
    vec![Fix {
        title: text.to_owned(),
        how: Remedy::Advice(text.to_owned()),
        destructive: false,
    }]
}

fn said(source: &str, says: &str, place: Option<Place>) -> Evidence {
    Evidence {
        source: source.to_owned(),
        says: says.to_owned(),
        place,
    }
}

fn source(error: &RenderError, faults: &[FieldError], place: Option<Place>) -> Finding {
    let mut place = place;
    let evidence = faults
        .iter()
        .map(|fault| said("Application", &fault.to_string(), place.take()))
        .collect();
    Finding {
        culprit: faults.first().map(|f| f.field.clone()).unwrap_or_default(),
        evidence,
        ..Finding::new("G10", "not-a-manifest", error.to_string())
    }
}

fn path_finding(error: &RenderError, path: &str, nearest: &[String]) -> Finding {
    let fix = nearest.iter().map(|near| Fix {
        title: format!("use `{near}`"),
        how: Remedy::Application(model::json!({"spec": {"source": {"path": near}}})),
        destructive: false,
    });
    Finding {
        culprit: format!("spec.source.path `{path}`"),
        fix: fix.collect(),
        ..Finding::new("G05", "path-not-found", error.to_string())
    }
}

fn tree(error: &TreeError) -> Finding {
    let summary = error.to_string();
    let (code, slug, hint) = match error {
        TreeError::NotFound { .. }
        | TreeError::NotAFile { .. }
        | TreeError::NotADirectory { .. } => ("G05", "path-not-found", ""),
        TreeError::OutOfBounds { .. } | TreeError::LinkLoop { .. } => (
            "G05",
            "path-not-found",
            "let the link lead to a file of this repository, or put the file itself in its place",
        ),
        TreeError::Submodule { .. } => (
            "G05",
            "path-not-found",
            "allow submodules for this repository, or use the other repository as a source",
        ),
        TreeError::TooLarge { .. } => (
            "G11",
            "generation-timeout",
            "exclude the file, or keep it elsewhere",
        ),
        TreeError::Unreadable { .. } => ("G02", "git-unreachable", ""),
    };
    Finding {
        culprit: format!("`{}`", error.path()),
        fix: advice(hint),
        ..Finding::new(code, slug, summary)
    }
}

fn syntax(
    error: &RenderError,
    place: &Place,
    problem: &str,
    other: Option<Place>,
    hint: &str,
) -> Finding {
    let mut evidence = vec![said(&place.file, problem, Some(place.clone()))];
    if let Some(other) = other {
        evidence.push(said(&place.file, "the first one is here", Some(other)));
    }
    Finding {
        culprit: format!("{}:{}:{}", place.file, place.line, place.column),
        evidence,
        fix: advice(hint),
        prevent: "`tiphys render` before merge".into(),
        ..Finding::new("G09", "yaml-syntax", error.to_string())
    }
}

fn not_a_manifest(
    error: &RenderError,
    place: &Place,
    document: usize,
    problem: &str,
    hint: &str,
) -> Finding {
    Finding {
        culprit: format!("document {} of {}", document + 1, place.file),
        evidence: vec![said(&place.file, problem, Some(place.clone()))],
        fix: advice(hint),
        prevent: "`tiphys render` before merge".into(),
        ..Finding::new("G10", "not-a-manifest", error.to_string())
    }
}
