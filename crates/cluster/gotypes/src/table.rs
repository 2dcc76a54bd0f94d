//! The table of Go's types, read once from the embedded file.

use model::{GroupVersionKind, Map, Value};
use std::collections::BTreeMap;
use std::sync::OnceLock;

static PACKED: &[u8] = include_bytes!("../data/types.json.zst");
const UNPACKED_MAX: usize = 8 * 1024 * 1024;

/// Every type and the kinds that use them.
#[derive(Debug)]
pub(crate) struct Table {
    kinds: BTreeMap<String, usize>,
    types: Vec<StructType>,
    object_meta: usize,
}

/// One Go struct.
#[derive(Debug, Default)]
pub(crate) struct StructType {
    /// `DeploymentSpec`
    pub name: String,
    /// `v1.DeploymentSpec`
    pub go: String,
    /// Fields in the order Go prints them.
    pub fields: Vec<Field>,
    /// Whether the type has a protobuf form.
    pub protobuf: bool,
    // Indexes into `fields`, sorted by field name.
    by_name: Vec<u16>,
    /// What a decoded object has even when it was not given.
    pub always: Vec<(usize, Value)>,
    /// Whether the struct or one below it prints lists or maps that are not there, as null.
    pub nullable: bool,
}

/// One field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub name: String,
    pub shape: Shape,
    pub omit_empty: bool,
    pub omit_zero: bool,
    /// Embedded structs the field comes through.
    pub via: Vec<String>,
    /// Protobuf numbers of those, and of the field itself; empty without a protobuf form.
    pub numbers: Vec<u32>,
}

/// A Go type.
#[derive(Debug)]
pub(crate) struct Shape {
    pub kind: Kind,
    /// Whether the value may be absent.
    pub pointer: bool,
    /// The type as Go prints it, without the pointer.
    pub go: String,
    /// Whether protobuf wraps the list in a message of its own.
    pub message: bool,
}

/// The sorts of Go types.
#[derive(Debug)]
pub(crate) enum Kind {
    Text,
    Bool,
    Int { bits: u32 },
    Byte,
    Float,
    Bytes,
    Struct(usize),
    Map(Box<Shape>),
    List(Box<Shape>),
    Any,
    Special(Special),
}

/// Types with JSON of their own.
#[derive(Debug)]
pub(crate) enum Special {
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// `RawExtension`, `FieldsV1` and the schema language's `JSON`: any value, kept as it is.
    Raw,
    SchemaOrArray(Box<Shape>),
    SchemaOrBool(Box<Shape>),
    SchemaOrStrings(Box<Shape>),
}

impl Table {
    /// The struct of a kind.
    pub(crate) fn kind(&self, gvk: &GroupVersionKind) -> Option<&StructType> {
        let mut key = String::with_capacity(64);
        if !gvk.group.is_empty() {
            key.push_str(&gvk.group);
            key.push('/');
        }
        key.push_str(&gvk.version);
        key.push('/');
        key.push_str(&gvk.kind);
        self.kinds.get(&key).map(|&id| &self.types[id])
    }

    /// A struct by its place in the table.
    pub(crate) fn get(&self, id: usize) -> &StructType {
        &self.types[id]
    }

    /// The struct of `metadata`.
    pub(crate) fn object_meta(&self) -> &StructType {
        &self.types[self.object_meta]
    }

    /// Every kind and its struct.
    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &StructType)> {
        self.kinds
            .iter()
            .map(|(k, &id)| (k.as_str(), &self.types[id]))
    }
}

impl StructType {
    /// The field of that name and its place.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &Field)> {
        let at = self
            .by_name
            .binary_search_by(|&i| self.fields[usize::from(i)].name.as_str().cmp(name))
            .ok()?;
        let index = usize::from(self.by_name[at]);
        Some((index, &self.fields[index]))
    }

    /// The field of that name in any case of letters, as Go's own decoder looks it up.
    pub(crate) fn find_any_case(&self, name: &str) -> Option<(usize, &Field)> {
        self.find(name).or_else(|| {
            let mut fields = self.fields.iter().enumerate();
            fields.find(|(_, f)| f.name.eq_ignore_ascii_case(name))
        })
    }
}

impl Shape {
    /// Whether the value is a struct, which `omitempty` never leaves out.
    pub(crate) fn is_struct(&self) -> bool {
        matches!(self.kind, Kind::Struct(_) | Kind::Special(_))
    }
}

/// The table.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let text =
            zstd::bulk::decompress(PACKED, UNPACKED_MAX).expect("the embedded table is zstd");
        let mut root: Value =
            serde_json::from_slice(&text).expect("the embedded table is JSON, as tests show");
        load(&mut root).expect("the embedded table is whole, as tests show")
    })
}

fn load(root: &mut Value) -> Option<Table> {
    let types = std::mem::take(root["types"].as_object_mut()?);
    let ids: BTreeMap<&str, usize> = types.keys().map(String::as_str).zip(0..).collect();
    let mut list = Vec::with_capacity(types.len());
    for entry in types.values() {
        list.push(load_struct(entry.as_object()?, &ids)?);
    }
    let mut kinds = BTreeMap::new();
    for (kind, name) in root["kinds"].as_object()? {
        kinds.insert(kind.clone(), *ids.get(name.as_str()?)?);
    }
    let object_meta = *ids.get("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")?;
    fill(&mut list);
    mark(&mut list);
    Some(Table {
        kinds,
        types: list,
        object_meta,
    })
}

fn load_struct(entry: &Map<String, Value>, ids: &BTreeMap<&str, usize>) -> Option<StructType> {
    let name = entry.get("go")?.as_str()?;
    let package = entry.get("pkg")?.as_str()?;
    let mut fields = Vec::new();
    for field in entry.get("fields")?.as_array().into_iter().flatten() {
        fields.push(load_field(field, ids)?);
    }
    let mut by_name: Vec<u16> = (0..fields.len() as u16).collect();
    by_name.sort_by(|&a, &b| {
        fields[usize::from(a)]
            .name
            .cmp(&fields[usize::from(b)].name)
    });
    Some(StructType {
        name: name.to_owned(),
        go: format!("{package}.{name}"),
        fields,
        protobuf: entry.contains_key("protobuf"),
        by_name,
        always: Vec::new(),
        nullable: false,
    })
}

fn load_field(field: &Value, ids: &BTreeMap<&str, usize>) -> Option<Field> {
    let mut numbers = Vec::new();
    for number in field["viaNumbers"].as_array().into_iter().flatten() {
        numbers.push(number.as_u64()? as u32);
    }
    numbers.extend(field["number"].as_u64().map(|n| n as u32));
    let mut via = Vec::new();
    for name in field["via"].as_array().into_iter().flatten() {
        via.push(name.as_str()?.to_owned());
    }
    Some(Field {
        name: field["name"].as_str()?.to_owned(),
        shape: load_shape(&field["shape"], ids)?,
        omit_empty: field["omitempty"] == true,
        omit_zero: field["omitzero"] == true,
        via,
        numbers,
    })
}

fn load_shape(shape: &Value, ids: &BTreeMap<&str, usize>) -> Option<Shape> {
    let elem = || load_shape(&shape["elem"], ids).map(Box::new);
    let (kind, plain_go) = match shape["kind"].as_str()? {
        "string" => (Kind::Text, "string".to_owned()),
        "bool" => (Kind::Bool, "bool".to_owned()),
        "int32" => (Kind::Int { bits: 32 }, "int32".to_owned()),
        "int64" => (Kind::Int { bits: 64 }, "int64".to_owned()),
        "uint8" => (Kind::Byte, "uint8".to_owned()),
        "float64" => (Kind::Float, "float64".to_owned()),
        "bytes" => (Kind::Bytes, "[]uint8".to_owned()),
        "interface" => (Kind::Any, "interface {}".to_owned()),
        "struct" => {
            let name = shape["name"].as_str()?;
            let mut parts = name.rsplit('.');
            let (last, package) = (parts.next()?, parts.next()?);
            (Kind::Struct(*ids.get(name)?), format!("{package}.{last}"))
        }
        "map" => {
            let elem = elem()?;
            let go = format!("map[string]{}", with_pointer(&elem));
            (Kind::Map(elem), go)
        }
        "slice" => {
            let elem = elem()?;
            let go = format!("[]{}", with_pointer(&elem));
            (Kind::List(elem), go)
        }
        "special" => {
            let special = match shape["name"].as_str()? {
                "Time" => Special::Time,
                "MicroTime" => Special::MicroTime,
                "Quantity" => Special::Quantity,
                "IntOrString" => Special::IntOrString,
                "RawExtension" | "FieldsV1" | "JSON" => Special::Raw,
                "JSONSchemaPropsOrArray" => Special::SchemaOrArray(elem()?),
                "JSONSchemaPropsOrBool" => Special::SchemaOrBool(elem()?),
                "JSONSchemaPropsOrStringArray" => Special::SchemaOrStrings(elem()?),
                _ => return None,
            };
            (Kind::Special(special), String::new())
        }
        _ => return None,
    };
    let go = shape["go"].as_str().map_or(plain_go, str::to_owned);
    Some(Shape {
        kind,
        pointer: shape["pointer"] == true,
        go,
        message: shape["message"] == true,
    })
}

fn with_pointer(shape: &Shape) -> String {
    if shape.pointer {
        format!("*{}", shape.go)
    } else {
        shape.go.clone()
    }
}

// Finds what every object of a type has: structs always, the rest unless `omitempty` is set.
fn fill(types: &mut [StructType]) {
    for id in 0..types.len() {
        let mut always = Vec::new();
        for (index, field) in types[id].fields.iter().enumerate() {
            if let Some(value) = field_zero(field, types) {
                always.push((index, value));
            }
        }
        types[id].always = always;
    }
}

// Finds the structs with nullable parts, until no more are found.
fn mark(types: &mut [StructType]) {
    loop {
        let mut changed = false;
        for id in 0..types.len() {
            if !types[id].nullable && types[id].fields.iter().any(|f| is_nullable(f, types)) {
                types[id].nullable = true;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

fn is_nullable(field: &Field, types: &[StructType]) -> bool {
    let shape = &field.shape;
    let own = matches!(shape.kind, Kind::Map(_) | Kind::List(_));
    own && !field.omit_empty || below(shape).is_some_and(|id| types[id].nullable)
}

/// The struct at the bottom of lists and maps, when there is one.
pub(crate) fn below(shape: &Shape) -> Option<usize> {
    match &shape.kind {
        Kind::Struct(id) => Some(*id),
        Kind::Map(elem) | Kind::List(elem) => below(elem),
        _ => None,
    }
}

fn field_zero(field: &Field, types: &[StructType]) -> Option<Value> {
    if field.omit_zero || (field.omit_empty && (field.shape.pointer || !field.shape.is_struct())) {
        return None;
    }
    Some(zero_in(&field.shape, types))
}

fn zero_in(shape: &Shape, types: &[StructType]) -> Value {
    match &shape.kind {
        _ if shape.pointer => Value::Null,
        Kind::Struct(id) => {
            let fields = types[*id].fields.iter();
            let filled = fields.filter_map(|f| Some((f.name.clone(), field_zero(f, types)?)));
            Value::Object(filled.collect())
        }
        _ => plain_zero(&shape.kind),
    }
}

fn plain_zero(kind: &Kind) -> Value {
    match kind {
        Kind::Text => Value::String(String::new()),
        Kind::Bool | Kind::Special(Special::SchemaOrBool(_)) => Value::Bool(false),
        Kind::Int { .. } | Kind::Byte | Kind::Float | Kind::Special(Special::IntOrString) => {
            Value::from(0)
        }
        Kind::Special(Special::Quantity) => Value::from("0"),
        Kind::Struct(_) => Value::Object(Map::new()),
        Kind::Bytes | Kind::Map(_) | Kind::List(_) | Kind::Any | Kind::Special(_) => Value::Null,
    }
}

impl Table {
    /// What Go prints for a variable of this type that nothing was decoded into.
    pub(crate) fn zero(&self, shape: &Shape) -> Value {
        match &shape.kind {
            _ if shape.pointer => Value::Null,
            Kind::Struct(id) => self.types[*id].zero(),
            kind => plain_zero(kind),
        }
    }
}

impl StructType {
    /// What Go prints for an empty struct.
    pub(crate) fn zero(&self) -> Value {
        let filled = self.always.iter();
        let filled = filled.map(|(i, value)| (self.fields[*i].name.clone(), value.clone()));
        Value::Object(filled.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn the_table_is_whole() {
        let table = table();
        let gvk = GroupVersionKind::new("apps", "v1", "Deployment");
        let deployment = table.kind(&gvk).unwrap();
        assert_eq!(deployment.go, "v1.Deployment");
        assert_eq!(
            deployment.zero()["spec"],
            json!({
                "selector": null,
                "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": null}}
            })
        );
        assert!(table.all().count() > 300);
        assert!(table.types.iter().all(|t| t.fields.len() <= 128));
    }
}
