//! Protobuf bodies, as typed Go clients send them, to the JSON they mean.
//!
//! A body is the magic `k8s\0` and an envelope that names the kind and holds the object's message.
//! The message is decoded by the table of Go's types, whose fields carry their protobuf numbers.
//! The result still has every zero value that protobuf writes; [`decode`](crate::decode) removes them.

use crate::base64;
use crate::table::{Field, Kind, Shape, Special, StructType, Table, table};
use crate::time::{self, Precision};
use model::{GroupVersion, GroupVersionKind, Map, Value};

const MAGIC: &[u8] = b"k8s\0";
const DEPTH_MAX: usize = 100;

/// Reads a protobuf body of a built-in kind; the error is for people.
pub fn decode_protobuf(body: &[u8]) -> Result<(GroupVersionKind, Value), String> {
    decode_at(body, 0)
}

fn decode_at(body: &[u8], depth: usize) -> Result<(GroupVersionKind, Value), String> {
    let (gvk, raw) = unwrap_protobuf(body)?;
    let table = table();
    let ty = table.kind(&gvk).filter(|ty| ty.protobuf).ok_or_else(|| {
        format!(
            "no kind {} is registered for version {} in scheme",
            model::field::go_quote(&gvk.kind),
            model::field::go_quote(&gvk.api_version())
        )
    })?;
    let mut map = Map::new();
    Reading { table }.message(raw, ty, &[], &mut map, depth)?;
    if !gvk.kind.is_empty() {
        map.insert("kind".into(), gvk.kind.as_str().into());
        map.insert("apiVersion".into(), gvk.api_version().into());
    }
    Ok((gvk, Value::Object(map)))
}

/// Opens the envelope: the kind it names and the object's own bytes.
pub fn unwrap_protobuf(body: &[u8]) -> Result<(GroupVersionKind, &[u8]), String> {
    if body.is_empty() {
        return Err("empty data".into());
    }
    let Some(envelope) = body.strip_prefix(MAGIC) else {
        return Err(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
                .into(),
        );
    };
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for entry in Entries(envelope) {
        match entry? {
            (1, Wire::Bytes(meta)) => {
                for entry in Entries(meta) {
                    match entry? {
                        (1, Wire::Bytes(text)) => api_version = lossy(text),
                        (2, Wire::Bytes(text)) => kind = lossy(text),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let version = GroupVersion::parse(&api_version)
        .ok_or_else(|| format!("unexpected GroupVersion string: {api_version}"))?;
    Ok((
        GroupVersionKind::new(version.group, version.version, kind),
        raw,
    ))
}

#[derive(Clone, Copy)]
enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
}

// The fields of one message, in the order they stand.
struct Entries<'a>(&'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(u32, Wire<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_err() {
            self.0 = &[];
        }
        Some(entry)
    }
}

impl<'a> Entries<'a> {
    fn entry(&mut self) -> Result<(u32, Wire<'a>), String> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).unwrap_or(0);
        if number == 0 {
            return Err(format!(
                "proto: illegal tag {} (wire type {})",
                tag >> 3,
                tag & 7
            ));
        }
        let wire = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => {
                let bytes = self.take(8)?;
                let bytes = <[u8; 8]>::try_from(bytes).map_err(|_| truncated())?;
                Wire::Fixed64(u64::from_le_bytes(bytes))
            }
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| truncated())?;
                Wire::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Wire::Fixed32
            }
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        Ok((number, wire))
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or_else(truncated)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("proto: integer overflow".into())
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        if count > self.0.len() {
            return Err(truncated());
        }
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken)
    }
}

fn truncated() -> String {
    "unexpected EOF".into()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

struct Reading<'t> {
    table: &'t Table,
}

impl Reading<'_> {
    // `inside` are the numbers of the embedded structs we are in; their fields go into the same map.
    fn message(
        &self,
        bytes: &[u8],
        ty: &StructType,
        inside: &[u32],
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err("exceeded max depth".into());
        }
        for entry in Entries(bytes) {
            let (number, wire) = entry?;
            let level = inside.len();
            let here = |f: &&Field| {
                f.numbers.len() > level
                    && f.numbers[..level] == *inside
                    && f.numbers[level] == number
            };
            let Some(field) = ty.fields.iter().find(here) else {
                continue;
            };
            if field.numbers.len() == level + 1 {
                self.field(wire, field, map, depth)?;
            } else if let Wire::Bytes(part) = wire {
                self.message(part, ty, &field.numbers[..=level], map, depth + 1)?;
            } else {
                return Err(wrong_wire(&field.name));
            }
        }
        Ok(())
    }

    fn field(
        &self,
        wire: Wire<'_>,
        field: &Field,
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        let shape = &field.shape;
        match (&shape.kind, wire) {
            (Kind::Map(elem), Wire::Bytes(entry)) => {
                let (key, value) = self.map_entry(entry, elem, depth)?;
                let slot = map.entry(field.name.as_str()).or_insert_with(empty_map);
                if let Value::Object(slot) = slot {
                    slot.insert(key, value);
                }
            }
            (Kind::List(elem), wire) if !shape.message => {
                let slot = map.entry(field.name.as_str()).or_insert_with(empty_list);
                if let Value::Array(slot) = slot {
                    self.element(wire, elem, slot, &field.name, depth)?;
                }
            }
            (_, wire) => {
                let value = self.value(wire, shape, &field.name, depth)?;
                map.insert(field.name.clone(), value);
            }
        }
        Ok(())
    }

    // Numbers may come packed, several in one entry.
    fn element(
        &self,
        wire: Wire<'_>,
        elem: &Shape,
        list: &mut Vec<Value>,
        name: &str,
        depth: usize,
    ) -> Result<(), String> {
        if let (Kind::Int { .. }, Wire::Bytes(packed)) = (&elem.kind, wire) {
            let mut rest = Entries(packed);
            while !rest.0.is_empty() {
                let number = Wire::Varint(rest.varint()?);
                list.push(self.value(number, elem, name, depth)?);
            }
            return Ok(());
        }
        list.push(self.value(wire, elem, name, depth)?);
        Ok(())
    }

    fn map_entry(
        &self,
        entry: &[u8],
        elem: &Shape,
        depth: usize,
    ) -> Result<(String, Value), String> {
        let mut key = String::new();
        let mut value = self.table.zero(elem);
        for part in Entries(entry) {
            match part? {
                (1, Wire::Bytes(text)) => key = lossy(text),
                (2, wire) => value = self.value(wire, elem, &key, depth)?,
                _ => {}
            }
        }
        Ok((key, value))
    }

    fn value(
        &self,
        wire: Wire<'_>,
        shape: &Shape,
        name: &str,
        depth: usize,
    ) -> Result<Value, String> {
        Ok(match (&shape.kind, wire) {
            (Kind::Text, Wire::Bytes(text)) => lossy(text).into(),
            (Kind::Bool, Wire::Varint(bit)) => Value::Bool(bit != 0),
            (Kind::Int { bits: 32 }, Wire::Varint(number)) => (number as i32).into(),
            (Kind::Int { .. }, Wire::Varint(number)) => (number as i64).into(),
            (Kind::Float, Wire::Fixed64(bits)) => {
                json::number::from_float(f64::from_bits(bits)).map_or(Value::Null, Value::Number)
            }
            (Kind::Bytes, Wire::Bytes(bytes)) => base64::encode(bytes).into(),
            (Kind::Struct(id), Wire::Bytes(bytes)) => {
                let mut map = Map::new();
                self.message(bytes, self.table.get(*id), &[], &mut map, depth + 1)?;
                Value::Object(map)
            }
            (Kind::List(elem), Wire::Bytes(bytes)) if shape.message => {
                let mut list = Vec::new();
                for part in Entries(bytes) {
                    if let (1, wire) = part? {
                        list.push(self.value(wire, elem, name, depth + 1)?);
                    }
                }
                Value::Array(list)
            }
            (Kind::Special(special), Wire::Bytes(bytes)) => {
                self.special(bytes, special, depth + 1)?
            }
            _ => return Err(wrong_wire(name)),
        })
    }

    fn special(&self, bytes: &[u8], special: &Special, depth: usize) -> Result<Value, String> {
        let mut parts = Vec::new();
        for part in Entries(bytes) {
            parts.push(part?);
        }
        let varint = |number: u32| {
            parts.iter().rev().find_map(|part| match part {
                (n, Wire::Varint(value)) if *n == number => Some(*value),
                _ => None,
            })
        };
        let bytes_of = |number: u32| {
            parts.iter().rev().find_map(|part| match part {
                (n, Wire::Bytes(value)) if *n == number => Some(*value),
                _ => None,
            })
        };
        let schema = |number: u32, shape: &Shape| {
            let part = bytes_of(number).map(Wire::Bytes);
            part.map(|wire| self.value(wire, shape, "schema", depth))
                .transpose()
        };
        let all = |number: u32| {
            parts.iter().filter_map(move |part| match part {
                (n, Wire::Bytes(value)) if *n == number => Some(*value),
                _ => None,
            })
        };
        Ok(match special {
            Special::Time | Special::MicroTime if parts.is_empty() => Value::Null,
            Special::Time | Special::MicroTime => {
                let precision = match special {
                    Special::Time => Precision::Seconds,
                    _ => Precision::Micros,
                };
                let seconds = varint(1).unwrap_or(0) as i64;
                let nanos = i64::from(varint(2).unwrap_or(0) as i32);
                time::from_parts(seconds, nanos, precision).map_or(Value::Null, Value::String)
            }
            Special::Quantity => bytes_of(1).map_or_else(|| "0".into(), |text| lossy(text).into()),
            Special::IntOrString => match varint(1) {
                Some(1) => lossy(bytes_of(3).unwrap_or_default()).into(),
                _ => (varint(2).unwrap_or(0) as i32).into(),
            },
            Special::Raw => raw_json(bytes_of(1).unwrap_or_default(), depth)?,
            Special::SchemaOrArray(shape) => {
                let mut list = Vec::new();
                for entry in all(2) {
                    list.push(self.value(Wire::Bytes(entry), shape, "JSONSchemas", depth)?);
                }
                if list.is_empty() {
                    schema(1, shape)?.unwrap_or(Value::Null)
                } else {
                    Value::Array(list)
                }
            }
            Special::SchemaOrBool(shape) => {
                let allows = Value::Bool(varint(1).unwrap_or(0) != 0);
                schema(2, shape)?.unwrap_or(allows)
            }
            Special::SchemaOrStrings(shape) => {
                let list: Vec<Value> = all(2).map(|text| lossy(text).into()).collect();
                if list.is_empty() {
                    schema(1, shape)?.unwrap_or(Value::Null)
                } else {
                    Value::Array(list)
                }
            }
        })
    }
}

fn raw_json(bytes: &[u8], depth: usize) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if bytes.starts_with(MAGIC) {
        return decode_at(bytes, depth + 1).map(|(_, value)| value);
    }
    json::parse(bytes)
        .map(|parsed| parsed.value)
        .map_err(|fault| fault.message)
}

fn empty_map() -> Value {
    Value::Object(Map::new())
}

fn empty_list() -> Value {
    Value::Array(Vec::new())
}

fn wrong_wire(name: &str) -> String {
    format!("proto: wrong wireType for field {name}")
}

#[cfg(test)]
mod tests;
