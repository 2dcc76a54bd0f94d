//! A case with the answer a real server gave, as one JSON file.
//!
//! `{shows, before, request {method, path, headers, as, body}, save, trim, variant,
//! response {status, headers, body}}`; what is empty is left out. The answer is in the normal
//! form of [`crate::normal`], so that recording again changes a file only when the server does.

use crate::case::{Case, Step};
use crate::{RunError, fault};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A recorded case.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixture {
    /// What was asked.
    pub case: Case,
    /// What was answered: `{status, headers, body}`.
    pub response: Value,
}

impl Fixture {
    fn file_name(&self) -> String {
        format!("{}-{}.json", self.case.name, self.response["status"])
    }
}

/// Writes fixtures into a folder, in place of those that are there.
pub fn write_all(folder: &Path, fixtures: &[Fixture]) -> Result<(), RunError> {
    let wrong = |path: &Path| {
        let path = path.display().to_string();
        move |source| RunError::File { path, source }
    };
    fs::create_dir_all(folder).map_err(wrong(folder))?;
    for path in crate::files(folder, "json")? {
        fs::remove_file(&path).map_err(wrong(&path))?;
    }
    for fixture in fixtures {
        let path = folder.join(fixture.file_name());
        fs::write(&path, to_text(&to_json(fixture))).map_err(wrong(&path))?;
    }
    Ok(())
}

/// Reads all fixtures of a folder, in order.
pub fn read_all(folder: &Path) -> Result<Vec<Fixture>, RunError> {
    let paths: Vec<PathBuf> = crate::files(folder, "json")?;
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<Fixture, RunError> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let value = serde_json::from_str(&crate::read(path)?)
        .map_err(|error| fault(&name, error.to_string()))?;
    // The status ends the name of the file, not of the case.
    let name = name.rsplit_once('-').map_or(&*name, |(name, _)| name);
    Ok(from_json(name, &value))
}

// One line per request and per answer: short files that still can be compared line by line.
fn to_text(value: &Value) -> String {
    let mut text = String::from("{\n");
    let fields = value.as_object().into_iter().flatten();
    let lines: Vec<String> = fields
        .map(|(key, part)| match part {
            Value::Object(inner) if key == "response" => {
                let inner: Vec<String> = inner
                    .iter()
                    .map(|(k, v)| format!("  {}: {v}", Value::from(k.as_str())))
                    .collect();
                format!("\"{key}\": {{\n{}\n}}", inner.join(",\n"))
            }
            _ => format!("\"{key}\": {part}"),
        })
        .collect();
    text.push_str(&lines.join(",\n"));
    text.push_str("\n}\n");
    text
}

fn to_json(fixture: &Fixture) -> Value {
    let case = &fixture.case;
    let mut value = step_to_json(&case.step);
    value["shows"] = case.shows.clone().into();
    value["response"] = fixture.response.clone();
    if !case.before.is_empty() {
        value["before"] = case.before.iter().map(step_to_json).collect();
    }
    if !case.trim.is_empty() {
        value["trim"] = json!(case.trim);
    }
    if !case.variant.is_empty() {
        value["variant"] = json!(case.variant);
    }
    value
}

fn step_to_json(step: &Step) -> Value {
    let mut request = json!({"method": step.method, "path": step.path, "as": step.user});
    if !step.headers.is_empty() {
        request["headers"] = to_map(&step.headers);
    }
    if !step.body.is_null() {
        request["body"] = step.body.clone();
    }
    let mut value = json!({"request": request});
    if !step.save.is_empty() {
        value["save"] = to_map(&step.save);
    }
    if let Some(until) = &step.until {
        value["until"] = json!(until);
    }
    value
}

fn from_json(name: &str, value: &Value) -> Fixture {
    let case = Case {
        name: name.to_owned(),
        shows: text(value, "/shows"),
        before: list(value, "before").map(step_from_json).collect(),
        step: step_from_json(value),
        trim: list(value, "trim")
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect(),
        variant: text(value, "/variant"),
    };
    let response = value.get("response").cloned().unwrap_or_default();
    Fixture { case, response }
}

fn step_from_json(value: &Value) -> Step {
    Step {
        method: text(value, "/request/method"),
        path: text(value, "/request/path"),
        headers: from_map(value.pointer("/request/headers")),
        user: text(value, "/request/as"),
        body: value.pointer("/request/body").cloned().unwrap_or_default(),
        until: value
            .get("until")
            .and_then(Value::as_str)
            .map(str::to_owned),
        save: from_map(value.get("save")),
    }
}

fn to_map(pairs: &[(String, String)]) -> Value {
    let pairs = pairs.iter().map(|(k, v)| (k.clone(), v.clone().into()));
    Value::Object(pairs.collect::<Map<_, _>>())
}

fn from_map(value: Option<&Value>) -> Vec<(String, String)> {
    let fields = value.and_then(Value::as_object).into_iter().flatten();
    fields
        .filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())))
        .collect()
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn text(value: &Value, pointer: &str) -> String {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Headers and saved values are sets of pairs: their order is not kept.
    fn sorted(mut step: Step) -> Step {
        step.headers.sort();
        step.save.sort();
        step
    }

    #[test]
    fn every_case_is_recorded_as_it_is_written() {
        let fixtures = read_all(&crate::folder().join("fixtures")).unwrap();
        let cases = crate::case::all().unwrap();
        let names = |cases: &[Case]| cases.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
        let recorded: Vec<Case> = fixtures.into_iter().map(|f| f.case).collect();
        assert_eq!(names(&cases), names(&recorded), "run `cargo xtask record`");
        for (case, recorded) in cases.into_iter().zip(recorded) {
            let name = case.name.clone();
            assert_eq!(sorted(case.step), sorted(recorded.step), "{name}");
            let both = case.before.into_iter().zip(recorded.before);
            for (left, right) in both {
                assert_eq!(sorted(left), sorted(right), "before {name}");
            }
        }
    }

    #[test]
    fn a_fixture_survives_writing_and_reading() {
        let case = crate::case::parse(
            "t",
            "\n### setup\n@until 200\nGET /a\n\n### 001-x: y\nPOST /b\n\n{\"c\": 1}\n",
        );
        let fixture = Fixture {
            case: case.unwrap().remove(0),
            response: json!({"status": 201, "body": {"d": [1, 2]}}),
        };
        let text = to_text(&to_json(&fixture));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(from_json("001-x", &value), fixture);
    }
}
