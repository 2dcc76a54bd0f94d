//! Performs what a sync decides, and tells it what happened, until it is over.

use crate::LiveError;
use crate::api::Cluster;
use engine::health;
use engine::sync::{Action, Event, Operation, Seen, TaskId, Written, step};
use futures::{AsyncBufReadExt as _, TryStreamExt as _};
use model::{GroupVersionKind, Timestamp, Value, meta};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// How many requests of one sync are under way at once.
const REQUESTS_MAX: usize = 20;
/// How long until a watch that broke is opened again.
const WATCH_AGAIN: Duration = Duration::from_millis(500);

/// Who hears of every step.
pub trait Progress {
    /// The operation moved.
    fn moved(&mut self, operation: &Operation);
    /// An object is about to be removed; what is returned goes into its message when it fails.
    fn removing(&mut self, live: &Value) -> Result<(), String>;
    /// What time it is.
    fn now(&self) -> Timestamp;
}

/// Runs an operation to its end.
pub async fn drive(
    cluster: &Cluster,
    operation: Operation,
    server_side: bool,
    progress: &mut dyn Progress,
) -> Operation {
    let (sender, mut inbox) = mpsc::unbounded_channel();
    let hands = Hands {
        cluster: cluster.clone(),
        sender,
        slots: Arc::new(Semaphore::new(REQUESTS_MAX)),
        server_side,
    };
    let mut jobs = JoinSet::new();
    let (mut operation, mut actions) = step(operation, Event::Started, progress.now());
    let mut wake = None;
    loop {
        progress.moved(&operation);
        for (task, deeds) in by_task(&actions) {
            let refused = dump(&operation, task, &deeds, progress).err();
            jobs.spawn(
                hands
                    .clone()
                    .perform(Job::new(&operation, task, deeds, refused)),
            );
        }
        for action in &actions {
            if let Action::WakeAt(at) = action {
                wake = Some(*at);
            }
        }
        if operation.phase.is_over() {
            break;
        }
        let event = next(&mut inbox, wake.take(), progress.now()).await;
        (operation, actions) = step(operation, event, progress.now());
    }
    // Removals after the end are seen through; watches are not.
    drop(hands);
    while let Ok(Some(_)) = tokio::time::timeout(Duration::from_secs(30), jobs.join_next()).await {}
    operation
}

async fn next(
    inbox: &mut mpsc::UnboundedReceiver<Event>,
    wake: Option<Timestamp>,
    now: Timestamp,
) -> Event {
    let Some(at) = wake else {
        return inbox.recv().await.unwrap_or(Event::Woke);
    };
    let micros = u64::try_from(at.micros() - now.micros()).unwrap_or(0);
    // A timer counts in milliseconds: a moment more makes sure that the time has come.
    let wait = Duration::from_micros(micros) + Duration::from_millis(1);
    match tokio::time::timeout(wait, inbox.recv()).await {
        Ok(event) => event.unwrap_or(Event::Woke),
        Err(_) => Event::Woke,
    }
}

// What is to be done with each task, in order: a watch begins after the write it watches.
fn by_task(actions: &[Action]) -> BTreeMap<TaskId, Vec<Deed>> {
    let mut deeds: BTreeMap<TaskId, Vec<Deed>> = BTreeMap::new();
    for action in actions {
        let (task, deed) = match action {
            Action::Try(task) => (*task, Deed::Try),
            Action::Apply(task) => (*task, Deed::Apply),
            Action::Delete(task) => (*task, Deed::Delete),
            Action::Release(task) => (*task, Deed::Release),
            Action::Watch(task) => (*task, Deed::Watch),
            Action::WakeAt(_) => continue,
        };
        deeds.entry(task).or_default().push(deed);
    }
    deeds
}

// Everything that is deleted has been kept first.
fn dump(
    operation: &Operation,
    task: TaskId,
    deeds: &[Deed],
    progress: &mut dyn Progress,
) -> Result<(), String> {
    let live = operation.tasks[task].task.live.as_ref();
    match live.filter(|_| deeds.contains(&Deed::Delete)) {
        Some(live) => progress.removing(live),
        None => Ok(()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Try,
    Apply,
    Delete,
    Release,
    Watch,
}

struct Job {
    task: TaskId,
    gvk: GroupVersionKind,
    namespace: String,
    name: String,
    target: Option<Value>,
    kind_may_come: bool,
    deeds: Vec<Deed>,
    /// Why it may not be removed.
    refused: Option<String>,
}

impl Job {
    fn new(operation: &Operation, task: TaskId, deeds: Vec<Deed>, refused: Option<String>) -> Self {
        let planned = &operation.tasks[task].task;
        let shown = planned.target.as_ref().or(planned.live.as_ref());
        Self {
            task,
            gvk: shown.and_then(meta::gvk).unwrap_or_default(),
            namespace: planned.key.namespace.clone(),
            name: planned.key.name.clone(),
            target: planned.target.clone(),
            kind_may_come: planned.kind_may_come,
            deeds,
            refused,
        }
    }
}

#[derive(Clone)]
struct Hands {
    cluster: Cluster,
    sender: mpsc::UnboundedSender<Event>,
    slots: Arc<Semaphore>,
    server_side: bool,
}

impl Hands {
    async fn perform(self, job: Job) {
        for deed in job.deeds.iter().copied() {
            if deed == Deed::Watch {
                self.watch(&job).await;
                continue;
            }
            let Ok(_slot) = self.slots.acquire().await else {
                return;
            };
            if let Some(event) = self.one(&job, deed).await {
                let failed = matches!(&event, Event::Applied { result: Err(_), .. });
                if self.sender.send(event).is_err() || failed {
                    return;
                }
            }
        }
    }

    async fn one(&self, job: &Job, deed: Deed) -> Option<Event> {
        let task = job.task;
        let (gvk, namespace, name) = (&job.gvk, job.namespace.as_str(), job.name.as_str());
        match deed {
            Deed::Try => {
                let known = self.cluster.served(gvk).await;
                let refused = match known {
                    Err(LiveError::UnknownKind { .. }) if job.kind_may_come => None,
                    known => known.err().map(|error| error.message()),
                };
                Some(Event::Tried { task, refused })
            }
            Deed::Apply => {
                let target = job.target.as_ref()?;
                let applied = self.cluster.apply(target, self.server_side).await;
                let result = applied
                    .map(|message| Written { message })
                    .map_err(|error| error.message());
                Some(Event::Applied { task, result })
            }
            Deed::Delete => {
                let refused = if job.refused.is_some() {
                    job.refused.clone()
                } else {
                    let deleted = self.cluster.delete(gvk, namespace, name).await;
                    deleted.err().map(|error| error.message())
                };
                Some(Event::Deleted { task, refused })
            }
            Deed::Release => {
                // What cannot be let go now is seen when it is removed or run again.
                let _ = self.cluster.release(gvk, namespace, name).await;
                None
            }
            Deed::Watch => None,
        }
    }

    // Reports an object now and at each change, until nobody listens or it is gone.
    async fn watch(&self, job: &Job) {
        while !self.sender.is_closed() {
            let live = self.cluster.find(&job.gvk, &job.namespace, &job.name).await;
            let version = match live {
                Ok(Some(live)) => {
                    let version = meta::resource_version(&live).to_owned();
                    if !self.report(job, Some(&live)) {
                        return;
                    }
                    version
                }
                Ok(None) => {
                    self.report(job, None);
                    return;
                }
                Err(_) => {
                    tokio::time::sleep(WATCH_AGAIN).await;
                    continue;
                }
            };
            tokio::select! {
                ended = self.follow(job, &version) => {
                    if ended {
                        return;
                    }
                    tokio::time::sleep(WATCH_AGAIN).await;
                }
                () = self.sender.closed() => return,
            }
        }
    }

    // Follows a watch until it breaks; `true` when there is nothing more to see.
    async fn follow(&self, job: &Job, version: &str) -> bool {
        let Ok(served) = self.cluster.served(&job.gvk).await else {
            return false;
        };
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3D{}&resourceVersion={version}",
            served.path(&job.namespace, ""),
            job.name
        );
        let Ok(request) = http::Request::get(path)
            .header("accept-encoding", "identity")
            .body(Vec::new())
        else {
            return false;
        };
        let Ok(stream) = self.cluster.client.request_stream(request).await else {
            return false;
        };
        let mut lines = std::pin::pin!(stream.lines());
        while let Ok(Some(line)) = lines.try_next().await {
            let Ok(event) = serde_json::from_str::<Value>(&line) else {
                return false;
            };
            let live = &event["object"];
            let goes_on = match event["type"].as_str() {
                Some("ADDED" | "MODIFIED") => self.report(job, Some(live)),
                Some("DELETED") => {
                    self.report(job, None);
                    return true;
                }
                Some("BOOKMARK") => true,
                _ => return false,
            };
            if !goes_on {
                return true;
            }
        }
        false
    }

    fn report(&self, job: &Job, live: Option<&Value>) -> bool {
        let seen = match live {
            None => Seen::Gone,
            Some(live) => Seen::Live {
                health: health::of(live),
                leaving: meta::deletion_timestamp(live).is_some(),
            },
        };
        let event = Event::Observed {
            task: job.task,
            seen,
        };
        self.sender.send(event).is_ok()
    }
}
