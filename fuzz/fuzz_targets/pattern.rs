//! Whatever the pattern and the text: an answer, in time.
#![no_main]

use pattern::Glob;

libfuzzer_sys::fuzz_target!(|input: (&str, &str)| {
    let (pattern, text) = input;
    for glob in [
        Glob::free(pattern),
        Glob::separated(pattern, &['/']),
        Glob::path(pattern),
        Glob::doublestar(pattern),
    ]
    .into_iter()
    .flatten()
    {
        let _ = glob.matches(text);
    }
});
