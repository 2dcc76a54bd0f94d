//! One repository on our disk: objects, a marker per complete commit, and what history is known.
//!
//! A commit counts as there only when its marker is; the marker is written after the pack reached
//! the disk. A process that dies in between leaves files that nobody looks at. Locks belong to
//! processes and end with them.

use crate::objects::{Objects, PACKS_MAX};
use crate::{GitError, Oid};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

/// How many commits we tell a server that we have.
const HAVES_MAX: usize = 64;

/// One repository on our disk.
#[derive(Debug)]
pub(crate) struct Store {
    /// Its directory; for a repository of this machine, where it is itself.
    pub(crate) directory: PathBuf,
    /// Complete commits.
    pub(crate) objects: Objects,
    /// Whether it belongs to somebody else and is only read.
    pub(crate) foreign: bool,
    /// Whether something in it could not be read.
    pub(crate) damaged: AtomicBool,
    // Shared by all who read; who removes the store needs it alone.
    _in_use: Option<File>,
}

pub(crate) fn failed(path: &Path) -> impl Fn(io::Error) -> GitError {
    let path = path.display().to_string();
    move |error| GitError::Cache {
        path: path.clone(),
        says: error.to_string(),
    }
}

impl Store {
    /// Opens a store of ours, or makes it.
    pub(crate) fn open(directory: &Path) -> Result<Self, GitError> {
        let make = |name: &str| {
            let path = directory.join(name);
            fs::create_dir_all(&path).map_err(failed(&path))
        };
        make("objects/pack")?;
        make("objects/info")?;
        make("kept")?;
        let path = directory.join("in-use");
        let in_use = File::create(&path).map_err(failed(&path))?;
        in_use.lock_shared().map_err(failed(&path))?;
        Ok(Self {
            directory: directory.to_owned(),
            objects: Objects::open(&directory.join("objects"))?,
            foreign: false,
            damaged: AtomicBool::new(false),
            _in_use: Some(in_use),
        })
    }

    /// Opens a repository of this machine.
    pub(crate) fn foreign(common: &Path) -> Result<Self, GitError> {
        Ok(Self {
            directory: common.to_owned(),
            objects: Objects::open(&common.join("objects"))?,
            foreign: true,
            damaged: AtomicBool::new(false),
            _in_use: None,
        })
    }

    /// Whether a commit is there with all its files.
    pub(crate) fn keeps(&self, commit: Oid) -> bool {
        if self.foreign {
            return self.objects.has(commit);
        }
        self.marker(commit).exists()
    }

    /// Marks a commit as complete.
    pub(crate) fn keep(&self, commit: Oid) -> Result<(), GitError> {
        let path = self.marker(commit);
        File::create(&path).map_err(failed(&path))?;
        Ok(())
    }

    fn marker(&self, commit: Oid) -> PathBuf {
        self.directory.join("kept").join(commit.to_string())
    }

    /// The commits that are complete, the newest first.
    pub(crate) fn haves(&self) -> Vec<Oid> {
        let Ok(entries) = fs::read_dir(self.directory.join("kept")) else {
            return Vec::new();
        };
        let mut found: Vec<(SystemTime, Oid)> = entries
            .flatten()
            .filter_map(|entry| {
                let oid = entry.file_name().to_string_lossy().parse().ok()?;
                Some((entry.metadata().and_then(|m| m.modified()).ok()?, oid))
            })
            .collect();
        found.sort();
        found.reverse();
        found.truncate(HAVES_MAX);
        found.into_iter().map(|(_, oid)| oid).collect()
    }

    /// Takes the right to write; other processes wait, and it ends with us.
    pub(crate) fn lock(&self) -> Result<File, GitError> {
        let path = self.directory.join("lock");
        let file = File::create(&path).map_err(failed(&path))?;
        file.lock().map_err(failed(&path))?;
        self.tidy();
        Ok(file)
    }

    // Removes what a process that died has left; nobody else writes while we hold the lock.
    fn tidy(&self) {
        for shallow in ["shallow.lock", "history/shallow.lock"] {
            let _ = fs::remove_file(self.directory.join(shallow));
        }
        for objects in ["objects/pack", "history/objects/pack"] {
            let Ok(entries) = fs::read_dir(self.directory.join(objects)) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if !name.starts_with("pack-") {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Whether it has so many packs that it should be made anew.
    pub(crate) fn is_worn(&self) -> bool {
        let packs = fs::read_dir(self.directory.join("objects/pack"));
        packs.is_ok_and(|entries| entries.count() / 2 >= PACKS_MAX)
    }

    /// Notes that it was used just now.
    pub(crate) fn touch(&self) {
        if !self.foreign {
            // Only the order of eviction depends on it.
            let _ = File::create(self.directory.join("used"));
        }
    }
}

/// Removes the least recently used stores until the rest fits.
pub(crate) fn evict(root: &Path, bytes_max: u64, except: &Path) {
    let Ok(entries) = fs::read_dir(root) else {
        return;
    };
    let mut stores: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("kept").is_dir())
        .map(|path| {
            let used = fs::metadata(path.join("used")).and_then(|m| m.modified());
            (used.unwrap_or(SystemTime::UNIX_EPOCH), size(&path, 6), path)
        })
        .collect();
    stores.sort();
    let mut total: u64 = stores.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, bytes, path) in stores {
        if total <= bytes_max {
            return;
        }
        if path != except && remove(&path) {
            total -= bytes;
        }
    }
}

/// Removes a store that nobody reads; says whether it is gone.
pub(crate) fn remove(path: &Path) -> bool {
    let Ok(in_use) = File::create(path.join("in-use")) else {
        return false;
    };
    if in_use.try_lock().is_err() {
        return false;
    }
    discard(path)
}

/// Puts a store aside and removes it, whoever still reads.
pub(crate) fn discard(path: &Path) -> bool {
    // A name of its own first: a half removed store must not be found under the old one.
    let aside = path.with_extension(format!("gone-{}", std::process::id()));
    let _ = fs::remove_dir_all(&aside);
    fs::rename(path, &aside).is_ok() && fs::remove_dir_all(&aside).is_ok()
}

fn size(path: &Path, depth: usize) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() && depth > 0 => size(&entry.path(), depth - 1),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
