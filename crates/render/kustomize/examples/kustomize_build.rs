//! `kustomize build` on directories of this machine: prints what the library makes of each.

use kustomize::{NoWorld, Options};
use model::tree::{Entry, EntryKind, Node};
use model::{SourceTree, Tree, TreeError};
use std::path::{Path, PathBuf};

#[derive(Debug)]
struct Folder(PathBuf);

impl Tree for Folder {
    fn node(&self, path: &str) -> Result<Option<Node>, TreeError> {
        let full = self.0.join(path);
        let Ok(meta) = std::fs::symlink_metadata(&full) else {
            return Ok(None);
        };
        let unreadable = |error: std::io::Error| TreeError::Unreadable {
            path: path.into(),
            why: error.to_string(),
        };
        if meta.is_symlink() {
            let target = std::fs::read_link(&full).map_err(unreadable)?;
            return Ok(Some(Node::Link(target.to_string_lossy().into_owned())));
        }
        if meta.is_file() {
            return Ok(Some(Node::File(
                std::fs::read(&full).map_err(unreadable)?.into(),
            )));
        }
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(&full).map_err(unreadable)?.flatten() {
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_symlink() => EntryKind::Link,
                Ok(kind) if kind.is_dir() => EntryKind::Directory,
                _ => EntryKind::File,
            };
            entries.push(Entry {
                name: entry.file_name().to_string_lossy().into_owned(),
                kind,
            });
        }
        entries.sort();
        Ok(Some(Node::Directory(entries)))
    }
}

fn main() {
    let mut failed = false;
    for argument in std::env::args().skip(1) {
        let root =
            std::fs::canonicalize(Path::new(&argument)).unwrap_or_else(|_| argument.clone().into());
        let tree = SourceTree::new(Folder("/".into()));
        let options = Options {
            absolute_paths: true,
            ..Options::default()
        };
        let directory = root.to_string_lossy();
        match kustomize::build(&tree, directory.trim_start_matches('/'), &options, &NoWorld) {
            Ok(build) => {
                for warning in &build.warnings {
                    eprintln!("{warning}");
                }
                print!("{}", build.to_yaml());
            }
            Err(error) => {
                eprintln!("Error: {error}");
                failed = true;
            }
        }
    }
    std::process::exit(i32::from(failed));
}
