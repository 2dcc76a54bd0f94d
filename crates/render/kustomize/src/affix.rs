//! Prefixes and suffixes of names.

use crate::fieldspec::{self, Creation, FieldSpec, Trail};
use crate::id::ResId;
use crate::node::{Arena, Kind, Node, NodeId, Tag};
use crate::resource;
use crate::work::{Author, Result, Work};

/// At which end of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Prefix,
    Suffix,
}

/// Adds text to names.
pub(crate) fn add(
    work: &mut Work<'_>,
    list: &[usize],
    text: &str,
    end: End,
    specs: &[FieldSpec],
    author: &Author,
) -> Result {
    let creation = Creation {
        kind: Kind::Scalar,
        tag: Tag::Str,
    };
    for &at in list {
        let Some(root) = work.root(at) else {
            continue;
        };
        let id = work.original_id(at);
        if keeps_its_name(&id) {
            continue;
        }
        let mut touched = Vec::new();
        let mut run = |work: &mut Work<'_>| {
            for spec in specs.iter().filter(|spec| id.gvk.is_selected(&spec.gvk)) {
                if spec.path == "metadata/name" && !text.is_empty() {
                    match end {
                        End::Prefix => resource::note_prefix(&mut work.arena, root, text)?,
                        End::Suffix => resource::note_suffix(&mut work.arena, root, text)?,
                    }
                    resource::store_id(&mut work.arena, &work.schemas, root)?;
                }
                let mut set = |arena: &mut Arena, id: NodeId, trail: &Trail| {
                    let old = &arena.get(id).value;
                    let new = match end {
                        End::Prefix => format!("{text}{old}"),
                        End::Suffix => format!("{old}{text}"),
                    };
                    let node = arena.add(Node::scalar(&new));
                    touched.push(fieldspec::pointer(trail));
                    arena.set_scalar(id, node)
                };
                fieldspec::apply(&mut work.arena, root, spec, Some(&creation), &mut set)?;
            }
            Ok(())
        };
        run(work).map_err(|fault| author.blame(fault))?;
        if !touched.is_empty() {
            work.touch(at, author, touched);
        }
    }
    Ok(())
}

// Names that mean something to the cluster.
fn keeps_its_name(id: &ResId) -> bool {
    match id.gvk.kind.as_str() {
        "CustomResourceDefinition" | "Namespace" => true,
        "APIService" => id.gvk.group == "apiregistration.k8s.io",
        _ => false,
    }
}
