//! Files of manifests, against what Kubernetes' tools make of them.
//!
//! The cases are `cargo run -p yaml --example corpus -- COUNT SEED | (cd tools/yaml && go run .)`; those of
//! `tests/data/manifests.jsonl` are recorded, others come through `TIPHYS_YAML_CASES`.

use model::Value;

// A key that stands twice is an error here; Go's readers let the last one win.
fn has_twice(text: &str) -> bool {
    let all = yaml::parse_manifests(text);
    all.iter()
        .any(|one| one.as_ref().is_err_and(|fault| fault.first.is_some()))
}

// Texts that differ, with the reason: lines of `REASON<tab>JSON string`.
fn known() -> Vec<String> {
    let lines = include_str!("data/manifests.known.txt").lines();
    let text = |line: &str| {
        let (_, text) = line.split_once('\t').expect("a reason stands in front");
        let value = json::parse(text.as_bytes()).expect("it is JSON").value;
        value.as_str().expect("it is a string").to_owned()
    };
    lines.map(text).collect()
}

#[test]
fn files_read_as_in_kubernetes_tools() {
    let recorded = include_str!("data/manifests.jsonl");
    let other = std::env::var("TIPHYS_YAML_CASES").ok();
    let all = match &other {
        Some(path) => std::fs::read_to_string(path).unwrap(),
        None => recorded.to_owned(),
    };
    let known = known();
    let mut faults = Vec::new();
    let mut count = 0;
    for line in all.lines() {
        let case = json::parse(line.as_bytes()).unwrap().value;
        let text = case["in"].as_str().unwrap();
        let mut docs = Vec::new();
        let mut broken = false;
        for one in yaml::parse_manifests(text) {
            match one {
                Ok(one) if one.value.is_null() => {}
                Ok(one) => docs.push(one.value),
                Err(_) => {
                    broken = true;
                    break;
                }
            }
        }
        count += 1;
        // Where both refuse, how far they came does not matter.
        let both = broken && case["broken"] == true;
        let same = Value::Array(docs.clone()) == case["docs"] && case["broken"] == broken;
        if !both && !same && !has_twice(text) && !known.iter().any(|known| known == text) {
            faults.push(format!(
                "{text:?}\n  ours {} {broken}\n  go   {} {}\n",
                Value::Array(docs),
                case["docs"],
                case["broken"]
            ));
        }
    }
    assert!(count > 500);
    let shown: String = faults.iter().take(60).cloned().collect();
    assert!(
        faults.is_empty(),
        "{} of {count} differ\n{shown}",
        faults.len()
    );
}
