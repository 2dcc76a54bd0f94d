//! Rendered files into documents and hooks, sorted as Helm prints them.

use crate::decode::{self, Fields};
use crate::{Flavour, HelmError, gopath, order, split};
use model::{Map, Value};

/// One object as a template printed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The template, as in `web/templates/a.yaml`.
    pub template: String,
    /// The template's file in the repository.
    pub file: String,
    /// Which document of the template's output it is, from 0.
    pub index: usize,
    /// Line of `file` that began it, from 1; 0 when it is not known.
    pub line: usize,
    /// The text.
    pub content: String,
    /// The text as data; null when it is only a comment.
    pub object: Value,
    /// Its kind.
    pub kind: String,
    /// Its API version.
    pub api_version: String,
    /// Its name.
    pub name: String,
}

/// An object that Helm runs at a point of a release's life.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// The object.
    pub document: Document,
    /// When it runs, as in `pre-install`.
    pub events: Vec<String>,
    /// Its place among others of the same event.
    pub weight: i64,
    /// When it is deleted, as in `hook-succeeded`.
    pub delete_policies: Vec<String>,
}

impl Hook {
    /// Whether it only runs for `helm test`.
    pub fn is_test(&self) -> bool {
        self.events.iter().any(|event| event == "test")
    }
}

/// The text of one template, and where its parts came from.
#[expect(clippy::struct_field_names, reason = "it is the file's file: its path")]
pub(crate) struct File<'a> {
    pub(crate) template: &'a str,
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    /// The template line behind a byte of the text.
    pub(crate) line: &'a dyn Fn(usize) -> usize,
}

/// What came out of a chart, sorted.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    pub(crate) manifests: Vec<Document>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) warnings: Vec<String>,
}

const EVENTS: [&str; 9] = [
    "pre-install",
    "post-install",
    "pre-delete",
    "post-delete",
    "pre-upgrade",
    "post-upgrade",
    "pre-rollback",
    "post-rollback",
    "test",
];

impl Sorted {
    /// Cuts a file into documents and keeps them.
    pub(crate) fn add(&mut self, file: &File<'_>, flavour: Flavour) -> Result<(), HelmError> {
        if gopath::base(file.template).starts_with('_') || file.text.trim().is_empty() {
            return Ok(());
        }
        for (index, (at, content)) in split::documents(file.text, flavour).into_iter().enumerate() {
            let document = document(file, index, at, content, flavour)?;
            self.place(document);
        }
        Ok(())
    }

    fn place(&mut self, document: Document) {
        let Some(annotations) = annotations(&document.object) else {
            return self.manifests.push(document);
        };
        let text = |key: &str| {
            annotations
                .get(key)
                .map(|value| decode::as_text(value).unwrap_or_default())
        };
        let Some(named) = text("helm.sh/hook") else {
            return self.manifests.push(document);
        };
        let mut events = Vec::new();
        for event in named.split(',') {
            let event = event.trim().to_lowercase();
            let event = if event == "test-success" {
                "test".into()
            } else {
                event
            };
            if !EVENTS.contains(&event.as_str()) {
                self.warnings
                    .push(format!("info: skipping unknown hook: {named:?}"));
                return;
            }
            events.push(event);
        }
        let weight = text("helm.sh/hook-weight").and_then(|weight| weight.parse().ok());
        let policies = text("helm.sh/hook-delete-policy").unwrap_or_default();
        let policies = policies
            .split(',')
            .map(|policy| policy.trim().to_lowercase());
        self.hooks.push(Hook {
            document,
            events,
            weight: weight.unwrap_or(0),
            delete_policies: policies.filter(|policy| !policy.is_empty()).collect(),
        });
    }

    /// Sorts by kind; what is of one kind stays in order.
    pub(crate) fn sort(&mut self, flavour: Flavour) {
        let key = |document: &Document| {
            let (rank, kind) = order::rank(&document.kind, flavour);
            (rank, kind.to_owned())
        };
        self.manifests.sort_by_cached_key(key);
        self.hooks.sort_by_cached_key(|hook| key(&hook.document));
    }
}

fn document(
    file: &File<'_>,
    index: usize,
    at: usize,
    content: &str,
    flavour: Flavour,
) -> Result<Document, HelmError> {
    let fault = |message: &str, line: usize| {
        // Lines of the output lead back to lines of the template.
        let offset: usize = content
            .split_inclusive('\n')
            .take(line.saturating_sub(1))
            .map(str::len)
            .sum();
        HelmError::Output {
            message: format!("YAML parse error on {}: {message}", file.template),
            template: file.template.to_owned(),
            file: file.file.to_owned(),
            line: (file.line)(at + offset),
            rendered: String::new(),
        }
    };
    let object = yaml::parse(content).map_err(|error| fault(&decode::wrap(&error), error.line))?;
    let mut head = Head::default();
    head.read(&object, flavour)
        .map_err(|message| fault(&message, 1))?;
    // The object begins behind its comments.
    let comments: usize = content
        .split_inclusive('\n')
        .take_while(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
        .map(str::len)
        .sum();
    let begin = if comments < content.len() {
        at + comments
    } else {
        at
    };
    Ok(Document {
        template: file.template.to_owned(),
        file: file.file.to_owned(),
        index,
        line: (file.line)(begin),
        content: content.to_owned(),
        object,
        kind: head.kind,
        api_version: head.api_version,
        name: head.name,
    })
}

#[derive(Default)]
struct Head {
    api_version: String,
    kind: String,
    name: String,
}

impl Head {
    fn read(&mut self, object: &Value, flavour: Flavour) -> Result<(), String> {
        let go_type = match flavour {
            Flavour::V3 => "releaseutil.SimpleHead",
            Flavour::V4 => "util.SimpleHead",
        };
        let Some(mut fields) = Fields::of(object, "SimpleHead", go_type)? else {
            return Ok(());
        };
        fields.text("apiVersion", &mut self.api_version);
        fields.text("kind", &mut self.kind);
        let anonymous = "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }";
        let name = &mut self.name;
        fields.inner_struct("metadata", "", anonymous, |inner| {
            inner.text("name", name);
            inner.text_map("annotations");
        });
        fields.finish()
    }
}

// The annotations of an object that has some.
fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    let annotations = object.get("metadata")?.get("annotations")?.as_object()?;
    (!annotations.is_empty()).then_some(annotations)
}
