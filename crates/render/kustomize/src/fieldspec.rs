//! A field specification: which field of which kinds a transformer changes, and the walk to it.

use crate::fault::{Fault, Outcome};
use crate::id::Gvk;
use crate::node::{Arena, Kind, NodeId, Tag};
use crate::resource;

/// Which field, of which kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSpec {
    pub(crate) gvk: Gvk,
    pub(crate) path: String,
    pub(crate) create: bool,
}

impl FieldSpec {
    pub(crate) fn new(gvk: Gvk, path: &str, create: bool) -> Self {
        Self {
            gvk,
            path: path.into(),
            create,
        }
    }

    /// A field of every kind.
    pub(crate) fn of_all(path: &str, create: bool) -> Self {
        Self::new(Gvk::default(), path, create)
    }

    fn covers(&self, other: &Self) -> bool {
        self.gvk.is_selected(&other.gvk) && self.path == other.path
    }
}

/// Adds a specification to a list unless it is there; refuses one that contradicts.
pub(crate) fn merge_one(list: &mut Vec<FieldSpec>, spec: FieldSpec) -> Outcome {
    match list.iter().find(|known| known.covers(&spec)) {
        Some(known) if known.create != spec.create => Err(Fault::text(format!(
            "conflicting fieldspecs for `{}`",
            spec.path
        ))),
        Some(_) => Ok(()),
        None => {
            list.push(spec);
            Ok(())
        }
    }
}

/// Splits a path at `/`; `\/` is part of a name.
pub(crate) fn split(path: &str, delimiter: char) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut pieces = path.split(delimiter).peekable();
    if path.starts_with(delimiter) {
        pieces.next();
    }
    for piece in pieces {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(piece);
            }
            _ => parts.push(piece.to_owned()),
        }
    }
    parts
}

/// What is made where the field is missing.
#[derive(Clone, Debug)]
pub(crate) struct Creation {
    pub(crate) kind: Kind,
    pub(crate) tag: Tag,
}

/// Where a walk is: names of fields and indexes, as parts of a JSON pointer.
pub(crate) type Trail = Vec<String>;

/// What is done to a field that was found.
pub(crate) type Setter<'a> = &'a mut dyn FnMut(&mut Arena, NodeId, &Trail) -> Outcome;

/// Calls `set` for every place in the object that the specification names.
pub(crate) fn apply(
    arena: &mut Arena,
    root: NodeId,
    spec: &FieldSpec,
    creation: Option<&Creation>,
    set: Setter<'_>,
) -> Outcome {
    if !applies(arena, root, &spec.gvk) {
        return Ok(());
    }
    apply_to(arena, root, spec, creation, set)
}

/// As [`apply`], without a look at the kind of the object.
pub(crate) fn apply_to(
    arena: &mut Arena,
    root: NodeId,
    spec: &FieldSpec,
    creation: Option<&Creation>,
    set: Setter<'_>,
) -> Outcome {
    let path = split(&spec.path, '/');
    let walk = Walk {
        create: spec.create.then_some(creation).flatten(),
    };
    let mut trail = Trail::new();
    let done = walk.step(arena, root, &path, &mut trail, set);
    done.map_err(|fault| fault.within(format_args!("considering field '{}'", spec.path)))
}

fn applies(arena: &Arena, root: NodeId, gvk: &Gvk) -> bool {
    if !gvk.kind.is_empty() && gvk.kind != resource::kind(arena, root) {
        return false;
    }
    if gvk.group.is_empty() && gvk.version.is_empty() {
        return true;
    }
    let version = resource::api_version(arena, root);
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    (gvk.group.is_empty() || gvk.group == group)
        && (gvk.version.is_empty() || gvk.version == version)
}

struct Walk<'a> {
    create: Option<&'a Creation>,
}

impl Walk<'_> {
    fn step(
        &self,
        arena: &mut Arena,
        at: NodeId,
        path: &[String],
        trail: &mut Trail,
        set: Setter<'_>,
    ) -> Outcome {
        if path.is_empty() {
            return set(arena, at, trail);
        }
        if arena.is_null(at) {
            return Ok(());
        }
        match arena.kind(at) {
            Kind::Sequence => {
                for (index, entry) in arena.content(at).to_vec().into_iter().enumerate() {
                    trail.push(index.to_string());
                    self.step(arena, entry, path, trail, set)?;
                    trail.pop();
                }
                Ok(())
            }
            Kind::Mapping => self.field(arena, at, path, trail, set),
            Kind::Scalar | Kind::Zero => Err(Fault::text("expected sequence or mapping node")),
        }
    }

    fn field(
        &self,
        arena: &mut Arena,
        at: NodeId,
        path: &[String],
        trail: &mut Trail,
        set: Setter<'_>,
    ) -> Outcome {
        let (name, is_list) = match path[0].strip_suffix("[]") {
            Some(name) => (name, true),
            None => (path[0].as_str(), false),
        };
        if name.is_empty() {
            return Err(Fault::text("cannot set or create an empty field name"));
        }
        let (field, wanted) = match self.create {
            Some(creation) if !is_list => {
                let wanted = if path.len() == 1 {
                    creation.clone()
                } else {
                    Creation {
                        kind: Kind::Mapping,
                        tag: Tag::Map,
                    }
                };
                let field = arena.lookup_create(at, wanted.kind, &[name])?;
                (Some(field), Some(wanted))
            }
            _ => {
                let wanted = is_list.then_some(Creation {
                    kind: Kind::Sequence,
                    tag: Tag::Empty,
                });
                (arena.lookup(at, &[name])?, wanted)
            }
        };
        let Some(field) = field else {
            return Ok(());
        };
        if let Some(wanted) = wanted.filter(|_| arena.is_null(field)) {
            let node = arena.get_mut(field);
            node.kind = wanted.kind;
            node.tag = wanted.tag;
        }
        trail.push(name.to_owned());
        self.step(arena, field, &path[1..], trail, set)?;
        trail.pop();
        Ok(())
    }
}

/// The JSON pointer of a trail.
pub(crate) fn pointer(trail: &[String]) -> String {
    let mut text = String::new();
    for part in trail {
        text.push('/');
        text.push_str(&part.replace('~', "~0").replace('/', "~1"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_at_slashes() {
        assert_eq!(split("a/b", '/'), ["a", "b"]);
        assert_eq!(split("/a/b", '/'), ["a", "b"]);
        assert_eq!(
            split(r"metadata/annotations/x.io\/y", '/'),
            ["metadata", "annotations", "x.io/y"]
        );
    }
}
