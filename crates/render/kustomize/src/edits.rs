//! Changes to a kustomization before it is built, as `kustomize edit` makes them: what an
//! application asks for on top of its Git source.

use crate::error::KustomizeError;
use crate::kustomization::{Image, Label, Patch, Replica, Selector};
use crate::target::Target;
use crate::work::Result;
use std::collections::BTreeMap;

/// What to change in the kustomization that is built.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edits {
    /// The prefix of names; empty leaves it.
    pub name_prefix: String,
    /// The suffix of names; empty leaves it.
    pub name_suffix: String,
    /// The namespace; empty leaves it.
    pub namespace: String,
    /// Images as `[old=]new[:tag][@digest]`.
    pub images: Vec<String>,
    /// Names and numbers of replicas.
    pub replicas: Vec<(String, i64)>,
    /// Labels for everything.
    pub common_labels: BTreeMap<String, String>,
    /// Whether labels that are there may be changed.
    pub force_common_labels: bool,
    /// Whether selectors are left alone.
    pub label_without_selector: bool,
    /// Whether templates get the labels too, when selectors do not.
    pub label_include_templates: bool,
    /// Annotations for everything.
    pub common_annotations: BTreeMap<String, String>,
    /// Whether annotations that are there may be changed.
    pub force_common_annotations: bool,
    /// More patches.
    pub patches: Vec<EditPatch>,
    /// More components.
    pub components: Vec<String>,
    /// Whether components that are not there are left out.
    pub ignore_missing_components: bool,
}

/// A patch that an application brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditPatch {
    /// A file in the directory of the kustomization.
    pub path: String,
    /// The patch itself.
    pub patch: String,
    /// Group, version, kind, name, namespace of what it is for; all empty: the patch says it.
    pub target: [String; 5],
    /// Labels of what it is for.
    pub label_selector: String,
    /// Annotations of what it is for.
    pub annotation_selector: String,
    /// Whether it may change names.
    pub allow_name_change: bool,
    /// Whether it may change kinds.
    pub allow_kind_change: bool,
}

impl Edits {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Makes the changes.
pub(crate) fn apply(edits: &Edits, target: &mut Target) -> Result {
    if edits.is_empty() {
        return Ok(());
    }
    let file = target.file.clone();
    let refuse = |message: String| KustomizeError::Settings {
        at: crate::Spot::new(&file, 0),
        message,
        nearest: None,
    };
    let k = &mut target.kustomization;
    for (new, old) in [
        (&edits.name_prefix, &mut k.name_prefix),
        (&edits.name_suffix, &mut k.name_suffix),
        (&edits.namespace, &mut k.namespace),
    ] {
        if !new.is_empty() {
            old.clone_from(new);
        }
    }
    if !edits.images.is_empty() {
        let new: std::result::Result<Vec<Image>, String> =
            edits.images.iter().map(|text| image(text)).collect();
        set_images(&mut k.images, new.map_err(refuse)?);
    }
    for (name, count) in &edits.replicas {
        match k.replicas.iter_mut().find(|replica| replica.name == *name) {
            Some(replica) => replica.count = *count,
            None => k.replicas.push(Replica {
                name: name.clone(),
                count: *count,
            }),
        }
    }
    if !edits.common_labels.is_empty() {
        if edits.label_without_selector {
            add_labels(edits, &mut k.labels).map_err(refuse)?;
        } else {
            let labels = k.common_labels.get_or_insert_default();
            add_words(
                labels,
                &edits.common_labels,
                edits.force_common_labels,
                "label",
            )
            .map_err(refuse)?;
        }
    }
    let force = edits.force_common_annotations;
    add_words(
        &mut k.common_annotations,
        &edits.common_annotations,
        force,
        "annotation",
    )
    .map_err(refuse)?;
    k.patches.extend(edits.patches.iter().map(patch));
    for component in &edits.components {
        let there = || {
            let path = model::tree::clean(&target.loader.root, component);
            path.is_some_and(|path| matches!(target.loader.tree.kind(&path), Ok(Some(_))))
        };
        if !edits.ignore_missing_components || there() {
            k.components.push(component.clone());
        }
    }
    Ok(())
}

fn add_labels(edits: &Edits, labels: &mut Vec<Label>) -> std::result::Result<(), String> {
    let templates = edits.label_include_templates;
    let same = |label: &Label| !label.include_selectors && label.include_templates == templates;
    if !labels.iter().any(same) {
        labels.push(Label {
            include_templates: templates,
            ..Label::default()
        });
    }
    match labels.iter_mut().find(|label| same(label)) {
        Some(label) => add_words(
            &mut label.pairs,
            &edits.common_labels,
            edits.force_common_labels,
            "label",
        ),
        None => Ok(()),
    }
}

fn add_words(
    into: &mut BTreeMap<String, String>,
    more: &BTreeMap<String, String>,
    force: bool,
    kind: &str,
) -> std::result::Result<(), String> {
    for (key, value) in more {
        if into.contains_key(key) && !force {
            return Err(format!(
                "{kind} {key} already in kustomization file. Use --force to override."
            ));
        }
        into.insert(key.clone(), value.clone());
    }
    Ok(())
}

fn patch(edit: &EditPatch) -> Patch {
    let [group, version, kind, name, namespace] = edit.target.clone();
    let mut selector = Selector {
        labels: edit.label_selector.clone(),
        annotations: edit.annotation_selector.clone(),
        ..Selector::default()
    };
    selector.id.gvk.group = group;
    selector.id.gvk.version = version;
    selector.id.gvk.kind = kind;
    selector.id.name = name;
    selector.id.namespace = namespace;
    Patch {
        path: edit.path.clone(),
        patch: edit.patch.clone(),
        target: (selector != Selector::default()).then_some(selector),
        allow_name_change: edit.allow_name_change,
        allow_kind_change: edit.allow_kind_change,
    }
}

// `[old=]new[:tag][@digest]`; an asterisk keeps what is there.
fn image(text: &str) -> std::result::Result<Image, String> {
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key, value),
        None => ("", text),
    };
    let (name, tag, digest) = crate::images::split(value);
    if name == text {
        return Err(format!(
            "`{text}` names no tag, digest or new image: write <image>=<newimage>:<tag>"
        ));
    }
    let (name, new_name) = if key.is_empty() {
        (name, "")
    } else {
        (key, name)
    };
    Ok(Image {
        name: name.into(),
        new_name: new_name.into(),
        new_tag: tag.into(),
        digest: digest.into(),
        ..Image::default()
    })
}

fn set_images(images: &mut Vec<Image>, new: Vec<Image>) {
    let keep = |new: &mut String, old: &str| {
        if new == "*" {
            old.clone_into(new);
        }
    };
    let mut all: BTreeMap<String, Image> = new
        .into_iter()
        .map(|image| (image.name.clone(), image))
        .collect();
    for old in images.drain(..) {
        match all.get_mut(&old.name) {
            Some(new) => {
                keep(&mut new.new_name, &old.new_name);
                keep(&mut new.new_tag, &old.new_tag);
                keep(&mut new.digest, &old.digest);
            }
            None => {
                all.insert(old.name.clone(), old);
            }
        }
    }
    for image in all.values_mut() {
        keep(&mut image.new_name, "");
        keep(&mut image.new_tag, "");
        keep(&mut image.digest, "");
    }
    images.extend(all.into_values());
}
