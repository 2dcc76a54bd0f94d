//! A directory of this machine as a tree of files.
//!
//! Links are given as they are written: [`model::SourceTree`] follows those that stay inside and
//! refuses the others. Files beyond [`FILE_MAX`] are refused before they are read; `.git` is not
//! part of the tree.

use model::tree::{Entry, EntryKind, Node};
use model::{Tree, TreeError};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// How large one file may be, in bytes.
pub const FILE_MAX: u64 = 64 * 1024 * 1024;
/// How many names one directory may hold.
pub const NAMES_MAX: usize = 100_000;

/// A directory of this machine.
#[derive(Clone, Debug)]
pub struct DirectoryTree {
    root: PathBuf,
}

impl DirectoryTree {
    /// The tree below a directory, which must exist.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, TreeError> {
        let root = root.as_ref();
        let shown = root.display().to_string();
        let full = root.canonicalize().map_err(|why| fault(&shown, &why))?;
        if !full.is_dir() {
            return Err(TreeError::NotADirectory { path: shown });
        }
        Ok(Self { root: full })
    }

    /// The directory, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    // The path on disk; `None` when a directory on the way is a link, which the reader resolves.
    fn locate(&self, path: &str) -> Result<Option<PathBuf>, TreeError> {
        let mut at = self.root.clone();
        let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            if part == ".." || part == "." || part.contains('\0') {
                return Err(TreeError::OutOfBounds {
                    path: path.into(),
                    target: part.into(),
                });
            }
            if part == ".git" {
                return Ok(None);
            }
            at.push(part);
            if parts.peek().is_some() {
                match at.symlink_metadata() {
                    Ok(meta) if meta.is_dir() => {}
                    Ok(_) => return Ok(None),
                    Err(why) if is_missing(&why) => return Ok(None),
                    Err(why) => return Err(fault(path, &why)),
                }
            }
        }
        Ok(Some(at))
    }
}

impl Tree for DirectoryTree {
    fn node(&self, path: &str) -> Result<Option<Node>, TreeError> {
        let Some(at) = self.locate(path)? else {
            return Ok(None);
        };
        let meta = match at.symlink_metadata() {
            Ok(meta) => meta,
            Err(why) if is_missing(&why) => return Ok(None),
            Err(why) => return Err(fault(path, &why)),
        };
        if meta.is_symlink() {
            let target = at.read_link().map_err(|why| fault(path, &why))?;
            return match target.to_str() {
                Some(target) => Ok(Some(Node::Link(target.to_owned()))),
                None => Err(unreadable(path, "the link's target is not UTF-8")),
            };
        }
        if meta.is_dir() {
            return names(&at, path).map(|names| Some(Node::Directory(names)));
        }
        if !meta.is_file() {
            return Err(unreadable(path, "it is neither a file nor a directory"));
        }
        content(&at, path, meta.len()).map(|bytes| Some(Node::File(bytes.into())))
    }
}

fn content(at: &Path, path: &str, size: u64) -> Result<Vec<u8>, TreeError> {
    let too_large = |size| TreeError::TooLarge {
        path: path.into(),
        size,
        max: FILE_MAX,
    };
    if size > FILE_MAX {
        return Err(too_large(size));
    }
    let file = std::fs::File::open(at).map_err(|why| fault(path, &why))?;
    let mut bytes = Vec::with_capacity(size as usize);
    // The file may grow while it is read.
    let read = file.take(FILE_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|why| fault(path, &why))?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

fn names(at: &Path, path: &str) -> Result<Vec<Entry>, TreeError> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(at).map_err(|why| fault(path, &why))? {
        let entry = entry.map_err(|why| fault(path, &why))?;
        let Ok(name) = entry.file_name().into_string() else {
            return Err(unreadable(path, "it holds a name that is not UTF-8"));
        };
        let kind = entry.file_type().map_err(|why| fault(path, &why))?;
        let kind = if kind.is_symlink() {
            EntryKind::Link
        } else if kind.is_dir() {
            EntryKind::Directory
        } else if kind.is_file() {
            EntryKind::File
        } else {
            continue;
        };
        if name == ".git" {
            continue;
        }
        entries.push(Entry { name, kind });
        if entries.len() > NAMES_MAX {
            return Err(unreadable(path, "it holds more than 100000 names"));
        }
    }
    entries.sort();
    Ok(entries)
}

fn is_missing(why: &std::io::Error) -> bool {
    matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn fault(path: &str, why: &std::io::Error) -> TreeError {
    if is_missing(why) {
        return TreeError::NotFound { path: path.into() };
    }
    unreadable(path, &why.to_string())
}

fn unreadable(path: &str, why: &str) -> TreeError {
    TreeError::Unreadable {
        path: path.into(),
        why: why.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::SourceTree;
    use std::fs;

    // A directory of its own that is gone afterwards.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("tiphys-files-{}-{name}", std::process::id()));
            fs::create_dir_all(path.join("apps/web")).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[cfg(unix)]
    #[test]
    fn files_are_read_and_links_stay_inside() {
        let scratch = Scratch::new("links");
        fs::write(scratch.0.join("apps/web/a.yaml"), "a").unwrap();
        std::os::unix::fs::symlink("web", scratch.0.join("apps/now")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", scratch.0.join("apps/out")).unwrap();
        fs::create_dir(scratch.0.join(".git")).unwrap();
        let tree = SourceTree::new(DirectoryTree::open(&scratch.0).unwrap());
        assert_eq!(&*tree.read("apps/now/a.yaml").unwrap(), b"a");
        assert!(matches!(
            tree.read("apps/out"),
            Err(TreeError::OutOfBounds { .. })
        ));
        assert!(matches!(
            tree.read("apps/none/x"),
            Err(TreeError::NotFound { .. })
        ));
        assert!(matches!(
            tree.read("apps/web/a.yaml/x"),
            Err(TreeError::NotFound { .. })
        ));
        let names: Vec<String> = tree.list("").unwrap().into_iter().map(|e| e.name).collect();
        assert_eq!(names, ["apps"]);
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let scratch = Scratch::new("large");
        let file = fs::File::create(scratch.0.join("big.yaml")).unwrap();
        file.set_len(FILE_MAX + 1).unwrap();
        let tree = SourceTree::new(DirectoryTree::open(&scratch.0).unwrap());
        assert!(matches!(
            tree.read("big.yaml"),
            Err(TreeError::TooLarge { .. })
        ));
    }
}
