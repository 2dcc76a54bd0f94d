//! ConfigMaps and Secrets out of files, literals and env files; the hash in their names.

use crate::fault::{Fault, Outcome};
use crate::kustomization::GeneratorArgs;
use crate::loader::Loader;
use crate::node::{Arena, Kind, Node, NodeId, Tag};
use crate::resmap::data_node;
use crate::resource::{self, Behavior};
use crate::work::{Author, Result, Work};
use crate::write;
use base64::Engine as _;
use model::{Map, Value};
use std::collections::BTreeMap;

/// A line of an env file that is longer ends the reading, as in the real program.
const LINE_MAX: usize = 64 * 1024;

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    ConfigMap,
    Secret,
}

/// Makes the nodes of a ConfigMap or Secret.
pub(crate) fn make(
    work: &mut Work<'_>,
    loader: &Loader,
    args: &GeneratorArgs,
    made: Made,
    author: &Author,
) -> Result<NodeId> {
    let data = pairs(work, loader, args, author)?;
    node(&mut work.arena, args, made, data).map_err(|fault| author.blame(fault))
}

fn node(
    arena: &mut Arena,
    args: &GeneratorArgs,
    made: Made,
    data: BTreeMap<String, Vec<u8>>,
) -> Outcome<NodeId> {
    if args.name.is_empty() {
        return Err(Fault::text("a configmap must have a name"));
    }
    let root = arena.add(Node {
        tag: Tag::Map,
        ..Node::empty(Kind::Mapping)
    });
    let kind = if made == Made::ConfigMap {
        "ConfigMap"
    } else {
        "Secret"
    };
    let text = |arena: &mut Arena, value: &str| arena.add(Node::string(value));
    for (field, value) in [("apiVersion", "v1"), ("kind", kind)] {
        let value = text(arena, value);
        arena.set(root, field, value)?;
    }
    let meta = arena.lookup_create(root, Kind::Mapping, &["metadata"])?;
    let name = text(arena, &args.name);
    arena.set(meta, "name", name)?;
    if !args.namespace.is_empty() {
        let namespace = text(arena, &args.namespace);
        arena.set(meta, "namespace", namespace)?;
    }
    if made == Made::Secret {
        let secret_type = if args.secret_type.is_empty() {
            "Opaque"
        } else {
            &args.secret_type
        };
        let secret_type = text(arena, secret_type);
        arena.set(root, "type", secret_type)?;
        arena.lookup_create(root, Kind::Mapping, &["data"])?;
    }
    for (key, value) in data {
        let (field, text) = match (made, String::from_utf8(value)) {
            (Made::ConfigMap, Ok(text)) => ("data", text),
            (Made::ConfigMap, Err(bytes)) => ("binaryData", packed(bytes.as_bytes())),
            (Made::Secret, Ok(text)) => ("data", packed(text.as_bytes())),
            (Made::Secret, Err(bytes)) => ("data", packed(bytes.as_bytes())),
        };
        let map = arena.lookup_create(root, Kind::Mapping, &[field])?;
        let value = arena.add(data_node(&text));
        arena.set(map, &key, value)?;
    }
    let options = args.options.clone().unwrap_or_default();
    for (key, value) in &options.labels {
        resource::set_label(arena, root, key, value)?;
    }
    for (key, value) in &options.annotations {
        resource::annotate(arena, root, key, value)?;
    }
    if options.immutable {
        let value = arena.add(Node {
            tag: Tag::Bool,
            ..Node::scalar("true")
        });
        arena.set(root, "immutable", value)?;
    }
    if !options.disable_name_suffix_hash {
        resource::enable(arena, root, resource::NEEDS_HASH)?;
    }
    resource::set_behavior(arena, root, Behavior::of(&args.behavior))?;
    Ok(root)
}

// Base64 in lines of 70 characters, each ended, when there is more than one.
fn packed(bytes: &[u8]) -> String {
    const WIDTH: usize = 70;
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    if text.len() < WIDTH {
        return text;
    }
    let mut lines = String::with_capacity(text.len() + text.len() / WIDTH + 1);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(WIDTH.min(rest.len()));
        lines.push_str(line);
        lines.push('\n');
        rest = after;
    }
    lines
}

fn pairs(
    work: &Work<'_>,
    loader: &Loader,
    args: &GeneratorArgs,
    author: &Author,
) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    let blame = |fault: Fault| author.blame(fault);
    for path in &args.envs {
        let (bytes, file) = loader.load(path, work, &author.at)?;
        env_file(&bytes, &file, &mut found).map_err(blame)?;
    }
    for literal in &args.literals {
        let (key, value) = split_literal(literal).map_err(blame)?;
        found.push((key.into(), value.into()));
    }
    for source in &args.files {
        let (key, path) = split_file(source).map_err(blame)?;
        let (bytes, _) = loader.load(path, work, &author.at)?;
        found.push((key.into(), bytes.to_vec()));
    }
    let mut data = BTreeMap::new();
    for (key, value) in found {
        if data.contains_key(&key) {
            let message = format!("{} illegally repeats the key `{key}`", args.name);
            return Err(author.blame(Fault::text(message)));
        }
        data.insert(key, value);
    }
    Ok(data)
}

fn env_file(bytes: &[u8], file: &str, into: &mut Vec<(String, Vec<u8>)>) -> Outcome {
    for (number, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        if line.len() > LINE_MAX {
            return Ok(());
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Ok(mut text) = std::str::from_utf8(line) else {
            let message = format!("{file}:{}: the line has invalid utf8 bytes", number + 1);
            return Err(Fault::text(message));
        };
        if number == 0 {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        let text = text.trim_start();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        if !key.is_empty() {
            into.push((key.into(), value.into()));
        }
    }
    Ok(())
}

fn split_literal(source: &str) -> Outcome<(&str, &str)> {
    let split = source.split_once('=').filter(|(key, _)| !key.is_empty());
    let Some((key, value)) = split else {
        return Err(Fault::text(format!(
            "invalid literal source {source}, expected key=value"
        )));
    };
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner)
    });
    Ok((key, quoted.unwrap_or(value)))
}

fn split_file(source: &str) -> Outcome<(&str, &str)> {
    match source.matches('=').count() {
        0 => Ok((base_name(source), source)),
        1 if source.starts_with('=') => {
            let message = format!(
                "missing key name for file path {:?} in source {source:?}",
                &source[1..]
            );
            Err(Fault::text(message))
        }
        1 if source.ends_with('=') => {
            let key = source.trim_end_matches('=');
            Err(Fault::text(format!(
                "missing file path for key name {key:?} in source {source:?}"
            )))
        }
        1 => Ok(source.split_once('=').unwrap_or((source, source))),
        _ => Err(Fault::text(format!(
            "source {source:?} key name or file path contains '='"
        ))),
    }
}

fn base_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or("/")
}

/// Puts the hash of their content behind the names that want it.
pub(crate) fn add_hashes(work: &mut Work<'_>, list: &[usize]) -> Outcome {
    for &at in list {
        let Some(root) = work.root(at) else {
            continue;
        };
        if !resource::is_enabled(&work.arena, root, resource::NEEDS_HASH) {
            continue;
        }
        let hash = hash(&work.arena, root)?;
        resource::store_id(&mut work.arena, &work.schemas, root)?;
        let name = format!("{}-{hash}", resource::name(&work.arena, root));
        resource::set_name(&mut work.arena, root, &name)?;
    }
    Ok(())
}

fn hash(arena: &Arena, root: NodeId) -> Outcome<String> {
    let kind = resource::kind(arena, root);
    let (plain, optional): (&[&str], &str) = match kind {
        "ConfigMap" => (&["data"], "binaryData"),
        "Secret" => (&["type", "data"], "stringData"),
        other => {
            return Err(Fault::text(format!(
                "a hash is asked for the name of a {other}; only ConfigMaps and Secrets have one"
            )));
        }
    };
    let mut map = Map::new();
    map.insert("kind".into(), kind.into());
    map.insert("name".into(), "".into());
    for field in plain {
        map.insert((*field).into(), hashed(arena, root, field)?);
    }
    let more = hashed(arena, root, optional)?;
    if more.is_object() {
        map.insert(optional.into(), more);
    }
    let text = json::write::to_vec(&Value::Object(map), json::write::Layout::Compact);
    let digest = ring::digest::digest(&ring::digest::SHA256, &text);
    let hex: String = digest.as_ref()[..5]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let letter = |c: char| match c {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        other => other,
    };
    Ok(hex.chars().map(letter).collect())
}

fn hashed(arena: &Arena, root: NodeId, field: &str) -> Outcome<Value> {
    match arena.field(root, field) {
        None => Ok("".into()),
        Some(id) if arena.kind(id) == Kind::Scalar => {
            Ok(Value::String(arena.get(id).value.to_string()))
        }
        Some(id) => write::to_value(arena, id, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_lose_one_pair_of_quotes() {
        assert_eq!(split_literal("a=\"b\""), Ok(("a", "b")));
        assert_eq!(split_literal("a='b"), Ok(("a", "'b")));
        assert_eq!(split_literal("a=b=c"), Ok(("a", "b=c")));
        assert!(split_literal("=b").is_err());
        assert!(split_literal("ab").is_err());
    }

    #[test]
    fn long_base64_is_wrapped() {
        assert_eq!(packed(b"hello"), "aGVsbG8=");
        let long = packed(&[b'x'; 60]);
        assert_eq!(long.lines().next().map(str::len), Some(70));
        assert!(long.ends_with('\n'));
    }
}
