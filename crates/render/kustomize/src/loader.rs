//! Where a kustomization finds its files: its own directory, other directories of the tree, other
//! repositories.

use crate::LoadRestrictor;
use crate::error::{KustomizeError, Spot, tree_words};
use crate::repo::Remote;
use crate::work::Work;
use model::tree::{EntryKind, clean};
use model::{SourceTree, TreeError};
use std::rc::Rc;
use std::sync::Arc;

/// The files that one kustomization sees.
#[derive(Debug)]
pub(crate) struct Loader {
    pub(crate) tree: SourceTree,
    /// Its directory, links resolved.
    pub(crate) root: String,
    // The repository, when it is not the one that is built.
    remote: Option<Remote>,
    parent: Option<Rc<Loader>>,
    restricted: bool,
}

type Result<T> = std::result::Result<T, KustomizeError>;

/// Whether a path is the address of a remote file.
pub(crate) fn is_url(path: &str) -> bool {
    let scheme = path
        .split_once(':')
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

impl Loader {
    /// At the directory that is built.
    pub(crate) fn first(tree: &SourceTree, directory: &str, work: &Work<'_>) -> Result<Rc<Self>> {
        let missing = |why: String| KustomizeError::Missing {
            at: Spot::default(),
            path: directory.to_owned(),
            why,
            nearest: nearest_path(tree, directory),
        };
        let root = match tree.locate(directory) {
            Ok((root, EntryKind::Directory)) => root,
            Ok(_) => return Err(missing("it is not a directory".into())),
            Err(error) => return Err(missing(tree_words(&error))),
        };
        Ok(Rc::new(Self {
            tree: tree.clone(),
            root,
            remote: None,
            parent: None,
            restricted: work.options.load_restrictor == LoadRestrictor::RootOnly,
        }))
    }

    /// A file of the tree as people name it.
    pub(crate) fn shown(&self, path: &str) -> String {
        match self.repository() {
            Some(remote) => format!("{}//{path}", remote.repository),
            None => path.to_owned(),
        }
    }

    fn repository(&self) -> Option<&Remote> {
        self.remote
            .as_ref()
            .or_else(|| self.parent.as_ref()?.repository())
    }

    /// The path of the tree that a path in the kustomization means.
    pub(crate) fn resolve(&self, path: &str, work: &Work<'_>, at: &Spot) -> Result<String> {
        if let Some(absolute) = path.strip_prefix('/') {
            if work.options.absolute_paths {
                return Ok(clean("", absolute).unwrap_or_default());
            }
            return Err(KustomizeError::Forbidden {
                at: at.clone(),
                path: path.to_owned(),
                why: "it is an absolute path".into(),
            });
        }
        clean(&self.root, path).ok_or_else(|| KustomizeError::Forbidden {
            at: at.clone(),
            path: path.to_owned(),
            why: "it leads out of the repository".into(),
        })
    }

    /// The bytes of a file, and its name for people.
    pub(crate) fn load(
        &self,
        path: &str,
        work: &Work<'_>,
        at: &Spot,
    ) -> Result<(Arc<[u8]>, String)> {
        if is_url(path) {
            return match work.world.file(path) {
                Ok(Some(bytes)) => Ok((bytes, path.to_owned())),
                Ok(None) => Err(remote(at, path, "the address is none of a file")),
                Err(why) => Err(remote(at, path, &why)),
            };
        }
        let wanted = self.resolve(path, work, at)?;
        let missing = |error: &TreeError| match error {
            TreeError::OutOfBounds { .. } | TreeError::LinkLoop { .. } => {
                KustomizeError::Forbidden {
                    at: at.clone(),
                    path: path.to_owned(),
                    why: error.to_string(),
                }
            }
            _ => KustomizeError::Missing {
                at: at.clone(),
                path: path.to_owned(),
                why: tree_words(error),
                nearest: self.nearest(&wanted),
            },
        };
        let (real, _) = self.tree.locate(&wanted).map_err(|error| missing(&error))?;
        let bytes = self.tree.read(&real).map_err(|error| missing(&error))?;
        let folder = real.rsplit_once('/').map_or("", |(folder, _)| folder);
        if self.restricted && !is_in(folder, &self.root) {
            return Err(KustomizeError::Forbidden {
                at: at.clone(),
                path: path.to_owned(),
                why: format!(
                    "security; it is not in or below `{}` (--load-restrictor LoadRestrictionsNone allows it)",
                    if self.root.is_empty() {
                        "."
                    } else {
                        &self.root
                    }
                ),
            });
        }
        Ok((bytes, self.shown(&real)))
    }

    /// The directory of a base or component.
    pub(crate) fn enter(
        self: &Rc<Self>,
        path: &str,
        work: &Work<'_>,
        at: &Spot,
    ) -> Result<Rc<Self>> {
        if path.is_empty() {
            return Err(KustomizeError::Settings {
                at: at.clone(),
                message: "the path is empty".into(),
                nearest: None,
            });
        }
        if let Some(repository) = Remote::parse(path) {
            return self.clone_repository(repository, work, at);
        }
        if path.starts_with('/') {
            return Err(KustomizeError::Forbidden {
                at: at.clone(),
                path: path.to_owned(),
                why: "a base cannot be named by an absolute path".into(),
            });
        }
        let wanted = self.resolve(path, work, at)?;
        let missing = |why: String| KustomizeError::Missing {
            at: at.clone(),
            path: path.to_owned(),
            why,
            nearest: self.nearest(&wanted),
        };
        let root = match self.tree.locate(&wanted) {
            Ok((root, EntryKind::Directory)) => root,
            Ok(_) => return Err(missing("it is not a directory".into())),
            Err(error) => return Err(missing(tree_words(&error))),
        };
        self.check_cycle(&root, at)?;
        Ok(Rc::new(Self {
            tree: self.tree.clone(),
            root,
            remote: None,
            parent: Some(Rc::clone(self)),
            restricted: self.restricted,
        }))
    }

    fn clone_repository(
        self: &Rc<Self>,
        repository: Remote,
        work: &Work<'_>,
        at: &Spot,
    ) -> Result<Rc<Self>> {
        let mut visited = Some(self);
        while let Some(loader) = visited {
            let again = loader
                .remote
                .as_ref()
                .is_some_and(|r| r.raw.starts_with(&repository.raw));
            if again {
                return Err(KustomizeError::Cycle {
                    at: at.clone(),
                    directory: repository.raw.clone(),
                });
            }
            visited = loader.parent.as_ref();
        }
        let tree = work.world.repository(&repository);
        let tree = tree.map_err(|why| remote(at, &repository.raw, &why))?;
        let root = match tree.locate(&repository.path) {
            Ok((root, EntryKind::Directory)) => root,
            Ok(_) => {
                return Err(remote(
                    at,
                    &repository.raw,
                    "it refers to a file; a directory is needed",
                ));
            }
            Err(error) => return Err(remote(at, &repository.raw, &error.to_string())),
        };
        Ok(Rc::new(Self {
            tree,
            root,
            remote: Some(repository),
            parent: Some(Rc::clone(self)),
            restricted: true,
        }))
    }

    // A base may not be, or contain, a directory that is being built.
    fn check_cycle(&self, candidate: &str, at: &Spot) -> Result<()> {
        let mut visited = Some(self);
        while let Some(loader) = visited {
            if is_in(&loader.root, candidate) {
                return Err(KustomizeError::Cycle {
                    at: at.clone(),
                    directory: candidate.to_owned(),
                });
            }
            // Directories of other repositories cannot be the same.
            if loader.remote.is_some() {
                return Ok(());
            }
            visited = loader.parent.as_deref();
        }
        Ok(())
    }

    // A path near one that is not there, relative to our directory.
    fn nearest(&self, wanted: &str) -> Option<String> {
        let found = nearest_path(&self.tree, wanted)?;
        Some(relative(&self.root, &found))
    }
}

fn remote(at: &Spot, address: &str, why: &str) -> KustomizeError {
    KustomizeError::Remote {
        at: at.clone(),
        address: address.to_owned(),
        why: why.to_owned(),
    }
}

// Whether a directory is another one, or below it.
fn is_in(directory: &str, root: &str) -> bool {
    root.is_empty()
        || directory == root
        || directory
            .strip_prefix(root)
            .is_some_and(|rest| rest.starts_with('/'))
}

// The name nearest to the first part of a path that is not there.
fn nearest_path(tree: &SourceTree, wanted: &str) -> Option<String> {
    let mut parent = String::new();
    for part in wanted.split('/') {
        let entries = tree.list(&parent).ok()?;
        let next = if parent.is_empty() {
            part.to_owned()
        } else {
            format!("{parent}/{part}")
        };
        if entries.iter().any(|entry| entry.name == part) {
            parent = next;
            continue;
        }
        let names = entries.iter().map(|entry| entry.name.as_str());
        let name = crate::nearest::nearest(part, names)?;
        let rest = wanted.get(next.len()..).unwrap_or("");
        let base = if parent.is_empty() {
            String::new()
        } else {
            format!("{parent}/")
        };
        return Some(format!("{base}{name}{rest}"));
    }
    None
}

fn relative(from: &str, to: &str) -> String {
    let from: Vec<&str> = from.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = to.split('/').collect();
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    up.chain(to[common..].iter().copied())
        .collect::<Vec<_>>()
        .join("/")
}
