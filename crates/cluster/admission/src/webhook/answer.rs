//! What a webhook said, or that it could not be asked.

use super::call::{Call, FailurePolicy};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::field::go_quote;
use model::{ApiError, Cause, Reason, Value, meta};

/// The outcome of a [`Call`].
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// HTTP success with this JSON body.
    Body(Value),
    /// HTTP success with a body that is no JSON, and what is wrong with it.
    Garbled(String),
    /// HTTP failure with this code, and the body if its content type is `text/…`.
    Status(u16, String),
    /// No answer: why, in the words of Go's HTTP client behind `Post "<url>": `, for example
    /// `dial tcp 127.0.0.1:18444: connect: connection refused`, `context deadline exceeded` or
    /// `service "name" not found`.
    Unreachable(String),
}

/// What follows from an answer that does not refuse the request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) warnings: Vec<String>,
    pub(crate) patch: Option<Value>,
}

/// Refuses the request when a webhook could not be asked and its policy is to fail.
pub(crate) fn failed(webhook: &str, policy: FailurePolicy, why: &str) -> Result<(), ApiError> {
    match policy {
        FailurePolicy::Ignore => Ok(()),
        FailurePolicy::Fail => Err(ApiError::internal(format!(
            "failed calling webhook {}: {why}",
            go_quote(webhook)
        ))),
    }
}

/// Reads an answer; an error refuses the request.
pub(crate) fn interpret(call: &Call, answer: &Answer, mutating: bool) -> Result<Verdict, ApiError> {
    let body = match answer {
        Answer::Body(body) => decode(call, body),
        Answer::Garbled(why) => Err(format!(
            "couldn't get version/kind; json parse error: {why}"
        )),
        Answer::Status(code, text) => Err(status_text(*code, text)),
        Answer::Unreachable(why) => Err(format!("Post {}: {why}", go_quote(&call.url()))),
    };
    let body = match body {
        Ok(body) => body,
        Err(why) => {
            let why = format!("failed to call webhook: {why}");
            failed(&call.webhook, call.failure_policy, &why)?;
            return Ok(Verdict::default());
        }
    };
    if let Err(why) = verify(call, body, mutating) {
        let why = format!("received invalid webhook response: {why}");
        failed(&call.webhook, call.failure_policy, &why)?;
        return Ok(Verdict::default());
    }
    let texts = meta::entries(body, "/response/warnings").filter_map(Value::as_str);
    let mut verdict = Verdict {
        warnings: texts.map(str::to_owned).collect(),
        patch: None,
    };
    if body.pointer("/response/allowed") != Some(&Value::Bool(true)) {
        return Err(denied(&call.webhook, body.pointer("/response/status")));
    }
    if mutating {
        match read_patch(call, body) {
            Ok(patch) => verdict.patch = patch,
            Err(why) => failed(&call.webhook, call.failure_policy, &why)?,
        }
    }
    Ok(verdict)
}

/// Refuses what a typed client could not decode: other kinds and versions, broken base64.
fn decode<'a>(call: &Call, body: &'a Value) -> Result<&'a Value, String> {
    let wanted = meta::text_at(&call.body, "/apiVersion");
    let (version, kind) = (
        meta::text_at(body, "/apiVersion"),
        meta::text_at(body, "/kind"),
    );
    let known = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];
    let review = kind == "AdmissionReview" && known.contains(&version);
    if !version.is_empty() && !kind.is_empty() && !review {
        return Err(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
            go_quote(kind),
            go_quote(version)
        ));
    }
    if review && version != wanted {
        let short = |version: &str| version.rsplit('/').next().unwrap_or("").to_owned();
        return Err(format!(
            "converting ({}.AdmissionReview) to ({}.AdmissionReview): unknown conversion",
            short(version),
            short(wanted)
        ));
    }
    match STANDARD.decode(meta::text_at(body, "/response/patch")) {
        Ok(_) => Ok(body),
        Err(error) => Err(format!(
            "illegal base64 data at input byte {}",
            position(&error)
        )),
    }
}

fn position(error: &base64::DecodeError) -> usize {
    match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => {
            *at
        }
        base64::DecodeError::InvalidLength(length) => *length,
        base64::DecodeError::InvalidPadding => 0,
    }
}

fn verify(call: &Call, body: &Value, mutating: bool) -> Result<(), String> {
    let Some(response) = body.get("response").filter(|r| r.is_object()) else {
        return Err("webhook response was absent".into());
    };
    if meta::text_at(&call.body, "/apiVersion") == "admission.k8s.io/v1beta1" {
        return Ok(());
    }
    let uid = meta::text_at(response, "/uid");
    if uid != call.uid {
        return Err(format!(
            "expected response.uid={}, got {}",
            go_quote(&call.uid),
            go_quote(uid)
        ));
    }
    let (version, kind) = (
        meta::text_at(body, "/apiVersion"),
        meta::text_at(body, "/kind"),
    );
    if (version, kind) != ("admission.k8s.io/v1", "AdmissionReview") {
        let version = if version.contains('/') {
            version.into()
        } else {
            format!("/{version}")
        };
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {version}, Kind={kind}"
        ));
    }
    let patch = !meta::text_at(response, "/patch").is_empty();
    let patch_type = response.get("patchType").filter(|t| !t.is_null());
    match (mutating, patch, patch_type) {
        (false, true, _) => Err("validating webhook may not return response.patch".into()),
        (false, false, Some(_)) => {
            Err("validating webhook may not return response.patchType".into())
        }
        (true, true, None) => {
            Err("webhook returned response.patch but not response.patchType".into())
        }
        (true, false, Some(_)) => {
            Err("webhook returned response.patchType but not response.patch".into())
        }
        (true, true, Some(kind)) if kind.as_str() == Some("") => {
            Err(r#"webhook returned invalid response.patchType of """#.into())
        }
        _ => Ok(()),
    }
}

fn read_patch(call: &Call, body: &Value) -> Result<Option<Value>, String> {
    let text = meta::text_at(body, "/response/patch");
    if text.is_empty() {
        return Ok(None);
    }
    let broken = |why: String| format!("received undecodable patch in webhook response: {why}");
    let bytes = STANDARD.decode(text).map_err(|e| broken(e.to_string()))?;
    let patch: Value = serde_json::from_slice(&bytes).map_err(|e| broken(e.to_string()))?;
    if !patch.is_array() {
        let kind = go_kind(&patch);
        return Err(broken(format!(
            "json: cannot unmarshal {kind} into Go value of type jsonpatch.Patch"
        )));
    }
    if patch.as_array().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    let beta = meta::text_at(&call.body, "/apiVersion") == "admission.k8s.io/v1beta1";
    let kind = meta::text_at(body, "/response/patchType");
    if beta || kind == "JSONPatch" {
        return Ok(Some(patch));
    }
    Err(format!("unsupported patch type {}", go_quote(kind)))
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn denied(webhook: &str, status: Option<&Value>) -> ApiError {
    let text = |pointer: &str| status.map_or("", |s| meta::text_at(s, pointer));
    let opening = format!("admission webhook {} denied the request", go_quote(webhook));
    let message = match (text("/message"), text("/reason")) {
        ("", "") => format!("{opening} without explanation"),
        ("", reason) => format!("{opening}: {reason}"),
        (message, _) => format!("{opening}: {message}"),
    };
    let number = |pointer: &str| status.and_then(|s| s.pointer(pointer)?.as_u64());
    let code = number("/code").and_then(|c| u16::try_from(c).ok());
    let reason = Some(text("/reason")).filter(|r| !r.is_empty()).map(reason);
    let mut error = ApiError::new(code.unwrap_or(0).max(400), reason, message);
    let Some(details) = status
        .and_then(|s| s.get("details"))
        .filter(|d| d.is_object())
    else {
        return error;
    };
    error.with_details = true;
    error.name = meta::text_at(details, "/name").into();
    error.group = meta::text_at(details, "/group").into();
    error.kind = meta::text_at(details, "/kind").into();
    error.uid = meta::text_at(details, "/uid").into();
    let causes = meta::entries(details, "/causes").map(|cause| Cause {
        reason: meta::text_at(cause, "/reason").into(),
        message: meta::text_at(cause, "/message").into(),
        field: meta::text_at(cause, "/field").into(),
    });
    error.causes = causes.collect();
    let retry = number("/details/retryAfterSeconds").and_then(|s| u32::try_from(s).ok());
    error.retry_after_seconds = retry.unwrap_or(0);
    error
}

/// The reason for a word on the wire.
pub(crate) fn reason(word: &str) -> Reason {
    let known = [
        Reason::Unauthorized,
        Reason::Forbidden,
        Reason::NotFound,
        Reason::AlreadyExists,
        Reason::Conflict,
        Reason::Expired,
        Reason::Gone,
        Reason::Invalid,
        Reason::Timeout,
        Reason::TooManyRequests,
        Reason::BadRequest,
        Reason::MethodNotAllowed,
        Reason::NotAcceptable,
        Reason::RequestEntityTooLarge,
        Reason::UnsupportedMediaType,
        Reason::InternalError,
        Reason::ServiceUnavailable,
    ];
    let mut known = known.into_iter();
    known
        .find(|r| r.as_str() == word)
        .unwrap_or_else(|| Reason::Other(word.into()))
}

/// How a client of a real API server words an HTTP failure.
fn status_text(code: u16, body: &str) -> String {
    let body = body.trim();
    let said = if body.is_empty() { "unknown" } else { body };
    match code {
        400 => "the server rejected our request for an unknown reason".into(),
        401 => "the server has asked for the client to provide credentials".into(),
        403 => said.into(),
        404 => "the server could not find the requested resource".into(),
        405 => "the server does not allow this method on the requested resource".into(),
        409 => "the server reported a conflict".into(),
        422 => "the server rejected our request due to an error in our request".into(),
        429 => {
            "the server has received too many requests and has asked us to try again later".into()
        }
        503 => "the server is currently unable to handle the request".into(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request".into(),
        500.. => format!(
            "an error on the server ({}) has prevented the request from succeeding",
            go_quote(said)
        ),
        _ => format!(
            "the server responded with the status code {code} but did not return more information"
        ),
    }
}
