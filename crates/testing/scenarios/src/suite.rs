//! The whole suite: every scenario, several at a time, and what is said of it in the end.

use crate::case::Case;
use crate::differences::Allowed;
use crate::recording::{self, Difference};
use crate::run::Played;
use crate::target::TargetError;
use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What became of one scenario.
#[derive(Debug)]
pub struct Outcome {
    /// Which.
    pub case: Case,
    /// What was seen, unless the cluster failed.
    pub played: Result<Played, TargetError>,
}

/// Plays scenarios, `side_by_side` at a time; those that take long begin first, those that run
/// alone come last, one by one. They are given back in the order of their names.
pub fn play(
    cases: Vec<Case>,
    side_by_side: usize,
    one: impl Fn(&Case) -> Result<Played, TargetError> + Sync,
) -> Vec<Outcome> {
    let (alone, mut together): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|c| c.alone);
    together.sort_by_key(|case| std::cmp::Reverse(case.patience()));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..side_by_side.min(together.len()) {
            scope.spawn(|| {
                while let Some(case) = together.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = Outcome {
                        case: case.clone(),
                        played: one(case),
                    };
                    done.lock().expect("nobody panics with it").push(outcome);
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panics with it");
    for case in alone {
        let played = one(&case);
        done.push(Outcome { case, played });
    }
    done.sort_by(|a, b| a.case.id.cmp(&b.case.id));
    done
}

/// Where the recording of a scenario on real Kubernetes is kept.
pub fn recording_file(case: &Case) -> PathBuf {
    crate::folder()
        .join("recordings")
        .join(format!("{}.txt", case.id))
}

/// What is said of a run.
#[derive(Debug, Default)]
pub struct Report {
    scenarios: usize,
    allowed: usize,
    listed: usize,
    /// Everything that is wrong, with its scenario.
    faults: Vec<String>,
}

impl Report {
    /// The expectations of the scenarios themselves.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let mut report = Self {
            scenarios: outcomes.len(),
            ..Self::default()
        };
        for outcome in outcomes {
            let id = &outcome.case.id;
            match &outcome.played {
                Err(error) => report.faults.push(format!("{id}: {error}")),
                Ok(played) => {
                    let lines = played.failures.iter();
                    let lines = lines.map(|f| format!("cases/{id}.md:{}: {}", f.line, f.what));
                    report.faults.extend(lines);
                }
            }
        }
        report
    }

    /// And how the recordings agree with those of real Kubernetes; a scenario without one is a
    /// fault, and so is a line of the list that nothing needs.
    pub fn compared(outcomes: &[Outcome], allowed: &[Allowed]) -> Self {
        let mut report = Self::of(outcomes);
        report.listed = allowed.len();
        let mut used = vec![false; allowed.len()];
        for outcome in outcomes {
            let Ok(played) = &outcome.played else {
                continue;
            };
            let id = &outcome.case.id;
            let Ok(text) = std::fs::read_to_string(recording_file(&outcome.case)) else {
                let how = "run `cargo xtask record --only scenarios`";
                report
                    .faults
                    .push(format!("{id}: no recording of real Kubernetes; {how}"));
                continue;
            };
            for difference in recording::compare(&recording::parse(&text), &played.recording) {
                report.difference(id, &difference, allowed, &mut used);
            }
        }
        for (line, used) in allowed.iter().zip(used) {
            if !used && !line.unsteady {
                report
                    .faults
                    .push(format!("differences.txt: no longer needed: {line}"));
            }
        }
        report
    }

    fn difference(&mut self, id: &str, found: &Difference, allowed: &[Allowed], used: &mut [bool]) {
        let covering = allowed.iter().position(|line| line.covers(id, found));
        if let Some(at) = covering {
            self.allowed += 1;
            used[at] = true;
        } else {
            self.faults.push(format!("{id}: {found}"));
        }
    }

    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.faults.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.faults {
            writeln!(f, "{fault}")?;
        }
        write!(
            f,
            "{} scenarios, {} listed differences ({} met), {} faults",
            self.scenarios,
            self.listed,
            self.allowed,
            self.faults.len()
        )
    }
}
