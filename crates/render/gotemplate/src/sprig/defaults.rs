//! Choosing between values, and JSON.

use super::args::text;
use crate::call::Call;
use crate::function::Type::{Any, Bool, String as Str};
use crate::function::{Fault, Function};
use crate::helm::{BROKEN, read_json, to_json, unbroken};
use crate::value::Value;
use crate::walk;
use json::write::Layout;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::variadic("default", &[Any, Any], |_, a| {
        let given = a.get(1).filter(|v| !empty(v));
        Ok(given.unwrap_or(&a[0]).clone())
    }),
    Function::new("empty", &[Any], |_, a| Ok(empty(&a[0]).into())),
    Function::variadic("coalesce", &[Any], |_, a| {
        Ok(a.iter().find(|v| !empty(v)).cloned().unwrap_or(Value::Nil))
    }),
    Function::variadic("all", &[Any], |_, a| Ok((!a.iter().any(empty)).into())),
    Function::variadic("any", &[Any], |_, a| Ok(a.iter().any(|v| !empty(v)).into())),
    Function::new("ternary", &[Any, Any, Bool], |_, a| {
        Ok(if a[2].truth() {
            a[0].clone()
        } else {
            a[1].clone()
        })
    }),
    Function::new("deepCopy", &[Any], deep_copy),
    Function::new("mustDeepCopy", &[Any], deep_copy),
    Function::new("mustFromJson", &[Str], |_, a| {
        Ok(Value::from_json(&read_json(&text(a, 0))?))
    }),
    Function::new("mustToJson", &[Any], |_, a| Ok(to_json(&a[0])?.into())),
    Function::new("toPrettyJson", &[Any], |_, a| {
        Ok(pretty(&a[0]).unwrap_or_default().into())
    }),
    Function::new("mustToPrettyJson", &[Any], |_, a| Ok(pretty(&a[0])?.into())),
    Function::new("toRawJson", &[Any], |_, a| Ok(raw(&a[0])?.into())),
    Function::new("mustToRawJson", &[Any], |_, a| Ok(raw(&a[0])?.into())),
];

fn deep_copy(_: &mut Call<'_>, args: &[Value]) -> Result<Value, Fault> {
    if args[0].is_nil() {
        return Err("reflect: call of reflect.Value.Type on zero Value".into());
    }
    walk::deep_copy(&args[0]).ok_or_else(|| "the value is too big".into())
}

/// Whether sprig takes a value for nothing.
pub(super) fn empty(value: &Value) -> bool {
    !value.truth()
}

fn pretty(value: &Value) -> Result<Vec<u8>, String> {
    Ok(unbroken(json::write::to_vec(
        &value.to_json_with(BROKEN)?,
        Layout::Pretty,
    )))
}

// Without the escapes that protect HTML.
fn raw(value: &Value) -> Result<String, String> {
    let escaped = String::from_utf8_lossy(&to_json(value)?).into_owned();
    let mut out = String::with_capacity(escaped.len());
    let mut rest = escaped.as_str();
    while let Some(at) = rest.find('\\') {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let (text, length) = match tail.get(..6) {
            Some("\\u003c") => ("<", 6),
            Some("\\u003e") => (">", 6),
            Some("\\u0026") => ("&", 6),
            _ => (&tail[..2], 2),
        };
        out.push_str(text);
        rest = &tail[length..];
    }
    out.push_str(rest);
    Ok(out)
}
