//! The files of one commit, read straight from its objects.

use crate::lfs::{self, LfsPointer};
use crate::objects::{ItemKind, ObjectError};
use crate::store::Store;
use crate::url::RepoUrl;
use crate::{GitError, Limits, Oid};
use model::tree::{Entry, EntryKind, Node};
use model::{Tree, TreeError};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// The files of one commit.
#[derive(Debug)]
pub struct GitTree {
    pub(crate) url: RepoUrl,
    pub(crate) commit: Oid,
    pub(crate) root: Oid,
    pub(crate) store: Arc<Store>,
    pub(crate) limits: Limits,
    /// Other repositories, by the path where they stand.
    pub(crate) mounts: BTreeMap<String, Arc<GitTree>>,
    /// Content from Git LFS, by the digest in the pointer.
    pub(crate) large: BTreeMap<String, Arc<[u8]>>,
    pointers: Mutex<BTreeMap<String, LfsPointer>>,
}

impl GitTree {
    pub(crate) fn open(
        url: &RepoUrl,
        commit: Oid,
        store: Arc<Store>,
        limits: Limits,
    ) -> Result<Self, GitError> {
        let (commit, parsed) = store.objects.commit(commit).map_err(|e| damaged(url, &e))?;
        Ok(Self {
            url: url.clone(),
            commit,
            root: parsed.tree,
            store,
            limits,
            mounts: BTreeMap::new(),
            large: BTreeMap::new(),
            pointers: Mutex::default(),
        })
    }

    /// The commit.
    pub fn commit(&self) -> Oid {
        self.commit
    }

    /// The repository.
    pub fn url(&self) -> &RepoUrl {
        &self.url
    }

    /// What names the content at a path: equal for equal content, so a key for a cache. `None`
    /// when nothing stands there. A directory's name covers all below it but the files of other
    /// repositories, which are covered by their commits.
    pub fn tree_id(&self, path: &str) -> Result<Option<Oid>, GitError> {
        if let Some((mount, rest)) = self.mounted(path) {
            return mount.tree_id(rest);
        }
        let found = self.store.objects.at(self.root, path);
        Ok(found
            .map_err(|e| damaged(&self.url, &e))?
            .map(|(_, oid)| oid))
    }

    /// Pointers of Git LFS that were read in place of the content they stand for.
    pub fn lfs_pointers(&self) -> Vec<LfsPointer> {
        let own = self.pointers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<LfsPointer> = own.values().cloned().collect();
        for (at, mount) in &self.mounts {
            all.extend(mount.lfs_pointers().into_iter().map(|pointer| LfsPointer {
                path: format!("{at}/{}", pointer.path),
                ..pointer
            }));
        }
        all
    }

    /// Where other repositories stand in this one, and their commits; fetched or not.
    pub fn submodules(&self) -> Result<Vec<(String, Oid)>, GitError> {
        let mut found = Vec::new();
        self.walk_submodules("", self.root, 0, &mut found)?;
        Ok(found)
    }

    fn walk_submodules(
        &self,
        path: &str,
        tree: Oid,
        depth: usize,
        found: &mut Vec<(String, Oid)>,
    ) -> Result<(), GitError> {
        const DEPTH_MAX: usize = 64;
        if depth > DEPTH_MAX {
            return Ok(());
        }
        let directory = self
            .store
            .objects
            .directory(tree)
            .map_err(|e| damaged(&self.url, &e))?;
        for item in &directory.0 {
            let at = join(path, &item.name);
            match item.kind {
                ItemKind::Submodule => found.push((at, item.oid)),
                ItemKind::Directory => self.walk_submodules(&at, item.oid, depth + 1, found)?,
                ItemKind::File | ItemKind::Link => {}
            }
        }
        Ok(())
    }

    // The repository that stands at a path or above it, and the rest of the path.
    fn mounted<'p>(&self, path: &'p str) -> Option<(&GitTree, &'p str)> {
        if self.mounts.is_empty() {
            return None;
        }
        let mut ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()]);
        ends.find_map(|end| {
            let mount = self.mounts.get(&path[..end])?;
            Some((mount.as_ref(), path[end..].trim_start_matches('/')))
        })
    }

    fn file(&self, path: &str, oid: Oid) -> Result<Node, TreeError> {
        let unreadable = |error: ObjectError| self.unreadable(path, &error);
        let (_, size) = self
            .store
            .objects
            .header(oid)
            .and_then(|found| found.ok_or(ObjectError::Missing(oid)))
            .map_err(unreadable)?;
        let max = self.limits.file_bytes_max;
        if size > max {
            return Err(TreeError::TooLarge {
                path: path.into(),
                size,
                max,
            });
        }
        let bytes = self.store.objects.file(oid).map_err(unreadable)?;
        match LfsPointer::parse(path, &bytes) {
            Some(pointer) => self.pointer(pointer, bytes),
            None => Ok(Node::File(bytes.into())),
        }
    }

    // A pointer where a manifest should be helps nobody; elsewhere it is passed on and noted.
    fn pointer(&self, pointer: LfsPointer, bytes: Vec<u8>) -> Result<Node, TreeError> {
        if let Some(content) = self.large.get(&pointer.digest) {
            return Ok(Node::File(Arc::clone(content)));
        }
        let path = pointer.path.clone();
        let why = pointer.to_string();
        let must_be_text = lfs::is_manifest(&path);
        self.pointers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.clone(), pointer);
        if must_be_text {
            return Err(TreeError::Unreadable { path, why });
        }
        Ok(Node::File(bytes.into()))
    }
}

impl Tree for GitTree {
    fn node(&self, path: &str) -> Result<Option<Node>, TreeError> {
        if let Some((mount, rest)) = self.mounted(path) {
            return mount.node(rest);
        }
        let found = self.store.objects.at(self.root, path);
        let Some((kind, oid)) = found.map_err(|e| self.unreadable(path, &e))? else {
            return Ok(None);
        };
        Ok(Some(match kind {
            ItemKind::Directory => {
                let directory = self
                    .store
                    .objects
                    .directory(oid)
                    .map_err(|e| self.unreadable(path, &e))?;
                Node::Directory(
                    directory
                        .0
                        .iter()
                        .map(|item| self.entry(path, item))
                        .collect(),
                )
            }
            ItemKind::File => self.file(path, oid)?,
            ItemKind::Link => {
                let target = self
                    .store
                    .objects
                    .file(oid)
                    .map_err(|e| self.unreadable(path, &e))?;
                Node::Link(String::from_utf8_lossy(&target).into_owned())
            }
            ItemKind::Submodule => Node::Submodule(oid.to_string()),
        }))
    }
}

impl GitTree {
    // The store is noted as damaged, and made anew for the next who opens it.
    fn unreadable(&self, path: &str, error: &ObjectError) -> TreeError {
        self.store.damaged.store(true, Ordering::Relaxed);
        TreeError::Unreadable {
            path: path.into(),
            why: error.to_string(),
        }
    }

    fn entry(&self, directory: &str, item: &crate::objects::Item) -> Entry {
        let kind = match item.kind {
            ItemKind::File => EntryKind::File,
            ItemKind::Directory => EntryKind::Directory,
            ItemKind::Link => EntryKind::Link,
            ItemKind::Submodule if self.mounts.contains_key(&join(directory, &item.name)) => {
                EntryKind::Directory
            }
            ItemKind::Submodule => EntryKind::Submodule,
        };
        Entry {
            name: item.name.clone(),
            kind,
        }
    }
}

pub(crate) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}

pub(crate) fn damaged(url: &RepoUrl, error: &ObjectError) -> GitError {
    GitError::Corrupted {
        url: url.to_string(),
        says: error.to_string(),
    }
}
