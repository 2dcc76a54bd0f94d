//! Reads a scenario: a Markdown file that tells what is given, what happens and what is then seen.
//!
//! The first heading is its title; a line `Shows: W03, H04` names entries of the catalogue of
//! failure modes; a line that begins with `Runs alone` keeps other scenarios away from its cluster.
//! Everything else is prose, but for fenced blocks, which are performed in their order:
//!
//! | fence | what it does |
//! |---|---|
//! | `yaml` | applies the manifests, in order; `$NS` is the scenario's namespace |
//! | `yaml by NAME` | the same as another field manager, without force |
//! | `patch Kind/name[/subresource]` | merges the YAML into the object |
//! | `delete` | deletes `Kind/name [orphan|foreground|background] [grace N]`, one a line |
//! | `evict` | evicts `Pod/name`, one a line |
//! | `wait 5s` | lets time pass |
//! | `then [within 60s]` | waits until all its lines are seen, those about one object in their order |

use crate::line::{self, Line};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// How long a `then` block waits unless it says otherwise.
const WITHIN: Duration = Duration::from_secs(30);
/// The largest file that is read.
const SIZE_MAX: usize = 1 << 20;

/// A scenario.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of its file, without the ending.
    pub id: String,
    /// Its first heading.
    pub title: String,
    /// Entries of the catalogue that it shows.
    pub shows: Vec<String>,
    /// Whether nothing else may run beside it.
    pub alone: bool,
    pub(crate) steps: Vec<Step>,
}

/// One fenced block.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The line of its fence.
    pub(crate) line: usize,
    pub(crate) act: Act,
}

/// What a block does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Apply {
        manifests: Vec<Value>,
        /// Somebody else, who takes no field by force.
        other: Option<String>,
    },
    Patch {
        subject: String,
        subresource: Option<String>,
        body: Value,
    },
    Delete(Vec<Deletion>),
    Evict(Vec<String>),
    Wait(Duration),
    Then {
        lines: Vec<(usize, String, Line)>,
        within: Duration,
    },
}

/// One line of a `delete` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deletion {
    pub(crate) subject: String,
    pub(crate) propagation: Option<&'static str>,
    pub(crate) grace: Option<u64>,
}

/// Why a file is no scenario.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct CaseError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to write instead.
    pub what: String,
}

/// All scenarios of a folder, by name.
pub fn load(folder: &Path) -> Result<Vec<Case>, CaseError> {
    let fault = |what: String| CaseError {
        file: folder.display().to_string(),
        line: 0,
        what,
    };
    let entries = std::fs::read_dir(folder).map_err(|e| fault(e.to_string()))?;
    let mut cases = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| fault(e.to_string()))?.path();
        if path.extension().is_none_or(|e| e != "md") {
            continue;
        }
        let id = path.file_stem().and_then(|s| s.to_str()).unwrap_or("");
        let text = std::fs::read_to_string(&path).map_err(|e| fault(e.to_string()))?;
        cases.push(parse(id, &text)?);
    }
    cases.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(cases)
}

impl Case {
    /// About how long it may take: what it waits for, and the blocks that ask for more time.
    pub fn patience(&self) -> Duration {
        let times = self.steps.iter().map(|step| match &step.act {
            Act::Wait(time) => *time,
            Act::Then { within, .. } => within.saturating_sub(WITHIN),
            _ => Duration::ZERO,
        });
        times.sum()
    }

    /// The namespace it runs in.
    pub fn namespace(&self) -> String {
        format!("t-{}", self.id)
    }
}

/// Reads a scenario.
pub fn parse(id: &str, text: &str) -> Result<Case, CaseError> {
    let fault = |line: usize, what: String| CaseError {
        file: format!("{id}.md"),
        line,
        what,
    };
    if text.len() > SIZE_MAX {
        return Err(fault(0, format!("it is longer than {SIZE_MAX} bytes")));
    }
    let mut case = Case {
        id: id.to_owned(),
        title: String::new(),
        shows: Vec::new(),
        alone: false,
        steps: Vec::new(),
    };
    let namespace = case.namespace();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if let Some(fence) = line.strip_prefix("```") {
            let mut block = Vec::new();
            loop {
                match lines.next() {
                    None => return Err(fault(at + 1, "the fence is not closed".into())),
                    Some((_, "```")) => break,
                    Some((number, line)) => {
                        block.push((number + 1, line.replace("$NS", &namespace)));
                    }
                }
            }
            let act = act(fence, &block, &namespace)
                .map_err(|(line, what)| fault(line.unwrap_or(at + 1), what))?;
            case.steps.push(Step { line: at + 1, act });
        } else if let Some(title) = line.strip_prefix("# ") {
            title.clone_into(&mut case.title);
        } else if let Some(codes) = line.strip_prefix("Shows:") {
            case.shows.extend(
                codes
                    .trim()
                    .trim_end_matches('.')
                    .split(',')
                    .map(|c| c.trim().to_owned()),
            );
        } else if line.starts_with("Runs alone") {
            case.alone = true;
        }
    }
    match case.steps.last() {
        _ if case.title.is_empty() => Err(fault(1, "it has no title: `# ...`".into())),
        Some(Step {
            act: Act::Then { .. },
            ..
        }) => Ok(case),
        _ => Err(fault(1, "its last block must be a `then` block".into())),
    }
}

type Fault = (Option<usize>, String);
type Block = [(usize, String)];

fn act(fence: &str, block: &Block, namespace: &str) -> Result<Act, Fault> {
    let words: Vec<&str> = fence.split_whitespace().collect();
    match words.as_slice() {
        ["yaml"] => Ok(Act::Apply {
            manifests: manifests(block)?,
            other: None,
        }),
        ["yaml", "by", name] => Ok(Act::Apply {
            manifests: manifests(block)?,
            other: Some((*name).to_owned()),
        }),
        ["patch", subject] => patch(subject, block),
        ["delete"] => block
            .iter()
            .map(deletion)
            .collect::<Result<_, _>>()
            .map(Act::Delete),
        ["evict"] => Ok(Act::Evict(
            block
                .iter()
                .map(|(_, line)| line.trim().to_owned())
                .collect(),
        )),
        ["wait", time] => Ok(Act::Wait(duration(time)?)),
        ["then"] => then(block, WITHIN, namespace),
        ["then", "within", time] => then(block, duration(time)?, namespace),
        _ => Err((
            None,
            format!("`{fence}` is none of yaml, patch, delete, evict, wait, then"),
        )),
    }
}

fn text_of(block: &Block) -> String {
    block.iter().map(|(_, line)| format!("{line}\n")).collect()
}

fn manifests(block: &Block) -> Result<Vec<Value>, Fault> {
    let mut found = Vec::new();
    for document in yaml::parse_all(&text_of(block)) {
        let value = document.map_err(|e| (None, e.to_string()))?;
        if value["kind"].is_string() && value["metadata"]["name"].is_string() {
            found.push(value);
        } else if !value.is_null() {
            return Err((None, "a manifest has kind and metadata.name".into()));
        }
    }
    Ok(found)
}

fn patch(subject: &str, block: &Block) -> Result<Act, Fault> {
    let mut parts = subject.splitn(3, '/');
    let mut next = || parts.next().unwrap_or("").to_owned();
    let (kind, name, subresource) = (next(), next(), next());
    let body = yaml::parse(&text_of(block)).map_err(|e| (None, e.to_string()))?;
    Ok(Act::Patch {
        subject: format!("{kind}/{name}"),
        subresource: (!subresource.is_empty()).then_some(subresource),
        body,
    })
}

fn deletion((number, line): &(usize, String)) -> Result<Deletion, Fault> {
    let mut words = line.split_whitespace();
    let mut found = Deletion {
        subject: words.next().unwrap_or("").to_owned(),
        propagation: None,
        grace: None,
    };
    while let Some(word) = words.next() {
        match word {
            "orphan" => found.propagation = Some("Orphan"),
            "foreground" => found.propagation = Some("Foreground"),
            "background" => found.propagation = Some("Background"),
            "grace" => found.grace = words.next().and_then(|n| n.parse().ok()),
            _ => {
                return Err((
                    Some(*number),
                    format!("`{word}` is no option of a deletion"),
                ));
            }
        }
    }
    Ok(found)
}

fn then(block: &Block, within: Duration, namespace: &str) -> Result<Act, Fault> {
    let mut lines = Vec::new();
    for (number, text) in block {
        let text = text.trim().replace(namespace, "$NS");
        if !text.is_empty() && !text.starts_with('#') {
            let line = line::parse(&text).map_err(|what| (Some(*number), what))?;
            lines.push((*number, text, line));
        }
    }
    Ok(Act::Then { lines, within })
}

fn duration(text: &str) -> Result<Duration, Fault> {
    let seconds = text.strip_suffix('s').and_then(|s| s.parse().ok());
    let seconds: f64 = seconds.ok_or((None, format!("`{text}` is no time: write `5s`")))?;
    Duration::try_from_secs_f64(seconds).map_err(|e| (None, e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        parse("x", text).unwrap_err().to_string()
    }

    #[test]
    fn a_file_becomes_steps() {
        let text = "# Title\n\nWhy.\n\nShows: W03, H04.\n\n```yaml\nkind: Pod\nmetadata: {name: $NS-a}\n```\n\
                    ```delete\nPod/a foreground grace 3\n```\n```then within 5s\nPod/a gone\n```\n";
        let case = parse("x", text).unwrap();
        assert_eq!(
            (case.title.as_str(), case.shows.len(), case.steps.len()),
            ("Title", 2, 3)
        );
        let Act::Apply {
            manifests: given, ..
        } = &case.steps[0].act
        else {
            panic!()
        };
        assert_eq!(given[0]["metadata"]["name"], "t-x-a");
        let Act::Delete(lines) = &case.steps[1].act else {
            panic!()
        };
        assert_eq!(lines[0].propagation, Some("Foreground"));
        assert_eq!(lines[0].grace, Some(3));
        let Act::Then { within, .. } = &case.steps[2].act else {
            panic!()
        };
        assert_eq!(within.as_secs(), 5);
    }

    // What only a controller of applications can show is not asked of a cluster: policies and
    // waves of hooks, Lua, child applications, commits.
    const SHOWN: &[&str] = &[
        "H01", "H02", "H03", "H04", "H05", "H06", "H07", "H08", "H09", "H10", "H12", "H13", "H14",
        "H15", "W01", "W02", "W03", "W04", "W05", "W06", "W07", "W08", "W09", "W10", "W11", "W13",
        "W14", "W16", "W17", "W18", "W19", "W20", "W21", "W22",
    ];

    #[test]
    fn every_failure_that_a_cluster_can_show_is_shown() {
        let cases = load(&crate::folder().join("cases")).unwrap();
        assert!(cases.len() >= 60);
        let shown: Vec<&str> = cases
            .iter()
            .flat_map(|c| &c.shows)
            .map(String::as_str)
            .collect();
        let missing: Vec<&&str> = SHOWN.iter().filter(|code| !shown.contains(code)).collect();
        assert_eq!(missing, Vec::<&&str>::new());
    }

    #[test]
    fn faults_name_their_line() {
        assert_eq!(fault("# T\n```yaml\n"), "x.md:2: the fence is not closed");
        assert_eq!(
            fault("# T\n```then\nPod/a gone\nhm\n```\n"),
            "x.md:4: it begins with neither `Kind/name` nor a word we know"
        );
        assert_eq!(
            fault("# T\n```wait 5m\n```\n"),
            "x.md:2: `5m` is no time: write `5s`"
        );
        assert_eq!(
            fault("# T\n"),
            "x.md:1: its last block must be a `then` block"
        );
    }
}
