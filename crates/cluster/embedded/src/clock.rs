//! The outside world's time and randomness, as the pure parts take them.

use model::Timestamp;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Whose time a cluster lives in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The machine's.
    #[default]
    Real,
    /// Starts at the machine's time and runs this many times as fast; 0 counts as 1.
    Scaled(u32),
    /// Starts here and moves by [`Cluster::advance`](crate::Cluster::advance) alone.
    Virtual(Timestamp),
}

/// A clock that was started.
#[derive(Debug)]
pub(crate) struct Ticker {
    kind: Clock,
    /// The cluster's time at the start, in microseconds; of a virtual clock, now.
    start: AtomicI64,
    begun: Instant,
}

impl Ticker {
    /// Starts a clock.
    pub(crate) fn start(kind: Clock) -> Self {
        let start = match kind {
            Clock::Virtual(at) => at,
            Clock::Real | Clock::Scaled(_) => now(),
        };
        Self {
            kind,
            start: AtomicI64::new(start.micros()),
            begun: Instant::now(),
        }
    }

    /// Whether time stands still by itself.
    pub(crate) fn is_virtual(&self) -> bool {
        matches!(self.kind, Clock::Virtual(_))
    }

    /// The cluster's time.
    pub(crate) fn now(&self) -> Timestamp {
        let start = self.start.load(Ordering::Acquire);
        let since = match self.kind {
            // The machine's clock may be set right while we run.
            Clock::Real => return now().max(Timestamp::from_micros(start)),
            Clock::Scaled(factor) => {
                let real = self.begun.elapsed().as_micros() as i64;
                real.saturating_mul(i64::from(factor.max(1)))
            }
            Clock::Virtual(_) => 0,
        };
        Timestamp::from_micros(start.saturating_add(since))
    }

    /// No time before this one is told any more.
    pub(crate) fn not_before(&self, at: Timestamp) {
        let behind = at.micros() - self.now().micros();
        if behind > 0 {
            match self.kind {
                Clock::Real => self.start.store(at.micros(), Ordering::Release),
                Clock::Scaled(_) | Clock::Virtual(_) => {
                    self.start.fetch_add(behind, Ordering::AcqRel);
                }
            }
        }
    }

    /// How long to wait, in the machine's time, until the cluster's time has come; `None` when
    /// waiting does not help.
    pub(crate) fn wait_for(&self, at: Timestamp) -> Option<Duration> {
        let ahead = (at.micros() - self.now().micros()).max(0) as u64;
        match self.kind {
            Clock::Real => Some(Duration::from_micros(ahead)),
            Clock::Scaled(factor) => Some(Duration::from_micros(
                ahead.div_ceil(u64::from(factor.max(1))),
            )),
            Clock::Virtual(_) => None,
        }
    }
}

/// The machine's time.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_stands_still() {
        let start = Timestamp::from_seconds(1_000);
        let clock = Ticker::start(Clock::Virtual(start));
        assert_eq!(clock.now(), start);
        assert_eq!(clock.wait_for(start.plus_seconds(5)), None);
        clock.not_before(start.plus_seconds(5));
        clock.not_before(start);
        assert_eq!(clock.now(), start.plus_seconds(5));
    }

    #[test]
    fn scaled_time_runs_faster() {
        let clock = Ticker::start(Clock::Scaled(60));
        let due = clock.now().plus_seconds(60);
        let wait = clock.wait_for(due).unwrap();
        assert!(wait <= Duration::from_secs(1), "{wait:?}");
        clock.not_before(due);
        assert!(clock.now() >= due);
    }
}
