//! Steps taken through a value: every step turns a list of values into the next one.

use super::{Filter, Slice, Step};
use model::Value;
use std::borrow::Cow;
use std::cmp::Ordering;

type Values<'a> = Vec<Cow<'a, Value>>;

/// Takes all steps, one after the other.
pub(super) fn walk<'a>(steps: &'a [Step], mut values: Values<'a>) -> Result<Values<'a>, String> {
    for step in steps {
        values = take(step, values)?;
    }
    Ok(values)
}

fn take<'a>(step: &'a Step, values: Values<'a>) -> Result<Values<'a>, String> {
    // Null is a missing value to every step but a filter, which needs a list.
    let present = || values.iter().filter(|v| !v.is_null());
    match step {
        Step::Field(name) => Ok(present().filter_map(|v| child(v, name)).collect()),
        Step::Wildcard => Ok(present().flat_map(children).collect()),
        Step::Descend => Ok(present().flat_map(descend).collect()),
        Step::Slice(slice) => {
            let mut found = Vec::new();
            for value in present() {
                found.extend(cut(value, *slice)?);
            }
            Ok(found)
        }
        Step::Union(parts) => {
            let mut found = Vec::new();
            for part in parts {
                found.extend(walk(part, values.clone())?);
            }
            Ok(found)
        }
        Step::Filter(filter) => {
            let mut found = Vec::new();
            for value in &values {
                if !value.is_array() {
                    return Err("not an array, cannot be filtered".into());
                }
                for entry in children(value) {
                    if passes(filter, &entry)? {
                        found.push(entry);
                    }
                }
            }
            Ok(found)
        }
        Step::Literal(value) => Ok(values.iter().map(|_| Cow::Borrowed(value)).collect()),
        Step::Word => Err("a bare word is no path".into()),
    }
}

fn child<'a>(value: &Cow<'a, Value>, name: &str) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => value.as_object()?.get(name).map(Cow::Borrowed),
        Cow::Owned(value) => value.as_object()?.get(name).cloned().map(Cow::Owned),
    }
}

fn children<'a>(value: &Cow<'a, Value>) -> Values<'a> {
    match value {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Object(map)) => map.values().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Array(items)) => items.iter().cloned().map(Cow::Owned).collect(),
        Cow::Owned(Value::Object(map)) => map.values().cloned().map(Cow::Owned).collect(),
        _ => Vec::new(),
    }
}

/// The value and everything within it that has content, parents first.
fn descend<'a>(value: &Cow<'a, Value>) -> Values<'a> {
    let mut found = Vec::new();
    let mut open = vec![value.clone()];
    while let Some(value) = open.pop() {
        let within = children(&value);
        if within.is_empty() && value.as_str().is_none_or(str::is_empty) {
            continue;
        }
        open.extend(within.into_iter().rev());
        found.push(value);
    }
    found
}

fn cut<'a>(value: &Cow<'a, Value>, slice: Slice) -> Result<Values<'a>, String> {
    if !value.is_array() {
        return Err("not an array".into());
    }
    let items = children(value);
    let length = items.len() as i64;
    let mut from = slice.from.unwrap_or(0);
    if from < 0 {
        from = from.saturating_add(length);
    }
    let mut to = slice.to.unwrap_or(length);
    if to < 0 || (to == 0 && slice.single) {
        to = to.saturating_add(length);
    }
    if from == to {
        return Ok(Vec::new());
    }
    let outside = |index: i64| format!("array index out of bounds: index {index}, length {length}");
    if from < 0 || from >= length {
        return Err(outside(from));
    }
    if to < 0 || to > length {
        return Err(outside(to - 1));
    }
    if from > to {
        return Err(format!(
            "starting index {from} is greater than ending index {to}"
        ));
    }
    let step = slice.step.unwrap_or(1);
    if step <= 0 {
        return Err("step must be > 0".into());
    }
    let range = items
        .into_iter()
        .skip(from as usize)
        .take((to - from) as usize);
    Ok(range.step_by(step as usize).collect())
}

fn passes(filter: &Filter, entry: &Value) -> Result<bool, String> {
    let side = |steps| walk(steps, vec![Cow::Borrowed(entry)]);
    let left = side(&filter.left);
    let Some((operator, right)) = &filter.test else {
        // A step that does not fit leaves the entry itself, which exists.
        return Ok(left.map_or(true, |found| !found.is_empty()));
    };
    let right = side(right)?;
    match (left?.as_slice(), right.as_slice()) {
        ([], _) | (_, []) => Ok(false),
        ([left], [right]) => compare(left, operator, right),
        _ => Err("can only compare one element at a time".into()),
    }
}

fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, String> {
    let misfit = || "incompatible types for comparison".to_owned();
    let order = match (left, right) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => {
            match (a.as_i64(), b.as_i64(), a.as_f64(), b.as_f64()) {
                (Some(a), Some(b), ..) => a.cmp(&b),
                (None, None, Some(a), Some(b)) => a.partial_cmp(&b).ok_or_else(misfit)?,
                _ => return Err(misfit()),
            }
        }
        (Value::Bool(a), Value::Bool(b)) if matches!(operator, "==" | "!=") => a.cmp(b),
        _ => return Err(misfit()),
    };
    match operator {
        "==" => Ok(order == Ordering::Equal),
        "!=" => Ok(order != Ordering::Equal),
        "<" => Ok(order == Ordering::Less),
        "<=" => Ok(order != Ordering::Greater),
        ">" => Ok(order == Ordering::Greater),
        ">=" => Ok(order != Ordering::Less),
        _ => Err(format!("unrecognized filter operator {operator}")),
    }
}
