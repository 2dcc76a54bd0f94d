//! Types that bring their own JSON: times, quantities, ports, raw values and parts of schemas.

use crate::at::At;
use crate::decode::{DecodeError, Decoder, word};
use crate::quantity;
use crate::source::Source;
use crate::table::{Kind, Shape, Special};
use crate::time::{self, Precision};
use json::Kind as Token;
use model::Value;

/// Reads one value; an error ends the decoding, whatever was wrong before.
pub(crate) fn value(
    decoder: &mut Decoder<'_>,
    source: Source<'_, '_>,
    token: Token,
    special: &Special,
    at: &At<'_>,
) -> Result<Value, DecodeError> {
    match special {
        Special::Time => read_time(source, token, Precision::Seconds, at),
        Special::MicroTime => read_time(source, token, Precision::Micros, at),
        Special::Quantity => read_quantity(source, token),
        Special::IntOrString => int_or_string(source, token, at),
        Special::Raw => Ok(source.untyped("", &mut Vec::new())?.0),
        Special::SchemaOrArray(schema) => {
            decoder.apart(|d| schema_or_list(d, source, token, schema, schema, at))
        }
        Special::SchemaOrStrings(schema) => {
            let text = Shape {
                kind: Kind::Text,
                pointer: false,
                go: "string".into(),
                message: false,
            };
            decoder.apart(|d| schema_or_list(d, source, token, schema, &text, at))
        }
        Special::SchemaOrBool(schema) => match token {
            Token::Object => decoder.apart(|d| d.value(source, schema, at, None)),
            Token::Bool => Ok(Value::Bool(source.bool()?)),
            _ => {
                source.skip()?;
                Err(DecodeError::Value("boolean or JSON schema expected".into()))
            }
        },
    }
}

fn wrong_type(
    source: Source<'_, '_>,
    what: &str,
    go_type: &str,
    at: &At<'_>,
) -> Result<Value, DecodeError> {
    source.skip()?;
    Err(DecodeError::Value(at.type_error(what, go_type)))
}

fn read_time(
    source: Source<'_, '_>,
    token: Token,
    precision: Precision,
    at: &At<'_>,
) -> Result<Value, DecodeError> {
    match token {
        Token::Null => {
            source.skip()?;
            Ok(Value::Null)
        }
        Token::String => {
            let text = time::canonical(source.string()?, precision).map_err(DecodeError::Value)?;
            Ok(text.map_or(Value::Null, Value::String))
        }
        other => wrong_type(source, word(other), "string", at),
    }
}

fn read_quantity(source: Source<'_, '_>, token: Token) -> Result<Value, DecodeError> {
    let text = match token {
        Token::Null => {
            source.skip()?;
            return Ok("0".into());
        }
        Token::String => source.string()?,
        Token::Number => source.number()?,
        Token::Bool | Token::Array | Token::Object => {
            source.skip()?;
            "{}".to_owned()
        }
    };
    quantity::canonical(&text)
        .map(Value::String)
        .map_err(|message| DecodeError::Value(message.to_owned()))
}

fn int_or_string(source: Source<'_, '_>, token: Token, at: &At<'_>) -> Result<Value, DecodeError> {
    match token {
        Token::String => Ok(Value::String(source.string()?)),
        Token::Null => {
            source.skip()?;
            Ok(0.into())
        }
        Token::Number => {
            let text = source.number()?;
            text.parse::<i32>()
                .map(Value::from)
                .map_err(|_| DecodeError::Value(at.type_error(&format!("number {text}"), "int32")))
        }
        other => wrong_type(source, word(other), "int32", at),
    }
}

fn schema_or_list(
    decoder: &mut Decoder<'_>,
    source: Source<'_, '_>,
    token: Token,
    schema: &Shape,
    elem: &Shape,
    at: &At<'_>,
) -> Result<Value, DecodeError> {
    match token {
        Token::Object => decoder.value(source, schema, at, None),
        Token::Array => {
            let elem = Shape {
                kind: match &elem.kind {
                    Kind::Struct(id) => Kind::Struct(*id),
                    _ => Kind::Text,
                },
                pointer: false,
                go: elem.go.clone(),
                message: false,
            };
            let list = decoder.list(source, &elem, at, None)?;
            let empty = list.as_array().is_some_and(Vec::is_empty);
            Ok(if empty { Value::Null } else { list })
        }
        _ => {
            source.skip()?;
            Ok(Value::Null)
        }
    }
}
