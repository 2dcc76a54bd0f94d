//! The files of one revision, read by path, and a record of what was read.
//!
//! Paths are relative to the root of the tree, separated by `/`, without `.` or `..`; the root
//! itself is the empty path. A renderer reads through a [`SourceTree`], which follows links inside
//! the tree, refuses those that lead out of it, and remembers every path it was asked for: a commit
//! that touches none of them needs no new render.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// How many links one path may lead through.
pub const LINKS_MAX: usize = 40;

/// What stands at a path of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A file and its bytes.
    File(Arc<[u8]>),
    /// A directory and the names in it, sorted by name.
    Directory(Vec<Entry>),
    /// A symbolic link and its target, as written.
    Link(String),
    /// Another repository at a commit, whose files are not here.
    Submodule(String),
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name, without any `/`.
    pub name: String,
    /// What it names.
    pub kind: EntryKind,
}

/// What a name in a directory names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Another repository.
    Submodule,
}

/// Where the files of a revision come from: Git's object store, a directory, memory.
pub trait Tree: fmt::Debug + Send + Sync {
    /// What stands at a clean path, without following links; `None` when nothing does.
    fn node(&self, path: &str) -> Result<Option<Node>, TreeError>;
}

/// Why a path of a tree could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// Nothing stands there.
    NotFound {
        /// The path.
        path: String,
    },
    /// A file was wanted.
    NotAFile {
        /// The path.
        path: String,
    },
    /// A directory was wanted.
    NotADirectory {
        /// The path.
        path: String,
    },
    /// The path, or a link on its way, leads out of the tree.
    OutOfBounds {
        /// The path as asked for.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// Links lead in a circle, or through too many of them.
    LinkLoop {
        /// The path as asked for.
        path: String,
    },
    /// The path leads into another repository that was not fetched.
    Submodule {
        /// Where the submodule is mounted.
        path: String,
    },
    /// The file is larger than we read.
    TooLarge {
        /// The path.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        max: u64,
    },
    /// The files could not be reached.
    Unreadable {
        /// The path.
        path: String,
        /// What went wrong.
        why: String,
    },
}

impl TreeError {
    /// The path that was asked for.
    pub fn path(&self) -> &str {
        match self {
            Self::NotFound { path }
            | Self::NotAFile { path }
            | Self::NotADirectory { path }
            | Self::OutOfBounds { path, .. }
            | Self::LinkLoop { path }
            | Self::Submodule { path }
            | Self::TooLarge { path, .. }
            | Self::Unreadable { path, .. } => path,
        }
    }
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { path } => write!(f, "`{path}` does not exist"),
            Self::NotAFile { path } => write!(f, "`{path}` is not a file"),
            Self::NotADirectory { path } => write!(f, "`{path}` is not a directory"),
            Self::OutOfBounds { path, target } => {
                write!(f, "`{path}` leads out of the repository, to `{target}`")
            }
            Self::LinkLoop { path } => write!(f, "`{path}` is a link that leads back to itself"),
            Self::Submodule { path } => write!(f, "`{path}` is a submodule that was not fetched"),
            Self::TooLarge { path, size, max } => {
                write!(f, "`{path}` has {size} bytes, more than the {max} we read")
            }
            Self::Unreadable { path, why } => write!(f, "`{path}` could not be read: {why}"),
        }
    }
}

impl std::error::Error for TreeError {}

/// A tree and what was read of it. Clones share the record.
#[derive(Clone, Debug)]
pub struct SourceTree {
    tree: Arc<dyn Tree>,
    reads: Arc<Mutex<BTreeSet<String>>>,
}

impl SourceTree {
    /// A tree of which nothing was read yet.
    pub fn new(tree: impl Tree + 'static) -> Self {
        Self::shared(Arc::new(tree))
    }

    /// A fresh record over a tree that others read too.
    pub fn shared(tree: Arc<dyn Tree>) -> Self {
        Self {
            tree,
            reads: Arc::default(),
        }
    }

    /// The bytes of a file, links followed.
    pub fn read(&self, path: &str) -> Result<Arc<[u8]>, TreeError> {
        match self.resolve(path)?.1 {
            Node::File(bytes) => Ok(bytes),
            Node::Submodule(_) => Err(TreeError::Submodule { path: path.into() }),
            Node::Directory(_) | Node::Link(_) => Err(TreeError::NotAFile { path: path.into() }),
        }
    }

    /// The names in a directory, sorted, links followed.
    pub fn list(&self, path: &str) -> Result<Vec<Entry>, TreeError> {
        match self.resolve(path)?.1 {
            Node::Directory(entries) => Ok(entries),
            Node::Submodule(_) => Err(TreeError::Submodule { path: path.into() }),
            Node::File(_) | Node::Link(_) => Err(TreeError::NotADirectory { path: path.into() }),
        }
    }

    /// What stands at a path, links followed; the missing is `None`, the forbidden an error.
    pub fn kind(&self, path: &str) -> Result<Option<EntryKind>, TreeError> {
        match self.resolve(path) {
            Ok((_, Node::File(_))) => Ok(Some(EntryKind::File)),
            Ok((_, Node::Directory(_))) => Ok(Some(EntryKind::Directory)),
            Ok((_, Node::Submodule(_))) => Ok(Some(EntryKind::Submodule)),
            Ok((_, Node::Link(_))) => Ok(Some(EntryKind::Link)),
            Err(TreeError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The clean path behind all links, and what stands there.
    pub fn locate(&self, path: &str) -> Result<(String, EntryKind), TreeError> {
        let (path, node) = self.resolve(path)?;
        let kind = match node {
            Node::File(_) => EntryKind::File,
            Node::Directory(_) => EntryKind::Directory,
            Node::Link(_) => EntryKind::Link,
            Node::Submodule(_) => EntryKind::Submodule,
        };
        Ok((path, kind))
    }

    /// Every path that was looked at so far, existing or not, sorted.
    pub fn reads(&self) -> Vec<String> {
        self.record().iter().cloned().collect()
    }

    // The clean path behind all links, and what stands there.
    fn resolve(&self, path: &str) -> Result<(String, Node), TreeError> {
        let mut pending = clean("", path).ok_or_else(|| out_of_bounds(path, path))?;
        for _ in 0..LINKS_MAX {
            match self.walk(&pending, path)? {
                Walked::There(node) => return Ok((pending, node)),
                Walked::Moved(next) => pending = next,
            }
        }
        Err(TreeError::LinkLoop { path: path.into() })
    }

    // Looks a path up; when a part of it is a link, gives the path behind the link.
    fn walk(&self, clean_path: &str, asked: &str) -> Result<Walked, TreeError> {
        self.record().insert(clean_path.to_owned());
        let ends = clean_path.match_indices('/').map(|(at, _)| at);
        if let Some(node) = self.tree.node(clean_path)? {
            let Node::Link(target) = node else {
                return Ok(Walked::There(node));
            };
            return follow(clean_path, "", &target, asked);
        }
        // Not there as it stands: perhaps a directory on the way is a link.
        for end in ends {
            let (parent, rest) = (&clean_path[..end], &clean_path[end + 1..]);
            match self.tree.node(parent)? {
                Some(Node::Link(target)) => {
                    self.record().insert(parent.to_owned());
                    return follow(parent, rest, &target, asked);
                }
                Some(Node::Submodule(_)) => {
                    return Err(TreeError::Submodule {
                        path: parent.into(),
                    });
                }
                Some(Node::Directory(_)) => {}
                Some(Node::File(_)) | None => break,
            }
        }
        Err(TreeError::NotFound { path: asked.into() })
    }

    fn record(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Walked {
    There(Node),
    Moved(String),
}

// Where a link on the way leads, with what stood behind it in the path.
fn follow(link: &str, rest: &str, target: &str, asked: &str) -> Result<Walked, TreeError> {
    let base = link.rsplit_once('/').map_or("", |(parent, _)| parent);
    if target.starts_with('/') {
        return Err(out_of_bounds(asked, target));
    }
    let to = clean(base, target).ok_or_else(|| out_of_bounds(asked, target))?;
    let next = if rest.is_empty() {
        Some(to)
    } else {
        clean(&to, rest)
    };
    next.map(Walked::Moved)
        .ok_or_else(|| out_of_bounds(asked, target))
}

fn out_of_bounds(path: &str, target: &str) -> TreeError {
    TreeError::OutOfBounds {
        path: path.into(),
        target: target.into(),
    }
}

/// Joins a path to a directory of the tree and resolves `.` and `..`; `None` when it leads out.
pub fn clean(directory: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let joined = directory.split('/').chain(path.split('/'));
    for part in joined.filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts.join("/"))
}

/// A tree in memory, for tests and for what is rendered on the fly.
#[derive(Clone, Debug, Default)]
pub struct MemoryTree {
    nodes: BTreeMap<String, Node>,
}

impl MemoryTree {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a file; its directories come with it.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.put(path, Node::File(content.as_ref().into()))
    }

    /// Adds or replaces a link.
    #[must_use]
    pub fn link(self, path: &str, target: &str) -> Self {
        self.put(path, Node::Link(target.into()))
    }

    fn put(mut self, path: &str, node: Node) -> Self {
        let path = clean("", path).unwrap_or_default();
        self.nodes.insert(path, node);
        self
    }

    fn directory(&self, path: &str) -> Option<Node> {
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        let mut entries: BTreeMap<&str, EntryKind> = BTreeMap::new();
        for (at, node) in self.nodes.range(prefix.clone()..) {
            let Some(rest) = at.strip_prefix(&prefix) else {
                break;
            };
            let (name, kind) = match (rest.split_once('/'), node) {
                (Some((name, _)), _) => (name, EntryKind::Directory),
                (None, Node::Link(_)) => (rest, EntryKind::Link),
                (None, Node::Submodule(_)) => (rest, EntryKind::Submodule),
                (None, Node::File(_) | Node::Directory(_)) => (rest, EntryKind::File),
            };
            entries.insert(name, kind);
        }
        let known = path.is_empty() || !entries.is_empty();
        let entries = entries.into_iter().map(|(name, kind)| Entry {
            name: name.into(),
            kind,
        });
        known.then(|| Node::Directory(entries.collect()))
    }
}

impl Tree for MemoryTree {
    fn node(&self, path: &str) -> Result<Option<Node>, TreeError> {
        Ok(match self.nodes.get(path) {
            Some(node) => Some(node.clone()),
            None => self.directory(path),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> SourceTree {
        SourceTree::new(
            MemoryTree::new()
                .file("apps/web/a.yaml", "a")
                .file("apps/web/b.yaml", "b")
                .link("apps/current", "web")
                .link("apps/self", "self")
                .link("apps/out", "../../etc/passwd")
                .link("apps/root", "/etc/passwd"),
        )
    }

    fn check_read(path: &str, expected: &str) {
        let answer = match tree().read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(answer, expected);
    }

    #[test]
    fn links_are_followed_inside_and_refused_outside() {
        check_read("apps/web/a.yaml", "a");
        check_read("apps/current/b.yaml", "b");
        check_read("./apps/../apps/web//a.yaml", "a");
        check_read(
            "apps/self",
            "`apps/self` is a link that leads back to itself",
        );
        check_read(
            "apps/out",
            "`apps/out` leads out of the repository, to `../../etc/passwd`",
        );
        check_read(
            "apps/root",
            "`apps/root` leads out of the repository, to `/etc/passwd`",
        );
        check_read("../x", "`../x` leads out of the repository, to `../x`");
        check_read("apps/none", "`apps/none` does not exist");
        check_read("apps/web", "`apps/web` is not a file");
    }

    #[test]
    fn a_path_behind_links_is_located() {
        let located = tree().locate("apps/current/b.yaml");
        assert_eq!(located, Ok(("apps/web/b.yaml".into(), EntryKind::File)));
        let located = tree().locate("apps/current");
        assert_eq!(located, Ok(("apps/web".into(), EntryKind::Directory)));
    }

    #[test]
    fn what_was_looked_at_is_known() {
        let tree = tree();
        let _ = tree.read("apps/current/a.yaml");
        let _ = tree.kind("apps/none");
        assert_eq!(
            tree.reads(),
            [
                "apps/current",
                "apps/current/a.yaml",
                "apps/none",
                "apps/web/a.yaml"
            ]
        );
    }

    #[test]
    fn directories_list_their_names() {
        let names: Vec<String> = tree()
            .list("apps")
            .expect("it is a directory")
            .into_iter()
            .map(|e| format!("{:?} {}", e.kind, e.name))
            .collect();
        assert_eq!(
            names,
            [
                "Link current",
                "Link out",
                "Link root",
                "Link self",
                "Directory web"
            ]
        );
    }
}
