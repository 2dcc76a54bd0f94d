//! Reads the list of requests.
//!
//! A case file is text. Each request opens with `### name: what it shows`; `### setup` is a
//! request whose answer is not compared and that belongs to the next named one. Then come
//! directives (`@`), the request line, headers, an empty line and the body:
//!
//! ```text
//! ### 045-get: a missing object
//! GET /api/v1/namespaces/case/configmaps/none
//!
//! ### setup
//! @until /status/conditions/0/status=True
//! GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/toys.example.com
//!
//! ### 096-ssa-noop: the same apply again
//! @save again /metadata/resourceVersion
//! APPLY /api/v1/namespaces/case/configmaps/applied?fieldManager=one
//!
//! {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}
//! ```
//!
//! | directive | meaning |
//! |---|---|
//! | `@as NAME` | as `admin` (the default), `somebody` (may do nothing), `nobody` (no token) or `stranger` (a wrong token) |
//! | `@save NAME POINTER` | keeps a value of the answer; `{{NAME}}` stands for it later |
//! | `@until STATUS` or `@until POINTER=VALUE` | asks again until the answer is like that |
//! | `@trim NAME` | keeps only a part of a huge answer, see `trim.rs` |
//! | `@text` | the body is sent as it is written; else it is JSON |
//! | `@variant NAME` | only for a server started in that way |
//!
//! `APPLY`, `MERGE`, `STRATEGIC` and `JSONPATCH` are `PATCH` with the fitting Content-Type.
//! `{{webhook}}` and `{{webhook-ca}}` lead to the webhook server of the run.

use crate::{RunError, fault};
use serde_json::Value;

/// One request that is compared, and those that go before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// `045-get`.
    pub name: String,
    /// What it shows.
    pub shows: String,
    /// Requests that go before it.
    pub before: Vec<Step>,
    /// The request itself.
    pub step: Step,
    /// Which parts of the answer are kept; all when empty.
    pub trim: Vec<String>,
    /// The kind of server it needs; any when empty.
    pub variant: String,
}

/// One request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path with query; may hold `{{names}}`.
    pub path: String,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Who asks.
    pub user: String,
    /// The body; text as [`Value::String`], none as [`Value::Null`].
    pub body: Value,
    /// When to stop asking.
    pub until: Option<String>,
    /// Names for values of the answer, by pointer.
    pub save: Vec<(String, String)>,
}

/// Reads one case file.
pub fn parse(place: &str, text: &str) -> Result<Vec<Case>, RunError> {
    let mut cases = Vec::new();
    let mut before = Vec::new();
    for block in text.split("\n### ").skip(1) {
        let (title, rest) = block.split_once('\n').unwrap_or((block, ""));
        let part = parse_block(place, title, rest)?;
        if title.trim() == "setup" {
            before.push(part.step);
            continue;
        }
        let (name, shows) = title
            .split_once(": ")
            .ok_or_else(|| fault(place, format!("`{title}` says not what it shows")))?;
        cases.push(Case {
            name: name.trim().to_owned(),
            shows: shows.trim().to_owned(),
            before: std::mem::take(&mut before),
            step: part.step,
            trim: part.trim,
            variant: part.variant,
        });
    }
    if before.is_empty() {
        Ok(cases)
    } else {
        Err(fault(place, "a setup at the end belongs to nothing"))
    }
}

#[derive(Default)]
struct Block {
    step: Step,
    trim: Vec<String>,
    variant: String,
    verbatim: bool,
}

fn parse_block(place: &str, title: &str, rest: &str) -> Result<Block, RunError> {
    let wrong = |what: String| fault(place, format!("{title}: {what}"));
    let mut block = Block::default();
    block.step.user = "admin".into();
    let (head, body) = rest.split_once("\n\n").unwrap_or((rest, ""));
    for line in head.lines().map(str::trim) {
        if let Some(directive) = line.strip_prefix('@') {
            direct(&mut block, directive).map_err(wrong)?;
        } else if block.step.method.is_empty() {
            let (method, path) = line
                .split_once(' ')
                .ok_or_else(|| wrong(format!("`{line}` is no request line")))?;
            request_line(&mut block.step, method, path);
        } else {
            let (name, value) = line
                .split_once(": ")
                .ok_or_else(|| wrong(format!("`{line}` is no header")))?;
            block.step.headers.push((name.into(), value.into()));
        }
    }
    if block.step.method.is_empty() {
        return Err(wrong("no request line".into()));
    }
    let body = body.trim_end();
    if block.verbatim {
        block.step.body = Value::String(body.to_owned());
    } else if !body.is_empty() {
        block.step.body = serde_json::from_str(body).map_err(|e| wrong(format!("body: {e}")))?;
    }
    let typed = |(name, _): &(String, String)| name.eq_ignore_ascii_case("Content-Type");
    if !body.is_empty() && !block.step.headers.iter().any(typed) {
        let json = ("Content-Type".into(), "application/json".into());
        block.step.headers.push(json);
    }
    Ok(block)
}

fn direct(block: &mut Block, directive: &str) -> Result<(), String> {
    let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
    let rest = rest.trim().to_owned();
    match word {
        "as" => block.step.user = rest,
        "until" => block.step.until = Some(rest),
        "trim" => block.trim.push(rest),
        "variant" => block.variant = rest,
        "text" => block.verbatim = true,
        "save" => {
            let (name, pointer) = rest.split_once(' ').ok_or("`@save` needs a pointer")?;
            block.step.save.push((name.into(), pointer.into()));
        }
        _ => return Err(format!("`@{word}` is unknown")),
    }
    Ok(())
}

fn request_line(step: &mut Step, method: &str, path: &str) {
    path.clone_into(&mut step.path);
    let patch = match method {
        "APPLY" => "application/apply-patch+yaml",
        "MERGE" => "application/merge-patch+json",
        "STRATEGIC" => "application/strategic-merge-patch+json",
        "JSONPATCH" => "application/json-patch+json",
        _ => {
            method.clone_into(&mut step.method);
            return;
        }
    };
    step.method = "PATCH".into();
    step.headers.push(("Content-Type".into(), patch.into()));
}

/// All cases of all case files, in order.
pub fn all() -> Result<Vec<Case>, RunError> {
    let mut cases: Vec<Case> = Vec::new();
    for path in crate::files(&crate::folder().join("cases"), "http")? {
        let place = path.file_name().unwrap_or_default().to_string_lossy();
        cases.extend(parse(&place, &crate::read(&path)?)?);
    }
    for pair in cases.windows(2) {
        if pair[0].name >= pair[1].name {
            return Err(fault(&pair[1].name, "is out of order or there twice"));
        }
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setup_belongs_to_the_next_case() {
        let text = "words\n\n### setup\n@until 200\nGET /readyz\n\n### 001-a: shows a\n@as somebody\n@save rv /metadata/resourceVersion\nAPPLY /x?y=1\nAccept: z\n\n{\"a\":\n 1}\n\n### 002-b: shows b\n@text\nPOST /x\n\n{oops\n";
        let cases = parse("t", text).unwrap();
        assert_eq!(cases.len(), 2);
        assert_eq!(cases[0].before[0].until.as_deref(), Some("200"));
        let step = &cases[0].step;
        assert_eq!(
            (step.method.as_str(), step.user.as_str()),
            ("PATCH", "somebody")
        );
        assert_eq!(step.body, json!({"a": 1}));
        assert_eq!(step.headers[0].1, "application/apply-patch+yaml");
        assert_eq!(step.headers[1], ("Accept".into(), "z".into()));
        assert_eq!(
            step.save,
            [("rv".into(), "/metadata/resourceVersion".into())]
        );
        assert_eq!(cases[1].step.body, json!("{oops"));
    }

    #[test]
    fn a_faulty_case_is_named() {
        let fails = |text: &str| parse("t", text).unwrap_err().to_string();
        assert_eq!(fails("\n### a: b\n@x\nGET /"), "`t`: a: b: `@x` is unknown");
        assert_eq!(
            fails("\n### a: b\nGET /\n\n{"),
            "`t`: a: b: body: EOF while parsing an object at line 1 column 1"
        );
        assert!(fails("\n### setup\nGET /\n").contains("belongs to nothing"));
    }

    #[test]
    fn all_case_files_can_be_read() {
        assert!(all().unwrap().len() > 230);
    }
}
