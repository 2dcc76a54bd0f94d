//! Tricky values and texts, against what `sigs.k8s.io/yaml` made of them.
//!
//! The cases are printed by `tools/gotypes`: `go run . emit-cases`, `go run . load-cases`.

use model::Value;

fn cases(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| json::parse(line.as_bytes()).expect("cases are JSON").value)
        .collect()
}

fn finish(faults: &[String], count: usize) {
    let shown: String = faults.iter().take(25).cloned().collect();
    assert!(
        faults.is_empty(),
        "{} of {count} differ\n{shown}",
        faults.len()
    );
}

#[test]
fn values_print_as_in_go() {
    let all = cases(include_str!("data/emit.jsonl"));
    assert!(all.len() > 500);
    let mut faults = Vec::new();
    for case in &all {
        let input = case["in"].as_str().unwrap();
        let Some(wanted) = case["out"]["text"].as_str() else {
            continue;
        };
        let value = json::parse(input.as_bytes()).unwrap().value;
        let got = yaml::to_string(&value);
        if got != wanted {
            faults.push(format!("{input}\n--- got\n{got}--- wanted\n{wanted}\n"));
        }
        // What we print, we read back, but for a line break that only YAML 1.1 knows, and for keys
        // that Go prints as merge keys.
        let back = yaml::parse(&got);
        let lossy = got.contains('\u{2028}') || got.contains("<<:");
        if back.as_ref() != Ok(&value) && !lossy {
            faults.push(format!("{input}\n--- back\n{back:?}\n"));
        }
    }
    finish(&faults, all.len());
}

#[test]
fn texts_read_as_in_go() {
    let all = cases(include_str!("data/load.jsonl"));
    assert!(all.len() > 300);
    let mut faults = Vec::new();
    for case in &all {
        let text = case["in"].as_str().unwrap();
        if text.contains('\u{2028}') {
            continue;
        }
        let out = &case["out"];
        let document = yaml::parse_document(text);
        let got = match &document {
            Ok(document) => document.value.to_string(),
            Err(fault) => format!("error {fault}"),
        };
        let wanted = match out["error"].as_str() {
            Some(message) => format!("error {message}"),
            None => out["value"].to_string(),
        };
        if got != wanted {
            faults.push(format!("{text:?}\n got    {got}\n wanted {wanted}\n"));
        }
        let strict = document.ok().and_then(|document| document.strict_error());
        let wanted = out["strict"][0].as_str();
        if strict.as_deref() != wanted {
            faults.push(format!(
                "{text:?}\n got    {strict:?}\n wanted {wanted:?}\n"
            ));
        }
    }
    finish(&faults, all.len());
}
