//! Objects read from a directory of packs: commits, trees and the content of files.

use crate::{GitError, Oid};
use gix_object::{Find, Kind};
use gix_odb::Header;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// How many parsed directories are kept in memory.
const DIRECTORIES_KEPT_MAX: usize = 20_000;
/// How many packs a store may have before it is made anew.
pub(crate) const PACKS_MAX: usize = 300;

/// A directory of objects that many threads read.
pub(crate) struct Objects {
    store: Arc<gix_odb::Store>,
    // Handles hold caches and cannot be shared; they are lent out.
    idle: Mutex<Vec<gix_odb::HandleArc>>,
    directories: Mutex<HashMap<Oid, Arc<Directory>>>,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) kind: ItemKind,
    pub(crate) oid: Oid,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ItemKind {
    File,
    Directory,
    Link,
    Submodule,
}

/// The entries of a directory, sorted by name.
#[derive(Debug, Default)]
pub(crate) struct Directory(pub(crate) Vec<Item>);

/// What a commit says.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) tree: Oid,
    pub(crate) parents: Vec<Oid>,
    pub(crate) raw: Vec<u8>,
}

/// Why an object could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObjectError {
    /// It is not there.
    Missing(Oid),
    /// It is there, but it is something else or broken.
    Broken(Oid, String),
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(oid) => write!(f, "object {oid} is missing"),
            Self::Broken(oid, why) => write!(f, "object {oid} cannot be read: {why}"),
        }
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Objects({})", self.store.path().display())
    }
}

impl Directory {
    /// The entry of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Item> {
        let at = self
            .0
            .binary_search_by(|item| item.name.as_str().cmp(name))
            .ok()?;
        self.0.get(at)
    }
}

impl Objects {
    /// Opens a directory of objects.
    pub(crate) fn open(directory: &Path) -> Result<Self, GitError> {
        let options = gix_odb::store::init::Options {
            slots: gix_odb::store::init::Slots::AsNeededByDiskState {
                multiplier: 2.0,
                minimum: PACKS_MAX * 2,
            },
            ..Default::default()
        };
        let none = &mut std::iter::empty();
        let store =
            gix_odb::Store::at_opts(directory.to_owned(), gix_hash::Kind::Sha1, none, options);
        let store = store.map_err(|error| GitError::Cache {
            path: directory.display().to_string(),
            says: error.to_string(),
        })?;
        Ok(Self {
            store: Arc::new(store),
            idle: Mutex::default(),
            directories: Mutex::default(),
        })
    }

    /// A handle of its own, for a long piece of work.
    pub(crate) fn handle(&self) -> gix_odb::HandleArc {
        self.store.to_cache_arc()
    }

    fn with<T>(&self, read: impl FnOnce(&gix_odb::HandleArc) -> T) -> T {
        let lent = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let handle = lent.unwrap_or_else(|| self.handle());
        let answer = read(&handle);
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(handle);
        answer
    }

    fn read(&self, oid: Oid, buffer: &mut Vec<u8>) -> Result<Kind, ObjectError> {
        let found = self.with(|handle| {
            handle
                .try_find(&oid.id(), buffer)
                .map(|found| found.map(|data| data.kind))
                .map_err(|error| ObjectError::Broken(oid, error.to_string()))
        })?;
        found.ok_or(ObjectError::Missing(oid))
    }

    /// The kind and size of an object, when it is there.
    pub(crate) fn header(&self, oid: Oid) -> Result<Option<(Kind, u64)>, ObjectError> {
        let header = self.with(|handle| handle.try_header(&oid.id()));
        let header = header.map_err(|error| ObjectError::Broken(oid, error.to_string()))?;
        Ok(header.map(|h| (h.kind(), h.size())))
    }

    /// Whether an object is there.
    pub(crate) fn has(&self, oid: Oid) -> bool {
        self.header(oid).is_ok_and(|found| found.is_some())
    }

    /// A commit; annotated tags are followed to theirs.
    pub(crate) fn commit(&self, oid: Oid) -> Result<(Oid, Commit), ObjectError> {
        const TAGS_MAX: usize = 10;
        let broken = |why: String| ObjectError::Broken(oid, why);
        let mut at = oid;
        for _ in 0..TAGS_MAX {
            let mut raw = Vec::new();
            match self.read(at, &mut raw)? {
                Kind::Commit => {
                    let commit = gix_object::CommitRef::from_bytes(&raw, gix_hash::Kind::Sha1);
                    let commit = commit.map_err(|e| broken(e.to_string()))?;
                    let tree = Oid::from(commit.tree());
                    let parents = commit.parents().map(Oid::from).collect();
                    drop(commit);
                    return Ok((at, Commit { tree, parents, raw }));
                }
                Kind::Tag => {
                    let tag = gix_object::TagRef::from_bytes(&raw, gix_hash::Kind::Sha1);
                    at = Oid::from(tag.map_err(|e| broken(e.to_string()))?.target());
                }
                other => return Err(broken(format!("it is a {other}, not a commit"))),
            }
        }
        Err(broken("it is a tag of a tag without end".into()))
    }

    /// The entries of a directory.
    pub(crate) fn directory(&self, oid: Oid) -> Result<Arc<Directory>, ObjectError> {
        let kept = || {
            self.directories
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(known) = kept().get(&oid) {
            return Ok(Arc::clone(known));
        }
        let mut raw = Vec::new();
        let kind = self.read(oid, &mut raw)?;
        if kind != Kind::Tree {
            return Err(ObjectError::Broken(
                oid,
                format!("it is a {kind}, not a directory"),
            ));
        }
        let parsed = Arc::new(parse(oid, &raw)?);
        let mut kept = kept();
        if kept.len() >= DIRECTORIES_KEPT_MAX {
            kept.clear();
        }
        kept.insert(oid, Arc::clone(&parsed));
        Ok(parsed)
    }

    /// The content of a file.
    pub(crate) fn file(&self, oid: Oid) -> Result<Vec<u8>, ObjectError> {
        let mut raw = Vec::new();
        match self.read(oid, &mut raw)? {
            Kind::Blob => Ok(raw),
            other => Err(ObjectError::Broken(
                oid,
                format!("it is a {other}, not a file"),
            )),
        }
    }

    /// What stands at a path below a directory; the empty path is the directory itself.
    pub(crate) fn at(&self, root: Oid, path: &str) -> Result<Option<(ItemKind, Oid)>, ObjectError> {
        let mut found = (ItemKind::Directory, root);
        for name in path.split('/').filter(|part| !part.is_empty()) {
            if found.0 != ItemKind::Directory {
                return Ok(None);
            }
            match self.directory(found.1)?.get(name) {
                Some(item) => found = (item.kind, item.oid),
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// All commits whose name begins with some digits.
    pub(crate) fn commits_starting_with(&self, digits: &str) -> Result<Vec<Oid>, String> {
        let prefix = gix_hash::Prefix::from_hex(digits).map_err(|e| e.to_string())?;
        let mut found = std::collections::HashSet::new();
        let handle = self.handle();
        handle
            .lookup_prefix(prefix, Some(&mut found))
            .map_err(|e| e.to_string())?;
        let mut commits: Vec<Oid> = found.into_iter().map(Oid::from).collect();
        commits.retain(|oid| matches!(self.header(*oid), Ok(Some((Kind::Commit, _)))));
        commits.sort();
        Ok(commits)
    }
}

fn parse(oid: Oid, raw: &[u8]) -> Result<Directory, ObjectError> {
    use gix_object::tree::EntryKind;
    let mut items = Vec::new();
    for entry in gix_object::TreeRefIter::from_bytes(raw, gix_hash::Kind::Sha1) {
        let entry = entry.map_err(|error| ObjectError::Broken(oid, error.to_string()))?;
        items.push(Item {
            name: entry.filename.to_string(),
            kind: match entry.mode.kind() {
                EntryKind::Tree => ItemKind::Directory,
                EntryKind::Blob | EntryKind::BlobExecutable => ItemKind::File,
                EntryKind::Link => ItemKind::Link,
                EntryKind::Commit => ItemKind::Submodule,
            },
            oid: Oid::from(entry.oid.to_owned()),
        });
    }
    // Git sorts directories as if their names ended with a slash; we look names up as they are.
    items.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Directory(items))
}
