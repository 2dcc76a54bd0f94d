//! The functions that Go's templates have without anybody's help.

use crate::call::Call;
use crate::fmt;
use crate::function::Type::{Any, Reflect, String as Str};
use crate::function::{Fault, Function, Special};
use crate::text::runes;
use crate::value::{List, Value};
use crate::{compare, unicode};

type Answer = Result<Value, Fault>;

const fn special(name: &'static str, special: Special) -> Function {
    let body: crate::function::Body = if matches!(special, Special::Call) {
        call
    } else {
        logic
    };
    Function {
        name,
        params: &[Reflect, Reflect],
        variadic: true,
        special,
        body,
    }
}

pub(crate) const FUNCTIONS: &[Function] = &[
    special("and", Special::And),
    special("or", Special::Or),
    special("call", Special::Call),
    Function::variadic("html", &[Any], |_, a| Ok(html(&joined(a)).into())),
    Function::variadic("js", &[Any], |_, a| Ok(js(&joined(a)).into())),
    Function::variadic("urlquery", &[Any], |_, a| Ok(url_query(&joined(a)).into())),
    Function::variadic("index", &[Reflect, Reflect], index),
    Function {
        name: "slice",
        params: &[Reflect, Reflect],
        variadic: true,
        special: Special::Slice,
        body: slice,
    },
    Function::new("len", &[Reflect], length),
    Function::new("not", &[Reflect], |_, a| Ok(Value::Bool(!a[0].truth()))),
    Function::variadic("print", &[Any], |_, a| Ok(fmt::sprint(a).into())),
    Function::variadic("println", &[Any], |_, a| Ok(fmt::sprintln(a).into())),
    Function::variadic("printf", &[Str, Any], printf),
    Function::variadic("eq", &[Reflect, Reflect], |_, a| {
        Ok(compare::eq(&a[0], &a[1..])?.into())
    }),
    Function::new("ne", &[Reflect, Reflect], |_, a| {
        Ok((!compare::eq(&a[0], &a[1..])?).into())
    }),
    Function::new("lt", &[Reflect, Reflect], |_, a| {
        Ok(compare::lt(&a[0], &a[1])?.into())
    }),
    Function::new("le", &[Reflect, Reflect], |_, a| {
        Ok(compare::le(&a[0], &a[1])?.into())
    }),
    Function::new("gt", &[Reflect, Reflect], |_, a| {
        Ok((!compare::le(&a[0], &a[1])?).into())
    }),
    Function::new("ge", &[Reflect, Reflect], |_, a| {
        Ok((!compare::lt(&a[0], &a[1])?).into())
    }),
];

// The evaluator decides `and` and `or` itself.
fn logic(_: &mut Call<'_>, args: &[Value]) -> Answer {
    Ok(args.last().cloned().unwrap_or_default())
}

// No value that a chart can reach is a function; the first argument is the callee's text.
fn call(_: &mut Call<'_>, args: &[Value]) -> Answer {
    match &args[1] {
        callee if callee.is_nil() => Err("call of nil".into()),
        callee => {
            let name = fmt::text_of(&args[0]);
            Err(format!("non-function {name} of type {}", callee.type_name()).into())
        }
    }
}

/// As Go's `reflect.Value.String`.
pub(crate) fn reflect_string(value: &Value) -> String {
    match value {
        Value::String(text) => text.lossy().into_owned(),
        Value::Invalid | Value::Nil => "<invalid Value>".to_owned(),
        other => format!("<{} Value>", other.type_name()),
    }
}

fn printf(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let format = args[0].as_text().cloned().unwrap_or_default();
    let out = fmt::sprintf(&format, &args[1..]);
    call.bytes(out.len())?;
    Ok(out.into())
}

fn index_arg(index: &Value, capacity: usize) -> Result<usize, Fault> {
    let number = match index {
        Value::Invalid | Value::Nil => return Err("cannot index slice/array with nil".into()),
        other => other
            .as_signed()
            .or_else(|| other.as_unsigned().map(|u| u as i64)),
    };
    let Some(number) = number else {
        return Err(format!("cannot index slice/array with type {}", index.type_name()).into());
    };
    match usize::try_from(number) {
        Ok(n) if n <= capacity => Ok(n),
        _ => Err(format!("index out of range: {number}").into()),
    }
}

fn index(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let mut item = args[0].clone();
    if item.is_nil() {
        return Err("index of untyped nil".into());
    }
    for index in &args[1..] {
        item = match &item {
            Value::Nil | Value::Invalid => return Err("index of nil pointer".into()),
            Value::String(text) => {
                let at = index_arg(index, text.len())?;
                let byte = text.get(at).ok_or("reflect: string index out of range")?;
                Value::Uint8(*byte)
            }
            Value::List(list) => {
                let at = index_arg(index, list.items().len())?;
                let found = list.items().get(at);
                found.cloned().ok_or("reflect: slice index out of range")?
            }
            Value::Map(map) => match index {
                Value::String(key) => map.get(&**key).unwrap_or_else(|| map.element().zero()),
                Value::Nil | Value::Invalid => {
                    return Err("value is nil; should be of type string".into());
                }
                other => {
                    let got = other.type_name();
                    return Err(format!("value has type {got}; should be string").into());
                }
            },
            other => return Err(format!("can't index item of type {}", other.type_name()).into()),
        };
    }
    Ok(item)
}

fn slice(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let (item, indexes) = (&args[0], &args[1..]);
    if item.is_nil() {
        return Err("slice of untyped nil".into());
    }
    if indexes.len() > 3 {
        return Err(format!("too many slice indexes: {}", indexes.len()).into());
    }
    let length = match item {
        Value::String(_) if indexes.len() == 3 => {
            return Err("cannot 3-index slice a string".into());
        }
        Value::String(text) => text.len(),
        Value::List(list) => list.items().len(),
        other => return Err(format!("can't slice item of type {}", other.type_name()).into()),
    };
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = index_arg(index, length)?;
    }
    let [from, to, limit] = bounds;
    if from > to {
        return Err(format!("invalid slice index: {from} > {to}").into());
    }
    if indexes.len() == 3 && to > limit {
        return Err(format!("invalid slice index: {to} > {limit}").into());
    }
    Ok(match item {
        Value::String(text) => Value::String(text[from..to].into()),
        Value::List(list) => Value::List(List::typed(
            list.element().clone(),
            list.items()[from..to].to_vec(),
        )),
        other => other.clone(),
    })
}

fn length(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let length = match &args[0] {
        Value::Nil => return Err("len of nil pointer".into()),
        Value::Invalid => return Err("reflect: call of reflect.Value.Type on zero Value".into()),
        Value::String(text) => text.len(),
        Value::List(list) => list.items().len(),
        Value::Map(map) => map.len(),
        Value::Struct(s) => return Err(format!("len of type {}", s.name).into()),
        other => return Err(format!("len of type {}", other.type_name()).into()),
    };
    Ok(Value::Int(length as i64))
}

// What the escaping functions escape.
fn joined(args: &[Value]) -> Vec<u8> {
    match args {
        [Value::String(text)] => text.to_vec(),
        args => {
            let shown: Vec<Value> = args
                .iter()
                .map(|v| {
                    if v.is_nil() {
                        Value::from("<no value>")
                    } else {
                        v.clone()
                    }
                })
                .collect();
            fmt::sprint(&shown)
        }
    }
}

fn html(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            0 => out.extend_from_slice("\u{FFFD}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(*other),
        }
    }
    out
}

fn js(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for (rune, width, _) in runes(bytes) {
        match rune {
            '\\' => out.extend_from_slice(b"\\\\"),
            '\'' => out.extend_from_slice(b"\\'"),
            '"' => out.extend_from_slice(b"\\\""),
            '<' | '>' | '&' | '=' => {
                out.extend_from_slice(format!("\\u{:04X}", rune as u32).as_bytes());
            }
            c if c < ' ' => out.extend_from_slice(format!("\\u{:04X}", c as u32).as_bytes()),
            c if c.is_ascii() || unicode::is_print(c) => {
                out.extend_from_slice(&bytes[at..at + width]);
            }
            c => out.extend_from_slice(format!("\\u{:04X}", c as u32).as_bytes()),
        }
        at += width;
    }
    out
}

/// As Go's `url.QueryEscape`.
pub(crate) fn url_query(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            other => out.extend_from_slice(format!("%{other:02X}").as_bytes()),
        }
    }
    out
}
