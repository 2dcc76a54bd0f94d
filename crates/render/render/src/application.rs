//! What a render needs of an Application: its name, destination, project and sources.

use crate::fields::FieldError;
use crate::source::Source;
use model::Value;

/// The parts of an Application that say what to render.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// Its own namespace.
    pub namespace: String,
    /// Its project; `default` when it says nothing.
    pub project: String,
    /// Where its objects go when they do not say it themselves.
    pub destination_namespace: String,
    /// Its sources, in order.
    pub sources: Vec<Source>,
    /// Where they stand, as in `spec.sources[0]`.
    pub fields: Vec<String>,
}

impl Application {
    /// Reads an Application; every fault names its field.
    pub fn read(value: &Value) -> Result<Self, Vec<FieldError>> {
        let mut faults = Vec::new();
        let kind = text(value, "kind", &mut faults);
        if kind != "Application" {
            faults.push(fault(
                "kind",
                format!("must be `Application`, not `{kind}`"),
            ));
            return Err(faults);
        }
        let name = text(value, "metadata.name", &mut faults);
        if name.is_empty() {
            faults.push(fault("metadata.name", "is required".into()));
        }
        let project = text(value, "spec.project", &mut faults);
        let mut application = Self {
            name,
            namespace: text(value, "metadata.namespace", &mut faults),
            project: if project.is_empty() {
                "default".into()
            } else {
                project
            },
            destination_namespace: text(value, "spec.destination.namespace", &mut faults),
            ..Self::default()
        };
        for (field, source) in sources(value, &mut faults) {
            match Source::read(&source, &field) {
                Ok(source) => {
                    check(&field, &source, &mut faults);
                    application.sources.push(source);
                    application.fields.push(field);
                }
                Err(more) => faults.extend(more),
            }
        }
        references(&application, &mut faults);
        if faults.is_empty() {
            Ok(application)
        } else {
            Err(faults)
        }
    }
}

fn fault(field: &str, problem: String) -> FieldError {
    FieldError {
        field: field.into(),
        problem,
    }
}

fn at<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    let mut found = value;
    for part in field.split('.') {
        found = found.get(part)?;
    }
    (!found.is_null()).then_some(found)
}

fn text(value: &Value, field: &str, faults: &mut Vec<FieldError>) -> String {
    match at(value, field) {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => {
            faults.push(fault(
                field,
                format!("must be a string: write `\"{other}\"`"),
            ));
            String::new()
        }
    }
}

// The hydrator's source wins over `sources`, those over `source`.
fn sources(value: &Value, faults: &mut Vec<FieldError>) -> Vec<(String, Value)> {
    if let Some(hydrator) = at(value, "spec.sourceHydrator") {
        let part = |field: &str| at(hydrator, field).cloned().unwrap_or(Value::Null);
        let repo = match part("syncSource.repoURL") {
            Value::Null => part("drySource.repoURL"),
            own => own,
        };
        let source = model::json!({
            "repoURL": repo,
            "path": part("syncSource.path"),
            "targetRevision": part("syncSource.targetBranch"),
        });
        return vec![("spec.sourceHydrator".into(), source)];
    }
    match at(value, "spec.sources") {
        Some(Value::Array(list)) if !list.is_empty() => {
            let numbered = list.iter().enumerate();
            return numbered
                .map(|(index, source)| (format!("spec.sources[{index}]"), source.clone()))
                .collect();
        }
        None | Some(Value::Array(_)) => {}
        Some(_) => faults.push(fault("spec.sources", "must be a list".into())),
    }
    match at(value, "spec.source") {
        Some(source) => vec![("spec.source".into(), source.clone())],
        None => {
            faults.push(fault(
                "spec.source",
                "is required: where the manifests come from".into(),
            ));
            Vec::new()
        }
    }
}

fn check(field: &str, source: &Source, faults: &mut Vec<FieldError>) {
    let single = field == "spec.source";
    let somewhere = !source.path.is_empty()
        || !source.chart.is_empty()
        || (!single && !source.reference.is_empty());
    let oci = source.repo_url.starts_with("oci://");
    if source.repo_url.is_empty() || !(somewhere || oci || field == "spec.sourceHydrator") {
        let wanted = if single {
            "path or chart"
        } else {
            "path, chart or ref"
        };
        faults.push(fault(
            &format!("{field}.repoURL"),
            format!("and one of {wanted} are required"),
        ));
    }
    if !source.chart.is_empty() && source.target_revision.is_empty() {
        faults.push(fault(
            &format!("{field}.targetRevision"),
            "is required if the manifest source is a helm chart".into(),
        ));
    }
}

fn references(application: &Application, faults: &mut Vec<FieldError>) {
    let mut seen: Vec<&str> = Vec::new();
    for (field, source) in application.fields.iter().zip(&application.sources) {
        let name = source.reference.as_str();
        if name.is_empty() {
            continue;
        }
        let field = format!("{field}.ref");
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !name.chars().all(fits) {
            let problem = format!("`{name}` may only have letters, digits, `_` and `-`");
            faults.push(fault(&field, problem));
        } else if seen.contains(&name) {
            faults.push(fault(
                &field,
                format!("`{name}` is taken by another source"),
            ));
        }
        seen.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn check_faults(spec: Value, expected: &[&str]) {
        let value = json!({"kind": "Application", "metadata": {"name": "a"}, "spec": spec});
        let faults = Application::read(&value).err().unwrap_or_default();
        let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn sources_are_found_and_faults_name_their_field() {
        check_faults(json!({"source": {"repoURL": "x", "path": "."}}), &[]);
        check_faults(
            json!({}),
            &["spec.source is required: where the manifests come from"],
        );
        check_faults(
            json!({"source": {"path": "a"}, "project": 1}),
            &[
                "spec.project must be a string: write `\"1\"`",
                "spec.source.repoURL and one of path or chart are required",
            ],
        );
        check_faults(
            json!({"sources": [{"repoURL": "x", "ref": "a b"}, {"repoURL": "x", "ref": "v"}, {"repoURL": "x", "ref": "v", "chart": "c"}]}),
            &[
                "spec.sources[2].targetRevision is required if the manifest source is a helm chart",
                "spec.sources[0].ref `a b` may only have letters, digits, `_` and `-`",
                "spec.sources[2].ref `v` is taken by another source",
            ],
        );
    }
}
