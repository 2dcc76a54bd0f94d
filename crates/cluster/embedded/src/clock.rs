//! The outside world's time and randomness, as the pure parts take them.

use model::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_micros(since.as_micros() as i64)
}

/// Hands every request a stream of random numbers of its own, so that a request that is handled
/// twice (since a webhook had to be asked) draws the same ones again.
#[derive(Debug)]
pub(crate) struct Randomness {
    secret: u64,
    next: AtomicU64,
}

impl Randomness {
    /// Randomness that starts from a secret.
    pub(crate) fn new(secret: u64) -> Self {
        Self {
            secret,
            next: AtomicU64::new(0),
        }
    }

    /// The seed of one request.
    pub(crate) fn seed(&self) -> u64 {
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        mix(self.secret ^ mix(count))
    }
}

/// The stream of numbers that follows from a seed.
pub(crate) fn stream(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(state)
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
