//! A kustomization in one text: its files, one behind the other.

use crate::{RunError, fault, file_error, folder};
use model::MemoryTree;
use std::path::{Path, PathBuf};

/// One kustomization.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Its name, as in `001-resources`.
    pub name: String,
    /// The directory that is built.
    pub directory: String,
    /// Flags of `kustomize build`.
    pub flags: Vec<String>,
    /// Paths and what stands there.
    pub files: Vec<(String, Content)>,
}

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A file.
    Bytes(Vec<u8>),
    /// A link.
    Link(String),
}

impl Case {
    /// Reads a case. Lines in front of the first file are `directory: …`, `flags: …` and comments;
    /// a file starts with `-- path --`, `-- path (hex) --` or `-- path -> target --`.
    pub fn parse(name: &str, text: &str) -> Result<Self, RunError> {
        let mut case = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        let mut open: Option<(String, bool, String)> = None;
        for line in text.split_inclusive('\n') {
            let header = line
                .trim_end()
                .strip_prefix("-- ")
                .and_then(|l| l.strip_suffix(" --"));
            if let Some(header) = header {
                case.close(open.take())?;
                match header.split_once(" -> ") {
                    Some((path, target)) => {
                        let link = Content::Link(target.to_owned());
                        case.files.push((path.to_owned(), link));
                    }
                    None => {
                        let (path, hex) = match header.strip_suffix(" (hex)") {
                            Some(path) => (path, true),
                            None => (header, false),
                        };
                        open = Some((path.to_owned(), hex, String::new()));
                    }
                }
            } else if let Some((_, _, body)) = &mut open {
                body.push_str(line);
            } else if let Some(directory) = line.strip_prefix("directory: ") {
                directory.trim().clone_into(&mut case.directory);
            } else if let Some(flags) = line.strip_prefix("flags: ") {
                case.flags = flags.split_whitespace().map(str::to_owned).collect();
            }
        }
        case.close(open)?;
        Ok(case)
    }

    fn close(&mut self, open: Option<(String, bool, String)>) -> Result<(), RunError> {
        let Some((path, hex, body)) = open else {
            return Ok(());
        };
        let bytes = if hex {
            let digits: String = body.split_whitespace().collect();
            let byte = |at: usize| {
                digits
                    .get(at..at + 2)
                    .and_then(|d| u8::from_str_radix(d, 16).ok())
            };
            let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
            bytes.ok_or_else(|| fault(&self.name, format!("`{path}` is not in hex")))?
        } else {
            body.into_bytes()
        };
        self.files.push((path, Content::Bytes(bytes)));
        Ok(())
    }

    /// The files as a tree in memory.
    pub fn tree(&self) -> MemoryTree {
        let add = |tree: MemoryTree, (path, content): &(String, Content)| match content {
            Content::Bytes(bytes) => tree.file(path, bytes),
            Content::Link(target) => tree.link(path, target),
        };
        self.files.iter().fold(MemoryTree::new(), add)
    }

    /// Writes the files into a folder.
    pub fn write(&self, root: &Path) -> Result<(), RunError> {
        std::fs::create_dir_all(root).map_err(file_error(root))?;
        for (path, content) in &self.files {
            let path = root.join(path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(file_error(parent))?;
            }
            match content {
                Content::Bytes(bytes) => std::fs::write(&path, bytes),
                Content::Link(target) => std::os::unix::fs::symlink(target, &path),
            }
            .map_err(file_error(&path))?;
        }
        Ok(())
    }

    /// Where the answer of the real program is kept.
    pub fn expected_path(&self) -> PathBuf {
        cases_folder().join(format!("{}.expected", self.name))
    }
}

fn cases_folder() -> PathBuf {
    folder().join("kustomize")
}

/// All cases, sorted by name.
pub fn load() -> Result<Vec<Case>, RunError> {
    let folder = cases_folder();
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(file_error(&folder))? {
        let path = entry.map_err(file_error(&folder))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "case")
        {
            let text = std::fs::read_to_string(&path).map_err(file_error(&path))?;
            let name = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            cases.push(Case::parse(&name.unwrap_or_default(), &text)?);
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}
