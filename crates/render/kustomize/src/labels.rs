//! Labels and annotations on everything.

use crate::VERSION;
use crate::fieldspec::{self, Creation, FieldSpec, Trail};
use crate::kustomization::Words;
use crate::node::{Arena, Kind, Node, NodeId, Tag};
use crate::work::{Author, Result, Work};

/// Sets words in all fields that the specifications name.
pub(crate) fn set(
    work: &mut Work<'_>,
    list: &[usize],
    words: &Words,
    specs: &[FieldSpec],
    author: &Author,
) -> Result {
    let creation = Creation {
        kind: Kind::Mapping,
        tag: Tag::Map,
    };
    for &at in list {
        let Some(root) = work.root(at) else {
            continue;
        };
        let mut touched = Vec::new();
        for (key, value) in words {
            // One node for all places of the resource.
            let node = work.arena.add(Node {
                tag: Tag::Str,
                ..Node::scalar(value)
            });
            for spec in specs {
                let mut set = |arena: &mut Arena, id: NodeId, trail: &Trail| {
                    arena.set(id, key, node)?;
                    touched.push(format!(
                        "{}{}",
                        fieldspec::pointer(trail),
                        fieldspec::pointer(std::slice::from_ref(key))
                    ));
                    Ok(())
                };
                fieldspec::apply(&mut work.arena, root, spec, Some(&creation), &mut set)
                    .map_err(|fault| author.blame(fault))?;
            }
        }
        if !touched.is_empty() {
            work.touch(at, author, touched);
        }
    }
    Ok(())
}

/// The label that says who built it.
pub(crate) fn managed_by(work: &mut Work<'_>, list: &[usize], author: &Author) -> Result {
    let words = [(
        "app.kubernetes.io/managed-by".to_owned(),
        format!("kustomize-{VERSION}"),
    )];
    let specs = [FieldSpec::of_all("metadata/labels", true)];
    set(work, list, &words.into(), &specs, author)
}
