//! What controllers do, as data: requests, and what a refusal means.

use apiserver::{Certificate, Credentials, Method, Request};
use model::{Timestamp, Value};

/// The user agent and field manager of the controllers.
pub(crate) const CONTROLLERS: &str = "kube-controller-manager";
/// The user agent and field manager of the scheduler.
pub(crate) const SCHEDULER: &str = "kube-scheduler";

/// One request of a controller.
#[derive(Clone, Debug)]
pub struct Act {
    /// What is sent.
    pub request: Request,
    /// What a refusal leads to.
    pub then: Then,
    /// What is sent once it is accepted, by [`Act::accepted`].
    pub(crate) after: Vec<Act>,
    /// The prefix of the name that the server makes up; `after` speaks of it as [`NAME`].
    pub(crate) prefix: String,
}

/// Stands for a name that is not known yet.
pub(crate) const NAME: &str = "<the new name>";

/// What the refusal of a request leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The item is looked at again later.
    Retry,
    /// Nothing: what was to be done is done already, or does not matter.
    Forget,
    /// The controller hears of it, and requests of a later batch are not sent.
    Tell {
        /// Requests of one batch are sent together.
        batch: u32,
    },
}

/// Why a request was refused.
#[derive(Clone, Debug, Default)]
pub struct Refusal {
    /// HTTP status.
    pub code: u16,
    /// `reason` of the Status.
    pub reason: String,
    /// `message` of the Status.
    pub message: String,
    /// The reasons of the causes.
    pub causes: Vec<String>,
}

impl Refusal {
    /// Reads the answer to a refused request.
    pub fn read(code: u16, status: &Value) -> Self {
        let text = |pointer: &str| model::meta::text_at(status, pointer).to_owned();
        let causes = model::meta::entries(status, "/details/causes");
        Self {
            code,
            reason: text("/reason"),
            message: text("/message"),
            causes: causes
                .map(|c| model::meta::text_at(c, "/reason").to_owned())
                .collect(),
        }
    }

    /// Whether the namespace is on its way out, so that nothing can be made in it any more.
    pub(crate) fn is_namespace_going(&self) -> bool {
        self.causes.iter().any(|c| c == "NamespaceTerminating")
    }
}

/// What a look at an item leads to.
#[derive(Debug, Default)]
pub(crate) struct Reaction {
    /// What is sent, in order.
    pub(crate) acts: Vec<Act>,
    /// When to look again though nothing changed.
    pub(crate) again: Option<Timestamp>,
    /// Whether nothing can be done until something else moves.
    pub(crate) waits: bool,
}

impl Reaction {
    /// Looks again at this time at the latest.
    pub(crate) fn look_at(&mut self, at: Timestamp) {
        self.again = Some(self.again.map_or(at, |before| before.min(at)));
    }

    /// Adds a request.
    pub(crate) fn push(&mut self, act: Act) {
        self.acts.push(act);
    }
}

impl Act {
    /// What is to be sent next, now that this is accepted with an answer.
    pub fn accepted(self, answer: &[u8]) -> Vec<Act> {
        if self.prefix.is_empty() {
            return self.after;
        }
        let name = made_name(answer, &self.prefix);
        let mut after = self.after;
        for act in &mut after {
            let body = String::from_utf8_lossy(&act.request.body);
            act.request.body = body.replace(NAME, &name).into_bytes();
        }
        after
    }

    /// A refusal of this one is nobody's concern.
    pub(crate) fn forget(mut self) -> Self {
        self.then = Then::Forget;
        self
    }

    /// This is sent once it is accepted.
    pub(crate) fn and_then(mut self, next: Act) -> Self {
        self.after.push(next);
        self
    }

    /// The controller hears of a refusal.
    pub(crate) fn tell(mut self, batch: u32) -> Self {
        self.then = Then::Tell { batch };
        self
    }
}

/// Makes an object in a collection.
pub(crate) fn create(agent: &'static str, path: String, body: &Value) -> Act {
    act(agent, Method::Post, path, body, "application/json")
}

/// Replaces an object.
pub(crate) fn put(agent: &'static str, path: String, body: &Value) -> Act {
    act(agent, Method::Put, path, body, "application/json")
}

/// Changes some fields of an object.
pub fn patch(agent: &'static str, path: String, body: &Value) -> Act {
    act(
        agent,
        Method::Patch,
        path,
        body,
        "application/merge-patch+json",
    )
}

/// Deletes an object, if it is still the one with this uid.
pub(crate) fn delete(agent: &'static str, path: String, uid: &str) -> Act {
    let body = model::json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid},
    });
    act(agent, Method::Delete, path, &body, "application/json").forget()
}

/// Deletes a Pod at once, without grace.
pub fn delete_now(agent: &'static str, path: String, uid: &str) -> Act {
    let body = model::json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid},
        "gracePeriodSeconds": 0,
    });
    act(agent, Method::Delete, path, &body, "application/json").forget()
}

/// Deletes an object and, later, what it owns.
pub(crate) fn delete_all(agent: &'static str, path: String, uid: &str) -> Act {
    let body = model::json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid},
        "propagationPolicy": "Background",
    });
    act(agent, Method::Delete, path, &body, "application/json").forget()
}

/// Deletes an object once what it owns is gone.
pub(crate) fn delete_last(agent: &'static str, path: String, uid: &str) -> Act {
    let body = model::json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid},
        "propagationPolicy": "Foreground",
    });
    act(agent, Method::Delete, path, &body, "application/json").forget()
}

fn act(agent: &'static str, method: Method, path: String, body: &Value, content: &str) -> Act {
    Act {
        request: Request {
            method,
            path,
            query: String::new(),
            headers: vec![
                ("user-agent".into(), format!("{agent}/v1.36.4")),
                ("content-type".into(), content.into()),
                ("accept".into(), "application/json".into()),
            ],
            body: body.to_string().into_bytes(),
            credentials: Credentials {
                certificate: Some(Certificate {
                    common_name: format!("system:{agent}"),
                    organizations: vec!["system:masters".into()],
                    fingerprint: String::new(),
                }),
            },
        },
        then: Then::Retry,
        after: Vec::new(),
        prefix: String::new(),
    }
}

// The name in an answer that begins with a prefix. Metadata comes first, so the first one is it.
fn made_name(answer: &[u8], prefix: &str) -> String {
    let key = format!("\"name\":\"{prefix}");
    let text = std::str::from_utf8(answer).unwrap_or("");
    let rest = text.find(&key).map_or("", |at| &text[at + key.len()..]);
    let end = rest.find('"').unwrap_or(0);
    format!("{prefix}{}", &rest[..end])
}
