//! Paths to fields as rules and selectable fields write them: `.spec.m['key']`.

use model::{Path, Value};

/// Reads a path and checks that the schema has such a field.
///
/// Gives the path as errors print it (`spec.m[key]`) and the schema found there.
pub fn field_path<'v>(text: &str, schema: &'v Value) -> Result<(Path, &'v Value), String> {
    let mut path = Path::root();
    let mut at = schema;
    let mut rest = text;
    while !rest.is_empty() {
        let (name, after) = if let Some(inner) = rest.strip_prefix('[') {
            quoted(inner)?
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[', ']']).unwrap_or(after.len());
            if end == 0 {
                return Err(missing(after));
            }
            (after[..end].to_owned(), &after[end..])
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            return Err(format!("expected [ or . but got: {}", &rest[..end]));
        };
        (path, at) = step(&path, at, &name)?;
        rest = after;
    }
    Ok((path, at))
}

fn missing(after: &str) -> String {
    if after.is_empty() {
        "unexpected end of JSON path".into()
    } else {
        "does not refer to a valid field".into()
    }
}

fn step<'v>(path: &Path, schema: &'v Value, name: &str) -> Result<(Path, &'v Value), String> {
    let unknown = || "does not refer to a valid field".to_owned();
    let object = |key: &str| schema.get(key).filter(|v| v.is_object());
    match (object("properties"), object("additionalProperties")) {
        (Some(properties), _) => {
            let below = properties.get(name).ok_or_else(unknown)?;
            Ok((path.child(name), below))
        }
        (None, Some(values)) => Ok((path.key(name), values)),
        (None, None) => Err(unknown()),
    }
}

// `'name']` and what follows.
fn quoted(inner: &str) -> Result<(String, &str), String> {
    let end = || "unexpected end of JSON path".to_owned();
    if inner.is_empty() {
        return Err(end());
    }
    let Some(body) = inner.strip_prefix('\'') else {
        let stop = inner.find(['.', '[', ']']).unwrap_or(inner.len());
        let found = &inner[..stop.max(1).min(inner.len())];
        return Err(format!("expected single quoted string but got {found}"));
    };
    let mut name = String::new();
    let mut chars = body.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '\'' => {
                let after = &body[i + 1..];
                let after = after.strip_prefix(']').ok_or_else(end)?;
                return Ok((name, after));
            }
            '\\' => {
                let (_, escaped) = chars.next().ok_or_else(end)?;
                name.push(match escaped {
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\u{b}',
                    '\'' | '\\' => escaped,
                    other => {
                        return Err(format!(
                            "invalid string literal: invalid escape char \\{other}"
                        ));
                    }
                });
            }
            other => name.push(other),
        }
    }
    Err(end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn paths_follow_the_schema() {
        let schema = json!({"properties": {
            "spec": {"properties": {"m": {"additionalProperties": {"type": "string"}}}},
        }});
        let check = |text: &str| match field_path(text, &schema) {
            Ok((path, _)) => path.to_string(),
            Err(why) => format!("! {why}"),
        };
        assert_eq!(check(".spec.m['a.b']"), "spec.m[a.b]");
        assert_eq!(check(".spec['m'].x"), "spec.m[x]");
        assert_eq!(check(".spec.x"), "! does not refer to a valid field");
        assert_eq!(check("spec"), "! expected [ or . but got: spec");
        assert_eq!(check(".spec.m["), "! unexpected end of JSON path");
        assert_eq!(
            check(".spec.m[0]"),
            "! expected single quoted string but got 0"
        );
        assert_eq!(check("."), "! unexpected end of JSON path");
    }
}
