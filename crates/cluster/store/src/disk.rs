//! Keeps the store on disk, in one crash-safe file.
//!
//! [`Disk::open`] takes a directory and gives the store as it was when the last acknowledged change was
//! made; [`Disk::append`] takes what was committed since. A thread of its own writes everything that is
//! queued in one transaction and then moves [`Disk::durable`]: a change at or below it survives
//! the death of the process and of the machine.
//!
//! Only the newest state is kept. After a start, history begins at the version that was reached.

mod error;
mod file;
mod seal;
mod writer;

pub use error::StoreError;
pub use writer::Progress;

use crate::change::{Committed, Version};
use crate::memory::Memory;
use file::Opened;
use redb::Database;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use writer::Shared;

/// The file behind a [`Memory`]. Dropping it writes what is queued and closes the file.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    database: Arc<Database>,
    /// Held for as long as the file is ours.
    _lock: Option<File>,
}

impl Disk {
    /// Opens the store in a directory, or makes a new one there.
    pub fn open(directory: &Path) -> Result<(Self, Memory), StoreError> {
        file::open(directory).and_then(Self::start)
    }

    fn start(opened: Opened) -> Result<(Self, Memory), StoreError> {
        let Opened {
            path,
            database,
            memory,
            lock,
        } = opened;
        let database = Arc::new(database);
        let shared = Arc::new(Shared::new(memory.version()));
        let thread = writer::spawn(&path, &database, &shared)?;
        let disk = Self {
            path,
            shared,
            thread: Some(thread),
            database,
            _lock: lock,
        };
        Ok((disk, memory))
    }

    /// Queues what was committed and gives the version to wait for. Call it in the order of the commits,
    /// that is under the lock that guards the [`Memory`].
    pub fn append(&self, committed: &Committed) -> Version {
        self.shared.append(committed)
    }

    /// Everything up to this version is kept for good.
    pub fn durable(&self) -> Version {
        self.shared.progress().durable
    }

    /// How far the writer is.
    pub fn progress(&self) -> Progress {
        self.shared.progress()
    }

    /// Calls `listener` from the writing thread after every step forward, and once when writing
    /// fails. It must be quick: put the news into a channel.
    pub fn on_progress(&self, listener: impl Fn(&Progress) + Send + Sync + 'static) {
        self.shared.listen(Box::new(listener));
    }

    /// Blocks until a version is kept for good, or can no longer be.
    pub fn wait(&self, version: Version) -> Result<(), StoreError> {
        self.shared.wait(version)
    }

    /// Keeps a named value beside the objects; it is durable when this returns.
    pub fn put_meta(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        file::put_meta(&self.database, name, value)
            .map_err(|source| StoreError::write(&self.path, source))
    }

    /// A value that [`Disk::put_meta`] kept.
    pub fn get_meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        file::get_meta(&self.path, &self.database, name)
    }

    /// Writes what is queued and closes the file; says when that failed.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.finish();
        match self.shared.progress().failed {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn finish(&mut self) {
        self.shared.close();
        if let Some(thread) = self.thread.take() {
            // A panic over there has been turned into `Progress::failed` already.
            let _ = thread.join();
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests;
