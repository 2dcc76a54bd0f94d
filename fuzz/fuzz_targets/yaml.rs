//! Whatever the text: it is read or refused, every field has a place, and what we print is read back.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    for document in yaml::parse_manifests(text).into_iter().flatten() {
        for (pointer, line) in document.lines(text) {
            assert!(document.value.pointer(&pointer).is_some(), "{pointer}");
            assert!(line >= 1);
        }
        let printed = yaml::to_string(&document.value);
        let _ = yaml::parse(&printed);
    }
});
