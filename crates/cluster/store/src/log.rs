//! What happened to the objects of one resource, oldest first, as far back as it is kept.
//!
//! Takes one [`Record`] per change and gives back the records after a version, or the state of one
//! object at a version. Each record knows which record came before it for the same object, so a
//! read of the past touches the history of the objects it reads and nothing else.

use crate::body::Stored;
use crate::change::{Event, EventKind, Key, Version};
use std::collections::VecDeque;
use std::sync::Arc;

/// How much history [`Memory::compact`](crate::Memory::compact) leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Events kept per resource.
    pub events_max: usize,
    /// Bytes that exist for the sake of history alone, over all resources: records, states
    /// that were replaced, and objects that were removed.
    pub bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            events_max: 100_000,
            bytes_max: 32 << 20,
        }
    }
}

/// The asked version is older than the history that is kept; list again and go on from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct Compacted {
    /// The version that was asked for.
    pub asked: Version,
    /// The oldest version that can still be asked for.
    pub oldest: Version,
}

/// One change as it is kept.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) version: Version,
    /// The version of the change of this object before this one, 0 when there was none.
    pub(crate) before: Version,
    pub(crate) kind: EventKind,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) object: Stored,
    pub(crate) previous: Option<Stored>,
}

impl Record {
    pub(crate) fn event(&self, resource: &Arc<str>) -> Event {
        Event {
            version: self.version,
            kind: self.kind,
            key: Key {
                resource: Arc::clone(resource),
                namespace: Arc::clone(&self.namespace),
                name: Arc::clone(&self.name),
            },
            object: self.object.clone(),
            previous: self.previous.clone(),
        }
    }

    /// The bytes that nothing but this record keeps alive: itself, the state it replaced (whose
    /// own record is older, and so goes first) and, for a removal, the last state.
    pub(crate) fn weight(&self) -> usize {
        let last = match self.kind {
            EventKind::Deleted => self.object.size(),
            EventKind::Added | EventKind::Modified => 0,
        };
        size_of::<Self>() + last + self.previous.as_ref().map_or(0, Stored::size)
    }
}

/// The records of one resource.
#[derive(Debug, Default)]
pub(crate) struct Log {
    records: VecDeque<Record>,
    /// The version of the newest record that was dropped.
    compacted: Version,
}

impl Log {
    /// An empty log whose history begins after `compacted`.
    pub(crate) fn starting_after(compacted: Version) -> Self {
        Self {
            records: VecDeque::new(),
            compacted,
        }
    }

    pub(crate) fn compacted(&self) -> Version {
        self.compacted
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Adds a record, whose version must be the newest, and gives it back from its place.
    pub(crate) fn push(&mut self, record: Record) -> &Record {
        debug_assert!(
            self.records
                .back()
                .is_none_or(|r| r.version < record.version)
        );
        self.records.push_back(record);
        self.records.back().expect("it was put there just now")
    }

    /// The version of the oldest record.
    pub(crate) fn oldest(&self) -> Option<Version> {
        self.records.front().map(|record| record.version)
    }

    /// Drops the oldest record.
    pub(crate) fn pop(&mut self) -> Option<Record> {
        let record = self.records.pop_front()?;
        self.compacted = record.version;
        if self.records.len() < self.records.capacity() / 4 {
            self.records.shrink_to(self.records.capacity() / 2);
        }
        Some(record)
    }

    /// Declares everything up to `version` as forgotten; the records are dropped by the caller.
    pub(crate) fn forget(&mut self, version: Version) {
        self.compacted = self.compacted.max(version);
    }

    /// The records after a version, oldest first.
    pub(crate) fn after(
        &self,
        version: Version,
    ) -> Result<impl Iterator<Item = &Record>, Compacted> {
        self.check(version)?;
        let start = self.records.partition_point(|r| r.version <= version);
        Ok(self.records.range(start..))
    }

    /// Whether reads at `version` see everything.
    pub(crate) fn check(&self, version: Version) -> Result<(), Compacted> {
        if version < self.compacted {
            return Err(Compacted {
                asked: version,
                oldest: self.compacted,
            });
        }
        Ok(())
    }

    /// The state at `at` of an object whose newest change is `changed`; `at` was checked before.
    pub(crate) fn state_at(&self, mut changed: Version, at: Version) -> Option<&Stored> {
        loop {
            let place = self
                .records
                .binary_search_by_key(&changed, |r| r.version)
                .ok()?;
            let record = &self.records[place];
            if record.before <= at {
                return record.previous.as_ref();
            }
            changed = record.before;
        }
    }
}
