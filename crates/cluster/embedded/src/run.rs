//! Time passes: controllers, scheduler and kubelet do what is due.
//!
//! ```text
//! commit ──▶ Work, Items ── look ──▶ requests ──▶ Cluster::call ──▶ commit ──▶ …
//!                 ▲                                                  │
//!               timers ◀─────────────────────────────────────────────┘
//! ```

use crate::cluster::Cluster;
use apiserver::{Request, Work, controllers};
use model::{Timestamp, Value};
use std::time::Duration;
use workloads::{Act, Desk, Item, Kind, NodeSize, Refusal, Then};

/// After this many items others get their turn.
const TURN: usize = 64;

impl Cluster {
    /// Runs the cluster's controllers for as long as the future is polled. In virtual time it
    /// only waits: there [`Cluster::advance`] does the work.
    pub async fn run_controllers(&self) {
        if self.shared.ticker.is_virtual() {
            std::future::pending::<()>().await;
        }
        loop {
            let mut busy = true;
            for _ in 0..TURN {
                busy = self.do_next().await;
                if !busy {
                    break;
                }
            }
            if busy {
                tokio::task::yield_now().await;
                continue;
            }
            let due = self.shared.desk().as_ref().and_then(Desk::next_due);
            let wait = due.and_then(|at| self.shared.ticker.wait_for(at));
            let moved = self.shared.work.notified();
            match wait {
                None => moved.await,
                // A timer counts in milliseconds: a moment more makes sure that the time has come.
                Some(wait) => {
                    let wait = wait + Duration::from_millis(1);
                    let _ = tokio::time::timeout(wait, moved).await;
                }
            }
        }
    }

    /// Does all that is due now; for callers that drive the cluster by hand.
    pub async fn settle(&self) {
        while self.do_next().await {}
    }

    /// Lets virtual time pass: does everything that falls due on the way, in order, each thing at
    /// its time, and then stands still again. In real time it does what is due now.
    pub async fn advance(&self, micros: i64) {
        let end = Timestamp::from_micros(self.now().micros().saturating_add(micros.max(0)));
        loop {
            self.settle().await;
            let due = self.shared.desk().as_ref().and_then(Desk::next_due);
            match due.filter(|at| *at <= end && self.shared.ticker.is_virtual()) {
                Some(at) => self.shared.ticker.not_before(at),
                None => break,
            }
        }
        if self.shared.ticker.is_virtual() {
            self.shared.ticker.not_before(end);
        }
    }

    // Looks at one thing; `false` when nothing is due.
    async fn do_next(&self) -> bool {
        if !self.shared.read().work.is_empty() {
            let batch: Vec<Work> = std::mem::take(&mut self.shared.write().work)
                .into_iter()
                .collect();
            for work in batch {
                let requests = controllers::step(&self.shared.read(), &work, self.now());
                for request in requests {
                    self.control(request).await;
                }
            }
            return true;
        }
        let now = self.now();
        let item = self.shared.desk().as_mut().and_then(|desk| desk.next(now));
        let Some(item) = item else {
            return false;
        };
        let acts = if item.kind == Kind::Pod {
            self.live(&item, now)
        } else {
            let state = self.shared.read();
            let mut desk = self.shared.desk();
            let step = desk.as_mut().map(|desk| desk.step(&state, &item, now));
            step.unwrap_or_default()
        };
        self.perform(&item, acts).await;
        true
    }

    async fn control(&self, request: Request) {
        let (method, path) = (request.method, request.path.clone());
        let answer = self.call(request).await;
        // A refusal is not lost: the state that caused the work is looked at again when it moves.
        if answer.status() >= 400 && answer.status() != 404 {
            tracing::debug!(
                ?method,
                path,
                status = answer.status(),
                "a controller was refused"
            );
        }
    }

    /// Sends a controller's requests, in order.
    pub(crate) async fn perform(&self, item: &Item, acts: Vec<Act>) {
        let some = !acts.is_empty();
        let mut waiting: Vec<Act> = acts.into_iter().rev().collect();
        let mut stopped = None;
        let mut refused = false;
        while let Some(act) = waiting.pop() {
            if let (Some(stopped), Then::Tell { batch }) = (stopped, act.then)
                && batch > stopped
            {
                continue;
            }
            let path = act.request.path.clone();
            let then = act.then;
            let answer = self.call(act.request.clone()).await;
            if answer.status() < 400 {
                let next = act.accepted(answer.body());
                waiting.extend(next.into_iter().rev());
                continue;
            }
            let status: Value = read(answer.body());
            let refusal = Refusal::read(answer.status(), &status);
            tracing::debug!(path, message = refusal.message, "a controller was refused");
            let now = self.now();
            let state = self.shared.read();
            let mut desk = self.shared.desk();
            let Some(desk) = desk.as_mut() else {
                return;
            };
            match then {
                Then::Forget => {}
                // What is gone needs nothing, and what changed is looked at again anyway.
                Then::Retry if refusal.code == 404 => {}
                Then::Retry => {
                    refused = true;
                    desk.retry(item, now);
                }
                Then::Tell { batch } => {
                    stopped = Some(batch);
                    if !refused {
                        refused = true;
                    }
                    let told = desk.refused(&state, item, &refusal, now);
                    waiting.extend(told.into_iter().rev());
                }
            }
        }
        if some
            && !refused
            && let Some(desk) = self.shared.desk().as_mut()
        {
            desk.went_well(item);
        }
    }

    // Looks at everything that is stored, and gives a cluster without nodes some.
    pub(crate) fn start_workloads(&self, nodes: &[NodeSize]) {
        let desk = Desk::open(&self.shared.read());
        let lonely = desk.index().nodes().next().is_none();
        *self.shared.desk() = Some(desk);
        if !lonely {
            return;
        }
        let default = [NodeSize::default()];
        let nodes = if nodes.is_empty() { &default } else { nodes };
        for act in nodes.iter().flat_map(workloads::node_requests) {
            let seed = self.shared.seed();
            let answers = admission::webhook::Answers::new();
            // No webhook exists before the first request.
            let _ = self.attempt(&act.request, self.now(), seed, &answers);
        }
    }
}

fn read(bytes: &[u8]) -> Value {
    String::from_utf8_lossy(bytes).parse().unwrap_or_default()
}
