//! The types of values, and how the schema of a custom resource declares them.

use model::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

const DEPTH_MAX: usize = 100;

/// The type of a value.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    /// Anything: checked when the value is there.
    Dyn,
    /// The type of something that is wrong; fits everything, so that a fault is told once.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Timestamp,
    Duration,
    /// The type of types.
    Kind,
    List(Arc<ListOf>),
    Map(Arc<(Type, Type)>),
    Object(Arc<Object>),
    Optional(Arc<Type>),
    /// A type of a library: `net.IP`.
    Opaque(&'static str),
    /// A placeholder of an overload, bound while its arguments are matched.
    Param(u8),
}

/// A list's entries, and how they are told apart.
#[derive(Clone, Debug)]
pub(crate) struct ListOf {
    pub(crate) item: Type,
    pub(crate) identity: Identity,
}

/// How entries of a list are told apart when lists are compared or joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// By place.
    Place,
    /// By value; the order does not matter.
    Value,
    /// By key fields; the order does not matter.
    Keys(Vec<String>),
}

/// An object with declared fields, by their name in expressions.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) fields: BTreeMap<String, Field>,
}

/// A field's name in JSON and its type.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
}

impl Type {
    /// A list of `item`, told apart by place.
    pub(crate) fn list(item: Type) -> Self {
        let identity = Identity::Place;
        Self::List(Arc::new(ListOf { item, identity }))
    }

    /// A map.
    pub(crate) fn map(key: Type, value: Type) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// An optional.
    pub(crate) fn optional(of: Type) -> Self {
        Self::Optional(Arc::new(of))
    }

    /// The type that a JSON schema declares; `None` when expressions cannot see such values.
    pub(crate) fn of_schema(schema: &Value, place: Place) -> Option<Self> {
        declare(schema, place, "selfType", 0)
    }
}

/// Where a schema stands: the root of a resource has `apiVersion`, `kind` and `metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Root,
    Below,
}

impl Place {
    /// The place of a schema below the root: an embedded resource is a root of its own.
    pub(crate) fn of(schema: &Value) -> Self {
        if flag(schema, "x-kubernetes-embedded-resource") {
            Self::Root
        } else {
            Self::Below
        }
    }
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool) == Some(true)
}

fn declare(schema: &Value, place: Place, name: &str, depth: usize) -> Option<Type> {
    if depth > DEPTH_MAX {
        return None;
    }
    if flag(schema, "x-kubernetes-int-or-string") {
        return Some(Type::Dyn);
    }
    let below = |schema: &Value, name: &str| declare(schema, Place::of(schema), name, depth + 1);
    match schema.get("type").and_then(Value::as_str)? {
        "array" => {
            let item = below(schema.get("items")?, &format!("{name}.@idx"))?;
            let identity = identity(schema);
            Some(Type::List(Arc::new(ListOf { item, identity })))
        }
        "object" => {
            let values = schema.get("additionalProperties").filter(|a| a.is_object());
            if let Some(values) = values {
                let value = below(values, &format!("{name}.@elem"))?;
                return Some(Type::map(Type::Text, value));
            }
            let mut fields = BTreeMap::new();
            let properties = schema.get("properties").and_then(Value::as_object);
            for (property, schema) in properties.into_iter().flatten() {
                let ty = below(schema, &format!("{name}.{property}"));
                if let (Some(ty), Some(escaped)) = (ty, escape(property)) {
                    let name = property.clone();
                    fields.insert(escaped, Field { name, ty });
                }
            }
            if place == Place::Root {
                add_meta(&mut fields, name);
            }
            let name = name.to_owned();
            Some(Type::Object(Arc::new(Object { name, fields })))
        }
        "string" => Some(match schema.get("format").and_then(Value::as_str) {
            Some("byte") => Type::Bytes,
            Some("duration") => Type::Duration,
            Some("date" | "date-time") => Type::Timestamp,
            _ => Type::Text,
        }),
        "boolean" => Some(Type::Bool),
        "number" => Some(Type::Double),
        "integer" => Some(Type::Int),
        _ => None,
    }
}

fn identity(schema: &Value) -> Identity {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => Identity::Value,
        Some("map") => {
            let keys = schema.get("x-kubernetes-list-map-keys");
            let keys = keys.and_then(Value::as_array).into_iter().flatten();
            Identity::Keys(keys.filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => Identity::Place,
    }
}

fn add_meta(fields: &mut BTreeMap<String, Field>, name: &str) {
    let text = |name: &str| Field {
        name: name.to_owned(),
        ty: Type::Text,
    };
    for name in ["apiVersion", "kind"] {
        fields.insert(name.to_owned(), text(name));
    }
    let names = ["name", "generateName"].map(|name| (name.to_owned(), text(name)));
    let ty = Type::Object(Arc::new(Object {
        name: format!("{name}.metadata"),
        fields: names.into_iter().collect(),
    }));
    let name = "metadata".to_owned();
    fields.insert(name.clone(), Field { name, ty });
}

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A field's name as expressions write it; `None` when they have no way to.
pub(crate) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '_' if chars.next_if_eq(&'_').is_some() => out.push_str("__underscores__"),
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            _ => return None,
        }
    }
    Some(out)
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dyn => "dyn",
            Self::Error => "!error!",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::Text => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::Kind => "type",
            Self::List(list) => return write!(f, "list({})", list.item),
            Self::Map(map) => return write!(f, "map({}, {})", map.0, map.1),
            Self::Object(object) => &object.name,
            Self::Optional(of) => return write!(f, "optional_type({of})"),
            Self::Opaque(name) => name,
            Self::Param(n) => return write!(f, "{}", char::from(b'A' + n)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn names_that_are_no_identifiers_are_escaped() {
        for (name, escaped) in [
            ("a", Some("a")),
            ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
            ("a__b", Some("a__underscores__b")),
            ("namespace", Some("__namespace__")),
            ("1a", None),
            ("a b", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped);
        }
    }

    #[test]
    fn schemas_declare_types() {
        let schema = json!({"type": "object", "properties": {
            "when": {"type": "string", "format": "date-time"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "free": {"x-kubernetes-preserve-unknown-fields": true},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        }});
        let Some(Type::Object(object)) = Type::of_schema(&schema, Place::Root) else {
            panic!("an object")
        };
        let shown: Vec<String> = object
            .fields
            .iter()
            .map(|(name, field)| format!("{name}: {}", field.ty))
            .collect();
        assert_eq!(
            shown,
            [
                "apiVersion: string",
                "kind: string",
                "map: map(string, int)",
                "metadata: selfType.metadata",
                "tags: list(string)",
                "when: timestamp",
            ]
        );
    }
}
