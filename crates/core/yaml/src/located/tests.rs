use super::*;

fn show(text: &str) -> Vec<String> {
    let show_one = |one: Result<Located, YamlError>| match one {
        Ok(one) => format!("{} line {}: {}", one.document, one.line, one.value),
        Err(fault) => format!("{}:{}: {}", fault.line, fault.column, fault.message),
    };
    parse_manifests(text).into_iter().map(show_one).collect()
}

#[test]
fn documents_are_cut_at_their_separators() {
    assert_eq!(
        show("# head\n---\na: 1\n--- # why\n\nb: 2\n---\n# nothing\n---\nc: 3"),
        [
            "0 line 3: {\"a\":1}",
            "1 line 6: {\"b\":2}",
            "2 line 8: null",
            "3 line 10: {\"c\":3}"
        ]
    );
    assert_eq!(show("a: [\n---\nb: 2\n").len(), 2);
    assert_eq!(show(""), Vec::<String>::new());
    assert_eq!(
        show("\u{feff}a: 1\r\nb: 2\r\n"),
        ["0 line 1: {\"a\":1,\"b\":2}"]
    );
    assert_eq!(show("%YAML 1.1\n---\na: 1\n"), ["0 line 3: {\"a\":1}"]);
    assert_eq!(
        show("a: 1\n--- b: 2\nc: 3\n")[1],
        "2:5: invalid Yaml document separator: b: 2"
    );
}

#[test]
fn faults_are_counted_from_the_start_of_the_file() {
    assert_eq!(
        show("a: 1\n---\nx: y\na: b: c\n")[1],
        "4:5: mapping values are not allowed in this context"
    );
}

#[test]
fn a_key_that_stands_twice_is_an_error_with_both_places() {
    let fault = parse_manifests("---\na: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n")
        .remove(0)
        .unwrap_err();
    assert_eq!((fault.line, fault.column), (6, 3));
    assert_eq!(fault.first, Some(Spot { line: 4, column: 3 }));
    assert_eq!(fault.message, "key \"c\" already set in map");
    let merged = "a: &a {x: 1}\nb:\n  <<: *a\n  x: 2\n";
    assert!(parse_manifests(merged).remove(0).is_ok());
}

#[test]
fn every_field_has_its_line() {
    let text =
        "\nkind: A\nspec:\n  list:\n  - name: x\n    'a/b': 1\n  - 7\n  yes: {q: [1,\n    2]}\n";
    let one = parse_manifests(text).remove(0).unwrap();
    let lines: Vec<String> = one
        .lines(text)
        .into_iter()
        .map(|(pointer, line)| format!("{pointer} {line}"))
        .collect();
    assert_eq!(
        lines,
        [
            "/kind 2",
            "/spec 3",
            "/spec/list 4",
            "/spec/list/0 5",
            "/spec/list/0/a~1b 6",
            "/spec/list/0/name 5",
            "/spec/list/1 7",
            "/spec/true 8",
            "/spec/true/q 8",
            "/spec/true/q/0 8",
            "/spec/true/q/1 9",
        ]
    );
    let spot = |pointer| {
        let spot = one.marks.spot(text, pointer);
        (spot.line, spot.column)
    };
    assert_eq!(spot("/spec/list/0/a~1b"), (6, 5));
    assert_eq!(spot("/spec/list/1"), (7, 5));
    assert_eq!(spot("/spec/none/deep"), (3, 1));
    assert_eq!(spot(""), (2, 1));
}

#[test]
fn what_an_alias_brings_stands_where_the_anchor_is() {
    let text = "a: &a\n  x: 1\nb:\n  <<: *a\n  y1: 2\nc: *a\n";
    let one = parse_manifests(text).remove(0).unwrap();
    assert_eq!(one.marks.spot(text, "/b/x").line, 2);
    assert_eq!(one.marks.spot(text, "/b/y1").line, 5);
    assert_eq!(one.marks.spot(text, "/c/x").line, 2);
    assert_eq!(one.marks.spot(text, "/c").line, 6);
}
