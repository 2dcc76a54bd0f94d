//! Other repositories inside a repository, and files kept outside of Git: what is asked for beside
//! a tree is fetched and put in its place.

use crate::credentials::Credentials;
use crate::lfs::{self, LfsPointer};
use crate::objects::ItemKind;
use crate::repositories::{Repositories, Revision};
use crate::tree::{GitTree, damaged, join};
use crate::url::RepoUrl;
use crate::{GitError, Oid};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How deep repositories may stand in each other.
const NESTING_MAX: usize = 8;
/// How many repositories may stand in one.
const SUBMODULES_MAX: usize = 200;
/// How large the list of them may be.
const LIST_BYTES_MAX: usize = 1 << 20;

/// What is fetched beside the files of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeOptions {
    /// Whether other repositories inside of it are fetched and mounted.
    pub submodules: bool,
    /// The path below which files of Git LFS are fetched, for repositories that have it enabled;
    /// empty for all.
    pub path: String,
}

impl Repositories {
    /// The files of a revision, with what is wanted beside them.
    pub fn tree_with(
        &self,
        revision: &Revision,
        credentials: &Credentials,
        options: &TreeOptions,
    ) -> Result<GitTree, GitError> {
        let mut tree = self.tree(revision, credentials)?;
        if options.submodules {
            self.mount(&mut tree, credentials, NESTING_MAX)?;
        }
        if credentials.access(&revision.url).lfs {
            self.fetch_large(&mut tree, credentials, &options.path)?;
        }
        Ok(tree)
    }

    fn mount(
        &self,
        tree: &mut GitTree,
        credentials: &Credentials,
        depth: usize,
    ) -> Result<(), GitError> {
        let Some(listed) = listed(tree)? else {
            return Ok(());
        };
        for (path, commit) in tree.submodules()?.into_iter().take(SUBMODULES_MAX) {
            // What is not listed was left over by somebody; Git ignores it too.
            let Some(address) = listed.get(&path) else {
                continue;
            };
            if depth == 0 {
                return Err(GitError::Unsupported {
                    url: tree.url.to_string(),
                    what: format!("submodules are nested deeper than {NESTING_MAX}"),
                });
            }
            let url = tree.url.join(address)?;
            let inner = self.mounted(&url, commit, credentials, depth)?;
            tree.mounts.insert(path, Arc::new(inner));
        }
        Ok(())
    }

    fn mounted(
        &self,
        url: &RepoUrl,
        commit: Oid,
        credentials: &Credentials,
        depth: usize,
    ) -> Result<GitTree, GitError> {
        let revision = Revision {
            url: url.clone(),
            commit,
            asked: commit.to_string(),
            name: None,
            moved_to: None,
        };
        let mut inner = self.tree(&revision, credentials)?;
        self.mount(&mut inner, credentials, depth - 1)?;
        Ok(inner)
    }

    fn fetch_large(
        &self,
        tree: &mut GitTree,
        credentials: &Credentials,
        path: &str,
    ) -> Result<(), GitError> {
        let mut pointers = Vec::new();
        let start = tree
            .store
            .objects
            .at(tree.root, path)
            .map_err(|e| damaged(&tree.url, &e))?;
        if let Some((ItemKind::Directory, root)) = start {
            find_pointers(tree, root, path, 64, &mut pointers)?;
        }
        let access = credentials.access(&tree.url);
        for pointer in pointers {
            let operation = self.operation(&tree.url, &access);
            let content = lfs::fetch(&operation, &pointer)?;
            tree.large.insert(pointer.digest, content);
        }
        Ok(())
    }
}

fn find_pointers(
    tree: &GitTree,
    directory: Oid,
    path: &str,
    depth: usize,
    found: &mut Vec<LfsPointer>,
) -> Result<(), GitError> {
    let broken = |error| damaged(&tree.url, &error);
    let objects = &tree.store.objects;
    for item in &objects.directory(directory).map_err(broken)?.0 {
        let at = join(path, &item.name);
        match item.kind {
            ItemKind::Directory if depth > 0 => {
                find_pointers(tree, item.oid, &at, depth - 1, found)?;
            }
            ItemKind::File => {
                let small = objects.header(item.oid).map_err(broken)?;
                if small.is_some_and(|(_, size)| size <= lfs::POINTER_BYTES_MAX as u64) {
                    let bytes = objects.file(item.oid).map_err(broken)?;
                    found.extend(LfsPointer::parse(&at, &bytes));
                }
            }
            ItemKind::Directory | ItemKind::Link | ItemKind::Submodule => {}
        }
    }
    Ok(())
}

// Addresses by path, from `.gitmodules`; none when there is no such file.
fn listed(tree: &GitTree) -> Result<Option<BTreeMap<String, String>>, GitError> {
    let broken = |error| damaged(&tree.url, &error);
    let objects = &tree.store.objects;
    let Some((ItemKind::File, oid)) = objects.at(tree.root, ".gitmodules").map_err(broken)? else {
        return Ok(None);
    };
    let text = objects.file(oid).map_err(broken)?;
    if text.len() > LIST_BYTES_MAX {
        return Err(GitError::TooLarge {
            url: tree.url.to_string(),
            what: "`.gitmodules`".into(),
            max: LIST_BYTES_MAX as u64,
        });
    }
    Ok(Some(parse(&String::from_utf8_lossy(&text))))
}

fn parse(text: &str) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let (mut path, mut url) = (None, None);
    // A last heading closes the last section.
    for line in text.lines().map(str::trim).chain(["["]) {
        if line.starts_with('[') {
            if let (Some(path), Some(url)) = (path.take(), url.take()) {
                all.insert(path, url);
            }
            (path, url) = (None, None);
        } else if let Some((key, value)) = line.split_once('=') {
            let value = value
                .split(" #")
                .next()
                .unwrap_or_default()
                .trim()
                .trim_matches('"');
            match key.trim().to_ascii_lowercase().as_str() {
                "path" => path = Some(value.trim_matches('/').to_owned()),
                "url" => url = Some(value.to_owned()),
                _ => {}
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_submodules_is_read() {
        let text = "# ours\n[submodule \"a\"]\n\tpath = libs/a\n\turl = ../a.git\n[submodule \"b\"]\n  url=\"https://h/b\" # note\n  path = b\n  branch = x\n[submodule \"broken\"]\n path = c\n";
        let listed: Vec<String> = parse(text)
            .into_iter()
            .map(|(p, u)| format!("{p} {u}"))
            .collect();
        assert_eq!(listed, ["b https://h/b", "libs/a ../a.git"]);
    }
}
