//! Whole documents: text to [`Value`], with the keys that stand twice.

use crate::{Kind, Path, Reader, SyntaxError, number};
use model::{Map, Value};

/// How many strict errors one document may report; the rest is dropped.
pub const STRICT_ERRORS_MAX: usize = 100;

/// A parsed document.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The document; of a key that stands twice the last value.
    pub value: Value,
    /// `duplicate field "spec.replicas"`, in document order, each once.
    pub duplicates: Vec<String>,
}

/// Reads a document as Kubernetes reads it into an untyped object.
///
/// The error is Go's message, without the words that callers put before it.
pub fn parse(bytes: &[u8]) -> Result<Parsed, SyntaxError> {
    let mut builder = Builder {
        reader: Reader::new(bytes),
        duplicates: Vec::new(),
        fault: None,
    };
    let value = builder.value(&Path::ROOT)?;
    builder.reader.end()?;
    match builder.fault {
        Some(message) => Err(SyntaxError { message, offset: 0 }),
        None => Ok(Parsed {
            value,
            duplicates: builder.duplicates,
        }),
    }
}

impl Reader<'_> {
    /// Reads one value of any kind; keys that stand twice are added to `strict`, and what cannot
    /// be kept (a number beyond all floats) is told through the result's second part.
    pub fn untyped(
        &mut self,
        path: &Path<'_>,
        strict: &mut Vec<String>,
    ) -> Result<(Value, Option<String>), SyntaxError> {
        let mut builder = Builder {
            reader: Reader::new(&[]),
            duplicates: std::mem::take(strict),
            fault: None,
        };
        std::mem::swap(&mut builder.reader, self);
        let value = builder.value(path);
        std::mem::swap(&mut builder.reader, self);
        *strict = builder.duplicates;
        Ok((value?, builder.fault))
    }
}

struct Builder<'a> {
    reader: Reader<'a>,
    duplicates: Vec<String>,
    fault: Option<String>,
}

impl Builder<'_> {
    fn value(&mut self, path: &Path<'_>) -> Result<Value, SyntaxError> {
        Ok(match self.reader.kind()? {
            Kind::Object => self.object(path)?,
            Kind::Array => self.array(path)?,
            Kind::String => Value::String(self.reader.string()?.into_owned()),
            Kind::Number => self.number()?,
            Kind::Bool | Kind::Null => self.reader.literal()?.map_or(Value::Null, Value::Bool),
        })
    }

    fn object(&mut self, path: &Path<'_>) -> Result<Value, SyntaxError> {
        self.reader.open()?;
        let mut map = Map::new();
        let mut first = true;
        while let Some(key) = self.reader.next_key(&mut first)? {
            let here = path.key(&key);
            if map.contains_key(key.as_ref()) {
                let text = model::field::go_quote(&here.to_string());
                note(&mut self.duplicates, format!("duplicate field {text}"));
            }
            let value = self.value(&here)?;
            map.insert(key.into_owned(), value);
        }
        Ok(Value::Object(map))
    }

    fn array(&mut self, path: &Path<'_>) -> Result<Value, SyntaxError> {
        self.reader.open()?;
        let mut list = Vec::new();
        let mut first = true;
        while self.reader.next_element(&mut first)? {
            list.push(self.value(&path.index(list.len()))?);
        }
        Ok(Value::Array(list))
    }

    fn number(&mut self) -> Result<Value, SyntaxError> {
        let text = self.reader.number()?;
        Ok(number::untyped(text).map_or_else(
            || {
                self.fault.get_or_insert_with(|| {
                    format!("json: cannot unmarshal number {text} into Go value of type float64")
                });
                Value::Null
            },
            Value::Number,
        ))
    }
}

/// Adds a strict error unless it is there already or there are too many.
pub(crate) fn note(list: &mut Vec<String>, message: String) {
    if list.len() < STRICT_ERRORS_MAX && !list.contains(&message) {
        list.push(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn documents_become_values() {
        let parsed = parse(br#"{"b":[1,2.5,"x",null,true],"a":{}}"#).unwrap();
        assert_eq!(
            parsed.value,
            json!({"a": {}, "b": [1, 2.5, "x", null, true]})
        );
        assert!(parsed.duplicates.is_empty());
    }

    #[test]
    fn the_last_of_equal_keys_wins_and_is_told_once() {
        let parsed = parse(br#"{"spec":{"n":1,"n":2,"n":3,"l":[{"a":1,"a":1}]}}"#).unwrap();
        assert_eq!(parsed.value["spec"]["n"], 3);
        assert_eq!(
            parsed.duplicates,
            [
                r#"duplicate field "spec.n""#,
                r#"duplicate field "spec.l[0].a""#
            ]
        );
    }

    #[test]
    fn an_outer_key_is_told_before_those_inside() {
        let parsed = parse(br#"{"a":{},"a":{"b":1,"b":2}}"#).unwrap();
        assert_eq!(
            parsed.duplicates,
            [r#"duplicate field "a""#, r#"duplicate field "a.b""#]
        );
    }

    #[test]
    fn numbers_beyond_floats_are_refused() {
        assert_eq!(
            parse(b"[1e999]").unwrap_err().message,
            "json: cannot unmarshal number 1e999 into Go value of type float64"
        );
    }

    #[test]
    fn garbage_never_panics() {
        let mut seed: u64 = 0x2545_f491_4f6c_dd1d;
        let alphabet = b"{}[]\",:\\u0e1-. tfnx\xff\xd8";
        for _ in 0..20_000 {
            let mut text = Vec::new();
            for _ in 0..24 {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                text.push(alphabet[(seed % alphabet.len() as u64) as usize]);
            }
            let _ = parse(&text);
        }
    }
}
