//! The nodes of YAML documents while they are customised: a graph in one arena.
//!
//! Nodes are named by [`NodeId`] and one node may stand in several places of a resource. That is
//! part of what Kustomize does: a label that it adds to the metadata, the selector and the template
//! of a workload is one node, and a patch that changes one of the places changes all of them.

use crate::fault::{Fault, Outcome};
use crate::scalar;

/// How deep nodes may nest.
pub(crate) const DEPTH_MAX: usize = 500;
/// How many nodes one build may make.
pub(crate) const NODES_MAX: usize = 50_000_000;

/// The name of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u32);

/// What a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing yet.
    #[default]
    Zero,
    Scalar,
    Mapping,
    Sequence,
}

impl Kind {
    /// The word of the real program's messages.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Zero => "",
            Self::Scalar => "ScalarNode",
            Self::Mapping => "MappingNode",
            Self::Sequence => "SequenceNode",
        }
    }
}

/// The tag of a node: what it is said to be, written or found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tag {
    #[default]
    Empty,
    Null,
    Str,
    Int,
    Float,
    Bool,
    Timestamp,
    Binary,
    Merge,
    Map,
    Seq,
    Other(Box<str>),
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Plain,
    Single,
    Double,
    Literal,
    Folded,
}

/// One node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) tag: Tag,
    /// The tag stands in the text.
    pub(crate) tagged: bool,
    pub(crate) style: Style,
    pub(crate) value: Box<str>,
    /// Entries of a sequence; keys and values of a mapping by turns.
    pub(crate) content: Vec<NodeId>,
    /// Which source it comes from, and the line there; 0 when it was made.
    pub(crate) source: u32,
    pub(crate) line: u32,
}

impl Node {
    /// A scalar whose meaning is found out when it is printed.
    pub(crate) fn scalar(value: &str) -> Self {
        Self {
            kind: Kind::Scalar,
            value: value.into(),
            ..Self::default()
        }
    }

    /// A string, whatever it looks like.
    pub(crate) fn string(value: &str) -> Self {
        let style = if value.contains('\n') {
            Style::Literal
        } else {
            Style::Plain
        };
        Self {
            tag: Tag::Str,
            style,
            ..Self::scalar(value)
        }
    }

    /// An empty collection, or an empty scalar.
    pub(crate) fn empty(kind: Kind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }
}

/// All nodes of a build.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    nodes: Vec<Node>,
}

impl Arena {
    pub(crate) fn add(&mut self, node: Node) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        id
    }

    pub(crate) fn is_full(&self) -> bool {
        self.nodes.len() >= NODES_MAX
    }

    pub(crate) fn get(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    pub(crate) fn kind(&self, id: NodeId) -> Kind {
        self.get(id).kind
    }

    pub(crate) fn content(&self, id: NodeId) -> &[NodeId] {
        &self.get(id).content
    }

    /// The text of a node; of a null it is empty.
    pub(crate) fn value(&self, id: NodeId) -> &str {
        let node = self.get(id);
        if node.tag == Tag::Null {
            ""
        } else {
            &node.value
        }
    }

    pub(crate) fn is_null(&self, id: NodeId) -> bool {
        self.get(id).tag == Tag::Null
    }

    pub(crate) fn missing_or_null(&self, id: Option<NodeId>) -> bool {
        id.is_none_or(|id| self.is_null(id))
    }

    /// Null, an empty collection, or nothing.
    pub(crate) fn is_empty(&self, id: NodeId) -> bool {
        let node = self.get(id);
        match node.kind {
            _ if node.tag == Tag::Null => true,
            Kind::Mapping | Kind::Sequence => node.content.is_empty(),
            Kind::Zero => node.tag == Tag::Empty && node.value.is_empty(),
            Kind::Scalar => false,
        }
    }

    pub(crate) fn is_string(&self, id: NodeId) -> bool {
        let node = self.get(id);
        node.kind == Kind::Scalar && matches!(node.tag, Tag::Str | Tag::Empty)
    }

    /// Puts what one node holds into another; what it contains is shared from then on.
    pub(crate) fn assign(&mut self, target: NodeId, from: NodeId) {
        if target != from {
            let node = self.get(from).clone();
            *self.get_mut(target) = node;
        }
    }

    /// A copy that shares nothing.
    pub(crate) fn copy(&mut self, id: NodeId) -> NodeId {
        let mut node = self.get(id).clone();
        for child in &mut node.content {
            *child = self.copy(*child);
        }
        self.add(node)
    }

    /// Refuses a node that is of another kind; null is of every kind.
    pub(crate) fn expect(&self, id: NodeId, kind: Kind) -> Outcome {
        let node = self.get(id);
        if node.tag == Tag::Null || node.kind == kind {
            return Ok(());
        }
        Err(Fault::WrongKind {
            expected: kind,
            found: node.kind,
        })
    }

    /// The value of a field of a mapping; of several with one name the first.
    pub(crate) fn field(&self, id: NodeId, name: &str) -> Option<NodeId> {
        let node = self.get(id);
        if node.kind != Kind::Mapping {
            return None;
        }
        self.find(&node.content, name)
            .map(|at| node.content[at + 1])
    }

    fn find(&self, content: &[NodeId], name: &str) -> Option<usize> {
        (0..content.len())
            .step_by(2)
            .find(|&at| &*self.get(content[at]).value == name)
    }

    /// A field that holds something.
    pub(crate) fn filled(&self, id: NodeId, name: &str) -> Option<NodeId> {
        self.field(id, name).filter(|value| !self.is_empty(*value))
    }

    /// The field of a mapping; null has none, other kinds are refused.
    pub(crate) fn get_field(&self, id: NodeId, name: &str) -> Outcome<Option<NodeId>> {
        if self.is_null(id) {
            return Ok(None);
        }
        self.expect(id, Kind::Mapping)?;
        Ok(self.field(id, name))
    }

    /// Keys and values of a mapping.
    pub(crate) fn pairs(&self, id: NodeId) -> Vec<(NodeId, NodeId)> {
        let pair = |pair: &[NodeId]| (pair[0], pair[1]);
        self.content(id).chunks_exact(2).map(pair).collect()
    }

    /// Takes a field out of a mapping.
    pub(crate) fn clear(&mut self, id: NodeId, name: &str) -> Outcome {
        self.expect(id, Kind::Mapping)?;
        if let Some(at) = self.find(self.content(id), name) {
            self.get_mut(id).content.drain(at..at + 2);
        }
        Ok(())
    }

    /// Sets a field of a mapping; a value that is null takes the field out.
    pub(crate) fn set(&mut self, id: NodeId, name: &str, value: NodeId) -> Outcome<NodeId> {
        if self.is_null(value) {
            self.clear(id, name)?;
            return Ok(value);
        }
        self.set_kept(id, name, value)
    }

    /// Sets a field of a mapping, to null too.
    pub(crate) fn set_kept(&mut self, id: NodeId, name: &str, value: NodeId) -> Outcome<NodeId> {
        self.quote_if_needed(value);
        if let Some(field) = self.get_field(id, name)? {
            // The new value is written as the old one was.
            let style = self.get(field).style;
            self.get_mut(value).style = style;
            self.assign(field, value);
            return Ok(field);
        }
        let key = self.add(Node::scalar(name));
        self.get_mut(id).content.extend([key, value]);
        Ok(value)
    }

    /// Sets a scalar in place; it is written as before.
    pub(crate) fn set_scalar(&mut self, id: NodeId, value: NodeId) -> Outcome {
        self.quote_if_needed(value);
        self.expect(id, Kind::Scalar)?;
        if self.is_null(value) {
            return Ok(());
        }
        let style = self.get(id).style;
        self.get_mut(value).style = style;
        self.assign(id, value);
        Ok(())
    }

    // A plain string that an old reader would take for something else gets quotes.
    fn quote_if_needed(&mut self, id: NodeId) {
        let node = self.get(id);
        let plain = self.is_string(id) && node.style == Style::Plain;
        if plain && scalar::old_readers_differ(&node.value) {
            self.get_mut(id).style = Style::Double;
        }
    }

    /// Follows a path of field names, indexes and `[name=value]`.
    pub(crate) fn lookup(&self, id: NodeId, path: &[&str]) -> Outcome<Option<NodeId>> {
        let mut at = id;
        for part in path
            .iter()
            .map(|part| part.trim())
            .filter(|p| !p.is_empty())
        {
            let next = if let Ok(index) = part.parse::<i64>() {
                let index = usize::try_from(index)
                    .map_err(|_| Fault::text(format!("array index {index} cannot be negative")))?;
                self.expect(at, Kind::Sequence)?;
                self.content(at).get(index).copied()
            } else if part == "-" {
                self.expect(at, Kind::Sequence)?;
                self.content(at).last().copied()
            } else if part == "*" {
                return Err(Fault::text("wildcard is not supported in PathGetter"));
            } else if is_element(part) {
                let (name, value) = split_element(part)?;
                self.element(at, &[name], &[value])?
            } else {
                self.get_field(at, part)?
            };
            match next {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// Follows a path of field names and makes what is missing; the last is of the given kind.
    pub(crate) fn lookup_create(
        &mut self,
        id: NodeId,
        kind: Kind,
        path: &[&str],
    ) -> Outcome<NodeId> {
        let mut at = id;
        for (index, part) in path.iter().enumerate() {
            let kind = if index + 1 == path.len() {
                kind
            } else {
                Kind::Mapping
            };
            at = match self.get_field(at, part)? {
                Some(field) => field,
                None if self.is_null(at) => return Err(Fault::text("cannot add to null")),
                None => {
                    let node = self.add(Node::empty(kind));
                    self.set_kept(at, part, node)?
                }
            };
        }
        Ok(at)
    }

    /// The first element of a sequence whose fields have these values; without names, that has
    /// this value itself.
    pub(crate) fn element(
        &self,
        id: NodeId,
        names: &[&str],
        values: &[&str],
    ) -> Outcome<Option<NodeId>> {
        self.expect(id, Kind::Sequence)?;
        let wanted = values.first().copied().unwrap_or("");
        if names.first().is_none_or(|name| name.is_empty()) {
            let same = |entry: &&NodeId| &*self.get(**entry).value == wanted;
            return Ok(self.content(id).iter().find(same).copied());
        }
        for &entry in self.content(id) {
            if self.is_null(entry) || self.kind(entry) != Kind::Mapping {
                continue;
            }
            let same = |(name, value): (&&str, &&str)| {
                let field = self.field(entry, name);
                field.is_some_and(|field| &*self.get(field).value == *value)
            };
            if names.iter().zip(values).all(same) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Whether the scalar reads as something else than a string once it is printed.
    pub(crate) fn depth(&self, id: NodeId) -> usize {
        let mut deepest = 0;
        let mut pending = vec![(id, 1)];
        while let Some((id, depth)) = pending.pop() {
            deepest = deepest.max(depth);
            if depth <= DEPTH_MAX {
                pending.extend(self.content(id).iter().map(|child| (*child, depth + 1)));
            }
        }
        deepest
    }
}

/// Whether a part of a path is `[…]`.
pub(crate) fn is_element(part: &str) -> bool {
    part.starts_with('[') && part.ends_with(']') && part.len() > 1
}

/// Name and value of `[name=value]`.
pub(crate) fn split_element(part: &str) -> Outcome<(&str, &str)> {
    let inner = part.strip_suffix(']').unwrap_or(part);
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    inner.split_once('=').ok_or_else(|| {
        Fault::text("list path element must contain fieldName=fieldValue for element to match")
    })
}
