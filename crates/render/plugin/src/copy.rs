//! A fresh copy of the files for each run, gone afterwards.

use model::tree::{EntryKind, clean};
use model::{SourceTree, TreeError};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many files are copied for a plugin.
const FILES_MAX: usize = 200_000;
/// How many bytes are copied for a plugin.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How deep directories may nest.
const DEPTH_MAX: usize = 128;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A directory of its own, removed when dropped.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Workspace {
    /// Copies all files of a tree.
    pub(crate) fn of(tree: &SourceTree) -> Result<Self, String> {
        let space = Self::empty()?;
        let mut copy = Copy {
            tree,
            root: space.files(),
            files: 0,
            bytes: 0,
        };
        copy.directory("", 0)?;
        Ok(space)
    }

    fn empty() -> Result<Self, String> {
        for _ in 0..100 {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("tiphys-plugin-{}-{number}", std::process::id());
            let root = std::env::temp_dir().join(name);
            match make_private(&root) {
                Ok(()) => {
                    let space = Self { root };
                    for inner in [space.files(), space.root.join("home")] {
                        fs::create_dir(&inner).map_err(|why| why.to_string())?;
                    }
                    return Ok(space);
                }
                Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(why) => return Err(format!("no directory for the plugin: {why}")),
            }
        }
        Err("no directory for the plugin: every name is taken".into())
    }

    fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    /// The directory that holds the files and the home of the commands.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A directory of the tree in the copy.
    pub(crate) fn path(&self, directory: &str) -> PathBuf {
        match clean("", directory) {
            Some(directory) => self.files().join(directory),
            None => self.files(),
        }
    }
}

#[cfg(unix)]
fn make_private(root: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(root)
}

#[cfg(not(unix))]
fn make_private(root: &Path) -> std::io::Result<()> {
    fs::create_dir(root)
}

struct Copy<'a> {
    tree: &'a SourceTree,
    root: PathBuf,
    files: usize,
    bytes: u64,
}

impl Copy<'_> {
    fn directory(&mut self, path: &str, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("`{path}` lies deeper than {DEPTH_MAX} directories"));
        }
        for entry in self.tree.list(path).map_err(|why| why.to_string())? {
            let at = join(path, &entry.name);
            match entry.kind {
                EntryKind::Directory => {
                    fs::create_dir_all(self.root.join(&at)).map_err(|why| why.to_string())?;
                    self.directory(&at, depth + 1)?;
                }
                EntryKind::File => self.file(&at)?,
                // What a link leads to is copied: nothing can point out of the copy.
                EntryKind::Link => {
                    if self.tree.kind(&at).map_err(|why| why.to_string())? == Some(EntryKind::File)
                    {
                        self.file(&at)?;
                    }
                }
                EntryKind::Submodule => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<(), String> {
        let bytes = self.tree.read(path).map_err(|why| why.to_string())?;
        self.files += 1;
        self.bytes += bytes.len() as u64;
        if self.files > FILES_MAX || self.bytes > BYTES_MAX {
            return Err(format!(
                "the repository has more than {FILES_MAX} files or {BYTES_MAX} bytes"
            ));
        }
        fs::write(self.root.join(path), &bytes).map_err(|why| format!("`{path}`: {why}"))
    }
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}

/// Whether a file or directory below a directory fits; paths are relative to it.
pub(crate) fn any_path(
    tree: &SourceTree,
    directory: &str,
    fits: &dyn Fn(&str) -> bool,
) -> Result<bool, TreeError> {
    let mut pending = vec![(String::new(), 0)];
    let mut seen = 0;
    while let Some((below, depth)) = pending.pop() {
        for entry in tree.list(&join_both(directory, &below))? {
            let path = join(&below, &entry.name);
            if fits(&path) {
                return Ok(true);
            }
            seen += 1;
            if entry.kind == EntryKind::Directory && depth < DEPTH_MAX && seen < FILES_MAX {
                pending.push((path, depth + 1));
            }
        }
    }
    Ok(false)
}

fn join_both(directory: &str, below: &str) -> String {
    match (directory.is_empty(), below.is_empty()) {
        (true, _) => below.to_owned(),
        (false, true) => directory.to_owned(),
        (false, false) => format!("{directory}/{below}"),
    }
}
