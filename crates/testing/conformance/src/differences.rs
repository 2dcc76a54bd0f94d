//! What may differ from a real server, and why.
//!
//! `differences.txt` has one line for each: the case, a JSON pointer into
//! `{status, headers, body}` (`/**` at its end stands for everything below), and the reason.
//! A line that no longer applies is a failure, so the list never outlives its reasons.

use crate::{RunError, fault};
use serde_json::Value;

/// One place where an answer differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where.
    pub pointer: String,
    /// What the real server answered; `None`: nothing.
    pub wanted: Option<Value>,
    /// What we got; `None`: nothing.
    pub got: Option<Value>,
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The case.
    pub case: String,
    /// Where.
    pub pointer: String,
    /// Why.
    pub reason: String,
}

impl Allowed {
    /// Whether the line speaks of that place.
    pub fn covers(&self, case: &str, pointer: &str) -> bool {
        let below = || {
            let root = self.pointer.strip_suffix("/**")?;
            let rest = pointer.strip_prefix(root)?;
            Some(rest.is_empty() || rest.starts_with('/'))
        };
        self.case == case && (self.pointer == pointer || below() == Some(true))
    }
}

/// Reads the list. Lines that begin with `#` are remarks.
pub fn parse(text: &str) -> Result<Vec<Allowed>, RunError> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut rest = line;
            let mut next = || {
                let (word, tail) = rest.split_once(char::is_whitespace)?;
                rest = tail.trim_start();
                Some(word)
            };
            match (next(), next(), Some(rest).filter(|r| !r.is_empty())) {
                (Some(case), Some(pointer), Some(reason)) if pointer.starts_with('/') => {
                    Ok(Allowed {
                        case: case.to_owned(),
                        pointer: pointer.to_owned(),
                        reason: reason.to_owned(),
                    })
                }
                _ => Err(fault("differences.txt", format!("`{line}` lacks a part"))),
            }
        })
        .collect()
}

/// Where two answers differ, smallest places first in order of their fields.
pub fn compare(wanted: &Value, got: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(String::new(), Some(wanted), Some(got), &mut found);
    found
}

fn walk(pointer: String, wanted: Option<&Value>, got: Option<&Value>, found: &mut Vec<Difference>) {
    match (wanted, got) {
        (Some(a), Some(b)) if a == b => {}
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let more = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(more) {
                let step = key.replace('~', "~0").replace('/', "~1");
                walk(format!("{pointer}/{step}"), a.get(key), b.get(key), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for at in 0..a.len().max(b.len()) {
                walk(format!("{pointer}/{at}"), a.get(at), b.get(at), found);
            }
        }
        (wanted, got) => found.push(Difference {
            pointer,
            wanted: wanted.cloned(),
            got: got.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_found_at_their_smallest_place() {
        let wanted = json!({"a": [1, 2], "b": {"c/d": "x"}, "e": null});
        let got = json!({"a": [1], "b": {"c/d": "y"}, "e": null, "f": 1});
        let places: Vec<String> = compare(&wanted, &got)
            .into_iter()
            .map(|d| d.pointer)
            .collect();
        assert_eq!(places, ["/a/1", "/b/c~1d", "/f"]);
    }

    #[test]
    fn a_line_covers_its_place_or_what_is_below() {
        let list =
            "# remark\n045-get  /body/message  the text names a file\n046-x /body/a/** why not\n";
        let list = parse(list).unwrap();
        assert!(list[0].covers("045-get", "/body/message"));
        assert!(!list[0].covers("045-get", "/body/message/x"));
        assert!(list[1].covers("046-x", "/body/a") && list[1].covers("046-x", "/body/a/0"));
        assert!(!list[1].covers("046-x", "/body/ab"));
        assert!(parse("045-get /body").is_err());
    }

    #[test]
    fn the_committed_list_can_be_read() {
        parse(&crate::read(&crate::folder().join("differences.txt")).unwrap()).unwrap();
    }
}
