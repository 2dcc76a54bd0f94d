//! Charts that were prepared before, by what their files are.

use crate::Prepared;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Prepared charts by a key of the caller, which must change whenever the files do: a tree's id in
/// Git, or the digest of an archive. The chart that was not used for longest goes first.
#[derive(Debug)]
pub struct Cache {
    kept: Mutex<VecDeque<(String, Arc<Prepared>)>>,
    max: usize,
}

impl Cache {
    /// A cache for so many charts.
    pub fn new(max: usize) -> Self {
        Self {
            kept: Mutex::default(),
            max: max.max(1),
        }
    }

    /// The chart under a key, prepared now when it is not here.
    pub fn prepared<E>(
        &self,
        key: &str,
        prepare: impl FnOnce() -> Result<Prepared, E>,
    ) -> Result<Arc<Prepared>, E> {
        if let Some(found) = self.touch(key) {
            return Ok(found);
        }
        let made = Arc::new(prepare()?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= self.max {
            kept.pop_front();
        }
        kept.push_back((key.to_owned(), made.clone()));
        Ok(made)
    }

    fn touch(&self, key: &str) -> Option<Arc<Prepared>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(known, _)| known == key)?;
        let entry = kept.remove(at)?;
        let found = entry.1.clone();
        kept.push_back(entry);
        Some(found)
    }
}
