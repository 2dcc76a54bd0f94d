//! Prints objects as the API server's own in-memory structs print: with Go's field names, in Go's
//! order, and with every unset field spelled out.
//!
//! Some messages hold such a dump: the refused template of a Job, the difference between two pod
//! specs. `go.txt` is the table of the structs: one per line, its fields as `Name:json:type`.
//!
//! ```text
//! s  text        i  number      b  boolean      q  quantity       p  port: number or text
//! *  pointer     [] list        {} map          L  label selector m  metadata, inlined
//! @T struct      *T pointer to struct           []T list of structs
//! ```

use crate::fields::{get, has};
use model::{Quantity, Value};
use std::collections::BTreeMap;
use std::sync::OnceLock;

const DEPTH_MAX: usize = 32;

struct Field {
    name: &'static str,
    json: &'static str,
    kind: &'static str,
}

type Table = BTreeMap<&'static str, Vec<Field>>;

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        include_str!("go.txt")
            .lines()
            .filter_map(read_line)
            .collect()
    })
}

fn read_line(line: &'static str) -> Option<(&'static str, Vec<Field>)> {
    let (name, fields) = line.split_once(' ')?;
    let fields = fields
        .split(' ')
        .filter_map(|field| {
            let mut parts = field.splitn(3, ':');
            Some(Field {
                name: parts.next()?,
                json: parts.next()?,
                kind: parts.next()?,
            })
        })
        .collect();
    Some((name, fields))
}

/// Prints a value as a struct on one line, as refused values are shown.
pub(crate) fn show(kind: &str, value: &Value) -> String {
    let mut printer = Printer::new(false);
    printer.object(kind, value, value, 0);
    printer.out
}

/// Prints a value as a struct over many lines, as differences are made of.
fn pretty(kind: &str, value: &Value) -> String {
    let mut printer = Printer::new(true);
    printer.object(kind, value, value, 0);
    printer.out
}

/// The difference between two values, both printed as a struct.
pub(crate) fn diff(kind: &str, old: &Value, new: &Value) -> String {
    crate::diff::unified(&pretty(kind, old), &pretty(kind, new))
}

struct Printer {
    out: String,
    lines: bool,
}

impl Printer {
    fn new(lines: bool) -> Self {
        Self {
            out: String::new(),
            lines,
        }
    }

    fn line(&mut self, depth: usize) {
        if self.lines {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', depth));
        }
    }

    fn key(&mut self, first: &mut bool, name: &str, depth: usize) {
        if !*first {
            self.out.push(',');
        }
        *first = false;
        self.line(depth + 1);
        self.text(name);
        self.out.push(':');
        if self.lines {
            self.out.push(' ');
        }
    }

    // `owner` is the value around this struct: some fields of the struct are kept there in JSON.
    fn object(&mut self, kind: &str, value: &Value, owner: &Value, depth: usize) {
        let Some(fields) = table().get(kind).filter(|_| depth < DEPTH_MAX) else {
            return self.plain(value, depth);
        };
        self.out.push('{');
        let mut first = true;
        for field in fields {
            if field.kind == "m" {
                self.metadata(get(value, field.json), &mut first, depth);
                continue;
            }
            let moved = kind == "PodSecurityContext"
                && (field.json.starts_with("host") || field.json == "shareProcessNamespace");
            let found = get(if moved { owner } else { value }, field.json);
            self.key(&mut first, field.name, depth);
            self.field(field.kind, found, value, depth + 1);
        }
        self.close('}', first, depth);
    }

    fn close(&mut self, bracket: char, empty: bool, depth: usize) {
        if !empty {
            self.line(depth);
        }
        self.out.push(bracket);
    }

    fn field(&mut self, kind: &str, value: &Value, owner: &Value, depth: usize) {
        if let Some(kind) = kind.strip_prefix('@') {
            return self.object(kind, value, owner, depth);
        }
        if value.is_null() {
            let zero = match kind {
                "s" => "\"\"",
                "i" | "p" => "0",
                "b" => "false",
                "q" => "\"0\"",
                _ => "null",
            };
            return self.out.push_str(zero);
        }
        match kind {
            "L" => self.selector(value, depth),
            "q" => match Quantity::from_json(value) {
                Some(quantity) => self.text(&quantity.to_string()),
                None => self.plain(value, depth),
            },
            _ => match (kind.strip_prefix("[]"), kind.strip_prefix('*')) {
                (Some(kind), _) if !kind.is_empty() => self.list(kind, value, depth),
                (_, Some(kind)) if !kind.is_empty() => self.object(kind, value, owner, depth),
                _ => self.plain(value, depth),
            },
        }
    }

    fn list(&mut self, kind: &str, value: &Value, depth: usize) {
        self.out.push('[');
        let mut first = true;
        for item in value.as_array().into_iter().flatten() {
            if !first {
                self.out.push(',');
            }
            first = false;
            self.line(depth + 1);
            self.object(kind, item, item, depth + 1);
        }
        self.close(']', first, depth);
    }

    fn ordered(&mut self, value: &Value, fields: &[&str], first: &mut bool, depth: usize) {
        for field in fields.iter().filter(|field| has(value, field)) {
            self.key(first, field, depth);
            self.plain(get(value, field), depth + 1);
        }
    }

    fn metadata(&mut self, value: &Value, first: &mut bool, depth: usize) {
        let fields = [
            "name",
            "generateName",
            "namespace",
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
            "labels",
            "annotations",
            "ownerReferences",
            "finalizers",
        ];
        self.ordered(value, &fields, first, depth);
    }

    fn selector(&mut self, value: &Value, depth: usize) {
        self.out.push('{');
        let mut first = true;
        self.ordered(
            value,
            &["matchLabels", "matchExpressions"],
            &mut first,
            depth,
        );
        self.close('}', first, depth);
    }

    fn plain(&mut self, value: &Value, depth: usize) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) if depth < DEPTH_MAX => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.line(depth + 1);
                    self.plain(item, depth + 1);
                }
                self.close(']', items.is_empty(), depth);
            }
            Value::Object(map) if depth < DEPTH_MAX => {
                self.out.push('{');
                let mut first = true;
                for (key, item) in map {
                    self.key(&mut first, key, depth);
                    self.plain(item, depth + 1);
                }
                self.close('}', first, depth);
            }
            other => self.out.push_str(&other.to_string()),
        }
    }

    fn text(&mut self, text: &str) {
        let quoted = Value::from(text).to_string();
        for c in quoted.chars() {
            match c {
                '<' => self.out.push_str("\\u003c"),
                '>' => self.out.push_str("\\u003e"),
                '&' => self.out.push_str("\\u0026"),
                '\u{2028}' => self.out.push_str("\\u2028"),
                '\u{2029}' => self.out.push_str("\\u2029"),
                c => self.out.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn structs_spell_out_every_field() {
        assert_eq!(
            show("ServicePort", &json!({"port": 80, "protocol": "TCP"})),
            r#"{"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}"#
        );
        let strategy = json!({"type": "X", "rollingUpdate": {"maxSurge": "25%"}});
        assert_eq!(
            show("DeploymentStrategy", &strategy),
            r#"{"Type":"X","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"25%"}}"#
        );
    }

    #[test]
    fn host_flags_are_printed_inside_the_security_context() {
        let shown = show(
            "PodSpec",
            &json!({"hostNetwork": true, "securityContext": {}}),
        );
        assert!(shown.contains(r#""SecurityContext":{"HostNetwork":true,"HostPID":false"#));
    }

    #[test]
    fn differences_read_as_the_server_prints_them() {
        let old = json!({"accessModes": ["ReadWriteOnce"]});
        let new = json!({"accessModes": ["ReadWriteMany"]});
        let expected = "@@ -1,6 +1,6 @@\n {\n  \"AccessModes\": [\n-  \"ReadWriteOnce\"\n\
             +  \"ReadWriteMany\"\n  ],\n  \"Selector\": null,\n  \"Resources\": {\n";
        assert_eq!(diff("PersistentVolumeClaimSpec", &old, &new), expected);
    }
}
