//! Paths with slashes.

use super::args::text;
use crate::function::Function;
use crate::function::Type::String as Str;
use crate::text::Text;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("base", &[Str], |_, a| Ok(Value::from(base(&text(a, 0))))),
    Function::new("osBase", &[Str], |_, a| Ok(Value::from(base(&text(a, 0))))),
    Function::new("dir", &[Str], |_, a| Ok(Value::from(dir(&text(a, 0))))),
    Function::new("osDir", &[Str], |_, a| Ok(Value::from(dir(&text(a, 0))))),
    Function::new("clean", &[Str], |_, a| Ok(Value::from(clean(&text(a, 0))))),
    Function::new("osClean", &[Str], |_, a| {
        Ok(Value::from(clean(&text(a, 0))))
    }),
    Function::new("ext", &[Str], |_, a| Ok(Value::from(ext(&text(a, 0))))),
    Function::new("osExt", &[Str], |_, a| Ok(Value::from(ext(&text(a, 0))))),
    Function::new("isAbs", &[Str], |_, a| {
        Ok(text(a, 0).starts_with(b"/").into())
    }),
    Function::new("osIsAbs", &[Str], |_, a| {
        Ok(text(a, 0).starts_with(b"/").into())
    }),
];

fn base(path: &Text) -> Vec<u8> {
    if path.is_empty() {
        return b".".to_vec();
    }
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1);
    let start = path[..end]
        .iter()
        .rposition(|b| *b == b'/')
        .map_or(0, |at| at + 1);
    if end == 0 {
        b"/".to_vec()
    } else {
        path[start..end].to_vec()
    }
}

fn dir(path: &[u8]) -> Vec<u8> {
    let end = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    clean(&path[..end])
}

fn clean(path: &[u8]) -> Vec<u8> {
    if path.is_empty() {
        return b".".to_vec();
    }
    let rooted = path[0] == b'/';
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => match parts.last() {
                Some(last) if *last != b".." => {
                    parts.pop();
                }
                None if rooted => {}
                _ => parts.push(part),
            },
            other => parts.push(other),
        }
    }
    let joined = parts.join(&b'/');
    match (rooted, joined.is_empty()) {
        (true, _) => [b"/", &joined[..]].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}

fn ext(path: &[u8]) -> Vec<u8> {
    let name = path
        .iter()
        .rposition(|b| *b == b'/')
        .map_or(path, |at| &path[at + 1..]);
    name.iter()
        .rposition(|b| *b == b'.')
        .map_or(Vec::new(), |at| name[at..].to_vec())
}
