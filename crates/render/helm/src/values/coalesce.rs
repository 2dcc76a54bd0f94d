//! A chart's values, its subcharts' and the user's, laid over each other as Helm lays them.
//!
//! Tables are shared by reference as in Go: what a template changes in one of them shows
//! wherever the same table hangs.

use crate::Flavour;
use crate::tree::{ChartTree, NodeId};
use gotemplate::{Map, Value};

/// The table every chart sees.
const GLOBAL: &str = "global";

/// Whether nulls are kept for a later pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// A null of the user removes the key.
    Remove,
    /// Nulls stay.
    Keep,
}

/// Lays values over a chart's; warnings are what Helm would log.
pub(crate) struct Coalescer<'a> {
    pub(crate) tree: &'a ChartTree,
    pub(crate) flavour: Flavour,
    pub(crate) warnings: &'a mut Vec<String>,
}

impl Coalescer<'_> {
    /// Completes the user's values with those of a chart and of all charts inside it.
    pub(crate) fn chart(&mut self, chart: NodeId, into: &Map, nulls: Nulls) -> Result<(), String> {
        self.at(chart, into, "", nulls)
    }

    fn at(&mut self, chart: NodeId, into: &Map, prefix: &str, nulls: Nulls) -> Result<(), String> {
        self.own(chart, into, prefix, nulls);
        self.inner(chart, into, prefix, nulls)
    }

    fn inner(
        &mut self,
        chart: NodeId,
        into: &Map,
        prefix: &str,
        nulls: Nulls,
    ) -> Result<(), String> {
        let node = self.tree.node(chart);
        let inner_prefix = join(prefix, &node.name);
        for subchart in &node.dependencies {
            let name = &self.tree.node(*subchart).name;
            let table = match into.get(name) {
                None => {
                    let table = Map::default();
                    into.set(name.as_str(), Value::Map(table.clone()));
                    table
                }
                Some(Value::Map(table)) => table,
                Some(other) => {
                    return Err(format!("type mismatch on {name}: {}", as_truth(&other)));
                }
            };
            self.globals(&table, into, &inner_prefix);
            self.at(*subchart, &table, &inner_prefix, nulls)?;
        }
        Ok(())
    }

    // Copies the parent's globals into a subchart's values; the parent's win.
    fn globals(&mut self, into: &Map, from: &Map, prefix: &str) {
        let own = match into.get(GLOBAL) {
            None => Map::default(),
            Some(Value::Map(table)) => table,
            Some(_) => return self.warn_not_a_table("destination"),
        };
        let parents = match from.get(GLOBAL) {
            None => Map::default(),
            Some(Value::Map(table)) => table,
            Some(_) => return self.warn_not_a_table("source"),
        };
        for (key, value) in parents.entries() {
            let Value::Map(table) = &value else {
                if matches!(own.get(&*key), Some(Value::Map(_))) {
                    self.warnings.push(format!("key {key} is table. Skipping"));
                } else {
                    own.set(key, value);
                }
                continue;
            };
            let copy = shallow(table);
            match own.get(&*key) {
                None => own.set(key, Value::Map(copy)),
                Some(Value::Map(theirs)) => {
                    self.tables(&copy, &theirs, &join(prefix, &key.lossy()), Nulls::Keep);
                    own.set(key, Value::Map(copy));
                }
                Some(_) => self.warnings.push(format!(
                    "Conflict: cannot merge map onto non-map for {key:?}. Skipping."
                )),
            }
        }
        into.set(GLOBAL, Value::Map(own));
    }

    fn warn_not_a_table(&mut self, which: &str) {
        self.warnings.push(format!(
            "warning: skipping globals because {which} {GLOBAL} is not a table."
        ));
    }

    // Completes values with the chart's own defaults.
    fn own(&mut self, chart: NodeId, into: &Map, prefix: &str, nulls: Nulls) {
        let node = self.tree.node(chart);
        let prefix = join(prefix, &node.name);
        let defaults = node.values_copy();
        for (key, default) in defaults.entries() {
            match into.get(&*key) {
                None => self.default_value(into, key, default, nulls),
                Some(value) if value.is_nil() && nulls == Nulls::Remove => {
                    into.remove(&key);
                }
                Some(Value::Map(table)) => match default {
                    Value::Map(source) => {
                        let is_child = |id: &NodeId| self.tree.node(*id).name.as_bytes() == &*key;
                        let nulls = if node.dependencies.iter().any(is_child) {
                            Nulls::Keep
                        } else {
                            nulls
                        };
                        if self.flavour == Flavour::V4 && nulls == Nulls::Remove {
                            drop_nulls(&source);
                        }
                        self.tables(&table, &source, &join(&prefix, &key.lossy()), nulls);
                    }
                    default if default.is_nil() => {}
                    _ => self.warnings.push(format!(
                        "warning: skipped value for {prefix}.{key}: Not a table."
                    )),
                },
                Some(_) => {}
            }
        }
    }

    fn default_value(&self, into: &Map, key: gotemplate::Text, default: Value, nulls: Nulls) {
        if self.flavour == Flavour::V4 && nulls == Nulls::Remove {
            if default.is_nil() {
                return;
            }
            if let Value::Map(table) = &default {
                drop_nulls(table);
            }
        }
        into.set(key, default);
    }

    /// Lays one table over another: what `over` has counts.
    pub(crate) fn tables(&mut self, over: &Map, under: &Map, prefix: &str, nulls: Nulls) {
        // Helm 4 removes a key only when the chart had a value to remove.
        let v4 = self.flavour == Flavour::V4;
        for (key, value) in under.entries() {
            let full = join(prefix, &key.lossy());
            match over.get(&*key) {
                None => over.set(key, value),
                Some(theirs) if theirs.is_nil() && nulls == Nulls::Remove => {
                    if !v4 || !value.is_nil() {
                        over.remove(&key);
                    }
                }
                Some(Value::Map(theirs)) => match value {
                    Value::Map(ours) => self.tables(&theirs, &ours, &full, nulls),
                    ours if ours.is_nil() => {}
                    ours => self.warnings.push(format!(
                        "warning: destination for {full} is a table. Ignoring non-table value ({ours})"
                    )),
                },
                Some(_) => {
                    if let Value::Map(_) = value {
                        self.warnings.push(format!(
                            "warning: cannot overwrite table with non table for {full} ({value})"
                        ));
                    }
                }
            }
        }
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

fn shallow(table: &Map) -> Map {
    Map::new(table.entries().into_iter().collect())
}

fn drop_nulls(table: &Map) {
    for (key, value) in table.entries() {
        if value.is_nil() {
            table.remove(&key);
        } else if let Value::Map(inner) = value {
            drop_nulls(&inner);
        }
    }
}

// A value as Go's `%t` prints it, which is right for booleans only.
fn as_truth(value: &Value) -> String {
    match value {
        Value::Bool(flag) => flag.to_string(),
        value if value.is_nil() => "%!t(<nil>)".into(),
        Value::List(list) => {
            let items: Vec<String> = list.items().iter().map(as_truth).collect();
            format!("[{}]", items.join(" "))
        }
        other => format!("%!t({}={})", other.type_name(), other),
    }
}

/// A value of a values file as templates see it.
pub(crate) fn shared(value: &model::Value) -> Value {
    match value {
        model::Value::Null => Value::Nil,
        model::Value::Bool(flag) => Value::Bool(*flag),
        model::Value::Number(number) => match number.as_i64() {
            Some(whole) if !number.is_f64() => Value::Int64(whole),
            _ => Value::Float(number.as_f64().unwrap_or_default()),
        },
        model::Value::String(text) => Value::from(text.as_str()),
        model::Value::Array(items) => Value::list(items.iter().map(shared).collect()),
        model::Value::Object(map) => Value::Map(shared_map(map)),
    }
}

/// A table of a values file as templates see it.
pub(crate) fn shared_map(map: &model::Map<String, model::Value>) -> Map {
    let entry = |(key, value): (&String, &model::Value)| (key.as_str().into(), shared(value));
    Map::new(map.iter().map(entry).collect())
}

/// A value of a template as data; what has no form in JSON is null.
pub(crate) fn plain(value: &Value) -> model::Value {
    match value {
        Value::Bool(flag) => model::Value::Bool(*flag),
        Value::Int(whole) | Value::Int64(whole) => model::Value::from(*whole),
        Value::Float(float) => model::Value::from(*float),
        Value::String(text) => model::Value::String(text.lossy().into_owned()),
        Value::List(list) => model::Value::Array(list.items().iter().map(plain).collect()),
        Value::Map(map) => model::Value::Object(plain_map(map)),
        _ => model::Value::Null,
    }
}

/// A table of a template as data.
pub(crate) fn plain_map(map: &Map) -> model::Map<String, model::Value> {
    let entry = |(key, value): (gotemplate::Text, Value)| (key.lossy().into_owned(), plain(&value));
    map.entries().into_iter().map(entry).collect()
}

/// A copy of a table that shares nothing with it.
pub(crate) fn deep_copy(map: &Map) -> Map {
    let copy = |value: Value| match value {
        Value::Map(inner) => Value::Map(deep_copy(&inner)),
        Value::List(list)
            if list
                .items()
                .iter()
                .any(|v| matches!(v, Value::Map(_) | Value::List(_))) =>
        {
            shared(&plain(&Value::List(list)))
        }
        other => other,
    };
    let entries = map
        .entries()
        .into_iter()
        .map(|(key, value)| (key, copy(value)));
    Map::new(entries.collect())
}
