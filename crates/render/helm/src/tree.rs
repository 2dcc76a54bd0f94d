//! The charts of a render with those switched off removed, renamed by alias, and values imported.
//!
//! Helm copies charts halfway when it gives them aliases: copies share their subcharts and their
//! lists of dependencies. Nodes of an arena stand for Go's pointers here, so that what is shared
//! there is shared here.

use crate::chart::{Chart, Dependency};
use crate::values::coalesce::{Coalescer, Nulls, deep_copy, shared_map};
use crate::{Flavour, HelmError};
use gotemplate::{Map, Value};
use model::Value as Json;
use std::collections::BTreeSet;
use std::sync::Arc;
use version::{Constraint, Version};

/// A chart of the tree.
pub(crate) type NodeId = usize;
type DependencyId = usize;

/// All charts of a render.
pub(crate) struct ChartTree {
    nodes: Vec<Node>,
    wanted: Vec<Want>,
    flavour: Flavour,
}

/// One chart: what was loaded, and what changed since.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) chart: Arc<Chart>,
    /// The name, or the alias.
    pub(crate) name: String,
    pub(crate) parent: Option<NodeId>,
    pub(crate) dependencies: Vec<NodeId>,
    wants: Option<Vec<DependencyId>>,
    values: Option<Map>,
}

// An entry of `dependencies`, changed in place as Helm changes it.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    pub(crate) dependency: Dependency,
    // Import values are used up by the first copy that imports them.
    imported: bool,
}

impl Node {
    /// The chart's values, which the caller may change.
    pub(crate) fn values_copy(&self) -> Map {
        match &self.values {
            Some(map) => deep_copy(map),
            None => shared_map(&self.chart.values),
        }
    }
}

impl ChartTree {
    /// The tree below a loaded chart, nothing removed yet.
    pub(crate) fn new(root: &Arc<Chart>, flavour: Flavour) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            wanted: Vec::new(),
            flavour,
        };
        tree.add(root, None);
        tree
    }

    fn add(&mut self, chart: &Arc<Chart>, parent: Option<NodeId>) -> NodeId {
        let wants = chart.metadata.dependencies.as_ref().map(|list| {
            let first = self.wanted.len();
            self.wanted.extend(list.iter().map(|dependency| Want {
                dependency: dependency.clone(),
                imported: false,
            }));
            (first..self.wanted.len()).collect()
        });
        let id = self.nodes.len();
        self.nodes.push(Node {
            chart: chart.clone(),
            name: chart.metadata.name.clone(),
            parent,
            dependencies: Vec::new(),
            wants,
            values: None,
        });
        let inner = chart.dependencies.iter();
        let children = inner.map(|child| self.add(child, Some(id))).collect();
        self.nodes[id].dependencies = children;
        id
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// The dependencies a chart names, those switched off left out.
    pub(crate) fn wants(&self, id: NodeId) -> impl Iterator<Item = &Dependency> {
        let ids = self.nodes[id].wants.iter().flatten();
        ids.map(|want| &self.wanted[*want].dependency)
    }

    /// The root chart.
    pub(crate) const ROOT: NodeId = 0;

    /// The path of a chart, as in `web/charts/redis`.
    pub(crate) fn full_path(&self, id: NodeId) -> String {
        let node = &self.nodes[id];
        match node.parent {
            Some(parent) => format!("{}/charts/{}", self.full_path(parent), node.name),
            None => node.name.clone(),
        }
    }

    /// Removes what is switched off, renames by alias and imports values.
    pub(crate) fn process(
        &mut self,
        values: &Map,
        warnings: &mut Vec<String>,
    ) -> Result<(), HelmError> {
        let flavour = self.flavour;
        let fault = |message: String| {
            let prefix = match flavour {
                Flavour::V3 => "",
                Flavour::V4 => "chart dependencies processing failed: ",
            };
            HelmError::values(format!("{prefix}{message}"), "", 0)
        };
        self.enable(Self::ROOT, values, "", warnings)
            .map_err(fault)?;
        let fault = |message: String| HelmError::values(message, "", 0);
        self.import_all(Self::ROOT, warnings).map_err(fault)
    }

    fn enable(
        &mut self,
        id: NodeId,
        values: &Map,
        path: &str,
        warnings: &mut Vec<String>,
    ) -> Result<(), String> {
        let Some(wants) = self.nodes[id].wants.clone() else {
            return Ok(());
        };
        let chosen = self.choose(id, &wants);
        self.set_dependencies(id, chosen);
        for want in &wants {
            self.wanted[*want].dependency.enabled = true;
        }
        let all = deep_copy(values);
        self.coalesce(id, &all, Nulls::Remove, warnings)?;
        self.apply_tags(&wants, &all, warnings);
        self.apply_conditions(&wants, &all, path, warnings);
        let off: BTreeSet<String> = wants
            .iter()
            .map(|want| &self.wanted[*want].dependency)
            .filter(|dependency| !dependency.enabled)
            .map(|dependency| dependency.name.clone())
            .collect();
        let kept: Vec<NodeId> = self.nodes[id]
            .dependencies
            .iter()
            .copied()
            .filter(|child| !off.contains(&self.nodes[*child].name))
            .collect();
        let kept_wants: Vec<DependencyId> = wants
            .into_iter()
            .filter(|want| !off.contains(&self.wanted[*want].dependency.name))
            .collect();
        for child in &kept {
            let inner = format!("{path}{}.", self.nodes[*child].name);
            self.enable(*child, &all, &inner, warnings)?;
        }
        // Go appends to a nil slice: a list that ended empty is as good as absent.
        self.nodes[id].wants = (!kept_wants.is_empty()).then_some(kept_wants);
        self.set_dependencies(id, kept);
        Ok(())
    }

    // Charts that nobody asked for first, then one for each entry of `dependencies`.
    fn choose(&mut self, id: NodeId, wants: &[DependencyId]) -> Vec<NodeId> {
        let present = self.nodes[id].dependencies.clone();
        let asked_for = |child: &NodeId| {
            wants.iter().any(|want| {
                let dependency = &self.wanted[*want].dependency;
                let node = &self.nodes[*child];
                node.name == dependency.name
                    && compatible(
                        &dependency.version,
                        &node.chart.metadata.version,
                        self.flavour,
                    )
            })
        };
        let mut chosen: Vec<NodeId> = present.iter().copied().filter(|c| !asked_for(c)).collect();
        for want in wants {
            if let Some(copy) = self.copy_for(&present, *want) {
                chosen.push(copy);
            }
            let dependency = &mut self.wanted[*want].dependency;
            if !dependency.alias.is_empty() {
                dependency.name = dependency.alias.clone();
            }
        }
        chosen
    }

    fn copy_for(&mut self, present: &[NodeId], want: DependencyId) -> Option<NodeId> {
        let dependency = &self.wanted[want].dependency;
        let alias = dependency.alias.clone();
        let found = present.iter().copied().find(|child| {
            let node = &self.nodes[*child];
            node.name == dependency.name
                && compatible(
                    &dependency.version,
                    &node.chart.metadata.version,
                    self.flavour,
                )
        })?;
        let mut copy = self.nodes[found].clone();
        if !alias.is_empty() {
            copy.name = alias;
        }
        let id = self.nodes.len();
        self.nodes.push(copy);
        if self.flavour == Flavour::V4 {
            self.unshare(id);
        }
        Some(id)
    }

    // Helm 4 copies the list of dependencies and the charts below.
    fn unshare(&mut self, id: NodeId) {
        if let Some(wants) = self.nodes[id].wants.clone() {
            let copies = wants.into_iter().map(|want| {
                self.wanted.push(self.wanted[want].clone());
                self.wanted.len() - 1
            });
            let copies = copies.collect();
            self.nodes[id].wants = Some(copies);
        }
        let children = self.nodes[id].dependencies.clone();
        let copies: Vec<NodeId> = children
            .into_iter()
            .map(|child| {
                self.nodes.push(self.nodes[child].clone());
                self.nodes.len() - 1
            })
            .collect();
        self.set_dependencies(id, copies);
    }

    fn set_dependencies(&mut self, id: NodeId, children: Vec<NodeId>) {
        for child in &children {
            self.nodes[*child].parent = Some(id);
        }
        self.nodes[id].dependencies = children;
    }

    fn coalesce(
        &self,
        id: NodeId,
        into: &Map,
        nulls: Nulls,
        warnings: &mut Vec<String>,
    ) -> Result<(), String> {
        let mut coalescer = Coalescer {
            tree: self,
            flavour: self.flavour,
            warnings,
        };
        coalescer.chart(id, into, nulls)
    }

    fn apply_tags(&mut self, wants: &[DependencyId], values: &Map, warnings: &mut Vec<String>) {
        let Some(Value::Map(tags)) = values.get("tags") else {
            return;
        };
        for want in wants {
            let dependency = &mut self.wanted[*want].dependency;
            let (mut on, mut off) = (false, false);
            for tag in &dependency.tags {
                match tags.get(tag) {
                    None => {}
                    Some(Value::Bool(true)) => on = true,
                    Some(Value::Bool(false)) => off = true,
                    Some(_) => warnings.push(format!(
                        "Warning: Tag '{tag}' for chart {} returned non-bool value",
                        dependency.name
                    )),
                }
            }
            dependency.enabled = on || !off;
        }
    }

    fn apply_conditions(
        &mut self,
        wants: &[DependencyId],
        values: &Map,
        path: &str,
        warnings: &mut Vec<String>,
    ) {
        for want in wants {
            let dependency = &mut self.wanted[*want].dependency;
            let conditions = dependency.condition.trim().to_owned();
            for condition in conditions.split(',').filter(|c| !c.is_empty()) {
                match path_value(values, &format!("{path}{condition}")) {
                    None => {}
                    Some(Value::Bool(flag)) => {
                        dependency.enabled = flag;
                        break;
                    }
                    Some(_) => warnings.push(format!(
                        "Warning: Condition path '{condition}' for chart {} returned non-bool value",
                        dependency.name
                    )),
                }
            }
        }
    }

    fn import_all(&mut self, id: NodeId, warnings: &mut Vec<String>) -> Result<(), String> {
        for child in self.nodes[id].dependencies.clone() {
            self.import_all(child, warnings)?;
        }
        self.import(id, warnings)
    }

    fn import(&mut self, id: NodeId, warnings: &mut Vec<String>) -> Result<(), String> {
        let Some(wants) = self.nodes[id].wants.clone() else {
            return Ok(());
        };
        let own = Map::default();
        self.coalesce(id, &own, Nulls::Keep, warnings)?;
        let imported = Map::default();
        for want in wants {
            if std::mem::replace(&mut self.wanted[want].imported, true) {
                continue;
            }
            let dependency = self.wanted[want].dependency.clone();
            for entry in &dependency.import_values {
                if let Some(table) = self.imported(&dependency.name, entry, &own, warnings)? {
                    self.merge_tables(&imported, &table, warnings);
                }
            }
        }
        let own = deep_copy(&own);
        self.merge_tables(&own, &imported, warnings);
        self.nodes[id].values = Some(own);
        Ok(())
    }

    fn merge_tables(&self, over: &Map, under: &Map, warnings: &mut Vec<String>) {
        let mut coalescer = Coalescer {
            tree: self,
            flavour: self.flavour,
            warnings,
        };
        coalescer.tables(over, under, "", Nulls::Keep);
    }

    // The table one entry of `import-values` asks for, hung where it belongs.
    fn imported(
        &self,
        name: &str,
        entry: &Json,
        values: &Map,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Map>, String> {
        let (child, parent) = match entry {
            Json::String(export) => (format!("exports.{export}"), ".".to_owned()),
            Json::Object(pair) => (
                self.import_end(pair.get("child"))?,
                self.import_end(pair.get("parent"))?,
            ),
            _ => return Ok(None),
        };
        match table(values, &format!("{name}.{child}")) {
            Ok(found) if parent == "." => Ok(Some(found)),
            Ok(found) => {
                let wrap = |inner: Map, key: &str| {
                    let outer = Map::default();
                    outer.set(key, Value::Map(inner));
                    outer
                };
                Ok(Some(parent.rsplit('.').fold(found, wrap)))
            }
            Err(missing) => {
                let from = match entry {
                    Json::Object(_) => format!(" from chart {name}"),
                    _ => String::new(),
                };
                warnings.push(format!(
                    "Warning: ImportValues missing table{from}: {missing:?} is not a table"
                ));
                Ok(None)
            }
        }
    }

    fn import_end(&self, value: Option<&Json>) -> Result<String, String> {
        match (value, self.flavour) {
            (Some(Json::String(text)), _) => Ok(text.clone()),
            (None, Flavour::V4) => Ok("<nil>".into()),
            (Some(other), Flavour::V4) => {
                Ok(crate::decode::as_text(other).unwrap_or("<nil>".into()))
            }
            (_, Flavour::V3) => Err("import-values needs the strings `child` and `parent`".into()),
        }
    }
}

/// Whether a version lies in a range; what cannot be read does not.
pub(crate) fn compatible(range: &str, version: &str, flavour: Flavour) -> bool {
    let edition = flavour.versions();
    match (
        Constraint::parse_as(range, edition),
        Version::parse_as(version, edition),
    ) {
        (Ok(range), Ok(version)) => range.check(&version),
        _ => false,
    }
}

/// A table at a path with dots; the error names the part that is none.
pub(crate) fn table(values: &Map, path: &str) -> Result<Map, String> {
    let mut at = values.clone();
    for part in path.split('.') {
        match at.get(part) {
            Some(Value::Map(inner)) => at = inner,
            _ => return Err(part.to_owned()),
        }
    }
    Ok(at)
}

// The value at a path, when it is there and no table.
pub(crate) fn path_value(values: &Map, path: &str) -> Option<Value> {
    let (table_path, key) = path.rsplit_once('.').unwrap_or(("", path));
    let holder = if table_path.is_empty() && !path.starts_with('.') {
        values.clone()
    } else {
        table(values, table_path).ok()?
    };
    holder
        .get(key)
        .filter(|value| !matches!(value, Value::Map(_)))
}
