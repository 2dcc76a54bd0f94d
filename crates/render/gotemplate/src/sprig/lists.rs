//! Lists: every function gives a new one.

use super::args::{NIL_POINTER, int, list, string_of, strings_of, text};
use super::cast::to_int;
use super::defaults::empty;
use crate::call::Call;
use crate::error::Limit;
use crate::function::Type::{Any, Int, String as Str};
use crate::function::{Fault, Function};
use crate::text::Text;
use crate::value::{Element, List, Value};
use crate::walk::deep_equal;

type Answer = Result<Value, Fault>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::variadic("list", &[Any], |_, a| Ok(Value::list(a.to_vec()))),
    Function::variadic("tuple", &[Any], |_, a| Ok(Value::list(a.to_vec()))),
    Function::new("append", &[Any, Any], push),
    Function::new("push", &[Any, Any], push),
    Function::new("mustAppend", &[Any, Any], push),
    Function::new("mustPush", &[Any, Any], push),
    Function::new("prepend", &[Any, Any], prepend),
    Function::new("mustPrepend", &[Any, Any], prepend),
    Function::new("first", &[Any], first),
    Function::new("mustFirst", &[Any], first),
    Function::new("last", &[Any], last),
    Function::new("mustLast", &[Any], last),
    Function::new("rest", &[Any], rest),
    Function::new("mustRest", &[Any], rest),
    Function::new("initial", &[Any], initial),
    Function::new("mustInitial", &[Any], initial),
    Function::new("reverse", &[Any], reverse),
    Function::new("mustReverse", &[Any], reverse),
    Function::new("uniq", &[Any], uniq),
    Function::new("mustUniq", &[Any], uniq),
    Function::new("compact", &[Any], compact),
    Function::new("mustCompact", &[Any], compact),
    Function::variadic("without", &[Any, Any], without),
    Function::variadic("mustWithout", &[Any, Any], without),
    Function::new("has", &[Any, Any], has),
    Function::new("mustHas", &[Any, Any], has),
    Function::variadic("slice", &[Any, Any], slice),
    Function::variadic("mustSlice", &[Any, Any], slice),
    Function::variadic("concat", &[Any], concat),
    Function::new("chunk", &[Int, Any], chunk),
    Function::new("mustChunk", &[Int, Any], chunk),
    Function::new("sortAlpha", &[Any], sort_alpha),
    Function::new("join", &[Str, Any], join),
    Function::new("toStrings", &[Any], |_, a| {
        Ok(Value::List(List::strings(strings_of(&a[0]))))
    }),
    Function::new("until", &[Int], |call, a| {
        let end = int(a, 0);
        ints(call, 0, end, if end < 0 { -1 } else { 1 })
    }),
    Function::new("untilStep", &[Int, Int, Int], |call, a| {
        ints(call, int(a, 0), int(a, 1), int(a, 2))
    }),
    Function::variadic("seq", &[Int], seq),
];

fn none() -> Value {
    Value::List(List::nil(Element::Any))
}

// Longer lists than this are refused.
fn check_length(call: &mut Call<'_>, length: usize) -> Result<(), Fault> {
    call.bytes(length.saturating_mul(16))?;
    Ok(())
}

fn push(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let mut items = list(&args[0], "Cannot push on type")?.items().to_vec();
    check_length(call, items.len())?;
    items.push(args[1].clone());
    Ok(Value::list(items))
}

fn prepend(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[0], "Cannot prepend on type")?;
    check_length(call, found.items().len())?;
    let mut items = vec![args[1].clone()];
    items.extend_from_slice(found.items());
    Ok(Value::list(items))
}

fn first(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[0], "Cannot find first on type")?;
    Ok(found.items().first().cloned().unwrap_or(Value::Nil))
}

fn last(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[0], "Cannot find last on type")?;
    Ok(found.items().last().cloned().unwrap_or(Value::Nil))
}

fn rest(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[0], "Cannot find rest on type")?;
    check_length(call, found.items().len())?;
    Ok(found
        .items()
        .split_first()
        .map_or_else(none, |(_, rest)| Value::list(rest.to_vec())))
}

fn initial(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[0], "Cannot find initial on type")?;
    check_length(call, found.items().len())?;
    Ok(found
        .items()
        .split_last()
        .map_or_else(none, |(_, rest)| Value::list(rest.to_vec())))
}

fn reverse(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[0], "Cannot find reverse on type")?;
    check_length(call, found.items().len())?;
    Ok(Value::list(found.items().iter().rev().cloned().collect()))
}

fn uniq(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[0], "Cannot find uniq on type")?;
    let mut out: Vec<Value> = Vec::new();
    for item in found.items() {
        call.context().step(out.len() as u64)?;
        if !out.iter().any(|seen| deep_equal(item, seen)) {
            out.push(item.clone());
        }
    }
    Ok(Value::list(out))
}

fn compact(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[0], "Cannot compact on type")?;
    Ok(Value::list(
        found
            .items()
            .iter()
            .filter(|v| !empty(v))
            .cloned()
            .collect(),
    ))
}

fn without(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[0], "Cannot find without on type")?;
    call.context()
        .step((found.items().len() * args.len()) as u64)?;
    let keeps = |item: &&Value| !args[1..].iter().any(|out| deep_equal(item, out));
    Ok(Value::list(
        found.items().iter().filter(keeps).cloned().collect(),
    ))
}

fn has(call: &mut Call<'_>, args: &[Value]) -> Answer {
    if args[1].is_nil() {
        return Ok(false.into());
    }
    let found = list(&args[1], "Cannot find has on type")?;
    call.context().step(found.items().len() as u64)?;
    Ok(found
        .items()
        .iter()
        .any(|item| deep_equal(&args[0], item))
        .into())
}

fn slice(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[0], "list should be type of slice or array but")?;
    let items = found.items();
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let from = args.get(1).map_or(0, to_int);
    let to = args.get(2).map_or(items.len() as i64, to_int);
    let bounds = (usize::try_from(from), usize::try_from(to));
    let (Ok(from), Ok(to)) = bounds else {
        return Err("reflect.Value.Slice: slice index out of bounds".into());
    };
    let Some(part) = items.get(from..to) else {
        return Err("reflect.Value.Slice: slice index out of bounds".into());
    };
    Ok(Value::List(List::typed(
        found.element().clone(),
        part.to_vec(),
    )))
}

fn concat(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let mut out = Vec::new();
    for value in args {
        let found = match value {
            Value::List(found) => found,
            Value::Invalid | Value::Nil => return Err(NIL_POINTER.into()),
            other => return Err(format!("Cannot concat type {} as list", other.kind()).into()),
        };
        check_length(call, out.len() + found.items().len())?;
        out.extend_from_slice(found.items());
    }
    Ok(if out.is_empty() {
        none()
    } else {
        Value::list(out)
    })
}

fn chunk(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let found = list(&args[1], "Cannot chunk type")?;
    let (size, length) = (int(args, 0), found.items().len());
    let lists = |items: Vec<Value>| Ok(Value::List(List::typed(Element::Lists, items)));
    match usize::try_from(size) {
        Ok(size) if size > 0 => lists(
            found
                .items()
                .chunks(size)
                .map(|c| Value::list(c.to_vec()))
                .collect(),
        ),
        // One element is a chunk by itself.
        Err(_) if length == 1 && size < -1 => lists(vec![Value::list(found.items().to_vec())]),
        // A step back that is longer than the list finds nothing to cut.
        Err(_) if length > 1 && size.unsigned_abs() >= length as u64 - 1 => lists(Vec::new()),
        _ => Err("runtime error: makeslice: len out of range".into()),
    }
}

fn sort_alpha(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let texts = match &args[0] {
        Value::List(_) => {
            let mut texts = strings_of(&args[0]);
            texts.sort();
            texts
        }
        other => vec![string_of(other)],
    };
    Ok(Value::List(List::strings(texts)))
}

fn join(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let (mark, texts) = (text(args, 0), strings_of(&args[1]));
    let size: usize = texts.iter().map(|t| t.len() + mark.len()).sum();
    call.bytes(size)?;
    Ok(join_texts(&texts, &mark).into())
}

fn join_texts(texts: &[Text], mark: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(mark);
        }
        out.extend_from_slice(text);
    }
    out
}

// From a number up or down to another; a step in the wrong direction gives nothing.
fn steps(call: &mut Call<'_>, start: i64, end: i64, step: i64) -> Result<Vec<i64>, Fault> {
    if (end < start && step >= 0) || (end >= start && step <= 0) {
        return Ok(Vec::new());
    }
    let span = end.abs_diff(start);
    let count = span.div_ceil(step.unsigned_abs());
    let count = usize::try_from(count).map_err(|_| Limit::Output)?;
    check_length(call, count)?;
    Ok((0..count as i64)
        .map(|i| start.wrapping_add(i.wrapping_mul(step)))
        .collect())
}

fn ints(call: &mut Call<'_>, start: i64, end: i64, step: i64) -> Answer {
    let items = steps(call, start, end, step)?
        .into_iter()
        .map(Value::Int)
        .collect();
    Ok(Value::List(List::typed(Element::Int, items)))
}

fn seq(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let at = |i| int(args, i);
    let toward = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let numbers = match args.len() {
        1 => {
            let step = toward(1, at(0));
            steps(call, 1, at(0).wrapping_add(step), step)?
        }
        2 => {
            let step = toward(at(0), at(1));
            steps(call, at(0), at(1).wrapping_add(step), step)?
        }
        3 => {
            let (start, step, end) = (at(0), at(1), at(2));
            if end < start && step > 0 {
                return Ok("".into());
            }
            steps(call, start, end.wrapping_add(toward(start, end)), step)?
        }
        _ => Vec::new(),
    };
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    Ok(texts.join(" ").into())
}
