//! What the schema says about a place in an object, as far as merging is concerned.
//!
//! A place is described by a [`Cursor`], or its type is deduced from the value found there: maps
//! are then granular, lists and everything inside them are one value each. The `metadata` of an
//! object has one and the same type in every kind, described here.

use crate::element::Element;
use model::{Value, json};
use schema::{Cursor, ListType, NodeId, Schemas, Type};
use std::sync::OnceLock;

/// The type at one place of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
    /// An object with `apiVersion`, `kind` and `metadata`, described by a schema or not at all.
    Object(Option<Cursor<'a>>),
    /// Described by a schema; the flag says that unknown fields are kept from here on.
    Described(Cursor<'a>, bool),
    /// Deduced from the value.
    Deduced,
    /// Deduced from the value, and one piece whatever it is.
    Opaque,
}

/// What a place may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) map: bool,
    pub(crate) list: bool,
    pub(crate) scalar: Option<Scalar>,
}

/// What a scalar may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Numeric,
    Text,
    Boolean,
    Any,
}

/// One of the three forms a value is handled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Map,
    List,
    Scalar,
}

/// How the entries of a list are told apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entries<'a> {
    /// Not at all: the list is one value.
    Atomic,
    /// By their own value.
    Set,
    /// By key fields.
    Keyed(&'a [String]),
}

/// Why a list entry has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Keyless {
    NullEntry,
    NotAMap,
    AllKeysMissing(Vec<String>),
    SetOfMaps,
    SetOfLists,
    SetOfNull,
}

impl<'a> Kind<'a> {
    fn node(self) -> Option<&'a schema::Node> {
        match self {
            Self::Object(Some(cursor)) | Self::Described(cursor, _) => Some(cursor.node()),
            Self::Object(None) | Self::Deduced | Self::Opaque => None,
        }
    }

    fn is_time(self, name: &str) -> bool {
        let field = match self {
            Self::Object(Some(cursor)) | Self::Described(cursor, _) => cursor.field(name),
            Self::Object(None) | Self::Deduced | Self::Opaque => None,
        };
        field.is_some_and(|f| f.node().format.as_deref() == Some("date-time"))
    }

    /// What this place may hold.
    pub(crate) fn shape(self) -> Shape {
        let any = Shape {
            map: true,
            list: true,
            scalar: Some(Scalar::Any),
        };
        let only = |map, list, scalar| Shape { map, list, scalar };
        if let Self::Object(_) = self {
            return only(true, false, None);
        }
        let Some(node) = self.node() else {
            return any;
        };
        match node.ty {
            Type::IntOrString if node.name.as_deref() == Some(QUANTITY) => {
                only(false, false, Some(Scalar::Any))
            }
            Type::Any | Type::IntOrString => any,
            Type::Object => only(true, false, None),
            Type::Array => only(false, true, None),
            Type::Integer | Type::Number => only(false, false, Some(Scalar::Numeric)),
            Type::Boolean => only(false, false, Some(Scalar::Boolean)),
            Type::String => {
                let plain = matches!(node.format.as_deref(), None | Some("" | "byte"));
                let scalar = if plain { Scalar::Text } else { Scalar::Any };
                only(false, false, Some(scalar))
            }
        }
    }

    /// The form a value is handled in here: its own where that is allowed, else the form that the
    /// place asks for.
    pub(crate) fn form(self, value: &Value) -> Form {
        let shape = self.shape();
        match value {
            Value::Array(_) if shape.list => Form::List,
            Value::Bool(_) | Value::Number(_) | Value::String(_) if shape.scalar.is_some() => {
                Form::Scalar
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => match shape {
                Shape { map: true, .. } => Form::Map,
                Shape {
                    scalar: Some(_), ..
                } => Form::Scalar,
                Shape { .. } => Form::List,
            },
        }
    }

    /// Whether an object here is one value when merged.
    pub(crate) fn atomic_map(self) -> bool {
        match self {
            Self::Object(_) | Self::Deduced => false,
            Self::Opaque => true,
            Self::Described(cursor, _) => cursor.node().atomic,
        }
    }

    /// How the entries of a list here are told apart.
    pub(crate) fn entries(self) -> Entries<'a> {
        match self.node() {
            Some(node) => match node.list_type {
                ListType::Atomic => Entries::Atomic,
                ListType::Set => Entries::Set,
                ListType::Map => Entries::Keyed(&node.list_map_keys),
            },
            None => Entries::Atomic,
        }
    }

    /// The type of a field or map value; `None` when the schema does not allow it.
    pub(crate) fn field(self, name: &str) -> Option<Kind<'a>> {
        self.step(name).map(|(kind, _)| kind)
    }

    /// The type of a field or map value, and whether the schema names it.
    pub(crate) fn step(self, name: &str) -> Option<(Kind<'a>, bool)> {
        let (cursor, keeps, object) = match self {
            Self::Deduced => return Some((Self::Deduced, false)),
            Self::Opaque => return Some((Self::Opaque, false)),
            Self::Object(cursor) => (cursor, false, true),
            Self::Described(cursor, keeps) => {
                (Some(cursor), keeps, cursor.node().embedded_resource)
            }
        };
        if object {
            match name {
                "metadata" => return Some((Self::Described(object_meta(), false), true)),
                "apiVersion" | "kind" => return Some((Self::Described(plain_text(), false), true)),
                _ => {}
            }
        }
        let Some(cursor) = cursor else {
            return Some((Self::Deduced, false));
        };
        let node = cursor.node();
        let keeps = keeps || node.preserve_unknown;
        if let Some(edge) = node.properties.get(name) {
            return Some((enter(cursor.follow(edge), keeps), true));
        }
        match &node.additional {
            Some(edge) => Some((enter(cursor.follow(edge), keeps), false)),
            None if keeps || node.properties.is_empty() => Some((Self::Deduced, false)),
            None => None,
        }
    }

    /// The type of list entries.
    pub(crate) fn items(self) -> Kind<'a> {
        match self {
            Self::Described(cursor, keeps) => match cursor.items() {
                Some(items) => enter(items, keeps || cursor.node().preserve_unknown),
                None => Self::Opaque,
            },
            Self::Object(_) | Self::Deduced | Self::Opaque => Self::Opaque,
        }
    }

    /// What an absent field of a built-in type holds nevertheless: types made of plain fields have
    /// no "absent". Told from the zero default that OpenAPI gives such fields.
    pub(crate) fn zero_field(self, name: &str) -> Zero<'a> {
        let Some(node) = self.node() else {
            return Zero::Absent;
        };
        if node.structural {
            return Zero::Absent;
        }
        let Some(edge) = node.properties.get(name) else {
            return Zero::Absent;
        };
        match &edge.default {
            Some(Value::Object(fields)) if fields.is_empty() => Zero::Struct,
            Some(value) if is_zero(value) => Zero::Value(value),
            None if node.required.iter().any(|r| r == name) => Zero::Value(&Value::Null),
            // Go prints null for a time that nobody set, so nobody comes to own it.
            None if self.is_time(name) => Zero::Value(&Value::Null),
            Some(_) | None => Zero::Absent,
        }
    }

    /// The step to a list entry.
    pub(crate) fn key_of(self, entries: Entries<'_>, entry: &Value) -> Result<Element, Keyless> {
        match entries {
            Entries::Keyed(keys) => self.key_fields(keys, entry),
            Entries::Set | Entries::Atomic => match entry {
                Value::Object(_) => Err(Keyless::SetOfMaps),
                Value::Array(_) => Err(Keyless::SetOfLists),
                Value::Null => Err(Keyless::SetOfNull),
                Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                    Ok(Element::value(entry.clone()))
                }
            },
        }
    }

    fn key_fields(self, keys: &[String], entry: &Value) -> Result<Element, Keyless> {
        let fields = match entry {
            Value::Object(fields) => fields,
            Value::Null => return Err(Keyless::NullEntry),
            Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Err(Keyless::NotAMap);
            }
        };
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let value = match fields.get(key) {
                Some(value) => Some(value.clone()),
                None => self.items().default_of(key).cloned(),
            };
            if let Some(value) = value {
                found.push((key.as_str().into(), value));
            }
        }
        if found.is_empty() && !keys.is_empty() {
            return Err(Keyless::AllKeysMissing(keys.to_vec()));
        }
        Ok(Element::key(found))
    }

    fn default_of(self, name: &str) -> Option<&'a Value> {
        self.node()?.properties.get(name)?.default.as_ref()
    }
}

/// What an absent field holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Zero<'a> {
    /// Nothing.
    Absent,
    /// A structure whose fields are all zero.
    Struct,
    /// This value.
    Value(&'a Value),
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

// The type behind a cursor; a raw object is one value to everybody.
fn enter(cursor: Cursor<'_>, keeps: bool) -> Kind<'_> {
    if cursor.node().name.as_deref() == Some(RAW) {
        return Kind::Opaque;
    }
    Kind::Described(cursor, keeps)
}

fn object_meta() -> Cursor<'static> {
    static META: OnceLock<(Schemas, NodeId, NodeId)> = OnceLock::new();
    let (schemas, meta, _) = META.get_or_init(build_meta);
    schemas.at(*meta)
}

fn plain_text() -> Cursor<'static> {
    static TEXT: OnceLock<(Schemas, NodeId, NodeId)> = OnceLock::new();
    let (schemas, _, text) = TEXT.get_or_init(build_meta);
    schemas.at(*text)
}

// `ObjectMeta` as every kind has it.
fn build_meta() -> (Schemas, NodeId, NodeId) {
    let text = json!({"type": "string"});
    let time = json!({"type": "string", "format": "date-time"});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let owner = json!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "apiVersion": text, "kind": text, "name": text, "uid": text,
            "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
        },
    });
    let entry = json!({
        "type": "object",
        "properties": {
            "manager": text, "operation": text, "apiVersion": text, "fieldsType": text,
            "subresource": text, "time": time, "fieldsV1": {"type": "object"},
        },
    });
    let meta = json!({
        "type": "object",
        "properties": {
            "name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text,
            "resourceVersion": text, "generation": {"type": "integer"},
            "creationTimestamp": time, "deletionTimestamp": time,
            "deletionGracePeriodSeconds": {"type": "integer"},
            "labels": texts, "annotations": texts,
            "finalizers": {
                "type": "array", "items": text, "x-kubernetes-list-type": "set",
            },
            "ownerReferences": {
                "type": "array", "items": owner,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            },
            "managedFields": {
                "type": "array", "items": entry, "x-kubernetes-list-type": "atomic",
            },
        },
    });
    let mut schemas = Schemas::default();
    let meta = schemas.add_structural(&meta);
    let text = schemas.add_structural(&text);
    (schemas, meta, text)
}
