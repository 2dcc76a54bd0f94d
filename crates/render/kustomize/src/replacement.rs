//! Replacements: the value of one field copied into others.

use crate::error::KustomizeError;
use crate::fault::{Fault, Outcome};
use crate::fieldspec;
use crate::id::ResId;
use crate::kustomization::{FieldOptions, Replacement, Source, Target};
use crate::node::{Arena, Kind, Node, NodeId, is_element, split_element};
use crate::patch::changes;
use crate::selector::{self, Matcher};
use crate::work::{Author, Result, Work};
use crate::{print, read, resmap, resource, write};

/// The field that is meant when none is named.
const NAME_PATH: &str = "metadata.name";

/// Performs a replacement.
pub(crate) fn apply(
    work: &mut Work<'_>,
    list: &[usize],
    replacement: &Replacement,
    author: &Author,
) -> Result {
    let targets = match (
        &replacement.targets,
        &replacement.source,
        &replacement.source_value,
    ) {
        (Some(targets), Some(_), None) | (Some(targets), None, Some(_)) if !targets.is_empty() => {
            targets
        }
        (Some(targets), Some(_), Some(_)) if !targets.is_empty() => {
            let fault = Fault::text("value and resource selectors are mutually exclusive");
            return Err(author.blame(fault));
        }
        _ => {
            let fault = Fault::text("replacements must specify a source and at least one target");
            return Err(author.blame(fault));
        }
    };
    let value = match (&replacement.source, &replacement.source_value) {
        (Some(source), _) => source_value(work, list, source, author)?,
        (None, text) => work.arena.add(Node::scalar(text.as_deref().unwrap_or(""))),
    };
    for target in targets {
        apply_target(work, list, value, target, author)?;
    }
    Ok(())
}

// All names of a resource, as replacements see them: what is known of scopes does not count.
fn ids(work: &Work<'_>, at: usize) -> Vec<ResId> {
    let mut current = work.id(at);
    current.cluster = false;
    let mut ids = vec![current];
    ids.extend(work.previous_ids(at));
    ids
}

fn source_value(
    work: &mut Work<'_>,
    list: &[usize],
    source: &Source,
    author: &Author,
) -> Result<NodeId> {
    let selected = |at: &usize| {
        ids(work, *at)
            .iter()
            .any(|id| id.is_selected_by(&source.id))
    };
    let found: Vec<usize> = list.iter().copied().filter(selected).collect();
    let refuse = |work: &Work<'_>, why: String| {
        Err(KustomizeError::NoTarget {
            at: author.at.clone(),
            what: "replacements source".into(),
            wanted: source.id.words().trim().to_owned(),
            why,
            nearest: resmap::near(work, list, &source.id),
        })
    };
    let root = match found[..] {
        [at] => work.root(at),
        [] => return refuse(work, "nothing selected".into()),
        _ => return refuse(work, "multiple matches".into()),
    };
    let Some(root) = root else {
        return refuse(work, "nothing selected".into());
    };
    let path = if source.field_path.is_empty() {
        NAME_PATH
    } else {
        &source.field_path
    };
    let parts = split_path(path);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let id = work
        .arena
        .lookup(root, &parts)
        .map_err(|fault| author.blame(fault))?;
    let Some(id) = id.filter(|id| !work.arena.is_empty(*id)) else {
        let why = format!("fieldPath `{path}` is missing for replacement source");
        return refuse(work, why);
    };
    refined(&mut work.arena, id, source.options.as_ref()).map_err(|fault| author.blame(fault))
}

// A part of the value, when one is asked for.
fn refined(arena: &mut Arena, id: NodeId, options: Option<&FieldOptions>) -> Outcome<NodeId> {
    let Some(options) = options.filter(|options| !options.delimiter.is_empty()) else {
        return Ok(id);
    };
    if arena.kind(id) != Kind::Scalar {
        return Err(Fault::text(
            "delimiter option can only be used with scalar nodes",
        ));
    }
    let value = arena.value(id).to_owned();
    let part = usize::try_from(options.index)
        .ok()
        .and_then(|at| value.split(&options.delimiter).nth(at));
    let Some(part) = part else {
        return Err(Fault::text(format!(
            "options.index {} is out of bounds for value {value}",
            options.index
        )));
    };
    let copy = arena.copy(id);
    arena.get_mut(copy).value = part.into();
    Ok(copy)
}

fn apply_target(
    work: &mut Work<'_>,
    list: &[usize],
    value: NodeId,
    target: &Target,
    author: &Author,
) -> Result {
    let blame = |fault: Fault| author.blame(fault);
    let Some(select) = &target.select else {
        return Err(blame(Fault::text(
            "target must specify resources to select",
        )));
    };
    let matcher = Matcher::new(select).map_err(blame)?;
    let rejects: Outcome<Vec<Matcher>> = target.reject.iter().map(Matcher::new).collect();
    let rejects = rejects.map_err(blame)?;
    for &at in list {
        if !matcher.fits_words(work, at) {
            continue;
        }
        let ids = ids(work, at);
        let rejected = rejects.iter().any(|reject| {
            reject.has_words() && reject.fits_words(work, at)
                || reject.names_something() && ids.iter().any(|id| reject.fits_id(id))
        });
        if rejected || !ids.iter().any(|id| matcher.fits_id(id)) {
            continue;
        }
        let before = (!work.options.without_origins).then(|| work.value(at));
        copy_to(work, at, value, target).map_err(|fault| {
            let id = work.id(at);
            author.blame(fault.within(format_args!("replacement in {}", id.words())))
        })?;
        if let Some(before) = before {
            let fields = changes(before.as_ref(), work.value(at).as_ref());
            if !fields.is_empty() {
                work.touch(at, author, fields);
            }
        }
    }
    Ok(())
}

fn copy_to(work: &mut Work<'_>, at: usize, value: NodeId, target: &Target) -> Outcome {
    let Some(root) = work.root(at) else {
        return Ok(());
    };
    let options = target.options.as_ref();
    let default = [NAME_PATH.to_owned()];
    let paths = if target.field_paths.is_empty() {
        &default[..]
    } else {
        &target.field_paths
    };
    for path in paths {
        let arena = &mut work.arena;
        let create = options
            .filter(|options| options.create)
            .map(|_| arena.kind(value));
        let parts = split_path(path);
        if structured(arena, root, value, &parts, create).is_ok() {
            continue;
        }
        let mut found = Vec::new();
        let refusal = || {
            let can = if create.is_some() {
                "find or create"
            } else {
                "find"
            };
            Fault::text(format!(
                "unable to {can} field \"{path}\" in replacement target"
            ))
        };
        find(arena, root, &parts, create, &mut found)
            .map_err(|fault| Fault::text(format!("{}: {fault}", refusal())))?;
        if found.is_empty() {
            return Err(refusal());
        }
        for field in found {
            set_field(arena, field, value, options)?;
        }
    }
    Ok(())
}

fn set_field(
    arena: &mut Arena,
    field: NodeId,
    value: NodeId,
    options: Option<&FieldOptions>,
) -> Outcome {
    let value = arena.copy(value);
    if let Some(options) = options.filter(|options| !options.delimiter.is_empty()) {
        if arena.kind(field) != Kind::Scalar {
            return Err(Fault::text(
                "delimiter option can only be used with scalar nodes",
            ));
        }
        let old = arena.get(field).value.clone();
        let mut parts: Vec<&str> = old.split(&options.delimiter).collect();
        let new = arena.value(value).to_owned();
        match usize::try_from(options.index) {
            Err(_) => parts.insert(0, &new),
            Ok(at) if at >= parts.len() => parts.push(&new),
            Ok(at) => parts[at] = &new,
        }
        arena.get_mut(value).value = parts.join(&options.delimiter).into();
    }
    assign(arena, field, value);
    Ok(())
}

// A scalar keeps its type and takes the text only.
fn assign(arena: &mut Arena, field: NodeId, value: NodeId) {
    if arena.kind(field) == Kind::Scalar {
        let text = arena.get(value).value.clone();
        arena.get_mut(field).value = text;
    } else {
        arena.assign(field, value);
    }
}

/// Splits a path at dots; what stands in brackets is one part.
pub(crate) fn split_path(path: &str) -> Vec<String> {
    let parts = fieldspec::split(path, '.');
    let mut found = Vec::new();
    let mut parts = parts.into_iter();
    while let Some(part) = parts.next() {
        if !part.starts_with('[') || part.ends_with(']') {
            found.push(part);
            continue;
        }
        let mut whole = part;
        for more in parts.by_ref() {
            whole.push('.');
            whole.push_str(&more);
            if more.ends_with(']') {
                break;
            }
        }
        if whole.contains('=') {
            found.push(whole);
        } else {
            found.push(whole.trim_matches(['[', ']']).to_owned());
        }
    }
    found
}

// The fields at a path; with `create` what is missing is made.
fn find(
    arena: &mut Arena,
    at: NodeId,
    path: &[String],
    create: Option<Kind>,
    found: &mut Vec<NodeId>,
) -> Outcome {
    let Some((part, rest)) = path.split_first() else {
        found.push(at);
        return Ok(());
    };
    if let Ok(index) = part.parse::<i64>()
        && index >= 0
    {
        return find_index(arena, at, index as usize, rest, create, found);
    }
    if is_element(part) {
        return find_element(arena, at, part, rest, create, found);
    }
    if part == "*" {
        arena.expect(at, Kind::Sequence)?;
        for entry in arena.content(at).to_vec() {
            find(arena, entry, rest, create, found)?;
        }
        return Ok(());
    }
    let field = match (arena.get_field(at, part)?, create) {
        (Some(field), _) => field,
        (None, None) => return Ok(()),
        (None, Some(kind)) => {
            let node = arena.add(Node::empty(next_kind(rest, kind)));
            arena.set_kept(at, part, node)?
        }
    };
    if arena.kind(field) == Kind::Scalar && !rest.is_empty() {
        // What a text holds is looked into, but it is not changed here.
        let text = arena.get(field).value.clone();
        let inner = read::parse(arena, &text, 0, 1).map_err(|fault| Fault::text(fault.message))?;
        let Some(inner) = inner else {
            return Err(Fault::text("wrong node kind: expected MappingNode"));
        };
        return find(arena, inner, rest, create, found);
    }
    find(arena, field, rest, create, found)
}

fn next_kind(rest: &[String], last: Kind) -> Kind {
    match rest.first() {
        None => last,
        Some(next) if next.is_empty() => last,
        Some(next) if is_element(next) || next.parse::<u32>().is_ok() => Kind::Sequence,
        Some(_) => Kind::Mapping,
    }
}

fn find_index(
    arena: &mut Arena,
    at: NodeId,
    index: usize,
    rest: &[String],
    create: Option<Kind>,
    found: &mut Vec<NodeId>,
) -> Outcome {
    arena.expect(at, Kind::Sequence)?;
    let length = arena.content(at).len();
    if let (true, Some(kind)) = (index == length, create) {
        let node = arena.add(Node::empty(next_kind(rest, kind)));
        arena.get_mut(at).content.push(node);
    }
    let Some(&entry) = arena.content(at).get(index) else {
        return Err(Fault::text(format!(
            "index {index} specified but only {length} elements found"
        )));
    };
    find(arena, entry, rest, create, found)
}

fn find_element(
    arena: &mut Arena,
    at: NodeId,
    part: &str,
    rest: &[String],
    create: Option<Kind>,
    found: &mut Vec<NodeId>,
) -> Outcome {
    let (name, text) = split_element(part)?;
    arena.expect(at, Kind::Sequence)?;
    let pattern = selector::pattern(text)?;
    let before = found.len();
    // What is made may not fit its own pattern: twice is enough.
    for attempt in 0..2 {
        for entry in arena.content(at).to_vec() {
            let shown = if name.is_empty() {
                print::to_string(arena, entry)
            } else {
                match arena.field(entry, name) {
                    Some(field) => print::to_string(arena, field),
                    None => continue,
                }
            };
            if !pattern.is_match(shown.trim()) {
                continue;
            }
            if name.is_empty() {
                found.push(entry);
            } else {
                find(arena, entry, rest, create, found)?;
            }
        }
        if found.len() > before || create.is_none() || attempt == 1 {
            break;
        }
        let value = arena.add(Node::scalar(text));
        let element = if name.is_empty() {
            value
        } else {
            let key = arena.add(Node::scalar(name));
            arena.add(Node {
                content: vec![key, value],
                ..Node::empty(Kind::Mapping)
            })
        };
        arena.get_mut(at).content.push(element);
    }
    Ok(())
}

// A field inside the text of a field, which is YAML or JSON itself.
fn structured(
    arena: &mut Arena,
    root: NodeId,
    value: NodeId,
    parts: &[String],
    create: Option<Kind>,
) -> Outcome {
    let none = || Fault::text("no structured data found in path");
    let names: Vec<&str> = parts.iter().map(String::as_str).collect();
    let mut holder = None;
    for end in 1..names.len() {
        if let Ok(Some(id)) = arena.lookup(root, &names[..end])
            && arena.kind(id) == Kind::Scalar
        {
            let text = arena.get(id).value.clone();
            if let Ok(inner) = read::parse(arena, &text, 0, 1) {
                holder = Some((id, text, inner, end));
                break;
            }
        }
    }
    let (id, text, inner, end) = holder.ok_or_else(none)?;
    let inner = inner.ok_or_else(none)?;
    let mut found = Vec::new();
    find(arena, inner, &parts[end..], create, &mut found)?;
    if found.is_empty() {
        return Err(none());
    }
    for field in found {
        assign(arena, field, value);
    }
    let written = written(arena, inner, &text)?;
    arena.get_mut(id).value = written.into();
    Ok(())
}

// The text of structured data, in the form that it had.
fn written(arena: &Arena, root: NodeId, old: &str) -> Outcome<String> {
    if !old.trim_start().starts_with(['{', '[']) {
        return Ok(print::to_string(arena, root).trim().to_owned());
    }
    let value = write::to_value(arena, root, true)?;
    let layout = if old.contains('\n') && old.contains("  ") {
        json::write::Layout::Pretty
    } else {
        json::write::Layout::Compact
    };
    Ok(String::from_utf8_lossy(&json::write::to_vec(&value, layout)).into_owned())
}

/// Reads a file of replacements: one, or a list.
pub(crate) fn read_file(
    value: &model::Value,
) -> std::result::Result<Vec<Replacement>, crate::decode::Fault> {
    use crate::decode::Decode;
    if value.is_array() {
        Vec::decode(value, "")
    } else if value.is_object() {
        Ok(vec![Replacement::decode(value, "")?])
    } else {
        Err(crate::decode::wrong(
            "",
            value,
            "a replacement or a list of them",
        ))
    }
}

/// Whether a resource is still there.
pub(crate) fn is_there(work: &Work<'_>, at: usize) -> bool {
    work.root(at)
        .is_some_and(|root| !resource::kind(&work.arena, root).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_brackets() {
        assert_eq!(
            split_path("spec.containers.[name=a.b].image"),
            ["spec", "containers", "[name=a.b]", "image"]
        );
        assert_eq!(
            split_path(r"metadata.annotations.example\.com/x"),
            ["metadata", "annotations", "example.com/x"]
        );
        assert_eq!(
            split_path("metadata.annotations.[example.com/x]"),
            ["metadata", "annotations", "example.com/x"]
        );
        assert_eq!(split_path("data.*"), ["data", "*"]);
    }
}
