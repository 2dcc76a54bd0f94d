//! Numbers of replicas.

use crate::error::KustomizeError;
use crate::fieldspec::{self, Creation, FieldSpec, Trail};
use crate::id::ResId;
use crate::kustomization::Replica;
use crate::node::{Arena, Kind, Node, NodeId, Tag};
use crate::resmap;
use crate::work::{Author, Result, Work};

/// Sets the number of replicas of the resources with a name.
pub(crate) fn set(
    work: &mut Work<'_>,
    list: &[usize],
    replica: &Replica,
    specs: &[FieldSpec],
    author: &Author,
) -> Result {
    let creation = Creation {
        kind: Kind::Scalar,
        tag: Tag::Int,
    };
    let mut found = false;
    for spec in specs {
        for &at in list {
            let Some(root) = work.root(at).filter(|_| !work.is_gone(at)) else {
                continue;
            };
            let fits = |id: &ResId| id.name == replica.name && id.gvk.is_selected(&spec.gvk);
            if !work.all_ids(at).iter().any(fits) {
                continue;
            }
            found = true;
            let mut touched = Vec::new();
            let mut set = |arena: &mut Arena, id: NodeId, trail: &Trail| {
                let node = arena.add(Node {
                    tag: Tag::Int,
                    ..Node::scalar(&replica.count.to_string())
                });
                touched.push(fieldspec::pointer(trail));
                arena.set_scalar(id, node)
            };
            fieldspec::apply(&mut work.arena, root, spec, Some(&creation), &mut set)
                .map_err(|fault| author.blame(fault))?;
            if !touched.is_empty() {
                work.touch(at, author, touched);
            }
        }
    }
    if found {
        return Ok(());
    }
    let kinds: Vec<&str> = specs.iter().map(|spec| spec.gvk.kind.as_str()).collect();
    let wanted = ResId {
        name: replica.name.clone(),
        ..ResId::default()
    };
    Err(KustomizeError::NoTarget {
        at: author.at.clone(),
        what: author.by.clone(),
        wanted: format!("{} named {}", kinds.join(", "), replica.name),
        why: "no resource matches".into(),
        nearest: resmap::near(work, list, &wanted),
    })
}
