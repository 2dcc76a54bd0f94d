//! Patterns and texts against what the Go libraries that Argo CD uses made of them.
//!
//! `tests/data/go.txt` is what `go run .` in `tools/pattern` prints.

use pattern::Glob;

// Texts of the first line: a JSON list of strings without escapes.
fn texts(line: &str) -> Vec<&str> {
    let inner = line.trim_start_matches('[').trim_end_matches(']');
    inner.split("\",\"").map(|t| t.trim_matches('"')).collect()
}

#[test]
fn patterns_match_as_in_go() {
    let data = include_str!("data/go.txt");
    let mut lines = data.lines();
    let texts = texts(lines.next().unwrap());
    let mut faults = Vec::new();
    let mut count = 0;
    for line in lines {
        let parts: Vec<&str> = line.split('\t').collect();
        let [dialect, pattern, answers] = parts[..] else {
            panic!("{line}");
        };
        let glob = match dialect {
            "free" => Glob::free(pattern),
            "separated" => Glob::separated(pattern, &['/']),
            "path" => Glob::path(pattern),
            _ => Glob::doublestar(pattern),
        };
        // Go's paths notice a bad pattern only when the text leads them there.
        let bad = answers.contains('e') || (dialect == "path" && !answers.contains('y'));
        for (text, wanted) in texts.iter().zip(answers.chars()) {
            count += 1;
            let got = match &glob {
                Err(_) => 'e',
                Ok(glob) if glob.matches(text) => 'y',
                Ok(_) => 'n',
            };
            if got != wanted && !(bad && got == 'e') {
                faults.push(format!(
                    "{dialect} `{pattern}` on `{text}`: {got}, Go {wanted}"
                ));
            }
        }
    }
    assert!(count > 50_000);
    let differ = faults.len();
    faults.dedup_by(|a: &mut String, b: &mut String| {
        a.split(" on ").next() == b.split(" on ").next()
    });
    faults.truncate(40);
    assert!(
        faults.is_empty(),
        "{differ} of {count} differ\n{}",
        faults.join("\n")
    );
}
