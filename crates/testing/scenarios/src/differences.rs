//! What the embedded cluster may tell differently from real Kubernetes, and why.
//!
//! `differences.txt` has one line for each: the scenario, `Kind/name` (or `event`, `refused`), the
//! facet, and the reason, with `|` between them. `*` at the end of a part stands for the rest of
//! it. A line that no longer applies is a failure, so the list never outlives its reasons.
//!
//! A line that begins with `~` is about timing: what it names also differs between two runs of real
//! Kubernetes, so it may or may not apply.

use crate::recording::Difference;

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    case: String,
    subject: String,
    facet: String,
    /// Whether it differs between two runs of real Kubernetes, too.
    pub unsteady: bool,
    /// Why it may differ.
    pub reason: String,
}

impl Allowed {
    /// Whether the line speaks of a scenario.
    pub fn speaks_of(&self, case: &str) -> bool {
        fits(&self.case, case)
    }

    /// Whether the line speaks of that difference.
    pub fn covers(&self, case: &str, difference: &Difference) -> bool {
        fits(&self.case, case)
            && fits(&self.subject, &difference.subject)
            && fits(&self.facet, &difference.facet)
    }
}

impl std::fmt::Display for Allowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} | {} | {}", self.case, self.subject, self.facet)
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern == text,
    }
}

/// Reads the list. Lines that begin with `#` are remarks.
pub fn parse(text: &str) -> Result<Vec<Allowed>, String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (unsteady, line) = match line.strip_prefix('~') {
                Some(rest) => (true, rest),
                None => (false, line),
            };
            let parts: Vec<&str> = line.split(" | ").map(str::trim).collect();
            match parts.as_slice() {
                [case, subject, facet, reason] => Ok(Allowed {
                    case: (*case).to_owned(),
                    subject: (*subject).to_owned(),
                    facet: (*facet).to_owned(),
                    unsteady,
                    reason: (*reason).to_owned(),
                }),
                _ => Err(format!(
                    "differences.txt: `{line}` is not `scenario | Kind/name | facet | reason`"
                )),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_covers_its_place() {
        let list =
            parse("# remark\n\na | Pod/x | phase | why\na-* | event | Pod/* | why\n").unwrap();
        let difference = |subject: &str, facet: &str| Difference {
            subject: subject.into(),
            facet: facet.into(),
            wanted: String::new(),
            got: String::new(),
        };
        assert!(list[0].covers("a", &difference("Pod/x", "phase")));
        assert!(!list[0].covers("a", &difference("Pod/x", "Ready")));
        assert!(list[1].covers("a-b", &difference("event", "Pod/x Normal Pulled")));
        assert!(!list[1].covers("b", &difference("event", "Pod/x Normal Pulled")));
        assert!(parse("a | b | c").is_err());
        assert!(!list[0].unsteady && parse("~ a | b | c | d").unwrap()[0].unsteady);
    }
}
