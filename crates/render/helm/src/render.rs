//! A chart and its values to documents.
//!
//! ```text
//! values ─▶ tree (off, alias, import) ─▶ coalesce ─▶ schema ─▶ templates ─▶ documents, hooks
//! ```

use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::document::{File, Sorted};
use crate::error::Missing;
use crate::fault::Faults;
use crate::rendered::{Crd, Rendered};
use crate::scope::{self, Ready, Scopes};
use crate::tree::{ChartTree, NodeId};
use crate::values::coalesce::{Coalescer, Nulls, plain_map, shared_map};
use crate::{Flavour, HelmError, gopath, schema};
use gotemplate::{Context, Edition, Map as Table, Output, Templates};
use model::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many sets of parsed templates a chart keeps: one for each choice of subcharts.
const SETS_MAX: usize = 16;

/// A release as templates see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its name.
    pub name: String,
    /// The namespace it goes to.
    pub namespace: String,
    /// Whether it replaces an earlier one.
    pub is_upgrade: bool,
    /// Which one it is.
    pub revision: i64,
}

/// What a render is for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The release.
    pub release: Release,
    /// The cluster.
    pub capabilities: Capabilities,
    /// Whether the files of `crds/` are part of the result.
    pub include_crds: bool,
    /// Whether values are not checked against schemas.
    pub skip_schema_validation: bool,
    /// The user's values files, in order, for messages.
    pub value_files: Vec<String>,
}

impl Options {
    /// What `helm template NAME CHART` assumes.
    pub fn new(name: &str, namespace: &str, flavour: Flavour) -> Self {
        Self {
            release: Release {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
                is_upgrade: false,
                revision: 1,
            },
            capabilities: Capabilities::offline(flavour),
            include_crds: false,
            skip_schema_validation: false,
            value_files: Vec::new(),
        }
    }
}

/// A chart ready to be rendered again and again: its templates are parsed once.
#[derive(Debug)]
pub struct Prepared {
    chart: Arc<Chart>,
    flavour: Flavour,
    // Parsed templates by the names of their files.
    sets: Mutex<Vec<(Vec<String>, Arc<Templates>)>>,
}

impl Prepared {
    /// A chart of which nothing is parsed yet.
    pub fn new(chart: Chart, flavour: Flavour) -> Self {
        Self {
            chart: Arc::new(chart),
            flavour,
            sets: Mutex::default(),
        }
    }

    /// The chart.
    pub fn chart(&self) -> &Chart {
        &self.chart
    }

    /// Whose habits it follows.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// Renders the chart with the user's values.
    pub fn render(
        &self,
        values: &Map<String, Value>,
        options: &Options,
        context: &mut Context,
    ) -> Result<Rendered, HelmError> {
        self.check_installable()?;
        let mut warnings = self.chart.all_warnings();
        let mut tree = ChartTree::new(&self.chart, self.flavour);
        let user = shared_map(values);
        tree.process(&user, &mut warnings)?;
        let all = self.coalesce(&tree, user, &mut warnings)?;
        if !options.skip_schema_validation && schema::is_there(&tree, ChartTree::ROOT) {
            schema::validate(&tree, ChartTree::ROOT, &plain_map(&all), self.flavour).map_err(|faults| {
                HelmError::Schema {
                    message: format!(
                        "values don't meet the specifications of the schema(s) in the following chart(s):\n{faults}"
                    ),
                }
            })?;
        }
        self.check_kube_version(options)?;
        let run = Run {
            prepared: self,
            tree: &tree,
            options,
            values: &all,
        };
        let outputs = run.execute(context)?;
        let mut rendered = run.sort(outputs)?;
        rendered.marks = context.marks().cloned().collect();
        rendered.warnings.splice(0..0, warnings);
        Ok(rendered)
    }

    pub(crate) fn check_installable(&self) -> Result<(), HelmError> {
        let kind = &self.chart.metadata.kind;
        if !matches!(kind.as_str(), "" | "application") {
            return Err(HelmError::chart(format!(
                "{kind} charts are not installable"
            )));
        }
        let missing = self.chart.missing_dependencies();
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = missing.iter().map(|want| want.name.as_str()).collect();
        let lead = match self.flavour {
            Flavour::V3 => {
                "An error occurred while checking for chart dependencies. You may need to run `helm dependency build` to fetch missing dependencies"
            }
            Flavour::V4 => {
                "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies"
            }
        };
        let found = "found in Chart.yaml, but missing in charts/ directory";
        Err(HelmError::Missing {
            message: format!("{lead}: {found}: {}", names.join(", ")),
            missing: missing
                .iter()
                .map(|want| Missing {
                    name: want.name.clone(),
                    version: want.version.clone(),
                    repository: want.repository.clone(),
                    line: 0,
                })
                .collect(),
            file: self.chart.place_of("Chart.yaml"),
            locked: self.chart.lock.is_some(),
        })
    }

    fn coalesce(
        &self,
        tree: &ChartTree,
        user: Table,
        warnings: &mut Vec<String>,
    ) -> Result<Table, HelmError> {
        let mut coalescer = Coalescer {
            tree,
            flavour: self.flavour,
            warnings,
        };
        coalescer
            .chart(ChartTree::ROOT, &user, Nulls::Remove)
            .map_err(|message| HelmError::values(message, "", 0))?;
        Ok(user)
    }

    fn check_kube_version(&self, options: &Options) -> Result<(), HelmError> {
        let range = &self.chart.metadata.kube_version;
        let version = &options.capabilities.kube_version;
        if range.is_empty() || crate::tree::compatible(range, &version.normalized, self.flavour) {
            return Ok(());
        }
        Err(HelmError::KubeVersion {
            message: format!(
                "chart requires kubeVersion: {range} which is incompatible with Kubernetes {}",
                version.version
            ),
        })
    }

    // The parsed templates of a choice of files, from the last render where possible.
    fn parsed(
        &self,
        tree: &ChartTree,
        order: &[&Ready],
        faults: &Faults<'_>,
    ) -> Result<Arc<Templates>, HelmError> {
        let names: Vec<String> = order.iter().map(|ready| ready.name.clone()).collect();
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, templates)) = sets.iter().find(|(known, _)| *known == names) {
            return Ok(templates.clone());
        }
        let mut templates = Templates::new(self.flavour.edition());
        for ready in order {
            let file = &tree.node(ready.chart).chart.templates[ready.index];
            templates
                .parse(&ready.name, &file.text())
                .map_err(|error| faults.parse(ready, &error))?;
        }
        let templates = Arc::new(templates);
        if sets.len() >= SETS_MAX {
            sets.remove(0);
        }
        sets.push((names, templates.clone()));
        Ok(templates)
    }
}

impl Flavour {
    pub(crate) fn edition(self) -> Edition {
        match self {
            Self::V3 => Edition::Helm3,
            Self::V4 => Edition::Helm4,
        }
    }

    /// The library that reads its versions.
    pub(crate) fn versions(self) -> version::Edition {
        match self {
            Self::V3 => version::Edition::V33,
            Self::V4 => version::Edition::V35,
        }
    }
}

// One render on its way.
struct Run<'a> {
    prepared: &'a Prepared,
    tree: &'a ChartTree,
    options: &'a Options,
    values: &'a Table,
}

impl Run<'_> {
    // The templates by name; of two with one name the later counts.
    fn templates(&self) -> BTreeMap<String, Ready> {
        let flavour = self.prepared.flavour;
        let mut scopes = Scopes {
            tree: self.tree,
            flavour,
            release: scope::release_value(&self.options.release),
            capabilities: scope::capabilities_value(&self.options.capabilities, flavour),
            templates: Vec::new(),
            values_type: scope::values_type(flavour),
        };
        scopes.chart(ChartTree::ROOT, self.values);
        let by_name = scopes.templates.into_iter();
        by_name.map(|ready| (ready.name.clone(), ready)).collect()
    }

    // Runs every template that is no partial; the result is by name.
    fn execute(
        &self,
        context: &mut Context,
    ) -> Result<BTreeMap<String, (NodeId, usize, Output)>, HelmError> {
        let templates = self.templates();
        // Deep ones first, and each depth backwards, as Helm does it: the last definition of a
        // name is that of the outermost chart.
        let mut order: Vec<&Ready> = templates.values().collect();
        order.sort_by_cached_key(|ready| {
            let depth = ready.name.matches('/').count();
            std::cmp::Reverse((depth, ready.name.clone()))
        });
        let faults = Faults {
            tree: self.tree,
            flavour: self.prepared.flavour,
            templates: &templates,
            values: self.values,
            value_files: &self.options.value_files,
        };
        let parsed = self.prepared.parsed(self.tree, &order, &faults)?;
        let mut outputs = BTreeMap::new();
        let values_type = scope::values_type(self.prepared.flavour);
        for ready in order {
            if gopath::base(&ready.name).starts_with('_') {
                continue;
            }
            let current = scope::template_value(ready, &values_type);
            ready.dot.set("Template", current);
            let dot = gotemplate::Value::Map(ready.dot.clone());
            let output = parsed
                .execute(&ready.name, dot, context)
                .map_err(|error| faults.execution(&error))?;
            let output = output.without_no_value();
            outputs.insert(ready.name.clone(), (ready.chart, ready.index, output));
        }
        Ok(outputs)
    }

    fn sort(
        &self,
        outputs: BTreeMap<String, (NodeId, usize, Output)>,
    ) -> Result<Rendered, HelmError> {
        let flavour = self.prepared.flavour;
        let mut rendered = Rendered::default();
        let mut sorted = Sorted::default();
        let mut fault = None;
        let root_notes = format!("{}/templates/NOTES.txt", self.prepared.chart.name());
        for (name, (chart, index, output)) in &outputs {
            let text = output.text();
            if name.ends_with("NOTES.txt") {
                if *name == root_notes {
                    rendered.notes = text;
                }
                continue;
            }
            let chart = &self.tree.node(*chart).chart;
            let file = chart.place_of(&chart.templates[*index].name);
            let line = |at: usize| {
                let origin = output.origin(at).filter(|origin| origin.file == *name);
                origin.map_or(0, |origin| origin.line)
            };
            let file = File {
                template: name,
                file: &file,
                text: &text,
                line: &line,
            };
            fault = sorted.add(&file, flavour).err();
            if fault.is_some() {
                break;
            }
        }
        if let Some(mut fault) = fault {
            if let HelmError::Output { rendered, .. } = &mut fault {
                *rendered = everything(&outputs);
            }
            return Err(fault);
        }
        sorted.sort(flavour);
        rendered.manifests = sorted.manifests;
        rendered.hooks = sorted.hooks;
        rendered.warnings = sorted.warnings;
        if self.options.include_crds {
            self.crds(ChartTree::ROOT, &mut rendered.crds);
        }
        Ok(rendered)
    }

    // Files of `crds/`, the chart's own first, then those of its subcharts.
    fn crds(&self, id: NodeId, found: &mut Vec<Crd>) {
        let node = self.tree.node(id);
        for file in &node.chart.files {
            let extension = gopath::extension(&file.name).to_ascii_lowercase();
            let is_manifest = matches!(extension.as_str(), ".yaml" | ".yml" | ".json");
            if file.name.starts_with("crds/") && is_manifest {
                found.push(Crd {
                    source: gopath::join(&self.tree.full_path(id), &file.name),
                    file: node.chart.place_of(&file.name),
                    data: file.data.clone(),
                });
            }
        }
        for child in &node.dependencies {
            self.crds(*child, found);
        }
    }
}

// All that was rendered, for people who look for a fault in it.
fn everything(outputs: &BTreeMap<String, (NodeId, usize, Output)>) -> String {
    let mut text = String::new();
    for (name, (_, _, output)) in outputs {
        let part = output.text();
        if !name.ends_with("NOTES.txt") && !part.trim().is_empty() {
            text.push_str(&format!("---\n# Source: {name}\n{part}\n"));
        }
    }
    text
}
