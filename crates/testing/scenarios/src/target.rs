//! A cluster as the suite needs it: it answers requests, lets time pass and tells what changed.

use crate::kinds::Kind;
use crate::timeline::Seen;
use serde_json::Value;
use std::time::Duration;

/// One request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// The media type of the body; empty without one.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

/// Its answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// The body as text.
    pub text: String,
}

impl Reply {
    /// The message of a refusal.
    pub(crate) fn message(&self) -> String {
        let said: Option<Value> = serde_json::from_str(&self.text).ok();
        let message = said.as_ref().and_then(|v| v["message"].as_str());
        message.unwrap_or(&self.text).to_owned()
    }
}

/// Why a cluster cannot be asked.
#[derive(Debug, thiserror::Error)]
#[error("the cluster did not answer {what}: {why}")]
pub struct TargetError {
    /// What was asked.
    pub what: String,
    /// Why there is no answer.
    pub why: String,
}

/// A cluster, seen from one namespace.
pub trait Target {
    /// Asks something.
    fn ask(&mut self, ask: &Ask) -> Result<Reply, TargetError>;
    /// Lets time pass.
    fn pass(&mut self, time: Duration);
    /// How much time has passed since the beginning.
    fn elapsed(&self) -> Duration;
    /// What changed in the namespace since this was asked last.
    fn seen(&mut self) -> Vec<Seen>;
    /// Looks at one more kind from now on.
    fn also_watch(&mut self, kind: &KindRef);
}

/// A kind beyond the built-in ones.
#[derive(Clone, Debug)]
pub struct KindRef(pub(crate) Kind);
