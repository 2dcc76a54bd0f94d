//! Nodes to JSON values and back.

use crate::fault::{Fault, Outcome};
use crate::node::{Arena, DEPTH_MAX, Kind, Node, NodeId, Style, Tag};
use crate::scalar;
use model::{Map, Value};

/// The JSON value of a node. Keys of the outermost mapping may be of any type, inner ones must be
/// strings.
pub(crate) fn to_value(arena: &Arena, id: NodeId, outermost: bool) -> Outcome<Value> {
    value_at(arena, id, outermost, 0)
}

fn value_at(arena: &Arena, id: NodeId, outermost: bool, depth: usize) -> Outcome<Value> {
    if depth > DEPTH_MAX {
        return Err(Fault::text(format!("nests deeper than {DEPTH_MAX} levels")));
    }
    let node = arena.get(id);
    match node.kind {
        Kind::Zero => Ok(Value::Null),
        Kind::Scalar => scalar::meaning(node),
        Kind::Sequence => {
            let entries = node.content.iter();
            let entries: Outcome<Vec<Value>> = entries
                .map(|entry| value_at(arena, *entry, false, depth + 1))
                .collect();
            entries.map(Value::Array)
        }
        Kind::Mapping => {
            let mut map = Map::new();
            for pair in node.content.chunks_exact(2) {
                let key = key_text(arena, pair[0], outermost)?;
                let value = value_at(arena, pair[1], false, depth + 1)?;
                if let Some(key) = twice(&mut map, key, value) {
                    let line = arena.get(pair[0]).line;
                    return Err(Fault::text(format!(
                        "line {line}: mapping key {} already defined",
                        model::field::go_quote(&key)
                    )));
                }
            }
            Ok(Value::Object(map))
        }
    }
}

// Sets a key; gives it back when it was there.
fn twice(map: &mut Map<String, Value>, key: String, value: Value) -> Option<String> {
    if map.contains_key(&key) {
        return Some(key);
    }
    map.insert(key, value);
    None
}

fn key_text(arena: &Arena, id: NodeId, outermost: bool) -> Outcome<String> {
    let node = arena.get(id);
    if node.kind != Kind::Scalar {
        return Err(Fault::text("invalid map key: it is a collection"));
    }
    if node.tag == Tag::Str {
        return Ok(node.value.to_string());
    }
    match scalar::meaning(node)? {
        Value::String(_) if node.tag == Tag::Empty => Ok(node.value.to_string()),
        Value::String(text) => {
            let timed = node.tag == Tag::Timestamp && !outermost;
            if timed { Err(bad_key(node)) } else { Ok(text) }
        }
        _ if outermost => Ok(node.value.to_string()),
        _ => Err(bad_key(node)),
    }
}

fn bad_key(node: &Node) -> Fault {
    Fault::text(format!(
        "line {}: the key `{}` is no string; put it in quotes (json: unsupported type: map[interface {{}}]interface {{}})",
        node.line, node.value
    ))
}

/// What becomes of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// They stay as they are.
    Exact,
    /// They go through 64 bit floats, as JSON does in the real program.
    Float,
}

/// Nodes of a value; `places` are the source and line that they are said to come from.
pub(crate) fn from_value(
    arena: &mut Arena,
    value: &Value,
    numbers: Numbers,
    places: (u32, u32),
) -> NodeId {
    let plain = |tag: Tag, text: &str| Node {
        tag,
        ..Node::scalar(text)
    };
    let mut node = match value {
        Value::Null => plain(Tag::Null, "null"),
        Value::Bool(true) => plain(Tag::Bool, "true"),
        Value::Bool(false) => plain(Tag::Bool, "false"),
        Value::Number(number) => {
            let text = match numbers {
                Numbers::Exact => json::number::text(number),
                Numbers::Float => shortest(number.as_f64().unwrap_or(0.0)),
            };
            plain(scalar::resolve(&text).tag(), &text)
        }
        Value::String(text) => string(text),
        Value::Array(list) => {
            let entries = list.iter();
            let content = entries
                .map(|entry| from_value(arena, entry, numbers, places))
                .collect();
            Node {
                tag: Tag::Seq,
                content,
                ..Node::empty(Kind::Sequence)
            }
        }
        Value::Object(map) => {
            let mut content = Vec::with_capacity(map.len() * 2);
            for (key, value) in map {
                let mut key = string(key);
                (key.source, key.line) = places;
                content.push(arena.add(key));
                content.push(from_value(arena, value, numbers, places));
            }
            Node {
                tag: Tag::Map,
                content,
                ..Node::empty(Kind::Mapping)
            }
        }
    };
    (node.source, node.line) = places;
    arena.add(node)
}

// A string in the style that the real program would choose for it.
fn string(text: &str) -> Node {
    let style = if text.contains('\n') {
        Style::Literal
    } else if text.is_empty()
        || scalar::old_readers_differ(text)
        || scalar::resolve(text) != scalar::Scalar::Text
    {
        Style::Double
    } else {
        Style::Plain
    };
    Node {
        tag: Tag::Str,
        style,
        ..Node::scalar(text)
    }
}

/// The shortest form of a float, as Go prints it with `%g`.
pub(crate) fn shortest(value: f64) -> String {
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
    if !(-4..6).contains(&exponent) {
        let sign_of = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{digits}e{sign_of}{:02}", exponent.abs());
    }
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_printed_as_go_does() {
        assert_eq!(shortest(80.0), "80");
        assert_eq!(shortest(123_456.0), "123456");
        assert_eq!(shortest(1_000_000.0), "1e+06");
        assert_eq!(shortest(1_234_567.0), "1.234567e+06");
        assert_eq!(shortest(0.5), "0.5");
        assert_eq!(shortest(0.000_01), "1e-05");
        assert_eq!(shortest(-0.25), "-0.25");
    }
}
