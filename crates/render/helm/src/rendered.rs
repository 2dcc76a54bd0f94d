//! What came out of a chart, printed as `helm template` prints it or given as manifests.

use crate::document::{Document, Hook};
use crate::{Flavour, HelmError, split};
use model::{Manifest, Origin, Value};
use std::sync::Arc;

/// A file of a chart's `crds/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crd {
    /// Its path by charts, as in `web/crds/a.yaml`.
    pub source: String,
    /// Its file in the repository.
    pub file: String,
    /// Its bytes.
    pub data: Arc<[u8]>,
}

/// What came out of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// Files of `crds/`, when they were asked for.
    pub crds: Vec<Crd>,
    /// Objects in the order Helm prints them.
    pub manifests: Vec<Document>,
    /// Hooks, in the order Helm prints them behind the objects.
    pub hooks: Vec<Hook>,
    /// What `NOTES.txt` says.
    pub notes: String,
    /// What Helm would have logged.
    pub warnings: Vec<String>,
    /// Functions that made the result depend on chance, time or a cluster: finding G15.
    pub marks: Vec<gotemplate::Mark>,
}

/// What of a result is printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Print {
    /// `--no-hooks`.
    pub no_hooks: bool,
    /// `--skip-tests`.
    pub skip_tests: bool,
    /// `--show-only`.
    pub show_only: Vec<String>,
}

/// A file that `--output-dir` writes: its path, and the text to append.
pub type Written = (String, String);

impl Rendered {
    /// The text `helm template` prints.
    pub fn print(&self, print: &Print, flavour: Flavour) -> Result<String, HelmError> {
        let mut text = String::new();
        for crd in &self.crds {
            frame(&mut text, &crd.source, &String::from_utf8_lossy(&crd.data));
        }
        for document in &self.manifests {
            frame(&mut text, &document.template, &document.content);
        }
        let mut text = format!("{}\n", text.trim());
        for hook in self.printed_hooks(print) {
            frame(&mut text, &hook.document.template, &hook.document.content);
        }
        if print.show_only.is_empty() {
            return Ok(text);
        }
        only(&text, &print.show_only, flavour)
    }

    fn printed_hooks<'a>(&'a self, print: &'a Print) -> impl Iterator<Item = &'a Hook> {
        let shown = |hook: &&Hook| !(print.no_hooks || print.skip_tests && hook.is_test());
        self.hooks.iter().filter(shown)
    }

    /// The files `--output-dir` writes, in order; a path that stands twice is appended to.
    pub fn files(&self, print: &Print) -> Vec<Written> {
        let mut files = Vec::new();
        let mut add = |path: &str, content: &str| {
            let mut text = String::new();
            frame(&mut text, path, content);
            files.push((path.to_owned(), text));
        };
        for crd in &self.crds {
            add(&crd.source, &String::from_utf8_lossy(&crd.data));
        }
        for document in &self.manifests {
            add(&document.template, &document.content);
        }
        for hook in self.printed_hooks(print) {
            add(&hook.document.template, &hook.document.content);
        }
        files
    }

    /// The objects with their origins, in the order they are printed: what is applied.
    pub fn into_manifests(self, print: &Print) -> Result<Vec<Manifest>, HelmError> {
        let mut manifests = Vec::new();
        for crd in &self.crds {
            crd_manifests(crd, &mut manifests)?;
        }
        let shown = |hook: &Hook| !(print.no_hooks || print.skip_tests && hook.is_test());
        let hooks = self
            .hooks
            .into_iter()
            .filter(shown)
            .map(|hook| hook.document);
        for document in self.manifests.into_iter().chain(hooks) {
            if !document.object.is_null() {
                let origin = Origin::new(document.file, document.index, document.line);
                let object = document.object;
                manifests.push(Manifest { object, origin });
            }
        }
        Ok(manifests)
    }
}

fn crd_manifests(crd: &Crd, manifests: &mut Vec<Manifest>) -> Result<(), HelmError> {
    let text = String::from_utf8_lossy(&crd.data);
    for (index, (at, part)) in split::documents(&text, Flavour::V3).into_iter().enumerate() {
        let line = text[..at].matches('\n').count() + 1;
        let object = yaml::parse(part).map_err(|error| HelmError::Chart {
            message: format!("{}: {error}", crd.source),
            file: crd.file.clone(),
            line: line + error.line.saturating_sub(1),
        })?;
        if object != Value::Null {
            let origin = Origin::new(crd.file.clone(), index, line);
            manifests.push(Manifest { object, origin });
        }
    }
    Ok(())
}

fn frame(text: &mut String, source: &str, content: &str) {
    text.push_str("---\n# Source: ");
    text.push_str(source);
    text.push('\n');
    text.push_str(content);
    text.push('\n');
}

// The documents whose template matches one of the patterns, pattern by pattern.
fn only(text: &str, patterns: &[String], flavour: Flavour) -> Result<String, HelmError> {
    let documents = split::documents(text, flavour);
    let mut shown = String::new();
    for wanted in patterns {
        let glob = pattern::Glob::path(wanted).ok();
        let mut missing = true;
        for (_, document) in &documents {
            let matches = source_of(document)
                .is_some_and(|source| glob.as_ref().is_some_and(|glob| glob.matches(source)));
            if matches {
                missing = false;
                shown.push_str(&format!("---\n{document}\n"));
            }
        }
        if missing {
            let message = format!("could not find template {wanted} in chart");
            return Err(HelmError::values(message, "--show-only", 0));
        }
    }
    Ok(shown)
}

// What stands behind the chart's name in `# Source: web/templates/a.yaml`.
fn source_of(document: &str) -> Option<&str> {
    let mut rest = document;
    loop {
        let at = rest.find("# Source: ")?;
        rest = &rest[at + "# Source: ".len()..];
        let line = rest.lines().next().unwrap_or_default();
        if let Some((chart, path)) = line.split_once('/')
            && !chart.is_empty()
            && !path.is_empty()
        {
            return Some(path);
        }
    }
}
