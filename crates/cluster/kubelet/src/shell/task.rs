//! Time as a script feels it: a future that waits is polled again when its moment has come.

use super::network::{Question, Reach};
use crate::spec::{later, seconds};
use model::Timestamp;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// How many commands a script may run without time passing; then a second passes.
const COMMANDS_A_SECOND: u32 = 2_000;

/// A running piece of a script.
pub(crate) type Future0<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// One thread of a script: its own time, and what it waits for.
#[derive(Debug)]
pub(crate) struct Task {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The script's own time: it may be behind the world's, never ahead.
    now: Timestamp,
    limit: Timestamp,
    /// It sleeps until then.
    until: Option<Timestamp>,
    question: Option<Question>,
    answer: Option<Reach>,
    /// It was asked to end.
    term: Option<Timestamp>,
    budget: u32,
}

impl Task {
    pub(crate) fn new(now: Timestamp) -> Arc<Self> {
        let state = State {
            now,
            limit: now,
            until: None,
            question: None,
            answer: None,
            term: None,
            budget: COMMANDS_A_SECOND,
        };
        Arc::new(Self {
            state: Mutex::new(state),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.lock().now
    }

    /// Lets time pass up to here.
    pub(crate) fn allow(&self, limit: Timestamp) {
        self.lock().limit = limit;
    }

    /// When it wakes by itself.
    pub(crate) fn wakes(&self) -> Option<Timestamp> {
        self.lock().until
    }

    pub(crate) fn question(&self) -> Option<Question> {
        self.lock().question.take()
    }

    pub(crate) fn answer(&self, reach: Reach) {
        self.lock().answer = Some(reach);
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self, at: Timestamp) {
        self.lock().term.get_or_insert(at);
    }

    /// Whether it was asked to end, by its own time.
    pub(crate) fn is_terminated(&self) -> bool {
        self.lock().term.is_some()
    }

    /// Waits.
    pub(crate) async fn sleep(&self, micros: i64) {
        let until = later(self.now(), micros.max(0));
        poll_fn(|_| {
            let mut state = self.lock();
            if state.limit < until {
                state.until = Some(until);
                return Poll::Pending;
            }
            state.now = until;
            state.until = None;
            state.budget = COMMANDS_A_SECOND;
            Poll::Ready(())
        })
        .await;
    }

    /// Waits for ever, or until it is asked to end.
    pub(crate) async fn serve(&self) {
        poll_fn(|_| {
            let mut state = self.lock();
            state.until = None;
            match state.term {
                Some(at) => {
                    state.now = state.now.max(at);
                    Poll::Ready(())
                }
                None => Poll::Pending,
            }
        })
        .await;
    }

    /// Waits until something holds or it is asked to end; looks again whenever it is polled.
    pub(crate) async fn until(&self, mut holds: impl FnMut() -> bool) {
        poll_fn(|_| {
            let mut state = self.lock();
            let moment = if holds() {
                state.limit
            } else if let Some(at) = state.term {
                at
            } else {
                return Poll::Pending;
            };
            state.now = state.now.max(moment);
            Poll::Ready(())
        })
        .await;
    }

    /// Whether somebody answers there.
    pub(crate) async fn ask(&self, question: Question) -> Reach {
        let mut question = Some(question);
        poll_fn(|_| {
            let mut state = self.lock();
            if let Some(question) = question.take() {
                state.answer = None;
                state.question = Some(question);
            }
            state.answer.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// One more command: too many at one moment take time.
    pub(crate) async fn tick(&self) {
        let spent = {
            let mut state = self.lock();
            state.budget = state.budget.saturating_sub(1);
            state.budget == 0
        };
        if spent {
            self.sleep(seconds(1)).await;
        }
    }
}
