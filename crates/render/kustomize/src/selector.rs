//! Which resources a patch or a replacement is for.

use crate::fault::{Fault, Outcome};
use crate::id::{Gvk, ResId};
use crate::kustomization::Selector;
use crate::resource;
use crate::work::Work;
use model::{LabelSelector, Map, Value};
use regex::{Regex, RegexBuilder};

/// How large a compiled pattern may be, in bytes.
const PATTERN_MAX: usize = 1 << 20;

/// Compiles a pattern; what it takes is bounded.
pub(crate) fn pattern(text: &str) -> Outcome<Regex> {
    let built = RegexBuilder::new(text).size_limit(PATTERN_MAX).build();
    built.map_err(|error| Fault::text(format!("error parsing regexp `{text}`: {error}")))
}

// A pattern for a whole word; without special characters it is the word.
#[derive(Debug)]
enum Word {
    Any,
    Plain(String),
    Pattern(Regex),
}

impl Word {
    fn new(text: &str) -> Outcome<Self> {
        if text.is_empty() {
            return Ok(Self::Any);
        }
        if text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'/'))
        {
            return Ok(Self::Plain(text.to_owned()));
        }
        pattern(&format!("^(?:{text})$")).map(Self::Pattern)
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Plain(word) => word == text,
            Self::Pattern(pattern) => pattern.is_match(text),
        }
    }
}

/// A selector, ready for use.
#[derive(Debug)]
pub(crate) struct Matcher {
    group: Word,
    version: Word,
    kind: Word,
    name: Word,
    namespace: Word,
    labels: Option<LabelSelector>,
    annotations: Option<LabelSelector>,
    by_name: bool,
}

impl Matcher {
    pub(crate) fn new(selector: &Selector) -> Outcome<Self> {
        let id = &selector.id;
        let words = |text: &str| {
            let parse = || LabelSelector::parse(text).map_err(Fault::text);
            (!text.trim().is_empty()).then(parse).transpose()
        };
        Ok(Self {
            group: Word::new(&id.gvk.group)?,
            version: Word::new(&id.gvk.version)?,
            kind: Word::new(&id.gvk.kind)?,
            name: Word::new(&id.name)?,
            namespace: Word::new(&id.namespace)?,
            labels: words(&selector.labels)?,
            annotations: words(&selector.annotations)?,
            by_name: !id.is_empty(),
        })
    }

    fn fits_gvk(&self, gvk: &Gvk) -> bool {
        self.group.fits(&gvk.group) && self.version.fits(&gvk.version) && self.kind.fits(&gvk.kind)
    }

    /// Whether it says anything about names and kinds.
    pub(crate) fn names_something(&self) -> bool {
        self.by_name
    }

    pub(crate) fn has_words(&self) -> bool {
        self.labels.is_some() || self.annotations.is_some()
    }

    /// Whether it selects by this name.
    pub(crate) fn fits_id(&self, id: &ResId) -> bool {
        self.fits_gvk(&id.gvk) && self.name.fits(&id.name) && self.namespace.fits(&id.namespace)
    }

    /// Whether labels and annotations are as it wants.
    pub(crate) fn fits_words(&self, work: &Work<'_>, at: usize) -> bool {
        let Some(root) = work.root(at) else {
            return false;
        };
        let fits = |selector: &Option<LabelSelector>, field: &str| {
            selector.as_ref().is_none_or(|selector| {
                let words = resource::words(&work.arena, root, field);
                let map: Map<String, Value> =
                    words.into_iter().map(|(k, v)| (k, v.into())).collect();
                selector.matches(Some(&map))
            })
        };
        fits(&self.labels, "labels") && fits(&self.annotations, "annotations")
    }

    /// Whether it selects a resource, by its name of now or its first one.
    fn fits(&self, work: &Work<'_>, at: usize) -> bool {
        let Some(root) = work.root(at) else {
            return false;
        };
        if !self.fits_gvk(&resource::gvk(&work.arena, root)) {
            return false;
        }
        let (current, original) = (work.id(at), work.original_id(at));
        (self.namespace.fits(original.effective()) || self.namespace.fits(current.effective()))
            && (self.name.fits(&original.name) || self.name.fits(&current.name))
            && self.fits_words(work, at)
    }

    /// The resources that it selects.
    pub(crate) fn select(&self, work: &Work<'_>, list: &[usize]) -> Vec<usize> {
        list.iter()
            .copied()
            .filter(|at| self.fits(work, *at))
            .collect()
    }
}

/// What a selector looks for, for people.
pub(crate) fn words(selector: &Selector) -> String {
    let id = &selector.id;
    let parts = [
        ("group", &id.gvk.group),
        ("version", &id.gvk.version),
        ("kind", &id.gvk.kind),
        ("name", &id.name),
        ("namespace", &id.namespace),
        ("labelSelector", &selector.labels),
        ("annotationSelector", &selector.annotations),
    ];
    let filled = parts.iter().filter(|(_, value)| !value.is_empty());
    filled
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join(" ")
}
