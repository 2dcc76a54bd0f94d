//! Every chart of the corpus prints what Helm 3 and Helm 4 printed.

use conformance::charts::cases;
use helm::Flavour;

#[test]
fn charts_print_what_helm_printed() {
    let cases = cases().expect("the corpus is there");
    assert!(cases.len() >= 150, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        for flavour in [Flavour::V3, Flavour::V4] {
            let expected = case.expected(flavour).expect("the case is recorded");
            let ours = case.ours(flavour);
            if ours != expected {
                let at = expected.lines().zip(ours.lines()).position(|(a, b)| a != b);
                let line = |text: &str| {
                    at.and_then(|at| text.lines().nth(at))
                        .unwrap_or("…")
                        .to_owned()
                };
                wrong.push(format!(
                    "{} {flavour:?}\n  helm: {}\n  ours: {}",
                    case.title(),
                    line(&expected),
                    line(&ours)
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ\n{}",
        wrong.len(),
        cases.len() * 2,
        wrong.join("\n")
    );
}
