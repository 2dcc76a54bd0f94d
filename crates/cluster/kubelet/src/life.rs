//! What a kubelet knows of one Pod beyond its object.

use model::{Timestamp, Value, meta};

/// A Pod's life on its node: its containers' runs, their logs, timers and back-offs.
#[derive(Debug, Default)]
pub struct Life {
    pub(crate) uid: String,
    pub(crate) since: Option<Timestamp>,
}

impl Life {
    /// The life of a Pod as its status tells it: where it was when the status was written, or the
    /// beginning for a Pod that never ran. `now` is when the kubelet takes it over.
    pub fn resume(pod: &Value, now: Timestamp) -> Self {
        Self {
            uid: meta::uid(pod).to_owned(),
            since: Timestamp::parse(meta::text_at(pod, "/status/startTime")).or(Some(now)),
        }
    }
}
