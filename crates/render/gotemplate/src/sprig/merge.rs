//! Merging maps as the library mergo does it: deep, into the first map, by reference.

use super::defaults::empty;
use crate::value::{Map, Value};
use crate::walk::{DEPTH_MAX, NODES_MAX};

/// Who wins when both maps have a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The first map, unless its value is empty.
    Keep,
    /// The later map.
    Overwrite,
}

/// Merges one map into another; gives how many entries were met.
pub(super) fn merge(into: &Map, from: &Map, mode: Mode) -> Result<u64, String> {
    let mut count = 0;
    deep(into, from, mode, 0, &mut count)?;
    Ok(count)
}

fn deep(into: &Map, from: &Map, mode: Mode, depth: usize, count: &mut u64) -> Result<(), String> {
    if depth > DEPTH_MAX || *count > NODES_MAX as u64 {
        return Err("the maps are too big to merge".to_owned());
    }
    if into.same(from) {
        return Ok(());
    }
    for (key, new) in from.entries() {
        *count += 1;
        let old = into.get(&*key);
        match &new {
            Value::Invalid | Value::Nil => {
                if mode == Mode::Overwrite {
                    into.set(key, Value::Nil);
                }
                continue;
            }
            Value::Map(b) => {
                if let Some(Value::Map(a)) = &old
                    && !a.is_nil()
                {
                    crate::deep(|| deep(a, b, mode, depth + 1, count))?;
                    if !a.is_empty() {
                        continue;
                    }
                }
            }
            Value::List(_) if mode == Mode::Keep && old.as_ref().is_some_and(|v| !empty(v)) => {
                continue;
            }
            _ => {}
        }
        if mode == Mode::Overwrite || old.is_none_or(|v| empty(&v)) {
            into.set(key, new);
        }
    }
    Ok(())
}
