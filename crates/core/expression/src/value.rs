//! Values while an expression is evaluated; JSON stays where it is and is read in place.

use crate::types::{Field, Identity, ListOf, Object, Type};
use model::{Quantity, Timestamp, Value};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Deref;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Text<'a>),
    Bytes(Rc<[u8]>),
    List(List<'a>),
    Map(Map<'a>),
    Time(Timestamp),
    /// Nanoseconds.
    Duration(i64),
    Type(&'static str),
    Optional(Option<Rc<Val<'a>>>),
    Library(Rc<Library>),
}

/// A text, borrowed from the object or made on the way.
#[derive(Clone, Debug)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Made(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

/// A list of the object, with what its schema says of the entries, or one made on the way.
#[derive(Clone, Debug)]
pub(crate) enum List<'a> {
    Json(&'a [Value], Option<&'a ListOf>),
    Made(Rc<Vec<Val<'a>>>),
}

/// A map or object.
#[derive(Clone, Debug)]
pub(crate) enum Map<'a> {
    Json(&'a model::Map<String, Value>, Fields<'a>),
    Made(Rc<BTreeMap<Key, Val<'a>>>),
}

/// What is known of the fields of a JSON object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fields<'a> {
    Unknown,
    Same(&'a Type),
    Declared(&'a Object),
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Text(String),
}

/// Values of the Kubernetes libraries.
#[derive(Clone, Debug)]
pub(crate) enum Library {
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Quantity(Quantity),
    Url(crate::functions::url::Url),
    Semver(crate::functions::semver::Semver),
    Format(&'static str),
}

static DYN: Type = Type::Dyn;

impl<'a> Val<'a> {
    /// Reads JSON as a value of a declared type.
    pub(crate) fn read(value: &'a Value, ty: &'a Type) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(b) => Self::Bool(*b),
            Value::Number(n) => match (n.as_i64(), ty) {
                (Some(n), Type::Double) => Self::Double(n as f64),
                (Some(n), _) => Self::Int(n),
                (None, _) => Self::float(n.as_f64().unwrap_or(f64::NAN), ty),
            },
            Value::String(text) => Self::read_text(text, ty),
            Value::Array(entries) => {
                let of = match ty {
                    Type::List(of) => Some(&**of),
                    _ => None,
                };
                Self::List(List::Json(entries, of))
            }
            Value::Object(fields) => {
                let known = match ty {
                    Type::Map(map) => Fields::Same(&map.1),
                    Type::Object(object) => Fields::Declared(object),
                    _ => Fields::Unknown,
                };
                Self::Map(Map::Json(fields, known))
            }
        }
    }

    fn float(n: f64, ty: &Type) -> Self {
        match ty {
            Type::Int if n.fract() == 0.0 && n.abs() < 9.2e18 => Self::Int(n as i64),
            _ => Self::Double(n),
        }
    }

    fn read_text(text: &'a str, ty: &Type) -> Self {
        let converted = match ty {
            Type::Timestamp => Timestamp::parse(text)
                .or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z")))
                .map(Self::Time),
            Type::Duration => schema::parse_duration(text).map(Self::Duration),
            Type::Bytes => crate::functions::convert::base64(text).map(|b| Self::Bytes(b.into())),
            _ => None,
        };
        converted.unwrap_or(Self::Text(Text::Borrowed(text)))
    }

    /// A text made on the way.
    pub(crate) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(Text::Made(text.into()))
    }

    /// A list made on the way.
    pub(crate) fn list(entries: Vec<Val<'a>>) -> Self {
        Self::List(List::Made(Rc::new(entries)))
    }

    /// An optional with a value.
    pub(crate) fn some(value: Val<'a>) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    /// A value of a library.
    pub(crate) fn library(value: Library) -> Self {
        Self::Library(Rc::new(value))
    }

    /// The name of its type, as `type()` gives it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Time(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Library(library) => match &**library {
                Library::Ip(_) => "net.IP",
                Library::Cidr(..) => "net.CIDR",
                Library::Quantity(_) => "kubernetes.Quantity",
                Library::Url(_) => "kubernetes.URL",
                Library::Semver(_) => "kubernetes.Semver",
                Library::Format(_) => "kubernetes.NamedFormat",
            },
        }
    }

    /// The value as a key of a map.
    pub(crate) fn key(&self) -> Option<Key> {
        Some(match self {
            Self::Bool(b) => Key::Bool(*b),
            Self::Int(n) => Key::Int(*n),
            Self::Uint(n) => i64::try_from(*n).map_or(Key::Uint(*n), Key::Int),
            Self::Double(n) if n.fract() == 0.0 && n.abs() < 9.2e18 => Key::Int(*n as i64),
            Self::Text(text) => Key::Text(text.to_string()),
            _ => return None,
        })
    }

    /// The value as JSON; what JSON has no form for becomes text.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Null | Self::Optional(None) => Value::Null,
            Self::Bool(b) => (*b).into(),
            Self::Int(n) => (*n).into(),
            Self::Uint(n) => (*n).into(),
            Self::Double(n) => (*n).into(),
            Self::Text(text) => (**text).into(),
            Self::Bytes(bytes) => crate::functions::convert::to_base64(bytes).into(),
            Self::List(List::Json(entries, _)) => entries.to_vec().into(),
            Self::List(List::Made(entries)) => entries.iter().map(Val::to_json).collect(),
            Self::Map(Map::Json(fields, _)) => Value::Object((*fields).clone()),
            Self::Map(Map::Made(map)) => {
                let entries = map.iter().map(|(key, value)| (key.show(), value.to_json()));
                Value::Object(entries.collect())
            }
            Self::Optional(Some(value)) => value.to_json(),
            other => crate::functions::convert::to_text(other)
                .unwrap_or_else(|| other.type_name().to_owned())
                .into(),
        }
    }
}

impl Key {
    /// The key as text.
    pub(crate) fn show(&self) -> String {
        match self {
            Self::Bool(b) => b.to_string(),
            Self::Int(n) => n.to_string(),
            Self::Uint(n) => n.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    fn value<'a>(&self) -> Val<'a> {
        match self {
            Self::Bool(b) => Val::Bool(*b),
            Self::Int(n) => Val::Int(*n),
            Self::Uint(n) => Val::Uint(*n),
            Self::Text(text) => Val::text(text.as_str()),
        }
    }
}

impl<'a> List<'a> {
    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(entries, _) => entries.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// The entry at a place.
    pub(crate) fn get(&self, index: usize) -> Option<Val<'a>> {
        match self {
            Self::Json(entries, of) => {
                let ty = of.map_or(&DYN, |of| &of.item);
                entries.get(index).map(|entry| Val::read(entry, ty))
            }
            Self::Made(entries) => entries.get(index).cloned(),
        }
    }

    /// All entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Val<'a>> + '_ {
        (0..self.len()).filter_map(|i| self.get(i))
    }

    /// How entries are told apart.
    pub(crate) fn identity(&self) -> &'a Identity {
        match self {
            Self::Json(_, Some(of)) => &of.identity,
            Self::Json(_, None) | Self::Made(_) => &Identity::Place,
        }
    }
}

impl<'a> Map<'a> {
    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(fields, Fields::Declared(object)) => {
                let known = object.fields.values();
                known.filter(|f| fields.contains_key(&f.name)).count()
            }
            Self::Json(fields, _) => fields.len(),
            Self::Made(map) => map.len(),
        }
    }

    /// The value of a field, by its name in expressions.
    pub(crate) fn field(&self, name: &str) -> Option<Val<'a>> {
        match self {
            Self::Json(fields, Fields::Declared(object)) => {
                let Field { name, ty } = object.fields.get(name)?;
                fields.get(name).map(|value| Val::read(value, ty))
            }
            Self::Json(fields, Fields::Same(ty)) => fields.get(name).map(|v| Val::read(v, ty)),
            Self::Json(fields, Fields::Unknown) => match fields.get(name) {
                Some(value) => Some(Val::read(value, &DYN)),
                None if name.contains("__") => {
                    let escaped =
                        |key: &&String| crate::types::escape(key).as_deref() == Some(name);
                    let key = fields.keys().find(escaped)?;
                    fields.get(key).map(|value| Val::read(value, &DYN))
                }
                None => None,
            },
            Self::Made(map) => map.get(&Key::Text(name.to_owned())).cloned(),
        }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &Val<'_>) -> Option<Val<'a>> {
        match (self, key) {
            (Self::Json(fields, Fields::Same(ty)), Val::Text(key)) => {
                fields.get(&**key).map(|value| Val::read(value, ty))
            }
            (Self::Json(fields, Fields::Unknown), Val::Text(key)) => {
                fields.get(&**key).map(|value| Val::read(value, &DYN))
            }
            (Self::Json(..), Val::Text(key)) => self.field(key),
            (Self::Json(..), _) => None,
            (Self::Made(map), key) => map.get(&key.key()?).cloned(),
        }
    }

    /// All entries.
    pub(crate) fn entries(&self) -> Vec<(Val<'a>, Val<'a>)> {
        match self {
            Self::Json(fields, Fields::Declared(object)) => {
                let known = object.fields.values();
                let read = |f: &'a Field| {
                    let value = fields.get(&f.name)?;
                    let name = Val::Text(Text::Borrowed(&f.name));
                    Some((name, Val::read(value, &f.ty)))
                };
                known.filter_map(read).collect()
            }
            Self::Json(fields, known) => {
                let ty = match known {
                    Fields::Same(ty) => ty,
                    Fields::Unknown | Fields::Declared(_) => &DYN,
                };
                let read = |(key, value): (&'a String, &'a Value)| {
                    (Val::Text(Text::Borrowed(key)), Val::read(value, ty))
                };
                fields.iter().map(read).collect()
            }
            Self::Made(map) => map.iter().map(|(k, v)| (k.value(), v.clone())).collect(),
        }
    }
}
