//! Maps: making, reading, writing and merging them. Writes show through every name of a map.

use super::args::{map, string_of, text};
use super::merge::{Mode, merge};
use crate::call::Call;
use crate::function::Type::{Any, Map as Dict, String as Str};
use crate::function::{Fault, Function};
use crate::value::{Entries, List, Map, Value};

type Answer = Result<Value, Fault>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::variadic("dict", &[Any], dict),
    Function::new("get", &[Dict, Str], |_, a| {
        Ok(map(a, 0).get(&*text(a, 1)).unwrap_or_else(|| "".into()))
    }),
    Function::new("set", &[Dict, Str, Any], set),
    Function::new("unset", &[Dict, Str], |_, a| {
        map(a, 0).remove(&text(a, 1));
        Ok(a[0].clone())
    }),
    Function::new("hasKey", &[Dict, Str], |_, a| {
        Ok(map(a, 0).get(&*text(a, 1)).is_some().into())
    }),
    Function::variadic("pluck", &[Str, Dict], |_, a| {
        let key = text(a, 0);
        let found = (1..a.len()).filter_map(|i| map(a, i).get(&*key));
        Ok(Value::list(found.collect()))
    }),
    Function::variadic("keys", &[Dict], |_, a| {
        let keys = (0..a.len())
            .flat_map(|i| map(a, i).entries())
            .map(|(key, _)| key);
        Ok(Value::List(List::strings(keys)))
    }),
    Function::new("values", &[Dict], |_, a| {
        Ok(Value::list(
            map(a, 0).entries().into_iter().map(|(_, v)| v).collect(),
        ))
    }),
    Function::variadic("pick", &[Dict, Str], |_, a| {
        let from = map(a, 0);
        let keys = (1..a.len()).map(|i| text(a, i));
        Ok(Value::map(
            keys.filter_map(|key| from.get(&*key).map(|v| (key, v))),
        ))
    }),
    Function::variadic("omit", &[Dict, Str], |_, a| {
        let without: Vec<_> = (1..a.len()).map(|i| text(a, i)).collect();
        let entries = map(a, 0).entries().into_iter();
        Ok(Value::map(
            entries.filter(|(key, _)| !without.contains(key)),
        ))
    }),
    Function::variadic("merge", &[Dict, Dict], |call, a| {
        merged(call, a, Mode::Keep)
    }),
    Function::variadic("mustMerge", &[Dict, Dict], |call, a| {
        merged(call, a, Mode::Keep)
    }),
    Function::variadic("mergeOverwrite", &[Dict, Dict], |call, a| {
        merged(call, a, Mode::Overwrite)
    }),
    Function::variadic("mustMergeOverwrite", &[Dict, Dict], |call, a| {
        merged(call, a, Mode::Overwrite)
    }),
    Function::variadic("dig", &[Any], dig),
];

fn dict(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let mut entries = Entries::new();
    for pair in args.chunks(2) {
        entries.insert(
            string_of(&pair[0]),
            pair.get(1).cloned().unwrap_or_else(|| "".into()),
        );
    }
    Ok(Value::Map(Map::new(entries)))
}

fn set(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let map = map(args, 0);
    if map.is_nil() {
        return Err("assignment to entry in nil map".into());
    }
    map.set(text(args, 1), args[2].clone());
    call.context().wrote(&map, &args[2]);
    Ok(args[0].clone())
}

fn merged(call: &mut Call<'_>, args: &[Value], mode: Mode) -> Answer {
    let target = map(args, 0);
    let mut target_value = args[0].clone();
    for source in (1..args.len()).map(|i| map(args, i)) {
        if target.is_nil() && !source.is_empty() {
            // A nil map cannot be written to: the result is a new one.
            target_value = Value::Map(Map::new(source.entries().into_iter().collect()));
            continue;
        }
        let into = if let Value::Map(map) = &target_value {
            map.clone()
        } else {
            target.clone()
        };
        let steps = merge(&into, &source, mode)?;
        call.context().step(steps)?;
        call.context().wrote(&into, &Value::Map(source));
    }
    Ok(target_value)
}

fn conversion(value: &Value, wanted: &str) -> String {
    let got = if value.is_nil() {
        "nil".to_owned()
    } else {
        value.type_name()
    };
    format!("interface conversion: interface {{}} is {got}, not {wanted}")
}

fn dig(_: &mut Call<'_>, args: &[Value]) -> Answer {
    const MAP: &str = "map[string]interface {}";
    let [keys @ .., default, last] = args else {
        return Err("dig needs at least three arguments".into());
    };
    if keys.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let mut here = last.clone();
    let is_plain = |v: &Value| matches!(v, Value::Map(m) if m.is_plain() && m.name().is_none());
    if !is_plain(&here) {
        return Err(conversion(&here, MAP).into());
    }
    if let Some(wrong) = keys.iter().find(|k| k.as_text().is_none()) {
        return Err(conversion(wrong, "string").into());
    }
    for (i, key) in keys.iter().enumerate() {
        let Value::Map(map) = &here else {
            return Err(conversion(&here, MAP).into());
        };
        if i > 0 && !is_plain(&here) {
            return Err(conversion(&here, MAP).into());
        }
        match map.get(key.as_text().map_or(&[][..], |t| t)) {
            Some(value) => here = value,
            None => return Ok(default.clone()),
        }
    }
    Ok(here)
}
