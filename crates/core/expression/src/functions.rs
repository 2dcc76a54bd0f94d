//! The functions that expressions call.

pub(crate) mod convert;
mod list;
mod named_format;
mod net;
mod optional;
mod printf;
mod quantity;
pub(crate) mod semver;
mod text;
mod time;
pub(crate) mod url;

use crate::eval::Evaluator;
use crate::operators::{Failure, NO_OVERLOAD};
use crate::value::{List, Map, Val};

/// What a library makes of a call; `None` when the function is not its own.
type Answer<'a> = Option<Result<Val<'a>, Failure>>;

/// Calls a function; the receiver of a method is the first argument.
pub(crate) fn call<'a>(
    with: &Evaluator<'a>,
    name: &str,
    args: &[Val<'a>],
) -> Result<Val<'a>, Failure> {
    let libraries = [
        size,
        convert::call,
        text::call,
        list::call,
        optional::call,
        time::call,
        net::call,
        quantity::call,
        semver::call,
        url::call,
        named_format::call,
    ];
    let matches =
        || (name == "matches" || name.starts_with("find")).then(|| text::pattern(with, name, args));
    matches()
        .or_else(|| list::costly(with, name, args))
        .or_else(|| libraries.iter().find_map(|library| library(name, args)))
        .unwrap_or_else(|| Err(format!("{NO_OVERLOAD}: {name}")))
}

fn size<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    let size = match (name, args) {
        ("size", [Val::Text(text)]) => text.chars().count(),
        ("size", [Val::Bytes(bytes)]) => bytes.len(),
        ("size", [Val::List(list)]) => List::len(list),
        ("size", [Val::Map(map)]) => Map::len(map),
        _ => return None,
    };
    Some(Ok(Val::Int(size as i64)))
}
