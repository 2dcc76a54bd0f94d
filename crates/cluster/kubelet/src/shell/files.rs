//! The files of a container, in memory: its own, and those of the volumes it shares with others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much text one container, or all volumes of a Pod, may hold.
const BYTES_MAX: usize = 4 << 20;
/// How many files and folders.
const COUNT_MAX: usize = 10_000;

/// Where a volume shows in a container.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    /// The folder in the container.
    pub(crate) path: String,
    /// The volume's name.
    pub(crate) volume: String,
    /// A path inside the volume; empty for all of it.
    pub(crate) inside: String,
    /// It may only be read.
    pub(crate) read_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    File(String),
}

#[derive(Clone, Debug, Default)]
struct Tree {
    nodes: BTreeMap<String, Node>,
    bytes: usize,
}

/// What lies in the volumes of a Pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct Volumes {
    tree: Tree,
}

/// The volumes of a Pod, as its containers share them.
pub(crate) type Shared = Arc<Mutex<Volumes>>;

impl Volumes {
    /// An empty volume.
    pub(crate) fn add(&mut self, volume: &str) {
        self.tree.folder(&format!("/{volume}"));
    }

    /// A file in a volume.
    pub(crate) fn write(&mut self, volume: &str, path: &str, text: String) {
        let path = normal(&format!("/{volume}/{path}"), "/");
        self.tree.folder(parent(&path));
        // What does not fit is not there: nothing reads megabytes of configuration here.
        let _ = self.tree.write(&path, text);
    }

    /// Ready to be shared by containers.
    pub(crate) fn share(self) -> Shared {
        Arc::new(Mutex::new(self))
    }
}

/// Why a file cannot be had, in the words of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileError {
    Missing,
    IsFolder,
    NotFolder,
    ReadOnly,
    Exists,
    NotEmpty,
    Full,
}

impl FileError {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Missing => "No such file or directory",
            Self::IsFolder => "Is a directory",
            Self::NotFolder => "Not a directory",
            Self::ReadOnly => "Read-only file system",
            Self::Exists => "File exists",
            Self::NotEmpty => "Directory not empty",
            Self::Full => "No space left on device",
        }
    }
}

impl Tree {
    fn folder(&mut self, path: &str) {
        let mut at = String::new();
        for part in path.split('/').filter(|p| !p.is_empty()) {
            at.push('/');
            at.push_str(part);
            if self.nodes.len() < COUNT_MAX {
                self.nodes.entry(at.clone()).or_insert(Node::Folder);
            }
        }
    }

    fn write(&mut self, path: &str, text: String) -> Result<(), FileError> {
        let before = match self.nodes.get(path) {
            Some(Node::Folder) => return Err(FileError::IsFolder),
            Some(Node::File(old)) => old.len(),
            None if self.nodes.len() >= COUNT_MAX => return Err(FileError::Full),
            None => 0,
        };
        let after = self.bytes - before + text.len();
        if after > BYTES_MAX {
            return Err(FileError::Full);
        }
        self.bytes = after;
        self.nodes.insert(path.to_owned(), Node::File(text));
        Ok(())
    }

    fn remove(&mut self, path: &str) {
        if let Some(Node::File(text)) = self.nodes.remove(path) {
            self.bytes -= text.len();
        }
    }

    fn below(&self, path: &str) -> Vec<String> {
        let prefix = format!("{}/", path.trim_end_matches('/'));
        self.nodes
            .range(prefix.clone()..)
            .map(|(key, _)| key)
            .take_while(|key| key.starts_with(&prefix))
            .cloned()
            .collect()
    }
}

/// The files one container sees.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    own: Arc<Mutex<Tree>>,
    shared: Shared,
    mounts: Arc<[Mount]>,
}

/// A path inside one of the trees.
struct Place {
    shared: bool,
    path: String,
    read_only: bool,
}

impl Files {
    /// A container's files: what every image has, and its mounts.
    pub(crate) fn new(shared: Shared, mut mounts: Vec<Mount>) -> Self {
        let mut own = Tree::default();
        for folder in [
            "/tmp", "/etc", "/root", "/var/log", "/usr/bin", "/bin", "/dev", "/home", "/opt",
            "/proc", "/run",
        ] {
            own.folder(folder);
        }
        for mount in &mounts {
            own.folder(parent(&normal(&mount.path, "/")));
        }
        // The deepest mount wins.
        mounts.sort_by_key(|m| std::cmp::Reverse(m.path.len()));
        Self {
            own: Arc::new(Mutex::new(own)),
            shared,
            mounts: mounts.into(),
        }
    }

    /// No volumes at all.
    pub(crate) fn plain() -> Self {
        Self::new(Volumes::default().share(), Vec::new())
    }

    fn place(&self, path: &str) -> Place {
        for mount in self.mounts.iter() {
            let point = normal(&mount.path, "/");
            let rest = path.strip_prefix(point.trim_end_matches('/'));
            if let Some(rest) = rest.filter(|r| r.is_empty() || r.starts_with('/')) {
                let inside = format!("/{}/{}{rest}", mount.volume, mount.inside);
                return Place {
                    shared: true,
                    path: normal(&inside, "/"),
                    read_only: mount.read_only,
                };
            }
        }
        Place {
            shared: false,
            path: path.to_owned(),
            read_only: false,
        }
    }

    fn own(&self) -> MutexGuard<'_, Tree> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, place: &Place, act: impl FnOnce(&mut Tree) -> T) -> T {
        if place.shared {
            let mut volumes = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            act(&mut volumes.tree)
        } else {
            act(&mut self.own())
        }
    }

    fn node(&self, path: &str) -> Option<Node> {
        if path == "/" {
            return Some(Node::Folder);
        }
        let place = self.place(path);
        self.with(&place, |tree| tree.nodes.get(&place.path).cloned())
    }

    /// A file's text.
    pub(crate) fn read(&self, path: &str) -> Result<String, FileError> {
        match self.node(path) {
            Some(Node::File(text)) => Ok(text),
            Some(Node::Folder) => Err(FileError::IsFolder),
            None => Err(FileError::Missing),
        }
    }

    pub(crate) fn is_folder(&self, path: &str) -> bool {
        self.node(path) == Some(Node::Folder)
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.node(path).is_some()
    }

    /// Writes or appends to a file.
    pub(crate) fn write(&self, path: &str, text: &str, append: bool) -> Result<(), FileError> {
        if path == "/dev/null" {
            return Ok(());
        }
        if !self.is_folder(parent(path)) {
            return Err(FileError::Missing);
        }
        let place = self.place(path);
        if place.read_only {
            return Err(FileError::ReadOnly);
        }
        self.with(&place, |tree| {
            let text = match tree.nodes.get(&place.path) {
                Some(Node::File(old)) if append => format!("{old}{text}"),
                _ => text.to_owned(),
            };
            tree.write(&place.path, text)
        })
    }

    /// Makes a folder; with `deep` also those above it, and one that exists is no fault.
    pub(crate) fn make_folder(&self, path: &str, deep: bool) -> Result<(), FileError> {
        match self.node(path) {
            Some(Node::Folder) if deep => return Ok(()),
            Some(_) => return Err(FileError::Exists),
            None => {}
        }
        if !deep && !self.is_folder(parent(path)) {
            return Err(FileError::Missing);
        }
        let place = self.place(path);
        if place.read_only {
            return Err(FileError::ReadOnly);
        }
        self.with(&place, |tree| tree.folder(&place.path));
        Ok(())
    }

    /// Removes a file, or with `deep` a folder and all in it.
    pub(crate) fn remove(&self, path: &str, deep: bool) -> Result<(), FileError> {
        let Some(node) = self.node(path) else {
            return Err(FileError::Missing);
        };
        let place = self.place(path);
        if place.read_only {
            return Err(FileError::ReadOnly);
        }
        if node == Node::Folder && !deep {
            return Err(FileError::IsFolder);
        }
        self.with(&place, |tree| {
            for below in tree.below(&place.path) {
                tree.remove(&below);
            }
            tree.remove(&place.path);
        });
        Ok(())
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, path: &str) -> Result<(), FileError> {
        if !self.exists(path) {
            return Err(FileError::Missing);
        }
        if !self.is_folder(path) {
            return Err(FileError::NotFolder);
        }
        if !self.list(path)?.is_empty() {
            return Err(FileError::NotEmpty);
        }
        self.remove(path, true)
    }

    /// The names in a folder, sorted.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        match self.node(path) {
            Some(Node::Folder) => {}
            Some(Node::File(_)) => return Err(FileError::NotFolder),
            None => return Err(FileError::Missing),
        }
        let place = self.place(path);
        let prefix = place.path.trim_end_matches('/').len() + 1;
        let below = self.with(&place, |tree| tree.below(&place.path));
        let mut names: BTreeSet<String> = below
            .iter()
            .filter_map(|p| p.get(prefix..))
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_owned)
            .collect();
        let folder = format!("{}/", path.trim_end_matches('/'));
        for mount in self.mounts.iter() {
            let point = normal(&mount.path, "/");
            if let Some(rest) = point.strip_prefix(&folder) {
                names.extend(rest.split('/').next().map(str::to_owned));
            }
        }
        Ok(names.into_iter().filter(|n| !n.is_empty()).collect())
    }
}

/// The folder above a path.
pub(crate) fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(at) => &path[..at],
    }
}

/// An absolute path without `.`, `..` and double slashes.
pub(crate) fn normal(path: &str, directory: &str) -> String {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{directory}/{path}")
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
