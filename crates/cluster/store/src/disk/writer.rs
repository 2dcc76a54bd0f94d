//! The thread that writes: everything that is queued goes into one transaction.
//!
//! One flush to the disk takes as long as hundreds of changes, so changes that arrive during a flush
//! wait for the next one together.

use crate::body::Stored;
use crate::change::{Committed, EventKind, Key, Version};
use crate::disk::error::StoreError;
use crate::disk::file::{ABOUT, OBJECTS, VERSION, record};
use crate::disk::seal::sealed;
use redb::{Database, Durability};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Changes that may wait; who comes later waits for the flush under way.
const QUEUE_MAX: usize = 1 << 16;

/// How far the writer is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Everything up to this version is kept for good.
    pub durable: Version,
    /// Why nothing more will be kept.
    pub failed: Option<StoreError>,
}

/// What is called after every step of the writer.
pub(super) type Listener = Box<dyn Fn(&Progress) + Send + Sync>;

/// Changes in order: the new body of an object, or `None` for its removal.
type Queue = Vec<(Key, Option<Stored>)>;

/// What the writer and its callers share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Something was queued, or the end was asked for.
    work: Condvar,
    /// The writer took the queue, or is a step further.
    step: Condvar,
}

struct State {
    queue: Queue,
    /// The newest version that was queued.
    queued: Version,
    progress: Progress,
    closed: bool,
    listeners: Vec<Arc<Listener>>,
}

impl Shared {
    pub(super) fn new(version: Version) -> Self {
        Self {
            state: Mutex::new(State {
                queue: Vec::new(),
                queued: version,
                progress: Progress {
                    durable: version,
                    failed: None,
                },
                closed: false,
                listeners: Vec::new(),
            }),
            work: Condvar::new(),
            step: Condvar::new(),
        }
    }

    pub(super) fn append(&self, committed: &Committed) -> Version {
        let mut state = self.lock();
        while state.queue.len() >= QUEUE_MAX && state.open() {
            state = wait(&self.step, state);
        }
        if state.open() {
            let changes = committed.events.iter().map(|event| {
                let body = (event.kind != EventKind::Deleted).then(|| event.object.clone());
                (event.key.clone(), body)
            });
            state.queue.extend(changes);
            state.queued = state.queued.max(committed.last());
            self.work.notify_one();
        }
        committed.last()
    }

    pub(super) fn progress(&self) -> Progress {
        self.lock().progress.clone()
    }

    pub(super) fn listen(&self, listener: Listener) {
        self.lock().listeners.push(Arc::new(listener));
    }

    pub(super) fn wait(&self, version: Version) -> Result<(), StoreError> {
        let mut state = self.lock();
        loop {
            if state.progress.durable >= version {
                return Ok(());
            }
            if let Some(error) = &state.progress.failed {
                return Err(error.clone());
            }
            if state.closed && state.queued < version {
                return Err(StoreError::Closed);
            }
            state = wait(&self.step, state);
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_one();
        self.step.notify_all();
    }

    /// Waits for work; `None` when there will be no more.
    fn take(&self) -> Option<(Queue, Version)> {
        let mut state = self.lock();
        while state.queue.is_empty() {
            if state.closed {
                return None;
            }
            state = wait(&self.work, state);
        }
        let queue = std::mem::take(&mut state.queue);
        self.step.notify_all();
        Some((queue, state.queued))
    }

    /// Tells everyone how a step went; says whether to go on.
    fn report(&self, result: Result<Version, StoreError>) -> bool {
        let mut state = self.lock();
        match result {
            Ok(version) => state.progress.durable = version,
            Err(error) => state.progress.failed = Some(error),
        }
        let progress = state.progress.clone();
        let listeners = state.listeners.clone();
        drop(state);
        self.step.notify_all();
        for listener in &listeners {
            listener(&progress);
        }
        progress.failed.is_none()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn open(&self) -> bool {
        !self.closed && self.progress.failed.is_none()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.progress()).finish()
    }
}

fn wait<'a>(on: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    on.wait(state).unwrap_or_else(PoisonError::into_inner)
}

/// Starts the writing thread.
pub(super) fn spawn(
    path: &Path,
    database: &Arc<Database>,
    shared: &Arc<Shared>,
) -> Result<JoinHandle<()>, StoreError> {
    let writer = Writer {
        path: path.to_owned(),
        database: Arc::clone(database),
        shared: Arc::clone(shared),
    };
    thread::Builder::new()
        .name("store".into())
        .spawn(move || writer.run())
        .map_err(|source| StoreError::io("start writing", path, source))
}

struct Writer {
    path: PathBuf,
    database: Arc<Database>,
    shared: Arc<Shared>,
}

impl Writer {
    fn run(self) {
        while let Some((queue, version)) = self.shared.take() {
            let result = catch_unwind(AssertUnwindSafe(|| self.write(queue, version)))
                .unwrap_or_else(|_| Err(redb::Error::PreviousIo))
                .map(|()| version)
                .map_err(|source| StoreError::write(&self.path, source));
            if !self.shared.report(result) {
                return;
            }
        }
    }

    fn write(&self, queue: Queue, version: Version) -> Result<(), redb::Error> {
        // Only the newest state of an object counts, and sorted keys are quicker to insert.
        let newest: BTreeMap<Key, Option<Stored>> = queue.into_iter().collect();
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            for (key, body) in &newest {
                let place = (&*key.resource, &*key.namespace, &*key.name);
                match body {
                    Some(body) => objects.insert(place, &*record(key, body))?,
                    None => objects.remove(place)?,
                };
            }
            let mut about = transaction.open_table(ABOUT)?;
            about.insert(VERSION, &*sealed(VERSION, &version.to_le_bytes()))?;
        }
        transaction.commit()?;
        Ok(())
    }
}
