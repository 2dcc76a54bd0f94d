//! `ValueAddTransformer`: one value, written into fields or into the paths that fields hold.

use crate::decode::{Decode, Fault as Wrong, Fields};
use crate::fault::Outcome;
use crate::fieldspec;
use crate::kustomization::Selector;
use crate::namespace::{self, Setting};
use crate::node::{Kind, Node, NodeId};
use crate::selector::Matcher;
use crate::work::{Author, Result, Work};
use model::Value;

/// Where the value goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub(crate) selector: Option<Selector>,
    pub(crate) field_path: String,
    pub(crate) position: i64,
}

impl Decode for Place {
    fn decode(value: &Value, path: &str) -> std::result::Result<Self, Wrong> {
        let mut fields = Fields::of(value, path)?;
        let place = Self {
            selector: fields.option("selector")?,
            field_path: fields.text("fieldPath")?,
            position: fields.option("filePathPosition")?.unwrap_or_default(),
        };
        fields.end()?;
        Ok(place)
    }
}

/// Writes the value.
pub(crate) fn add(
    work: &mut Work<'_>,
    list: &[usize],
    value: &str,
    places: &[Place],
    author: &Author,
) -> Result {
    let blame = |fault| author.blame(fault);
    for place in places {
        let selected = match &place.selector {
            None => list.to_vec(),
            Some(selector) => Matcher::new(selector).map_err(blame)?.select(work, list),
        };
        for at in selected {
            let Some(root) = work.root(at) else {
                continue;
            };
            let touched = if place.field_path == "metadata/namespace" {
                let setting = Setting {
                    namespace: value.to_owned(),
                    ..Setting::default()
                };
                namespace::set_one(work, root, &setting)
            } else {
                write(work, root, value, place)
            };
            let touched = touched.map_err(blame)?;
            work.touch(at, author, touched);
        }
    }
    Ok(())
}

fn write(work: &mut Work<'_>, root: NodeId, value: &str, place: &Place) -> Outcome<Vec<String>> {
    let path = fieldspec::split(&place.field_path, '/');
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let arena = &mut work.arena;
    let field = arena.lookup_create(root, Kind::Scalar, &parts)?;
    arena.expect(field, Kind::Scalar)?;
    let new = match usize::try_from(place.position) {
        Ok(at) if at > 0 => insert_part(&arena.get(field).value, at - 1, value),
        _ => value.to_owned(),
    };
    let node = arena.add(Node::scalar(&new));
    arena.set_scalar(field, node)?;
    Ok(vec![fieldspec::pointer(&path)])
}

// A path with one more part at a position; beyond the end it is the last.
fn insert_part(path: &str, at: usize, part: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    parts.insert(at.min(parts.len()), part);
    let joined = parts.join("/");
    if rooted { format!("/{joined}") } else { joined }
}
