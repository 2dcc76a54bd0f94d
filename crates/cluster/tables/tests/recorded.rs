//! Columns and cells that kube-apiserver v1.36.4 gave for objects of every kind, and ours beside them.
//!
//! `columns.txt` has a line per kind, `rows.jsonl` an object per line with the time it was printed at,
//! `custom.jsonl` printer columns in its first line and objects in the others.

use model::{GroupVersionKind, Timestamp, Value, meta};
use tables::Printer;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| line.parse().expect("a recorded line is JSON"))
        .collect()
}

/// Compares all rows before failing, so that one run shows every difference.
fn check(rows: &[Value], printer: impl Fn(&Value) -> Printer) {
    let mut differences = String::new();
    for row in rows {
        let object = &row["object"];
        let now = row["now"].as_str().and_then(Timestamp::parse);
        let now = now.expect("a recorded row says when");
        let ours = Value::from(printer(object).cells(object, now));
        if ours != row["cells"] {
            let (kind, name) = (&object["kind"], meta::name(object));
            let theirs = &row["cells"];
            differences.push_str(&format!(
                "{kind} {name}\n  ours   {ours}\n  theirs {theirs}\n"
            ));
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn built_in_rows_are_those_of_the_real_server() {
    let rows = lines(include_str!("recorded/rows.jsonl"));
    assert!(rows.len() > 200, "only {} rows were read", rows.len());
    check(&rows, |object| {
        Printer::built_in(&meta::gvk(object).unwrap())
    });
}

#[test]
fn custom_rows_are_those_of_the_real_server() {
    let mut rows = lines(include_str!("recorded/custom.jsonl"));
    let version = rows.remove(0);
    assert!(!rows.is_empty());
    check(&rows, |_| Printer::custom(&version));
}

#[test]
fn columns_are_those_of_the_real_server() {
    let mut ours = String::new();
    let theirs = include_str!("recorded/columns.txt");
    for line in theirs.lines() {
        let (kind, _) = line.split_once(": ").unwrap();
        let (version, name) = kind.split_once(' ').unwrap();
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let gvk = GroupVersionKind::new(group, version, name);
        let columns: Vec<String> = tables::columns(&gvk)
            .iter()
            .map(|c| {
                let format = match c.format.as_str() {
                    "" => String::new(),
                    format => format!(":{format}"),
                };
                let priority = match c.priority {
                    0 => String::new(),
                    priority => format!("+{priority}"),
                };
                format!("{}:{}{format}{priority}", c.name, &c.ty[..1])
            })
            .collect();
        ours.push_str(&format!("{kind}: {}\n", columns.join("|")));
    }
    assert_eq!(ours, theirs);
}
