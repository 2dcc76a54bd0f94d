//! One resource on its way: its nodes, the names it had, and where it comes from.
//!
//! What the build must remember of a resource it notes in annotations of the resource itself, as
//! the real program does: a patch that wipes the annotations wipes the memory too.

use crate::fault::Outcome;
use crate::id::{Gvk, ResId};
use crate::kustomization::Words;
use crate::node::{Arena, Kind, Node, NodeId, Style};
use crate::schema::Schemas;
use model::Origin;

const DOMAIN: &str = "internal.config.kubernetes.io";
const PREVIOUS_KINDS: &str = "internal.config.kubernetes.io/previousKinds";
const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";
const PREVIOUS_NAMESPACES: &str = "internal.config.kubernetes.io/previousNamespaces";
const PREFIXES: &str = "internal.config.kubernetes.io/prefixes";
const SUFFIXES: &str = "internal.config.kubernetes.io/suffixes";
pub(crate) const ALLOW_NAME_CHANGE: &str = "internal.config.kubernetes.io/allowNameChange";
pub(crate) const ALLOW_KIND_CHANGE: &str = "internal.config.kubernetes.io/allowKindChange";
const BEHAVIOR: &str = "internal.config.kubernetes.io/generatorBehavior";
pub(crate) const NEEDS_HASH: &str = "internal.config.kubernetes.io/needsHashSuffix";
pub(crate) const HELM_GENERATED: &str = "internal.config.kubernetes.io/helm-generated";
pub(crate) const ORIGIN: &str = "config.kubernetes.io/origin";
pub(crate) const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";
pub(crate) const LOCAL: &str = "config.kubernetes.io/local-config";
const ENABLED: &str = "enabled";

// The annotations that no output shows.
const NOTES: [&str; 19] = [
    PREVIOUS_KINDS,
    PREVIOUS_NAMES,
    PREFIXES,
    SUFFIXES,
    PREVIOUS_NAMESPACES,
    ALLOW_NAME_CHANGE,
    ALLOW_KIND_CHANGE,
    "internal.config.kubernetes.io/refBy",
    BEHAVIOR,
    NEEDS_HASH,
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
    HELM_GENERATED,
];

/// A resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resource {
    /// Its nodes; none once it was deleted.
    pub(crate) root: Option<NodeId>,
    /// Variables that take their value from it.
    pub(crate) vars: Vec<String>,
    pub(crate) origin: Origin,
    /// The source its nodes come from.
    pub(crate) source: u32,
}

/// What a generated resource does to one of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    Unspecified,
    Create,
    Replace,
    Merge,
}

impl Behavior {
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "replace" => Self::Replace,
            "merge" => Self::Merge,
            "create" => Self::Create,
            _ => Self::Unspecified,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Merge => "merge",
            Self::Create => "create",
            Self::Unspecified => "unspecified",
        }
    }
}

/// The text of `kind`, whatever it is.
pub(crate) fn kind(arena: &Arena, root: NodeId) -> &str {
    arena
        .field(root, "kind")
        .map_or("", |field| &arena.get(field).value)
}

/// The text of `apiVersion`, whatever it is.
pub(crate) fn api_version(arena: &Arena, root: NodeId) -> &str {
    arena
        .field(root, "apiVersion")
        .map_or("", |field| &arena.get(field).value)
}

fn meta_text<'a>(arena: &'a Arena, root: NodeId, name: &str) -> &'a str {
    let meta = arena.filled(root, "metadata");
    let field = meta.and_then(|meta| arena.filled(meta, name));
    field.map_or("", |field| &arena.get(field).value)
}

pub(crate) fn name(arena: &Arena, root: NodeId) -> &str {
    meta_text(arena, root, "name")
}

pub(crate) fn namespace(arena: &Arena, root: NodeId) -> &str {
    meta_text(arena, root, "namespace")
}

pub(crate) fn gvk(arena: &Arena, root: NodeId) -> Gvk {
    Gvk::of(api_version(arena, root), kind(arena, root))
}

/// The name that it has now.
pub(crate) fn current_id(arena: &Arena, schemas: &Schemas, root: NodeId) -> ResId {
    let (version, kind) = (api_version(arena, root), kind(arena, root));
    ResId {
        gvk: Gvk::of(version, kind),
        name: name(arena, root).to_owned(),
        namespace: namespace(arena, root).to_owned(),
        cluster: schemas.is_cluster_scoped(version, kind),
    }
}

/// The names that it had before, the oldest first.
pub(crate) fn previous_ids(arena: &Arena, root: NodeId) -> Vec<ResId> {
    let Some(names) = annotation(arena, root, PREVIOUS_NAMES) else {
        return Vec::new();
    };
    let namespaces = annotation(arena, root, PREVIOUS_NAMESPACES).unwrap_or("");
    let kinds = annotation(arena, root, PREVIOUS_KINDS).unwrap_or("");
    let gvk = gvk(arena, root);
    let parts = names
        .split(',')
        .zip(namespaces.split(','))
        .zip(kinds.split(','));
    parts
        .map(|((name, namespace), kind)| ResId {
            gvk: Gvk {
                kind: kind.into(),
                ..gvk.clone()
            },
            name: name.into(),
            namespace: namespace.into(),
            cluster: false,
        })
        .collect()
}

/// The name that it had first.
pub(crate) fn original_id(arena: &Arena, schemas: &Schemas, root: NodeId) -> ResId {
    let first = previous_ids(arena, root).into_iter().next();
    first.unwrap_or_else(|| current_id(arena, schemas, root))
}

/// The text of an annotation.
pub(crate) fn annotation<'a>(arena: &'a Arena, root: NodeId, key: &str) -> Option<&'a str> {
    let meta = arena.filled(root, "metadata")?;
    let annotations = arena.field(meta, "annotations")?;
    arena
        .field(annotations, key)
        .map(|value| &*arena.get(value).value)
}

/// Labels or annotations as texts.
pub(crate) fn words(arena: &Arena, root: NodeId, field: &str) -> Words {
    let meta = arena.filled(root, "metadata");
    let Some(map) = meta.and_then(|meta| arena.field(meta, field)) else {
        return Words::new();
    };
    let text = |id: NodeId| arena.get(id).value.to_string();
    let pairs = arena.content(map).chunks_exact(2);
    pairs.map(|pair| (text(pair[0]), text(pair[1]))).collect()
}

/// Sets labels or annotations; all of them are strings from then on, and no field is left for none.
pub(crate) fn set_words(arena: &mut Arena, root: NodeId, field: &str, words: &Words) -> Outcome {
    let meta = arena.lookup_create(root, Kind::Mapping, &["metadata"])?;
    arena.clear(meta, field)?;
    if words.is_empty() {
        return Ok(());
    }
    let map = arena.lookup_create(meta, Kind::Mapping, &[field])?;
    for (key, value) in words {
        let node = arena.add(Node::string(value));
        arena.set(map, key, node)?;
    }
    Ok(())
}

/// Sets one annotation.
pub(crate) fn annotate(arena: &mut Arena, root: NodeId, key: &str, value: &str) -> Outcome {
    if let Some(meta) = arena.lookup(root, &["metadata"])? {
        let empty =
            |arena: &Arena, id: Option<NodeId>| id.is_some_and(|id| arena.content(id).is_empty());
        if empty(arena, arena.get_field(meta, "annotations")?) {
            arena.clear(meta, "annotations")?;
        }
        if empty(arena, Some(meta)) {
            arena.clear(root, "metadata")?;
        }
    }
    set_meta_word(arena, root, "annotations", key, value)
}

/// Sets one label.
pub(crate) fn set_label(arena: &mut Arena, root: NodeId, key: &str, value: &str) -> Outcome {
    set_meta_word(arena, root, "labels", key, value)
}

fn set_meta_word(arena: &mut Arena, root: NodeId, field: &str, key: &str, value: &str) -> Outcome {
    let map = arena.lookup_create(root, Kind::Mapping, &["metadata", field])?;
    let node = arena.add(Node {
        style: Style::Single,
        ..Node::string(value)
    });
    arena.set(map, key, node)?;
    Ok(())
}

fn append_note(arena: &mut Arena, root: NodeId, key: &str, value: &str) -> Outcome {
    if value.is_empty() {
        return Ok(());
    }
    let text = match annotation(arena, root, key) {
        Some(known) => format!("{known},{value}"),
        None => value.to_owned(),
    };
    annotate(arena, root, key, &text)
}

/// Notes the name that it has now, before it changes.
pub(crate) fn store_id(arena: &mut Arena, schemas: &Schemas, root: NodeId) -> Outcome {
    let id = current_id(arena, schemas, root);
    append_note(arena, root, PREVIOUS_NAMES, &id.name)?;
    append_note(arena, root, PREVIOUS_NAMESPACES, id.effective())?;
    append_note(arena, root, PREVIOUS_KINDS, &id.gvk.kind)
}

pub(crate) fn note_prefix(arena: &mut Arena, root: NodeId, prefix: &str) -> Outcome {
    append_note(arena, root, PREFIXES, prefix)
}

pub(crate) fn note_suffix(arena: &mut Arena, root: NodeId, suffix: &str) -> Outcome {
    append_note(arena, root, SUFFIXES, suffix)
}

fn csv<'a>(arena: &'a Arena, root: NodeId, key: &str) -> Vec<&'a str> {
    annotation(arena, root, key).map_or(Vec::new(), |text| text.split(',').collect())
}

/// Whether two resources got the same prefixes and suffixes; `lax`: none fits all.
pub(crate) fn same_affixes(arena: &Arena, one: NodeId, other: NodeId, lax: bool) -> bool {
    [PREFIXES, SUFFIXES].into_iter().all(|key| {
        let (a, b) = (csv(arena, one, key), csv(arena, other, key));
        lax && (a.is_empty() || b.is_empty()) || same_ending(&a, &b)
    })
}

// Whether the shorter list is the end of the longer one.
fn same_ending(a: &[&str], b: &[&str]) -> bool {
    let shorter = a.len().min(b.len());
    if shorter == 0 {
        return a.len() == b.len();
    }
    a[a.len() - shorter..] == b[b.len() - shorter..]
}

/// Switches a note on.
pub(crate) fn enable(arena: &mut Arena, root: NodeId, key: &str) -> Outcome {
    let mut notes = words(arena, root, "annotations");
    notes.insert(key.into(), ENABLED.into());
    set_words(arena, root, "annotations", &notes)
}

pub(crate) fn is_enabled(arena: &Arena, root: NodeId, key: &str) -> bool {
    annotation(arena, root, key) == Some(ENABLED)
}

pub(crate) fn behavior(arena: &Arena, root: NodeId) -> Behavior {
    annotation(arena, root, BEHAVIOR).map_or(Behavior::Unspecified, Behavior::of)
}

pub(crate) fn set_behavior(arena: &mut Arena, root: NodeId, behavior: Behavior) -> Outcome {
    let mut notes = words(arena, root, "annotations");
    notes.insert(BEHAVIOR.into(), behavior.word().into());
    set_words(arena, root, "annotations", &notes)
}

/// Takes out what the build noted.
pub(crate) fn remove_notes(arena: &mut Arena, root: NodeId) -> Outcome {
    let mut known = words(arena, root, "annotations");
    if known.is_empty() {
        return Ok(());
    }
    known.retain(|key, _| !NOTES.contains(&key.as_str()));
    set_words(arena, root, "annotations", &known)
}

/// Notes that a JSON patch must not lose.
pub(crate) fn internal_notes(arena: &Arena, root: NodeId) -> Words {
    const LEGACY: [&str; 3] = [
        "config.kubernetes.io/path",
        "config.kubernetes.io/index",
        "config.k8s.io/id",
    ];
    let mut notes = words(arena, root, "annotations");
    notes.retain(|key, _| key.starts_with(DOMAIN) || LEGACY.contains(&key.as_str()));
    notes
}

pub(crate) fn set_kind(arena: &mut Arena, root: NodeId, kind: &str) -> Outcome {
    let node = arena.add(Node::scalar(kind));
    arena.set(root, "kind", node)?;
    Ok(())
}

pub(crate) fn set_api_version(arena: &mut Arena, root: NodeId, version: &str) -> Outcome {
    let node = arena.add(Node::scalar(version));
    arena.set(root, "apiVersion", node)?;
    Ok(())
}

pub(crate) fn set_name(arena: &mut Arena, root: NodeId, name: &str) -> Outcome {
    let meta = arena.lookup_create(root, Kind::Mapping, &["metadata"])?;
    let node = arena.add(Node::scalar(name));
    arena.set(meta, "name", node)?;
    Ok(())
}

pub(crate) fn set_namespace(arena: &mut Arena, root: NodeId, namespace: &str) -> Outcome {
    if namespace.is_empty() {
        return match arena.lookup(root, &["metadata"])? {
            Some(meta) => arena.clear(meta, "namespace"),
            None => Ok(()),
        };
    }
    let meta = arena.lookup_create(root, Kind::Mapping, &["metadata"])?;
    let node = arena.add(Node::scalar(namespace));
    arena.set(meta, "namespace", node)?;
    Ok(())
}

/// Takes name, namespace, labels and annotations over from another; its own labels and annotations
/// win, the other's notes stay.
pub(crate) fn copy_meta(arena: &mut Arena, root: NodeId, from: NodeId) -> Outcome {
    let mut labels = words(arena, from, "labels");
    labels.extend(words(arena, root, "labels"));
    set_words(arena, root, "labels", &labels)?;

    let own = words(arena, root, "annotations");
    let others = words(arena, from, "annotations");
    let hashed = own.contains_key(NEEDS_HASH);
    let mut merged = others.clone();
    merged.extend(own);
    for note in NOTES {
        match others.get(note) {
            Some(value) => merged.insert(note.into(), value.clone()),
            None => merged.remove(note),
        };
    }
    if !hashed {
        merged.remove(NEEDS_HASH);
    }
    set_words(arena, root, "annotations", &merged)?;
    let name = name(arena, from).to_owned();
    set_name(arena, root, &name)?;
    let namespace = namespace(arena, from).to_owned();
    set_namespace(arena, root, &namespace)
}
