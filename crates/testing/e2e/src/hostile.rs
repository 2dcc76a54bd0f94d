//! Bad requests: what a clumsy, broken or malicious client sends.
//!
//! [`cases`] gives them in order; each is answered by a status and a reason that a real API server
//! gave to the very same bytes (`data/hostile.txt`, written by `cargo run -p e2e --example
//! ask_real`). [`ask`] sends one.

mod definition;
mod encoding;
mod object;
mod patch;
mod path;
mod query;

use std::time::Duration;
use testkit::{Client, Request, Response};

/// How many levels of nesting a deep document has.
pub const DEPTH: usize = 100_000;
/// How long one answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(20);

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAP: &str = "/api/v1/namespaces/default/configmaps/victim";
const PODS: &str = "/api/v1/namespaces/default/pods";
const WIDGETS: &str = "/apis/hostile.example.com/v1/namespaces/default/widgets";
const WIDGET: &str = "/apis/hostile.example.com/v1/namespaces/default/widgets/victim";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

const VICTIM: &str = r#"{"metadata":{"name":"victim","labels":{"app":"x"}},"data":{"a":"1"}}"#;

/// One bad request.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is bad about it; the key in the table of answers.
    pub name: String,
    /// What to send.
    pub request: Request,
}

impl Case {
    fn new(name: &str, method: &str, path: &str) -> Self {
        Self {
            name: name.to_owned(),
            request: Request::new(method, path),
        }
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    fn body(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.request.body = body.into();
        self.header("Content-Type", content_type)
    }
}

fn get(name: &str, path: &str) -> Case {
    Case::new(name, "GET", path)
}

fn post(name: &str, path: &str, body: impl Into<Vec<u8>>) -> Case {
    Case::new(name, "POST", path).body(JSON, body)
}

/// What must be there before the cases make sense: an object, a definition, a custom object.
pub fn prepare(client: &Client) {
    let made = |path: &str, body: &str| {
        let mut request = Request::new("POST", path).header("Content-Type", JSON);
        request.body = body.as_bytes().to_vec();
        let answer = client.send(&request).expect("the server answers");
        answer.status
    };
    assert_eq!(made(MAPS, VICTIM), 201, "the map");
    assert_eq!(made(DEFINITIONS, definition::WIDGETS), 201, "the kind");
    let widget = r#"{"apiVersion":"hostile.example.com/v1","kind":"Widget","metadata":{"name":"victim"},"spec":{"any":{}}}"#;
    let until = std::time::Instant::now() + ANSWER_MAX;
    while made(WIDGETS, widget) != 201 {
        assert!(std::time::Instant::now() < until, "the kind is served");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Puts the object back that most cases are about, should one of them have removed it.
pub fn restore(client: &Client) {
    let there = client.get(MAP).is_ok_and(|answer| answer.status == 200);
    if !there {
        let mut request = Request::new("POST", MAPS).header("Content-Type", JSON);
        request.body = VICTIM.as_bytes().to_vec();
        // Whether it worked shows in the answers that follow.
        let _ = client.send(&request);
    }
}

/// All bad requests, in the order they are sent.
pub fn cases() -> Vec<Case> {
    let mut all = encoding::cases();
    all.extend(object::cases());
    all.extend(patch::cases());
    all.extend(query::cases());
    all.extend(path::cases());
    all.extend(definition::cases());
    all
}

/// What a server makes of a case: its status and the reason in its answer, `-` for none and
/// `text` when the answer is no JSON.
pub fn ask(client: &Client, case: &Case) -> Result<(u16, String), String> {
    let answer = answer(client, case)?;
    Ok((answer.status, reason(&answer)))
}

/// The whole answer to a case.
pub fn answer(client: &Client, case: &Case) -> Result<Response, String> {
    let answer = client.send_within(&case.request, ANSWER_MAX);
    answer.map_err(|e| format!("{:?}", std::error::Error::source(&e)))
}

fn reason(answer: &Response) -> String {
    // A watch answers line by line.
    let first = answer.body.split(|b| *b == b'\n').next().unwrap_or(&[]);
    let body = answer.json().or_else(|| serde_json::from_slice(first).ok());
    match body {
        // A document may be too deep to be read here.
        None if answer.status < 400 && answer.body.starts_with(b"{") => "-".into(),
        None => "text".into(),
        Some(body) if body["type"] == "ERROR" => {
            format!("ERROR:{}", body["object"]["reason"].as_str().unwrap_or("-"))
        }
        Some(body) => body["reason"].as_str().unwrap_or("-").to_owned(),
    }
}

/// The same piece of text many times.
fn repeat(piece: &str, count: usize) -> String {
    piece.repeat(count)
}

/// A document nested `count` levels deep.
fn deep(open: &str, middle: &str, close: &str, count: usize) -> String {
    format!("{}{middle}{}", open.repeat(count), close.repeat(count))
}

/// The same piece of text many times, each with its number.
fn numbered(count: usize, piece: impl Fn(usize) -> String) -> String {
    let pieces: Vec<String> = (0..count).map(piece).collect();
    pieces.concat()
}
