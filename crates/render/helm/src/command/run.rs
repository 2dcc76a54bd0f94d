//! Does what `helm template` does, and says what it says.

use super::{Template, ValueFlag};
use crate::values::{self, Layer};
use crate::{
    Capabilities, Chart, Flavour, HelmError, KubeVersion, Options, Prepared, Print, Rendered,
};
use crate::{check_release_name, name_from_template};
use gotemplate::Context;
use model::Map;

/// The outside of a command: files, charts, a cluster.
pub trait World {
    /// The chart at a path, or from wherever the flags say.
    fn chart(&mut self, name: &str, template: &Template) -> Result<Chart, HelmError>;

    /// A file, or an address; `-` is what is typed.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String>;

    /// What templates may use.
    fn context(&mut self, template: &Template) -> Result<Context, String>;

    /// What the cluster of `--validate` serves.
    fn capabilities(&mut self, template: &Template) -> Result<Capabilities, String>;

    /// Asks the cluster of `--validate` whether it would take the objects.
    fn validate(&mut self, template: &Template, rendered: &Rendered) -> Result<(), String>;

    /// Appends to a file below `--output-dir`; `first` means that an old one is replaced.
    fn write(&mut self, path: &str, text: &str, first: bool) -> Result<(), String>;

    /// Seconds since 1970, for names that are made.
    fn now(&self) -> i64;
}

/// What a command printed, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// To standard output.
    pub stdout: String,
    /// To standard error: warnings, then `Error: ` and why.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

/// Runs `helm template`; an error that is ours to refuse comes as such, so that a caller may ask
/// the real program.
pub fn run(
    template: &Template,
    flavour: Flavour,
    world: &mut dyn World,
) -> Result<Outcome, HelmError> {
    let mut outcome = Outcome::default();
    match render(template, flavour, world, &mut outcome) {
        Ok(()) => {}
        Err(error @ HelmError::Refused { .. }) => return Err(error),
        Err(error) => fail(template, &error, &mut outcome),
    }
    Ok(outcome)
}

fn fail(template: &Template, error: &HelmError, outcome: &mut Outcome) {
    let late = matches!(
        error,
        HelmError::KubeVersion { .. } | HelmError::Template(_) | HelmError::Output { .. }
    );
    if let (HelmError::Output { rendered, .. }, true) = (error, template.debug) {
        outcome.stdout.push_str(&format!("{}\n", rendered.trim()));
    } else if late && template.debug {
        outcome.stdout.push('\n');
    }
    outcome.stderr.push_str(&format!("Error: {error}\n"));
    if late && !template.debug {
        outcome
            .stderr
            .push_str("\nUse --debug flag to render out invalid YAML\n");
    }
    outcome.code = 1;
}

fn plain(message: impl Into<String>) -> HelmError {
    HelmError::values(message, "", 0)
}

fn render(
    template: &Template,
    flavour: Flavour,
    world: &mut dyn World,
    outcome: &mut Outcome,
) -> Result<(), HelmError> {
    if template.arguments.is_empty() {
        return Err(plain(
            "\"helm template\" requires at least 1 argument\n\nUsage:  helm template [NAME] [CHART] [flags]",
        ));
    }
    if !template.post_renderer.is_empty() {
        return Err(HelmError::Refused {
            message:
                "post-renderers are programs, which we do not start: pipe the output through it"
                    .into(),
        });
    }
    let mut capabilities = if template.validate {
        world.capabilities(template).map_err(plain)?
    } else {
        Capabilities::offline(flavour)
    };
    if !template.kube_version.is_empty() {
        let asked = KubeVersion::parse(&template.kube_version, flavour).map_err(plain)?;
        if !template.validate {
            capabilities.kube_version = asked;
        }
    }
    if !template.validate {
        capabilities
            .api_versions
            .extend(template.api_versions.iter().cloned());
    }
    let mut context = world.context(template).map_err(plain)?;
    let (name, chart) = name_and_chart(template, flavour, world.now(), &mut context)?;
    // The chart's place is looked at before its values, and both before the chart itself.
    let loaded = world.chart(&chart, template);
    if let Err(HelmError::Refused { .. }) = loaded {
        loaded?;
        return Ok(());
    }
    let values = user_values(template, flavour, world)?;
    let loaded = loaded?;
    if loaded.metadata.deprecated {
        outcome.stderr.push_str(match flavour {
            Flavour::V3 => "WARNING: This chart is deprecated\n",
            Flavour::V4 => "level=WARN msg=\"this chart is deprecated\"\n",
        });
    }
    let namespace = if template.namespace.is_empty() {
        "default"
    } else {
        &template.namespace
    };
    let mut options = Options::new(&name, namespace, flavour);
    options.capabilities = capabilities;
    options.include_crds = template.include_crds;
    options.skip_schema_validation = template.skip_schema_validation;
    options.release.is_upgrade = template.is_upgrade;
    options.value_files = template
        .values
        .iter()
        .filter_map(|flag| match flag {
            ValueFlag::File(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    let prepared = Prepared::new(loaded, flavour);
    prepared.check_installable()?;
    check_release_name(&name, flavour)?;
    let rendered = prepared.render(&values, &options, &mut context)?;
    for warning in &rendered.warnings {
        outcome.stderr.push_str(&format!("{warning}\n"));
    }
    if template.validate {
        world.validate(template, &rendered).map_err(plain)?;
    }
    print(template, &name, &rendered, flavour, world, outcome)
}

fn print(
    template: &Template,
    name: &str,
    rendered: &Rendered,
    flavour: Flavour,
    world: &mut dyn World,
    outcome: &mut Outcome,
) -> Result<(), HelmError> {
    let print = Print {
        no_hooks: template.no_hooks,
        skip_tests: template.skip_tests,
        show_only: template.show_only.clone(),
    };
    if template.output_dir.is_empty() {
        outcome.stdout.push_str(&rendered.print(&print, flavour)?);
        return Ok(());
    }
    let directory = if template.use_release_name {
        format!("{}/{name}", template.output_dir)
    } else {
        template.output_dir.clone()
    };
    let mut written = std::collections::BTreeSet::new();
    for (path, text) in rendered.files(&print) {
        let path = format!("{directory}/{path}");
        let first = written.insert(path.clone());
        world.write(&path, &text, first).map_err(plain)?;
        outcome.stdout.push_str(&format!("wrote {path}\n"));
    }
    outcome.stdout.push('\n');
    Ok(())
}

fn name_and_chart(
    template: &Template,
    flavour: Flavour,
    now: i64,
    context: &mut Context,
) -> Result<(String, String), HelmError> {
    match template.arguments.as_slice() {
        [name, chart] => {
            if template.generate_name {
                return Err(plain("cannot set --generate-name and also specify a name"));
            }
            if !template.name_template.is_empty() {
                return Err(plain("cannot set --name-template and also specify a name"));
            }
            Ok((name.clone(), chart.clone()))
        }
        [chart] if !template.name_template.is_empty() => {
            let name = name_from_template(&template.name_template, flavour, context)?;
            Ok((name, chart.clone()))
        }
        // Helm gives every release of `template` a name; `--generate-name` never gets its turn.
        [chart] => {
            let _ = now;
            Ok(("release-name".into(), chart.clone()))
        }
        [_, _, more @ ..] => Err(plain(format!(
            "expected at most two arguments, unexpected arguments: {}",
            more.join(", ")
        ))),
        [] => Err(plain("expected a chart")),
    }
}

fn user_values(
    template: &Template,
    flavour: Flavour,
    world: &mut dyn World,
) -> Result<Map<String, model::Value>, HelmError> {
    let mut layers = Vec::new();
    for flag in &template.values {
        layers.push(match flag {
            ValueFlag::File(name) => {
                let bytes = world
                    .read(name)
                    .map_err(|why| HelmError::values(why, name, 0))?;
                Layer::File {
                    name: name.clone(),
                    text: String::from_utf8_lossy(&bytes).into_owned(),
                }
            }
            ValueFlag::Json(line) => Layer::Json(line.clone()),
            ValueFlag::Set(line) => Layer::Set(line.clone()),
            ValueFlag::Text(line) => Layer::Text(line.clone()),
            ValueFlag::Literal(line) => Layer::Literal(line.clone()),
            ValueFlag::Content(line) => files_layer(line, world),
        });
    }
    values::merge(&layers, flavour)
}

// Finds out which files a `--set-file` names, and reads them.
fn files_layer(line: &str, world: &mut dyn World) -> Layer {
    let mut contents: Vec<(String, Result<String, String>)> = Vec::new();
    let collect = |name: &str| {
        if !contents.iter().any(|(known, _)| known == name) {
            let content = world
                .read(name)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            contents.push((name.to_owned(), content));
        }
        Ok(String::new())
    };
    // What is wrong with the line is told when it is merged.
    let _ = values::set_file(line, &mut Map::new(), collect);
    Layer::Files {
        line: line.to_owned(),
        contents,
    }
}
