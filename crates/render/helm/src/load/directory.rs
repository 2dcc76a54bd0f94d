//! Charts out of a directory of a tree, without what `.helmignore` names.

use super::archive::{FILE_SIZE_MAX, without_mark};
use super::ignore::Rules;
use super::{FILES_MAX, Found};
use crate::HelmError;
use model::tree::EntryKind;
use model::{SourceTree, TreeError};

/// How deep directories of a chart may nest.
const DEPTH_MAX: usize = 128;

/// The files of a chart's directory, sorted as Helm walks them.
pub(crate) fn walk(tree: &SourceTree, root: &str) -> Result<Vec<Found>, HelmError> {
    let ignore_file = join(root, ".helmignore");
    let rules = match tree.read(&ignore_file) {
        Ok(bytes) => Rules::parse(&String::from_utf8_lossy(without_mark(&bytes))).map_err(|m| {
            HelmError::Chart {
                message: m,
                file: ignore_file,
                line: 0,
            }
        })?,
        Err(_) => Rules::empty(),
    };
    let mut walker = Walker {
        tree,
        root,
        rules: rules.with_defaults(),
        found: Vec::new(),
    };
    walker.directory("", 0)?;
    Ok(walker.found)
}

struct Walker<'a> {
    tree: &'a SourceTree,
    root: &'a str,
    rules: Rules,
    found: Vec<Found>,
}

impl Walker<'_> {
    fn directory(&mut self, path: &str, depth: usize) -> Result<(), HelmError> {
        if depth > DEPTH_MAX {
            return Err(HelmError::chart(format!(
                "directories of the chart nest deeper than {DEPTH_MAX} levels at {path}"
            )));
        }
        let at = join(self.root, path);
        let mut entries = self
            .tree
            .list(&at)
            .map_err(|error| self.fault(path, &error))?;
        // A tree sorts directories as Git does at most; Helm sorts by name.
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        for entry in entries {
            let inner = join(path, &entry.name);
            let kind = match entry.kind {
                EntryKind::Link => self
                    .tree
                    .kind(&join(self.root, &inner))
                    .map_err(|error| self.fault(&inner, &error))?
                    .ok_or_else(|| {
                        let path = join(self.root, &inner);
                        self.fault(&inner, &TreeError::NotFound { path })
                    })?,
                kind => kind,
            };
            match kind {
                EntryKind::Directory => {
                    if !self.rules.ignores(&inner, true) {
                        self.directory(&inner, depth + 1)?;
                    }
                }
                EntryKind::File => self.file(inner)?,
                EntryKind::Link | EntryKind::Submodule => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, path: String) -> Result<(), HelmError> {
        if self.rules.ignores(&path, false) {
            return Ok(());
        }
        if self.found.len() >= FILES_MAX {
            return Err(HelmError::chart(format!(
                "chart has more than {FILES_MAX} files"
            )));
        }
        let bytes = self
            .tree
            .read(&join(self.root, &path))
            .map_err(|error| self.fault(&path, &error))?;
        if bytes.len() as u64 > FILE_SIZE_MAX {
            let name = path.rsplit('/').next().unwrap_or(&path);
            return Err(HelmError::Chart {
                message: format!(
                    "chart file {name:?} is larger than the maximum file size {FILE_SIZE_MAX}"
                ),
                file: join(self.root, &path),
                line: 0,
            });
        }
        let bytes = match without_mark(&bytes) {
            same if same.len() == bytes.len() => bytes,
            rest => rest.into(),
        };
        self.found.push((path, bytes));
        Ok(())
    }

    fn fault(&self, path: &str, error: &TreeError) -> HelmError {
        let message = match error {
            TreeError::TooLarge { .. } => {
                let name = path.rsplit('/').next().unwrap_or(path);
                format!("chart file {name:?} is larger than the maximum file size {FILE_SIZE_MAX}")
            }
            other => other.to_string(),
        };
        HelmError::Chart {
            message,
            file: join(self.root, path),
            line: 0,
        }
    }
}

pub(crate) fn join(directory: &str, name: &str) -> String {
    match (directory.trim_end_matches('/'), name) {
        ("", name) => name.to_owned(),
        (directory, "") => directory.to_owned(),
        (directory, name) => format!("{directory}/{name}"),
    }
}
