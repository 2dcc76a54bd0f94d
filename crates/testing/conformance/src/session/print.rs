//! What commands print: to normal form, to the file of answers and back.

use super::Outcome;
use crate::normal::{self, Known};
use crate::{RunError, fault};

/// Brings the output of a command to a form that two runs share.
///
/// On top of [`normal::words`]: ages in columns become `<age>`, runs of spaces become two (a longer
/// age makes a wider column), dates as people write them become `<time>`, and the folders of the
/// run become `<folder>`.
pub(super) fn normalise(text: &str, folders: &[String], fields: bool) -> Vec<String> {
    let mut text = text.to_owned();
    for folder in folders {
        text = text.replace(folder.as_str(), "<folder>");
    }
    let mut uids = Vec::new();
    let known = Known::default();
    let lines = text.lines().filter(|line| !fields || is_field(line));
    let lines = lines.map(|line| {
        let line = normal::words(line, &known, &mut uids);
        numbers(&squeeze(&dates(&line)))
    });
    let mut lines: Vec<String> = lines.collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

// Of `explain`: headings with a value, and fields with their types.
fn is_field(line: &str) -> bool {
    let heading = ["GROUP:", "KIND:", "VERSION:", "FIELD:", "FIELDS:"];
    let typed = line.contains('\t') && line.contains('<') && line.contains('>');
    heading.iter().any(|h| line.starts_with(h)) || typed
}

// Versions and temporary names that stand in prose.
fn numbers(line: &str) -> String {
    let mut line = line.to_owned();
    for mark in [
        "\"resourceVersion\": \"",
        "Resource Version:  ",
        "/LIVE-",
        "/MERGED-",
    ] {
        if let Some(at) = line.find(mark).map(|at| at + mark.len()) {
            let digits = line[at..].len()
                - line[at..]
                    .trim_start_matches(|c: char| c.is_ascii_digit())
                    .len();
            if digits > 0 {
                line.replace_range(at..at + digits, "<number>");
            }
        }
    }
    line
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

// `Sun, 15 Nov 2026 22:08:10 +0000`, `Sun Nov 15 22:08:10 2026`, `2026-11-15 22:08:10.1 +0000 UTC`.
fn dates(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let clock =
        |word: &str| word.len() >= 8 && word.as_bytes()[2] == b':' && word.as_bytes()[5] == b':';
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = words[at];
        let day = DAYS.iter().any(|d| word.trim_end_matches(',').ends_with(d));
        let next = |n: usize| words.get(at + n).copied().unwrap_or("");
        let prefix = word.len() - word.trim_end_matches(',').len() + 3;
        if day && (clock(next(3)) || clock(next(4))) && word.len() >= prefix {
            let head = &word[..word.len() - prefix];
            out.push(format!("{head}<time>"));
            at += if clock(next(3)) { 5 } else { 6 };
        } else if word.ends_with(|c: char| c.is_ascii_digit()) && is_date(word) && clock(next(1)) {
            out.push(format!("{}<time>", &word[..word.len() - 10]));
            let zone = next(2).starts_with(['+', '-']);
            let name = zone && next(3).starts_with("UTC");
            let rest = if name { &next(3)[3..] } else { "" };
            out.last_mut().expect("just pushed").push_str(rest);
            at += 2 + usize::from(zone) + usize::from(name);
        } else {
            out.push(word.to_owned());
            at += 1;
        }
    }
    out.join(" ")
}

// Ends with `2026-11-15`.
fn is_date(word: &str) -> bool {
    let Some(start) = word.len().checked_sub(10) else {
        return false;
    };
    let Some(date) = word.get(start..) else {
        return false;
    };
    date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    })
}

fn squeeze(line: &str) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let mut out = " ".repeat(indent);
    let mut gap = 0;
    for word in line[indent..].split(' ') {
        if word.is_empty() {
            gap += 1;
            continue;
        }
        if out.len() > indent {
            out.push_str(if gap > 0 { "  " } else { " " });
        }
        gap = 0;
        // The last column, when it is tabbed, too.
        let cells: Vec<String> = word.split('\t').map(age).collect();
        out.push_str(&cells.join("\t"));
    }
    out
}

fn age(word: &str) -> String {
    let digit = word.starts_with(|c: char| c.is_ascii_digit());
    let unit = word.ends_with(['s', 'm', 'h', 'd']);
    let plain = |c: char| c.is_ascii_digit() || matches!(c, 's' | 'm' | 'h' | 'd' | '.');
    if digit && unit && word.chars().all(plain) {
        "<age>".to_owned()
    } else {
        word.to_owned()
    }
}

/// The text of the file of answers: `>` before what was printed, `!` before complaints.
pub fn write_expected(outcomes: &[Outcome]) -> String {
    let mut text = String::from("Written by `cargo xtask record` from a real server.\n");
    for outcome in outcomes {
        text.push_str(&format!("\n### {}\nexit {}\n", outcome.step, outcome.exit));
        for (mark, lines) in [('>', &outcome.stdout), ('!', &outcome.stderr)] {
            for line in lines {
                text.push(mark);
                if !line.is_empty() {
                    text.push(' ');
                }
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// Reads the file of answers.
pub fn parse_expected(place: &str, text: &str) -> Result<Vec<Outcome>, RunError> {
    let mut outcomes = Vec::new();
    for block in text.split("\n### ").skip(1) {
        let mut lines = block.lines();
        let step = lines.next().unwrap_or_default().to_owned();
        let exit = lines.next().and_then(|line| line.strip_prefix("exit "));
        let exit = exit
            .and_then(|code| code.parse().ok())
            .ok_or_else(|| fault(place, format!("{step}: no exit code")))?;
        let mut outcome = Outcome {
            step,
            exit,
            ..Outcome::default()
        };
        for line in lines {
            let (mark, rest) = line.split_at_checked(1).unwrap_or((line, ""));
            let rest = rest.strip_prefix(' ').unwrap_or(rest).to_owned();
            match mark {
                ">" => outcome.stdout.push(rest),
                "!" => outcome.stderr.push(rest),
                _ => {}
            }
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, wanted: &str) {
        let lines = normalise(line, &["/tmp/x".to_owned()], false);
        assert_eq!(lines.join("\n"), wanted);
    }

    #[test]
    fn what_differs_between_runs_goes() {
        check(
            "NAME   DATA   AGE\nfirst  2      12s",
            "NAME  DATA  AGE\nfirst  2  <age>",
        );
        check("  indented: 5m3s ago", "  indented: <age> ago");
        check(
            "LAST DEPLOYED: Sun Nov 15 22:08:10 2026",
            "LAST DEPLOYED: <time>",
        );
        check(
            "Created:  Sun, 15 Nov 2026 22:08:10 +0000",
            "Created:  <time>",
        );
        check(
            "web\tdemo\t1\t2026-11-15 22:08:10.123456 +0000 UTC\tdeployed",
            "web\tdemo\t1\t<time>\tdeployed",
        );
        check("open /tmp/x/a.yaml", "open <folder>/a.yaml");
        check("Resource Version:  123", "Resource Version:  <number>");
        check(
            "--- /tmp/LIVE-123456/v1.ConfigMap",
            "--- /tmp/LIVE-<number>/v1.ConfigMap",
        );
        check("2 replicas, 3d printing", "2 replicas, <age> printing");
    }

    #[test]
    fn explain_keeps_fields_only() {
        let text = "KIND:       Toy\nVERSION:    v1\n\nDESCRIPTION:\n    prose\n\nFIELDS:\n  size\t<integer> -required-\n    prose\n";
        let lines = normalise(text, &[], true);
        assert_eq!(
            lines,
            [
                "KIND:  Toy",
                "VERSION:  v1",
                "FIELDS:",
                "  size\t<integer> -required-"
            ]
        );
    }

    #[test]
    fn answers_survive_writing_and_reading() {
        let outcomes = vec![Outcome {
            step: "a".into(),
            exit: 1,
            stdout: vec!["one".into(), String::new(), "  two".into()],
            stderr: vec!["oops".into()],
        }];
        let text = write_expected(&outcomes);
        assert_eq!(parse_expected("t", &text).unwrap(), outcomes);
    }
}
