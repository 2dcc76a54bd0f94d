//! What changed between commits, and which commit took a path away.

use crate::credentials::Credentials;
use crate::nearest::nearest;
use crate::objects::{ItemKind, ObjectError, Objects};
use crate::repositories::{Repositories, Revision};
use crate::store::Store;
use crate::tree::{GitTree, damaged, join};
use crate::{GitError, Oid, PathChange};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

/// How deep the past is looked at, step by step; the last is all of it.
const DEPTHS: [Option<u32>; 3] = [Some(50), Some(1000), None];
/// How many commits are looked at.
const COMMITS_MAX: usize = 200_000;
/// How many paths are looked at when near ones are searched.
const PATHS_MAX: usize = 100_000;
/// How deep directories may be nested.
const NESTING_MAX: usize = 64;

/// Objects of the past: of a store of their own, or of the repository itself.
pub(crate) enum Past {
    Own(Objects),
    Same(Arc<Store>),
}

impl Deref for Past {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        match self {
            Self::Own(objects) => objects,
            Self::Same(store) => &store.objects,
        }
    }
}

impl Repositories {
    /// The paths of files that differ between two commits, sorted.
    pub fn changed_paths(
        &self,
        old: &Revision,
        new: &Revision,
        credentials: &Credentials,
    ) -> Result<Vec<String>, GitError> {
        let (old, new) = (self.tree(old, credentials)?, self.tree(new, credentials)?);
        let mut changed = Vec::new();
        difference(
            &new.store.objects,
            Some(old.root),
            Some(new.root),
            "",
            &mut changed,
            NESTING_MAX,
        )
        .map_err(|error| damaged(&new.url, &error))?;
        changed.sort();
        Ok(changed)
    }

    /// Whether anything that was read of the old commit is different in the new one: a file's
    /// content, the names in a directory, or whether something stands there at all.
    pub fn touches(
        &self,
        old: &Revision,
        new: &Revision,
        reads: &[String],
        credentials: &Credentials,
    ) -> Result<bool, GitError> {
        if old.commit == new.commit {
            return Ok(false);
        }
        let (old, new) = (self.tree(old, credentials)?, self.tree(new, credentials)?);
        old.touched_by(&new, reads)
    }

    /// Says whether a path of a commit is a directory, as an application needs it; when it is not
    /// there, what is near it and which commit took it away.
    pub fn check_path(
        &self,
        revision: &Revision,
        path: &str,
        credentials: &Credentials,
    ) -> Result<(), GitError> {
        let tree = self.tree(revision, credentials)?;
        if tree.tree_id(path)?.is_some() {
            return Ok(());
        }
        let change = self.path_change(revision, path, credentials, &tree);
        Err(GitError::NoSuchPath {
            url: revision.url.to_string(),
            commit: revision.commit.to_string(),
            path: path.to_owned(),
            nearest: near_paths(&tree, path)?,
            // History is a help: without it the rest still stands.
            change: change.ok().flatten().map(Box::new),
        })
    }

    // Walks the past, deeper step by step, until the path is found.
    fn path_change(
        &self,
        revision: &Revision,
        path: &str,
        credentials: &Credentials,
        tree: &GitTree,
    ) -> Result<Option<PathChange>, GitError> {
        let access = credentials.access(&revision.url);
        for depth in DEPTHS {
            let past = self.history(&revision.url, &access, &tree.store, &[tree.commit], depth)?;
            match removal(&past, tree.commit, path) {
                Ok(Some((commit, parent))) => {
                    return describe(&past, commit, parent, path, tree).map(Some);
                }
                // All of it was seen.
                Ok(None) => return Ok(None),
                // History ends here for now.
                Err(ObjectError::Missing(_)) => {}
                Err(error) => return Err(damaged(&revision.url, &error)),
            }
        }
        Ok(None)
    }
}

impl GitTree {
    /// Whether anything that was read of this tree is different in another.
    pub fn touched_by(&self, other: &Self, reads: &[String]) -> Result<bool, GitError> {
        for path in reads {
            let (here, there) = (self.look(path)?, other.look(path)?);
            let equal = match (here, there) {
                (Some((ItemKind::Directory, a)), Some((ItemKind::Directory, b))) => {
                    a == b || self.names(a)? == other.names(b)?
                }
                (a, b) => a == b,
            };
            if !equal {
                return Ok(true);
            }
        }
        Ok(false)
    }

    // What stands at a path; below another repository, that repository's commit.
    fn look(&self, path: &str) -> Result<Option<(ItemKind, Oid)>, GitError> {
        let at = |path: &str| {
            self.store
                .objects
                .at(self.root, path)
                .map_err(|e| damaged(&self.url, &e))
        };
        let found = at(path)?;
        if found.is_some() {
            return Ok(found);
        }
        for (end, _) in path.match_indices('/') {
            if let Some((ItemKind::Submodule, commit)) = at(&path[..end])? {
                return Ok(Some((ItemKind::Submodule, commit)));
            }
        }
        Ok(None)
    }

    fn names(&self, tree: Oid) -> Result<Vec<(String, ItemKind)>, GitError> {
        let directory = self
            .store
            .objects
            .directory(tree)
            .map_err(|e| damaged(&self.url, &e))?;
        Ok(directory
            .0
            .iter()
            .map(|item| (item.name.clone(), item.kind))
            .collect())
    }
}

fn difference(
    objects: &Objects,
    old: Option<Oid>,
    new: Option<Oid>,
    path: &str,
    changed: &mut Vec<String>,
    depth: usize,
) -> Result<(), ObjectError> {
    if old == new || depth == 0 {
        return Ok(());
    }
    let list = |tree: Option<Oid>| -> Result<BTreeMap<String, (ItemKind, Oid)>, ObjectError> {
        let Some(tree) = tree else {
            return Ok(BTreeMap::new());
        };
        let directory = objects.directory(tree)?;
        Ok(directory
            .0
            .iter()
            .map(|i| (i.name.clone(), (i.kind, i.oid)))
            .collect())
    };
    let (old, new) = (list(old)?, list(new)?);
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (a, b) = (old.get(name), new.get(name));
        if a == b {
            continue;
        }
        let at = join(path, name);
        let tree = |side: Option<&(ItemKind, Oid)>| {
            side.filter(|(kind, _)| *kind == ItemKind::Directory)
                .map(|(_, oid)| *oid)
        };
        let leaf = |side: Option<&(ItemKind, Oid)>| {
            side.is_some_and(|(kind, _)| *kind != ItemKind::Directory)
        };
        difference(objects, tree(a), tree(b), &at, changed, depth - 1)?;
        if leaf(a) || leaf(b) {
            changed.push(at);
        }
    }
    Ok(())
}

// The youngest commit on the way back that lacks the path while its parent has it.
fn removal(objects: &Objects, tip: Oid, path: &str) -> Result<Option<(Oid, Oid)>, ObjectError> {
    let has = |commit: Oid| -> Result<bool, ObjectError> {
        let (_, parsed) = objects.commit(commit)?;
        Ok(objects.at(parsed.tree, path)?.is_some())
    };
    let mut at = tip;
    let mut best = None;
    for _ in 0..COMMITS_MAX {
        let (_, commit) = objects.commit(at)?;
        let mut without = None;
        let mut with = None;
        for parent in &commit.parents {
            if has(*parent)? {
                with = with.or(Some(*parent));
            } else {
                without = without.or(Some(*parent));
            }
        }
        if let Some(parent) = with {
            best = Some((at, parent));
            // A merge brought it: the commit that did it is on the other side, if anywhere.
            match without {
                Some(other) if commit.parents.len() > 1 => at = other,
                Some(_) | None => return Ok(best),
            }
        } else if let Some(parent) = without {
            at = parent;
        } else {
            return Ok(best);
        }
    }
    Ok(best)
}

fn describe(
    objects: &Objects,
    commit: Oid,
    parent: Oid,
    path: &str,
    tip: &GitTree,
) -> Result<PathChange, GitError> {
    let broken = |error: ObjectError| damaged(&tip.url, &error);
    let (_, after) = objects.commit(commit).map_err(broken)?;
    let (_, before) = objects.commit(parent).map_err(broken)?;
    let said = crate::commit::CommitInfo::parse(commit, &after.raw);
    let moved_to = moved(objects, before.tree, after.tree, path).map_err(broken)?;
    let there = moved_to.filter(|to| tip.tree_id(to).is_ok_and(|found| found.is_some()));
    Ok(PathChange {
        commit: commit.to_string(),
        author: said.author,
        title: said.message.lines().next().unwrap_or_default().to_owned(),
        when: said.date,
        moved_to: there,
    })
}

// Where most of what stood at a path stands afterwards.
fn moved(
    objects: &Objects,
    before: Oid,
    after: Oid,
    path: &str,
) -> Result<Option<String>, ObjectError> {
    let Some((kind, oid)) = objects.at(before, path)? else {
        return Ok(None);
    };
    let mut later = Vec::new();
    paths(objects, after, "", &mut later, NESTING_MAX)?;
    if let Some((exact, _)) = later.iter().find(|(_, found)| *found == (kind, oid)) {
        return Ok(Some(exact.clone()));
    }
    if kind != ItemKind::Directory {
        return Ok(None);
    }
    let mut content = Vec::new();
    paths(objects, oid, "", &mut content, NESTING_MAX)?;
    let mut by_oid: BTreeMap<Oid, Vec<&str>> = BTreeMap::new();
    for (at, (_, oid)) in &later {
        by_oid.entry(*oid).or_default().push(at);
    }
    let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
    let files: Vec<_> = content
        .iter()
        .filter(|(_, (kind, _))| *kind == ItemKind::File)
        .collect();
    for (inside, (_, oid)) in &files {
        for at in by_oid.get(oid).into_iter().flatten() {
            if let Some(directory) = at
                .strip_suffix(inside.as_str())
                .and_then(|d| d.strip_suffix('/'))
            {
                *votes.entry(directory).or_default() += 1;
            }
        }
    }
    let best = votes.into_iter().max_by_key(|(_, count)| *count);
    // At least a third of it must be there unchanged.
    Ok(best
        .filter(|(_, count)| count * 3 >= files.len())
        .map(|(at, _)| at.to_owned()))
}

type Found = Vec<(String, (ItemKind, Oid))>;

fn paths(
    objects: &Objects,
    tree: Oid,
    path: &str,
    found: &mut Found,
    depth: usize,
) -> Result<(), ObjectError> {
    if depth == 0 || found.len() > PATHS_MAX {
        return Ok(());
    }
    for item in &objects.directory(tree)?.0 {
        let at = join(path, &item.name);
        found.push((at.clone(), (item.kind, item.oid)));
        if item.kind == ItemKind::Directory {
            paths(objects, item.oid, &at, found, depth - 1)?;
        }
    }
    Ok(())
}

// Directories that were probably meant.
fn near_paths(tree: &GitTree, path: &str) -> Result<Vec<String>, GitError> {
    let mut all = Vec::new();
    paths(&tree.store.objects, tree.root, "", &mut all, NESTING_MAX)
        .map_err(|e| damaged(&tree.url, &e))?;
    let directories = all
        .iter()
        .filter(|(_, (kind, _))| *kind == ItemKind::Directory);
    let names: Vec<&str> = directories.map(|(path, _)| path.as_str()).collect();
    let mut near = nearest(path, names.iter().copied());
    if near.is_empty() {
        // The same last name elsewhere.
        let last = path.rsplit('/').next().unwrap_or(path);
        let same = names
            .iter()
            .filter(|name| name.rsplit('/').next() == Some(last));
        near = same.take(3).map(|name| (*name).to_owned()).collect();
    }
    Ok(near)
}
