use super::*;
use model::json;

fn check(text: &str, wanted: Value) {
    assert_eq!(parse(text).map_err(|e| e.to_string()), Ok(wanted), "{text}");
}

fn check_fault(text: &str, wanted: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), wanted, "{text}");
}

#[test]
fn yaml_1_1_words_are_read_as_go_reads_them() {
    check(
        "a: yes\nb: 0644\nc: 1e3\nd: 2001-01-01\ne: '1'\nf: ~\ng:\nh: 1.50\n",
        json!({"a": true, "b": 420, "c": 1000, "d": "2001-01-01", "e": "1", "f": null, "g": null, "h": 1.5}),
    );
}

#[test]
fn keys_become_strings() {
    check(
        "y: 1\n1: 2\n1.5: 3\n0x10: 4\n",
        json!({"true": 1, "1": 2, "1.5": 3, "16": 4}),
    );
    check("0.1: a", json!({"0.1": "a"}));
    check_fault(
        "~: a",
        "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"a\"",
    );
}

#[test]
fn merge_keys_merge() {
    check(
        "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc:\n  <<: [*a, *b]\n  z: 5\n",
        json!({"a": {"x": 1, "true": 2}, "b": {"true": 3, "z": 4}, "c": {"x": 1, "true": 2, "z": 5}}),
    );
    check_fault(
        "a: {<<: 1}",
        "yaml: map merge requires map or sequence of maps as the value",
    );
}

#[test]
fn tags_are_obeyed() {
    check(
        "a: !!str 1\nb: !!int \"2\"\nc: !!float 3\nd: !custom x\ne: !!binary aGk=\n",
        json!({"a": "1", "b": 2, "c": 3, "d": "x", "e": "hi"}),
    );
    check_fault("a: !!int x", "yaml: cannot decode !!str `x` as a !!int");
    check_fault("a: .inf", "json: unsupported value: +Inf");
}

#[test]
fn equal_keys_are_noted_and_the_last_wins() {
    let document = parse_document("a: 1\nb: 2\na: 3\n").unwrap();
    assert_eq!(document.value, json!({"a": 3, "b": 2}));
    assert_eq!(
        document.strict_error().unwrap(),
        "yaml: unmarshal errors:\n  line 3: key \"a\" already set in map"
    );
}

#[test]
fn documents_are_read_one_by_one() {
    let all = parse_all("a: 1\n---\nb: [\n---\nc: 3\n");
    assert_eq!(all.len(), 3);
    assert_eq!(all[0].as_ref().unwrap(), &json!({"a": 1}));
    assert!(all[1].is_err());
    assert_eq!(all[2].as_ref().unwrap(), &json!({"c": 3}));
    assert!(parse_all("").is_empty());
}

#[test]
fn laughs_by_the_billion_are_refused() {
    let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for i in 1..12 {
        let refs = vec![format!("*a{}", i - 1); 10].join(",");
        text.push_str(&format!("a{i}: &a{i} [{refs}]\n"));
    }
    check_fault(&text, "yaml: document contains excessive aliasing");
    assert!(parse(&"[".repeat(100_000)).is_err());
    assert!(parse(&"- ".repeat(100_000)).is_err());
    assert!(parse("a: &x [*x]").is_err());
}

#[test]
fn broken_text_says_where() {
    check_fault(
        "x: y\na: b: c",
        "yaml: line 2: mapping values are not allowed in this context",
    );
    check_fault("a: [1, 2", "yaml: line 1: did not find expected ',' or ']'");
    let fault = parse("x: y\na: b: c").unwrap_err();
    assert_eq!((fault.line, fault.column), (2, 5));
}
