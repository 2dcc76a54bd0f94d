//! The graph of types and a cursor to walk it.

use model::Value;
use std::collections::BTreeMap;

/// Index of a node in its [`Schemas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// An arena of types; named types can be looked up, all can be walked.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    /// All nodes; a [`NodeId`] is an index into this.
    pub nodes: Vec<Node>,
    /// Named types, as `io.k8s.api.apps.v1.Deployment`.
    pub names: BTreeMap<String, NodeId>,
}

/// A way from one type to another: a field, a list's items, a map's values.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The type there.
    pub to: NodeId,
    /// What is filled in when the value is absent.
    pub default: Option<Value>,
}

/// The JSON type of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Type {
    /// Anything: no type is given.
    #[default]
    Any,
    /// A JSON object: fields, or a map when it has `additional` and no fields.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// A whole number or text (`x-kubernetes-int-or-string`, and Quantity with numbers).
    IntOrString,
}

/// How entries of a list are told apart when it is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// The list is one value.
    #[default]
    Atomic,
    /// Entries are scalars, each once.
    Set,
    /// Entries are objects with key fields.
    Map,
}

/// One type.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// JSON type.
    pub ty: Type,
    /// Name of the type where it has one.
    pub name: Option<String>,
    /// Fields of an object.
    pub properties: BTreeMap<String, Edge>,
    /// Values of a map.
    pub additional: Option<Edge>,
    /// Entries of a list.
    pub items: Option<Edge>,
    /// `x-kubernetes-list-type`.
    pub list_type: ListType,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: Vec<String>,
    /// `x-kubernetes-map-type: atomic`: the object is one value when merged.
    pub atomic: bool,
    /// `x-kubernetes-patch-merge-key`, of strategic merge patches.
    pub patch_merge_key: Option<String>,
    /// `x-kubernetes-patch-strategy` contains `merge`.
    pub patch_merge: bool,
    /// `x-kubernetes-patch-strategy` contains `retainKeys`.
    pub patch_retain_keys: bool,
    /// `x-kubernetes-patch-strategy` is `replace`.
    pub patch_replace: bool,
    /// `required`.
    pub required: Vec<String>,
    /// `enum`.
    pub enumeration: Vec<Value>,
    /// `format`.
    pub format: Option<String>,
    /// `nullable`.
    pub nullable: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// The type comes from a CustomResourceDefinition, not from a built-in kind.
    pub structural: bool,
}

/// A place in a schema, or beyond what it describes.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    schemas: &'a Schemas,
    id: NodeId,
}

impl Schemas {
    /// Adds a node.
    pub fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// The place of a node.
    pub fn at(&self, id: NodeId) -> Cursor<'_> {
        Cursor { schemas: self, id }
    }

    /// The place of a named type.
    pub fn named(&self, name: &str) -> Option<Cursor<'_>> {
        self.names.get(name).map(|id| self.at(*id))
    }
}

impl<'a> Cursor<'a> {
    /// The type here.
    pub fn node(&self) -> &'a Node {
        &self.schemas.nodes[self.id.0 as usize]
    }

    /// Its id.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The declared field, else the map value; `None` when the schema knows neither.
    pub fn field(&self, name: &str) -> Option<Cursor<'a>> {
        let node = self.node();
        let edge = node.properties.get(name).or(node.additional.as_ref())?;
        Some(self.schemas.at(edge.to))
    }

    /// The entries of a list.
    pub fn items(&self) -> Option<Cursor<'a>> {
        self.node()
            .items
            .as_ref()
            .map(|edge| self.schemas.at(edge.to))
    }

    /// Follows an edge of this node.
    #[must_use]
    pub fn follow(&self, edge: &Edge) -> Cursor<'a> {
        self.schemas.at(edge.to)
    }

    /// Whether this is a map: free keys, no declared fields.
    pub fn is_map(&self) -> bool {
        let node = self.node();
        node.ty == Type::Object && node.additional.is_some() && node.properties.is_empty()
    }
}
