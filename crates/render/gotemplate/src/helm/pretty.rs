//! `toYamlPretty`: YAML as go-yaml v3 prints it with an indent of two, lists indented too.

use crate::object::Struct;
use crate::strconv::format_float;
use crate::value::Value;
use crate::walk::Walk;

/// Prints a value without a line break at the end; none when it is too big.
pub(super) fn to_string(value: &Value) -> Option<String> {
    let mut out = String::new();
    node(&mut out, value, 0, &mut Walk::new())?;
    if out.ends_with('\n') {
        out.pop();
    }
    Some(out)
}

enum Shape {
    Scalar(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

fn shape(value: &Value) -> Shape {
    Shape::Scalar(match value {
        Value::List(list) => match list.as_bytes() {
            Some(bytes) => text(&String::from_utf8_lossy(&bytes)),
            None => return Shape::List(list.items().to_vec()),
        },
        Value::Map(map) => {
            let entries = map.entries().into_iter();
            return sorted(entries.map(|(k, v)| (k.lossy().into_owned(), v)).collect());
        }
        Value::Struct(body) => return structure(body),
        Value::Invalid | Value::Nil => "null".to_owned(),
        Value::String(string) if std::str::from_utf8(string).is_err() => {
            format!("!!binary {}", crate::base64(string))
        }
        Value::String(string) => text(&string.lossy()),
        Value::Float(f) if f.is_nan() => ".nan".to_owned(),
        Value::Float(f) if f.is_infinite() => if *f > 0.0 { ".inf" } else { "-.inf" }.to_owned(),
        Value::Float(f) => format_float(*f, b'g', None),
        Value::Time(time) => time.rfc3339(),
        other => crate::fmt::text_of(other),
    })
}

// A struct prints as what it calls itself, or as its fields in small letters.
fn structure(body: &Struct) -> Shape {
    if let Some(string) = &body.string {
        return Shape::Scalar(text(&string.lossy()));
    }
    Shape::Map(
        body.fields
            .iter()
            .map(|(k, v)| (k.to_lowercase(), v.clone()))
            .collect(),
    )
}

fn sorted(mut entries: Vec<(String, Value)>) -> Shape {
    entries.sort_by(|a, b| yaml::compare_keys(&a.0, &b.0));
    Shape::Map(entries)
}

// A string, quoted or as a block where it must be; long ones stay on their line.
fn text(text: &str) -> String {
    let printed = yaml::to_string(&model::Value::String(text.to_owned()));
    let printed = printed.strip_suffix('\n').unwrap_or(&printed);
    if text.contains('\n') || !printed.contains('\n') {
        return printed.to_owned();
    }
    printed
        .lines()
        .map(str::trim_start)
        .collect::<Vec<_>>()
        .join(" ")
}

fn node(out: &mut String, value: &Value, indent: usize, walk: &mut Walk) -> Option<()> {
    walk.down(|walk| match shape(value) {
        Shape::Scalar(text) => {
            scalar(out, &text, indent);
            Some(())
        }
        Shape::List(items) => list(out, &items, indent, walk),
        Shape::Map(entries) => map(out, &entries, indent, walk),
    })
}

// The lines of a block stand two columns right of the collection around them.
fn scalar(out: &mut String, text: &str, indent: usize) {
    let mut lines = text.split('\n');
    out.push_str(lines.next().unwrap_or(""));
    for line in lines {
        out.push('\n');
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
    }
    out.push('\n');
}

fn list(out: &mut String, items: &[Value], indent: usize, walk: &mut Walk) -> Option<()> {
    if items.is_empty() {
        out.push_str("[]\n");
        return Some(());
    }
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str("- ");
        let inner = if matches!(shape(item), Shape::Scalar(_)) {
            indent
        } else {
            indent + 2
        };
        node(out, item, inner, walk)?;
    }
    Some(())
}

fn map(
    out: &mut String,
    entries: &[(String, Value)],
    indent: usize,
    walk: &mut Walk,
) -> Option<()> {
    if entries.is_empty() {
        out.push_str("{}\n");
        return Some(());
    }
    for (i, (key, value)) in entries.iter().enumerate() {
        if i > 0 {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(&text(key));
        out.push(':');
        let filled = match shape(value) {
            Shape::List(items) => !items.is_empty(),
            Shape::Map(entries) => !entries.is_empty(),
            Shape::Scalar(_) => false,
        };
        if filled {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            node(out, value, indent + 2, walk)?;
        } else {
            out.push(' ');
            node(out, value, indent, walk)?;
        }
    }
    Some(())
}
