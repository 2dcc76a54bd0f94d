//! Sends the cases to a server, in order, to record its answers or to compare them.

use crate::case::{self, Case, Step};
use crate::differences::{self, Allowed, Difference};
use crate::fixture::{self, Fixture};
use crate::normal::{self, Known};
use crate::{RunError, Target, fault, hooks, trim};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};
use testkit::webhook::Webhook;
use testkit::{Client, Request, Response};

/// Longest that one request may take; longer than any watch of the cases.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// Longest that a setup is tried again.
const UNTIL_MAX: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);
/// Most differences of one case that are printed.
const SHOWN_MAX: usize = 12;
/// Most letters of a value that are printed.
const VALUE_MAX: usize = 400;

/// Where an answer notes what went wrong before it.
const FAILED: &str = "failed";

/// How one case went.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The case.
    pub name: String,
    /// Differences that are not allowed.
    pub wrong: Vec<Difference>,
    /// How many are allowed.
    pub allowed: usize,
}

/// How a replay went.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Every case that was asked.
    pub verdicts: Vec<Verdict>,
    /// Cases for a kind of server that was not offered.
    pub not_asked: Vec<String>,
    /// Lines of the list of differences that no longer apply.
    pub stale: Vec<Allowed>,
}

impl Report {
    /// Whether nothing differs that may not, and no line is stale.
    pub fn is_good(&self) -> bool {
        self.stale.is_empty() && self.verdicts.iter().all(|v| v.wrong.is_empty())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for verdict in self.verdicts.iter().filter(|v| !v.wrong.is_empty()) {
            writeln!(f, "{}", verdict.name)?;
            for difference in verdict.wrong.iter().take(SHOWN_MAX) {
                let Difference {
                    pointer,
                    wanted,
                    got,
                } = difference;
                let (wanted, got) = (shorten(wanted.as_ref()), shorten(got.as_ref()));
                writeln!(f, "  {pointer}\n    real {wanted}\n    here {got}")?;
            }
            let more = verdict.wrong.len().saturating_sub(SHOWN_MAX);
            if more > 0 {
                writeln!(f, "  and {more} more")?;
            }
        }
        for line in &self.stale {
            writeln!(
                f,
                "stale line in differences.txt: {} {}",
                line.case, line.pointer
            )?;
        }
        let good = self.verdicts.iter().filter(|v| v.wrong.is_empty()).count();
        let allowed: usize = self.verdicts.iter().map(|v| v.allowed).sum();
        write!(
            f,
            "{good} of {} cases agree, {allowed} differences allowed, {} stale, {} not asked",
            self.verdicts.len(),
            self.stale.len(),
            self.not_asked.len()
        )
    }
}

fn shorten(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    match text.char_indices().nth(VALUE_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Sends every case to a real server and gives what it answered.
pub fn record(target: &Target) -> Result<Vec<Fixture>, RunError> {
    let mut run = Run::new(target)?;
    let mut fixtures = Vec::new();
    let mut faults = Vec::new();
    for case in case::all()? {
        let answer = run.ask(&case)?;
        let response = answer.ok_or_else(|| fault(&case.name, "needs a variant to record"))?;
        if let Some(failed) = response.get(FAILED) {
            faults.push(format!("{}: {failed}", case.name));
        }
        fixtures.push(Fixture { case, response });
    }
    if faults.is_empty() {
        Ok(fixtures)
    } else {
        Err(fault("what goes before a case fails", faults.join("\n")))
    }
}

/// Sends every recorded case to a server and compares; `allowed` may differ.
pub fn replay(
    target: &Target,
    fixtures: &[Fixture],
    allowed: &[Allowed],
) -> Result<Report, RunError> {
    let mut run = Run::new(target)?;
    let mut report = Report::default();
    let mut used = vec![false; allowed.len()];
    for Fixture { case, response } in fixtures {
        let name = case.name.clone();
        let Some(got) = run.ask(case)? else {
            report.not_asked.push(name);
            continue;
        };
        let mut verdict = Verdict {
            name,
            wrong: Vec::new(),
            allowed: 0,
        };
        for difference in differences::compare(response, &got) {
            let line = allowed
                .iter()
                .position(|a| a.covers(&verdict.name, &difference.pointer));
            if let Some(line) = line {
                used[line] = true;
                verdict.allowed += 1;
            } else {
                verdict.wrong.push(difference);
            }
        }
        report.verdicts.push(verdict);
    }
    // Lines with a slash are about sessions.
    let ours = |line: &Allowed| !line.case.contains('/');
    let lines = allowed.iter().zip(used);
    let stale = lines.filter(|(line, used)| !used && ours(line));
    report.stale = stale.map(|(line, _)| line.clone()).collect();
    Ok(report)
}

struct Run<'a> {
    target: &'a Target,
    known: Known,
    clients: BTreeMap<(String, String), Client>,
    webhook: Webhook,
}

impl<'a> Run<'a> {
    fn new(target: &'a Target) -> Result<Self, RunError> {
        let webhook = Webhook::start(Box::new(hooks::answer)).map_err(|source| RunError::File {
            path: "a socket for webhooks".into(),
            source,
        })?;
        Ok(Self {
            target,
            known: Known::default(),
            clients: BTreeMap::new(),
            webhook,
        })
    }

    // `None` when the case is for a kind of server that is not there.
    fn ask(&mut self, case: &Case) -> Result<Option<Value>, RunError> {
        let offered = self.target.variants.contains_key(&case.variant);
        if !case.variant.is_empty() && !offered {
            return Ok(None);
        }
        let mut failed = Vec::new();
        for step in &case.before {
            let answer = self.send(&case.name, &case.variant, step)?;
            self.save(step, &answer);
            if !done(step, &answer) {
                let what = format!("{} {}", step.method, step.path);
                failed.push(json!({"step": what, "status": answer.status, "body": shorten(Some(&answer.text().into()))}));
            }
        }
        let answer = self.send(&case.name, &case.variant, &case.step)?;
        if case.step.until.is_some() && !done(&case.step, &answer) {
            failed.push(json!({"step": "the case itself", "until": case.step.until, "body": shorten(Some(&answer.text().into()))}));
        }
        let mut body = read_body(&answer, &case.step.path);
        trim::apply(&case.trim, &mut body).map_err(|e| fault(&case.name, e))?;
        let mut headers = normal::headers(&answer.headers, &self.known);
        if answer.body.is_empty() && answer.status == 304 {
            headers.as_object_mut().map(|h| h.remove("Content-Type"));
        }
        let mut response = json!({
            "status": answer.status,
            "headers": headers,
            "body": normal::body(body, &self.known),
        });
        if !failed.is_empty() {
            response[FAILED] = failed.into();
        }
        // Saved after the comparison: an answer is never compared with itself.
        self.save(&case.step, &answer);
        Ok(Some(response))
    }

    fn send(&mut self, name: &str, variant: &str, step: &Step) -> Result<Response, RunError> {
        let request = self.fill(name, step)?;
        let client = self.client(variant, &step.user)?;
        let end = Instant::now() + UNTIL_MAX;
        let answer = loop {
            let answer = client.send_within(&request, ANSWER_MAX)?;
            if step.until.is_none() || done(step, &answer) || Instant::now() > end {
                break answer;
            }
            sleep(PAUSE);
        };
        self.known
            .asked
            .push_str(&String::from_utf8_lossy(&request.body));
        Ok(answer)
    }

    fn save(&mut self, step: &Step, answer: &Response) {
        let body = answer.json().unwrap_or_default();
        for (name, pointer) in &step.save {
            let text = match body.pointer(pointer) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => answer.header(pointer).unwrap_or_default().to_owned(),
            };
            self.known.saved.insert(name.clone(), text);
        }
    }

    fn fill(&self, name: &str, step: &Step) -> Result<Request, RunError> {
        let fill = |text: &str| self.fill_text(name, text);
        let body = match &step.body {
            Value::Null => String::new(),
            Value::String(text) => fill(text)?,
            other => fill(&other.to_string())?,
        };
        let mut request = Request::new(&step.method, &fill(&step.path)?);
        for (name, value) in &step.headers {
            request = request.header(name, &fill(value)?);
        }
        request.body = body.into_bytes();
        Ok(request)
    }

    fn fill_text(&self, place: &str, text: &str) -> Result<String, RunError> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, tail)) = after.split_once("}}") else {
                break;
            };
            out.push_str(before);
            match name {
                "webhook" => out.push_str(&self.webhook.url),
                "webhook-ca" => out.push_str(&base64(self.webhook.ca_pem.as_bytes())),
                _ => {
                    let value = self.known.saved.get(name);
                    let value =
                        value.ok_or_else(|| fault(place, format!("`{name}` is not saved")))?;
                    out.push_str(value);
                }
            }
            rest = tail;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn client(&mut self, variant: &str, user: &str) -> Result<&Client, RunError> {
        let target = self.target.variants.get(variant).unwrap_or(self.target);
        let key = (variant.to_owned(), user.to_owned());
        if !self.clients.contains_key(&key) {
            let token = match user {
                "admin" => Some(target.admin_token.as_str()),
                "somebody" => Some(target.user_token.as_str()),
                "stranger" => Some("not-a-token"),
                _ => None,
            };
            let client = Client::new(&target.url, &target.ca_pem, token)?;
            self.clients.insert(key.clone(), client);
        }
        Ok(&self.clients[&key])
    }
}

// Whether a step did what it is there for.
fn done(step: &Step, answer: &Response) -> bool {
    let fine = || answer.status < 400;
    step.until
        .as_deref()
        .map_or_else(fine, |until| holds(until, answer))
}

fn holds(until: &str, answer: &Response) -> bool {
    match until.split_once('=') {
        None => until.parse() == Ok(answer.status),
        Some((pointer, wanted)) => {
            let body = answer.json().unwrap_or_default();
            match body.pointer(pointer) {
                Some(Value::String(text)) => text == wanted,
                Some(other) => {
                    serde_json::from_str(wanted).is_ok_and(|wanted: Value| wanted == *other)
                }
                None => wanted == "nothing",
            }
        }
    }
}

fn read_body(answer: &Response, path: &str) -> Value {
    let watch = path.contains("watch=1") || path.contains("watch=true");
    if watch && answer.status == 200 {
        let text = answer.text();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let events: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.into()))
            .collect();
        return json!({"stream": events});
    }
    answer.json().unwrap_or_else(|| answer.text().into())
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let mut word = 0u32;
        for at in 0..3 {
            word = word << 8 | u32::from(chunk.get(at).copied().unwrap_or(0));
        }
        for at in 0..4 {
            let index = (word >> (18 - 6 * at)) & 63;
            let letter = if at <= chunk.len() {
                LETTERS[index as usize]
            } else {
                b'='
            };
            out.push(char::from(letter));
        }
    }
    out
}

/// Reads the committed recordings and the list of allowed differences.
pub fn committed() -> Result<(Vec<Fixture>, Vec<Allowed>), RunError> {
    let fixtures = fixture::read_all(&crate::folder().join("fixtures"))?;
    let allowed = crate::read(&crate::folder().join("differences.txt"))?;
    Ok((fixtures, differences::parse(&allowed)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        assert_eq!(base64(b"a"), "YQ==");
        assert_eq!(base64(b"ab"), "YWI=");
        assert_eq!(base64(b"abc"), "YWJj");
        assert_eq!(base64(b"-----BEGIN "), "LS0tLS1CRUdJTiA=");
    }

    #[test]
    fn a_condition_is_a_status_or_a_value() {
        let answer = Response {
            status: 200,
            body: br#"{"a": {"b": "c", "n": 1}}"#.to_vec(),
            ..Response::default()
        };
        assert!(holds("200", &answer) && !holds("404", &answer));
        assert!(holds("/a/b=c", &answer) && holds("/a/n=1", &answer));
        assert!(holds("/a/x=nothing", &answer) && !holds("/a/b=nothing", &answer));
    }
}
