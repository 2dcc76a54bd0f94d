//! Where a template failed, which value it missed, and which files were searched for it.

use crate::error::TemplateFault;
use crate::scope::Ready;
use crate::tree::{ChartTree, NodeId, table};
use crate::{Flavour, HelmError};
use gotemplate::{ExecError, Map as Table, ParseError};
use std::collections::BTreeMap;

/// What is known while templates run.
pub(crate) struct Faults<'a> {
    pub(crate) tree: &'a ChartTree,
    pub(crate) flavour: Flavour,
    pub(crate) templates: &'a BTreeMap<String, Ready>,
    pub(crate) values: &'a Table,
    pub(crate) value_files: &'a [String],
}

impl Faults<'_> {
    /// A template that cannot be parsed.
    pub(crate) fn parse(&self, ready: &Ready, error: &ParseError) -> HelmError {
        // Helm keeps the last part of the message only.
        let reason = error.message.rsplit(": ").next().unwrap_or(&error.message);
        let message = format!(
            "parse error at ({}:{}): {reason}",
            error.template, error.line
        );
        let mut fault = TemplateFault {
            message,
            line: error.line,
            reason: reason.to_owned(),
            searched: self.searched(ready.chart),
            ..TemplateFault::default()
        };
        self.locate(&mut fault, &ready.name);
        HelmError::Template(Box::new(fault))
    }

    /// A template that failed while it ran.
    pub(crate) fn execution(&self, error: &ExecError) -> HelmError {
        let inner = error.innermost();
        let mut fault = TemplateFault {
            message: error.helm_text(self.flavour.edition()),
            reason: reason(inner),
            ..TemplateFault::default()
        };
        if let Some(at) = &inner.location {
            fault.line = at.line;
            fault.column = at.column + 1;
            fault.expression.clone_from(&at.node);
            self.locate(&mut fault, &at.file);
            if let Some(ready) = self.templates.get(&at.file) {
                fault.searched = self.searched(ready.chart);
                self.find_missing(&mut fault, ready.chart);
            }
        }
        HelmError::Template(Box::new(fault))
    }

    fn locate(&self, fault: &mut TemplateFault, name: &str) {
        name.clone_into(&mut fault.template);
        if let Some(ready) = self.templates.get(name) {
            let chart = &self.tree.node(ready.chart).chart;
            let file = &chart.templates[ready.index];
            fault.file = chart.place_of(&file.name);
            fault.text = file.text().into_owned();
        }
    }

    // The chart's own values first, then its parents', then the user's.
    fn searched(&self, chart: NodeId) -> Vec<String> {
        let mut files = Vec::new();
        let mut at = Some(chart);
        while let Some(id) = at {
            let node = self.tree.node(id);
            files.push(node.chart.place_of("values.yaml"));
            at = node.parent;
        }
        files.extend(self.value_files.iter().cloned());
        files
    }

    // The first part of a path below `.Values` that has no value.
    fn find_missing(&self, fault: &mut TemplateFault, chart: NodeId) {
        let prefix = self.prefix(chart);
        let scope = if prefix.is_empty() {
            Some(self.values.clone())
        } else {
            table(self.values, &prefix.join(".")).ok()
        };
        for path in paths(&fault.expression) {
            let parts: Vec<&str> = path.split('.').collect();
            let mut at = scope.clone();
            for (index, part) in parts.iter().enumerate() {
                let next = at.as_ref().and_then(|table| table.get(*part));
                let empty = next.as_ref().is_none_or(|value| {
                    value.is_nil() || value.as_text().is_some_and(|text| text.is_empty())
                });
                if empty {
                    // What fails is a field of something that is not there.
                    let missing = parts[..=index].join(".");
                    let mut whole: Vec<&str> = prefix.iter().map(String::as_str).collect();
                    whole.extend(&parts);
                    fault.missing = Some(missing);
                    fault.missing_from_root = Some(whole.join("."));
                    return;
                }
                at = match next {
                    Some(gotemplate::Value::Map(table)) => Some(table),
                    _ => break,
                };
            }
        }
    }

    // The keys that lead from the root's values to a chart's.
    fn prefix(&self, chart: NodeId) -> Vec<String> {
        let node = self.tree.node(chart);
        match node.parent {
            Some(parent) => {
                let mut prefix = self.prefix(parent);
                prefix.push(node.name.clone());
                prefix
            }
            None => Vec::new(),
        }
    }
}

fn reason(error: &ExecError) -> String {
    if let Some(demand) = error.demand() {
        return demand;
    }
    match &error.cause {
        Some(cause) => format!("{}{cause}", error.message),
        None => error.message.clone(),
    }
}

// Every path below `.Values` that an expression names.
fn paths(expression: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some(at) = rest.find(".Values.") {
        rest = &rest[at + ".Values.".len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let path = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
        if !path.is_empty() {
            found.push(path.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn paths_are_found_in_expressions() {
        assert_eq!(paths("$.Values.a.b"), ["a.b"]);
        assert_eq!(paths("required \"x\" .Values.image.tag"), ["image.tag"]);
        assert_eq!(paths("eq .Values.a .Values.b.c"), ["a", "b.c"]);
        assert_eq!(paths(".Chart.Name"), Vec::<String>::new());
    }
}
