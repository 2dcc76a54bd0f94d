//! The functions that Helm adds: templates in templates, demands on values, YAML, JSON and TOML.

use crate::call::Call;
use crate::context::Lookup;
use crate::error::warn;
use crate::function::Type::{Any, String as Str};
use crate::function::{Fault, Function};
use crate::sprig::args::text;
use crate::value::{Element, Entries, List, Map, Value};
use json::write::Layout;

mod pretty;
mod toml;

type Answer = Result<Value, Fault>;

/// How often one template may be inside itself through `include`.
pub(crate) const INCLUDE_MAX: usize = 1000;

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("include", &[Str, Any], |call, a| {
        call.runtime.include(&text(a, 0), a[1].clone())
    }),
    Function::new("tpl", &[Str, Any], |call, a| {
        call.runtime.tpl(&text(a, 0), a[1].clone())
    }),
    Function::new("required", &[Str, Any], required),
    Function::new("fail", &[Str], fail),
    Function::new("lookup", &[Str, Str, Str, Str], lookup),
    Function::new("getHostByName", &[Str], |call, a| {
        let name = text(a, 0);
        let address = call.context().host.host_by_name(&name.lossy());
        if !address.is_empty() {
            call.mark();
        }
        Ok(address.into())
    }),
    Function::new("toYaml", &[Any], |_, a| {
        Ok(to_yaml(&a[0]).unwrap_or_default().into())
    }),
    Function::new("fromYaml", &[Str], |_, a| Ok(from_yaml(&text(a, 0)))),
    Function::new("fromYamlArray", &[Str], |_, a| {
        Ok(from_yaml_array(&text(a, 0)))
    }),
    Function::new("toJson", &[Any], |_, a| {
        Ok(to_json(&a[0]).unwrap_or_default().into())
    }),
    Function::new("fromJson", &[Str], |_, a| Ok(from_json(&text(a, 0)))),
    Function::new("fromJsonArray", &[Str], |_, a| {
        Ok(from_json_array(&text(a, 0)))
    }),
    Function::new("toYamlPretty", &[Any], |_, a| {
        Ok(pretty::to_string(&a[0]).unwrap_or_default().into())
    }),
    Function::new("toToml", &[Any], |call, a| {
        if a[0].is_nil() {
            return Err("reflect: call of reflect.Value.Type on zero Value".into());
        }
        let edition = call.edition();
        Ok(toml::to_string(&a[0], edition).unwrap_or_else(|e| e).into())
    }),
    Function::new("fromToml", &[Str], |call, a| {
        let edition = call.edition();
        Ok(toml::parse(&text(a, 0), edition))
    }),
];

/// What Helm 4 has besides, or differently.
pub(crate) const FUNCTIONS_4: &[Function] = &[
    Function::new("mustToYaml", &[Any], |_, a| Ok(to_yaml(&a[0])?.into())),
    Function::new("mustToJson", &[Any], |_, a| Ok(to_json(&a[0])?.into())),
    Function::new("mustToToml", &[Any], |call, a| {
        let edition = call.edition();
        Ok(toml::to_string(&a[0], edition)?.into())
    }),
];

fn required(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let value = &args[1];
    if !value.is_nil() && value.as_text().is_none_or(|t| !t.is_empty()) {
        return Ok(value.clone());
    }
    if call.context().lint {
        return Ok("".into());
    }
    Err(warn(&text(args, 0)).into())
}

fn fail(call: &mut Call<'_>, args: &[Value]) -> Answer {
    if call.context().lint {
        return Ok("".into());
    }
    Err(warn(&text(args, 0)).into())
}

fn lookup(call: &mut Call<'_>, args: &[Value]) -> Answer {
    call.mark();
    let [api_version, kind, namespace, name] = [0, 1, 2, 3].map(|i| text(args, i));
    let found = call.context().host.lookup(Lookup {
        api_version: &api_version.lossy(),
        kind: &kind.lossy(),
        namespace: &namespace.lossy(),
        name: &name.lossy(),
    })?;
    Ok(from_cluster(&found))
}

// Whole numbers of a cluster's objects are `int64`, unlike those of a values file.
fn from_cluster(json: &model::Value) -> Value {
    match json {
        model::Value::Number(n) => match n.as_i64() {
            Some(whole) => Value::Int64(whole),
            None => Value::Float(n.as_f64().unwrap_or(0.0)),
        },
        model::Value::Array(list) => Value::list(
            list.iter()
                .map(|v| crate::deep(|| from_cluster(v)))
                .collect(),
        ),
        model::Value::Object(map) => Value::map(
            map.iter()
                .map(|(k, v)| (k.as_str(), crate::deep(|| from_cluster(v)))),
        ),
        other => Value::from_json(other),
    }
}

fn to_yaml(value: &Value) -> Result<String, String> {
    let json = value
        .to_json()
        .map_err(|e| format!("error marshaling into JSON: {e}"))?;
    let mut out = yaml::to_string(&json);
    if out.ends_with('\n') {
        out.pop();
    }
    Ok(out)
}

/// As `json.Marshal`.
pub(crate) fn to_json(value: &Value) -> Result<Vec<u8>, String> {
    Ok(unbroken(json::write::to_vec(
        &value.to_json_with(BROKEN)?,
        Layout::Compact,
    )))
}

/// Stands for a broken byte while JSON is written; no text of people has it.
pub(crate) const BROKEN: char = '\u{10FFFE}';

/// Go's encoder escapes what stands for a broken byte, but not the same character in sound text.
pub(crate) fn unbroken(json: Vec<u8>) -> Vec<u8> {
    let mut mark = [0; 4];
    let mark = BROKEN.encode_utf8(&mut mark).as_bytes();
    if crate::text::find(&json, mark).is_none() {
        return json;
    }
    String::from_utf8_lossy(&json)
        .replace(BROKEN, "\\ufffd")
        .into_bytes()
}

// Go's name for what a JSON value is.
fn kind(value: &model::Value) -> &'static str {
    match value {
        model::Value::Null => "null",
        model::Value::Bool(_) => "bool",
        model::Value::Number(_) => "number",
        model::Value::String(_) => "string",
        model::Value::Array(_) => "array",
        model::Value::Object(_) => "object",
    }
}

fn error_map(text: String) -> Value {
    Value::map([("Error", Value::from(text))])
}

fn error_list(text: String) -> Value {
    Value::list(vec![Value::from(text)])
}

const MAP: &str = "map[string]interface {}";
const LIST: &str = "[]interface {}";

// A number is named with its digits in Go's complaint.
fn mismatch(value: &model::Value, wanted: &str) -> String {
    format!(
        "json: cannot unmarshal {} into Go value of type {wanted}",
        kind(value)
    )
}

// A YAML null leaves the empty map that Helm starts with; a JSON null takes it away.
fn as_map(value: &model::Value, keeps: bool) -> Result<Value, String> {
    match value {
        model::Value::Null => Ok(Value::Map(if keeps {
            Map::new(Entries::new())
        } else {
            Map::nil()
        })),
        model::Value::Object(_) => Ok(Value::from_json(value)),
        other => Err(mismatch(other, MAP)),
    }
}

fn as_list(value: &model::Value, keeps: bool) -> Result<Value, String> {
    match value {
        model::Value::Null if keeps => Ok(Value::list(Vec::new())),
        model::Value::Null => Ok(Value::List(List::nil(Element::Any))),
        model::Value::Array(_) => Ok(Value::from_json(value)),
        other => Err(mismatch(other, LIST)),
    }
}

fn read_yaml(text: &[u8]) -> Result<model::Value, String> {
    yaml::parse(&String::from_utf8_lossy(text))
        .map_err(|e| format!("error converting YAML to JSON: {e}"))
}

fn from_yaml(text: &[u8]) -> Value {
    let read = read_yaml(text).and_then(|v| {
        as_map(&v, true).map_err(|e| format!("error unmarshaling JSON: while decoding JSON: {e}"))
    });
    read.unwrap_or_else(error_map)
}

fn from_yaml_array(text: &[u8]) -> Value {
    let read = read_yaml(text).and_then(|v| {
        as_list(&v, true).map_err(|e| format!("error unmarshaling JSON: while decoding JSON: {e}"))
    });
    read.unwrap_or_else(error_list)
}

/// As `json.Unmarshal` into an `interface {}`.
pub(crate) fn read_json(text: &[u8]) -> Result<model::Value, String> {
    match json::parse(text) {
        Ok(parsed) => Ok(parsed.value),
        // At the end of the text Go looks at one more space, which may be what is wrong.
        Err(first) => match json::parse(&[text, b" "].concat()) {
            Ok(_) => Err(first.to_string()),
            Err(second) => Err(second.to_string()),
        },
    }
}

fn from_json(text: &[u8]) -> Value {
    read_json(text)
        .and_then(|v| as_map(&v, false))
        .unwrap_or_else(error_map)
}

fn from_json_array(text: &[u8]) -> Value {
    read_json(text)
        .and_then(|v| as_list(&v, false))
        .unwrap_or_else(error_list)
}
