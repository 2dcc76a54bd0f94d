//! `cargo xtask real test --only template`: Go templates against Helm's own engines.
//!
//! The recorded cases are asked again, and templates made by chance, good and bad, must give the
//! same output or the same error in Helm 3, Helm 4 and Go's text/template as in ours.

mod chance;

use crate::Outcome;
use gotemplate::{Context, Edition, MissingKey, Templates, Value};
use serde_json::json;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

const NAME: &str = "c/templates/t";
const RANDOM: usize = 24_000;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

struct Case {
    template: String,
    data: serde_json::Value,
    plain: bool,
}

pub(crate) fn run() -> Outcome {
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(1);
    let mut cases = recorded()?;
    let kept = cases.len();
    let mut chance = chance::Chance::new(seed);
    cases.extend((0..RANDOM).map(|i| {
        let plain = i % 4 == 0;
        Case {
            template: chance.template(plain),
            data: chance.data(),
            plain,
        }
    }));
    let mut wrong = 0;
    for (tool, edition) in [("template3", Edition::Helm3), ("template4", Edition::Helm4)] {
        let started = Instant::now();
        let expected = ask(&build(tool)?, &cases)?;
        let real = started.elapsed();
        let started = Instant::now();
        let mut failed = 0;
        for (case, expected) in cases.iter().zip(&expected) {
            let got = answer(case, edition);
            if got == *expected {
                failed += usize::from(got.starts_with('!'));
                continue;
            }
            wrong += 1;
            if wrong <= 20 {
                println!(
                    "{tool}: {:?}\n  data {}\n  want {expected:?}\n  got  {got:?}",
                    case.template, case.data
                );
            }
        }
        println!(
            "{tool}: {kept} recorded and {RANDOM} random templates (seed {seed}), {failed} of them errors; real {real:.1?}, ours {:.1?}",
            started.elapsed()
        );
    }
    if wrong == 0 {
        Ok(())
    } else {
        Err(format!("{wrong} templates differ").into())
    }
}

fn recorded() -> Result<Vec<Case>> {
    let path = crate::root().join("crates/render/gotemplate/tests/recorded.jsonl");
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines();
    let data: serde_json::Value = serde_json::from_str(lines.next().unwrap_or("null"))?;
    let case = |line| -> Result<Case> {
        let row: Vec<String> = serde_json::from_str(line)?;
        Ok(Case {
            template: row[0].clone(),
            data: data.clone(),
            plain: false,
        })
    };
    lines.map(case).collect()
}

fn build(tool: &str) -> Result<PathBuf> {
    let program = super::folder().join(tool);
    std::fs::create_dir_all(super::folder())?;
    let status = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(crate::root().join("tools").join(tool))
        .status()?;
    if status.success() {
        Ok(program)
    } else {
        Err(format!("could not build tools/{tool}").into())
    }
}

fn ask(program: &PathBuf, cases: &[Case]) -> Result<Vec<String>> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("no standard input")?;
    let lines: Vec<String> = cases
        .iter()
        .map(|c| json!({"template": c.template, "data": c.data, "plain": c.plain}).to_string())
        .collect();
    let feeder = std::thread::spawn(move || lines.iter().try_for_each(|l| writeln!(input, "{l}")));
    let output = child.wait_with_output()?;
    feeder.join().map_err(|_| "the feeder failed")??;
    let show = |line: &str| -> Result<String> {
        let answer: serde_json::Value = serde_json::from_str(line)?;
        Ok(match answer.get("error").and_then(|e| e.as_str()) {
            Some(error) => format!("! {error}"),
            None => format!("= {}", answer["output"].as_str().unwrap_or("")),
        })
    };
    String::from_utf8(output.stdout)?
        .lines()
        .map(show)
        .collect()
}

fn answer(case: &Case, edition: Edition) -> String {
    let edition = if case.plain { Edition::Plain } else { edition };
    let mut templates = Templates::new(edition);
    if let Err(e) = templates.parse(NAME, &case.template) {
        return format!("! {e}");
    }
    let mut state = 1u64;
    let entropy = move |buffer: &mut [u8]| {
        for byte in buffer {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
    };
    let mut context = Context::new((1_700_000_000, 0), Box::new(entropy));
    let data = Value::from_json(&case.data);
    let dot = if case.plain {
        context.missing_key = MissingKey::Invalid;
        data
    } else {
        Value::map([("Values", data)])
    };
    match templates.execute(NAME, dot, &mut context) {
        Ok(output) if case.plain => format!("= {}", output.text()),
        Ok(output) => format!("= {}", output.without_no_value().text()),
        Err(e) if case.plain => format!("! {e}"),
        Err(e) => format!("! {}", e.helm_text(edition)),
    }
}
