//! A schema document, its draft, and what its references lead to.

use model::{Map, Value};
use std::collections::BTreeMap;

/// Which rules a schema follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    D4,
    D6,
    D7,
    D2019,
    D2020,
    /// No draft we know is named.
    Unknown,
}

#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Value,
    pub(super) draft: Draft,
    // Where schemas with a name of their own stand, by that name.
    named: BTreeMap<String, String>,
}

/// Why a reference leads nowhere.
#[derive(Debug)]
pub(super) struct Dangling {
    pub(super) reference: String,
    pub(super) remote: bool,
}

impl Document {
    pub(super) fn new(root: Value) -> Self {
        let draft = draft_of(&root);
        let mut named = BTreeMap::new();
        collect(&root, String::new(), "", &mut named, 0);
        Self { root, draft, named }
    }

    /// The schema a reference leads to, with the pointer at which it stands.
    pub(super) fn resolve(&self, reference: &str) -> Result<(&Value, String), Dangling> {
        let dangling = |remote| Dangling {
            reference: reference.to_owned(),
            remote,
        };
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let at = if base.is_empty() {
            String::new()
        } else {
            let known = self.named.get(base).cloned();
            known.ok_or_else(|| dangling(true))?
        };
        let pointer = if fragment.is_empty() {
            at
        } else if fragment.starts_with('/') {
            format!("{at}{}", percent_decoded(fragment))
        } else {
            let name = format!("{base}#{fragment}");
            self.named
                .get(&name)
                .cloned()
                .ok_or_else(|| dangling(false))?
        };
        match self.root.pointer(&pointer) {
            Some(schema) => Ok((schema, pointer)),
            None => Err(dangling(false)),
        }
    }
}

fn draft_of(root: &Value) -> Draft {
    let named = root
        .get("$schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let named = named.trim_end_matches('#');
    let named = named
        .strip_prefix("https://")
        .or(named.strip_prefix("http://"));
    match named.unwrap_or_default() {
        "json-schema.org/draft-04/schema" => Draft::D4,
        "json-schema.org/draft-06/schema" => Draft::D6,
        "json-schema.org/draft-07/schema" => Draft::D7,
        "json-schema.org/draft/2019-09/schema" => Draft::D2019,
        "json-schema.org/draft/2020-12/schema" | "json-schema.org/schema" => Draft::D2020,
        _ => Draft::Unknown,
    }
}

// Notes every `$id` and anchor below a schema.
fn collect(
    value: &Value,
    pointer: String,
    base: &str,
    named: &mut BTreeMap<String, String>,
    depth: usize,
) {
    if depth > super::DEPTH_MAX {
        return;
    }
    let Value::Object(map) = value else {
        if let Value::Array(items) = value {
            for (at, item) in items.iter().enumerate() {
                collect(item, format!("{pointer}/{at}"), base, named, depth + 1);
            }
        }
        return;
    };
    let id = text(map, "$id").or_else(|| text(map, "id"));
    let mut base = base.to_owned();
    if let Some(id) = id {
        if let Some(anchor) = id.strip_prefix('#') {
            named.insert(format!("{base}#{anchor}"), pointer.clone());
            named.insert(format!("#{anchor}"), pointer.clone());
        } else {
            let id = id.trim_end_matches('#');
            base = joined(&base, id);
            named.insert(base.clone(), pointer.clone());
            named.insert(id.to_owned(), pointer.clone());
        }
    }
    for key in ["$anchor", "$dynamicAnchor"] {
        if let Some(anchor) = text(map, key) {
            named.insert(format!("{base}#{anchor}"), pointer.clone());
            named
                .entry(format!("#{anchor}"))
                .or_insert_with(|| pointer.clone());
        }
    }
    for (key, inner) in map {
        if matches!(key.as_str(), "enum" | "const" | "default" | "examples") {
            continue;
        }
        let escaped = key.replace('~', "~0").replace('/', "~1");
        collect(
            inner,
            format!("{pointer}/{escaped}"),
            &base,
            named,
            depth + 1,
        );
    }
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    map.get(key).and_then(Value::as_str)
}

fn joined(base: &str, id: &str) -> String {
    if id.contains("://") || id.starts_with("urn:") || base.is_empty() {
        return id.to_owned();
    }
    match base.rfind('/') {
        Some(at) => format!("{}{id}", &base[..=at]),
        None => id.to_owned(),
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let decoded = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, decoded) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (byte, _) => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
