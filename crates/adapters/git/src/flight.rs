//! One piece of work for all who want it at the same time.
//!
//! Who asks while the work is under way gets its answer, unless he insists on work that began after
//! he asked: then all who insist share the next.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How old an answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The work must begin after the question: nothing that was pushed before is missed.
    Now,
    /// An answer that is at most this old will do.
    Within(Duration),
}

/// Work that is shared.
#[derive(Debug)]
pub(crate) struct Flight<T> {
    state: Mutex<State<T>>,
    landed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    started: u64,
    running: bool,
    // Number, time and answer of the last piece of work.
    last: Option<(u64, Instant, T)>,
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                started: 0,
                running: false,
                last: None,
            }),
            landed: Condvar::new(),
        }
    }
}

// Lets the next one start even when the work panics.
struct Landing<'a, T>(&'a Flight<T>);

impl<T> Drop for Landing<'_, T> {
    fn drop(&mut self) {
        self.0.lock().running = false;
        self.0.landed.notify_all();
    }
}

impl<T: Clone> Flight<T> {
    /// The answer of the work, fresh enough; `lasts` says for how long an answer is good.
    pub(crate) fn share(
        &self,
        freshness: Freshness,
        lasts: impl Fn(&T, Duration) -> bool,
        work: impl FnOnce() -> T,
    ) -> T {
        let mut state = self.lock();
        let needed = match freshness {
            Freshness::Now => state.started + 1,
            Freshness::Within(_) => state.started.max(1),
        };
        if let (Freshness::Within(age), Some((_, when, answer))) = (freshness, &state.last)
            && when.elapsed() <= age
            && lasts(answer, when.elapsed())
        {
            return answer.clone();
        }
        let mut waited = false;
        loop {
            if let Some((number, _, answer)) = &state.last
                && *number >= needed
                && (waited || freshness == Freshness::Now)
            {
                return answer.clone();
            }
            if !state.running {
                break;
            }
            state = self
                .landed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            waited = true;
        }
        state.running = true;
        state.started += 1;
        let number = state.started;
        drop(state);
        let landing = Landing(self);
        let answer = work();
        self.lock().last = Some((number, Instant::now(), answer.clone()));
        drop(landing);
        answer
    }
}

impl<T> Flight<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Barrier, mpsc};

    #[test]
    fn a_hundred_at_once_are_one_piece_of_work_or_two() {
        let flight = Arc::new(Flight::default());
        let count = Arc::new(AtomicU32::new(0));
        let barrier = Arc::new(Barrier::new(100));
        let threads: Vec<_> = (0..100)
            .map(|_| {
                let (flight, count, barrier) = (
                    Arc::clone(&flight),
                    Arc::clone(&count),
                    Arc::clone(&barrier),
                );
                std::thread::spawn(move || {
                    barrier.wait();
                    let age = Freshness::Within(Duration::from_secs(60));
                    flight.share(
                        age,
                        |_, _| true,
                        || count.fetch_add(1, Ordering::SeqCst) + 1,
                    )
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 1);
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn who_insists_does_not_get_work_that_began_before_he_asked() {
        let flight = Arc::new(Flight::default());
        let (begun, has_begun) = mpsc::channel();
        let (finish, may_finish) = mpsc::channel::<()>();
        let first = {
            let flight = Arc::clone(&flight);
            std::thread::spawn(move || {
                flight.share(
                    Freshness::Now,
                    |_, _| true,
                    || {
                        begun.send(()).unwrap();
                        may_finish.recv().unwrap();
                        "before"
                    },
                )
            })
        };
        has_begun.recv().unwrap();
        let second = {
            let flight = Arc::clone(&flight);
            std::thread::spawn(move || flight.share(Freshness::Now, |_, _| true, || "after"))
        };
        finish.send(()).unwrap();
        assert_eq!(first.join().unwrap(), "before");
        assert_eq!(second.join().unwrap(), "after");
        // An answer is good for as long as it is said to be.
        let age = Freshness::Within(Duration::from_secs(60));
        assert_eq!(flight.share(age, |_, _| true, || "again"), "after");
        assert_eq!(flight.share(age, |_, _| false, || "again"), "again");
    }
}
