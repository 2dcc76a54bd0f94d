//! Documents to manifests: lists taken apart, what is no manifest refused, origins kept.

use crate::error::RenderError;
use crate::text::place_of;
use model::{Manifest, Origin, Place, Value};
use yaml::Located;

/// Adds the manifests of one document; an empty document has none.
pub(crate) fn take(
    file: &str,
    text: &str,
    located: Located,
    out: &mut Vec<Manifest>,
) -> Result<(), RenderError> {
    if located.value.is_null() {
        return Ok(());
    }
    if let Some((pointer, problem, hint)) = fault_of(&located.value) {
        let spot = located.marks.spot(text, pointer);
        let hint = match (
            problem.ends_with("must be a string"),
            written(text, &located, pointer),
        ) {
            (true, Some(raw)) => {
                let field = pointer.rsplit('/').next().unwrap_or("");
                format!("quote it: `{field}: \"{raw}\"`")
            }
            _ => hint,
        };
        return Err(RenderError::NotAManifest {
            place: place_of(file, text, spot),
            document: located.document,
            problem,
            hint,
        });
    }
    let lines = located.lines(text);
    let Located {
        value,
        document,
        line,
        ..
    } = located;
    let origin = Origin {
        lines,
        ..Origin::new(file, document, line)
    };
    if !is_list(&value) {
        out.push(Manifest {
            object: value,
            origin,
        });
        return Ok(());
    }
    for (index, item) in items(value).into_iter().enumerate() {
        let prefix = format!("/items/{index}");
        if let Some((_, problem, hint)) = fault_of(&item) {
            let place = Place::in_text(file, text, origin.line_of(&prefix), 0);
            return Err(RenderError::NotAManifest {
                place,
                document,
                problem: format!("item {index} of the list: {problem}"),
                hint,
            });
        }
        out.push(Manifest {
            object: item,
            origin: below(&origin, &prefix),
        });
    }
    Ok(())
}

// A plain value as it stands in the text: `y` is true and `1.10` is 1.1 once they are read.
fn written<'a>(text: &'a str, located: &Located, pointer: &str) -> Option<&'a str> {
    let at = located.marks.value_offset(text, pointer)?;
    let line = text.get(at..)?.lines().next()?;
    let raw = line.split(" #").next().unwrap_or(line).trim_end();
    let plain = !raw.is_empty() && !raw.contains(['"', '\'', '{', '[', '|', '>', ',']);
    plain.then_some(raw)
}

/// Adds an object that no text holds, as of Jsonnet; lists are taken apart.
pub(crate) fn generated(
    file: &str,
    index: usize,
    object: Value,
    out: &mut Vec<Manifest>,
) -> Result<(), RenderError> {
    let list = if is_list(&object) {
        items(object)
    } else {
        vec![object]
    };
    for object in list {
        if let Some((_, problem, hint)) = fault_of(&object) {
            return Err(RenderError::NotAManifest {
                place: Place {
                    file: file.into(),
                    ..Place::default()
                },
                document: index,
                problem,
                hint,
            });
        }
        out.push(Manifest {
            object,
            origin: Origin::new(file, index, 0),
        });
    }
    Ok(())
}

// The origin of an item of a list.
fn below(origin: &Origin, prefix: &str) -> Origin {
    let inner = origin.lines.iter().filter_map(|(pointer, line)| {
        let rest = pointer.strip_prefix(prefix)?;
        rest.starts_with('/').then(|| (rest.to_owned(), *line))
    });
    Origin {
        file: origin.file.clone(),
        document: origin.document,
        line: origin.line_of(prefix),
        lines: inner.collect(),
        touched: origin.touched.clone(),
    }
}

pub(crate) fn is_list(value: &Value) -> bool {
    match value.get("items") {
        Some(Value::Array(_)) => true,
        Some(Value::Null) => kind_of(value).ends_with("List"),
        _ => false,
    }
}

fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Object(mut map) => match map.remove("items") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn kind_of(value: &Value) -> &str {
    value.get("kind").and_then(Value::as_str).unwrap_or("")
}

/// What makes a value no manifest: where, what, and what to write.
pub(crate) fn fault_of(value: &Value) -> Option<(&'static str, String, String)> {
    let Value::Object(map) = value else {
        let found = match value {
            Value::Array(_) => "a list",
            Value::String(_) => "a text",
            _ => "a single value",
        };
        return Some((
            "",
            format!("it is {found}, not an object"),
            "begin with `apiVersion:`, `kind:` and `metadata:`, or exclude the file with `directory.exclude`".into(),
        ));
    };
    let exclude = "or exclude the file with `directory.exclude`";
    for (field, shown, pointer, example) in [
        ("kind", "Kind", "/kind", "kind: ConfigMap"),
        ("apiVersion", "apiVersion", "/apiVersion", "apiVersion: v1"),
    ] {
        match map.get(field) {
            Some(Value::String(text)) if !text.is_empty() => {}
            None | Some(Value::Null | Value::String(_)) => {
                return Some((
                    pointer,
                    format!("Object '{shown}' is missing"),
                    format!("add it, as in `{example}`, {exclude}"),
                ));
            }
            Some(_) => {
                return Some((
                    pointer,
                    format!("`{field}` must be a string"),
                    format!("write it as in `{example}`"),
                ));
            }
        }
    }
    if is_list(value) {
        return None;
    }
    name_fault(map)
}

fn name_fault(map: &model::Map<String, Value>) -> Option<(&'static str, String, String)> {
    let metadata = match map.get("metadata") {
        Some(Value::Object(metadata)) => metadata,
        None | Some(Value::Null) => {
            return Some((
                "/metadata",
                "`metadata` is missing".into(),
                "add `metadata:` with a `name:`".into(),
            ));
        }
        Some(_) => {
            return Some((
                "/metadata",
                "`metadata` must be an object".into(),
                "write `name:` below `metadata:`".into(),
            ));
        }
    };
    for field in ["name", "generateName"] {
        match metadata.get(field) {
            Some(Value::String(text)) if !text.is_empty() => return None,
            None | Some(Value::Null | Value::String(_)) => {}
            Some(other) => {
                return Some((
                    if field == "name" {
                        "/metadata/name"
                    } else {
                        "/metadata/generateName"
                    },
                    format!("`metadata.{field}` must be a string"),
                    format!("quote it: `{field}: \"{other}\"`"),
                ));
            }
        }
    }
    Some((
        "/metadata",
        "`metadata.name` is missing".into(),
        "add `name:` below `metadata:`".into(),
    ))
}
