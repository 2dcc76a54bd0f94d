//! Patches: strategic merges and JSON patches, for one resource or for all that a selector finds.

use crate::error::KustomizeError;
use crate::fault::{Fault, Outcome};
use crate::kustomization::{Patch, Selector};
use crate::loader::Loader;
use crate::node::NodeId;
use crate::resource;
use crate::selector::{self, Matcher};
use crate::target::{Accumulated, register, unreadable};
use crate::work::{Author, List, Result, Work};
use crate::{read, resmap, strategic, write};
use model::Value;

/// A patch that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) content: Content,
    pub(crate) target: Option<Selector>,
    /// The file and line of the patch itself.
    pub(crate) author: Author,
}

/// What a patch is.
#[derive(Debug)]
pub(crate) enum Content {
    /// Strategic merges, as resources of their own.
    Merges(List),
    /// Operations of a JSON patch.
    Operations(Value),
}

/// Reads an entry of `patches`.
pub(crate) fn load(
    work: &mut Work<'_>,
    loader: &Loader,
    patch: &Patch,
    author: &Author,
) -> Result<Loaded> {
    let refuse = |message: &str| Err(author.blame(Fault::text(message)));
    let inline = patch.patch.trim();
    let (bytes, file, line): (Vec<u8>, String, usize) =
        match (inline.is_empty(), patch.path.is_empty()) {
            (true, true) => return refuse("must specify one of patch and path"),
            (false, false) => return refuse("patch and path can't be set at the same time"),
            (false, true) => (inline.into(), author.at.file.clone(), author.at.line),
            (true, false) => {
                let (bytes, file) = loader.load(&patch.path, work, &author.at)?;
                (bytes.to_vec(), file, 1)
            }
        };
    let mut own = author.clone();
    own.at.file.clone_from(&file);
    own.at.line = line;
    let source = work.source(&file);
    let content = match read::objects(&mut work.arena, &bytes, source) {
        Ok(documents) => {
            let list = register(work, &documents, &file, source);
            for &at in &list {
                allow(work, at, patch).map_err(|fault| author.blame(fault))?;
            }
            Content::Merges(list)
        }
        Err(fault) => match operations(&bytes) {
            Ok(operations) => Content::Operations(operations),
            Err(why) => {
                let _ = why;
                return Err(neither(fault, &file, &bytes, inline, author));
            }
        },
    };
    Ok(Loaded {
        content,
        target: patch.target.clone(),
        author: own,
    })
}

// Neither a strategic merge nor a JSON patch.
fn neither(
    fault: read::Unreadable,
    file: &str,
    bytes: &[u8],
    inline: &str,
    author: &Author,
) -> KustomizeError {
    if inline.is_empty() {
        return match unreadable(fault, file, bytes) {
            KustomizeError::NotAnObject { at, message } => KustomizeError::Settings {
                at,
                message: format!("unable to parse SM or JSON patch: {message}"),
                nearest: None,
            },
            other => other,
        };
    }
    let why = Fault::from(fault);
    author.blame(Fault::text(format!(
        "unable to parse SM or JSON patch: {why}"
    )))
}

fn allow(work: &mut Work<'_>, at: usize, patch: &Patch) -> Outcome {
    let Some(root) = work.root(at) else {
        return Ok(());
    };
    if patch.allow_name_change {
        resource::enable(&mut work.arena, root, resource::ALLOW_NAME_CHANGE)?;
    }
    if patch.allow_kind_change {
        resource::enable(&mut work.arena, root, resource::ALLOW_KIND_CHANGE)?;
    }
    Ok(())
}

/// The operations of a JSON patch, written in JSON or YAML.
pub(crate) fn operations(bytes: &[u8]) -> std::result::Result<Value, String> {
    let text = read::text_of(bytes).map_err(|fault| fault.message)?;
    if text.is_empty() {
        return Err("empty json patch operations".into());
    }
    let value = if text.starts_with('[') {
        serde_json::from_str(text).map_err(|error| error.to_string())?
    } else {
        yaml::parse(text).map_err(|error| error.to_string())?
    };
    match &value {
        Value::Array(list) if list.iter().all(|op| op.is_object() || op.is_null()) => Ok(value),
        Value::Null => Ok(Value::Array(Vec::new())),
        _ => Err("a JSON patch is a list of operations".into()),
    }
}

/// Applies an entry of `patches`.
pub(crate) fn apply(work: &mut Work<'_>, all: &mut Accumulated, loaded: &Loaded) -> Result {
    let author = &loaded.author;
    match (&loaded.content, &loaded.target) {
        (Content::Merges(patches), None) => {
            for &patch in patches {
                let target = find(work, &all.list, patch, author)?;
                merge_touching(work, target, patch, author, false)?;
            }
            all.names = None;
            Ok(())
        }
        (Content::Merges(patches), Some(selector)) => match patches[..] {
            [] => Ok(()),
            [patch] => {
                let selected = select(work, all, selector, author)?;
                merge_selected(work, all, &selected, patch, author)
            }
            _ => Err(author.blame(Fault::text(
                "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` field",
            ))),
        },
        (Content::Operations(operations), Some(selector)) => {
            let selected = select(work, all, selector, author)?;
            json(work, &selected, operations, author, true)?;
            all.names = None;
            Ok(())
        }
        (Content::Operations(operations), None) if operations.as_array().is_some_and(Vec::is_empty) => Ok(()),
        (Content::Operations(_), None) => {
            Err(author.blame(Fault::text("must specify a target for JSON patch")))
        }
    }
}

fn select(
    work: &Work<'_>,
    all: &Accumulated,
    selector: &Selector,
    author: &Author,
) -> Result<List> {
    let matcher = Matcher::new(selector).map_err(|fault| {
        author.blame(fault.within(format_args!(
            "unable to find patch target {}",
            selector::words(selector)
        )))
    })?;
    Ok(matcher.select(work, &all.list))
}

/// Applies an entry of `patchesStrategicMerge`.
pub(crate) fn apply_old_merge(
    work: &mut Work<'_>,
    all: &mut Accumulated,
    patch: usize,
    author: &Author,
) -> Result {
    let target = find(work, &all.list, patch, author)?;
    merge_selected(work, all, &[target], patch, author)
}

// The one resource that has, or had, the name of a patch.
fn find(work: &Work<'_>, list: &[usize], patch: usize, author: &Author) -> Result<usize> {
    let id = work.original_id(patch);
    let fits =
        |at: &usize| !work.is_gone(*at) && work.all_ids(*at).iter().any(|other| id.same(other));
    let found: Vec<usize> = list.iter().copied().filter(fits).collect();
    let why = match found[..] {
        [one] => return Ok(one),
        [] => "no resource matches strategic merge patch",
        _ => "multiple resources match strategic merge patch",
    };
    let mut at = author.at.clone();
    let spot = work.spot(patch);
    if spot.file == at.file && at.line > 1 {
        // An inline patch: its lines count from the entry.
        at.line += spot.line.saturating_sub(1);
    } else {
        at.line = spot.line.max(at.line);
    }
    Err(KustomizeError::NoTarget {
        at,
        what: author.by.clone(),
        wanted: id.words(),
        why: why.into(),
        nearest: resmap::near(work, list, &id),
    })
}

// Merges a copy of a patch into every selected resource.
fn merge_selected(
    work: &mut Work<'_>,
    all: &mut Accumulated,
    selected: &[usize],
    patch: usize,
    author: &Author,
) -> Result {
    let ids: Vec<_> = selected.iter().map(|at| work.id(*at)).collect();
    let chosen: List = if selected.len() == all.list.len() {
        all.list.clone()
    } else {
        let known: std::collections::HashSet<_> = ids.into_iter().collect();
        all.list
            .iter()
            .copied()
            .filter(|at| known.contains(&work.id(*at)))
            .collect()
    };
    for at in chosen {
        merge_touching(work, at, patch, author, true)?;
    }
    let list: List = all
        .list
        .iter()
        .copied()
        .filter(|at| !work.is_gone(*at))
        .collect();
    all.list.clear();
    all.names = None;
    resmap::append(work, all, &list)
}

fn merge_touching(
    work: &mut Work<'_>,
    at: usize,
    patch: usize,
    author: &Author,
    copied: bool,
) -> Result {
    let Some(mut patch_root) = work.root(patch) else {
        return Ok(());
    };
    let before = (!work.options.without_origins).then(|| work.value(at));
    let blame = |fault: Fault| author.blame(fault);
    if copied {
        patch_root = copy_for(work, at, patch_root).map_err(blame)?;
    }
    merge(work, at, patch_root).map_err(|fault| {
        let id = work.original_id(patch);
        author.blame(fault.within(format_args!("the patch of {}", id.words())))
    })?;
    if let Some(before) = before {
        let fields = changes(before.as_ref(), work.value(at).as_ref());
        if !fields.is_empty() {
            let mut author = author.clone();
            let spot = work.spot(patch);
            if spot.file != author.at.file || author.at.line <= 1 {
                author.at.file = spot.file;
                author.at.line = spot.line;
            }
            work.touch(at, &author, fields);
        }
    }
    Ok(())
}

// A copy of the patch that has the type of what it patches.
fn copy_for(work: &mut Work<'_>, at: usize, patch: NodeId) -> Outcome<NodeId> {
    let copy = work.arena.copy(patch);
    resource::copy_meta(&mut work.arena, copy, patch)?;
    let Some(root) = work.root(at) else {
        return Ok(copy);
    };
    let version = resource::gvk(&work.arena, root).api_version();
    let kind = resource::kind(&work.arena, patch).to_owned();
    resource::set_api_version(&mut work.arena, copy, &version)?;
    resource::set_kind(&mut work.arena, copy, &kind)?;
    Ok(copy)
}

// Kind, name and namespace stay unless the patch may change them.
fn merge(work: &mut Work<'_>, at: usize, patch: NodeId) -> Outcome {
    let Some(root) = work.root(at) else {
        return Ok(());
    };
    let arena = &work.arena;
    let name = resource::name(arena, root).to_owned();
    let namespace = resource::namespace(arena, root).to_owned();
    let kind = resource::kind(arena, root).to_owned();
    let name_changes = resource::is_enabled(arena, patch, resource::ALLOW_NAME_CHANGE);
    let kind_changes = resource::is_enabled(arena, patch, resource::ALLOW_KIND_CHANGE);
    if name_changes || kind_changes {
        resource::store_id(&mut work.arena, &work.schemas, root)?;
    }
    let merged = strategic::merge(&mut work.arena, &work.schemas, root, patch)?;
    work.resources[at].root = merged;
    let Some(root) = merged.filter(|root| !work.arena.is_empty(*root)) else {
        return Ok(());
    };
    let arena = &mut work.arena;
    if !kind_changes {
        resource::set_kind(arena, root, &kind)?;
    }
    if !name_changes {
        resource::set_name(arena, root, &name)?;
    }
    resource::set_namespace(arena, root, &namespace)
}

/// Applies a JSON patch to resources.
pub(crate) fn json(
    work: &mut Work<'_>,
    list: &[usize],
    operations: &Value,
    author: &Author,
    store: bool,
) -> Result {
    for &at in list {
        json_one(work, at, operations, author, store).map_err(|fault| {
            let id = work.id(at);
            author.blame(fault.within(format_args!("the JSON patch of {}", id.words())))
        })?;
    }
    Ok(())
}

fn json_one(
    work: &mut Work<'_>,
    at: usize,
    operations: &Value,
    author: &Author,
    store: bool,
) -> Outcome {
    let Some(root) = work.root(at) else {
        return Ok(());
    };
    if store {
        resource::store_id(&mut work.arena, &work.schemas, root)?;
    }
    let notes = resource::internal_notes(&work.arena, root);
    let before = write::to_value(&work.arena, root, true)?;
    let after = merge::json_patch(before.clone(), operations)
        .map_err(|error| Fault::text(error.to_string()))?;
    if !after.is_object() {
        return Err(Fault::text("the patch leaves no object"));
    }
    let places = (work.arena.get(root).source, work.arena.get(root).line);
    let fields = changes(Some(&before), Some(&after));
    // Fields that the patch left alone keep their lines.
    let lined = Lines { old: Some(root) };
    let new = lined.nodes(work, &after, places);
    work.resources[at].root = Some(new);
    let mut words = resource::words(&work.arena, new, "annotations");
    words.extend(notes);
    resource::set_words(&mut work.arena, new, "annotations", &words)?;
    if !fields.is_empty() {
        work.touch(at, author, fields);
    }
    Ok(())
}

// Nodes of a patched object, with the lines of the nodes that were there before.
struct Lines {
    old: Option<NodeId>,
}

impl Lines {
    fn nodes(&self, work: &mut Work<'_>, value: &Value, places: (u32, u32)) -> NodeId {
        let id = write::from_value(&mut work.arena, value, write::Numbers::Float, (0, 0));
        if let Some(old) = self.old {
            copy_lines(&mut work.arena, old, id);
        }
        let node = work.arena.get_mut(id);
        (node.source, node.line) = places;
        id
    }
}

fn copy_lines(arena: &mut crate::node::Arena, old: NodeId, new: NodeId) {
    if arena.kind(old) != arena.kind(new) {
        return;
    }
    let places = (arena.get(old).source, arena.get(old).line);
    let same = arena.kind(old) != crate::node::Kind::Scalar
        || arena.get(old).value == arena.get(new).value;
    if same {
        let node = arena.get_mut(new);
        (node.source, node.line) = places;
    }
    if arena.kind(new) == crate::node::Kind::Mapping {
        for (key, value) in arena.pairs(new) {
            let name = arena.get(key).value.clone();
            if let Some(old) = arena.field(old, &name) {
                copy_lines(arena, old, value);
            }
        }
    } else {
        let pairs: Vec<_> = arena
            .content(old)
            .iter()
            .copied()
            .zip(arena.content(new).iter().copied())
            .collect();
        for (old, new) in pairs {
            copy_lines(arena, old, new);
        }
    }
}

/// How many changed fields are told apart.
const CHANGES_MAX: usize = 200;

/// JSON pointers of the fields in which two values differ; build notes do not count.
pub(crate) fn changes(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    let mut found = Vec::new();
    match (before, after) {
        (Some(before), Some(after)) => differ(before, after, &mut String::new(), &mut found),
        (None, None) => {}
        _ => found.push(String::new()),
    }
    found
}

fn differ(before: &Value, after: &Value, trail: &mut String, found: &mut Vec<String>) {
    if before == after || found.len() >= CHANGES_MAX {
        return;
    }
    let length = trail.len();
    match (before, after) {
        (Value::Object(a), Value::Object(b)) => {
            let mut names: Vec<&String> = a
                .keys()
                .chain(b.keys().filter(|key| !a.contains_key(*key)))
                .collect();
            names.sort();
            for name in names {
                if name.starts_with("internal.config.kubernetes.io/") {
                    continue;
                }
                trail.push('/');
                trail.push_str(&name.replace('~', "~0").replace('/', "~1"));
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => differ(a, b, trail, found),
                    _ if name == "annotations" && only_notes(a.get(name), b.get(name)) => {}
                    _ => found.push(trail.clone()),
                }
                trail.truncate(length);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                trail.push_str(&format!("/{index}"));
                differ(a, b, trail, found);
                trail.truncate(length);
            }
        }
        _ => found.push(trail.clone()),
    }
}

fn only_notes(a: Option<&Value>, b: Option<&Value>) -> bool {
    let map = a.or(b).and_then(Value::as_object);
    map.is_some_and(|map| {
        map.keys()
            .all(|key| key.starts_with("internal.config.kubernetes.io/"))
    })
}
