//! Charts of this machine: links are followed wherever they lead, as Helm follows them.

use helm::{Chart, Flavour, HelmError};
use model::tree::{Entry, EntryKind, Node};
use model::{Tree, TreeError};
use std::path::{Path, PathBuf};

/// How large a file may be that we read into memory.
const FILE_MAX: u64 = 64 * 1024 * 1024;

/// A directory in which links are what they lead to.
#[derive(Debug)]
pub(super) struct HostTree {
    root: PathBuf,
}

impl HostTree {
    pub(super) fn new(root: impl AsRef<Path>) -> Self {
        Self {
            root: root.as_ref().to_owned(),
        }
    }
}

impl Tree for HostTree {
    fn node(&self, path: &str) -> Result<Option<Node>, TreeError> {
        let unreadable = |error: std::io::Error| TreeError::Unreadable {
            path: path.to_owned(),
            why: error.to_string(),
        };
        let at = self.root.join(path);
        let metadata = match std::fs::metadata(&at) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        if metadata.is_dir() {
            return entries(&at)
                .map(|entries| Some(Node::Directory(entries)))
                .map_err(unreadable);
        }
        if metadata.len() > FILE_MAX {
            return Err(TreeError::TooLarge {
                path: path.to_owned(),
                size: metadata.len(),
                max: FILE_MAX,
            });
        }
        let bytes = std::fs::read(&at).map_err(unreadable)?;
        Ok(Some(Node::File(bytes.into())))
    }
}

fn entries(at: &Path) -> std::io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(at)? {
        let entry = entry?;
        let kind = match entry.file_type()? {
            kind if kind.is_dir() => EntryKind::Directory,
            kind if kind.is_symlink() => EntryKind::Link,
            _ => EntryKind::File,
        };
        entries.push(Entry {
            name: entry.file_name().to_string_lossy().into_owned(),
            kind,
        });
    }
    entries.sort();
    Ok(entries)
}

/// The chart in an archive.
pub(super) fn archive(path: &str, flavour: Flavour) -> Result<Chart, HelmError> {
    let path = Path::new(path);
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let tree = HostTree::new(parent.unwrap_or(Path::new(".")));
    let tree = model::SourceTree::new(tree);
    helm::load(&tree, &name, flavour)
}

/// What Go says about a file it could not open.
pub(super) fn say(what: &str, path: &str, error: &std::io::Error) -> String {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    format!("{what} {path}: {why}")
}
