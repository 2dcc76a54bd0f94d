//! Refusals as the API server answers them: the `Status` object.

use crate::field::FieldError;
use crate::gvk::{GroupVersionKind, GroupVersionResource};
use serde_json::{Map, Value, json};

/// Why a request was refused; carries everything the `Status` answer holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason; some refusals have none.
    pub reason: Option<Reason>,
    /// What people read.
    pub message: String,
    /// `details.name`.
    pub name: String,
    /// `details.group`.
    pub group: String,
    /// `details.kind`: a kind for invalid objects, a resource name otherwise.
    pub kind: String,
    /// `details.uid`.
    pub uid: String,
    /// `details.causes`.
    pub causes: Vec<Cause>,
    /// `details.retryAfterSeconds`, also sent as a header.
    pub retry_after_seconds: u32,
    /// `metadata.continue`: how to go on with a list whose version is gone.
    pub continue_token: String,
    /// Whether the answer has a `details` object even when it is empty.
    pub with_details: bool,
}

/// One entry of `details.causes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// Machine-readable reason.
    pub reason: String,
    /// What people read.
    pub message: String,
    /// The field it is about, where there is one.
    pub field: String,
}

/// The API's machine-readable reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 409 on create.
    AlreadyExists,
    /// 409.
    Conflict,
    /// 410 for a list.
    Expired,
    /// 410.
    Gone,
    /// 422.
    Invalid,
    /// 504.
    Timeout,
    /// 429.
    TooManyRequests,
    /// 400.
    BadRequest,
    /// 405.
    MethodNotAllowed,
    /// 406.
    NotAcceptable,
    /// 413.
    RequestEntityTooLarge,
    /// 415.
    UnsupportedMediaType,
    /// 500.
    InternalError,
    /// 503.
    ServiceUnavailable,
    /// What a webhook chose.
    Other(String),
}

impl Reason {
    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Expired => "Expired",
            Self::Gone => "Gone",
            Self::Invalid => "Invalid",
            Self::Timeout => "Timeout",
            Self::TooManyRequests => "TooManyRequests",
            Self::BadRequest => "BadRequest",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::InternalError => "InternalError",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::Other(word) => word,
        }
    }
}

impl ApiError {
    /// A refusal with a code, a reason and a message and nothing else.
    pub fn new(code: u16, reason: Option<Reason>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: Vec::new(),
            retry_after_seconds: 0,
            continue_token: String::new(),
            with_details: false,
        }
    }

    /// Names the resource and object in `details`.
    #[must_use]
    pub fn about(mut self, gvr: &GroupVersionResource, name: &str) -> Self {
        self.group.clone_from(&gvr.group);
        self.kind.clone_from(&gvr.resource);
        name.clone_into(&mut self.name);
        self.with_details = true;
        self
    }

    /// 400 with the given message.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, Some(Reason::BadRequest), message)
    }

    /// 500 as a plain Go error becomes one: no reason.
    pub fn internal_plain(message: impl Into<String>) -> Self {
        let mut error = Self::new(500, None, message);
        error.with_details = false;
        error
    }

    /// 500 with reason `InternalError` and its opening words.
    pub fn internal(message: impl Into<String>) -> Self {
        let message = message.into();
        let mut error = Self::new(
            500,
            Some(Reason::InternalError),
            format!("Internal error occurred: {message}"),
        );
        error.causes.push(Cause {
            message,
            ..Cause::default()
        });
        error.with_details = true;
        error
    }

    /// 404 for one object.
    pub fn not_found(gvr: &GroupVersionResource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", gvr.group_resource());
        Self::new(404, Some(Reason::NotFound), message).about(gvr, name)
    }

    /// 409 for a create.
    pub fn already_exists(gvr: &GroupVersionResource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", gvr.group_resource());
        Self::new(409, Some(Reason::AlreadyExists), message).about(gvr, name)
    }

    /// 409 for a write against an older version.
    pub fn conflict(gvr: &GroupVersionResource, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            gvr.group_resource()
        );
        Self::new(409, Some(Reason::Conflict), message).about(gvr, name)
    }

    /// 403 with a ready explanation.
    pub fn forbidden(gvr: &GroupVersionResource, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", gvr.group_resource())
        } else {
            format!("{} {name:?} is forbidden: {why}", gvr.group_resource())
        };
        Self::new(403, Some(Reason::Forbidden), message).about(gvr, name)
    }

    /// 422 with one cause per field fault.
    pub fn invalid(gvk: &GroupVersionKind, name: &str, errors: &[FieldError]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for error in errors {
            let text = error.to_string();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let all = match texts.len() {
            0 => String::new(),
            1 => texts.swap_remove(0),
            _ => format!("[{}]", texts.join(", ")),
        };
        let mut answer = Self::new(
            422,
            Some(Reason::Invalid),
            format!(
                "{} {} is invalid: {all}",
                gvk.group_kind(),
                crate::field::go_quote(name)
            ),
        );
        name.clone_into(&mut answer.name);
        answer.group.clone_from(&gvk.group);
        answer.kind.clone_from(&gvk.kind);
        answer.with_details = true;
        answer.causes = errors
            .iter()
            .map(|e| Cause {
                reason: e.reason().into(),
                message: e.body(),
                field: e.field.clone(),
            })
            .collect();
        answer
    }

    /// The `Status` object of the answer.
    pub fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "code": self.code,
        });
        let body = status
            .as_object_mut()
            .expect("the literal above is an object");
        if !self.message.is_empty() {
            body.insert("message".into(), json!(self.message));
        }
        if !self.continue_token.is_empty() {
            body.insert("metadata".into(), json!({"continue": self.continue_token}));
        }
        if let Some(reason) = &self.reason {
            body.insert("reason".into(), json!(reason.as_str()));
        }
        let details = self.details();
        if self.with_details || !details.is_empty() {
            body.insert("details".into(), Value::Object(details));
        }
        status
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        for (key, text) in [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ] {
            if !text.is_empty() {
                details.insert(key.into(), json!(text));
            }
        }
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(|c| {
                let mut cause = Map::new();
                for (key, text) in [
                    ("reason", &c.reason),
                    ("message", &c.message),
                    ("field", &c.field),
                ] {
                    if !text.is_empty() {
                        cause.insert(key.into(), json!(text));
                    }
                }
                Value::Object(cause)
            });
            details.insert("causes".into(), causes.collect());
        }
        if self.retry_after_seconds > 0 {
            details.insert("retryAfterSeconds".into(), json!(self.retry_after_seconds));
        }
        details
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}
