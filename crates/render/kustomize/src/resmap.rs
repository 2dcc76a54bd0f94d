//! The list of resources: names are unique, generated ones may merge with what is there.

use crate::error::KustomizeError;
use crate::fault::Fault;
use crate::id::Gvk;
use crate::node::{Arena, Kind, Node, NodeId, Style, Tag};
use crate::resource::{self, Behavior};
use crate::target::Accumulated;
use crate::work::{Author, Result, Work};
use std::collections::HashMap;

/// The names of a list, when they were collected and nothing changed since.
pub(crate) type Names = Option<HashMap<(Gvk, String, String), usize>>;

/// Adds resources; a name that is there is refused.
pub(crate) fn append(work: &Work<'_>, all: &mut Accumulated, list: &[usize]) -> Result {
    let list_now = &all.list;
    let names = all.names.get_or_insert_with(|| {
        list_now
            .iter()
            .map(|at| (work.id(*at).key(), *at))
            .collect()
    });
    for &at in list {
        let id = work.id(at);
        if let Some(first) = names.insert(id.key(), at) {
            return Err(KustomizeError::Duplicate {
                id: id.words(),
                first: work.spot(first),
                second: work.spot(at),
            });
        }
        all.list.push(at);
    }
    Ok(())
}

/// Adds a generated resource, or merges it with the one of its name.
pub(crate) fn absorb(
    work: &mut Work<'_>,
    all: &mut Accumulated,
    at: usize,
    author: &Author,
) -> Result {
    let id = work.id(at);
    let Some(root) = work.root(at) else {
        return Ok(());
    };
    let behavior = resource::behavior(&work.arena, root);
    let matching: Vec<usize> = all
        .list
        .iter()
        .copied()
        .filter(|other| work.all_ids(*other).iter().any(|other| id.same(other)))
        .collect();
    let wrong = |why: String| {
        Err(KustomizeError::NoTarget {
            at: author.at.clone(),
            what: author.by.clone(),
            wanted: id.words(),
            why,
            nearest: near(work, &all.list, &id),
        })
    };
    match matching[..] {
        [] if matches!(behavior, Behavior::Merge | Behavior::Replace) => {
            wrong("does not exist; cannot merge or replace".into())
        }
        [] => append(work, all, &[at]),
        [old] => {
            let blame = |fault: Fault| author.blame(fault);
            let Some(old_root) = work.root(old) else {
                return Ok(());
            };
            match behavior {
                Behavior::Replace => {
                    resource::copy_meta(&mut work.arena, root, old_root).map_err(blame)?
                }
                Behavior::Merge => merge_into(&mut work.arena, root, old_root).map_err(blame)?,
                other => {
                    let why = format!(
                        "exists; can not use behavior: '{}', behavior must be merge or replace",
                        other.word()
                    );
                    return wrong(why);
                }
            }
            work.resources[at].vars = work.resources[old].vars.clone();
            // The merged one is the old one, touched.
            let mut origin = std::mem::take(&mut work.resources[old].origin);
            std::mem::swap(&mut work.resources[at].origin, &mut origin);
            if behavior == Behavior::Replace {
                work.touch(at, author, Vec::new());
            } else {
                work.touch(at, author, vec!["/data".into()]);
            }
            if let Some(place) = all.list.iter_mut().find(|place| **place == old) {
                *place = at;
            }
            all.names = None;
            Ok(())
        }
        _ => wrong("more than one resource could accept the merge".into()),
    }
}

// The names of resources near one that was not found.
pub(crate) fn near(work: &Work<'_>, list: &[usize], id: &crate::id::ResId) -> Vec<String> {
    let mut scored: Vec<(usize, String)> = list
        .iter()
        .flat_map(|at| [work.id(*at), work.original_id(*at)])
        .map(|other| {
            let kind = usize::from(other.gvk.kind != id.gvk.kind && !id.gvk.kind.is_empty());
            let name = crate::nearest::distance(&other.name, &id.name);
            let version =
                usize::from(other.gvk.version != id.gvk.version || other.gvk.group != id.gvk.group);
            let place = usize::from(other.effective() != id.effective());
            (kind * 4 + name * 3 + version + place, other.words())
        })
        .collect();
    scored.sort();
    scored.dedup();
    scored
        .into_iter()
        .take(3)
        .filter(|(score, _)| *score <= 16)
        .map(|(_, words)| words)
        .collect()
}

fn merge_into(arena: &mut Arena, root: NodeId, old: NodeId) -> crate::fault::Outcome {
    let origin = resource::annotation(arena, old, resource::ORIGIN).map(str::to_owned);
    resource::copy_meta(arena, root, old)?;
    for field in ["data", "binaryData"] {
        let mut data = data_map(arena, old, field);
        data.extend(data_map(arena, root, field));
        arena.clear(root, field)?;
        for (key, value) in data {
            let map = arena.lookup_create(root, Kind::Mapping, &[field])?;
            let node = arena.add(data_node(&value));
            arena.set(map, &key, node)?;
        }
    }
    if let Some(origin) = origin {
        let mut words = resource::words(arena, root, "annotations");
        words.insert(resource::ORIGIN.into(), origin);
        resource::set_words(arena, root, "annotations", &words)?;
    }
    Ok(())
}

fn data_map(
    arena: &Arena,
    root: NodeId,
    field: &str,
) -> std::collections::BTreeMap<String, String> {
    let Some(map) = arena.field(root, field) else {
        return std::collections::BTreeMap::new();
    };
    let text = |id: NodeId| arena.value(id).to_owned();
    let pairs = arena.content(map).chunks_exact(2);
    pairs.map(|pair| (text(pair[0]), text(pair[1]))).collect()
}

/// The node of a value in `data`.
pub(crate) fn data_node(value: &str) -> Node {
    Node {
        tag: Tag::Str,
        style: if value.contains('\n') {
            Style::Literal
        } else {
            Style::Plain
        },
        ..Node::scalar(value)
    }
}
