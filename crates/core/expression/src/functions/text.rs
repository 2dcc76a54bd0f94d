//! Functions on texts; places are counted in characters.

use super::{Answer, printf};
use crate::eval::Evaluator;
use crate::operators::{Failure, NO_OVERLOAD};
use crate::value::Val;
use model::field::go_quote;
use regex::Regex;
use schema::compile_pattern;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    if name == "strings.quote" {
        let [Val::Text(text)] = args else {
            return None;
        };
        return Some(Ok(Val::text(go_quote(text))));
    }
    let (Val::Text(text), rest) = args.split_first()? else {
        return None;
    };
    Some(match (name, rest) {
        ("contains", [Val::Text(part)]) => Ok(Val::Bool(text.contains(&**part))),
        ("startsWith", [Val::Text(part)]) => Ok(Val::Bool(text.starts_with(&**part))),
        ("endsWith", [Val::Text(part)]) => Ok(Val::Bool(text.ends_with(&**part))),
        ("lowerAscii", []) => Ok(Val::text(text.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(Val::text(text.to_ascii_uppercase())),
        ("trim", []) => Ok(Val::text(text.trim())),
        ("charAt", [Val::Int(at)]) => char_at(text, *at),
        ("indexOf", [Val::Text(part)]) => index_of(text, part, 0),
        ("indexOf", [Val::Text(part), Val::Int(from)]) => index_of(text, part, *from),
        ("lastIndexOf", [Val::Text(part)]) => last_index_of(text, part, None),
        ("lastIndexOf", [Val::Text(part), Val::Int(to)]) => last_index_of(text, part, Some(*to)),
        ("replace", [Val::Text(from), Val::Text(to)]) => Ok(Val::text(text.replace(&**from, to))),
        ("replace", [Val::Text(from), Val::Text(to), Val::Int(times)]) => {
            Ok(Val::text(match usize::try_from(*times) {
                Ok(times) => text.replacen(&**from, to, times),
                Err(_) => text.replace(&**from, to),
            }))
        }
        ("split", [Val::Text(by)]) => Ok(split(text, by, -1)),
        ("split", [Val::Text(by), Val::Int(limit)]) => Ok(split(text, by, *limit)),
        ("substring", [Val::Int(from)]) => substring(text, *from, None),
        ("substring", [Val::Int(from), Val::Int(to)]) => substring(text, *from, Some(*to)),
        ("format", [Val::List(values)]) => {
            let values: Vec<Val<'a>> = values.iter().collect();
            printf::format(text, &values).map(Val::text)
        }
        _ => return None,
    })
}

fn char_at<'a>(text: &str, at: i64) -> Result<Val<'a>, Failure> {
    let length = text.chars().count() as i64;
    if at < 0 || at > length {
        return Err(format!("index out of range: {at}"));
    }
    let found = text.chars().nth(at as usize);
    Ok(Val::text(found.map(String::from).unwrap_or_default()))
}

fn index_of<'a>(text: &str, part: &str, from: i64) -> Result<Val<'a>, Failure> {
    let length = text.chars().count() as i64;
    if from < 0 || from > length {
        return Err(format!("index out of range: {from}"));
    }
    let start = byte_at(text, from as usize);
    let found = text[start..].find(part).map(|at| start + at);
    Ok(Val::Int(found.map_or(-1, |at| char_place(text, at))))
}

fn last_index_of<'a>(text: &str, part: &str, to: Option<i64>) -> Result<Val<'a>, Failure> {
    let length = text.chars().count() as i64;
    if let Some(to) = to.filter(|to| *to < 0 || *to > length) {
        return Err(format!("index out of range: {to}"));
    }
    let last = to.map_or(text.len(), |to| {
        let start = byte_at(text, to as usize);
        (start + part.len()).min(text.len())
    });
    let last = (0..=last)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let found = text[..last].rfind(part);
    Ok(Val::Int(found.map_or(-1, |at| char_place(text, at))))
}

fn byte_at(text: &str, place: usize) -> usize {
    let mut places = text.char_indices().map(|(at, _)| at);
    places.nth(place).unwrap_or(text.len())
}

fn char_place(text: &str, byte: usize) -> i64 {
    text[..byte].chars().count() as i64
}

fn split<'a>(text: &str, by: &str, limit: i64) -> Val<'a> {
    let parts: Vec<String> = match (limit, by) {
        (0, _) => Vec::new(),
        (limit, "") => {
            let mut parts: Vec<String> = text.chars().map(String::from).collect();
            if let Ok(limit) = usize::try_from(limit)
                && parts.len() > limit
            {
                let rest = parts.split_off(limit - 1).concat();
                parts.push(rest);
            }
            parts
        }
        (limit, by) => match usize::try_from(limit) {
            Ok(limit) => text.splitn(limit, by).map(str::to_owned).collect(),
            Err(_) => text.split(by).map(str::to_owned).collect(),
        },
    };
    Val::list(parts.into_iter().map(Val::text).collect())
}

fn substring<'a>(text: &str, from: i64, to: Option<i64>) -> Result<Val<'a>, Failure> {
    let length = text.chars().count() as i64;
    let to = to.unwrap_or(length);
    if from < 0 || from > length {
        return Err(format!("index out of range: {from}"));
    }
    if to < 0 || to > length {
        return Err(format!("index out of range: {to}"));
    }
    if from > to {
        return Err(format!("invalid substring range. start: {from}, end: {to}"));
    }
    let part = text.chars().skip(from as usize).take((to - from) as usize);
    Ok(Val::text(part.collect::<String>()))
}

/// `matches`, `find` and `findAll`; constant patterns were compiled with the expression.
pub(super) fn pattern<'a>(
    with: &Evaluator<'a>,
    name: &str,
    args: &[Val<'a>],
) -> Result<Val<'a>, Failure> {
    let [Val::Text(text), Val::Text(pattern), rest @ ..] = args else {
        return Err(format!("{NO_OVERLOAD}: {name}"));
    };
    with.charge((text.len() as u64 / 10 + 1) * (pattern.len() as u64 / 4 + 1))?;
    let made: Regex;
    let regex = if let Some(known) = with.patterns.get(&**pattern) {
        known
    } else {
        made = compile_pattern(pattern)?;
        &made
    };
    let found = || regex.find_iter(text).map(|m| Val::text(m.as_str()));
    match (name, rest) {
        ("matches", []) => Ok(Val::Bool(regex.is_match(text))),
        ("find", []) => Ok(found().next().unwrap_or_else(|| Val::text(""))),
        ("findAll", []) => Ok(Val::list(found().collect())),
        ("findAll", [Val::Int(limit)]) => {
            let limit = usize::try_from(*limit).unwrap_or(usize::MAX);
            Ok(Val::list(found().take(limit).collect()))
        }
        _ => Err(NO_OVERLOAD.into()),
    }
}
