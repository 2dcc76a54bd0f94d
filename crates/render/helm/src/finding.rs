//! Faults as entries of the catalogue: G06 for templates and values, G07 for dependencies, G15 for
//! results that differ from render to render.

use crate::error::{HelmError, Missing, TemplateFault};
use model::{Evidence, Finding, Fix, Place, Remedy, Severity};

impl HelmError {
    /// The catalogue's entry for it.
    pub fn finding(&self) -> Finding {
        match self {
            Self::Missing {
                missing,
                file,
                locked,
                ..
            } => dependency(self, missing, file, *locked),
            Self::Template(fault) => template(fault),
            Self::Output {
                message,
                file,
                line,
                template,
                ..
            } => {
                let at = place(file, *line);
                Finding {
                    culprit: format!("{file}:{line}"),
                    evidence: vec![said(template, message, Some(at))],
                    fix: vec![advice(format!(
                        "look at what the template prints with `tiphys helm template --debug`, and indent or quote at {file}:{line}"
                    ))],
                    prevent: PREVENT.into(),
                    ..Finding::new("G06", "helm-render", message.clone())
                }
            }
            Self::Chart {
                message,
                file,
                line,
            }
            | Self::Values {
                message,
                file,
                line,
            } => {
                let at = (!file.is_empty()).then(|| place(file, *line));
                Finding {
                    culprit: file.clone(),
                    evidence: vec![said(file, message, at)],
                    prevent: PREVENT.into(),
                    ..Finding::new("G06", "helm-render", message.clone())
                }
            }
            Self::Schema { message } => Finding {
                culprit: "values.schema.json".into(),
                evidence: vec![said("values.schema.json", message, None)],
                fix: vec![advice(
                    "give the values the form that the schema asks for".into(),
                )],
                prevent: PREVENT.into(),
                ..Finding::new("G06", "helm-render", first_lines(message))
            },
            Self::KubeVersion { message } => Finding {
                culprit: "kubeVersion".into(),
                evidence: vec![said("Chart.yaml", message, None)],
                fix: vec![advice(
                    "use a version of the chart that supports the cluster's version".into(),
                )],
                ..Finding::new("G06", "helm-render", message.clone())
            },
            Self::Refused { message } => Finding {
                fix: vec![advice(
                    "allow the `helm` program for such charts with the setting `helm.exec`".into(),
                )],
                ..Finding::new("G06", "helm-render", message.clone())
            },
        }
    }
}

const PREVENT: &str = "`tiphys render` before merge";

fn first_lines(message: &str) -> String {
    message.lines().take(4).collect::<Vec<_>>().join("\n")
}

fn said(source: &str, says: &str, place: Option<Place>) -> Evidence {
    Evidence {
        source: source.to_owned(),
        says: says.to_owned(),
        place,
    }
}

fn advice(text: String) -> Fix {
    Fix {
        title: text.clone(),
        how: Remedy::Advice(text),
        destructive: false,
    }
}

fn place(file: &str, line: usize) -> Place {
    Place {
        file: file.to_owned(),
        line,
        ..Place::default()
    }
}

fn template(fault: &TemplateFault) -> Finding {
    let mut at = Place::in_text(&fault.file, &fault.text, fault.line, fault.column);
    at.width = fault.expression.chars().count().max(1);
    let mut evidence = vec![said(&fault.template, &fault.message, Some(at))];
    let summary = match &fault.missing {
        Some(missing) => format!(
            "{}:{}: `{}` needs `.Values.{missing}`, which no values file sets",
            fault.file, fault.line, fault.expression
        ),
        None => format!("{}:{}: {}", fault.file, fault.line, fault.reason),
    };
    if fault.missing.is_some() {
        for (index, file) in fault.searched.iter().enumerate() {
            let says = format!("searched, number {}: it has no value there", index + 1);
            evidence.push(said(file, &says, None));
        }
    }
    Finding {
        culprit: format!("{}:{}:{}", fault.file, fault.line, fault.column),
        evidence,
        fix: template_fix(fault),
        prevent: PREVENT.into(),
        ..Finding::new("G06", "helm-render", summary)
    }
}

// The line to add, and the values file to add it to: the last one searched wins.
fn template_fix(fault: &TemplateFault) -> Vec<Fix> {
    let (Some(path), Some(file)) = (&fault.missing_from_root, fault.searched.last()) else {
        return Vec::new();
    };
    let mut lines = String::new();
    let parts: Vec<&str> = path.split('.').collect();
    for (depth, part) in parts.iter().enumerate() {
        let indent = "  ".repeat(depth);
        let value = if depth + 1 == parts.len() {
            " \"\" # your value"
        } else {
            ""
        };
        lines.push_str(&format!("{indent}{part}:{value}\n"));
    }
    vec![Fix {
        title: format!("set `{path}` in {file}"),
        how: Remedy::Git {
            file: file.clone(),
            patch: lines,
        },
        destructive: false,
    }]
}

fn dependency(error: &HelmError, missing: &[Missing], file: &str, locked: bool) -> Finding {
    let lock = if locked {
        "Chart.lock is there"
    } else {
        "there is no Chart.lock"
    };
    let evidence = missing.iter().map(|want| {
        let Missing {
            name,
            version,
            repository,
            line,
        } = want;
        let says = format!("`{name}` {version} from `{repository}` is not in charts/; {lock}");
        said(file, &says, Some(place(file, *line)))
    });
    let chart = file
        .strip_suffix("Chart.yaml")
        .unwrap_or(file)
        .trim_end_matches('/');
    let chart = if chart.is_empty() { "." } else { chart };
    let names: Vec<&str> = missing.iter().map(|want| want.name.as_str()).collect();
    Finding {
        culprit: file.to_owned(),
        evidence: evidence.collect(),
        fix: vec![
            Fix {
                title: "fetch the charts and commit them".into(),
                how: Remedy::Command(format!("helm dependency build {chart}")),
                destructive: false,
            },
            advice(
                "register the repositories of the dependencies, so that they are fetched".into(),
            ),
        ],
        prevent: "commit charts/, or Chart.lock with repositories that can be reached".into(),
        ..Finding::new(
            "G07",
            "helm-dependency",
            format!("{}: {}", names.join(", "), error.message()),
        )
    }
}

/// The finding for a chart whose output differs from render to render; none without marks.
pub fn nondeterministic(marks: &[gotemplate::Mark]) -> Option<Finding> {
    let first = marks.first()?;
    let evidence = marks.iter().map(|mark| {
        let says = format!("`{}` gives something else at each render", mark.function);
        said(&mark.file, &says, Some(place(&mark.file, mark.line)))
    });
    Some(Finding {
        severity: Severity::Warning,
        culprit: format!("{}:{}", first.file, first.line),
        evidence: evidence.collect(),
        fix: vec![advice(
            "set the value in a values file, or ignore the field with ignoreDifferences".into(),
        )],
        prevent: "keep random values and the time out of templates".into(),
        ..Finding::new(
            "G15",
            "nondeterministic-render",
            format!("{}:{} uses `{}`", first.file, first.line, first.function),
        )
    })
}
