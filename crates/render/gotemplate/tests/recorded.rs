//! Helm's recorded answers to templates that touch every function, good and bad use alike.
//!
//! The first line of the file is the values of all cases; each other line is a template, what Helm 3
//! answers, and what Helm 4 answers where it differs: `= output` or `! error`. `cargo xtask real`
//! asks the real engines again.

#![expect(clippy::unwrap_used, reason = "a test")]

use gotemplate::{Context, Edition, Templates, Value};

const NAME: &str = "c/templates/t";

/// What we answer, in the form of the recording.
fn answer(template: &str, values: &model::Value, edition: Edition) -> String {
    let mut templates = Templates::new(edition);
    if let Err(e) = templates.parse(NAME, template) {
        return format!("! {e}");
    }
    // A stream of numbers is chance enough.
    let mut state = 1u64;
    let entropy = move |buffer: &mut [u8]| {
        for byte in buffer {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 56) as u8;
        }
    };
    let mut context = Context::new((1_700_000_000, 0), Box::new(entropy));
    let dot = Value::map([("Values", Value::from_json(values))]);
    match templates.execute(NAME, dot, &mut context) {
        Ok(output) => format!("= {}", output.without_no_value().text()),
        Err(e) => format!("! {}", e.helm_text(edition)),
    }
}

fn check(edition: Edition) {
    let recorded = include_str!("recorded.jsonl");
    let mut lines = recorded.lines();
    let values = serde_json::from_str(lines.next().unwrap()).unwrap();
    let mut wrong = Vec::new();
    for line in lines {
        let case: Vec<String> = serde_json::from_str(line).unwrap();
        let expected = match edition {
            Edition::Helm4 => case.last().unwrap(),
            Edition::Helm3 | Edition::Plain => &case[1],
        };
        // Keys take their time; once is enough.
        let slow = ["gen", "derivePassword", "bcrypt", "htpasswd"];
        if edition == Edition::Helm3 && slow.iter().any(|name| case[0].contains(name)) {
            continue;
        }
        let got = answer(&case[0], &values, edition);
        if got != *expected {
            wrong.push(format!("{}\n  want {expected:?}\n  got  {got:?}", case[0]));
        }
    }
    let all = recorded.lines().count() - 1;
    assert!(
        wrong.is_empty(),
        "{}\n{} of {all} differ",
        wrong.join("\n"),
        wrong.len()
    );
}

#[test]
fn agrees_with_helm_3() {
    check(Edition::Helm3);
}

#[test]
fn agrees_with_helm_4() {
    check(Edition::Helm4);
}
