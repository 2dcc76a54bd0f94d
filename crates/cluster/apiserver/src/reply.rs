//! What a client gets back, as data.

use crate::watch::WatchReply;
use model::{ApiError, Timestamp};
use std::borrow::Cow;
use std::sync::Arc;
use store::Stored;

/// An answer.
#[derive(Debug)]
pub enum Reply {
    /// An answer that is ready.
    Full(Response),
    /// A list that is written item by item.
    List(ListReply),
    /// A stream of changes.
    Watch(Box<WatchReply>),
    /// The log of a container, which its node must give.
    Log(Box<LogReply>),
}

/// Which log, and how much of it.
#[derive(Clone, Debug)]
pub struct LogReply {
    /// The Pod's namespace.
    pub namespace: String,
    /// The Pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Goes on as long as the container writes.
    pub follow: bool,
    /// The run before the current one.
    pub previous: bool,
    /// Each line begins with its time.
    pub timestamps: bool,
    /// Only the last lines.
    pub tail: Option<u64>,
    /// At most this many bytes.
    pub limit: Option<u64>,
    /// Only what was written at or after this.
    pub since: Option<Timestamp>,
    /// The answer when there is no kubelet.
    pub unserved: ApiError,
}

impl Default for LogReply {
    fn default() -> Self {
        Self {
            namespace: String::new(),
            pod: String::new(),
            container: String::new(),
            follow: false,
            previous: false,
            timestamps: false,
            tail: None,
            limit: None,
            since: None,
            unserved: ApiError::internal("no kubelet"),
        }
    }
}

/// An answer with its whole body.
#[derive(Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Cow<'static, str>,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: Vec<u8>,
}

impl Response {
    /// A JSON answer.
    pub fn json(status: u16, body: Vec<u8>) -> Self {
        Self {
            status,
            content_type: "application/json".into(),
            headers: Vec::new(),
            body,
        }
    }

    /// A plain-text answer.
    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8".into(),
            headers: vec![("x-content-type-options", "nosniff".into())],
            body: body.into().into_bytes(),
        }
    }

    /// A refusal.
    pub fn error(error: &ApiError) -> Self {
        let body = error.to_status().to_string().into_bytes();
        let mut response = Self::json(error.code, body);
        if error.retry_after_seconds > 0 {
            response
                .headers
                .push(("retry-after", error.retry_after_seconds.to_string()));
        }
        response
    }
}

/// A list in its plain JSON form: a head, the stored items, a tail. The items are only shared
/// pointers, so that a list of everything costs no second copy of it.
#[derive(Debug)]
pub struct ListReply {
    /// Everything up to and with the `[` of `items`.
    pub head: Vec<u8>,
    /// `"kind":…,"apiVersion":…,` for items that carry their type, else empty.
    pub item_prefix: Arc<str>,
    /// The items.
    pub items: Vec<Stored>,
    /// The metadata's rest and the closing braces.
    pub tail: Vec<u8>,
    /// Warnings and other headers.
    pub headers: Vec<(&'static str, String)>,
}

impl ListReply {
    /// Writes items from `next` on until `out` holds about `size` bytes; returns how far it got.
    pub fn write_some(&self, next: usize, size: usize, out: &mut Vec<u8>) -> usize {
        let mut at = next;
        while at < self.items.len() && out.len() < size {
            if at > 0 {
                out.push(b',');
            }
            typed_json(&self.items[at], &self.item_prefix, out);
            at += 1;
        }
        at
    }

    /// The whole list at once, for callers that want no stream.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.head.clone();
        self.write_some(0, usize::MAX, &mut out);
        out.extend_from_slice(&self.tail);
        out
    }
}

/// Writes a stored body with its type in front: stored bodies have neither `kind` nor
/// `apiVersion`, since one body serves every version that has the same shape.
pub(crate) fn typed_json(stored: &Stored, prefix: &str, out: &mut Vec<u8>) {
    let body = stored.json();
    if prefix.is_empty() {
        out.extend_from_slice(&body);
        return;
    }
    out.push(b'{');
    let rest = &body[1..];
    if rest == b"}" {
        out.extend_from_slice(prefix.trim_end_matches(',').as_bytes());
    } else {
        out.extend_from_slice(prefix.as_bytes());
    }
    out.extend_from_slice(rest);
}
