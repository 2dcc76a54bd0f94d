//! Functions on lists.

use super::Answer;
use crate::eval::Evaluator;
use crate::operators::{Failure, NO_OVERLOAD, arithmetic, compare, equal};
use crate::value::{List, Val};
use std::cmp::Ordering;
use std::rc::Rc;

const RANGE_MAX: i64 = 100_000;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    if let ("lists.range", [Val::Int(n)]) = (name, args) {
        let range = || Val::list((0..*n).map(Val::Int).collect());
        let fits = (0..=RANGE_MAX).contains(n);
        return Some(
            fits.then(range)
                .ok_or_else(|| "range is too large".to_owned()),
        );
    }
    let (Val::List(list), rest) = args.split_first()? else {
        return None;
    };
    Some(match (name, rest) {
        ("isSorted", []) => is_sorted(list),
        ("sum", []) => sum(list),
        ("min", []) => extreme(list, Ordering::Less),
        ("max", []) => extreme(list, Ordering::Greater),
        ("indexOf", [value]) => Ok(place(list.iter().position(|entry| equal(&entry, value)))),
        ("lastIndexOf", [value]) => {
            let entries: Vec<Val<'a>> = list.iter().collect();
            Ok(place(entries.iter().rposition(|entry| equal(entry, value))))
        }
        ("join", []) => join(list, ""),
        ("join", [Val::Text(by)]) => join(list, by),
        ("slice", [Val::Int(from), Val::Int(to)]) => slice(list, *from, *to),
        ("flatten", []) => Ok(Val::list(flatten(list, 1))),
        ("flatten", [Val::Int(depth)]) => match u8::try_from(*depth) {
            Ok(depth) => Ok(Val::list(flatten(list, depth))),
            Err(_) => Err("level must be non-negative".into()),
        },
        ("reverse", []) => {
            let mut entries: Vec<Val<'a>> = list.iter().collect();
            entries.reverse();
            Ok(Val::list(entries))
        }
        ("first", []) => Ok(Val::Optional(list.get(0).map(Rc::new))),
        ("last", []) => {
            let last = list.len().checked_sub(1).and_then(|i| list.get(i));
            Ok(Val::Optional(last.map(Rc::new)))
        }
        _ => return None,
    })
}

/// Functions whose work grows with the square of their lists.
pub(super) fn costly<'a>(with: &Evaluator<'a>, name: &str, args: &[Val<'a>]) -> Answer<'a> {
    if !name.starts_with("sets.") && !matches!(name, "distinct" | "sort") {
        return None;
    }
    let lists: Vec<&List<'a>> = args
        .iter()
        .filter_map(|arg| match arg {
            Val::List(list) => Some(list),
            _ => None,
        })
        .collect();
    let (a, b) = match lists.as_slice() {
        [a] => (*a, *a),
        [a, b] => (*a, *b),
        _ => return None,
    };
    if let Err(why) = with.charge((a.len() as u64).saturating_mul(b.len() as u64)) {
        return Some(Err(why));
    }
    let within = |a: &List<'a>, b: &List<'a>| a.iter().all(|x| b.iter().any(|y| equal(&x, &y)));
    Some(match name {
        "sets.contains" => Ok(Val::Bool(within(b, a))),
        "sets.equivalent" => Ok(Val::Bool(within(a, b) && within(b, a))),
        "sets.intersects" => {
            let shared = a.iter().any(|x| b.iter().any(|y| equal(&x, &y)));
            Ok(Val::Bool(shared))
        }
        "distinct" => Ok(distinct(a)),
        "sort" => sort(a),
        _ => return None,
    })
}

fn place<'a>(at: Option<usize>) -> Val<'a> {
    Val::Int(at.map_or(-1, |at| at as i64))
}

fn ordered(a: &Val<'_>, b: &Val<'_>) -> Result<Ordering, Failure> {
    compare(a, b).ok_or_else(|| NO_OVERLOAD.to_owned())
}

fn is_sorted<'a>(list: &List<'a>) -> Result<Val<'a>, Failure> {
    let mut before: Option<Val<'a>> = None;
    for entry in list.iter() {
        if let Some(before) = &before
            && ordered(before, &entry)? == Ordering::Greater
        {
            return Ok(Val::Bool(false));
        }
        before = Some(entry);
    }
    Ok(Val::Bool(true))
}

fn sum<'a>(list: &List<'a>) -> Result<Val<'a>, Failure> {
    let mut total: Option<Val<'a>> = None;
    for entry in list.iter() {
        total = Some(match total {
            Some(total) => arithmetic("_+_", &total, &entry)?,
            None => entry,
        });
    }
    Ok(total.unwrap_or(Val::Int(0)))
}

fn extreme<'a>(list: &List<'a>, wanted: Ordering) -> Result<Val<'a>, Failure> {
    let mut best: Option<Val<'a>> = None;
    for entry in list.iter() {
        let better = match &best {
            Some(best) => ordered(&entry, best)? == wanted,
            None => true,
        };
        if better {
            best = Some(entry);
        }
    }
    let word = if wanted == Ordering::Less {
        "min"
    } else {
        "max"
    };
    best.ok_or_else(|| format!("{word} called on empty list"))
}

fn join<'a>(list: &List<'a>, by: &str) -> Result<Val<'a>, Failure> {
    let mut out = String::new();
    for (i, entry) in list.iter().enumerate() {
        let Val::Text(text) = entry else {
            return Err(NO_OVERLOAD.into());
        };
        if i > 0 {
            out.push_str(by);
        }
        out.push_str(&text);
    }
    Ok(Val::text(out))
}

fn slice<'a>(list: &List<'a>, from: i64, to: i64) -> Result<Val<'a>, Failure> {
    if from < 0 || to < 0 {
        return Err("negative indexes not supported".into());
    }
    if from > to {
        return Err("start index must be less than or equal to end index".into());
    }
    if to as usize > list.len() {
        return Err("end index must be less than or equal to the size of the list".into());
    }
    Ok(Val::list(
        (from..to).filter_map(|i| list.get(i as usize)).collect(),
    ))
}

fn flatten<'a>(list: &List<'a>, depth: u8) -> Vec<Val<'a>> {
    let mut out = Vec::new();
    for entry in list.iter() {
        match entry {
            Val::List(inner) if depth > 0 => out.extend(flatten(&inner, depth - 1)),
            other => out.push(other),
        }
    }
    out
}

fn distinct<'a>(list: &List<'a>) -> Val<'a> {
    let mut out: Vec<Val<'a>> = Vec::new();
    for entry in list.iter() {
        if !out.iter().any(|known| equal(known, &entry)) {
            out.push(entry);
        }
    }
    Val::list(out)
}

fn sort<'a>(list: &List<'a>) -> Result<Val<'a>, Failure> {
    let mut entries: Vec<Val<'a>> = list.iter().collect();
    for pair in entries.windows(2) {
        ordered(&pair[0], &pair[1])?;
    }
    entries.sort_by(|a, b| compare(a, b).unwrap_or(Ordering::Equal));
    Ok(Val::list(entries))
}
