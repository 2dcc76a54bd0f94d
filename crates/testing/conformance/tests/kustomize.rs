//! Our Kustomize against what the real program printed.

#[test]
fn every_recorded_kustomization_gives_the_same_bytes() {
    let report = conformance::kustomize::check().expect("the cases can be read");
    assert!(report.compared >= 120, "only {} cases", report.compared);
    assert!(report.wrong.is_empty(), "{}", report.text());
}
