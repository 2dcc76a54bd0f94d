//! The lives of the node's Pods, as the loop moves them and the log server reads them.

use kubelet::{Life, LogChunk, LogCursor, LogOptions};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

type Key = (String, String);

/// Lives by namespace and name. Clones are the same lives.
#[derive(Clone, Debug)]
pub(crate) struct Lives {
    map: Arc<Mutex<BTreeMap<Key, Life>>>,
    logged: watch::Sender<u64>,
}

impl Lives {
    pub(crate) fn new() -> Self {
        Self {
            map: Arc::default(),
            logged: watch::Sender::new(0),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Life>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those who follow logs.
    pub(crate) fn wake_followers(&self) {
        self.logged.send_modify(|count| *count += 1);
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.logged.subscribe()
    }

    /// The first piece of a log; the error is what a kubelet would say.
    pub(crate) fn log(
        &self,
        key: &Key,
        container: &str,
        options: &LogOptions,
    ) -> Result<LogChunk, String> {
        let lives = self.lock();
        let name = &key.1;
        let life = lives
            .get(key)
            .ok_or_else(|| format!("pod {name:?} cannot be found - no logs available"))?;
        life.log(name, container, options)
    }

    /// The next piece.
    pub(crate) fn log_after(&self, key: &Key, cursor: &LogCursor) -> LogChunk {
        let lives = self.lock();
        lives
            .get(key)
            .map_or_else(LogChunk::default, |life| life.log_after(cursor))
    }
}
