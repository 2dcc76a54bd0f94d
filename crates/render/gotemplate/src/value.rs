//! What templates compute with: Go's values, as far as a chart can see them.
//!
//! Maps are shared: `set` through one name shows through every other. Lists are never changed in
//! place, so they are shared without care. Types that a chart can tell apart (`int` from `int64`
//! from `float64`, `[]string` from `[]interface {}`) are kept apart.
//!
//! ```text
//! model::Value ── Value::from_json ──▶ Value ── Value::to_json ──▶ model::Value
//! ```

use crate::date::Time;
use crate::object::{Named, Struct};
use crate::text::Text;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A Go value.
#[derive(Clone, Default)]
pub enum Value {
    /// No value at all: what a pipeline gives for nil. Prints `<no value>`.
    #[default]
    Invalid,
    /// A nil `interface {}`: an entry of a map that holds nothing.
    Nil,
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `int64`.
    Int64(i64),
    /// `int32`, a rune of a host's making.
    Int32(i32),
    /// `uint8`, a byte of a string.
    Uint8(u8),
    /// `uint64`.
    Uint64(u64),
    /// `float64`: every number of a values file.
    Float(f64),
    /// `complex128`.
    Complex(f64, f64),
    /// `string`.
    String(Text),
    /// A slice.
    List(List),
    /// A map with string keys.
    Map(Map),
    /// A struct or a pointer to one.
    Struct(Rc<Struct>),
    /// `time.Time`.
    Time(Time),
    /// `time.Duration`, in nanoseconds.
    Duration(i64),
}

/// What the elements of a slice or map are declared to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// `interface {}`.
    Any,
    /// `string`.
    String,
    /// `int`.
    Int,
    /// `uint8`: the slice is bytes.
    Byte,
    /// `bool`.
    Bool,
    /// `[]interface {}`.
    Lists,
    /// `[]uint8`: a map of files.
    Bytes,
    /// A type of the host, by name.
    Other(Rc<str>),
}

impl Element {
    /// The type's name as Go prints it.
    pub fn name(&self) -> &str {
        match self {
            Self::Any => "interface {}",
            Self::String => "string",
            Self::Int => "int",
            Self::Byte => "uint8",
            Self::Bool => "bool",
            Self::Lists => "[]interface {}",
            Self::Bytes => "[]uint8",
            Self::Other(name) => name,
        }
    }

    // What a missing entry of a map is.
    pub(crate) fn zero(&self) -> Value {
        match self {
            Self::Any | Self::Other(_) => Value::Nil,
            Self::String => Value::from(""),
            Self::Int => Value::Int(0),
            Self::Byte => Value::Uint8(0),
            Self::Bool => Value::Bool(false),
            Self::Lists => Value::List(List::nil(Self::Any)),
            Self::Bytes => Value::List(List::nil(Self::Byte)),
        }
    }
}

/// A slice; clones share the elements.
#[derive(Clone)]
pub struct List(Rc<ListBody>);

struct ListBody {
    element: Element,
    items: OnceCell<Vec<Value>>,
    // The bytes of a `[]uint8` that the host gave: files are rarely looked at one by one.
    bytes: Option<Arc<[u8]>>,
    nil: bool,
    named: Option<Rc<Named>>,
}

impl List {
    /// A `[]interface {}`.
    pub fn new(items: Vec<Value>) -> Self {
        Self::typed(Element::Any, items)
    }

    /// A slice of the given element type; the items must be of it.
    pub fn typed(element: Element, items: Vec<Value>) -> Self {
        Self(Rc::new(ListBody {
            element,
            items: items.into(),
            bytes: None,
            nil: false,
            named: None,
        }))
    }

    /// A nil slice: empty, and `null` in JSON.
    pub fn nil(element: Element) -> Self {
        Self(Rc::new(ListBody {
            element,
            items: Vec::new().into(),
            bytes: None,
            nil: true,
            named: None,
        }))
    }

    /// A slice type of the host with a name and methods.
    pub fn named(named: Rc<Named>, element: Element, items: Vec<Value>) -> Self {
        Self(Rc::new(ListBody {
            element,
            items: items.into(),
            bytes: None,
            nil: false,
            named: Some(named),
        }))
    }

    /// A `[]string`.
    pub fn strings<T: Into<Text>>(items: impl IntoIterator<Item = T>) -> Self {
        let items = items.into_iter().map(|t| Value::String(t.into())).collect();
        Self::typed(Element::String, items)
    }

    /// A `[]uint8`.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::shared_bytes(bytes.into())
    }

    /// A `[]uint8` over bytes of the host, which are not copied.
    pub fn shared_bytes(bytes: Arc<[u8]>) -> Self {
        Self(Rc::new(ListBody {
            element: Element::Byte,
            items: OnceCell::new(),
            bytes: Some(bytes),
            nil: false,
            named: None,
        }))
    }

    /// The elements.
    pub fn items(&self) -> &[Value] {
        self.0.items.get_or_init(|| {
            let bytes = self.0.bytes.as_deref().unwrap_or_default();
            bytes.iter().map(|b| Value::Uint8(*b)).collect()
        })
    }

    /// What the elements are declared to be.
    pub fn element(&self) -> &Element {
        &self.0.element
    }

    /// Whether it is Go's nil slice.
    pub fn is_nil(&self) -> bool {
        self.0.nil
    }

    pub(crate) fn name(&self) -> Option<&Rc<Named>> {
        self.0.named.as_ref()
    }

    // The bytes of a `[]uint8`.
    pub(crate) fn as_bytes(&self) -> Option<Vec<u8>> {
        if self.0.element != Element::Byte {
            return None;
        }
        if let Some(bytes) = &self.0.bytes {
            return Some(bytes.to_vec());
        }
        let byte = |v: &Value| if let Value::Uint8(b) = v { *b } else { 0 };
        Some(self.items().iter().map(byte).collect())
    }
}

/// The entries of a map, in the order Go's templates walk them.
pub type Entries = BTreeMap<Text, Value>;

/// A map with string keys; clones share the entries.
#[derive(Clone)]
pub struct Map(Rc<MapBody>);

struct MapBody {
    element: Element,
    // Shared with the same map under other types.
    entries: Rc<RefCell<Entries>>,
    nil: bool,
    named: Option<Rc<Named>>,
}

impl Map {
    /// A `map[string]interface {}`.
    pub fn new(entries: Entries) -> Self {
        Self::typed(Element::Any, entries)
    }

    /// A map of the given element type; the values must be of it.
    pub fn typed(element: Element, entries: Entries) -> Self {
        Self(Rc::new(MapBody {
            element,
            entries: Rc::new(RefCell::new(entries)),
            nil: false,
            named: None,
        }))
    }

    /// A nil `map[string]interface {}`: empty, `null` in JSON, and cannot be written to.
    pub fn nil() -> Self {
        Self(Rc::new(MapBody {
            element: Element::Any,
            entries: Rc::default(),
            nil: true,
            named: None,
        }))
    }

    /// A nil map of the given element type.
    pub fn nil_of(element: Element) -> Self {
        Self(Rc::new(MapBody {
            element,
            entries: Rc::default(),
            nil: true,
            named: None,
        }))
    }

    /// The same map under a type of the host: what one sets, the other shows.
    #[must_use]
    pub fn under(&self, named: &Rc<Named>) -> Self {
        Self(Rc::new(MapBody {
            element: self.0.element.clone(),
            entries: self.0.entries.clone(),
            nil: self.0.nil,
            named: Some(named.clone()),
        }))
    }

    /// A map type of the host with a name and methods, as `chartutil.Values` is one.
    pub fn named(named: Rc<Named>, element: Element, entries: Entries) -> Self {
        Self(Rc::new(MapBody {
            element,
            entries: Rc::new(RefCell::new(entries)),
            nil: false,
            named: Some(named),
        }))
    }

    /// The value of a key.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<Value> {
        self.0.entries.borrow().get(key.as_ref()).cloned()
    }

    /// Sets a key, for everybody who shares the map. Nothing happens to a nil map.
    pub fn set(&self, key: impl Into<Text>, value: Value) {
        if !self.0.nil {
            // A nil pipeline result is stored as a nil interface.
            let value = if matches!(value, Value::Invalid) {
                Value::Nil
            } else {
                value
            };
            self.0.entries.borrow_mut().insert(key.into(), value);
        }
    }

    /// Removes a key, for everybody who shares the map.
    pub fn remove(&self, key: &[u8]) -> Option<Value> {
        self.0.entries.borrow_mut().remove(key)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.entries.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.entries.borrow().is_empty()
    }

    /// Whether it is Go's nil map.
    pub fn is_nil(&self) -> bool {
        self.0.nil
    }

    /// What the values are declared to be.
    pub fn element(&self) -> &Element {
        &self.0.element
    }

    /// A copy of the entries; the values are shared.
    pub fn entries(&self) -> Vec<(Text, Value)> {
        self.0
            .entries
            .borrow()
            .iter()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    }

    /// Whether two names stand for one map.
    pub fn same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0.entries, &other.0.entries)
    }

    pub(crate) fn address(&self) -> usize {
        Rc::as_ptr(&self.0.entries) as usize
    }

    pub(crate) fn clear(&self) {
        let old = std::mem::take(&mut *self.0.entries.borrow_mut());
        drop(old);
    }

    pub(crate) fn name(&self) -> Option<&Rc<Named>> {
        self.0.named.as_ref()
    }

    // The same entries under a type of the host.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.element == Element::Any
    }
}

impl Default for Map {
    fn default() -> Self {
        Self::new(Entries::new())
    }
}

impl Value {
    /// A string.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::String(text.into())
    }

    /// A `[]interface {}`.
    pub fn list(items: Vec<Value>) -> Self {
        Self::List(List::new(items))
    }

    /// A `map[string]interface {}`.
    pub fn map(entries: impl IntoIterator<Item = (impl Into<Text>, Value)>) -> Self {
        Self::Map(Map::new(
            entries.into_iter().map(|(k, v)| (k.into(), v)).collect(),
        ))
    }

    /// The text of a string.
    pub fn as_text(&self) -> Option<&Text> {
        if let Self::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// Whether there is nothing, in one way or another.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Invalid | Self::Nil)
    }

    /// The name of its type as `%T` and `typeOf` print it.
    pub fn type_name(&self) -> String {
        match self {
            Self::Invalid | Self::Nil => "<nil>".to_owned(),
            Self::Bool(_) => "bool".to_owned(),
            Self::Int(_) => "int".to_owned(),
            Self::Int64(_) => "int64".to_owned(),
            Self::Int32(_) => "int32".to_owned(),
            Self::Uint8(_) => "uint8".to_owned(),
            Self::Uint64(_) => "uint64".to_owned(),
            Self::Float(_) => "float64".to_owned(),
            Self::Complex(..) => "complex128".to_owned(),
            Self::String(_) => "string".to_owned(),
            Self::List(list) => match list.name() {
                Some(named) => named.name.clone(),
                None => format!("[]{}", list.element().name()),
            },
            Self::Map(map) => match map.name() {
                Some(named) => named.name.clone(),
                None => format!("map[string]{}", map.element().name()),
            },
            Self::Struct(s) => s.type_name(),
            Self::Time(_) => "time.Time".to_owned(),
            Self::Duration(_) => "time.Duration".to_owned(),
        }
    }

    /// The name of its kind as `kindOf` prints it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Invalid | Self::Nil => "invalid",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) | Self::Duration(_) => "int64",
            Self::Int32(_) => "int32",
            Self::Uint8(_) => "uint8",
            Self::Uint64(_) => "uint64",
            Self::Float(_) => "float64",
            Self::Complex(..) => "complex128",
            Self::String(_) => "string",
            Self::List(_) => "slice",
            Self::Map(_) => "map",
            Self::Struct(s) if s.pointer => "ptr",
            Self::Struct(_) | Self::Time(_) => "struct",
        }
    }

    /// Whether `if` takes it for true.
    pub fn truth(&self) -> bool {
        match self {
            Self::Invalid | Self::Nil => false,
            Self::Bool(b) => *b,
            Self::Int(i) | Self::Int64(i) | Self::Duration(i) => *i != 0,
            Self::Int32(i) => *i != 0,
            Self::Uint8(u) => *u != 0,
            Self::Uint64(u) => *u != 0,
            Self::Float(f) => *f != 0.0,
            Self::Complex(re, im) => *re != 0.0 || *im != 0.0,
            Self::String(text) => !text.is_empty(),
            Self::List(list) => !list.items().is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Struct(_) | Self::Time(_) => true,
        }
    }

    // A signed number of any width.
    pub(crate) fn as_signed(&self) -> Option<i64> {
        match self {
            Self::Int(i) | Self::Int64(i) | Self::Duration(i) => Some(*i),
            Self::Int32(i) => Some(i64::from(*i)),
            _ => None,
        }
    }

    // An unsigned number of any width.
    pub(crate) fn as_unsigned(&self) -> Option<u64> {
        match self {
            Self::Uint8(u) => Some(u64::from(*u)),
            Self::Uint64(u) => Some(*u),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    /// Prints as Go's `%v` does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::fmt::text_of(self))
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::String(bytes.into())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printed = crate::fmt::sprint(std::slice::from_ref(self));
        write!(
            f,
            "{}({})",
            self.type_name(),
            String::from_utf8_lossy(&printed)
        )
    }
}
