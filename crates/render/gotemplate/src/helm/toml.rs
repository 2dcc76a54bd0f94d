//! TOML as the library BurntSushi/toml writes it; [`read`] reads it.

mod read;

pub(super) use read::parse;

use crate::function::Edition;
use crate::strconv::format_float;
use crate::value::Value;
use crate::walk::Walk;

const NIL_ELEMENT: &str = "toml: cannot encode array with nil element";
const TOO_BIG: &str = "toml: the value is too big";

/// Prints a value; the error is the library's.
pub(super) fn to_string(value: &Value, edition: Edition) -> Result<String, String> {
    let mut writer = Writer {
        out: String::new(),
        edition,
        walk: Walk::new(),
    };
    match value {
        Value::Map(_) | Value::Struct(_) if entries(value).is_some() => {
            writer.table(&[], value)?;
        }
        other if is_table_list(other) => {
            return Err("toml: top-level values must be Go maps or structs".to_owned());
        }
        other => writer.element(other)?,
    }
    Ok(writer.out)
}

struct Writer {
    out: String,
    edition: Edition,
    walk: Walk,
}

// The entries of a table; none of what is no table.
fn entries(value: &Value) -> Option<Vec<(String, Value)>> {
    match value {
        Value::Map(map) => Some(
            map.entries()
                .into_iter()
                .map(|(k, v)| (k.lossy().into_owned(), v))
                .collect(),
        ),
        Value::Struct(body) if body.string.is_none() => Some(
            body.fields
                .iter()
                .map(|(k, v)| ((*k).to_owned(), v.clone()))
                .collect(),
        ),
        _ => None,
    }
}

fn is_table_list(value: &Value) -> bool {
    match value {
        Value::List(list) => {
            !list.items().is_empty() && list.items().iter().all(|v| entries(v).is_some())
        }
        _ => false,
    }
}

// Values that stand for nothing are left out.
fn is_absent(value: &Value) -> bool {
    match value {
        Value::Invalid | Value::Nil => true,
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        _ => false,
    }
}

fn key_text(key: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !key.is_empty() && key.bytes().all(bare) {
        return key.to_owned();
    }
    quoted(key)
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl Writer {
    fn newline(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn header(&mut self, key: &[String], open: &str, close: &str) {
        let names: Vec<String> = key.iter().map(|k| key_text(k)).collect();
        self.out.push_str(&"  ".repeat(key.len() - 1));
        self.out
            .push_str(&format!("{open}{}{close}\n", names.join(".")));
    }

    fn deeper(&mut self, work: impl FnOnce(&mut Self) -> Result<(), String>) -> Result<(), String> {
        let mut walk = std::mem::replace(&mut self.walk, Walk::new());
        let mut result = Ok(());
        let fine = walk.down(|walk| {
            std::mem::swap(&mut self.walk, walk);
            result = work(self);
            std::mem::swap(&mut self.walk, walk);
            Some(())
        });
        self.walk = walk;
        match fine {
            Some(()) => result,
            None => Err(TOO_BIG.to_owned()),
        }
    }

    // The keys of a table: plain values first, then tables.
    fn table(&mut self, key: &[String], value: &Value) -> Result<(), String> {
        let all = entries(value).unwrap_or_default();
        let is_sub = |v: &Value| entries(v).is_some() || is_table_list(v);
        for (name, value) in all.iter().filter(|(_, v)| !is_sub(v) && !is_absent(v)) {
            self.out.push_str(&"  ".repeat(key.len()));
            self.out.push_str(&format!("{} = ", key_text(name)));
            self.element(value)?;
            self.out.push('\n');
        }
        for (name, value) in all.iter().filter(|(_, v)| is_sub(v) && !is_absent(v)) {
            let mut key = key.to_vec();
            key.push(name.clone());
            self.deeper(|w| w.sub(&key, value))?;
        }
        Ok(())
    }

    fn sub(&mut self, key: &[String], value: &Value) -> Result<(), String> {
        if let Value::List(list) = value {
            for item in list.items() {
                self.newline();
                self.header(key, "[[", "]]");
                self.table(key, item)?;
            }
            return Ok(());
        }
        if key.len() == 1 {
            self.newline();
        }
        self.header(key, "[", "]");
        self.table(key, value)
    }

    fn element(&mut self, value: &Value) -> Result<(), String> {
        match value {
            Value::Invalid | Value::Nil => {
                return Err("reflect: call of reflect.Value.Type on zero Value".to_owned());
            }
            Value::List(list) => {
                self.out.push('[');
                for (i, item) in list.items().iter().enumerate() {
                    if item.is_nil() {
                        return Err(NIL_ELEMENT.to_owned());
                    }
                    self.out.push_str(if i > 0 { ", " } else { "" });
                    self.deeper(|w| w.element(item))?;
                }
                self.out.push(']');
            }
            Value::String(text) => self.out.push_str(&quoted(&text.lossy())),
            Value::Float(f) => {
                let text = self.float(*f);
                self.out.push_str(&text);
            }
            Value::Time(time) => self.out.push_str(&read::time_text(time)),
            Value::Struct(body) if body.string.is_some() => {
                let text = body.string.clone().unwrap_or_default();
                self.out.push_str(&quoted(&text.lossy()));
            }
            Value::Map(_) | Value::Struct(_) => {
                self.out.push('{');
                // Plain values first; a comma follows each but the last, even if that is absent.
                let all = entries(value).unwrap_or_default();
                let is_sub = |v: &Value| entries(v).is_some() || is_table_list(v);
                let (sub, plain): (Vec<_>, Vec<_>) = all
                    .iter()
                    .filter(|(_, v)| !v.is_nil())
                    .partition(|(_, v)| is_sub(v));
                let nil = all.iter().filter(|(_, v)| v.is_nil());
                let mut ordered: Vec<&(String, Value)> = plain.into_iter().chain(nil).collect();
                ordered.sort_by(|a, b| a.0.cmp(&b.0));
                ordered.extend(sub);
                let last = ordered.len().wrapping_sub(1);
                for (i, (name, value)) in ordered.into_iter().enumerate() {
                    if is_absent(value) {
                        continue;
                    }
                    self.out.push_str(&format!("{} = ", key_text(name)));
                    self.deeper(|w| w.element(value))?;
                    self.out.push_str(if i == last { "" } else { ", " });
                }
                self.out.push('}');
            }
            Value::Complex(..) => {
                return Err("unsupported type for key '': complex128".to_owned());
            }
            other => self.out.push_str(&crate::fmt::text_of(other)),
        }
        Ok(())
    }

    // Whole numbers keep a point, so that they are read as floats again.
    fn float(&self, f: f64) -> String {
        if f.is_nan() {
            return "nan".to_owned();
        }
        if f.is_infinite() {
            return if f > 0.0 { "inf" } else { "-inf" }.to_owned();
        }
        let notation = if self.edition == Edition::Helm3 {
            b'f'
        } else {
            b'g'
        };
        let text = format_float(f, notation, None);
        if text.contains(['.', 'e']) {
            text
        } else {
            format!("{text}.0")
        }
    }
}
