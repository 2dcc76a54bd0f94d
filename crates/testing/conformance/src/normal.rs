//! Brings an answer to a form that two servers share.
//!
//! What differs between any two runs is replaced by a word in angle brackets. Everything else is
//! compared as it is, also the texts of messages and field ownership.
//!
//! | what | becomes |
//! |---|---|
//! | a UUID, anywhere in a text | `<uid-1>`, numbered by first appearance in the answer; those that begin with `00000000-` are ours and stay |
//! | `resourceVersion` of an object, list or bookmark | `<rv>`; `<rv NAME>` when it equals a saved value and belongs to a single object, which is how a write that changed nothing is told |
//! | an instant after 2021, anywhere in a text | `<time>` or `<microtime>`; our own data use earlier years |
//! | a name made from `generateName` | the prefix and `<random>` |
//! | `10.0.0.N` that no request mentions | `<ip>` |
//! | `nodePort`, `healthCheckNodePort` | `<port>` unless below 30000 or above 32767 or mentioned in a request |
//! | `127.0.0.1:N` | `127.0.0.1:<port>` |
//! | `continue` | `<continue>` |
//! | PEM, plain or in base64 | `<pem>` |
//! | a signed token (three base64 parts) | `<token>` |
//! | revisions in messages (`current: N`, `: N (M)`) and YAML | `<rv>` |
//! | hashes in OpenAPI addresses, `Etag`, `Last-Modified` | `<hash>`, `<etag>`, `<time>` |
//! | descriptions of table columns | `<prose>`: texts for people are not taken over |
//! | ages in table cells | `<age>` |
//! | order of `managedFields` entries | by operation, manager, version, subresource: a real server sorts by time, and two writes may or may not share a second |
//! | order of conflicts with several managers | by message |
//! | `serverAddress` | `<address>` |
//! | headers that only the transport needs | left out |

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What earlier requests of the run tell about an answer.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Saved values by name.
    pub saved: BTreeMap<String, String>,
    /// The text of all requests so far.
    pub asked: String,
}

/// Headers nobody compares.
const TRANSPORT: [&str; 10] = [
    "date",
    "audit-id",
    "content-length",
    "cache-control",
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
    "transfer-encoding",
    "connection",
    "x-varied-accept",
    "keep-alive",
];

/// The headers of an answer; one that came more than once is a list.
pub fn headers(pairs: &[(String, String)], known: &Known) -> Value {
    let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in pairs {
        let lower = name.to_ascii_lowercase();
        if TRANSPORT.contains(&lower.as_str()) {
            continue;
        }
        let value = match lower.as_str() {
            "etag" => "<etag>".to_owned(),
            "last-modified" | "expires" => "<time>".to_owned(),
            _ => words(value, known, &mut Vec::new()),
        };
        kept.entry(title_case(&lower)).or_default().push(value);
    }
    let fields = kept.into_iter().map(|(name, mut values)| {
        let value = if values.len() == 1 {
            Value::String(values.remove(0))
        } else {
            json!(values)
        };
        (name, value)
    });
    Value::Object(fields.collect::<Map<_, _>>())
}

fn title_case(name: &str) -> String {
    let part = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    name.split('-').map(part).collect::<Vec<_>>().join("-")
}

/// The body of an answer.
pub fn body(mut value: Value, known: &Known) -> Value {
    let mut walk = Walk {
        known,
        uids: Vec::new(),
    };
    walk.value(&mut value, 0);
    value
}

/// Deepest nesting that is walked; answers of a server are far flatter.
const DEPTH_MAX: usize = 200;

struct Walk<'a> {
    known: &'a Known,
    uids: Vec<String>,
}

impl Walk<'_> {
    fn value(&mut self, value: &mut Value, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        match value {
            Value::Object(fields) => self.object(fields, depth),
            Value::Array(items) => items.iter_mut().for_each(|v| self.value(v, depth + 1)),
            Value::String(text) => *text = words(text, self.known, &mut self.uids),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, depth: usize) {
        generated_name(fields);
        let table = fields.get("kind").is_some_and(|kind| kind == "Table");
        let lists = fields.contains_key("items") || table;
        for (key, value) in fields.iter_mut() {
            match (key.as_str(), &mut *value) {
                ("resourceVersion", Value::String(text)) => self.revision(text),
                ("continue", Value::String(text)) if !text.is_empty() => {
                    *text = "<continue>".into();
                }
                ("serverAddress", Value::String(text)) => *text = "<address>".into(),
                ("causes", Value::Array(causes)) => {
                    // Conflicts with several managers come in no order.
                    if causes.iter().all(|c| c["reason"] == "FieldManagerConflict") {
                        causes.sort_by_key(|c| c["message"].to_string());
                    }
                    self.value(value, depth + 1);
                }
                ("nodePort" | "healthCheckNodePort", Value::Number(_)) => {
                    self.port(value);
                }
                ("managedFields", Value::Array(entries)) => {
                    entries.sort_by_cached_key(entry_key);
                    self.value(value, depth + 1);
                }
                ("columnDefinitions", Value::Array(columns)) if table => {
                    columns.iter_mut().for_each(forget_prose);
                }
                ("rows", Value::Array(rows)) if table => {
                    rows.iter_mut().for_each(ages);
                    self.value(value, depth + 1);
                }
                ("metadata", Value::Object(metadata)) if lists => {
                    if let Some(rv) = metadata.get_mut("resourceVersion") {
                        *rv = "<rv>".into();
                    }
                    self.value(value, depth + 1);
                }
                _ => self.value(value, depth + 1),
            }
        }
    }

    fn revision(&self, text: &mut String) {
        if text.is_empty() || text.starts_with('<') {
            return;
        }
        let saved = self.known.saved.iter().find(|(_, value)| *value == text);
        *text = match saved {
            Some((name, _)) => format!("<rv {name}>"),
            None => "<rv>".to_owned(),
        };
    }

    fn port(&self, value: &mut Value) {
        let number = value.as_u64().unwrap_or(0);
        let ours = self.known.asked.contains(&number.to_string());
        if (30000..=32767).contains(&number) && !ours {
            *value = "<port>".into();
        }
    }
}

fn entry_key(entry: &Value) -> (String, String, String, String) {
    let text = |key: &str| {
        entry
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned()
    };
    (
        text("operation"),
        text("manager"),
        text("apiVersion"),
        text("subresource"),
    )
}

fn generated_name(fields: &mut Map<String, Value>) {
    let Some(prefix) = fields.get("generateName").and_then(Value::as_str) else {
        return;
    };
    let made = format!("{prefix}<random>");
    let name = fields.get("name").and_then(Value::as_str);
    if name.is_some_and(|name| name.len() == prefix.len() + 5 && name.starts_with(prefix)) {
        fields.insert("name".into(), made.into());
    }
}

fn forget_prose(column: &mut Value) {
    if let Some(description) = column.get_mut("description") {
        *description = "<prose>".into();
    }
}

fn ages(row: &mut Value) {
    for cell in row["cells"].as_array_mut().into_iter().flatten() {
        let age = cell.as_str().is_some_and(|text| {
            let number = text.trim_end_matches(['s', 'm', 'h', 'd']);
            let digits = |c: char| c.is_ascii_digit() || matches!(c, 's' | 'm' | 'h' | 'd');
            number.len() < text.len()
                && text.starts_with(|c: char| c.is_ascii_digit())
                && text.chars().all(digits)
        });
        if age {
            *cell = "<age>".into();
        }
    }
}

/// One text, piece by piece.
pub fn words(text: &str, known: &Known, uids: &mut Vec<String>) -> String {
    if text.contains("-----BEGIN ") || text.starts_with("LS0tLS1CRUdJTi") {
        return "<pem>".into();
    }
    if is_token(text) {
        return "<token>".into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let boundary = !out.ends_with(|c: char| c.is_ascii_alphanumeric());
        let found = if boundary {
            piece(rest, &out, known, uids)
        } else {
            None
        };
        if let Some((length, word)) = found {
            out.push_str(&word);
            rest = &rest[length..];
        } else {
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    out
}

// What stands at the beginning of the text, when it is something that is replaced.
fn piece(
    text: &str,
    before: &str,
    known: &Known,
    uids: &mut Vec<String>,
) -> Option<(usize, String)> {
    if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    if matches(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
        let uid = &text[..36];
        return (!uid.starts_with("00000000-")).then(|| (36, uid_word(uid, uids)));
    }
    if let Some(found) = instant(text) {
        return Some(found);
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 && before.ends_with("127.0.0.1:") {
        return Some((digits, "<port>".into()));
    }
    let revision = before.ends_with("current: ")
        || before.ends_with("resourceVersion: \"")
        || before.ends_with("\\\"resourceVersion\\\":\\\"")
        || before.ends_with("\"resourceVersion\":\"")
        || (before.ends_with('(') && before.contains("too old resource version: "));
    if digits > 0 && revision {
        return Some((digits, "<rv>".into()));
    }
    if before.ends_with("?hash=") {
        let end = text.find(['&', '"', ' ']).unwrap_or(text.len());
        return Some((end, "<hash>".into()));
    }
    let address = text.strip_prefix("10.0.0.")?;
    let tail = address.len()
        - address
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .len();
    let whole = &text[..7 + tail];
    let ours = tail == 0 || whole == "10.0.0.1" || known.asked.contains(whole);
    (!ours && !address[tail..].starts_with('/')).then(|| (whole.len(), "<ip>".into()))
}

fn uid_word(uid: &str, uids: &mut Vec<String>) -> String {
    let at = uids.iter().position(|u| u == uid).unwrap_or_else(|| {
        uids.push(uid.to_owned());
        uids.len() - 1
    });
    format!("<uid-{}>", at + 1)
}

// `x` is a hexadecimal digit, `d` a decimal one.
fn matches(text: &str, pattern: &str) -> bool {
    let mut letters = text.bytes();
    pattern.bytes().all(|wanted| {
        letters.next().is_some_and(|letter| match wanted {
            b'x' => letter.is_ascii_hexdigit(),
            b'd' => letter.is_ascii_digit(),
            _ => letter == wanted,
        })
    })
}

fn instant(text: &str) -> Option<(usize, String)> {
    if !matches(text, "dddd-dd-ddTdd:dd:dd") && !matches(text, "dddd-dd-dd dd:dd:dd") {
        return None;
    }
    if text.get(..4)? < "2022" {
        return None;
    }
    let rest = &text[19..];
    if rest.starts_with('Z') {
        return Some((20, "<time>".into()));
    }
    let fraction = rest.strip_prefix('.')?;
    let digits = fraction.len()
        - fraction
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .len();
    fraction[digits..]
        .starts_with('Z')
        .then(|| (19 + 1 + digits + 1, "<microtime>".into()))
}

fn is_token(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let base64 = |part: &&str| {
        part.len() > 20
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    parts.len() == 3 && parts[0].starts_with("eyJ") && parts.iter().all(base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: &str) {
        let known = Known {
            asked: "clusterIP 10.0.0.77".into(),
            ..Known::default()
        };
        assert_eq!(words(text, &known, &mut Vec::new()), wanted);
    }

    #[test]
    fn texts_lose_what_differs_between_runs() {
        check("2026-11-15T19:57:17Z", "<time>");
        check("2026-11-15T19:57:17.123456Z", "<microtime>");
        check("2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z");
        let uid = "a6286382-eb89-481c-8a7c-dae64294f283";
        let text = format!(
            "UID in precondition: 00000000-0000-0000-0000-000000000000, UID in object meta: {uid}"
        );
        check(
            &text,
            "UID in precondition: 00000000-0000-0000-0000-000000000000, UID in object meta: <uid-1>",
        );
        check(
            "too old resource version: 1 (983)",
            "too old resource version: 1 (<rv>)",
        );
        check(
            "Too large resource version: 99, current: 983",
            "Too large resource version: 99, current: <rv>",
        );
        check(
            "dial tcp 127.0.0.1:4711: refused",
            "dial tcp 127.0.0.1:<port>: refused",
        );
        check("10.0.0.34", "<ip>");
        check(
            "10.0.0.77 10.0.0.1 10.0.0.0/24",
            "10.0.0.77 10.0.0.1 10.0.0.0/24",
        );
        check(
            "/openapi/v3/api/v1?hash=A0F1",
            "/openapi/v3/api/v1?hash=<hash>",
        );
    }

    #[test]
    fn a_write_that_changed_nothing_keeps_its_version() {
        let mut known = Known::default();
        known.saved.insert("rv".into(), "17".into());
        let object = |rv: &str| json!({"metadata": {"resourceVersion": rv}});
        assert_eq!(body(object("17"), &known), object("<rv rv>"));
        assert_eq!(body(object("18"), &known), object("<rv>"));
        let list = json!({"items": [], "metadata": {"resourceVersion": "17"}});
        assert_eq!(body(list, &known)["metadata"]["resourceVersion"], "<rv>");
    }

    #[test]
    fn uids_keep_their_identity_within_an_answer() {
        let (a, b) = (
            "a6286382-eb89-481c-8a7c-dae64294f283",
            "b6286382-eb89-481c-8a7c-dae64294f283",
        );
        let value = json!([a, b, a]);
        let wanted = json!(["<uid-1>", "<uid-2>", "<uid-1>"]);
        assert_eq!(body(value, &Known::default()), wanted);
    }

    #[test]
    fn generated_names_and_ages_are_not_compared() {
        let value = json!({"generateName": "a-", "name": "a-x7k2p"});
        assert_eq!(body(value, &Known::default())["name"], "a-<random>");
        let table =
            json!({"kind": "Table", "rows": [{"cells": ["x", "5s", "3m2s", "<none>", "ds"]}]});
        let cells = &body(table, &Known::default())["rows"][0]["cells"];
        assert_eq!(*cells, json!(["x", "<age>", "<age>", "<none>", "ds"]));
    }

    #[test]
    fn owners_are_compared_without_their_order() {
        let entry = |m: &str| json!({"manager": m, "operation": "Update"});
        let value = json!({"managedFields": [entry("b"), entry("a")]});
        let wanted = json!({"managedFields": [entry("a"), entry("b")]});
        assert_eq!(body(value, &Known::default()), wanted);
    }

    #[test]
    fn headers_of_the_transport_go_and_doubles_are_lists() {
        let pair = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        let pairs = [
            pair("warning", "a"),
            pair("Date", "x"),
            pair("Warning", "b"),
        ];
        assert_eq!(
            headers(&pairs, &Known::default()),
            json!({"Warning": ["a", "b"]})
        );
    }
}
