//! The real clock.

use model::Timestamp;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Now.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// How long it is until then.
pub(crate) fn until(at: Timestamp) -> Duration {
    let left = at.micros().saturating_sub(now().micros()).max(0);
    Duration::from_micros(u64::try_from(left).unwrap_or(0))
}
