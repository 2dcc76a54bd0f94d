//! The round trip through a Go struct: what decoding an object and printing it again changes.

use crate::at::At;
use crate::source::Source;
use crate::special;
use crate::table::{Field, Kind, Shape, StructType, Table, table};
use json::{Kind as Token, Reader, STRICT_ERRORS_MAX, SyntaxError};
use model::{GroupVersionKind, Map, Value};
use std::fmt;

/// Why an object could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The text is no JSON.
    Syntax(SyntaxError),
    /// A value has the wrong type or form; the message is Go's.
    Value(String),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(fault) => fault.fmt(f),
            Self::Value(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<SyntaxError> for DecodeError {
    fn from(fault: SyntaxError) -> Self {
        Self::Syntax(fault)
    }
}

/// An object as Go prints it after decoding.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The object.
    pub value: Value,
    /// `unknown field "spec.bogus"`, `duplicate field "spec.replicas"`: in document order, at most
    /// 100, each once.
    pub strict: Vec<String>,
}

/// Decodes a tree into the kind's struct and prints it again, in place.
///
/// Gives the strict errors: the fields that the struct does not have. Kinds that are not built in
/// are left alone. This is what Go does with an object that is no longer text (from YAML, or from
/// a patch), whose keys it visits in sorted order; use [`decode_json`] for a JSON body.
pub fn decode(gvk: &GroupVersionKind, value: &mut Value) -> Result<Vec<String>, DecodeError> {
    let table = table();
    let Some(ty) = table.kind(gvk) else {
        return Ok(Vec::new());
    };
    in_place(table, ty, value)
}

/// Decodes `metadata` alone, as it is done for custom resources; `value` is the metadata itself.
///
/// The strict errors name their fields from the object on: `unknown field "metadata.bogus"`.
pub fn decode_object_meta(value: &mut Value) -> Result<Vec<String>, DecodeError> {
    let table = table();
    let strict = in_place(table, table.object_meta(), value)?;
    let name = |text: String| text.replacen(" \"", " \"metadata.", 1);
    Ok(strict.into_iter().map(name).collect())
}

fn in_place(table: &Table, ty: &StructType, value: &mut Value) -> Result<Vec<String>, DecodeError> {
    let mut decoder = Decoder::new(table);
    let source = Source::Tree(std::mem::take(value));
    *value = decoder.structure(source, ty, &At::ROOT, None)?;
    decoder.finish()
}

/// Decodes a JSON body into the kind's struct and prints it again.
///
/// A body of a kind that is not built in is read as it is; its strict errors are keys that stand
/// twice.
pub fn decode_json(gvk: &GroupVersionKind, body: &[u8]) -> Result<Decoded, DecodeError> {
    let table = table();
    let Some(ty) = table.kind(gvk) else {
        let parsed = json::parse(body)?;
        return Ok(Decoded {
            value: parsed.value,
            strict: parsed.duplicates,
        });
    };
    let mut decoder = Decoder::new(table);
    let mut reader = Reader::new(body);
    let result = decoder.structure(Source::Text(&mut reader), ty, &At::ROOT, None);
    let value = match result {
        Ok(value) => {
            reader.end()?;
            value
        }
        Err(DecodeError::Value(message)) => {
            // Go checks the whole text before it looks at a single value.
            let mut whole = Reader::new(body);
            whole.skip()?;
            whole.end()?;
            return Err(DecodeError::Value(message));
        }
        Err(fault) => return Err(fault),
    };
    let strict = decoder.finish()?;
    Ok(Decoded { value, strict })
}

pub(crate) struct Decoder<'t> {
    pub(crate) table: &'t Table,
    strict: Vec<String>,
    // The first wrong type; Go reads on and reports it at the end.
    saved: Option<String>,
    // Inside types that decode themselves: no strict errors, and letters of any case.
    pub(crate) lenient: bool,
}

impl<'t> Decoder<'t> {
    fn new(table: &'t Table) -> Self {
        Self {
            table,
            strict: Vec::new(),
            saved: None,
            lenient: false,
        }
    }

    fn finish(self) -> Result<Vec<String>, DecodeError> {
        match self.saved {
            Some(message) => Err(DecodeError::Value(message)),
            None => Ok(self.strict),
        }
    }

    fn note(&mut self, what: &str, at: &At<'_>) {
        if self.lenient || self.strict.len() >= STRICT_ERRORS_MAX {
            return;
        }
        let message = format!("{what} field {}", model::field::go_quote(&at.to_string()));
        if !self.strict.contains(&message) {
            self.strict.push(message);
        }
    }

    fn save(&mut self, message: impl FnOnce() -> String) {
        if self.saved.is_none() {
            self.saved = Some(message());
        }
    }

    // Runs a part that Go decodes on its own: its first error ends everything.
    pub(crate) fn apart<T>(
        &mut self,
        part: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let saved = self.saved.take();
        let lenient = std::mem::replace(&mut self.lenient, true);
        let result = part(self);
        self.lenient = lenient;
        let fault = std::mem::replace(&mut self.saved, saved);
        match fault {
            Some(message) => Err(DecodeError::Value(message)),
            None => result,
        }
    }

    /// Reads one value of the given type. `old` is what the variable holds already, which is
    /// something only when a key stands twice.
    pub(crate) fn value(
        &mut self,
        mut source: Source<'_, '_>,
        shape: &Shape,
        at: &At<'_>,
        old: Option<Value>,
    ) -> Result<Value, DecodeError> {
        let token = source.kind()?;
        if let Kind::Special(special) = &shape.kind
            && !(shape.pointer && token == Token::Null)
        {
            return special::value(self, source, token, special, at);
        }
        if token == Token::Null {
            source.skip()?;
            let keeps = !shape.pointer
                && !matches!(
                    shape.kind,
                    Kind::Map(_) | Kind::List(_) | Kind::Bytes | Kind::Any
                );
            return Ok(old
                .filter(|_| keeps)
                .unwrap_or_else(|| self.table.zero(shape)));
        }
        match (&shape.kind, token) {
            (Kind::Text, Token::String) => Ok(Value::String(source.string()?)),
            (Kind::Bool, Token::Bool) => Ok(Value::Bool(source.bool()?)),
            (Kind::Int { bits }, Token::Number) => self.int(source, *bits, shape, at),
            (Kind::Byte, Token::Number) => self.byte(source, shape, at),
            (Kind::Float, Token::Number) => self.float(source, shape, at),
            (Kind::Bytes, Token::String) => self.bytes(source),
            (Kind::Bytes, Token::Array) => self.byte_list(source, at),
            (Kind::Struct(id), Token::Object) => {
                let ty = self.table.get(*id);
                self.structure(source, ty, at, old)
            }
            (Kind::Map(elem), Token::Object) => self.map(source, elem, at, old),
            (Kind::List(elem), Token::Array) => self.list(source, elem, at, old),
            (Kind::Any, _) => self.any(source, at),
            _ => {
                source.skip()?;
                self.save(|| at.type_error(word(token), &shape.go));
                Ok(self.table.zero(shape))
            }
        }
    }

    fn int(
        &mut self,
        source: Source<'_, '_>,
        bits: u32,
        shape: &Shape,
        at: &At<'_>,
    ) -> Result<Value, DecodeError> {
        let text = source.number()?;
        let fits = |n: &i64| bits == 64 || i32::try_from(*n).is_ok();
        if let Some(number) = text.parse::<i64>().ok().filter(fits) {
            return Ok(number.into());
        }
        self.save(|| at.type_error(&format!("number {text}"), &shape.go));
        Ok(0.into())
    }

    fn byte(
        &mut self,
        source: Source<'_, '_>,
        shape: &Shape,
        at: &At<'_>,
    ) -> Result<Value, DecodeError> {
        let text = source.number()?;
        if let Ok(number) = text.parse::<u8>() {
            return Ok(number.into());
        }
        self.save(|| at.type_error(&format!("number {text}"), &shape.go));
        Ok(0.into())
    }

    fn float(
        &mut self,
        source: Source<'_, '_>,
        shape: &Shape,
        at: &At<'_>,
    ) -> Result<Value, DecodeError> {
        let text = source.number()?;
        let number = text.parse().ok().and_then(json::number::from_float);
        Ok(number.map_or_else(
            || {
                self.save(|| at.type_error(&format!("number {text}"), &shape.go));
                0.into()
            },
            Value::Number,
        ))
    }

    fn bytes(&mut self, source: Source<'_, '_>) -> Result<Value, DecodeError> {
        let text = source.string()?;
        match crate::base64::canonical(&text) {
            Ok(std::borrow::Cow::Borrowed(_)) => Ok(Value::String(text)),
            Ok(std::borrow::Cow::Owned(text)) => Ok(Value::String(text)),
            Err(message) => {
                self.save(|| message);
                Ok(Value::Null)
            }
        }
    }

    // Go takes a list of numbers for bytes, too.
    fn byte_list(&mut self, source: Source<'_, '_>, at: &At<'_>) -> Result<Value, DecodeError> {
        let byte = Shape {
            kind: Kind::Byte,
            pointer: false,
            go: "uint8".into(),
            message: false,
        };
        let list = self.list(source, &byte, at, None)?;
        let bytes = list.as_array().into_iter().flatten();
        let bytes: Vec<u8> = bytes.map(|n| n.as_u64().unwrap_or(0) as u8).collect();
        Ok(Value::String(crate::base64::encode(&bytes)))
    }

    fn any(&mut self, source: Source<'_, '_>, at: &At<'_>) -> Result<Value, DecodeError> {
        let mut strict = std::mem::take(&mut self.strict);
        let result = source.untyped(&at.to_string(), &mut strict);
        self.strict = strict;
        let (value, fault) = result?;
        if let Some(message) = fault {
            self.save(|| message);
        }
        Ok(value)
    }

    pub(crate) fn structure(
        &mut self,
        mut source: Source<'_, '_>,
        ty: &StructType,
        at: &At<'_>,
        old: Option<Value>,
    ) -> Result<Value, DecodeError> {
        let token = source.kind()?;
        match source {
            Source::Text(reader) if token == Token::Object => self.text_struct(reader, ty, at, old),
            Source::Tree(Value::Object(map)) => self.tree_struct(map, ty, at),
            source => {
                source.skip()?;
                if token != Token::Null {
                    self.save(|| at.type_error(word(token), &ty.go));
                }
                Ok(ty.zero())
            }
        }
    }

    fn find<'s>(&self, ty: &'s StructType, key: &str) -> Option<(usize, &'s Field)> {
        if self.lenient {
            ty.find_any_case(key)
        } else {
            ty.find(key)
        }
    }

    fn text_struct(
        &mut self,
        reader: &mut Reader<'_>,
        ty: &StructType,
        at: &At<'_>,
        old: Option<Value>,
    ) -> Result<Value, DecodeError> {
        reader.open()?;
        let (mut map, fresh) = match old {
            Some(Value::Object(map)) => (map, false),
            _ => (Map::new(), true),
        };
        let mut seen = 0_u128;
        let mut first = true;
        while let Some(key) = reader.next_key(&mut first)? {
            let Some((index, field)) = self.find(ty, &key) else {
                self.note("unknown", &at.key(&key));
                reader.skip()?;
                continue;
            };
            let here = at.field(ty, field);
            let again = seen & bit(index) != 0;
            if again {
                self.note("duplicate", &here);
            }
            seen |= bit(index);
            let old = if again || !fresh {
                map.remove(&field.name)
            } else {
                None
            };
            let value = self.value(Source::Text(reader), &field.shape, &here, old)?;
            if !is_left_out(field, &value) {
                map.insert(field.name.clone(), value);
            }
        }
        complete(&mut map, ty, seen);
        Ok(Value::Object(map))
    }

    fn tree_struct(
        &mut self,
        mut map: Map<String, Value>,
        ty: &StructType,
        at: &At<'_>,
    ) -> Result<Value, DecodeError> {
        let mut fault = None;
        let mut seen = 0_u128;
        let mut renamed: Vec<(String, Value)> = Vec::new();
        map.retain(|key, slot| {
            if fault.is_some() {
                return false;
            }
            let Some((index, field)) = self.find(ty, key) else {
                self.note("unknown", &at.key(key));
                return false;
            };
            seen |= bit(index);
            let source = Source::Tree(std::mem::take(slot));
            match self.value(source, &field.shape, &at.field(ty, field), None) {
                Ok(value) if *key != field.name => {
                    renamed.push((field.name.clone(), value));
                    false
                }
                Ok(value) => {
                    let keep = !is_left_out(field, &value);
                    *slot = value;
                    keep
                }
                Err(error) => {
                    fault = Some(error);
                    false
                }
            }
        });
        if let Some(error) = fault {
            return Err(error);
        }
        map.extend(renamed);
        complete(&mut map, ty, seen);
        Ok(Value::Object(map))
    }

    fn map(
        &mut self,
        source: Source<'_, '_>,
        elem: &Shape,
        at: &At<'_>,
        old: Option<Value>,
    ) -> Result<Value, DecodeError> {
        match source {
            Source::Text(reader) => {
                reader.open()?;
                let (mut map, fresh) = match old {
                    Some(Value::Object(map)) => (map, false),
                    _ => (Map::new(), true),
                };
                let mut before = Vec::new();
                let mut first = true;
                while let Some(key) = reader.next_key(&mut first)? {
                    let here = at.key(&key);
                    let again = if fresh {
                        map.contains_key(key.as_ref())
                    } else {
                        before.contains(&key)
                    };
                    if again {
                        self.note("duplicate", &here);
                    }
                    let value = self.value(Source::Text(reader), elem, &here, None)?;
                    if !fresh {
                        before.push(key.clone());
                    }
                    map.insert(key.into_owned(), value);
                }
                Ok(Value::Object(map))
            }
            Source::Tree(Value::Object(mut map)) => {
                for (key, slot) in &mut map {
                    let source = Source::Tree(std::mem::take(slot));
                    *slot = self.value(source, elem, &at.key(key), None)?;
                }
                Ok(Value::Object(map))
            }
            Source::Tree(_) => Ok(Value::Null),
        }
    }

    pub(crate) fn list(
        &mut self,
        source: Source<'_, '_>,
        elem: &Shape,
        at: &At<'_>,
        old: Option<Value>,
    ) -> Result<Value, DecodeError> {
        match source {
            Source::Text(reader) => {
                reader.open()?;
                let mut before = match old {
                    Some(Value::Array(list)) => list.into_iter(),
                    _ => Vec::new().into_iter(),
                };
                let mut list = Vec::new();
                let mut first = true;
                while reader.next_element(&mut first)? {
                    let here = at.index(list.len());
                    let old = before.next();
                    list.push(self.value(Source::Text(reader), elem, &here, old)?);
                }
                Ok(Value::Array(list))
            }
            Source::Tree(Value::Array(mut list)) => {
                for (index, slot) in list.iter_mut().enumerate() {
                    let source = Source::Tree(std::mem::take(slot));
                    *slot = self.value(source, elem, &at.index(index), None)?;
                }
                Ok(Value::Array(list))
            }
            Source::Tree(_) => Ok(Value::Null),
        }
    }
}

// Adds what Go prints even for fields that were not given.
fn complete(map: &mut Map<String, Value>, ty: &StructType, seen: u128) {
    for (index, zero) in &ty.always {
        if seen & bit(*index) == 0 {
            let name = ty.fields[*index].name.clone();
            map.entry(name).or_insert_with(|| zero.clone());
        }
    }
}

// No struct has more than 128 fields, as a test of the table shows.
fn bit(index: usize) -> u128 {
    1_u128.checked_shl(index as u32).unwrap_or(0)
}

// Whether Go prints the field at all.
fn is_left_out(field: &Field, value: &Value) -> bool {
    if field.omit_zero && value.is_null() {
        return true;
    }
    if !field.omit_empty {
        return false;
    }
    if field.shape.pointer {
        return value.is_null();
    }
    if field.shape.is_struct() {
        return false;
    }
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

/// The word Go uses for a JSON value in a type error.
pub(crate) fn word(token: Token) -> &'static str {
    match token {
        Token::Object => "object",
        Token::Array => "array",
        Token::String => "string",
        Token::Number => "number",
        Token::Bool => "bool",
        Token::Null => "null",
    }
}

#[cfg(test)]
mod tests;
