//! The Go library's recorded answers: `constraint<TAB>version<TAB>answer`.

use super::{Constraint, Edition, Version};

fn answer(constraint: &str, version: &str, edition: Edition) -> String {
    let constraint = match Constraint::parse_as(constraint, edition) {
        Ok(constraint) => constraint,
        Err(e) => return format!("! {e}"),
    };
    let parsed = match Version::parse_as(version, edition) {
        Ok(version) => version,
        Err(e) => return format!("? {e}"),
    };
    let strict = Version::parse_strict(version, edition)
        .map_or_else(|e| e.to_string(), |_| "strict".to_owned());
    let reasons: Vec<String> = match constraint.validate(&parsed) {
        Ok(()) => Vec::new(),
        Err(reasons) => reasons.iter().map(ToString::to_string).collect(),
    };
    format!(
        "{}; {constraint}; {parsed}; {}; {strict}; {}",
        constraint.check(&parsed),
        parsed.increment_patch().original,
        reasons.join(" & ")
    )
}

fn check_recorded(recorded: &str, edition: Edition) {
    let mut wrong = Vec::new();
    for line in recorded.lines() {
        let [constraint, version, expected] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else {
            panic!("no three columns: {line}");
        };
        let got = answer(constraint, version, edition);
        if got != expected {
            wrong.push(format!(
                "{constraint:?} {version:?}\n  want {expected}\n  got  {got}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn agrees_with_the_library_in_helm_3() {
    check_recorded(include_str!("../tests/v33.txt"), Edition::V33);
}

#[test]
fn agrees_with_the_library_in_argo_cd() {
    check_recorded(include_str!("../tests/v34.txt"), Edition::V34);
}

#[test]
fn agrees_with_the_library_in_helm_4() {
    check_recorded(include_str!("../tests/v35.txt"), Edition::V35);
}

#[test]
fn long_texts_are_refused() {
    let long = "1".repeat(600);
    assert_eq!(
        Version::parse(&long).unwrap_err().to_string(),
        "version string is too long (max 256 bytes)"
    );
    assert_eq!(
        Constraint::parse(&long).unwrap_err().to_string(),
        "constraint string is too long (max 512 bytes)"
    );
    assert_eq!(
        Constraint::parse(&vec!["1"; 40].join("||"))
            .unwrap_err()
            .to_string(),
        "too many constraint groups (max 32)"
    );
}

#[test]
fn sorts_by_precedence() {
    let mut all: Vec<Version> = [
        "2",
        "1.0.0-rc.1",
        "1.0.0",
        "1.0.0-rc.1.1",
        "1.0.0-2",
        "1.0.0-10",
    ]
    .iter()
    .map(|v| Version::parse(v).unwrap())
    .collect();
    all.sort();
    let texts: Vec<_> = all.iter().map(|v| v.original.as_str()).collect();
    assert_eq!(
        texts,
        [
            "1.0.0-2",
            "1.0.0-10",
            "1.0.0-rc.1",
            "1.0.0-rc.1.1",
            "1.0.0",
            "2"
        ]
    );
}
